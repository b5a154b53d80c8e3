"""What is spelled out is what the engine spells out too."""

from __future__ import annotations

import json
from pathlib import Path

from carboy._visible import visible


def test_hidden_characters_are_those_that_every_language_knows(golden: Path) -> None:
    ranges = json.loads((golden / "hidden.json").read_text())
    listed = {number for first, last in ranges for number in range(first, last + 1)}
    # Here also a sign of Braille without dots, and what is no character.
    listed |= {0x2800, *range(0xD800, 0xE000)}
    listed -= {ord("\n"), ord("\t")}
    found = {number for number in range(0x110000) if visible(chr(number)) != chr(number)}
    assert found == listed


def test_a_selector_is_seen_once_and_behind_a_symbol_only() -> None:
    assert visible("\u2764\ufe0f 1\ufe0f\u20e3") == "\u2764\ufe0f 1\ufe0f\u20e3"
    assert visible("\u2764\ufe0f\ufe0f") == "\u2764\ufe0f\\ufe0f"
    assert visible("a\ufe0f") == "a\\ufe0f"
