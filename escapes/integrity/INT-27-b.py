# id: INT-27-b
# title: loads a library from its own directory
# walls: full
# first: mount namespace
# second: none
# expect: ok
# control: bare
"""A library or an extension module that the guest wrote is loaded by the loader itself."""

import ctypes
import glob
import importlib.util
import os
import shutil
import sys

source = glob.glob(os.path.join(sys.prefix, "lib", "python3*", "lib-dynload", "_bisect*.so"))
source += glob.glob(os.path.join(os.path.dirname(os.__file__), "lib-dynload", "*.so"))
source += glob.glob("/usr/lib/x86_64-linux-gnu/libz.so.1*")
result = None
for root in (context["folder"], "/jar", "/tmp"):
    path = os.path.join(root, os.path.basename(source[0]))
    try:
        shutil.copyfile(source[0], path)
        os.chmod(path, 0o755)
    except OSError:
        continue
    try:
        ctypes.CDLL(path)
        result = context["flag"]
    except OSError:
        pass
    try:
        name = os.path.basename(path).split(".")[0]
        spec = importlib.util.spec_from_file_location(name, path)
        importlib.util.module_from_spec(spec)
        result = context["flag"]
    except ImportError:
        pass
    if result:
        break
