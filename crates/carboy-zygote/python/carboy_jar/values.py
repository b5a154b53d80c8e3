"""Values as JSON, and texts that any JSON reader takes."""

from __future__ import annotations

import json
import json.encoder
import types

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any, NoReturn

MAX_TEXT = 4_000


class NotAwaited(TypeError):
    """A value has a coroutine in it: a call that was not awaited."""


def no_json(value: object) -> NoReturn:
    """What an encoder calls for a value that JSON has no form for."""
    kind = NotAwaited if isinstance(value, types.CoroutineType) else TypeError
    raise kind(f"Object of type {type(value).__name__} is not JSON serializable")


DECODE = json.JSONDecoder().scan_once  # type: ignore[attr-defined] # not in its stubs
ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=no_json
)
_MAKE_ENCODER: Any = getattr(json.encoder, "c_make_encoder", None)
# The same in C, as `ENCODER` would make it for each value, where the interpreter has it.
ENCODE = _MAKE_ENCODER and _MAKE_ENCODER(
    {},
    no_json,
    json.encoder.encode_basestring,
    None,
    ":",
    ",",
    False,
    False,
    False,
)


def encode(message: object) -> bytes:
    """A message of our own."""
    return json.dumps(message).encode()


def shortened(text: str, most: int) -> str:
    """At most about so many characters: the beginning and the end."""
    if len(text) <= most:
        return text
    return text[: most // 2] + "\n... cut ...\n" + text[-most // 2 :]


def clean(text: object, most: int) -> str:
    """A text that any JSON reader takes: unpaired surrogates are written out."""
    try:
        text = str(text)
    except Exception:
        text = "(its __str__ failed)"
    return shortened(text, most).encode("utf-8", "backslashreplace").decode("utf-8")
