# title: reads and writes YAML
# packages: yaml
# expect: ok
# check: result == {"jobs": [{"name": "a", "n": 1}]}
import yaml

text = yaml.safe_dump({"jobs": [{"name": "a", "n": 1}]})
result = yaml.safe_load(text)
