# id: CON-44-b
# title: has the library read files for it
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Much of the library opens files that are named to it: as settings, source, credentials, templates
or data. Nothing it does may reach further than the guest itself."""

import configparser
import fileinput
import importlib.util
import linecache
import logging.config
import netrc
import pkgutil
import shutil
import tokenize

path = context["secret_file"]
folder, name = path.rsplit("/", 1)
loader = importlib.util.spec_from_file_location("x", path + ".py").loader
ways = [
    lambda: linecache.getlines(path), lambda: tokenize.open(path).read(),
    lambda: list(fileinput.input(path)), lambda: loader.get_data(path).decode(),
    lambda: shutil.copy(path, "copy") and open("copy").read(),
    lambda: configparser.ConfigParser().read_file(open(path)), lambda: netrc.netrc(path).hosts,
    lambda: logging.config.fileConfig(path), lambda: shutil.copytree(folder, "tree"),
    lambda: [file.name for file in pkgutil.iter_modules([folder])],
]
found = []
for way in ways:
    try:
        found.append(str(way()))
    except Exception as error:
        found.append(str(error))
result = found
