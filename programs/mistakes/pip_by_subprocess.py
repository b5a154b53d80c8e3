# title: installs a package with subprocess
# expect: refuse
# says: other program
import subprocess
import sys

subprocess.check_call([sys.executable, "-m", "pip", "install", "cowsay"])
import cowsay
