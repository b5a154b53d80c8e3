# title: a generator as the result
# expect: ok
result = (i * i for i in range(3))
