"""Makes modules of the Python half and starts the zygote.

The engine has an interpreter execute this file with three names: `lib`, the Rust half; `preload`,
the modules to import; `environment`, what jars find in theirs.
"""

from __future__ import annotations

import builtins
import ctypes
import sys
import types

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any

lib: Any
preload: list[str]
environment: dict[str, str]

PACKAGE = "carboy_jar"


def load() -> types.ModuleType:
    """Makes the modules, in the order in which the library has them, and returns the last one."""
    for symbol in (lib.carboy_module_name, lib.carboy_module_source):
        symbol.restype = ctypes.c_char_p
    # A copy: a guest may replace what it finds in the builtins, and these modules go on after it.
    own_builtins = dict(vars(builtins))
    package = module = types.ModuleType(PACKAGE)
    package.__path__ = []
    made = {PACKAGE: package}
    sys.modules.update(made)
    index = 0
    while name := lib.carboy_module_name(index):
        module = types.ModuleType(f"{PACKAGE}.{name.decode()}")
        module.__package__ = PACKAGE
        module.__dict__["__builtins__"] = own_builtins
        made[module.__name__] = sys.modules[module.__name__] = module
        setattr(package, name.decode(), module)
        code = lib.carboy_module_source(index).decode()
        exec(compile(code, "<carboy>", "exec", dont_inherit=True), module.__dict__)
        index += 1
    # They know each other now, and nobody else needs to find them.
    for known in made:
        del sys.modules[known]
    return module


load().start(lib, preload, environment)
