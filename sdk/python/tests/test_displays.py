"""What code showed: as data, as files, and harmless in a notebook."""

from __future__ import annotations

import base64
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import carboy
from carboy import Display, Drawing, Policy, Sandbox
from carboy._displays import harmless

SHOW = """
import base64, struct, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
class Picture:
    def _repr_png_(self):
        head = struct.pack('>IIBBBBB', 2, 1, 8, 2, 0, 0, 0)
        pixels = zlib.compress(bytes([0, 255, 0, 0, 0, 0, 255]))
        return (bytes([137, 80, 78, 71, 13, 10, 26, 10]) + chunk(b'IHDR', head)
                + chunk(b'IDAT', pixels) + chunk(b'IEND', b''))
display(Picture())
display({'text/html': '<b>x</b>'}, raw=True)
display({'application/vnd.plotly.v1+json': {'data': [1]}}, raw=True)
display({'image/svg+xml': '<svg/>'}, raw=True)
display('text')
"""


def test_displays_are_data_and_files(box: Sandbox, tmp_path: Path) -> None:
    outcome = box.run(SHOW).raise_for_error()
    picture, page, figure, drawing, text = outcome.displays
    assert picture.png is not None and picture.png == picture.content
    assert struct.unpack(">II", picture.png[16:24]) == (2, 1)
    start = picture.png.index(b"IDAT") + 4
    assert zlib.decompress(picture.png[start:-16]) == bytes([0, 255, 0, 0, 0, 0, 255])
    assert picture.save(tmp_path / "a.png").read_bytes() == picture.png
    assert (page.html, page.png, page.json) == ("<b>x</b>", None, None)
    assert figure.json == {"data": [1]} and figure.content == b'{"data": [1]}'
    assert (drawing.svg, text.text) == ("<svg/>", "text")
    assert "image/png, text/html" in outcome.explain()
    assert repr(picture) == f"<Display image/png, {len(picture.png)} bytes>"


def test_a_note_tells_what_is_left_out(box: Sandbox) -> None:
    outcome = box.run("display(1, 2, 3)", policy=Policy(limits=carboy.Limits(displays=2)))
    assert len(outcome.displays) == 2
    assert outcome.display_note == "1 more displays are left out: 2 are allowed"
    assert outcome.display_note in outcome.explain()
    assert outcome.display_note in outcome._repr_html_()


def test_the_policy_says_how_things_are_drawn() -> None:
    policy = Policy(drawing=Drawing(figures="svg", tables="arrow"))
    assert policy.to_dict() == {"drawing": {"figures": "svg", "tables": "arrow"}}
    assert Policy.preset("low", drawing=Drawing(figures="svg")).to_dict()["drawing"] == {
        "figures": "svg"
    }


class Seen(HTMLParser):
    """The tags of a page, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remembers it."""
        self.tags.append((tag, dict(attrs)))


def seen(page: str) -> list[tuple[str, dict[str, Any]]]:
    """What a browser would find in a page."""
    parser = Seen()
    parser.feed(page)
    return parser.tags


def test_html_of_a_guest_stands_in_a_frame_that_runs_and_loads_nothing() -> None:
    hostile = '"></iframe><script>alert(1)</script><img src=x onerror=alert(1)><!--'
    for display in (Display("text/html", hostile), Display("text/html", "<base href='http://x'>")):
        ((tag, attributes),) = seen(harmless(display))
        # An empty sandbox allows no script, no form, no popup and no origin.
        assert tag == "iframe" and attributes["sandbox"] is None
        inner = attributes["srcdoc"]
        assert inner.startswith(
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\''
        )
        assert inner.endswith(display.data)


def test_nothing_else_of_a_guest_is_markup() -> None:
    svg = "<svg onload=alert(1)><script>alert(1)</script></svg>"
    ((tag, attributes),) = seen(harmless(Display("image/svg+xml", svg)))
    assert (tag, set(attributes)) == ("img", {"src"})
    assert base64.b64decode(attributes["src"].partition(",")[2]).decode() == svg
    for media_type in ("text/plain", "text/markdown", "text/latex", "<script>"):
        assert seen(harmless(Display(media_type, "<script>alert(1)</script>"))) == [("pre", {})]
    for media_type in ("application/json", "application/vnd.plotly.v1+json"):
        assert seen(harmless(Display(media_type, {"<script>": "</pre><script>"}))) == [("pre", {})]


def test_an_outcome_in_a_notebook_has_its_displays(box: Sandbox) -> None:
    outcome = box.run(SHOW)
    page = outcome._repr_mimebundle_()["text/html"]
    tags = [tag for tag, _ in seen(page) if tag in ("img", "iframe", "script")]
    assert tags == ["img", "iframe", "img"]
    assert outcome.displays[0]._repr_mimebundle_()["text/html"] in page


def test_a_table_that_is_none_or_cannot_be_read_is_told() -> None:
    body = {"id": "0", "status": "ok", "result": 7, "artifacts": []}
    with pytest.raises(carboy.FrameError, match="no table but int"):
        carboy.Outcome.from_dict(body).frame("pandas")
    with pytest.raises(carboy.FrameError, match="must be one of"):
        carboy.Outcome.from_dict(body).frame("numpy")  # type: ignore[arg-type]
