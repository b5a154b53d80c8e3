# title: structural matching
# expect: ok
# check: result == ["point 1 2", "list of 3", "other"]
def kind(value):
    match value:
        case {"x": x, "y": y}:
            return f"point {x} {y}"
        case [_, *rest]:
            return f"list of {len(rest) + 1}"
        case _:
            return "other"

result = [kind({"x": 1, "y": 2}), kind([1, 2, 3]), kind(5)]
