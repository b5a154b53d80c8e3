# id: AV-21-b
# title: answers with a value that contains itself
# walls: full nested
# first: frames
# second: engine clock
# expect: limit result_depth
# control: none: how deep a result may nest is fixed
"""Written out, it would never end."""

result = {"a": []}
result["a"].append({"b": (result, result)})
