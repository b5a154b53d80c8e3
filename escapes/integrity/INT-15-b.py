# id: INT-15-b
# title: changes the interpreter's own objects for the next run
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""Builtins, loaded modules, import hooks, exit handlers and trace functions are set to stay."""

import atexit
import builtins
import json
import sys
import types

builtins.bj_builtin = context["flag"]
module = types.ModuleType("bj_module")
module.flag = context["flag"]
sys.modules["bj_module"] = module
json.bj_attribute = context["flag"]
sys.path_hooks.append(lambda path: (_ for _ in ()).throw(ImportError(context["flag"])))
atexit.register(lambda: None)
sys.bj_kept = context["flag"]
str.__doc__
# ---
import builtins
import json
import sys

result = [getattr(builtins, "bj_builtin", None), getattr(json, "bj_attribute", None)]
result += [getattr(sys, "bj_kept", None), getattr(sys.modules.get("bj_module"), "flag", None)]
