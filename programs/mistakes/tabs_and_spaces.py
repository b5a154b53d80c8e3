# title: tabs where there were spaces
# expect: error TabError
# agent: refuse
def f():
    x = 1
	return x
