"""Puts the program into the wheel, from the release build of the workspace."""

from __future__ import annotations

import json
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramHook(BuildHookInterface[Any]):
    """Builds what is out of date, adds the program and names the platform it runs on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes a wheel."""
        if version == "editable":  # CARBOY_BINARY says which program to use
            return
        workspace = Path(self.root).parents[1]
        if not (workspace / "crates/carboy/Cargo.toml").exists():
            raise SystemExit("error: the wheel is built in a checkout of the repository of carboy")

        # The same command as `just build`, so that nothing is compiled twice.
        build = ["cargo", "build", "--release", "--package", "carboy"]
        subprocess.run(build, cwd=workspace, check=True)
        command = ["cargo", "metadata", "--format-version=1", "--no-deps"]
        metadata = json.loads(subprocess.check_output(command, cwd=workspace))

        package = next(found for found in metadata["packages"] if found["name"] == "carboy")
        if package["version"] != self.metadata.version:
            raise SystemExit(
                f"error: pyproject.toml says version {self.metadata.version}, "
                f"the workspace {package['version']}"
            )

        program = Path(metadata["target_directory"]) / "release" / "carboy"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(program)}"
        build_data["force_include"][str(program)] = "carboy/bin/carboy"


def platform_tag(program: Path) -> str:
    """The oldest platform that has every version of glibc that the program asks for.

    The library that it carries is part of its bytes.
    """
    found = re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", program.read_bytes())
    return f"manylinux_2_{max(map(int, found))}_{platform.machine()}"
