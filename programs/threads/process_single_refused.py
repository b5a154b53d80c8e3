# title: one child process where none is granted
# expect: refuse
# says: threads
import multiprocessing as mp

def work():
    print("in the child")

p = mp.Process(target=work)
p.start()
p.join()
