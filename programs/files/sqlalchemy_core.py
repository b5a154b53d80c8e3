# title: a database through sqlalchemy
# packages: sqlalchemy
# expect: ok
# check: result == 3
from sqlalchemy import create_engine, text

engine = create_engine("sqlite:///test.db")
with engine.begin() as con:
    con.execute(text("create table t(a int)"))
    con.execute(text("insert into t values (1),(2)"))
    result = con.execute(text("select sum(a) from t")).scalar()
