# title: children that fill an array in shared memory
# packages: numpy
# grant: processes=16
# expect: ok
# check: result == [0.0, 1.0, 4.0, 9.0]
# agent: refuse
from multiprocessing import Process
from multiprocessing.shared_memory import SharedMemory
import numpy as np

def fill(name, i):
    block = SharedMemory(name=name)
    np.ndarray((4,), buffer=block.buf)[i] = i * i
    block.close()

if __name__ == "__main__":
    block = SharedMemory(create=True, size=32)
    a = np.ndarray((4,), buffer=block.buf)
    children = [Process(target=fill, args=(block.name, i)) for i in range(4)]
    for c in children:
        c.start()
    for c in children:
        c.join()
    result = a.tolist()
    del a
    block.close()
    block.unlink()
