# title: flattens nested records
# packages: pandas
# expect: ok
# check: result == ["id", "user.name", "user.tags"]
import pandas as pd

data = [{"id": 1, "user": {"name": "Ann", "tags": ["x"]}}]
result = list(pd.json_normalize(data).columns)
