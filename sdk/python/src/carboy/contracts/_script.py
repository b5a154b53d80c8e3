"""Scripts with a context: one call, one dict as the answer, whatever the script did.

For hosts that store the answer or hand it on as JSON, and want neither exceptions nor classes.
"""

from __future__ import annotations

from typing import Any

from .._default import run
from .._outcome import Outcome
from .._record import Error
from .._visible import one_line
from ._checks import milliseconds, script_fault, whole_bytes
from ._endings import Ending, ending_of, words_of


class ScriptSandbox:
    """Runs scripts within limits that were given once. Threads may share one.

    It holds no process of its own: all of them use the one engine of this process.
    """

    def __init__(self, limits: dict[str, int]) -> None:
        self._policy = {"limits": limits, "strict": True}

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
    if error.exit is not None:
        # As `subprocess` says it: a signal is negative.
        killed = error.exit.signal
        failure["exit_code"] = error.exit.code if killed is None else -killed
    return failure
