# title: SQL over a frame
# packages: duckdb pandas
# expect: ok
# check: result == [{"city": "A", "total": 4}, {"city": "B", "total": 2}]
import duckdb
import pandas as pd

df = pd.DataFrame({"city": ["A", "B", "A"], "n": [1, 2, 3]})
out = duckdb.sql("SELECT city, CAST(SUM(n) AS BIGINT) AS total FROM df GROUP BY city ORDER BY city").df()
print(out)
result = out.to_dict("records")
