# title: named groups and substitutions
# expect: ok
# check: result == [{"user": "ann", "host": "x.org"}, "ann at x.org"]
import re

match = re.match(r"(?P<user>\w+)@(?P<host>[\w.]+)", "ann@x.org")
result = [match.groupdict(), re.sub(r"@", " at ", match[0])]
