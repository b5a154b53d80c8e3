# id: XRN-11-a
# title: replaces built-in functions and library functions for the next run
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""A patched len or json.dumps that stayed would let one run decide what another computes."""

import builtins
import json
import os
import sys

builtins.carboy_mark = json.carboy_mark = os.carboy_mark = context["number"]
sys.modules["carboy_left"] = json
true_sorted, true_dumps = sorted, json.dumps
builtins.sorted = lambda *given, **named: [context["number"]]
json.dumps = lambda *given, **named: str(context["number"])
sys.excepthook = sys.displayhook = lambda *given: None
# ---
import builtins
import json
import os
import sys

found = [getattr(place, "carboy_mark", None) for place in (builtins, json, os)]
if any(found) or "carboy_left" in sys.modules or "true_sorted" in globals():
    result = context["flag"]
if sorted([2, 1]) != [1, 2] or json.dumps([1]) != "[1]":
    result = context["flag"]
if sys.excepthook is not sys.__excepthook__:
    result = context["flag"]
# What the control run needs back.
builtins.sorted, json.dumps = globals().get("true_sorted", sorted), globals().get(
    "true_dumps", json.dumps
)
