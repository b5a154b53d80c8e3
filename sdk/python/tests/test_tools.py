"""What a tool takes and returns, and what the code is told of it."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Dict, List, Literal, NewType, Optional, Tuple, TypedDict, Union

import pytest

import carboy
from carboy._answers import failure_answer, value_answer
from carboy._arguments import Mismatch, Parameters


class Colour(enum.Enum):
    RED = "red"
    TWO = 2


class Row(TypedDict):
    name: str
    count: int


class Loose(TypedDict, total=False):
    name: str


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    inner: Optional[Point] = None


UserId = NewType("UserId", int)

# Annotation, value, and what the tool gets or what the code is told.
TABLE: list[tuple[Any, Any, Any]] = [
    (str, "a", "a"),
    (str, 1, "`x` must be str, not int"),
    (str, None, "`x` must be str, not None"),
    (int, 1, 1),
    (int, True, "`x` must be int, not bool"),
    (int, 1.0, "`x` must be int, not float"),
    (float, 1.5, 1.5),
    (float, 1, 1),
    (float, True, "`x` must be float, not bool"),
    (bool, True, True),
    (bool, 1, "`x` must be bool, not int"),
    (None, None, None),
    (None, 0, "`x` must be None, not int"),
    (Any, [1, {}], [1, {}]),
    (object, "a", "a"),
    (list, [1, "a"], [1, "a"]),
    (list, {}, "`x` must be list, not dict"),
    (list[int], [1, 2], [1, 2]),
    (list[int], [1, "2"], "`x[1]` must be int, not str"),
    (List[str], [1], "`x[0]` must be str, not int"),
    (Sequence[str], ["a"], ["a"]),
    (Sequence[str], "abc", "`x` must be Sequence[str], not str"),
    (dict, {"a": 1}, {"a": 1}),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dict[str, list[int]], {"a": [1, None]}, "`x['a'][1]` must be int, not None"),
    (Dict[str, int], [], "`x` must be Dict[str, int], not list"),
    (Mapping[str, float], {"a": 1}, {"a": 1}),
    (tuple, [1], (1,)),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, str], [1], "`x` must be tuple[int, str], not a list of 1"),
    (tuple[int, str], ["a", "a"], "`x[0]` must be int, not str"),
    (Tuple[int, ...], [1, 2, 3], (1, 2, 3)),
    (tuple[int, ...], [1, "2"], "`x[1]` must be int, not str"),
    (Optional[str], None, None),
    (Optional[str], 1, "`x` must be str or None, not int"),
    (Union[int, str], "a", "a"),
    (int | str, 1.5, "`x` must be int or str, not float"),
    (int | list[str], [1], "`x[0]` must be str, not int"),
    (Literal["a", 1], "a", "a"),
    (Literal["a", 1], True, "`x` must be one of 'a', 1, not True"),
    (Literal["a", 1], [], "`x` must be one of 'a', 1, not list"),
    (Colour, "red", Colour.RED),
    (Colour, 2, Colour.TWO),
    (Colour, "blue", "`x` must be one of 'red', 2, not 'blue'"),
    (Colour, 2.0, "`x` must be one of 'red', 2, not 2.0"),
    (Row, {"name": "a", "count": 1}, {"name": "a", "count": 1}),
    (Row, {"name": "a"}, "`x` must have the key 'count'"),
    (Row, {"name": "a", "count": "1"}, "`x.count` must be int, not str"),
    (Row, {"name": "a", "count": 1, "z": 1}, "`x` must have no key 'z'; Row has name, count"),
    (Row, [], "`x` must be an object (Row), not list"),
    (Loose, {}, {}),
    (Point, {"x": 1}, Point(1)),
    (Point, {"x": 1, "inner": {"x": 2}}, Point(1, inner=Point(2))),
    (Point, {"x": 1, "inner": {"x": "2"}}, "`x.inner.x` must be float, not str"),
    (list[Point], [{"x": 1, "y": 2}], [Point(1, 2)]),
    (Annotated[int, "how many"], "1", "`x` must be int, not str"),
    (UserId, "1", "`x` must be int, not str"),
    (UserId, 7, 7),
    (Callable[[], int], "anything", "anything"),
    (bytes, "anything", "anything"),
]


@pytest.mark.parametrize(("annotation", "value", "expected"), TABLE)
def test_arguments_are_checked_against_annotations(
    annotation: Any, value: Any, expected: Any
) -> None:
    def tool(x: Any) -> Any:
        return x

    tool.__annotations__["x"] = annotation
    parameters = carboy.Tool(tool).parameters
    if isinstance(expected, str) and "must" in expected:
        with pytest.raises(Mismatch) as raised:
            parameters.bind([value], {})
        assert str(raised.value) == f"tool: {expected}"
    else:
        found = parameters.bind([], {"x": value}).arguments["x"]
        assert found == expected and type(found) is type(expected)


def parameters_of(function: Callable[..., Any]) -> Parameters:
    return carboy.Tool(function, name="tool").parameters


def test_arguments_are_bound_as_python_does() -> None:
    def tool(a: int, /, b: str = "b", *more: int, c: bool, **rest: float) -> None: ...

    parameters = parameters_of(tool)
    bound = parameters.bind([1, "x", 2, 3], {"c": True, "d": 1.5})
    assert (bound.args, bound.kwargs) == ((1, "x", 2, 3), {"c": True, "d": 1.5})
    for args, kwargs, words in [
        ([], {"c": True}, "tool: missing a required argument: 'a'"),
        ([1], {}, "missing a required"),
        ([1, "b", 2, "3"], {"c": True}, "tool: `more[1]` must be int, not str"),
        ([1], {"c": True, "d": "x"}, "tool: `d` must be float, not str"),
        ([True], {"c": True}, "tool: `a` must be int, not bool"),
    ]:
        with pytest.raises(Mismatch) as raised:
            parameters.bind(args, kwargs)  # type: ignore[arg-type]
        assert words in str(raised.value)
    with pytest.raises(Mismatch, match="unexpected keyword argument '\\\\x1b"):
        parameters_of(lambda: None).bind([], {"\x1b" * 1000: 1})


def test_what_the_caller_has_bound_is_not_the_codes_to_change() -> None:
    def search(query: str, *, key: str = "secret", **rest: Any) -> str:
        return key

    bounds: list[Callable[..., Any]] = [
        functools.partial(search, key="mine"),
        functools.partial(lambda query, **rest: rest, key="mine"),
    ]
    for bound in bounds:
        tool = carboy.Tool(bound, name="search")
        assert "key" not in tool.doc.split("\n")[0]
        with pytest.raises(Mismatch, match="unexpected keyword argument 'key'"):
            tool.parameters.bind(["q"], {"key": "theirs"})
        assert tool.parameters.bind(["q"], {}).args == ("q",)


def test_values_that_nest_deep_are_no_trouble() -> None:
    def tool(x: dict[str, Any], y: Optional[Point] = None) -> None: ...

    deep: Any = {}
    for _ in range(98):
        deep = {"x": 1, "inner": deep}
    with pytest.raises(Mismatch, match="must have the key 'x'"):
        parameters_of(tool).bind([{}], {"y": deep})


def search(query: str, most: int = 10) -> list[str]:
    """Search the product catalogue.

    Nearest first.
    """
    return [query] * most


class Shop:
    """A shop."""

    async def find(self, ids: Sequence[UserId], *, colour: Literal["red"] | None = None) -> Row:
        raise NotImplementedError

    def __call__(self, x, y=object(), *rest, z="z"):  # type: ignore[no-untyped-def]
        """Called."""


@pytest.mark.parametrize(
    ("tool", "doc"),
    [
        (
            search,
            "search(query: str, most: int = 10) -> list[str]\n\n"
            "Search the product catalogue.\n\nNearest first.",
        ),
        (
            Shop().find,
            "async find(ids: Sequence[int], *, colour: Literal['red'] | None = None) -> Row",
        ),
        (carboy.Tool(Shop(), name="shop"), "shop(x, y=..., *rest, z='z')\n\nCalled."),
        (carboy.Tool(lambda: 1, name="one"), "one()"),
        (carboy.Tool(len, name="length"), None),
        (carboy.Tool(max, name="most"), None),
    ],
)
def test_a_tool_is_described_by_its_signature_and_docstring(tool: Any, doc: str | None) -> None:
    made = tool if isinstance(tool, carboy.Tool) else carboy.Tool(tool)
    assert made.doc.startswith(f"{made.name}(") or made.is_async
    if doc is not None:
        assert made.doc == doc
    assert made.to_dict().get("async", False) == made.is_async


@pytest.mark.parametrize(
    "name", ["", "a b", "class", "_private", "context", "result", "tools", "1a", "<lambda>", None]
)
def test_a_tool_needs_a_name_that_code_can_use(name: str | None) -> None:
    with pytest.raises(carboy.RequestError, match="cannot have the name"):
        carboy.Tool(lambda: None, name=name)


def test_wrong_tools_are_request_errors() -> None:
    for wrong in [[1], ["search"], [search, search], search]:
        with pytest.raises(carboy.RequestError):
            carboy.Sandbox(tools=wrong)  # type: ignore[arg-type]
    for budget in [-1, float("nan"), 1e9, "1", True]:
        with pytest.raises(carboy.RequestError, match="budget"):
            carboy.Tool(search, budget=budget)  # type: ignore[arg-type]
    box = carboy.Sandbox(tools=[search])
    with pytest.raises(carboy.RequestError, match="two tools"):
        box.run("1", tools=[search])
    with pytest.raises(carboy.RequestError, match="both an input and a tool"):
        box.run("1", {"search": 1})
    assert carboy.Tool(search, budget=1.5).to_dict()["budget_ms"] == 1500


class Model:
    def model_dump(self, mode: str) -> dict[str, Any]:
        assert mode == "json"
        return {"a": (1, Colour.RED)}


class Bad:
    def model_dump(self, mode: str) -> dict[str, Any]:
        raise OSError("a secret")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": (1, 2.5, None, True, "é")}, {"a": [1, 2.5, None, True, "é"]}),
        ([Point(1, 2, Point(3))], [{"x": 1, "y": 2, "inner": {"x": 3, "y": 0.0, "inner": None}}]),
        (Colour.TWO, 2),
        (Model(), {"a": [1, "red"]}),
        ({(1,): 2}, "search returned something that is not JSON: a key that is tuple, not str"),
        ({"a": [{1}]}, "search returned something that is not JSON: set at ['a'][0]"),
        (float("nan"), "search returned something that is not JSON: the float nan"),
        (
            "\ud800",
            "search returned something that is not JSON: a string with an unpaired surrogate",
        ),
        (Bad(), "search returned something that is not JSON (OSError)"),
        ("x" * (17 << 20), "search returned 17825794 bytes of JSON, at most 16777216 are accepted"),
    ],
)
def test_what_a_tool_returns_goes_back_as_json(value: Any, expected: Any) -> None:
    answer = json.loads(value_answer(1, 2, "search", value))["answer"]
    if isinstance(expected, str) and expected.startswith("search"):
        assert answer["error"] == {"kind": "tool", "message": expected}
    else:
        assert answer == {"id": 1, "call": 2, "result": expected}


def test_only_a_tool_error_says_more_than_its_name(caplog: pytest.LogCaptureFixture) -> None:
    def fault(error: BaseException) -> Any:
        return json.loads(failure_answer(1, 2, "search", error))["answer"]["error"]

    assert fault(carboy.ToolError("try tomorrow")) == {"kind": "tool", "message": "try tomorrow"}
    assert fault(carboy.ToolError("\ud800" * 9000))["message"].startswith("??")
    assert not caplog.records
    with caplog.at_level(logging.ERROR, "carboy"):
        found = fault(ConnectionError("password=hunter2"))
    assert found == {"kind": "tool", "message": "search failed (ConnectionError)"}
    assert "hunter2" in caplog.text


def test_a_schema_says_the_same_as_the_checks() -> None:
    def order(
        row: Row,
        ids: list[UserId],
        colour: Colour | None = None,
        where: Annotated[tuple[float, float], "longitude and latitude"] = (0, 0),
        note: str = "",
        point: Point | None = None,
        **more: Any,
    ) -> None: ...

    found = carboy.schema(order)
    assert json.loads(json.dumps(found)) == found
    properties = found["properties"]
    assert (found["required"], found["additionalProperties"]) == (["row", "ids"], True)
    assert properties["row"] == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["name", "count"],
        "additionalProperties": False,
    }
    assert properties["ids"] == {"type": "array", "items": {"type": "integer"}}
    assert properties["colour"] == {
        "anyOf": [{"enum": ["red", 2]}, {"type": "null"}],
        "default": None,
    }
    assert properties["where"]["description"] == "longitude and latitude"
    assert properties["note"] == {"type": "string", "default": ""}
    inner = properties["point"]["anyOf"][0]["properties"]["inner"]
    assert inner == {"anyOf": [{}, {"type": "null"}]}
    assert carboy.schema(search)["additionalProperties"] is False


class And(TypedDict):
    op: Literal["and"]
    args: list[Expression]


class Or(TypedDict):
    op: Literal["or"]
    args: list[Expression]


class Equal(TypedDict):
    op: Literal["eq"]
    field: str


Expression = Union[And, Or, Equal]


def test_a_value_cannot_be_made_to_be_checked_for_ever() -> None:
    def find(where: Expression) -> None: ...

    def deep(levels: int) -> Any:
        where: Any = {"op": "eq", "field": "a"}
        for _ in range(levels):
            where = {"args": [where], "op": "or"}
        return where

    bind = carboy.Tool(find).parameters.bind
    began = time.thread_time()
    bind([deep(40)], {})

    # Nothing tells these apart but what is inside.
    def either(where: Union[Left, Right]) -> None: ...

    where: Any = {"is_right": 1}
    for _ in range(60):
        where = {"inside": where}
    with pytest.raises(Mismatch, match="takes too long to check|must"):
        carboy.Tool(either).parameters.bind([where], {})
    assert time.thread_time() - began < 2


class Left(TypedDict, total=False):
    inside: Union[Left, Right]
    is_left: str


class Right(TypedDict, total=False):
    inside: Union[Left, Right]
    is_right: str


def test_what_cannot_be_checked_is_no_tool() -> None:
    def pay(account: str, amount: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(carboy.RequestError, match="pay: the annotation of amount"):
        carboy.Tool(pay)

    def paid(account: str) -> Nowhere: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(Mismatch, match="`account` must be str, not int"):
        carboy.Tool(paid).parameters.bind([1], {})


def test_unions_and_sets_let_only_json_pass_that_is_meant() -> None:
    def take(path: Union[str, Path], names: set[str]) -> None: ...

    bind = carboy.Tool(take).parameters.bind
    assert bind(["a", ["b", "b"]], {}).arguments == {"path": "a", "names": {"b"}}
    for args in ([["a"], []], ["a", "b"], ["a", [1]], ["a", {"b": 1}]):
        with pytest.raises(Mismatch):
            bind(args, {})
