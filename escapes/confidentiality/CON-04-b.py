# id: CON-04-b
# title: follows links whose target ends in a slash
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Targets that end in slashes and dots, links to such links, and a file spelt like a directory."""

import os

folder, name = os.path.split(context["secret_file"])
targets = [folder + "/", folder + "//", folder + "/.", folder + "/./", folder + "/x/../",
           "../" * 64 + folder.lstrip("/") + "/", context["secret_file"] + "/",
           context["secret_file"] + "/."]
found = []
for number, target in enumerate(targets):
    os.symlink(target, "inner%d" % number)
    os.symlink("inner%d/" % number, "outer%d" % number)
    for link in ("inner%d" % number, "outer%d" % number):
        for path in (link, link + "/", link + "/" + name, link + "//" + name, link + "/./" + name):
            try:
                found.append(open(path).read())
            except OSError:
                pass
        os.unlink(link)
result = found
