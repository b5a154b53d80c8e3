"""Checks that a wheel's platform tag is true: `audit.py WHEEL`, run by sdk/python/build.

auditwheel judges the program by PyPA's rules. It does not see the zygote library, which the program carries
as bytes, so that one is taken out and both are read with readelf: which versions of glibc's symbols they ask
for, and which libraries they load.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# What every manylinux system has, of what a Rust program loads.
LIBRARIES = {
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}


def readelf(option: str, file: Path) -> str:
    """What readelf says of a file, and nothing of what it thinks of bytes behind its end."""
    command = ["readelf", "--wide", option, str(file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def glibc(file: Path) -> int:
    """The newest glibc 2.N whose symbols an ELF file asks for."""
    needs = readelf("--version-info", file).partition("Version needs section")[2]
    return max(int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", needs))


def audit(wheel: Path) -> list[str]:
    """What is wrong with a wheel."""
    faults = []
    tag = re.search(r"-(manylinux_2_(\d+)_(\w+))\.whl$", wheel.name)
    if tag is None:
        return ["its name has no manylinux tag"]
    # What the program loads is not looked for on this machine: it may be for another.
    command = [sys.executable, "-m", "auditwheel", "show", "--json", "--ldpaths", "", str(wheel)]
    judged = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(f"{wheel.name}: auditwheel says {judged['overall_tag']}", file=sys.stderr)
    if judged["overall_tag"] != tag[1]:
        faults.append(f"auditwheel says {judged['overall_tag']}")

    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel) as archive:
        contents = archive.read("carboy/bin/carboy")
        start = contents.find(b"\x7fELF\x02\x01\x01", 1)
        if start < 0:
            return [*faults, "the program carries no library"]
        newest = 0
        for name, part in (("program", contents), ("library", contents[start:])):
            file = Path(scratch, name)
            file.write_bytes(part)
            loads = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", file)))
            newest = max(newest, glibc(file))
            print(
                f"{name}: glibc 2.{glibc(file)}, loads {' '.join(sorted(loads))}", file=sys.stderr
            )
            if loads - LIBRARIES:
                faults.append(f"the {name} loads {' '.join(sorted(loads - LIBRARIES))}")
    if newest != int(tag[2]):
        faults.append(f"it needs glibc 2.{newest}")
    return faults


if __name__ == "__main__":
    found = audit(Path(sys.argv[1]))
    for fault in found:
        print(f"error: {sys.argv[1]}: {fault}", file=sys.stderr)
    sys.exit(bool(found))
