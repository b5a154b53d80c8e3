# id: CON-03-b
# title: follows relative symbolic links upwards out of its directory
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""The same with targets that climb: from the writable directories, from a directory deep below
them, and through a link to a link."""

import os
import shutil
import tempfile

up = "../" * 64
down = context["secret_file"].lstrip("/")
found = []
other = tempfile.mkdtemp()
for number, place in enumerate((".", other)):
    deep = os.path.join(place, "a%d" % number, "b", "c")
    os.makedirs(deep)
    for where in (place, deep):
        first = os.path.join(where, "up%d" % number)
        second = os.path.join(where, "again%d" % number)
        try:
            os.symlink(up, first)
            os.symlink(os.path.basename(first) + "/" + down, second)
        except OSError:
            continue
        for path in (first + "/" + down, second, first + "/" + up + down):
            try:
                found.append(open(path).read())
            except OSError:
                pass
        os.unlink(first)
        os.unlink(second)
shutil.rmtree(other)
result = found
