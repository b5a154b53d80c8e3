# title: a model of pydantic
# packages: pydantic
# expect: ok
# check: result == {"name": "a", "tags": ["x"]}
from pydantic import BaseModel

class Item(BaseModel):
    name: str
    tags: list[str] = []

result = Item(name="a", tags=["x"])
