# title: looks for a program
# expect: ok
# check: result is None
import shutil

result = shutil.which("no-such-program-here")
