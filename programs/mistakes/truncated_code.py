# title: a program that was cut off
# expect: error SyntaxError
# agent: refuse
import json
data = {"a": [1, 2,
