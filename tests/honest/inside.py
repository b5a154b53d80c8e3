"""Runs programs in jars, through the Python package, as its users do."""

from __future__ import annotations

import sys
from types import TracebackType

from .judge import Came, words_of
from .program import ROOT, Program

sys.path.insert(0, str(ROOT / "sdk" / "python" / "src"))

import carboy
from carboy import Policy, Sandbox


class Inside:
    """A sandbox for the whole table."""

    def __init__(self, python: str, preload: list[str], profile: str, walls: str) -> None:
        self._profile = profile
        self._walls = walls
        self._box = Sandbox(python=python, preload=preload)

    def __enter__(self) -> Inside:
        self._box.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._box.close()

    def run(self, program: Program) -> Came:
        """Runs one in a jar of its own."""
        code = carboy.extract(program.code) if program.extract else program.code
        policy = Policy.preset(
            program.preset,  # type: ignore[arg-type]
            walls=self._walls,  # type: ignore[arg-type]
            language=self._profile,  # type: ignore[arg-type]
            **program.limits,  # type: ignore[arg-type]
        )
        try:
            outcome = self._box.run(code, policy=policy)
        except carboy.CarboyError as error:
            return Came("engine", type(error).__name__, str(error))
        error = outcome.error
        return Came(
            kind=error.kind if error else None,
            type=(error.limit.name if error.limit else error.type) if error else "",
            message=error.message if error else "",
            result=outcome.result,
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            files=tuple(file.path for file in outcome.artifacts),
            displays=tuple(outcome.displays),
            words=words_of(error.hint if error else None, outcome.denials),
            line=error.line if error else None,
            signal=error.exit.signal if error and getattr(error, "exit", None) else None,
            seconds=outcome.usage.wall_ms / 1000,
        )
