"""The reference is what the docstrings say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def test_the_reference_is_up_to_date() -> None:
    page = HERE.parent / "docs" / "reference.md"
    if not page.is_file():
        pytest.skip("the page is not here")
    script = HERE.parent / "reference"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if os.environ.get("CARBOY_BLESS"):
        page.write_text(done.stdout, encoding="utf-8")
    assert done.stdout == page.read_text(encoding="utf-8"), "run CARBOY_BLESS=1 pytest"
