# title: a list of 300,000 numbers
# expect: ok
result = list(range(300_000))
