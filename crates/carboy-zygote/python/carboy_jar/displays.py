"""What code shows: figures, tables and pictures, sent as it shows them.

All of it runs inside the walls and on the run's own limits, and the engine checks what comes. It imports
nothing that the code did not: a type is known by the names of its classes, or by the methods with which
objects show themselves in notebooks. What cannot be shown never fails a run: a note says why.
"""

from __future__ import annotations

import _thread
import binascii
import builtins
import io
import os
import sys

from .convert import Conversion
from .forms import kind_of, text_of
from .frames import write_frame
from .values import ENCODER, clean, encode

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any, ClassVar

PNG, JPEG, GIF, SVG = "image/png", "image/jpeg", "image/gif", "image/svg+xml"
HTML, PLAIN, JSON = "text/html", "text/plain", "application/json"
PLOTLY = "application/vnd.plotly.v1+json"
ARROW = "application/vnd.apache.arrow.stream"
# What an object can show itself as, what tells most first: of several forms one is sent. A method that
# makes only this form stands beside it.
SHOWN_AS = {
    PLOTLY: None,
    "application/vnd.vegalite.v6+json": None,
    "application/vnd.vegalite.v5+json": None,
    HTML: "_repr_html_",
    SVG: "_repr_svg_",
    PNG: "_repr_png_",
    JPEG: "_repr_jpeg_",
    GIF: None,
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    JSON: "_repr_json_",
    PLAIN: None,
}
# How bytes of each type begin.
BEGINNINGS = {
    PNG: b"\x89PNG\r\n\x1a\n",
    JPEG: b"\xff\xd8\xff",
    GIF: b"GIF8",
    ARROW: b"\xff\xff\xff\xff",
}
# How many different things are said about what is left out, and how long a text that stands for a value is.
MOST_NOTES, MOST_PLAIN = 8, 20_000


class Showing:
    """What the job of this jar may show, and what it has shown."""

    # The process that has a job. Before there is one, and in children that the code forks, nothing is shown.
    owner = 0
    most = bytes = total_bytes = 0
    figures, tables = "png", "html"
    sent = over = 0
    notes: ClassVar[dict[str, None]] = {}
    counting = _thread.allocate_lock()


def begin(frame: dict[str, Any]) -> None:
    """From here on things can be shown, within these bounds."""
    Showing.owner = os.getpid()
    Showing.most, Showing.bytes = frame["most"], frame["bytes"]
    Showing.total_bytes = frame["total_bytes"]
    Showing.figures, Showing.tables = frame["figures"], frame["tables"]


def close() -> None:
    """Says what was left out, if anything was. Nothing is shown after this."""
    notes = [*Showing.notes]
    if Showing.over:
        notes.insert(0, f"{Showing.over} more displays are left out: {Showing.most} are allowed")
    Showing.owner = 0
    if notes:
        write_frame(encode({"left_out": {"note": clean("; ".join(notes), 900)}}))


def note(words: str) -> None:
    """Says something about what is left out, once."""
    if len(Showing.notes) < MOST_NOTES:
        Showing.notes.setdefault(words)


def display(*values: Any, raw: bool = False, **_: Any) -> None:
    """Shows values, as a notebook would. With `raw`, they are forms by their media types."""
    for value in values:
        show({**value} if raw else value, PLAIN)


def show(value: Any, otherwise: str | None) -> bool:
    """Shows a value; one that has no form of its own as the type that is given, if any. Whether it did."""
    if Showing.owner != os.getpid():
        return False
    try:
        if Showing.sent >= Showing.most and otherwise:
            # It need not be drawn to be left out.
            Showing.over += 1
            return False
        forms = raw_forms(value) if type(value) is dict and otherwise else forms_of(value)
        if not forms and otherwise:
            text = value if type(value) is str else text_of(value, MOST_PLAIN)
            forms = [(PLAIN, text)]
        for media_type, data in forms:
            send(media_type, written(media_type, data))
        return bool(forms)
    except Exception as error:
        note(f"a {kind_of(value)} could not be shown: {type(error).__name__}: {clean(error, 200)}")
        return False


def raw_forms(value: dict[Any, Any]) -> list[tuple[str, Any]]:
    """A dict shown as itself, if it is not a bundle of forms."""
    best = chosen(value) if value and all("/" in str(key) for key in value) else None
    return [best] if best else []


def forms_of(value: Any) -> list[tuple[str, Any]]:
    """What a value is sent as: one form, and a table as Arrow too if the policy says so."""
    if isinstance(value, type):
        # It is an object's methods that show it, not those of a class.
        return []
    for base in type(value).__mro__[:-1]:
        form = FORMS.get((str(base.__module__).partition(".")[0], base.__name__))
        if form is not None:
            found = form(value)
            return found if found is not None else shown_by_itself(value)
    return shown_by_itself(value)


def shown_by_itself(value: Any) -> list[tuple[str, Any]]:
    """The form that the value's own methods make of it."""
    # Of the class: an object may claim to have any attribute.
    bundle = method(value, "_repr_mimebundle_")
    if bundle is not None:
        found = untold(bundle())
        best = chosen(found) if isinstance(found, dict) else None
        if best is not None and best[0] != PLAIN:
            return [best]
    for media_type, name in SHOWN_AS.items():
        made = name and method(value, name)
        data = untold(made()) if made else None
        if data is not None:
            return [(media_type, data)]
    return []


def method(value: Any, name: str) -> Any:
    """A method of the value's class."""
    found = getattr(type(value), name, None)
    return found.__get__(value) if found is not None and hasattr(found, "__get__") else None


def untold(data: Any) -> Any:
    """Data without the metadata that may stand beside it."""
    return data[0] if type(data) is tuple and data else data


def chosen(bundle: dict[str, Any]) -> tuple[str, Any] | None:
    """Of several forms the one that tells most."""
    return next(((name, bundle[name]) for name in SHOWN_AS if bundle.get(name) is not None), None)


def written(media_type: str, data: Any) -> bytes:
    """The data of a display as JSON."""
    if media_type in BEGINNINGS:
        if isinstance(data, str):
            data = binascii.a2b_base64(data)
        if not bytes(data[:8]).startswith(BEGINNINGS[media_type]):
            raise ValueError(f"it does not begin as {media_type} does")
        return b'"' + binascii.b2a_base64(data, newline=False) + b'"'
    if media_type.endswith("json"):
        if isinstance(data, Ready):
            return data.text.encode()
        return ENCODER.encode(Conversion().plain(data, 0)).encode()
    text = data.decode() if isinstance(data, bytes) else str(data)
    return ENCODER.encode(text.encode("utf-8", "backslashreplace").decode()).encode()


class Ready:
    """Text that is JSON already."""

    def __init__(self, text: str) -> None:
        self.text = text


def send(media_type: str, data: bytes) -> None:
    """Sends a display, if there is room for it."""
    with Showing.counting:
        if Showing.sent >= Showing.most:
            Showing.over += 1
            return
        if len(data) > Showing.bytes:
            note(
                f"a display with {len(data)} bytes of JSON is left out: {Showing.bytes} are allowed"
            )
            return
        if len(data) > Showing.total_bytes:
            note(f"a display with {len(data)} bytes of JSON is left out: the others leave no room")
            return
        Showing.sent += 1
        Showing.total_bytes -= len(data)
    write_frame(b'{"display":{"media_type":"%s","data":%s}}' % (media_type.encode(), data))


def figure(value: Any) -> list[tuple[str, Any]]:
    """A figure of matplotlib, as notebooks draw it."""
    made = io.BytesIO()
    value.canvas.print_figure(
        made,
        format=Showing.figures,
        dpi=value.dpi,
        facecolor=value.get_facecolor(),
        edgecolor=value.get_edgecolor(),
        bbox_inches="tight",
    )
    settled(value)
    return [(SVG if Showing.figures == "svg" else PNG, made.getvalue())]


def settled(value: Any) -> None:
    """Remembers that a figure was shown or saved as it is now. Drawing it marks it as changed."""
    value._carboy_settled = True
    value.stale = False


def plotly_figure(value: Any) -> list[tuple[str, Any]]:
    """A figure of plotly: its own JSON."""
    return [(PLOTLY, Ready(value.to_json()))]


def picture(value: Any) -> list[tuple[str, Any]]:
    """A picture of PIL. PNG does not have every mode, and what is too large for a viewer is not drawn."""
    made = io.BytesIO()
    if value.width * value.height > 100_000_000:
        raise ValueError(f"{value.width} by {value.height} pixels are too many")
    try:
        value.save(made, "PNG")
    except (OSError, KeyError, ValueError):
        made = io.BytesIO()
        value.convert("RGB").save(made, "PNG")
    return [(PNG, made.getvalue())]


def table(value: Any) -> list[tuple[str, Any]]:
    """A table: as the library shows it, and as Arrow if that is wanted."""
    forms = shown_by_itself(value)
    if Showing.tables == "arrow":
        forms = [*forms, (ARROW, arrow(value))]
    return forms


def arrow(value: Any) -> bytes:
    """A table as a stream of Arrow IPC."""
    made = io.BytesIO()
    if hasattr(value, "write_ipc_stream"):
        value.write_ipc_stream(made)
        return made.getvalue()
    import pyarrow  # type: ignore[import-not-found] # The policy asks for it.

    if hasattr(value, "iloc"):
        value = pyarrow.Table.from_pandas(value)
    with pyarrow.ipc.new_stream(made, value.schema) as writer:
        writer.write(value)
    return made.getvalue()


# By the root of a class's module and its name.
FORMS = {
    ("matplotlib", "Figure"): figure,
    ("plotly", "BaseFigure"): plotly_figure,
    ("PIL", "Image"): picture,
    ("pandas", "DataFrame"): table,
    ("polars", "DataFrame"): table,
    ("pyarrow", "Table"): table,
    ("pyarrow", "RecordBatch"): table,
}


def show_answer(value: Any) -> bool:
    """Shows what the code answered, if it has a form of its own and was not shown already."""
    if getattr(value, "_carboy_settled", False) and not getattr(value, "stale", True):
        return True
    return show(value, None)


def show_open() -> None:
    """Shows the figures that are still open, but for those that were shown or saved as they are."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None or Showing.owner != os.getpid():
        return
    try:
        managers = sorted(helpers.Gcf.figs.values(), key=lambda manager: manager.num)
        for manager in managers:
            show_answer(manager.canvas.figure)
    except Exception as error:
        note(f"open figures could not be shown: {type(error).__name__}: {clean(error, 200)}")


# Found by name, as in notebooks.
builtins.display = display  # type: ignore[attr-defined] # builtins have no such name
