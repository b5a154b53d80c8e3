"""What callers do with boxes, policies and outcomes beside running code."""

import asyncio
import sys

import pytest

import carboy


def test_a_box_takes_its_policy_first() -> None:
    with carboy.Sandbox("low") as box:
        assert "5 s of processor time" in box.prompt()
        assert box.run("result = 1")


def test_an_outcome_is_true_if_it_is_ok(box: carboy.Sandbox) -> None:
    good, bad = box.run("result = 0"), box.run("1 / 0")
    assert good and not bad
    assert {good: 1, bad: 2}[good] == 1 and good == carboy.Outcome.from_dict(good.to_dict())
    assert hash(good.isolation) == hash(good.isolation)
    with pytest.raises(AttributeError, match="'Outcome' object has no attribute 'results'"):
        good.results  # type: ignore[attr-defined]  # noqa: B018


def test_policies_can_be_keys() -> None:
    def policy() -> carboy.Policy:
        language = carboy.Language("agent", ["mypackage"])
        return carboy.Policy.preset("low", language=language, wall_ms=5)

    assert {policy(): 1}[policy()] == 1


def test_keys_that_are_no_text_become_text_both_ways(box: carboy.Sandbox) -> None:
    value = {1: "a", 2.5: "b", False: "c", None: [{3: "d"}]}
    found = box.run("result = [data, {1: 2}]", {"data": value}).result
    assert found == [{"1": "a", "2.5": "b", "false": "c", "null": [{"3": "d"}]}, {"1": 2}]


def test_code_is_checked_without_running_it(box: carboy.Sandbox) -> None:
    code = "import math\nimport subprocess\n"
    (found,) = box.check(code, policy=carboy.Policy(language="agent"))
    assert (found.rule, found.line) == ("import-not-granted", 2)
    assert "subprocess" in found.message and "Python" in found.instead
    assert box.check(code) == []
    granted = carboy.Policy(language=carboy.Language("agent", ["subprocess"]))
    assert box.check(code, policy=granted) == []
    with pytest.raises(carboy.RequestError):
        box.check("\ud800")

    async def checked() -> list[carboy.Violation]:
        return await carboy.AsyncSandbox({"language": {"profile": "agent"}}).check(code)

    assert asyncio.run(checked()) == [found]


def test_a_prompt_lists_the_packages_that_can_be_imported() -> None:
    version = pytest.__version__
    assert f"`pytest` {version}" in carboy.Sandbox(python=sys.executable).prompt()
    agent = carboy.Policy(language="agent")
    assert "`pytest`" not in carboy.Sandbox(agent).prompt()
    granted = carboy.Policy(language=carboy.Language("agent", ["pytest"]))
    assert f"`pytest` {version}" in carboy.Sandbox(granted).prompt()


def test_a_prompt_says_how_answers_are_converted() -> None:
    assert "frames become lists of records" in carboy.Sandbox().prompt()
    assert "must be JSON" in carboy.Sandbox({"strict": True}).prompt()


def test_a_policy_can_demand_a_version_of_landlock() -> None:
    assert carboy.Policy(landlock_abi=3).to_dict() == {"landlock_abi": 3}
    assert carboy.Policy.preset("low", landlock_abi=6).to_dict()["landlock_abi"] == 6
    for wrong in (-1, True, "new"):
        with pytest.raises(carboy.RequestError, match="landlock_abi must be a whole number"):
            carboy.Policy(landlock_abi=wrong).to_dict()  # type: ignore[arg-type]
