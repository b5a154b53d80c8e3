# title: totals per region from CSV text
# packages: pandas
# expect: ok
# check: result == {"east": 150, "west": 100}
import pandas as pd
from io import StringIO

raw = """region,sales
east,100
west,100
east,50
"""
df = pd.read_csv(StringIO(raw))
result = df.groupby("region")["sales"].sum().to_dict()
