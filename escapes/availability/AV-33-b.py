# id: AV-33-b
# title: uses threads, locks and pools right after the fork that made its jar
# walls: full nested
# first: fresh fork
# second: engine clock
# expect: ok
# control: none: that nothing hangs is what is shown
# repeat: 20
"""A jar is a fork of an interpreter. Locks that were held at that moment would hang it; the usual
holders are tried in each of many jars."""

import concurrent.futures
import hashlib
import logging
import queue
import threading

with concurrent.futures.ThreadPoolExecutor(2) as pool:
    list(pool.map(lambda n: hashlib.sha256(bytes(n)).hexdigest(), range(40)))
logging.warning("locked?")
box = queue.Queue()
threading.Timer(0.001, box.put, ("through",)).start()
result = box.get(timeout=60)
