# id: AV-15-e
# title: makes very many empty files
# walls: full nested
# first: memory file system
# second: engine measure
# expect: limit files
# limits: files=100
# control: raised files=5000
"""Empty files take no space and still fill the table of files."""

import time

for number in range(600):
    open(f"empty{number}", "w").close()
time.sleep(context["hold"])
result = "six hundred"
