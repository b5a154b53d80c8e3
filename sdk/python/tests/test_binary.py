"""The program is found, and it is the one that came with the package."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from carboy import _binary
from carboy._binary import find_binary

INSTALLED = Path(_binary.__file__).resolve().parent / "bin" / "carboy"


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARBOY_BINARY", raising=False)


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The package as it lies in a checkout: without the program."""
    monkeypatch.setattr(_binary, "__file__", str(tmp_path / "carboy" / "_binary.py"))
    return tmp_path


def program(path: Path, content: bytes = b"\x7fELF", mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def version(*command: str, **variables: str) -> str:
    """What the command says to `--version`; one that calls itself forever runs out of time."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        [*command, "--version"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    ).stdout


def test_the_installed_program_is_found() -> None:
    assert find_binary() == str(INSTALLED)
    assert INSTALLED.stat().st_mode & stat.S_IXOTH


def test_the_variable_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = program(tmp_path / "own")
    monkeypatch.setenv("CARBOY_BINARY", own)
    assert find_binary() == own
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CARBOY_BINARY", "own")
    assert find_binary() == own
    monkeypatch.setenv("CARBOY_BINARY", "")
    assert find_binary() == str(INSTALLED)


@pytest.mark.parametrize("name", ["missing", "plain", "."])
def test_a_variable_that_names_no_program_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    program(tmp_path / "plain", mode=0o644)
    monkeypatch.setenv("CARBOY_BINARY", str(tmp_path / name))
    with pytest.raises(FileNotFoundError, match="CARBOY_BINARY names .*correct or unset"):
        find_binary()


def test_the_path_comes_last(monkeypatch: pytest.MonkeyPatch, not_installed: Path) -> None:
    program(not_installed / "scripts" / "carboy", b"#!/usr/bin/python3\n")
    program(not_installed / "plain" / "carboy", mode=0o644)
    own = program(not_installed / "compiled" / "carboy")
    monkeypatch.chdir(not_installed / "compiled")
    folders = [str(not_installed / name) for name in ("scripts", "plain", "compiled")]
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", *folders]))
    assert find_binary() == own


def test_the_error_names_the_places_and_a_way_out(
    monkeypatch: pytest.MonkeyPatch, not_installed: Path
) -> None:
    monkeypatch.setenv("PATH", str(not_installed))
    expected = not_installed.resolve() / "carboy" / "bin" / "carboy"
    with pytest.raises(FileNotFoundError) as caught:
        find_binary()
    assert "CARBOY_BINARY is not set" in str(caught.value)
    assert f"{expected} is not there" in str(caught.value)
    assert "PATH has none" in str(caught.value)
    program(expected, mode=0o644)
    with pytest.raises(FileNotFoundError, match="is not executable"):
        find_binary()


def test_the_command_and_the_module_run_the_program() -> None:
    said = version(str(INSTALLED))
    assert said.startswith("carboy ")
    command = str(Path(sysconfig.get_path("scripts")) / "carboy")
    assert version(command) == said
    assert version(sys.executable, "-m", "carboy") == said
    # A variable that names the command itself does not make it call itself forever.
    assert version(command, CARBOY_BINARY=command) == said


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    ended = subprocess.run(
        [sys.executable, "-m", "carboy"],
        env={**os.environ, "CARBOY_BINARY": missing},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 10
    assert ended.stderr.startswith(f"error: CARBOY_BINARY names {missing}")
    assert ended.stderr.count("\n") == 1
