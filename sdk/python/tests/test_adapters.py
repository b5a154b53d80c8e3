"""The examples run as users would run them, and the adapters stand what guest code and models send."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import carboy
from carboy.adapters.openai import PythonTool

HERE = Path(__file__).resolve().parent

PACKAGES = {
    "smolagents": "smolagents",
    "langchain_core": "langchain-core",
    "pydantic_ai": "pydantic-ai-slim",
    "IPython": "ipython",
}


def needs(module: str) -> pytest.MarkDecorator:
    reason = f"the package {PACKAGES[module]} is not installed (adapters-requirements.txt)"
    return pytest.mark.skipif(find_spec(module) is None, reason=reason)


def printed(folder: Path, *arguments: str) -> str:
    """What a Python program prints that ends well."""
    places = {"HOME": str(folder), "IPYTHONDIR": str(folder), "TERM": "dumb", "NO_COLOR": "1"}
    ended = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **places},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def example(folder: Path, name: str) -> list[str]:
    """The lines that an example prints, with all times and sizes of memory as 0."""
    examples = HERE.parent / "examples"
    if not examples.is_dir():
        pytest.skip(f"the examples are not here; they belong into {examples}")
    text = printed(folder, str(examples / f"{name}.py"))
    return re.sub(r"\d+(\.\d+)? (ms|s|MiB)\b", r"0 \2", text).splitlines()


def assert_in_order(lines: list[str], wanted: list[str]) -> None:
    rest = iter(lines)
    for line in wanted:
        assert line in rest, f"{line!r} is not there, or not in its place:\n" + "\n".join(lines)


def test_quickstart(tmp_path: Path) -> None:
    wanted = [
        "sum: 12",
        "refused: denied because socket",
        "euros: 90.0",
        "stream: done",
    ]
    assert_in_order(example(tmp_path, "quickstart"), wanted)


@needs("smolagents")
def test_smolagents_example(tmp_path: Path) -> None:
    wanted = [
        "answer: {'mean': 6}",
        "3 sales",
        "Nothing of this step is kept.",
        "{'mean': 6}",
    ]
    assert_in_order(example(tmp_path, "smolagents_example"), wanted)


@needs("langchain_core")
def test_langchain_example(tmp_path: Path) -> None:
    wanted = [
        "run_python ['code']",
        "The code ran to its end.",
        "| 285",
        "| ZeroDivisionError: division by zero",
        "artifact: exception at line 1",
        "| 1048576",
    ]
    assert_in_order(example(tmp_path, "langchain_example"), wanted)


@needs("pydantic_ai")
def test_pydantic_ai_example(tmp_path: Path) -> None:
    wanted = [
        "tool: run_python strict",
        "instructions: # Running Python code",
        "The code ran to its end.",
        "| 66",
        "outcome: Outcome(ok, result=66, 0 ms)",
    ]
    assert_in_order(example(tmp_path, "pydantic_ai_example"), wanted)


def test_openai_example(tmp_path: Path) -> None:
    wanted = [
        "# Running Python code",
        '  "additionalProperties": false',
        "--- a",
        "| 9",
        "--- b",
        "hint: use threads or work in this process",
        "--- c",
    ]
    assert_in_order(example(tmp_path, "openai_example"), wanted)


@needs("IPython")
def test_jupyter_example(tmp_path: Path) -> None:
    wanted = [
        "Out[3]: Outcome(ok, result=12, stdout='<b>adding</b>\\n', 0 ms)",
        "12",
        ">>> %%carboy",
    ]
    lines = example(tmp_path, "jupyter_example")
    assert_in_order(lines, wanted)
    assert any("&lt;b&gt;adding&lt;/b&gt;" in line for line in lines)
    assert not any("<td><pre><b>" in line for line in lines)


def test_no_framework_is_imported_before_its_adapter(tmp_path: Path) -> None:
    code = "import sys, carboy.adapters, carboy.adapters.openai; print(*sys.modules, sep='\\n')"
    assert not set(PACKAGES) & set(printed(tmp_path, "-c", code).splitlines())


@pytest.mark.parametrize(
    "arguments, why",
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", 'an object with the key "code"'),
        ("{}", 'an object with the key "code"'),
        ('{"code": "1", "policy": "max"}', 'an object with the key "code"'),
        ('{"code": 1}', "must be text, not int"),
        (json.dumps({"code": "\ud800"}), "surrogate"),
        (json.dumps({"code": " " * ((1 << 20) + 1)}), "more than"),
        (" " * (7 << 20), "too long"),
    ],
)
def test_a_call_that_is_not_understood_is_told_why(
    box: carboy.Sandbox, arguments: str, why: str
) -> None:
    said = PythonTool(box).call(arguments)
    assert said.startswith("Nothing was run: ") and why in said
    assert len(said) < 300


def test_a_box_that_raises_answers_the_model_all_the_same() -> None:
    with carboy.Sandbox(on_error="raise") as box:
        assert "ZeroDivisionError" in PythonTool(box).call('{"code": "1 / 0"}')


CANCELLED = """
import asyncio, time
import carboy

marks = []
code = "mark(); import time; time.sleep(0.5); mark()"

def mark():
    marks.append(time.monotonic())

async def marked(count, seconds):
    end = time.monotonic() + seconds
    while len(marks) < count and time.monotonic() < end:
        await asyncio.sleep(0.01)
    return len(marks) == count

async def tried(call, seconds):
    task = asyncio.create_task(call)
    assert await marked(1, 60)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled,", "it went on" if await marked(2, seconds) else "it ended")
"""

LANGCHAIN = """
from carboy.adapters.langchain import python_tool
def call(box):
    return python_tool(box).ainvoke({"code": code})
"""

PYDANTIC_AI = """
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from carboy.adapters.pydantic_ai import python_toolset
def call(box):
    said = lambda messages, info: ModelResponse(parts=[ToolCallPart("run_python", {"code": code})])
    return Agent(FunctionModel(said), toolsets=[python_toolset(box)]).run("go")
"""


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(LANGCHAIN, marks=needs("langchain_core"), id="langchain"),
        pytest.param(PYDANTIC_AI, marks=needs("pydantic_ai"), id="pydantic_ai"),
    ],
)
def test_cancelling_ends_a_run_in_an_async_box(tmp_path: Path, call: str) -> None:
    asynchronous = """
async def main():
    async with carboy.AsyncSandbox(tools=[mark]) as box:
        await tried(call(box), 1.5)
asyncio.run(main())
"""
    synchronous = """
with carboy.Sandbox(tools=[mark]) as box:
    asyncio.run(tried(call(box), 60))
"""
    said = printed(tmp_path, "-c", CANCELLED + call + asynchronous)
    assert said == "cancelled, it ended\n"
    said = printed(tmp_path, "-c", CANCELLED + call + synchronous)
    assert said == "cancelled, it went on\n"


@needs("langchain_core")
def test_langchain_tells_the_model_of_code_that_cannot_be_sent(tmp_path: Path) -> None:
    code = (
        "import carboy\nfrom carboy.adapters.langchain import python_tool\n"
        "args = {'code': chr(0xd800)}\n"
        "call = {'type': 'tool_call', 'id': '1', 'name': 'run_python', 'args': args}\n"
        "message = python_tool(carboy.Sandbox()).invoke(call)\n"
        "print(message.status, message.content)"
    )
    assert printed(tmp_path, "-c", code).startswith("error Nothing was run")


@needs("pydantic_ai")
def test_pydantic_ai_tells_the_model_of_code_that_cannot_be_sent(tmp_path: Path) -> None:
    code = """
import carboy
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from carboy.adapters.pydantic_ai import python_toolset
def said(messages, info):
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart(str(messages[-1].parts[0].content))])
    return ModelResponse(parts=[ToolCallPart("run_python", {"code": "#" * (2 << 20)})])
print(Agent(FunctionModel(said), toolsets=[python_toolset(carboy.Sandbox())]).run_sync("go").output)
"""
    assert "Nothing was run" in printed(tmp_path, "-c", code)


STEPS = """
import datetime
from carboy.adapters.smolagents import CarboyExecutor
from smolagents import FinalAnswerTool, tool

@tool
def keep(name: str) -> str:
    '''Has the name of a function inside.

    Args:
        name: any
    '''
    return name.upper()

def told(code):
    try:
        done = executor(code)
        print(done.is_final_answer, repr(done.output), repr(done.logs))
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0], repr(executor.state["_print_outputs"]))

executor = CarboyExecutor(keep_bytes=100_000)
executor.send_tools({"keep": keep, "final_answer": FinalAnswerTool()})
executor.send_variables({"day": datetime.date(2026, 3, 1)})
"""


def steps(folder: Path, *codes: str) -> list[str]:
    """What an agent sees of its steps."""
    told = "".join(f"told({code!r})\n" for code in codes)
    # smolagents wants to read the source of a tool.
    program = folder / "steps.py"
    program.write_text(f"{STEPS}{told}executor.cleanup()\n")
    return printed(folder, str(program)).splitlines()


@needs("smolagents")
def test_a_step_finds_what_earlier_steps_left(tmp_path: Path) -> None:
    first = (
        "import math, xml.dom.minidom\nfrom collections import Counter\nsize = (1, 2)\n"
        "def area(r, by=size): return round(math.pi * r)\n"
        "class Point:\n    def __init__(self, x): self.x = x\n"
        "point = Point(3)\nresult = Counter('aab')\ncontext = {day}\nkeep('tool')"
    )
    second = "area(2), point.x, isinstance(point, Point), result['a'], day in context, size"
    third = "def area(r): return r\nmath = 5"
    lines = steps(tmp_path, first, second, third, "area(7), math, xml.dom.minidom.__name__")
    assert lines == [
        "False 'TOOL' ''",
        "False [6, 3, True, 2, True, [1, 2]] ''",
        "False None ''",
        "False [7, 5, 'xml.dom.minidom'] ''",
    ]


@needs("smolagents")
def test_an_agent_is_told_what_is_not_kept(tmp_path: Path) -> None:
    first = "numbers = (n for n in range(3))\nlong = 'x' * 200_000\nlast = 1"
    lines = steps(tmp_path, first, "last", "numbers", "print('before')\nother = 1\n1 / 0", "other")
    lost = "Not kept for the next step: numbers (generator), long (str, too large)\\n"
    assert lines[0] == f"False None '{lost}'"
    assert lines[1] == "False 1 ''"
    assert lines[2].startswith("InterpreterError") and "NameError at line 1" in lines[2]
    assert "ZeroDivisionError at line 3" in lines[3] and lines[3].endswith("'before\\n'")
    assert "NameError" in lines[4]


@needs("smolagents")
def test_a_final_answer_ends_the_step(tmp_path: Path) -> None:
    code = "try:\n    final_answer({'a': [1]})\nexcept Exception:\n    pass\nprint('on')"
    wrong = "import datetime\nfinal_answer(datetime.date(2026, 1, 1))"
    lines = steps(tmp_path, code, wrong, "final_answer(1, 2)", "x = 1")
    assert lines[0] == "True {'a': [1]} ''"
    assert "TypeError at line 2" in lines[1] and "not JSON" in lines[1]
    assert "too many positional arguments" in lines[2]
    assert lines[3] == "False None ''"


@needs("smolagents")
def test_what_a_hostile_step_says_of_itself_harms_nobody(tmp_path: Path) -> None:
    # The code answers in place of what runs it.
    forged = (
        "import os, json\n"
        "body = json.dumps({'done': {'result': %s}}).encode()\n"
        "os.write(4, len(body).to_bytes(4, 'big') + body)\n"
        "import time; time.sleep(60)"
    )
    answers = [
        "5",
        "{'lost': 5, 'variables': 3, 'definitions': [1], 'output': '\\x1b[2J'}",
        "{'lost': [['\\x1b']], 'variables': {'a': 1, 'b': 'no pickle'}, 'definitions': {'c': '1 / 0'}}",
    ]
    lines = steps(tmp_path, *(forged % answer for answer in answers), "1", "2")
    assert lines[0] == "False None ''"
    assert lines[1] == "False '\\\\x1b[2J' ''"
    assert lines[2].startswith("False None") and "\x1b" not in lines[2]
    assert "b (" in lines[3] and "c" in lines[3]
    assert lines[4] == "False 2 ''"
    raw = "print('\\x1b]0;title\\x07')\nraise ValueError('\\x1b[2J')"
    (line,) = steps(tmp_path, raw)
    assert "\x1b" not in line and "\\x1b[2J" in line
    assert steps(tmp_path, "\ud800")[0].startswith("InterpreterError Nothing was run")


MANAGED = """
from smolagents import ChatMessage, CodeAgent, MessageRole, Model
from carboy.adapters.smolagents import CarboyExecutor

class Scripted(Model):
    def __init__(self, *steps):
        super().__init__()
        self.steps = list(steps)

    def generate(self, messages, **options):
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>{self.steps.pop(0)}</code>")

def agent(*steps, **options):
    return CodeAgent([], Scripted(*steps), executor=CarboyExecutor(), verbosity_level=0, **options)

with agent("x = half * 2", "final_answer(x)", name="helper", description="Helps.") as helper:
    steps = ["said = helper('double it', additional_args={'half': 21})", "final_answer(said)"]
    with agent(*steps, managed_agents=[helper]) as manager:
        print(manager.run("go"))
"""


@needs("smolagents")
def test_an_agent_may_ask_an_agent(tmp_path: Path) -> None:
    said = printed(tmp_path, "-c", MANAGED)
    assert said == "Here is the final answer from your managed agent 'helper':\n42\n"


@needs("smolagents")
def test_a_language_profile_is_refused(tmp_path: Path) -> None:
    code = (
        "import carboy\nfrom carboy.adapters.smolagents import CarboyExecutor\n"
        "try:\n    CarboyExecutor(policy={'language': {'profile': 'agent'}})\n"
        "except carboy.RequestError as error:\n    print(error.hint)"
    )
    assert "leave `language` out" in printed(tmp_path, "-c", code)


@needs("IPython")
@pytest.mark.parametrize(
    "line, why",
    [
        ("--inputs", "expected one argument"),
        ("--walls none", "unrecognized arguments: --walls none"),
        ("--policy everything", "there is no preset"),
        ("--inputs thing", "the input 'thing' is not JSON"),
        ("--output 1x", "--output must be the name of a variable"),
        ("--preload 'json", "No closing quotation"),
    ],
)
def test_a_mistake_in_the_magic_is_told_in_a_line(tmp_path: Path, line: str, why: str) -> None:
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_cell('%load_ext carboy.adapters.jupyter')\nshell.run_cell('thing = object()')\n"
        f"done = shell.run_cell({f'%%carboy {line}' + chr(10) + '1'!r})\n"
        "print(type(done.error_in_exec).__name__, done.error_in_exec)\n"
        "shell.run_cell('%unload_ext carboy.adapters.jupyter')"
    )
    said = printed(tmp_path, "-c", code)
    assert "UsageError" in said and why in said and "Traceback" not in said
