"""What the code may do and how much it may use, as the caller writes it.

A field that is left out is not sent, so the engine's own default holds.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, get_args

from ._errors import RequestError
from ._limits import DEFAULT_LIMITS, PRESETS, UNITS, Limits, LimitsByName, Preset

if TYPE_CHECKING:  # In `typing` from CPython 3.11 on; only type checkers read it here.
    from typing_extensions import Unpack

Profile = Literal["open", "agent", "hook"]
FigureForm = Literal["png", "svg"]
TableForm = Literal["html", "arrow"]
Walls = Literal["full", "nested"]
SessionFiles = Literal["shared", "rollback"]


@dataclass(frozen=True)
class Language:
    """Which Python the code may be written in, and modules beyond that.

    `open` is all of it. `agent` is for data work, `hook` for scripts that only compute; what they grant
    stands in docs/guard of the repository.
    """

    profile: Profile | None = None
    imports: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.imports, list):
            # So that a policy can be a key.
            object.__setattr__(self, "imports", tuple(self.imports))


@dataclass(frozen=True)
class Drawing:
    """How what the code shows is drawn; docs/results.md of the repository says what can be shown."""

    figures: FigureForm | None = None
    tables: TableForm | None = None
    """`arrow` is HTML, and the whole table as Arrow behind it: what `Outcome.frame()` reads."""


@dataclass(frozen=True)
class Policy:
    """What the code may do and how much it may use."""

    limits: Limits | None = None
    walls: Walls | None = None
    language: Language | Profile | None = None
    strict: bool | None = None
    """Whether a result that is not JSON is an error. Otherwise it is converted; docs/results.md says how."""
    landlock_abi: int | None = None
    """The least Landlock version that must be enforced; a run is refused where the kernel has less."""
    cgroup: bool | None = None
    """Whether a control group must bound each run; it is refused where none is delegated."""
    drawing: Drawing | None = None
    inputs_from: Sequence[str | os.PathLike[str]] | None = None
    """The directories from which `files` and `mounts` may be taken. Without it, any that can be read."""
    session_files: SessionFiles | None = None
    """Whether the files of a session roll back with its memory; docs/sessions.md says what that costs."""

    def __post_init__(self) -> None:
        if isinstance(self.inputs_from, list):
            # So that a policy can be a key.
            object.__setattr__(self, "inputs_from", tuple(self.inputs_from))

    @classmethod
    def preset(
        cls,
        name: Preset,
        *,
        walls: Walls | None = None,
        language: Language | Profile | None = None,
        strict: bool | None = None,
        landlock_abi: int | None = None,
        cgroup: bool | None = None,
        drawing: Drawing | None = None,
        **limits: Unpack[LimitsByName],
    ) -> Policy:
        """A named policy: `low`, `medium`, `high` or `max`, with these limits changed."""
        if name not in PRESETS:
            raise RequestError(
                f"there is no preset {name!r}", hint=f"take one of {', '.join(PRESETS)}"
            )
        for limit in limits:
            if limit not in DEFAULT_LIMITS:
                raise _unexpected(limit)
        changed = replace(Limits(**PRESETS[name]), **limits)
        return cls(changed, walls, language, strict, landlock_abi, cgroup, drawing)

    def to_dict(self) -> dict[str, Any]:
        """The policy in the engine's own form, as JSON."""
        body: dict[str, Any] = {}
        if self.walls is not None:
            body["walls"] = self.walls
        if self.strict is not None:
            body["strict"] = self.strict
        if self.landlock_abi is not None:
            body["landlock_abi"] = self.landlock_abi
        if self.cgroup is not None:
            body["cgroup"] = self.cgroup
        if self.inputs_from is not None:
            body["inputs_from"] = _directories(self.inputs_from)
        if self.session_files is not None:
            body["session_files"] = self.session_files
        if self.limits is not None:
            body["limits"] = _present(self.limits, Limits, "limits")
        if isinstance(self.language, str):
            body["language"] = {"profile": self.language}
        elif self.language is not None:
            body["language"] = _present(self.language, Language, "language")
        if self.drawing is not None:
            body["drawing"] = _present(self.drawing, Drawing, "drawing")
        return _checked(body)


def _directories(names: Any) -> list[str]:
    if isinstance(names, (str, os.PathLike)):
        raise RequestError("inputs_from must be a list of directories", hint=f'write ["{names}"]')
    return [os.path.join(os.getcwd(), os.path.expanduser(os.fspath(name))) for name in names]


class _KeywordError(RequestError, TypeError):
    """A keyword that a function does not have."""


def _unexpected(keyword: str) -> _KeywordError:
    known = list(DEFAULT_LIMITS)
    near = get_close_matches(keyword, known, n=1) or [
        name for name in known if name.startswith(f"{keyword}_")
    ]
    meant = f". Did you mean {near[0]!r}?" if near else ""
    return _KeywordError(
        f"Policy.preset() got an unexpected keyword argument {keyword!r}{meant}",
        hint=f"limits are {', '.join(known)}",
    )


PolicyLike = Preset | Policy | Mapping[str, Any]

_WORDS = {
    "walls": get_args(Walls),
    "session_files": get_args(SessionFiles),
    "profile": get_args(Profile),
    "network": ("none",),
    "figures": get_args(FigureForm),
    "tables": get_args(TableForm),
}


def _checked(body: Mapping[str, Any]) -> dict[str, Any]:
    """A policy in the engine's own form, if it is one. What a number may be is for the engine to say."""
    keys = (
        "walls",
        "landlock_abi",
        "cgroup",
        "network",
        "inputs_from",
        "limits",
        "language",
        "strict",
        "drawing",
        "session_files",
    )
    _check_keys("a policy", body, keys)
    demanded = body.get("landlock_abi", 0)
    if type(demanded) is not int or demanded < 0:
        raise RequestError(f"landlock_abi must be a whole number, was {demanded!r}")
    for name in ("strict", "cgroup"):
        if not isinstance(body.get(name, False), bool):
            raise RequestError(f"{name} must be True or False, was {body[name]!r}")
    limits, language = _part(body, "limits"), _part(body, "language")
    _check_keys("limits", limits, tuple(DEFAULT_LIMITS))
    for name, value in limits.items():
        is_size = UNITS[name] == "bytes"
        if not (is_size and isinstance(value, str)) and (type(value) is not int or value < 0):
            must = "a number of bytes or text such as '64MiB'" if is_size else "a whole number"
            raise RequestError(f"limits.{name} must be {must}, was {value!r}")
    _check_keys("language", language, ("profile", "imports"))
    drawing = _part(body, "drawing")
    _check_keys("drawing", drawing, ("figures", "tables"))
    chosen = [(body, "walls"), (body, "network"), (body, "session_files"), (language, "profile")]
    for part, name in (*chosen, (drawing, "figures"), (drawing, "tables")):
        if name in part and part[name] not in _WORDS[name]:
            words = " or ".join(map(repr, _WORDS[name]))
            raise RequestError(f"{name} must be {words}, was {part[name]!r}")
    imports = language.get("imports", ())
    if isinstance(imports, str) or not all(isinstance(module, str) for module in imports):
        raise RequestError("imports must be a list of modules", hint='write imports=["module"]')
    checked = {**body, **({"limits": limits} if limits else {})}
    if language:
        checked["language"] = {**language, **({"imports": list(imports)} if imports else {})}
    return checked


def _part(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = body.get(name, {})
    if not isinstance(part, Mapping):
        raise RequestError(f"{name} of a policy must be a mapping, not {type(part).__name__}")
    return dict(part)


def _check_keys(what: str, part: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = [str(name) for name in part if name not in known]
    if unknown:
        raise RequestError(
            f"{what} cannot have {', '.join(unknown)}", hint=f"there is {', '.join(known)}"
        )


def _present(
    part: Any, kind: type[Limits] | type[Language] | type[Drawing], name: str
) -> dict[str, Any]:
    if not isinstance(part, kind):
        raise RequestError(f"{name} must be a carboy.{kind.__name__}, not {type(part).__name__}")
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
        return _checked(policy)
    raise RequestError(
        f"a policy cannot be {type(policy).__name__}",
        hint="pass the name of a preset, a carboy.Policy or a mapping such as "
        '{"limits": {"wall_ms": 5000}}',
    )


def limits_in_force(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every limit of a policy, with the engine's defaults."""
    return {**DEFAULT_LIMITS, **body.get("limits", {})}


def milliseconds(timeout: float) -> int:
    """A time in seconds as the engine takes it."""
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise RequestError(f"timeout must be seconds, not {type(timeout).__name__}")
    if not (math.isfinite(timeout) and timeout > 0):
        raise RequestError(f"timeout must be more than 0 seconds, was {timeout}")
    return math.ceil(timeout * 1000)


def tightened(body: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """The policy with its time on the clock lowered to so many seconds. It is never raised."""
    allowed, asked = limits_in_force(body)["wall_ms"], milliseconds(timeout)
    if allowed <= asked:
        return dict(body)
    return {**body, "limits": {**body.get("limits", {}), "wall_ms": asked}}
