"""What a forked child must close.

The engine belongs to the process that started it. A child that kept the descriptors would keep the
engine alive after its caller, and one that used them would mix its requests into the parent's.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """Something that must know about a fork."""

    def _after_fork(self) -> None: ...


_known: weakref.WeakSet[Forkable] = weakref.WeakSet()


def tell_of_forks(thing: Forkable) -> None:
    """Calls `thing` in a forked child."""
    _known.add(thing)


def _tell() -> None:
    for thing in list(_known):
        thing._after_fork()


os.register_at_fork(after_in_child=_tell)
