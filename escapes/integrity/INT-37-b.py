# id: INT-37-b
# title: carries files over the border of its directory, by names and by links
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Rules on a directory hold for what lies below it. A file that is moved or linked to another directory
would come under the rules of that one: a file of the host could be written, a file of the jar would
stay on the host."""

import os
import tempfile

folder = context["folder"]
target = os.path.join(folder, "target.txt")
secret = context["secret_file"]
os.makedirs("own/deep")
mine = os.path.abspath("own/mine.txt")
with open(mine, "w") as file:
    file.write("mine")
places = [os.path.abspath("own/deep"), tempfile.gettempdir()]


def attempt(way, *names, **options):
    try:
        way(*names, **options)
        return True
    except OSError:
        return False


for place in places:
    inside = os.path.join(place, "carried.txt")
    for way in (os.link, os.rename, os.replace):
        for name in (target, secret):
            if attempt(way, name, inside) and attempt(os.truncate, inside, 0):
                result = context["flag"]
for way in (os.link, os.rename, os.replace):
    for number, name in enumerate((mine, os.path.abspath("own"))):
        attempt(way, name, os.path.join(folder, "%s%d" % (way.__name__, number)))
try:
    ends = os.open(folder, os.O_PATH), os.open("own", os.O_PATH)
except OSError:
    ends = ()
if ends:
    attempt(os.rename, "target.txt", "x", src_dir_fd=ends[0], dst_dir_fd=ends[1])
    attempt(os.link, "target.txt", "y", src_dir_fd=ends[0], dst_dir_fd=ends[1])
    attempt(os.rename, "mine.txt", "x", src_dir_fd=ends[1], dst_dir_fd=ends[0])
