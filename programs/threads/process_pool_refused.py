# title: a pool of processes where none are granted
# expect: refuse
# says: threads
from multiprocessing import Pool

def square(x):
    return x * x

if __name__ == "__main__":
    with Pool(4) as p:
        result = p.map(square, range(10))
