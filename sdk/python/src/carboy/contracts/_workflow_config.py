"""The settings of a workflow's nodes: what one node says, and what holds for all.

What cannot be kept is refused and never ignored: a node that asks for a network does not get a run
without one, and a node that asks for no sandbox does not get a run at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from .._errors import RequestError
from .._limits import PRESETS
from .._visible import shown
from ._checks import milliseconds
from ._config_file import ConfigLike, section_of
from ._not_built import not_built

MODES = ("process", "wasm", "container")
ON_ERROR = ("continue", "fail")
PROFILES = ("agent", "hook", "open")


@dataclass(frozen=True)
class NodeConfig:
    """The part `sandbox` of one node. What it leaves out, the global settings say."""

    enabled: bool = True
    """Only true. Nothing here runs code without a sandbox, so false is refused."""
    mode: str | None = None
    """`process`; `wasm` and `container` are not built yet."""
    preset: str | None = None
    """`low`, `medium`, `high` or `max`: time on the clock, processor time and memory."""
    timeout: float | None = None
    """Seconds on the clock, in place of the preset's. The processor time stays the preset's."""
    network_isolated: bool = True
    """Only true. There is no policy that would allow a network, so false is refused."""
    on_error: str | None = None
    """`continue`: an error is returned. `fail`: it is raised."""

    def __post_init__(self) -> None:
        _check_bool("enabled", self.enabled)
        if not self.enabled:
            raise RequestError(
                "enabled: false is refused: a node's code is never run without a sandbox",
                hint="leave `enabled` out, or call code that you trust yourself",
            )
        _check_bool("network_isolated", self.network_isolated)
        if not self.network_isolated:
            raise RequestError(
                "network_isolated: false is not supported: there is no network policy yet",
                hint="fetch what the node needs before it runs, and pass it as an input",
            )
        if self.mode is not None:
            _check_choice("mode", self.mode, MODES)
        if self.preset is not None:
            _check_choice("preset", self.preset, tuple(PRESETS))
        if self.on_error is not None:
            _check_choice("on_error", self.on_error, ON_ERROR)
        if self.timeout is not None:
            milliseconds("timeout", self.timeout)

    @classmethod
    def load(cls, config: NodeLike) -> NodeConfig:
        """From a mapping, a `.json`, `.yaml` or `.yml` file, or what was loaded already.

        The mapping is what stands under `sandbox`, or the whole node with that part in it.
        """
        if isinstance(config, NodeConfig):
            return config
        return cls(**section_of(config, tuple(field.name for field in fields(cls))))


@dataclass(frozen=True)
class GlobalConfig:
    """What holds for all nodes of a workflow."""

    default_mode: str = "process"
    """The mode of nodes that name none."""
    default_preset: str = "low"
    """The preset of nodes that name none."""
    default_timeout: float | None = None
    """Seconds on the clock for nodes that say nothing, in place of their preset's."""
    default_on_error: str = "fail"
    """What nodes do on an error that say nothing of it."""
    max_timeout: float = 120.0
    """The most seconds that a node may ask for. More is refused. Presets are not bounded by it."""
    profile: str = "agent"
    """The language of all nodes: `agent`, `hook`, or `open` for all of Python."""
    allow_imports: Sequence[str] = ()
    """Modules that code may import beyond those that the profile grants."""

    def __post_init__(self) -> None:
        _check_choice("default_mode", self.default_mode, MODES)
        _check_choice("default_preset", self.default_preset, tuple(PRESETS))
        _check_choice("default_on_error", self.default_on_error, ON_ERROR)
        _check_choice("profile", self.profile, PROFILES)
        milliseconds("max_timeout", self.max_timeout)
        if self.default_timeout is not None:
            _check_timeout("default_timeout", self.default_timeout, self.max_timeout)
        imports = self.allow_imports
        if not isinstance(imports, (list, tuple)) or not all(map(_is_module, imports)):
            raise RequestError(
                f"allow_imports must be a list of modules, was {shown(imports, 80)}",
                hint='write ["numpy", "os.path"]',
            )
        if imports and self.profile == "open":
            raise RequestError(
                "allow_imports has no effect with profile: open, which allows every module"
            )

    @classmethod
    def load(cls, config: GlobalLike) -> GlobalConfig:
        """From a mapping, a `.json`, `.yaml` or `.yml` file, or what was loaded already."""
        if isinstance(config, GlobalConfig):
            return config
        return cls(**section_of(config, tuple(field.name for field in fields(cls))))

    def policy_for(self, node: NodeConfig) -> dict[str, Any]:
        """The policy of a node's run."""
        mode = node.mode if node.mode is not None else self.default_mode
        if mode != "process":
            raise not_built(f"mode: {mode}", "mode: process runs a node in a sealed process")
        limits = dict(PRESETS[node.preset if node.preset is not None else self.default_preset])
        if node.timeout is not None:
            _check_timeout("timeout", node.timeout, self.max_timeout)
        timeout = node.timeout if node.timeout is not None else self.default_timeout
        if timeout is not None:
            limits["wall_ms"] = milliseconds("timeout", timeout)
        language = {"profile": self.profile, "imports": list(self.allow_imports)}
        return {"limits": limits, "language": language, "strict": True}


NodeLike = NodeConfig | ConfigLike
GlobalLike = GlobalConfig | ConfigLike


def _is_module(name: Any) -> bool:
    return isinstance(name, str) and all(part.isidentifier() for part in name.split("."))


def _check_bool(key: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise RequestError(f"{key} must be true or false, was {shown(value, 80)}")


def _check_choice(key: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise RequestError(f"{key} must be one of {', '.join(choices)}, was {shown(value, 80)}")


def _check_timeout(key: str, value: Any, most: float) -> None:
    if milliseconds(key, value) > milliseconds("max_timeout", most):
        raise RequestError(
            f"{key} must be at most {most:g} seconds, was {value:g}",
            hint="max_timeout in the global settings is the most that a node may ask for",
        )
