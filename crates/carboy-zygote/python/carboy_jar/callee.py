"""Where an exception came from: a `raise` of the code, or something that it called.

The engine names a limit or a refusal as the cause of an error only if the code did not make the error
itself.
"""

from __future__ import annotations

import dis
import sys

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any

RAISE = dis.opmap["RAISE_VARARGS"]
# Instructions that name what is called next.
LOADS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF")
# Longer code is not searched for a name.
MOST_CODE = 100_000


def failed_callee(error: BaseException) -> str | None:
    """The name of the function whose call failed, as far as it is needed and known.

    `None` if a `raise` statement of the code made the error. One in a library counts as a call.
    """
    trace = deepest(error.__traceback__)
    if trace is None:
        return ""
    code, at = trace.tb_frame.f_code, trace.tb_lasti
    # The interpreter gives extension modules frames without instructions.
    is_raise = code.co_code[at : at + 1] == bytes([RAISE]) if at >= 0 else False
    if is_raise and not is_library(code):
        return None
    # Only there does the name decide.
    return called_name(code, at) if isinstance(error, BlockingIOError) else ""


def deepest(trace: TracebackType | None) -> TracebackType | None:
    """The last entry of a traceback."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def is_library(code: CodeType) -> bool:
    """Whether code came with the interpreter or is installed beside it."""
    return code.co_filename.startswith((sys.prefix, sys.base_prefix, "<frozen "))


def called_name(code: CodeType, at: int) -> str:
    """The name of what the instruction at an offset calls; before CPython 3.11 it is not known."""
    if not hasattr(code, "co_positions") or len(code.co_code) > MOST_CODE:
        return ""
    # What has positions is newer than the oldest interpreter that this is checked for.
    instructions: list[Any] = list(dis.get_instructions(code))
    call = next((step.positions for step in instructions if step.offset == at), None)
    if call is None:
        return ""
    name, longest = "", (0, 0)
    for step in instructions:
        where = step.positions
        if step.opname not in LOADS or where is None or where == call:
            continue
        # What is called is written at the beginning of the call.
        begins = (where.lineno, where.col_offset) == (call.lineno, call.col_offset)
        end = (where.end_lineno or 0, where.end_col_offset or 0)
        if begins and longest < end < (call.end_lineno or 0, call.end_col_offset or 0):
            name, longest = str(step.argval), end
    return name[:200].encode("ascii", "replace").decode()
