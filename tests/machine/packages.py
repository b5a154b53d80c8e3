"""Kernels from Debian's archive, in the cache of the tests."""

import hashlib
import os
import re
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MIRROR = os.environ.get("CARBOY_TEST_MIRROR", "http://deb.debian.org/debian")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def kernel(pin: dict[str, Any], cache: Path) -> Path:
    """The kernel of a pinned package: downloaded, checked and unpacked once."""
    folder = cache / "kernels" / pin["sha256"][:16]
    image = folder / "vmlinuz"
    if not image.exists():
        folder.mkdir(parents=True, exist_ok=True)
        package = folder / f"package-{os.getpid()}.deb"
        try:
            download(f"{MIRROR}/{pin['file']}", pin["sha256"], package)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            print(f"kernels: {MIRROR} no longer has {pin['file']}; tests/kernels.toml is old")
            newer(pin, package)
        unpack(package, image)
        package.unlink()
    return image


def checksum(data: bytes) -> str:
    """What pins a file."""
    return hashlib.sha256(data).hexdigest()


def download(address: str, sha256: str, to: Path) -> None:
    """Fetches a file whose checksum is known."""
    with urllib.request.urlopen(address, timeout=60) as answer:
        data = answer.read()
    found = checksum(data)
    if found != sha256:
        raise ValueError(f"{address} has the checksum {found}, not {sha256}")
    to.write_bytes(data)


def unpack(package: Path, image: Path) -> None:
    """Takes the kernel out of a package: in /boot, or from Linux 6.19 on beside its modules."""
    with tempfile.TemporaryDirectory(dir=image.parent) as scratch:
        subprocess.run(["dpkg-deb", "-x", package, scratch], check=True)
        found = [path for path in Path(scratch).rglob("vmlinuz*") if path.is_file()]
        found[0].rename(image)


def newer(pin: dict[str, Any], to: Path) -> None:
    """What the suite has in place of a pinned package, by an apt of its own that checks signatures."""
    with tempfile.TemporaryDirectory(dir=to.parent) as place:
        machine = {"x86_64": "amd64", "aarch64": "arm64"}[pin["architecture"]]
        sources = Path(place, "sources.list")
        sources.write_text(
            f"deb [signed-by={KEYRING} arch={machine}] {MIRROR} {pin['suite']} main\n"
        )
        for folder in ("state/lists/partial", "cache/archives/partial"):
            Path(place, folder).mkdir(parents=True)
        Path(place, "state/status").touch()
        options = {
            "Dir::Etc::SourceList": sources,
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State": f"{place}/state",
            "Dir::State::status": f"{place}/state/status",
            "Dir::Cache": f"{place}/cache",
            "APT::Architecture": machine,
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        subprocess.run(["apt-get", *words, "-qq", "update"], check=True)
        said = subprocess.run(
            ["apt-cache", *words, "pkgnames"], check=True, capture_output=True, text=True
        ).stdout.split()
        names = [name for name in said if re.fullmatch(pin["pattern"], name)]
        if not names:
            raise LookupError(f"{pin['suite']} has no package like {pin['pattern']}")
        newest = max(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
        print(f"{pin['name']} is {newest} instead")
        subprocess.run(["apt-get", *words, "-qq", "download", newest], check=True, cwd=place)
        next(Path(place).glob("*.deb")).rename(to)
