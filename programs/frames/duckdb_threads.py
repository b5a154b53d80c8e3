# title: an aggregate over a million rows on all cores
# packages: duckdb
# expect: ok
# check: result == 999999
import duckdb

con = duckdb.connect()
con.execute("SET threads TO 4")
result = con.execute("SELECT max(i) FROM range(1000000) t(i)").fetchone()[0]
