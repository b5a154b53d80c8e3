# title: cleans a column of names
# packages: pandas
# expect: ok
# check: result == {"first": ["Ada", "Alan"], "domain": ["x.org", "y.net"]}
import pandas as pd

df = pd.DataFrame({"name": [" ada lovelace", "alan turing "], "mail": ["a@x.org", "b@y.net"]})
df["name"] = df["name"].str.strip().str.title()
df["domain"] = df["mail"].str.extract(r"@(.+)$", expand=False)
result = {"first": df["name"].str.split().str[0].tolist(), "domain": df["domain"].tolist()}
