"""What goes back to code that called a tool: a value as JSON, or why there is none.

An exception of the caller's own functions may say what guest code must not know. Only its name goes
back; the rest is in the caller's log.
"""

from __future__ import annotations

import dataclasses
import enum
import logging
from typing import Any

from ._arguments import Mismatch
from ._errors import ToolError
from ._json import NotJson, encoded
from ._visible import beginning

LOG = logging.getLogger("carboy")

_MOST_MESSAGE = 2_000
# The engine accepts no longer answer.
_MOST_BYTES = 16 << 20


def value_answer(run: int, call: int, tool: str, value: Any) -> bytes:
    """The answer with what a tool returned."""
    if value is None:
        return b'{"answer":{"id":%d,"call":%d}}\n' % (run, call)
    try:
        text = encoded(value, _converted)
    except NotJson as error:
        where = f" at {error.path}" if error.path else ""
        message = f"{tool} returned something that is not JSON: {error.what}{where}"
        return fault_answer(run, call, "tool", message)
    except Exception as error:  # What it returned has code of its own.
        LOG.exception("what the tool %s returned could not be read", tool)
        message = f"{tool} returned something that is not JSON ({type(error).__name__})"
        return fault_answer(run, call, "tool", message)
    if len(text) > _MOST_BYTES:
        message = f"{tool} returned {len(text)} bytes of JSON, at most {_MOST_BYTES} are accepted"
        return fault_answer(run, call, "tool", message)
    return b'{"answer":{"id":%d,"call":%d,"result":%b}}\n' % (run, call, text)


def failure_answer(run: int, call: int, tool: str, error: BaseException) -> bytes:
    """The answer when a tool did not return."""
    if isinstance(error, Mismatch):
        return fault_answer(run, call, "arguments", str(error))
    if isinstance(error, ToolError):
        return fault_answer(run, call, "tool", str(error) or f"{tool} failed")
    LOG.error("the tool %s failed", tool, exc_info=error)
    return fault_answer(run, call, "tool", f"{tool} failed ({type(error).__name__})")


def fault_answer(run: int, call: int, kind: str, message: str) -> bytes:
    """The answer that says why there is no value."""
    message = beginning(message, _MOST_MESSAGE).encode(errors="replace").decode()
    fault = encoded({"kind": kind, "message": message})
    return b'{"answer":{"id":%d,"call":%d,"error":%b}}\n' % (run, call, fault)


def _converted(value: Any) -> Any:
    """JSON of what tools like to return, or the value itself."""
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    return value
