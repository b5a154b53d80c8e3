# title: checks records with pydantic
# packages: pydantic
# expect: ok
# check: result == [{"name": "a", "qty": 3}, "Item", 1]
from pydantic import BaseModel, Field, ValidationError

class Item(BaseModel):
    name: str
    qty: int = Field(gt=0)

try:
    Item(name="b", qty=-1)
except ValidationError as error:
    wrong = error.error_count()
result = [Item(name="a", qty="3").model_dump(), Item.model_json_schema()["title"], wrong]
