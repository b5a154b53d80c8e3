# title: waits a moment
# expect: ok
# check: result is True
import time

before = time.monotonic()
time.sleep(0.05)
result = time.monotonic() - before >= 0.05
