# title: a timer in a thread
# expect: ok
# check: result == ["fired"]
import threading

out = []
t = threading.Timer(0.05, lambda: out.append("fired"))
t.start()
t.join()
result = out
