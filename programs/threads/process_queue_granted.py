# title: a child that answers through a queue
# grant: processes=16
# expect: ok
# check: result == [1, 2, 3]
# agent: refuse
import multiprocessing as mp

def child(q, values):
    q.put([v + 1 for v in values])

if __name__ == "__main__":
    q = mp.Queue()
    p = mp.Process(target=child, args=(q, [0, 1, 2]))
    p.start()
    result = q.get()
    p.join()
