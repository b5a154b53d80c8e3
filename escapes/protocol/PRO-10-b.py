# id: PRO-10-b
# title: answers with the words that a JSON library keeps for itself
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""Some readers mark raw text and long numbers with keys of their own, which anybody can write."""

result = [
    {"$serde_json::private::RawValue": '{"status":"error"'},
    {"$serde_json::private::RawValue": "[[[[[[["},
    {"$serde_json::private::RawValue": 1},
    {"$serde_json::private::Number": "not a number"},
    {"$__serde_private": 1, "$toml::private::datetime": "x"},
]
# ---
result = {"$serde_json::private::RawValue": "not JSON"}
# ---
result = {"$serde_json::private::Number": "1e"}
