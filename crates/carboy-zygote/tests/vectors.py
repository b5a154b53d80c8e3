"""Decides the cases of `golden/guard.json` with the Python half, and names those it decides otherwise.

Executed in an interpreter of its own, where the Python half can be imported.
"""

import json
import sys

from carboy_jar.grants import Grants
from carboy_jar.refusal import GuardError
from carboy_jar.texts import check_format, check_text


def rule_of(check, *arguments):
    """The rule by which something is refused, if it is."""
    try:
        check(*arguments)
    except GuardError as error:
        return error.refusal["rule"]
    return None


def of_module(case):
    """What becomes of a module's path."""
    grants = Grants(case["profile"])
    grants.imports = tuple(case.get("imports", ()))
    if grants.granted(case["path"]) is not None:
        return "granted"
    return "container" if grants.reaches(case["path"]) else "refused"


def of_name(case):
    """Whether a module hands out a name, or a module under it."""
    grants = Grants(case["profile"])
    grant = grants.granted(case["module"])
    return rule_of(grants.check_handed_out, case["module"], grant, case["name"]) is None


def of_attribute(case):
    """The rule by which the name of an attribute is refused."""
    grants = Grants("agent")
    grants.own = frozenset(case.get("own", ()))
    return rule_of(grants.check_name, case["name"])


def of_format(case):
    """Whether a format text is refused."""
    own = frozenset(case.get("own", ()))
    return rule_of(check_format, own, case["text"]) == "format-traversal"


def of_query(case):
    """Whether a text that is read as code is refused."""
    return rule_of(check_text, case["text"]) == "text-code"


DECIDE = {
    "modules": (of_module, "verdict"),
    "names": (of_name, "handed_out"),
    "attributes": (of_attribute, "rule"),
    "formats": (of_format, "refused"),
    "queries": (of_query, "refused"),
}

with open(sys.argv[1], encoding="utf-8") as file:
    cases = json.load(file)
counted = 0
for kind, (decide, field) in DECIDE.items():
    for case in cases.pop(kind):
        counted += 1
        found = decide(case)
        if found != case[field]:
            print(f"{kind}: {case}: decided {found!r}")
print(f"{counted} cases, unknown: {sorted(cases)}")
