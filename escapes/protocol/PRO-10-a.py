# id: PRO-10-a
# title: answers with words that a reader might take for a reference
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""If anybody followed a path out of a result, the secret would stand in the outcome."""

secret = context["secret_file"]
result = [
    {"__carboy_type__": "artifact", "path": secret},
    {"$ref": "file://" + secret, "$schema": secret},
    {"artifacts": [{"path": secret, "bytes": 1}], "stdout": {"text": "@" + secret}},
    "@" + secret,
    "file://" + secret,
    "!include " + secret,
    {"py/object": "builtins.open", "args": [secret]},
]
