# title: values of each thread
# expect: ok
# check: result == {"a": 1, "b": 2}
import threading

local = threading.local()
seen = {}

def keep(name, value):
    local.value = value
    seen[name] = local.value

for name, value in (("a", 1), ("b", 2)):
    t = threading.Thread(target=keep, args=(name, value))
    t.start()
    t.join()
result = seen
