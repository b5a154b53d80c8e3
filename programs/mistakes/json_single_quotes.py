# title: JSON with the wrong quotes
# expect: error JSONDecodeError
import json

result = json.loads("{'a': 1}")
