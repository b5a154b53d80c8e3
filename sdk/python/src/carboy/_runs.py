"""What is recorded of runs: a store as the program reads it.

Every question starts the program once. The methods wait for it; in an event loop call them with
`asyncio.to_thread`.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._binary import find_binary
from ._errors import EngineError, RequestError
from ._messages import failure_of
from ._outcome import Outcome

# How `carboy runs verify` and `replay` end if they found something.
_DIFFERS = 1


@dataclass(frozen=True)
class RecordedRun:
    """A run in a list."""

    seq: int
    """Which record of the chain it is."""
    id: str
    time: str
    """When it was asked for: UTC, in the form of ISO 8601."""
    tenant: str | None
    status: str
    """`ok`, `error` (the code's), `failed` (carboy's) or `abandoned` (its caller went away)."""
    kind: str | None
    error_type: str | None
    limit_name: str | None
    denials: int
    wall_ms: float | None
    peak_memory_bytes: int | None
    result_sha256: str | None
    begins: str
    """The first line of its code that says something, cut."""


@dataclass(frozen=True)
class RunRecord:
    """What is kept of one run."""

    hash: str
    facts: Mapping[str, Any]
    """What is hashed and chained: digests, usage, versions, and how it ended."""
    code: str
    job: Mapping[str, Any]
    """Its policy and tools."""
    outcome: Outcome | None
    """As its caller got it; None if carboy failed or the caller went away."""
    inputs: Mapping[str, Any] | None
    """By name, if they were to be kept."""

    @property
    def id(self) -> str:
        """The run's."""
        return str(self.facts["id"])


@dataclass(frozen=True)
class Difference:
    """Something that is not as it was recorded."""

    what: str
    recorded: str | None
    now: str | None


@dataclass(frozen=True)
class Replayed:
    """What came of running a recorded run once more."""

    id: str
    same: bool
    """Whether the code answered, printed and ended as it did."""
    outcome: list[Difference]
    """What the code did otherwise."""
    surroundings: list[Difference]
    """What around it is otherwise: the plan, versions, packages."""
    now: Outcome
    """What came of it now."""


@dataclass(frozen=True)
class ChainReport:
    """What came of reading a whole chain."""

    records: int
    first: int | None
    head: str
    """Its end, as `Runs.head` has it."""
    wrong: list[tuple[int, str]]
    """The number of a record, and what is wrong there."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong


class Runs:
    """The records of a store: `Sandbox(store="./store").runs`, or `Runs("./store")`.

    `box.runs.find(status="error")` lists some of them. Without a directory it is the one that
    `CARBOY_STORE` names. A run is named by its id, by as many of its digits as tell it apart, or by
    `last`.
    """

    def __init__(self, store: str | os.PathLike[str] | None = None) -> None:
        named = os.fspath(store) if store is not None else os.environ.get("CARBOY_STORE", "")
        if not named:
            raise RequestError(
                "no runs are recorded here", hint='make a box with store="DIR", or set CARBOY_STORE'
            )
        self.store = named

    def find(
        self,
        *,
        status: str | None = None,
        kind: str | None = None,
        tenant: str | None = None,
        since: str | None = None,
        until: str | None = None,
        text: str | None = None,
        most: int = 20,
    ) -> list[RecordedRun]:
        """Runs, the newest first. Times are ages such as `15m` or `7d`, or `2026-11-16T03:21` in UTC."""
        options = [f"--most={int(most)}"]
        filters = {
            "status": status,
            "kind": kind,
            "tenant": tenant,
            "since": since,
            "until": until,
            "text": text,
        }
        options += [f"--{name}={value}" for name, value in filters.items() if value is not None]
        return [RecordedRun(**row) for row in self._ask("list", options)]

    def show(self, id: str) -> RunRecord:
        """What is kept of a run."""
        found = self._ask("show", [], id)
        outcome = found.pop("outcome")
        return RunRecord(**found, outcome=Outcome.from_dict(outcome) if outcome else None)

    def replay(self, id: str, *, python: str | os.PathLike[str] | None = None) -> Replayed:
        """Runs the code again under the same policy, and says what differs."""
        options = [] if python is None else [f"--python={os.fspath(python)}"]
        found = self._ask("replay", options, id)
        return Replayed(
            found["id"],
            found["same"],
            [Difference(**one) for one in found["outcome"]],
            [Difference(**one) for one in found["surroundings"]],
            Outcome.from_dict(found["now"]),
        )

    def export(self, id: str) -> str:
        """A run as the text of a plain Python file that says how to run it anywhere."""
        return self._output(["export", *self._place(), "--", id]).decode()

    def page(self, id: str) -> str:
        """A run as one page of HTML that needs nothing else, and loads and runs nothing."""
        return self._output(["show", *self._place(), "--html=-", "--", id]).decode()

    def head(self) -> str:
        """The end of the chain, to be noted elsewhere."""
        head = self._ask("head", [])
        return f"{head['seq']}:{head['hash']}"

    def verify(self, head: str | None = None) -> ChainReport:
        """Whether every record is as it was written, none missing and none moved.

        `head` is one that was noted elsewhere, which the chain must contain.
        """
        found = self._ask("verify", [] if head is None else [f"--head={head}"])
        end = found["head"]
        wrong = [(one["seq"], one["what"]) for one in found["wrong"]]
        return ChainReport(found["records"], found["first"], f"{end['seq']}:{end['hash']}", wrong)

    def prune(self, *, keep_days: int | None = None, keep_bytes: int | None = None) -> int:
        """Removes the oldest records, and says how many."""
        limits = {"keep-days": keep_days, "keep-bytes": keep_bytes}
        options = [f"--{name}={int(value)}" for name, value in limits.items() if value is not None]
        return int(self._ask("prune", options)["records"])

    def __repr__(self) -> str:
        return f"Runs({self.store!r})"

    def _place(self) -> list[str]:
        return [f"--store={self.store}"]

    def _ask(self, command: str, options: list[str], *names: str) -> Any:
        words = [command, "--json", *self._place(), *options]
        return json.loads(self._output([*words, "--", *names] if names else words))

    def _output(self, words: list[str]) -> bytes:
        done = subprocess.run([find_binary(), "runs", *words], capture_output=True)
        if done.returncode in (0, _DIFFERS):
            return done.stdout
        try:
            failure = json.loads(done.stdout)["failure"]
        except (ValueError, KeyError, TypeError):
            cause = done.stderr.decode(errors="replace").strip()
            raise EngineError("could not read the run store", [cause[:1000]]) from None
        raise failure_of(failure)
