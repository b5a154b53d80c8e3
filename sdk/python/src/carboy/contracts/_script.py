"""Scripts with a context: one call, one dict as the answer, whatever the script did.

For hosts that store the answer or hand it on as JSON, and want neither exceptions nor classes.
"""

from __future__ import annotations

import re
import signal
from typing import Any

from .._default import run
from .._outcome import Error, Outcome
from .._visible import one_line
from ._checks import milliseconds, script_fault, whole_bytes
from ._endings import Ending, ending_of, words_of

_EXITED = re.compile(r"the interpreter exited with code ([0-9]{1,3}) ")
_NUMBER = re.compile(r"-?[0-9]{1,9}")
# What the engine calls a signal that it has no name for.
_NUMBERED = re.compile(r"SIG([0-9]{1,3})")


class ScriptSandbox:
    """Runs scripts within limits that were given once. Threads may share one.

    It holds no process of its own: all of them use the one engine of this process.
    """

    def __init__(self, limits: dict[str, int]) -> None:
        self._policy = {"limits": limits}

    def run_script(self, script: str, context: Any = None) -> dict[str, Any]:
        """Runs a script that sees `context` and answers with `result` or its last expression.

        - `{"status": "ok", "result": ...}`
        - `{"status": "error", "error": text, "error_type": name}` otherwise. The text is
          `"timeout"` if the time on the clock or of the processor ran out, and `"invalid output"`
          if the result is not JSON, too long or too deep. The name is the exception's class, the
          signal's name or a word of the engine.
        - `"exit_code"` is there too if the process died or the script left: what `subprocess` would
          say, so a signal is negative.

        A context that is not JSON is the caller's mistake: `carboy.RequestError`.
        """
        fault = script_fault(script)
        if fault is not None:
            return {"status": "error", "error": fault, "error_type": "SyntaxError"}
        outcome = run(script, inputs={"context": context}, policy=self._policy)
        if outcome.error is None:
            return {"status": "ok", "result": outcome.result}
        return _failure(outcome, outcome.error)


def create_sandbox(
    timeout: float = 30, memory_limit: int = 256 << 20, cpu_limit: float = 10
) -> ScriptSandbox:
    """A sandbox for scripts: `timeout` and `cpu_limit` in seconds, `memory_limit` in bytes.

    The kernel counts processor time in whole seconds, so `cpu_limit` is rounded up.
    """
    return ScriptSandbox(
        {
            "wall_ms": milliseconds("timeout", timeout),
            "memory_bytes": whole_bytes("memory_limit", memory_limit),
            "cpu_ms": milliseconds("cpu_limit", cpu_limit),
        }
    )


_TEXTS = {Ending.TIMEOUT: "timeout", Ending.RESULT: "invalid output"}


def _failure(outcome: Outcome, error: Error) -> dict[str, Any]:
    failure: dict[str, Any] = {
        "status": "error",
        "error": _TEXTS.get(ending_of(outcome)) or words_of(outcome),
        "error_type": one_line(error.type, 200),
    }
    code = _exit_code(error)
    if code is not None:
        failure["exit_code"] = code
    return failure


def _exit_code(error: Error) -> int | None:
    """How the process ended, as far as it did by itself."""
    if error.kind == "exception" and error.type == "SystemExit":
        # A system keeps eight bits. What is no number is printed, and the code is 1.
        return int(error.message) & 0xFF if _NUMBER.fullmatch(error.message) else 1
    if error.kind == "crash" or (error.kind == "denied" and error.traceback is None):
        exited = _EXITED.match(error.message)
        return int(exited[1]) if exited else _signal(error.type)
    return None


def _signal(name: str) -> int | None:
    """A signal as `subprocess` says it: `SIGSEGV` is -11."""
    numbered = _NUMBERED.fullmatch(name)
    if numbered:
        return -int(numbered[1])
    known = signal.Signals.__members__.get(name)
    return -known.value if known is not None else None
