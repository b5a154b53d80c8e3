# title: SQL over a CSV file
# packages: duckdb
# expect: ok
# check: result == [["a", 3], ["b", 5]]
import duckdb

with open("sales.csv", "w") as f:
    f.write("k,n\na,1\na,2\nb,5\n")
rows = duckdb.sql("SELECT k, SUM(n)::INT FROM 'sales.csv' GROUP BY k ORDER BY k").fetchall()
result = [list(row) for row in rows]
