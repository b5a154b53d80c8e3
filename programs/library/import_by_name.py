# title: imports by name, and evaluates text
# expect: ok
# check: result == ["[1]", 4, 12]
# agent: refuse
import importlib

m = importlib.import_module("json")
ns = {}
exec("y = 2 + 2", ns)
result = [m.dumps([1]), ns["y"], eval("3*4")]
