# title: a dictionary of a manager
# grant: processes=4
# expect: error PermissionError
# says: multiprocessing.Queue
# outside: no
# agent: refuse
from multiprocessing import Manager, Process


def work(d, i):
    d[i] = i * i


with Manager() as manager:
    d = manager.dict()
    jobs = [Process(target=work, args=(d, i)) for i in range(3)]
    [j.start() for j in jobs]
    [j.join() for j in jobs]
    result = dict(d)
