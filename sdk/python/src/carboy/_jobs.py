"""Durable jobs on a server: code that is accepted, queued, and run when there is a place.

Nothing here does I/O: `_sync_jobs` and `_async_jobs` ask the server.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any, Literal, get_args

from ._data_frames import FrameLike
from ._errors import EngineError, JobError, RequestError
from ._files import FileLike
from ._json import NotJson, encoded
from ._outcome import Outcome
from ._policy import PolicyLike
from ._problems import problem_of
from ._request import Settings
from ._visible import one_line

JobState = Literal["accepted", "ended", "failed", "cancelled", "expired"]

# How long one request waits for an end, in milliseconds; and how long nobody asks a server that cannot tell.
WAIT_MS = 10_000
PAUSE = 0.5
_STATES = frozenset(get_args(JobState))
_ID = re.compile("[0-9a-f]{32}")
_KEY = re.compile("[!-~]{1,200}")
_MOST = 2_000


class Submission:
    """What is sent for a job, and the key that makes it one job however often it is sent."""

    def __init__(
        self,
        settings: Settings,
        code: str,
        inputs: Mapping[str, Any] | None,
        files: Mapping[str, FileLike] | None,
        frames: Mapping[str, FrameLike] | None,
        policy: PolicyLike | None,
        timeout: float | None,
        webhook: str | None,
        key: str | None,
    ) -> None:
        if settings.address is None:
            raise without_server()
        if settings.tools.by_name:
            raise RequestError(
                "a durable job cannot call tools: nobody waits to answer",
                hint="submit it from a box without tools, or use run",
            )
        request = settings.request(code, inputs, policy, (), timeout, False, files, None, frames)
        if request.uploads:
            raise RequestError(
                f"the file {request.uploads[0].name!r} is too large for a durable job",
                hint="hand in files of at most 1 MiB, or use run",
            )
        self.body = b'{"job":%b' % request.body
        if webhook is not None:
            try:
                self.body += b',"webhook":%b' % encoded(str(webhook))
            except NotJson as error:
                raise RequestError(f"the webhook contains {error.what}") from None
        self.body += b"}"
        key = secrets.token_hex(16) if key is None else key
        if not isinstance(key, str) or _KEY.fullmatch(key) is None:
            raise RequestError("a key must be 1 to 200 visible characters of ASCII")
        self.headers = f"Idempotency-Key: {key}\r\n"


def without_server() -> RequestError:
    """For a box with an engine of its own."""
    return RequestError(
        "durable jobs need a server that keeps them",
        hint='name one: Sandbox(url="http://127.0.0.1:8722", key="carboy_...")',
    )


def checked_id(id: object) -> str:
    """The id of a job, as it may stand in a path."""
    if type(id) is not str or _ID.fullmatch(id) is None:
        raise RequestError("this is no id of a job", hint="`job.id` has it: 32 hexadecimal digits")
    return id


def told(status: int, text: bytes) -> dict[str, Any]:
    """What a server says of a job; the error of its problem otherwise."""
    if status >= 300:
        raise problem_of(status, text)
    try:
        found = json.loads(text)
        if _ID.fullmatch(found["id"]) is None or found["state"] not in _STATES:
            raise ValueError("it tells of no job")
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise EngineError("an answer of the server could not be parsed", [str(error)]) from None
    assert isinstance(found, dict)
    return found


def outcome_of(found: dict[str, Any], raises: bool) -> Outcome | None:
    """The outcome of a job, if it ended with one; nothing while it has not ended."""
    state = found["state"]
    if state == "accepted":
        return None
    if state == "ended":
        outcome = Outcome.from_dict(found["outcome"])
        return outcome.raise_for_error() if raises else outcome
    if state == "failed":
        failure = found["failure"]
        hint = failure.get("hint")
        raise JobError(
            one_line(str(failure["detail"]), _MOST),
            (),
            None if hint is None else one_line(str(hint), _MOST),
        )
    if state == "cancelled":
        raise JobError("the job was cancelled")
    raise JobError(
        "the job is more than a day old, and its end is not kept", hint="submit it again"
    )


def not_ended(id: str) -> TimeoutError:
    """For who waits no longer."""
    return TimeoutError(f"the job {id} has not ended yet")


class JobBase:
    """What both kinds of jobs share."""

    def __init__(self, id: str, raises: bool) -> None:
        self._id = id
        self._raises = raises
        self._path = f"/v1/jobs/{id}"

    @property
    def id(self) -> str:
        """What the server knows it by. `box.job(id)` finds it again, also in another process."""
        return self._id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._id!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has no connection, and must not have the key.
        raise TypeError("a job cannot be pickled: pass its id, and find it with box.job(id)")
