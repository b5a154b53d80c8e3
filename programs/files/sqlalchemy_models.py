# title: classes as tables
# packages: sqlalchemy
# expect: ok
# check: result == ["Ann", "Cleo"]
from sqlalchemy import create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

class Base(DeclarativeBase):
    pass

class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    age: Mapped[int]

engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add_all([User(name="Ann", age=40), User(name="Bob", age=10), User(name="Cleo", age=33)])
    session.commit()
    result = list(session.scalars(select(User.name).where(User.age > 18).order_by(User.name)))
