# id: XRN-11-d
# title: turns the settings of the interpreter for the next run
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""Recursion, garbage, digits, decimals, warnings: settings that change what code means."""

import atexit
import codecs
import copyreg
import decimal
import gc
import sys
import warnings

sys.setrecursionlimit(4321)
sys.setswitchinterval(0.4321)
gc.set_threshold(4321)
getattr(sys, "set_int_max_str_digits", lambda count: None)(4321)
decimal.setcontext(decimal.Context(prec=3))
decimal.DefaultContext.prec = 3
warnings.filterwarnings("error", message="carboy mark")
codecs.register(lambda name: codecs.lookup("ascii") if name == "carboy_mark" else None)
copyreg.pickle(complex, lambda value: (int, ()))
marked = atexit.register(lambda: None)
# ---
import codecs
import copyreg
import decimal
import gc
import sys
import warnings

checks = [
    sys.getrecursionlimit() == 4321,
    abs(sys.getswitchinterval() - 0.4321) < 0.001,
    gc.get_threshold()[0] == 4321,
    getattr(sys, "get_int_max_str_digits", int)() == 4321,
    decimal.getcontext().prec == 3,
    decimal.DefaultContext.prec == 3,
    any(entry[1] and "carboy" in entry[1].pattern for entry in warnings.filters),
    complex in copyreg.dispatch_table and copyreg.dispatch_table[complex](0)[0] is int,
]
try:
    checks.append(codecs.lookup("carboy_mark") is not None)
except LookupError:
    pass
if any(checks):
    result = context["flag"]
