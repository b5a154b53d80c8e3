# title: an assertion of its own
# expect: error AssertionError
assert 1 + 1 == 3, "arithmetic"
