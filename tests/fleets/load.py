"""Sends runs over HTTP, and judges what came back: every run must have its own result, once."""

import http.client
import json
import random
import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .world import GATEWAYS, PORT, World


@dataclass
class Seen:
    """What came of the runs of one load."""

    sent: int = 0
    results: dict[int, Any] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    refused: int = 0
    # How often by which code, so that a case says who refused.
    refusals: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    refusal_times: list[float] = field(default_factory=list)
    retried: int = 0
    seconds: float = 0.0

    def quantile(self, part: float) -> float:
        """The time that this part of the runs took at most."""
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0

    def line(self) -> str:
        """What every case prints."""
        shown = " ".join(f"{name} {self.quantile(part):.3f}" for name, part in
                         (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)))  # fmt: skip
        codes = "".join(f" {code} {count}" for code, count in sorted(self.refusals.items()))
        return (f"sent {self.sent}, answered {len(self.times)}, unique {len(self.results)}, "
                f"refused {self.refused}{codes}, lost {self.lost}, asked again {self.retried}, {shown} s, "
                f"{len(self.times) / max(self.seconds, 1e-9):.0f} runs/s")  # fmt: skip


def code_of(text: bytes) -> str:
    """The code of a refusal."""
    try:
        return str(json.loads(text)["code"])
    except (ValueError, KeyError, TypeError):
        return "without a code"


class Load:
    """So many runs, so many at a time, to the gateways in turn."""

    def __init__(
        self,
        world: World,
        *,
        runs: int,
        at_once: int,
        code: str = "result = {n}",
        tenant: str = "good",
        gateways: int = 1,
        insist: bool = True,
        patient: bool = False,
        only: int | None = None,
        timeout: float = 120.0,
        rate: float | None = None,
    ) -> None:
        self.world, self.runs, self.at_once, self.code = world, runs, at_once, code
        self.tenant, self.insist, self.timeout = tenant, insist, timeout
        # Who is patient asks again when it is refused, also if it does not insist otherwise.
        self.patient = insist or patient
        self.places = GATEWAYS[:gateways] if only is None else [GATEWAYS[only]]
        # So many a second, at moments that do not wait for answers, unless all callers are busy.
        self.rate, self.moment, self.chance = rate, 0.0, random.Random(runs)
        self.name = secrets.token_hex(8)
        self.seen = Seen()
        self.lock = threading.Lock()
        self.next = 0
        self.halted = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(index,), daemon=True)
                        for index in range(at_once)]  # fmt: skip

    def start(self) -> "Load":
        """Begins to send."""
        self.began = self.moment = time.monotonic()
        for thread in self.threads:
            thread.start()
        return self

    def until(self, part: float) -> None:
        """Waits until this part of the runs was answered."""
        while len(self.seen.times) < self.runs * part and any(
            thread.is_alive() for thread in self.threads
        ):
            time.sleep(0.01)

    def until_sent(self, count: int) -> None:
        """Waits until so many runs were sent, whatever came of them."""
        while self.seen.sent < count and any(thread.is_alive() for thread in self.threads):
            time.sleep(0.01)

    def halt(self) -> None:
        """Sends nothing new."""
        self.halted.set()

    def end(self) -> Seen:
        """Waits for the rest."""
        for thread in self.threads:
            thread.join()
        self.seen.seconds = time.monotonic() - self.began
        return self.seen

    def work(self, index: int) -> None:
        """One caller, with one connection at a time."""
        connection: http.client.HTTPConnection | None = None
        place = index % len(self.places)
        while not self.halted.is_set():
            with self.lock:
                if self.next >= self.runs:
                    return
                number, self.next = self.next, self.next + 1
                self.seen.sent += 1
                if self.rate is not None:
                    self.moment += self.chance.expovariate(self.rate)
                due = self.moment
            body = json.dumps({"code": self.code.format(n=number)})
            # One key for all attempts: the server runs it once.
            headers = {"Authorization": f"Bearer {self.world.keys[self.tenant]}",
                       "Content-Type": "application/json",
                       "Idempotency-Key": f"{self.name}-{number}"}  # fmt: skip
            if self.rate is None:
                began = time.monotonic()
            else:
                # Who is late has waited: the time counts from when it was due.
                began = due
                time.sleep(max(due - time.monotonic(), 0))
            while True:
                asked = time.monotonic()
                try:
                    if connection is None:
                        connection = http.client.HTTPConnection(
                            self.places[place], PORT, timeout=self.timeout
                        )
                    connection.request("POST", "/v1/runs", body, headers)
                    answer = connection.getresponse()
                    status, text = answer.status, answer.read()
                except (OSError, http.client.HTTPException) as error:
                    if connection is not None:
                        connection.close()
                    connection = None
                    # Another gateway, as a load balancer would.
                    place = (place + 1) % len(self.places)
                    if not self.insist or time.monotonic() - began > self.timeout:
                        self.fail(number, f"no answer: {error!r}")
                        break
                    self.again()
                    time.sleep(0.02)
                    continue
                if status in (429, 503):
                    with self.lock:
                        self.seen.refused += 1
                        self.seen.refusals[code_of(text)] += 1
                        self.seen.refusal_times.append(time.monotonic() - asked)
                    if self.patient and time.monotonic() - began < self.timeout:
                        # A server may close the connection of who was refused, and that is no lost run.
                        connection.close()
                        connection = None
                        self.again()
                        time.sleep(0.05)
                        continue
                    break
                if status == 502 and b"worker_lost" in text and self.insist:
                    # An honest answer, which a busy machine may get: it is counted, and asked as another run.
                    with self.lock:
                        self.seen.lost += 1
                    if time.monotonic() - began < self.timeout:
                        headers["Idempotency-Key"] += "+"
                        self.again()
                        continue
                self.judge(number, status, text, time.monotonic() - began)
                break
        if connection is not None:
            connection.close()

    def judge(self, number: int, status: int, text: bytes, took: float) -> None:
        """A run is right if it has its own result, and had none before."""
        try:
            outcome = json.loads(text)
        except ValueError:
            outcome = None
        found = outcome.get("result") if isinstance(outcome, dict) else None
        # A large result has its number in front.
        found = found[0] if isinstance(found, list) else found
        if status != 200 or found != number:
            self.fail(number, f"{status} {text[:300]!r}")
            return
        with self.lock:
            self.seen.times.append(took)
            if number in self.seen.results:
                self.seen.wrong.append(f"{number}: answered twice")
            self.seen.results[number] = found

    def fail(self, number: int, why: str) -> None:
        """A run without its result."""
        with self.lock:
            self.seen.wrong.append(f"{number}: {why}")

    def again(self) -> None:
        """An attempt more."""
        with self.lock:
            self.seen.retried += 1
