# title: recursion that never ends
# expect: error RecursionError
def f(n):
    return f(n + 1)

result = f(0)
