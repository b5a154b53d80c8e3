# title: recursion beyond the usual depth
# expect: ok
# check: result == 5000
import sys

sys.setrecursionlimit(10_000)

def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

result = depth(5000)
