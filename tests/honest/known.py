"""The programs that are known to fail, each with its reason."""

from __future__ import annotations

from .program import PROGRAMS


def known_for(setting: str, minor: str) -> dict[str, str]:
    """The reason of each program that is known to fail in a setting.

    A line is `SETTINGS NAME REASON`. SETTINGS are words of `plain`, `agent` and `outside`, each with or
    without `+preload`, joined by commas; `*` is all but outside; `@3.13` behind one is that version only.
    """
    found = {}
    for line in (PROGRAMS / "known.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        settings, name, reason = line.split(None, 2)
        for one in settings.split(","):
            word, _, version = one.partition("@")
            fits = word == setting or (word == "*" and setting != "outside")
            if fits and version in ("", minor):
                found[name] = reason
    return found
