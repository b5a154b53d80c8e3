# title: infinities and values that are no numbers
# expect: ok
# check: len(result) == 3
result = {"x": float("inf"), "y": float("-inf"), "z": float("nan")}
