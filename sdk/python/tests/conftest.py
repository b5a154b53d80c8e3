"""What all tests share: one box, the folder of golden messages, and a server to run the same tests on.

With CARBOY_TEST_REMOTE set, the tests of the modules in `THERE` run twice: with an engine of their own,
and on one `carboy serve`. What makes no sense there is skipped, and says why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import carboy
from servers import Server, serving

HERE = Path(__file__).resolve().parent
PLACES = ("here", "there")
# Modules whose tests run on a server too, and those of their tests that do not.
THERE: dict[str, dict[str, str]] = {
    "test_artifacts": {
        "test_what_nobody_refers_to_is_removed": "a server keeps files for a time of its own",
    },
    "test_async": {
        "test_closing_ends_what_runs": "it looks for the process of the engine",
        "test_a_box_that_is_forgotten_ends_its_engine": "it looks for the process of the engine",
    },
    "test_displays": {},
    "test_files": {
        "test_files_and_mounts_are_found_by_their_names": "directories cannot be mounted there",
        "test_files_and_mounts_in_a_loop": "directories cannot be mounted there",
    },
    "test_frames": {},
    "test_runs": {},
    "test_sessions": {
        "test_a_branch_that_is_forgotten_while_the_pipe_is_busy_is_closed": "it looks into the pipe",
        "test_a_session_is_opened_with_inputs_files_and_frames": "directories cannot be mounted there",
        "test_what_a_session_does_not_take_is_said": "the settings of the server say that",
    },
    "test_surface": {},
    "test_threads": {},
    "test_tool_calls": {
        "test_two_thousand_runs_with_sixteen_calls_each": "it takes too long with a request for each call",
    },
    "test_tools": {},
}
# Settings of an engine of one's own.
LOCAL = (
    *("python", "preload", "untested_python", "memory_budget"),
    *("store", "record_inputs", "record_artifacts"),
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.module.__name__ in THERE and os.environ.get("CARBOY_TEST_REMOTE"):
        metafunc.parametrize("place", PLACES, indirect=True, scope="session")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where code runs: boxes that a test makes have an engine of their own, or are for the server."""
    where = getattr(request, "param", "here")
    if where == "here":
        yield where
        return
    server: Server = request.getfixturevalue("server")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("Sandbox", "AsyncSandbox"):
            patch.setattr(carboy, name, there(getattr(carboy, name), server))
        yield where


@pytest.fixture(autouse=True)
def only_where_it_makes_sense(request: pytest.FixtureRequest, place: str) -> None:
    why = THERE.get(request.module.__name__, {}).get(request.function.__name__)
    if place == "there" and why is not None:
        pytest.skip(f"not on a server: {why}")


def there(kind: type[Any], server: Server) -> type[Any]:
    """The same class, whose boxes are for a server. Without a policy they have the default one, as here."""

    def __init__(self: Any, policy: Any = None, **options: Any) -> None:
        for name in LOCAL:
            if options.get(name):
                pytest.skip(f"not on a server: {name} is a setting of an engine of one's own")
        policy = {"limits": {"wall_ms": 30_000}} if policy is None else policy
        kind.__init__(self, policy, url=server.url, key=server.key, **options)

    return type(kind.__name__, (kind,), {"__init__": __init__})


@pytest.fixture(scope="session")
def golden() -> Path:
    named = os.environ.get("CARBOY_TEST_GOLDEN")
    folder = Path(named) if named else HERE.parents[2] / "golden"
    if not folder.is_dir():
        pytest.skip("the golden messages are not here; CARBOY_TEST_GOLDEN names their folder")
    return folder


@pytest.fixture(scope="session")
def box(place: str) -> Iterator[carboy.Sandbox]:
    with carboy.Sandbox() as box:
        yield box
