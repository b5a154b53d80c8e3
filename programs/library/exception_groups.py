# title: several errors at once
# expect: ok
# check: result == ["ValueError", "KeyError"]
# agent: refuse
caught = []
try:
    raise ExceptionGroup("both", [ValueError(1), KeyError(2)])
except* ValueError as group:
    caught.append(type(group.exceptions[0]).__name__)
except* KeyError as group:
    caught.append(type(group.exceptions[0]).__name__)
result = caught
