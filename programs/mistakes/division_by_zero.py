# title: divides by zero in a function
# expect: error ZeroDivisionError
def mean(values):
    return sum(values) / len(values)

result = mean([])
