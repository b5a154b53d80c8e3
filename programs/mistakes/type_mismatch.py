# title: adds text to a number
# expect: error TypeError
result = "total: " + 5
