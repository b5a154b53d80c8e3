# title: looks at a signature
# expect: ok
# check: result == "(a, b=2)"
# agent: refuse
import inspect

def f(a, b=2):
    pass

result = str(inspect.signature(f))
