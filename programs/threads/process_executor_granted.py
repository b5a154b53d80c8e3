# title: an executor of processes where processes are granted
# grant: processes=16
# expect: ok
# check: result == [0, 1, 4, 9]
# agent: refuse
from concurrent.futures import ProcessPoolExecutor

def square(x):
    return x * x

if __name__ == "__main__":
    with ProcessPoolExecutor(max_workers=2) as ex:
        result = list(ex.map(square, range(4)))
