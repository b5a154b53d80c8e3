# title: a name that was never set
# expect: error NameError
totals = [1, 2]
result = sum(total)
