# title: abstract classes and protocols
# expect: ok
# check: result == ["woof", True]
from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

class Animal(ABC):
    @abstractmethod
    def sound(self): ...

class Dog(Animal):
    def sound(self):
        return "woof"

@runtime_checkable
class Loud(Protocol):
    def sound(self): ...

result = [Dog().sound(), isinstance(Dog(), Loud)]
