# title: an executor of processes where none are granted
# expect: refuse
# says: threads
from concurrent.futures import ProcessPoolExecutor

def square(x):
    return x * x

with ProcessPoolExecutor() as ex:
    result = list(ex.map(square, range(4)))
