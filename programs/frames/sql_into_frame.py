# title: a query's rows as a frame
# packages: pandas
# expect: ok
# check: result == {"n": [2, 3]}
import sqlite3
import pandas as pd

con = sqlite3.connect(":memory:")
pd.DataFrame({"n": [1, 2, 3]}).to_sql("t", con, index=False)
result = pd.read_sql("SELECT n FROM t WHERE n > 1", con).to_dict("list")
