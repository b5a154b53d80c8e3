"""Puts the program into the wheel, from the release build of the workspace."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Machines by their number in an ELF file, as wheels name them.
MACHINES = {62: "x86_64", 183: "aarch64"}


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

        # CARGO_BUILD_TARGET is cargo's own: with it, this builds a wheel for another machine.
        target = os.environ.get("CARGO_BUILD_TARGET", "")
        program = Path(metadata["target_directory"]) / target / "release" / "carboy"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(program)}"
        build_data["force_include"][str(program)] = "carboy/bin/carboy"


def platform_tag(program: Path) -> str:
    """The oldest platform that has every version of glibc that the program asks for, on its machine.

    The library that it carries is part of its bytes.
    """
    contents = program.read_bytes()
    found = re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", contents)
    machine = MACHINES[int.from_bytes(contents[18:20], "little")]
    return f"manylinux_2_{max(map(int, found))}_{machine}"
