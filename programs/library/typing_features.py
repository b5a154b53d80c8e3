# title: annotations of every kind
# expect: ok
# check: result == {"a": 1}
from __future__ import annotations
from typing import Any, NamedTuple, Optional, TypedDict, TypeVar

T = TypeVar("T")

class Row(TypedDict, total=False):
    a: int

class Pair(NamedTuple):
    left: int
    right: Optional[str] = None

def first(items: list[T]) -> T | None:
    return items[0] if items else None

result: Row = {"a": first([Pair(1).left])}
