# title: a program that was cut off
# expect: error SyntaxError
import json
data = {"a": [1, 2,
