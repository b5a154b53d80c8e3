# title: members of an enumeration
# expect: ok
from enum import Enum

class Color(Enum):
    RED = "red"

result = Color.RED
