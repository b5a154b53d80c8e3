"""Notebooks with the kernel that `carboy kernel install` makes known: run by tests/notebook."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import start_new_kernel

PROGRAM, PYTHON, WORK = sys.argv[1], sys.argv[2], Path(sys.argv[3])
# Long enough for a slow machine: nothing here waits for it in vain.
PATIENCE = 120

HTML = (
    "<script>parent.document.title = 'x'</script><img src='https://example.com/x'>\\\"><b>bold</b>"
)
CELLS = [
    "x = [1, 2]\nprint('hello')",
    "x.append(3)\nx",
    "import ctypes\nx.append(99)\nctypes.string_at(0)",
    "x",
    "x.append(4)\n1 / 0",
    "x",
]


def check(what: str, is_right: object, seen: object) -> None:
    """Says what was seen if it is not right."""
    if not is_right:
        sys.exit(f"notebook: {what}: {seen}")


def executed() -> None:
    """`jupyter nbconvert --execute`: state goes from cell to cell, and a crash takes nothing with it."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    notebook.metadata["kernelspec"] = {"name": "carboy", "display_name": "", "language": "python"}
    nbformat.write(notebook, WORK / "in.ipynb")
    command = ["jupyter", "nbconvert", "--to", "notebook", "--execute"]
    command += ["--allow-errors", "--output", "out.ipynb", str(WORK / "in.ipynb")]
    subprocess.run(command, check=True, timeout=PATIENCE, capture_output=True)
    cells = nbformat.read(WORK / "out.ipynb", as_version=4).cells
    outputs = [cell.outputs for cell in cells]
    check("output", outputs[0][0].text == "hello\n", outputs[0])
    texts = [output[0].get("data", {}).get("text/plain") for output in outputs]
    check("values", texts == [None, "[1,2,3]", None, "[1,2,3]", None, "[1,2,3,4]"], texts)
    crash = outputs[2][0]
    check("a crash", crash.ename == "SIGSEGV" and "before this cell" in crash.traceback[-1], crash)
    check("an exception", outputs[4][0].ename == "ZeroDivisionError", outputs[4])


class Notebook:
    """A kernel, and somebody who types."""

    def __init__(self) -> None:
        """Starts it."""
        self.manager, self.client = start_new_kernel(kernel_name="carboy", startup_timeout=PATIENCE)

    def until_idle(self, request: str) -> list[dict[str, Any]]:
        """What everybody is told of a request, until it is done."""
        told = []
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return told
            told.append({"type": message["msg_type"], **content})

    def run(self, code: str) -> list[dict[str, Any]]:
        """Runs a cell."""
        return self.until_idle(self.client.execute(code))

    def interrupt(self) -> None:
        """Interrupts a cell that has begun, which its output shows."""
        request = self.client.execute(
            "kept.append(1)\nprint('begun', flush=True)\nwhile True: pass"
        )
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["msg_type"] == "stream":
                break
        self.manager.interrupt_kernel()
        error = self.until_idle(request)[-1]
        check("an interrupt", "before this cell" in error["traceback"][-1], error)
        value = self.run("kept")[-1]
        check("what is left after it", value["data"]["text/plain"] == "[]", value)

    def abort(self) -> None:
        """What was sent together with a cell that fails is not run."""
        # The second has to come before the first fails, so that fails later each time.
        for seconds in (0.1, 1, 4, 8):
            self.client.execute(f"import time; time.sleep({seconds}); raise ValueError")
            second = self.client.execute("kept.append(2)")
            status = self.reply(second)["status"]
            if status == "aborted":
                return
        sys.exit(f"notebook: a cell after one that failed: {status}")

    def reply(self, request: str) -> dict[str, Any]:
        """What is answered to a request."""
        while True:
            reply = self.client.get_shell_msg(timeout=PATIENCE)
            if reply["parent_header"]["msg_id"] == request:
                content: dict[str, Any] = reply["content"]
                return content

    def complete(self) -> None:
        """Names that cells defined are completed."""
        self.run("some_long_name = 1")
        reply = self.client.complete("print(some_l", reply=True, timeout=PATIENCE)["content"]
        check("completion", reply["matches"] == ["some_long_name"], reply)
        check("where it begins", (reply["cursor_start"], reply["cursor_end"]) == (6, 12), reply)

    def shows(self) -> None:
        """What a guest shows is in a frame, and is text where it is no picture."""
        code = f"class Page:\n    def _repr_html_(self): return {HTML!r}\nPage()"
        told = [one for one in self.run(code) if one["type"] == "display_data"]
        check("HTML", len(told) == 1, told)
        html = told[0]["data"]["text/html"]
        check("its frame", html.startswith('<iframe sandbox=""') and html.count("<") == 2, html)
        check(
            "its policy", "default-src &#39;none&#39;" in html or "default-src 'none'" in html, html
        )
        stream = [
            one for one in self.run("print('\\x1b]52;c;x\\x07a\\rb')") if one["type"] == "stream"
        ]
        text = "".join(one["text"] for one in stream)
        check(
            "control characters", "\x1b" not in text and "\x07" not in text and "\r" in text, text
        )

    def end(self) -> None:
        """Ends it, and sees that it is gone."""
        self.client.stop_channels()
        self.manager.shutdown_kernel()
        check("the end", not self.manager.is_alive(), "it lives")


def main() -> None:
    """Everything, one after another."""
    install = [PROGRAM, "kernel", "install", "--python", PYTHON]
    subprocess.run(install, check=True, timeout=PATIENCE, capture_output=True)
    spec = WORK / "data/kernels/carboy/kernel.json"
    check("the spec", json.loads(spec.read_text())["interrupt_mode"] == "message", spec.read_text())
    executed()
    notebook = Notebook()
    try:
        notebook.run("kept = []")
        for part in (notebook.interrupt, notebook.abort, notebook.complete, notebook.shows):
            part()
    finally:
        notebook.end()
    print("notebook: cells, a crash, an interrupt, completion and frames are right")


main()
