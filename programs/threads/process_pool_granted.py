# title: a pool of processes where processes are granted
# grant: processes=16
# expect: ok
# check: result == [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]
# agent: refuse
from multiprocessing import Pool

def square(x):
    return x * x

if __name__ == "__main__":
    with Pool(4) as p:
        result = p.map(square, range(10))
