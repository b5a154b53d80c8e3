# id: XRN-11-c
# title: puts finders, loaders and paths into the import system for the next run
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""Whoever owns the import system owns every module that is imported after it."""

import importlib.abc
import importlib.machinery
import sys


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name == "carboy_planted":
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def exec_module(self, module):
        module.mark = "planted"


sys.meta_path.insert(0, Finder())
sys.path.insert(0, f"/tmp/{context['number']}")
sys.path_importer_cache[f"/tmp/{context['number']}"] = None
sys.path_hooks.insert(0, lambda path: exec("raise ImportError"))
# ---
import sys

try:
    import carboy_planted

    result = context["flag"]
except ImportError:
    pass
if f"/tmp/{context['number']}" in sys.path + list(sys.path_importer_cache):
    result = context["flag"]
if any(type(finder).__name__ == "Finder" for finder in sys.meta_path):
    result = context["flag"]
