"""The tool that runs a model's code, as every framework shows it to the model.

Some model interfaces take no description longer than 1024 characters. This one is short; the whole of
it, with the box's own limits and tools, is `box.prompt()`, which belongs into the system prompt.
"""

from __future__ import annotations

NAME = "run_python"

DESCRIPTION = (
    "Runs Python code in a sealed process and says what came of it: the result, what was printed, or "
    "why there is no result and what to write instead. Each call starts afresh; no variable, import or "
    "file is kept from the call before. There is no network, and the files of the host are not there. "
    "To answer, assign to `result` or end with an expression; it must be JSON."
)

CODE = "The Python code to run, complete in itself."

# No program that a model writes is longer.
MOST_CHARACTERS = 1 << 20


def fault(code: str) -> str | None:
    """Why a model's code cannot be run at all, in words for the model; or None.

    A `RequestError` would blame the caller, who has not written it.
    """
    if len(code) > MOST_CHARACTERS:
        return f"Nothing was run: the code has more than {MOST_CHARACTERS} characters."
    try:
        code.encode()
    except UnicodeEncodeError:
        return "Nothing was run: the code contains an unpaired surrogate."
    return None
