"""Puts the program and the zygote library into the wheel, from the release build of the workspace.

They lie together in `carboy/bin`, so that no way of installing can part them.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = ("carboy", "libcarboy_zygote.so")


class ProgramHook(BuildHookInterface[Any]):
    """Builds what is out of date, adds the files and names the platform they run on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes a wheel."""
        if version == "editable":  # CARBOY_BINARY says which program to use
            return
        workspace = Path(self.root).parents[1]
        if not (workspace / "crates/carboy/Cargo.toml").exists():
            raise SystemExit("error: the wheel is built in a checkout of the repository of carboy")

        # The same command as `just build`, so that nothing is compiled twice.
        build = ["cargo", "build", "--release", "--package", "carboy", "--package", "carboy-zygote"]
        subprocess.run(build, cwd=workspace, check=True)
        command = ["cargo", "metadata", "--format-version=1", "--no-deps"]
        metadata = json.loads(subprocess.check_output(command, cwd=workspace))

        package = next(found for found in metadata["packages"] if found["name"] == "carboy")
        if package["version"] != self.metadata.version:
            raise SystemExit(
                f"error: pyproject.toml says version {self.metadata.version}, "
                f"the workspace {package['version']}"
            )

        release = Path(metadata["target_directory"]) / "release"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag([release / name for name in FILES])}"
        for name in FILES:
            build_data["force_include"][str(release / name)] = f"carboy/bin/{name}"


def platform_tag(files: list[Path]) -> str:
    """The oldest platform that has every version of glibc that the files ask for."""
    asked = [
        int(minor)
        for file in files
        for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", file.read_bytes())
    ]
    return f"manylinux_2_{max(asked)}_{platform.machine()}"
