# title: prints and has no result
# expect: ok
# check: result is None and "hello" in stdout
print("hello")
