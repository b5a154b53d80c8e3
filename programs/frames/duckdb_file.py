# title: a duckdb database in a file
# packages: duckdb
# expect: ok
# check: result == 499500
import duckdb

con = duckdb.connect("my.db")
con.execute("CREATE TABLE t AS SELECT range AS i FROM range(1000)")
result = int(con.execute("SELECT SUM(i) FROM t").fetchone()[0])
