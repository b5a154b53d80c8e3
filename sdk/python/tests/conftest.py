"""What all tests share: one box, and the folder of golden messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import carboy

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def golden() -> Path:
    named = os.environ.get("CARBOY_TEST_GOLDEN")
    folder = Path(named) if named else HERE.parents[2] / "golden"
    if not folder.is_dir():
        pytest.skip("the golden messages are not here; CARBOY_TEST_GOLDEN names their folder")
    return folder


@pytest.fixture(scope="session")
def box() -> Iterator[carboy.Sandbox]:
    with carboy.Sandbox() as box:
        yield box
