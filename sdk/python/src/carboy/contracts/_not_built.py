"""The answer to a tier that a contract names and carboy does not have yet.

It has a name of its own so that a host can tell "later" from "wrong", and so that nothing falls
back to a weaker tier in silence.
"""

from __future__ import annotations

from .._errors import CarboyError


class NotBuiltError(CarboyError, NotImplementedError):
    """Something that was asked for is not built yet. Nothing ran."""


def not_built(what: str, instead: str) -> NotBuiltError:
    """The error for a tier, and what to take until it is there."""
    return NotBuiltError(f"{what} is not built yet\nhint: {instead}")
