"""What the code may do and how much it may use, as the caller writes it.

A field that is left out is not sent, so the engine's own default holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Union

from ._errors import RequestError

MIB = 1 << 20

PRESETS: dict[str, dict[str, int]] = {
    "low": {"wall_ms": 10_000, "cpu_ms": 5_000, "memory_bytes": 256 * MIB},
    "medium": {"wall_ms": 30_000, "cpu_ms": 30_000, "memory_bytes": 512 * MIB},
    "high": {"wall_ms": 60_000, "cpu_ms": 120_000, "memory_bytes": 1024 * MIB},
    "max": {"wall_ms": 120_000, "cpu_ms": 480_000, "memory_bytes": 2048 * MIB},
}

# What the engine puts where a policy says nothing. Only said to readers, never sent.
DEFAULT_LIMITS: dict[str, int] = {
    "wall_ms": 30_000,
    "cpu_ms": 10_000,
    "memory_bytes": 256 * MIB,
    "output_bytes": 200_000,
    "result_bytes": MIB,
    "file_bytes": 10 * MIB,
    "files": 1_000,
    "open_files": 64,
    "threads": 8,
    "processes": 0,
    "denials": 1_000,
    "tool_calls": 1_000,
}


@dataclass(frozen=True)
class Limits:
    """How much one run may use. Sizes are numbers of bytes, or text such as `"256MiB"`."""

    wall_ms: int | None = None
    cpu_ms: int | None = None
    memory_bytes: int | str | None = None
    output_bytes: int | str | None = None
    result_bytes: int | str | None = None
    file_bytes: int | str | None = None
    files: int | None = None
    open_files: int | None = None
    threads: int | None = None
    processes: int | None = None
    denials: int | None = None
    tool_calls: int | None = None


@dataclass(frozen=True)
class Language:
    """Which Python the code may be written in: `open`, `agent` or `hook`, and modules beyond it."""

    profile: str | None = None
    imports: Sequence[str] | None = None


@dataclass(frozen=True)
class Policy:
    """What the code may do and how much it may use."""

    limits: Limits | None = None
    walls: str | None = None
    language: Language | None = None

    @classmethod
    def preset(cls, name: str, **limits: int | str) -> Policy:
        """A named policy: `low`, `medium`, `high` or `max`, with these limits changed."""
        if name not in PRESETS:
            raise RequestError(
                f"there is no preset {name!r}", hint=f"take one of {', '.join(PRESETS)}"
            )
        try:
            return cls(limits=replace(Limits(**PRESETS[name]), **limits))  # type: ignore[arg-type]
        except TypeError:
            known = [field.name for field in fields(Limits)]
            wrong = [limit for limit in limits if limit not in known]
            raise RequestError(
                f"there is no limit {', '.join(wrong)}", hint=f"limits are {', '.join(known)}"
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """The policy in the engine's own form, as JSON."""
        body: dict[str, Any] = {}
        if self.walls is not None:
            body["walls"] = self.walls
        if self.limits is not None:
            body["limits"] = _present(self.limits)
        if self.language is not None:
            body["language"] = _present(self.language)
            if "imports" in body["language"]:
                body["language"]["imports"] = list(body["language"]["imports"])
        return body


PolicyLike = Union[str, Policy, Mapping[str, Any]]


def _present(part: Limits | Language) -> dict[str, Any]:
    values = ((field.name, getattr(part, field.name)) for field in fields(part))
    return {name: value for name, value in values if value is not None}


def policy_body(policy: PolicyLike | None) -> dict[str, Any]:
    """What is sent of a policy; empty where all of it is left to the engine."""
    if policy is None:
        return {}
    if isinstance(policy, str):
        return Policy.preset(policy).to_dict()
    if isinstance(policy, Policy):
        return policy.to_dict()
    if isinstance(policy, Mapping):
        return dict(policy)
    raise RequestError(
        f"a policy cannot be {type(policy).__name__}",
        hint="pass the name of a preset, a belljar.Policy or a mapping such as "
        '{"limits": {"wall_ms": 5000}}',
    )


def limits_in_force(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every limit of a policy, with the engine's defaults."""
    limits = body.get("limits")
    return {**DEFAULT_LIMITS, **(limits if isinstance(limits, Mapping) else {})}


def tightened(body: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """The policy with its time on the clock lowered to so many seconds. It is never raised."""
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise RequestError(f"timeout must be seconds, not {type(timeout).__name__}")
    if not (math.isfinite(timeout) and timeout > 0):
        raise RequestError(f"timeout must be more than 0 seconds, was {timeout}")
    allowed, asked = limits_in_force(body)["wall_ms"], math.ceil(timeout * 1000)
    if not isinstance(allowed, int) or allowed <= asked:
        return dict(body)
    given = body.get("limits")
    limits = {**(given if isinstance(given, Mapping) else {}), "wall_ms": asked}
    return {**body, "limits": limits}
