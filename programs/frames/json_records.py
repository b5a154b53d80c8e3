# title: a frame to JSON records and back
# packages: pandas
# expect: ok
# check: result == [{"city": "Oslo", "pop": 700000}, {"city": "Bergen", "pop": 290000}]
import json
import pandas as pd

df = pd.DataFrame({"city": ["Oslo", "Bergen"], "pop": [700_000, 290_000]})
df.to_json("cities.json", orient="records")
result = json.load(open("cities.json"))
