# title: a function as the result
# expect: ok
def f(x):
    return x

result = f
