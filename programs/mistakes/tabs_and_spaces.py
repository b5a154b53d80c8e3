# title: tabs where there were spaces
# expect: error TabError
def f():
    x = 1
	return x
