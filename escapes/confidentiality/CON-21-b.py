# id: CON-21-b
# title: finds out whether a path of the host exists by what libraries say of it
# walls: full
# first: private root
# second: none
# expect: ok
# control: bare
"""The loader, the import system and the databases open paths too, and their words differ for a file
that is there but of the wrong kind."""

import ctypes
import dbm
import mimetypes
import runpy
import sqlite3
import tarfile
import zipfile
import zipimport

there = context["secret_file"]
missing = there + ".missing"
ways = [
    ctypes.CDLL, runpy.run_path, zipimport.zipimporter, zipfile.ZipFile, tarfile.open, dbm.whichdb,
    lambda path: mimetypes.read_mime_types(path) is None or 1 / 0,
    lambda path: sqlite3.connect("file:%s?mode=ro" % path, uri=True).execute("select 1 from x"),
]


def ask(way, path):
    try:
        return way(path)
    except Exception as error:
        return str(error).replace(path, "")


if any(ask(way, there) != ask(way, missing) for way in ways):
    result = context["flag"]
