# id: PRO-06-a
# title: answers with keys that collide, keys without a letter and keys with a past
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""Such keys are JSON. They must pass as they are, and mean nothing to the engine."""

result = {
    1: "number",
    "1": "text",
    True: "true",
    None: "null",
    "": "empty",
    "__proto__": {"polluted": True},
    "constructor": {"prototype": {}},
    "k" * 500_000: "long",
    "done": {"result": 1},
    "error": {"kind": "limit"},
}
