"""One request to a server about a run or a session, and what comes back. Nothing here does I/O.

What is said becomes the same messages that come from a pipe.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from urllib.parse import quote

from ._address import Address
from ._errors import CarboyError, EngineError, EngineGoneError, RequestError
from ._files import Upload
from ._http import MOST_BODY, Answer, Body, Broken, Events, Steps, exchange
from ._problems import code_of, problem_of
from ._request import Request
from ._run import Run

_ID = re.compile("[0-9a-f]{32}")
_SESSION = re.compile("[A-Za-z0-9_.-]{1,200}")
# How every outcome begins, and every outcome of a session's run.
_OUTCOME = re.compile(rb'\s*\{"id":"[0-9a-f]*","status":"')
_REPLY = re.compile(rb'\s*\{"outcome":\{"id":"[0-9a-f]*","status":"')
_STREAM = "text/event-stream"


class There:
    """A server, and the ids of the sessions there by their numbers here."""

    def __init__(self, address: Address, artifacts: str) -> None:
        self.address = address
        self.artifacts = artifacts
        self.sessions: dict[int, str] = {}

    def session_path(self, number: int, rest: str = "") -> str:
        """The path of a session, or of something that belongs to it."""
        id = self.sessions.get(number)
        if id is None:
            raise RequestError("the session is not open", hint="open another with box.session()")
        return f"/v1/sessions/{id}{rest}"

    def open(self, number: int, text: bytes) -> None:
        """Notes the session that an answer tells of."""
        try:
            id = json.loads(text)["id"]
        except (ValueError, RecursionError, KeyError, TypeError):
            id = None
        if type(id) is not str or _SESSION.fullmatch(id) is None:
            raise Broken("the answer has no usable id of the session")
        self.sessions[number] = id

    def closed(self, number: int, status: int) -> None:
        """Forgets a session that the server was asked to end, if the answer says that it is gone."""
        if 200 <= status < 300 or status in (404, 410):
            self.sessions.pop(number, None)


class Wanted:
    """What is asked of a server, and what its answer means as a message of a pipe."""

    def __init__(self, there: There, request: Request) -> None:
        self.method, self.body = "POST", request.body
        self.message: Callable[[bytes], bytes] = lambda text: b'{"done":{}}'
        self.is_run = request.kind in (b"run", b"piece")
        # Asked twice, it has the effect of once. What is done in a session, or opens one, has not.
        self.may_repeat = self.takes_key = request.kind == b"run"
        # That there is nothing by this name means that it is done, or that a checkpoint is not there.
        self.is_done_if_gone = False
        self._there = there
        self._closes: int | None = None
        self.checkpoint: str | None = None
        query = f"?artifacts={there.artifacts}"
        if request.kind == b"run":
            self.path = f"/v1/runs{query}"
        elif request.kind == b"piece":
            self.path = there.session_path(request.session, f"/runs{query}")
        elif not request.ask:
            self.path = "/v1/sessions"
            self._opens(there, request.session)
        else:
            self._asks(there, request)

    def _opens(self, there: There, number: int) -> None:
        def opened(text: bytes) -> bytes:
            there.open(number, text)
            return b'{"done":{}}'

        self.message = opened

    def _asks(self, there: There, request: Request) -> None:
        """Something that is asked of a session that is open."""
        ((ask, about),) = json.loads(request.ask).items()
        number, path = request.session, there.session_path
        self.body = b""
        if ask == "branch":
            self.path = path(number, "/branch")
            self._opens(there, about["session"])
        elif ask in ("variables", "checkpoints"):
            self.method, self.path = "GET", path(number, f"/{ask}")
            self.may_repeat = True
            self.message = lambda text: b'{"%b":%b}' % (ask.encode(), text)
        elif ask == "close":
            self.method, self.path, self.is_done_if_gone = "DELETE", path(number), True
            self.may_repeat = True
            self._closes = number
        elif ask == "drop":
            self.checkpoint = about["name"]
            self.method = "DELETE"
            self.path = path(number, f"/checkpoints/{quote(about['name'], safe='')}")
        else:
            self.checkpoint = about["name"] if ask == "rollback" else None
            self.path = path(number, "/rollback" if ask == "rollback" else "/checkpoints")
            self.body = json.dumps(about).encode()

    def answered(self, status: int) -> None:
        """The whole of an answer is there. Until then a session may be open that is to be closed."""
        if self._closes is not None:
            self._there.closed(self._closes, status)

    def failure(self, status: int, text: bytes) -> bytes | CarboyError:
        """What an answer means that is no success."""
        if self.is_done_if_gone and status in (404, 410):
            return b'{"done":{}}'
        if self.checkpoint is not None and status == 404:
            return RequestError(
                f"there is no checkpoint `{self.checkpoint}`",
                hint="`checkpoints()` has the names of those that are kept",
            )
        return problem_of(status, text)


class Trip:
    """One request to the server, and what comes back."""

    def __init__(self, there: There, run: Run) -> None:
        assert run.request is not None
        self.run = run
        self.began = time.monotonic()
        # The last message about the run, once it is there.
        self.end: bytes | BaseException | None = None
        self.id = ""
        # The server has said that it began nothing.
        self.is_refused = False
        self.answer = Answer()
        self._there = there
        self._uploads = run.request.uploads
        self._wanted = wanted = Wanted(there, run.request)
        self._events = Events()
        self._body = Body(MOST_BODY)
        more = "Content-Type: application/json\r\n"
        if run.request.streams:
            more += f"Accept: {_STREAM}\r\n"
        elif wanted.takes_key:
            # What comes as events cannot be told again. A piece of a session is not asked for again: behind
            # another gateway of a fleet nobody knows the key, and the state would be changed twice. Without
            # a key it ends with its connection.
            run.key = run.key or os.urandom(16).hex()
            more += key_header(run.key)
        self._head = there.address.request(wanted.method, wanted.path, wanted.body, more)

    @property
    def may_repeat(self) -> bool:
        """Whether it does no harm to send it again although the server may have heard of it."""
        return self._wanted.may_repeat or self.is_refused

    def steps(self) -> Steps:
        """What is to be done on a connection."""
        yield from exchange(self.answer, self._head, self._wanted.body, self._take)
        if self.end is not None or not self._uploads:
            return
        # The server lacks a file, and began nothing.
        uploads, self._uploads = self._uploads, ()
        for upload in uploads:
            yield from self._upload(upload)
            if self.end is not None:
                return
        self._body = Body(MOST_BODY)
        yield from exchange(self._next(), self._head, self._wanted.body, self._take)

    def _next(self) -> Answer:
        """The answer to another request on the same connection."""
        if not self.answer.keeps:
            raise Broken("the server closed the connection")
        self.answer = Answer()
        return self.answer

    def _upload(self, upload: Upload) -> Steps:
        """Sends a file, unless the server has it."""
        address = self._there.address
        head = address.request("GET", f"/v1/files/{upload.sha256}", None, "Range: bytes=0-0\r\n")
        yield from exchange(self._next(), head, b"", Body().take)
        if self.answer.status < 300:
            return
        more = f"Content-Type: application/octet-stream\r\nContent-Length: {upload.size}\r\n"
        head = address.request("POST", "/v1/files", None, more)
        answer, body = self._next(), Body()
        try:
            yield from exchange(answer, head, upload.parts(), body.take)
        except ValueError as error:
            self.end = _changed(upload, str(error))
            raise Broken("a file could not be sent") from None
        text = body.text()
        if answer.status >= 300:
            self.end = problem_of(answer.status, text)
        elif upload.sha256.encode() not in text:
            self.end = _changed(upload, "its content became another")

    def _take(self, part: bytes) -> None:
        answer = self.answer
        if answer.status == 200 and answer.headers.get("content-type", "").startswith(_STREAM):
            self.id = answer.headers.get("carboy-run", "")
            if _ID.fullmatch(self.id) is None:
                raise Broken("the answer has no usable id of the run")
            for name, data in self._events.feed(part):
                self._hear(name, data)
            if answer.over and self.end is None:
                self.end = lost("the answer ended before the run did")
            return
        self._body.take(part)
        if answer.over:
            self._whole(answer, self._body.text())

    def _whole(self, answer: Answer, text: bytes) -> None:
        """All of an answer is there that is no stream."""
        self._wanted.answered(answer.status)
        if answer.status < 300:
            self._hear("outcome" if self._wanted.is_run else "session", text)
            return
        code = code_of(text)
        if answer.status == 503 and code == "closed":
            # Nothing was begun: the connection was idle, and another was given its place.
            answer.status, self.is_refused = 0, True
            raise Broken("the server closed the connection for another")
        if code == "no_upload" and self._uploads:
            return
        end = self._wanted.failure(answer.status, text)
        self.end = end if isinstance(end, CarboyError) else self._said(end)

    def _said(self, message: bytes) -> bytes:
        return b'{"session":{"id":%d,"answer":%b}}' % (self.run.id, message)

    def _hear(self, name: str, data: bytes) -> None:
        if name == "outcome":
            if _OUTCOME.match(data) is not None:
                self.end = b'{"outcome":{"id":%d,"outcome":%b}}' % (self.run.id, data)
            elif _REPLY.match(data) is not None:
                self.end = b'{"outcome":{"id":%d,%b}' % (self.run.id, data.lstrip()[1:])
            else:
                raise Broken("what was answered is not an outcome")
        elif name == "session":
            self.end = self._said(self._wanted.message(data))
        elif name == "failed":
            self.end = problem_of(500, data)
        elif name in ("output", "call"):
            self.run.inbox.append(b'{"%b":%b}' % (name.encode(), data))


def key_header(key: str) -> str:
    """The header that names a request which may be sent again."""
    return f"Idempotency-Key: {key}\r\n"


def _changed(upload: Upload, why: str) -> RequestError:
    return RequestError(
        f"the file {upload.name!r} changed while it was sent: {why}",
        hint="hand in a copy of what is being written",
    )


def lost(why: object) -> EngineError:
    """For a run whose connection ended."""
    return EngineGoneError(
        "the connection to the server was lost while the run was under way",
        [str(why) or type(why).__name__],
        "the run is ended by the server, or by its own limits; the next one makes another connection",
    )
