# title: the fourth of three
# expect: error IndexError
items = [1, 2, 3]
result = items[3]
