"""The packages of an interpreter, as code in a box can import them."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Mapping
from typing import Any, NamedTuple

from ._check import violations
from ._errors import CarboyError

# What installs packages is of no use where none can be installed.
_TOOLS = ("pip", "setuptools", "wheel", "carboy")

_ASK = """
import importlib.metadata as m, json, sys
versions = {d.metadata["Name"]: d.version for d in m.distributions() if d.metadata["Name"]}
found = [[module, name, versions.get(name, "")]
         for module, names in m.packages_distributions().items() for name in names[:1]]
json.dump(found, sys.stdout)
"""


class Package(NamedTuple):
    """A module that can be imported, and the distribution that it comes from."""

    module: str
    name: str
    version: str


@functools.lru_cache(maxsize=8)
def installed(python: str) -> tuple[Package, ...]:
    """What an interpreter has; nothing if it cannot be asked."""
    try:
        done = subprocess.run(
            [python, "-I", "-c", _ASK], stdin=subprocess.DEVNULL, capture_output=True, timeout=30
        )
        found = [Package(*map(str, row)) for row in json.loads(done.stdout)]
    except (OSError, ValueError, TypeError, subprocess.SubprocessError):
        return ()
    plain = [
        package
        for package in found
        if package.module.isidentifier()
        and not package.module.startswith("_")
        and package.name.lower() not in _TOOLS
        and package.module != "pkg_resources"
    ]
    return tuple(sorted(plain, key=lambda package: (package.module.lower(), package)))


def importable(python: str, policy: Mapping[str, Any]) -> list[Package]:
    """The packages that code under a policy can import: what is installed and granted."""
    packages = list(installed(python))
    language = policy.get("language") or {}
    if not packages or language.get("profile", "open") == "open":
        return packages
    # Line by line, so that each line that is refused is a package.
    code = "\n".join(f"import {package.module}" for package in packages)
    try:
        refused = {found.line for found in violations(code, policy)}
    except (CarboyError, OSError):
        return []
    return [package for line, package in enumerate(packages, 1) if line not in refused]
