"""What both kinds of boxes share: their settings, their engine, and how messages are read."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from ._artifacts import ArtifactWish, Place
from ._check import Violation, violations
from ._client import remote_policy, remote_violations
from ._errors import RequestError
from ._forks import tell_of_forks
from ._link import Link
from ._messages import decoded, failure_of
from ._outcome import Outcome, SessionOutcome
from ._policy import PolicyLike, policy_body
from ._prompt import prompt_for
from ._record import Chunk, Preloaded
from ._remote_runs import RemoteRuns
from ._request import OnError, Settings, is_raise
from ._run import Run
from ._runs import Runs
from ._tools import ToolLike

P = TypeVar("P", bound=Link)
R = TypeVar("R", bound=Run)


class Box(Generic[P]):
    """A box and its engine, behind a pipe of one kind."""

    def __init__(
        self,
        policy: PolicyLike | None = None,
        *,
        python: str | os.PathLike[str] | None = None,
        preload: Iterable[str] = (),
        tools: Iterable[ToolLike] = (),
        on_error: OnError = "return",
        untested_python: bool = False,
        artifacts: ArtifactWish = "keep",
        store: str | os.PathLike[str] | None = None,
        record_inputs: bool = False,
        record_artifacts: bool = False,
        memory_budget: int | str | None = None,
        url: str | None = None,
        key: str | None = None,
    ) -> None:
        self._settings = Settings(
            python,
            preload,
            tools,
            policy,
            on_error,
            untested_python,
            artifacts,
            store,
            record_inputs,
            record_artifacts,
            memory_budget,
            url,
            key,
        )
        self._pipe: P | None = None
        self._closed = False
        # Two threads must not start two engines.
        self._starting = threading.Lock()
        self._end: weakref.finalize[..., Any] | None = None
        tell_of_forks(self)

    @property
    def runs(self) -> Runs:
        """What is recorded of runs in the store of this box, or in the one that `CARBOY_STORE` names.

        A box on a server has the records of its tenant there: `find` and `show`.
        """
        if self._settings.address is not None:
            return RemoteRuns(self._settings.address)
        return Runs(self._settings.store)

    def prompt(self) -> str:
        """What a language model has to know to write code for this box, as Markdown.

        It lists the packages that can be imported: the interpreter is asked once for what it has.
        """
        settings = self._settings
        policy: Mapping[str, Any] = settings.policy
        if settings.address is not None and not policy:
            policy = remote_policy(settings.address)
        return prompt_for(settings, self._version(), policy)

    def _version(self) -> str | None:
        """The interpreter's version, if it is known without starting an engine."""
        if self._pipe is not None:
            return self._pipe.python
        settings = self._settings
        is_own = settings.address is None and settings.python == sys.executable
        return ".".join(map(str, sys.version_info[:2])) if is_own else None

    def _violations(self, code: str, policy: PolicyLike | None) -> list[Violation]:
        body = self._settings.policy if policy is None else policy_body(policy)
        if self._settings.address is not None:
            return remote_violations(self._settings.address, code, body)
        return violations(code, body, self._version())

    def _raises(self, on_error: OnError | None) -> bool:
        return self._settings.raises if on_error is None else is_raise(on_error)

    def _without_engine(self) -> P | None:
        """Takes the engine out of the box."""
        pipe, self._pipe = self._pipe, None
        if self._end is not None:
            self._end.detach()
        return pipe

    def _after_fork(self) -> None:
        self._starting = threading.Lock()
        pipe = self._without_engine()
        if pipe is not None:
            pipe.after_fork()


class Stream(Generic[P, R]):
    """The output of a run as it comes."""

    def __init__(self, pipe: P, run: R, raises: bool) -> None:
        self._pipe = pipe
        self._run = run
        self._raises = raises
        self._outcome: Outcome | None = None

    @property
    def outcome(self) -> Outcome:
        """What came of the run, once its output has ended."""
        if self._outcome is None:
            if self._run.ended:
                raise RequestError("the stream was closed before its end, so the run was cancelled")
            raise RequestError(
                "there is no outcome yet", hint="iterate over the stream to its end first"
            )
        return self._outcome

    def close(self) -> None:
        """Cancels the run if it is under way."""
        self._run.finish()

    def _chunk(self, found: Chunk | Outcome) -> Chunk | None:
        """The next chunk, or None at the end."""
        if isinstance(found, Chunk):
            return found
        self._outcome = found
        self.close()
        if self._raises:
            found.raise_for_error()
        return None


def heard(
    said: bytes | BaseException, place: Place | None
) -> Chunk | Outcome | Preloaded | dict[str, Any] | None:
    """A message for the caller of a run; a dict if it is a tool call.

    `place` is where the engine keeps artifacts.
    """
    if isinstance(said, BaseException):
        raise said
    kind, body = decoded(said)
    if kind == "outcome":
        if "state" in body:
            return SessionOutcome.from_message(body, place)
        return Outcome.from_dict(body["outcome"], place)
    if kind == "output":
        return Chunk(body["stream"], body["text"])
    if kind == "preloaded":
        module, done, count = body["module"], body["done"], body["count"]
        return Preloaded(module, done, count, body.get("took_ms"), body.get("late"))
    if kind == "failed":
        raise failure_of(body["failure"])
    return body if kind == "call" else None


def session_outcome(outcome: Outcome) -> SessionOutcome:
    """The outcome of a run of a session as what it is."""
    assert isinstance(outcome, SessionOutcome)
    return outcome


def closed_box() -> RequestError:
    """For a box that is used after it was closed."""
    return RequestError("the sandbox is closed", hint="make another, or close it later")
