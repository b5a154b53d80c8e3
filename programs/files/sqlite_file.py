# title: a database in a file
# expect: ok
# check: result == 5 and "app.db" in files
import sqlite3

with sqlite3.connect("app.db") as con:
    con.execute("create table t(a int)")
    con.execute("insert into t values (5)")
    con.commit()
result = sqlite3.connect("app.db").execute("select a from t").fetchone()[0]
