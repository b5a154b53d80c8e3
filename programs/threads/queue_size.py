# title: how long a queue of processes is
# expect: error NotImplementedError
# says: empty()
# outside: no
# agent: refuse
import multiprocessing

q = multiprocessing.Queue()
q.put(1)
result = q.qsize()
