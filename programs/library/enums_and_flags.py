# title: enumerations and flags
# expect: ok
# check: result == ["RED", 2, 3]
from enum import Enum, Flag, auto

class Color(Enum):
    RED = 1
    BLUE = 2

class Access(Flag):
    READ = auto()
    WRITE = auto()

result = [Color(1).name, Color.BLUE.value, (Access.READ | Access.WRITE).value]
