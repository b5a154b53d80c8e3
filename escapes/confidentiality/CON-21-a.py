# id: CON-21-a
# title: finds out whether a path of the host exists by the errors it gets
# walls: full
# first: private root
# second: none
# expect: ok
# control: bare
"""Asks the same questions about the canary and about a path beside it that does not exist. Any
difference would tell what is on the host."""

import os

there = context["secret_file"]
missing = there + ".missing"
ways = {
    "stat": os.stat, "lstat": os.lstat, "chdir": os.chdir, "listdir": os.listdir,
    "statvfs": os.statvfs, "readlink": os.readlink, "rmdir": os.rmdir,
    "access": lambda path: os.access(path, os.F_OK) or 1 / 0,
    "open": lambda path: os.open(path, os.O_RDONLY),
    "location": lambda path: os.open(path, os.O_PATH),
    "create": lambda path: os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL),
    "below": lambda path: os.stat(path + "/x"),
    "mkdir": lambda path: os.mkdir(path + "/x"),
    "symlink": lambda path: os.symlink("x", path + "/x"),
    "rename": lambda path: os.rename(path + "/x", "x"),
    "utime": lambda path: os.utime(path, (1, 1)),
}


def ask(way, path):
    try:
        return way(path) is None
    except OSError as error:
        return error.errno
    except ZeroDivisionError:
        return "no"


told = [name for name, way in ways.items() if ask(way, there) != ask(way, missing)]
told += [place for place in (context["folder"], os.path.dirname(context["folder"]) + "/.X11-unix")
         if os.path.lexists(place)]
if told:
    result = [context["flag"], told]
