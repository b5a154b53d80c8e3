"""Scripts of a game's mods: called at a moment of the game, they look at its state and answer.

A mod comes from a stranger and only has to compute, so it is held to the smallest language, `hook`.
Its author is told everything that is wrong with it at once, before anything runs.
"""

from __future__ import annotations

from typing import Any

from .._default import run
from .._outcome import Outcome, RunError
from ._checks import milliseconds
from ._endings import Ending, Violation, ending_of, violations_of, words_of


class HookError(RunError, ValueError):
    """A mod's script is not Python, or not the Python that mods may be written in."""

    @property
    def violations(self) -> tuple[Violation, ...]:
        """All that is wrong with it."""
        return violations_of(self.outcome)

    def __str__(self) -> str:
        found = self.violations
        count = "1 violation" if len(found) == 1 else f"{len(found)} violations"
        return "\n  ".join([f"the script was refused: {count}", *map(str, found)])


def run_mod_hook(
    script: str, game_state: Any, mod_config: Any, timeout_seconds: float = 5.0
) -> dict[str, Any] | None:
    """Runs a mod's script and returns the dict that it wrote to `result["output"]`.

    The script sees copies of `game_state` and `mod_config`, both JSON, and an empty dict `result`.

    - Nothing written, or `None`: the answer is `None`.
    - Not Python, or more Python than the profile `hook` grants: `HookError`, a `ValueError` with
      every violation in its text and in its `violations`. A refusal in the middle of a run is the
      same.
    - Not done after `timeout_seconds`: `carboy.TimeLimitError`, a `TimeoutError`.
    - Any other bad end, an output that is no dict among them: `{"status": "error", "error": text}`.
      A script can write such a dict itself; it gains nothing by it.
    """
    time = milliseconds("timeout_seconds", timeout_seconds)
    outcome = run(
        script,
        inputs={"game_state": game_state, "mod_config": mod_config, "result": {}},
        policy={
            "language": {"profile": "hook"},
            "limits": {"wall_ms": time, "cpu_ms": time},
            "strict": True,
        },
    )
    ending = ending_of(outcome)
    if ending is Ending.OK:
        return _output(outcome)
    if ending in (Ending.SYNTAX, Ending.GUARD):
        raise HookError(outcome)
    if ending is Ending.TIMEOUT:
        outcome.raise_for_error()
    return _failure(words_of(outcome))


def _output(outcome: Outcome) -> dict[str, Any] | None:
    result = outcome.result
    if result is None:
        return None
    if not isinstance(result, dict):
        return _failure(f"`result` must stay a dict, was {type(result).__name__}")
    output = result.get("output")
    if output is None or isinstance(output, dict):
        return output
    return _failure(f'result["output"] must be a dict, was {type(output).__name__}')


def _failure(text: str) -> dict[str, Any]:
    return {"status": "error", "error": text}
