# title: a list that contains itself
# expect: ok
a = [1]
a.append(a)
result = a
