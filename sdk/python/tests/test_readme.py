"""The README is the test: what it says to type is run as it stands, and answers as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def readme() -> str:
    named = os.environ.get("CARBOY_TEST_README")
    file = Path(named) if named else HERE.parents[2] / "README.md"
    if not file.is_file():
        pytest.skip("the README is not here; CARBOY_TEST_README names it")
    return file.read_text(encoding="utf-8")


def test_the_quickstart_answers_as_the_readme_says(tmp_path: Path) -> None:
    section = re.search(r"^## From Python\n(.*?)^## ", readme(), re.MULTILINE | re.DOTALL)
    assert section is not None
    blocks = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", section[1], re.DOTALL)
    assert blocks
    for code, expected in blocks:
        file = tmp_path / "quickstart.py"
        file.write_text(code, encoding="utf-8")
        done = subprocess.run([sys.executable, file], capture_output=True, text=True, cwd=tmp_path)
        assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)
