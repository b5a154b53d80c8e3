"""A Debian system of another architecture, as far as a machine needs one: an interpreter with its libraries
and a few programs, unpacked from pinned packages. Nothing of it is run here.
"""

import re
import subprocess
import urllib.error
from pathlib import Path
from typing import Any

from . import packages

SUITE = "trixie"


def root(architecture: str, pins: list[dict[str, Any]], cache: Path) -> Path:
    """The folder with the system: downloaded, checked and unpacked once for each list of packages."""
    sums = "".join(pin["sha256"] for pin in pins)
    folder = cache / "systems" / f"{architecture}-{packages.checksum(sums.encode())[:16]}"
    if (folder / ".complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    for pin in pins:
        package = folder / "package.deb"
        try:
            packages.download(f"{packages.MIRROR}/{pin['file']}", pin["sha256"], package)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            print(f"kernels: the mirror no longer has {pin['file']}; tests/kernels.toml is old")
            name = Path(pin["file"]).name.split("_")[0]
            wanted = {"name": name, "architecture": architecture, "suite": SUITE}
            packages.newer(wanted | {"pattern": re.escape(name)}, package)
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        package.unlink()
    (folder / ".complete").touch()
    return folder
