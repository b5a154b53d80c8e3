"""What the language guard says of code, without running it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._binary import find_binary
from ._errors import EngineError, RequestError
from ._json import NotJson, encoded

# How `carboy check` ends if it found something.
_REJECTED = 5


@dataclass(frozen=True)
class Violation:
    """One thing in the code that the language profile does not allow."""

    rule: str
    message: str
    instead: str
    """What to write instead."""
    line: int
    column: int
    end_column: int | None = None


def violations(code: str, policy: Mapping[str, Any], version: str | None = None) -> list[Violation]:
    """All that the policy's language profile refuses in code for a version of Python, or the newest."""
    if not isinstance(code, str):
        raise RequestError(f"code must be str, not {type(code).__name__}")
    language = policy.get("language", {})
    try:
        source, settings = code.encode(), encoded({"language": dict(language)})
    except (UnicodeEncodeError, NotJson):
        raise RequestError(
            "the code contains an unpaired surrogate", hint="read it as UTF-8"
        ) from None
    # The program tells the form of a policy by the ending of its name.
    with tempfile.NamedTemporaryFile(suffix=".json", prefix="carboy-check.") as file:
        file.write(settings)
        file.flush()
        command = [find_binary(), "check", "--json", "--policy", file.name, "-"]
        if version is not None:
            command += ["--python-version", version]
        done = subprocess.run(command, input=source, capture_output=True)
    if done.returncode not in (0, _REJECTED):
        cause = (done.stdout or done.stderr).decode(errors="replace").strip()
        raise EngineError("could not check the code", [cause[:1000]])
    return [violation_of(found) for found in json.loads(done.stdout)["violations"]]


def violation_of(found: Mapping[str, Any]) -> Violation:
    """One of them, as it is written."""
    names = ("rule", "message", "instead", "line", "column")
    return Violation(**{name: found[name] for name in names}, end_column=found.get("end_column"))
