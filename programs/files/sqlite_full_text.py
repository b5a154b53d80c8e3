# title: full-text search and windows in SQL
# expect: ok
# check: result == [["red lamp"], [[1, 1], [2, 3]]]
import sqlite3

con = sqlite3.connect(":memory:")
con.execute("CREATE VIRTUAL TABLE docs USING fts5(body)")
con.executemany("INSERT INTO docs VALUES (?)", [("red lamp",), ("blue desk",)])
found = [row[0] for row in con.execute("SELECT body FROM docs WHERE docs MATCH 'lamp'")]
con.execute("CREATE TABLE n(i)")
con.executemany("INSERT INTO n VALUES (?)", [(1,), (2,)])
running = con.execute("SELECT i, SUM(i) OVER (ORDER BY i) FROM n").fetchall()
result = [found, running]
