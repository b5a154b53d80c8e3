# title: waits for something that never comes
# limits: wall_ms=500
# expect: limit wall_ms
# says: less
import time

while True:
    time.sleep(1)
