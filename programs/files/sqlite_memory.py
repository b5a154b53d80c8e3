# title: a database in memory
# expect: ok
# check: result == [[1, "x"], [2, "y"]]
import sqlite3

con = sqlite3.connect(":memory:")
con.execute("create table t(a int, b text)")
con.executemany("insert into t values(?,?)", [(1, "x"), (2, "y")])
result = con.execute("select * from t").fetchall()
