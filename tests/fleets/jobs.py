"""Sends durable jobs over HTTP, and judges their ends: each must have its own result, and keep it."""

import http.client
import json
import queue
import secrets
import threading
import time
from typing import Any

from .load import Seen
from .world import GATEWAYS, PORT, World

# How long a job may take at most, with everything that is broken meanwhile.
LONGEST = 300.0


def ask(
    world: World,
    method: str,
    path: str,
    body: object = None,
    *,
    tenant: str = "good",
    key: str | None = None,
    gateway: int = 0,
) -> tuple[int, dict[str, str], Any]:
    """One request to a gateway: its status, its headers and its answer."""
    connection = http.client.HTTPConnection(GATEWAYS[gateway], PORT, timeout=LONGEST)
    headers = {"Authorization": f"Bearer {world.keys[tenant]}", "Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    told = {name.lower(): value for name, value in answer.getheaders()}
    try:
        return answer.status, told, json.loads(text)
    except ValueError:
        return answer.status, told, None


def job(code: str, wall_ms: int | None = None) -> dict[str, Any]:
    """The body of a submission."""
    asked: dict[str, Any] = {"code": code}
    if wall_ms is not None:
        asked["policy"] = {"limits": {"wall_ms": wall_ms}}
    return {"job": asked}


class Jobs:
    """So many jobs, each submitted until it is accepted, and asked for until it has ended."""

    def __init__(
        self,
        world: World,
        *,
        jobs: int,
        at_once: int,
        code: str = "result = {n}",
        tenant: str = "good",
        under_way: int = 64,
        wall_ms: int | None = None,
    ) -> None:
        self.world, self.jobs, self.code, self.tenant = world, jobs, code, tenant
        self.wall_ms = wall_ms
        self.name = secrets.token_hex(8)
        self.seen = Seen()
        self.lock = threading.Lock()
        self.next = 0
        # No more than so many are under way, so that some are submitted whatever happens meanwhile.
        self.room = threading.Semaphore(under_way)
        self.accepted: queue.SimpleQueue[tuple[int, str] | None] = queue.SimpleQueue()
        self.ids: dict[int, str] = {}
        self.ends: dict[int, Any] = {}
        self.senders = [threading.Thread(target=self.send, daemon=True) for _ in range(at_once)]
        self.askers = [
            threading.Thread(target=self.await_ends, daemon=True) for _ in range(at_once)
        ]

    def start(self) -> "Jobs":
        """Begins to submit."""
        self.began = time.monotonic()
        for thread in self.senders + self.askers:
            thread.start()
        return self

    def until(self, part: float) -> None:
        """Waits until this part of the jobs has ended."""
        while len(self.ends) < self.jobs * part and any(
            thread.is_alive() for thread in self.askers
        ):
            time.sleep(0.01)

    def end(self) -> Seen:
        """Waits for the rest."""
        for thread in self.senders:
            thread.join()
        for _ in self.askers:
            self.accepted.put(None)
        for thread in self.askers:
            thread.join()
        self.seen.seconds = time.monotonic() - self.began
        return self.seen

    def insist(self, method: str, path: str, body: object, key: str | None) -> tuple[int, Any]:
        """Asks until there is an answer that is about the job."""
        until = time.monotonic() + LONGEST
        while True:
            try:
                status, _, told = ask(self.world, method, path, body, tenant=self.tenant, key=key)
            except (OSError, http.client.HTTPException) as error:
                status, told = 0, repr(error)
            if status not in (0, 429, 503) or time.monotonic() > until:
                return status, told
            with self.lock:
                self.seen.refused += status in (429, 503)
                self.seen.retried += 1
            time.sleep(0.1)

    def send(self) -> None:
        """One who submits."""
        while True:
            self.room.acquire()
            with self.lock:
                if self.next >= self.jobs:
                    self.room.release()
                    return
                number, self.next = self.next, self.next + 1
                self.seen.sent += 1
            body = job(self.code.format(n=number), self.wall_ms)
            # One key for all attempts: it is one job.
            status, told = self.insist("POST", "/v1/jobs", body, f"{self.name}-{number}")
            if status != 202:
                self.fail(number, f"not accepted: {status} {told}")
                continue
            self.ids[number] = told["id"]
            self.accepted.put((number, told["id"]))

    def await_ends(self) -> None:
        """One who asks for ends."""
        while (accepted := self.accepted.get()) is not None:
            number, name = accepted
            until = time.monotonic() + LONGEST
            while True:
                status, told = self.insist("GET", f"/v1/jobs/{name}?wait_ms=10000", None, None)
                if status != 200 or told["state"] != "accepted" or time.monotonic() > until:
                    break
            self.judge(number, status, told)

    def judge(self, number: int, status: int, told: Any) -> None:
        """A job is right if it ended with its own result."""
        if status != 200 or told["state"] != "ended" or told["outcome"].get("result") != number:
            self.fail(number, f"{status} {str(told)[:300]}")
            return
        with self.lock:
            self.seen.results[number] = told["outcome"]["result"]
            self.seen.times.append((told["ended_ms"] - told["accepted_ms"]) / 1e3)
            self.ends[number] = told
        self.room.release()

    def fail(self, number: int, why: str) -> None:
        """A job without its result."""
        with self.lock:
            self.seen.wrong.append(f"{number}: {why}")
            self.ends[number] = None
        self.room.release()

    def changed(self) -> list[str]:
        """Jobs that have another end now than the one that was told first."""
        found = []
        for number, name in self.ids.items():
            _, told = self.insist("GET", f"/v1/jobs/{name}", None, None)
            if told != self.ends.get(number):
                found.append(f"{number}: {str(told)[:200]}")
        return found
