"""Durable jobs: code that a server accepts, queues and runs when there is a place."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import carboy
from carboy._problems import problem_of
from servers import Server

WAITS = "import time; time.sleep(250)"


@pytest.fixture
def there(server: Server) -> Iterator[carboy.Sandbox]:
    with carboy.Sandbox(url=server.url, key=server.key) as box:
        yield box


def test_a_job_is_run_without_its_caller(there: carboy.Sandbox, server: Server) -> None:
    job = there.submit(
        "print(open('a.txt').read())\nresult = n * 2", {"n": 21}, files={"a.txt": b"hello"}
    )
    outcome = job.wait()
    assert (outcome.result, outcome.stdout) == (42, "hello\n")
    assert job.status() == "ended" and job.wait(0).result == 42
    assert job.cancel() is False
    # Another process finds it by its id.
    with carboy.Sandbox(url=server.url, key=server.key) as other:
        again = other.job(job.id)
        assert again.wait(timeout=1).id == outcome.id
        assert repr(again) == f"Job({job.id!r})"


def test_what_the_code_did_is_an_outcome(there: carboy.Sandbox) -> None:
    outcome = there.submit("1 / 0").wait()
    assert not outcome and outcome.error is not None
    with pytest.raises(carboy.GuestExceptionError, match="ZeroDivisionError"):
        there.submit("1 / 0", on_error="raise").wait()
    slow = there.submit("import time; time.sleep(20)", timeout=0.2).wait()
    assert slow.error is not None and slow.error.limit is not None


def test_a_job_is_waited_for_only_so_long_and_can_be_ended(there: carboy.Sandbox) -> None:
    job = there.submit(WAITS)
    with pytest.raises(TimeoutError, match=job.id):
        job.wait(timeout=0.05)
    assert job.status() == "accepted"
    assert job.cancel() is True
    with pytest.raises(carboy.JobError, match="cancelled"):
        job.wait()
    assert job.status() == "cancelled"


def test_the_same_key_is_one_job(there: carboy.Sandbox) -> None:
    first = there.submit("import random; result = random.random()", key="monday")
    again = there.submit("import random; result = random.random()", key="monday")
    assert first.id == again.id and first.wait().result == again.wait().result
    with pytest.raises(carboy.RequestError, match="another job"):
        there.submit("result = 2", key="monday")
    assert there.submit("result = 1").id != there.submit("result = 1").id


def test_jobs_are_awaited(server: Server) -> None:
    async def all_of_them() -> list[Any]:
        async with carboy.AsyncSandbox(url=server.url, key=server.key) as box:
            jobs = [await box.submit(f"result = {number}") for number in range(5)]
            results = [
                found.result for found in await asyncio.gather(*(job.wait() for job in jobs))
            ]
            waits = await box.submit(WAITS)
            with pytest.raises(TimeoutError):
                await waits.wait(timeout=0.05)
            assert await waits.status() == "accepted"
            assert await box.job(waits.id).cancel() is True
            with pytest.raises(carboy.JobError):
                await waits.wait()
            return results

    assert asyncio.run(all_of_them()) == list(range(5))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"code": 3}, "code must be str"),
        ({"key": "a\r\nb"}, "key must be"),
        ({"key": ""}, "key must be"),
        ({"webhook": "https://example.com/"}, "webhook"),
        ({"webhook": "\ud800"}, "webhook contains"),
        ({"files": {"a": b"x" * (2 << 20)}}, "too large for a durable job"),
    ],
)
def test_what_cannot_be_a_job_is_said(
    there: carboy.Sandbox, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(carboy.RequestError, match=words):
        there.submit(**{"code": "result = 1", **options})


def test_jobs_need_a_server_that_keeps_them(box: carboy.Sandbox, server: Server) -> None:
    for wrong in (lambda: box.submit("1"), lambda: box.job("0" * 32)):
        with pytest.raises(carboy.RequestError, match="need a server") as raised:
            wrong()
        assert raised.value.hint

    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    with (
        carboy.Sandbox(url=server.url, key=server.key, tools=[add]) as tooled,
        pytest.raises(carboy.RequestError, match="cannot call tools"),
    ):
        tooled.submit("result = add(1, 2)")


def test_ids_are_checked_and_jobs_stay_in_their_process(there: carboy.Sandbox) -> None:
    for wrong in ("", "x", "../runs", "0" * 31, 3):
        with pytest.raises(carboy.RequestError, match="no id of a job"):
            there.job(wrong)  # type: ignore[arg-type]
    with pytest.raises(carboy.RequestError):
        there.job("0" * 32).status()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(there.job("0" * 32))


def test_a_queue_that_does_not_answer_can_be_asked_again() -> None:
    body = (
        b'{"code":"durable_unavailable","status":503,"detail":"the durable queue does not answer"}'
    )
    assert isinstance(problem_of(503, body), carboy.BusyError)
