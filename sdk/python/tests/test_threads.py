"""Many threads share a box, and none waits for another's caller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

import carboy
from carboy import _sync_pipe


@pytest.fixture(autouse=True)
def no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, a thread that nobody wakes would be found by itself after a while."""
    monkeypatch.setattr(_sync_pipe, "_LOOK_AGAIN", 600)


def in_threads(count: int, work: Callable[[int], object]) -> list[object]:
    """What each thread returned or raised."""
    found: dict[int, object] = {}

    def one(number: int) -> None:
        try:
            found[number] = work(number)
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return [found[number] for number in range(count)]


def test_three_hundred_threads_get_each_their_own_answer(box: carboy.Sandbox) -> None:
    before = threading.active_count()
    assert in_threads(300, lambda n: box.run(f"result = {n}").result) == list(range(300))
    assert threading.active_count() == before


def test_three_hundred_runs_are_under_way_together(box: carboy.Sandbox) -> None:
    # More than the engine takes at once, and each with output that has to be read meanwhile.
    code = "import time\nprint('x' * 50_000, flush=True)\ntime.sleep(0.02)\nresult = {}"

    def work(number: int) -> object:
        seen: list[str] = []
        out = box.run(code.format(number), on_output=lambda chunk: seen.append(chunk.text))
        return out.result == number and "".join(seen) == out.stdout

    assert in_threads(300, work) == [True] * 300


def test_large_requests_of_many_threads_pass(box: carboy.Sandbox) -> None:
    text = "x" * 300_000
    code = "result = [len(x), {}]"
    found = in_threads(40, lambda n: box.run(code.format(n), {"x": text}).result)
    assert found == [[len(text), number] for number in range(40)]


def test_a_callback_that_takes_long_holds_nobody_up(box: carboy.Sandbox) -> None:
    inside, free = threading.Event(), threading.Event()

    def slow(chunk: carboy.Chunk) -> None:
        inside.set()
        assert free.wait(20)

    thread = threading.Thread(target=lambda: box.run("print(1)", on_output=slow))
    thread.start()
    try:
        assert inside.wait(10)
        began = time.monotonic()
        assert in_threads(8, lambda n: box.run(f"{n}").result) == list(range(8))
        assert time.monotonic() - began < 5
    finally:
        free.set()
        thread.join()


def test_a_callback_may_run_code_itself(box: carboy.Sandbox) -> None:
    found = []
    box.run("print(5)", on_output=lambda chunk: found.append(box.run(chunk.text).result))
    assert found == [5]


def test_streams_can_be_read_in_turns(box: carboy.Sandbox) -> None:
    code = "for n in range(5):\n    print(n, flush=True)\nresult = {}"
    streams = [box.stream(code.format(number)) for number in range(5)]
    for stream in reversed(streams):
        assert "".join(chunk.text for chunk in stream) == "0\n1\n2\n3\n4\n"
    assert [stream.outcome.result for stream in streams] == list(range(5))


def test_closing_from_another_thread_ends_all_runs() -> None:
    box = carboy.Sandbox().start()
    closing = threading.Timer(0.3, box.close)
    closing.start()
    began = time.monotonic()
    ends = in_threads(6, lambda n: box.run("import time; time.sleep(20)"))
    closing.join()
    assert {type(end) for end in ends} == {carboy.EngineGoneError}
    assert "closed" in str(ends[0]) and time.monotonic() - began < 10
