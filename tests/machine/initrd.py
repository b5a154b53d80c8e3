"""Packs a system that has nothing but carboy, an interpreter with its libraries, and a script to run.

The archive is written here, in the format that the kernel unpacks ("newc"), so that neither root nor cpio is
needed. Everything belongs to root, and modes are those that ordinary users need.
"""

import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .architecture import Architecture

# What no program here imports, and what is large.
SKIPPED = re.compile(
    r"(test|tests|ensurepip|idlelib|lib2to3|pydoc_data|tkinter|turtledemo|distutils|config-.*|"
    r"dist-packages|site-packages)"
)
DIRECTORIES = ("proc", "sys", "dev", "run", "mnt", "root", "etc", "home/user", "var")
EVERYBODY = ("tmp", "var/tmp")
# What the drill starts on the host, and what its programs look for.
PROGRAMS = ("sleep", "cat", "mkdir", "sh", "true")
PASSWD = "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n"
GROUP = "root:x:0:\nuser:x:1000:\n"


class Tree:
    """The files of the archive, by their path in it."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[int, bytes | Path]] = {}

    def directory(self, path: str, mode: int = 0o755) -> None:
        """A directory, and those above it."""
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self.directory(parent)
        self.entries.setdefault(path, (stat.S_IFDIR | mode, b""))

    def file(self, path: str, contents: bytes | Path, mode: int = 0o644) -> None:
        """A plain file."""
        self.directory(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | mode, contents)

    def link(self, path: str, target: str) -> None:
        """A symbolic link."""
        self.directory(os.path.dirname(path))
        self.entries[path] = (stat.S_IFLNK | 0o777, target.encode())

    def write(self, out: Path) -> None:
        """The archive. A directory comes before what lies in it, as the kernel wants."""
        with out.open("wb") as archive:
            named = [*sorted(self.entries.items()), ("TRAILER!!!", (0, b""))]
            for number, (path, (mode, contents)) in enumerate(named, 1):
                data = contents.read_bytes() if isinstance(contents, Path) else contents
                name = path.encode() + b"\0"
                fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
                header = b"070701" + b"".join(b"%08x" % field for field in fields)
                for part in (header + name, data):
                    archive.write(part + b"\0" * (-len(part) % 4))


def needed(path: Path) -> list[str]:
    """The names of the libraries that an executable or a library asks for."""
    said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said)


def libraries(programs: list[Path], folders: list[Path]) -> Iterator[Path]:
    """Every library that the programs need, and that these need, from the folders given."""
    found: set[str] = set()
    while programs:
        for name in needed(programs.pop()):
            place = next((folder / name for folder in folders if (folder / name).exists()), None)
            if place is not None and name not in found:
                found.add(name)
                programs.append(place)
                yield place


def stripped(program: Path, architecture: Architecture, scratch: Path) -> Path:
    """The program without debugging symbols, which are most of a build for development."""
    if shutil.which(architecture.strip) is None:
        return program
    copy = scratch / program.name
    subprocess.run([architecture.strip, "-o", copy, program], check=True)
    return copy


def interpreter(tree: Tree, root: Path, architecture: Architecture, beside: Path) -> None:
    """The interpreter of the Debian system at `root`, its standard library, a few programs, and what these
    and the program `beside` it load.
    """
    program = (root / "usr/bin/python3").resolve()
    tree.file(f"usr/bin/{program.name}", program, 0o755)
    tree.link("usr/bin/python3", program.name)
    library = root / "usr/lib" / program.name
    tools = [(root / "usr/bin" / name, name) for name in PROGRAMS]
    tools = [(path if path.exists() else root / "bin" / name, name) for path, name in tools]
    for path, name in tools:
        tree.file(f"usr/bin/{name}", path.resolve(), 0o755)
    loads = [program, beside, *(path for path, _ in tools)]
    for folder, folders, files in os.walk(library):
        folders[:] = [name for name in folders if not SKIPPED.fullmatch(name)]
        for name in files:
            path = Path(folder, name)
            if path.is_file():
                tree.file(f"usr/lib/{program.name}/{path.relative_to(library)}", path)
            if ".so" in name:
                loads.append(path)
    places = [root / top / "lib" / architecture.triplet for top in ("usr", "")]
    for path in libraries(loads, places):
        tree.file(f"usr/lib/{architecture.triplet}/{path.name}", path.resolve(), 0o755)


def build(
    out: Path,
    program: Path,
    scripts: dict[str, Path],
    architecture: Architecture,
    root: Path,
) -> None:
    """Writes the archive: `scripts` lie in /opt/test, if they do not name a place of their own; `init.py`
    among them is the first process.
    """
    tree = Tree()
    for folder in DIRECTORIES:
        tree.directory(folder)
    for folder in EVERYBODY:
        tree.directory(folder, 0o1777)
    for folder in ("bin", "lib", "lib64"):
        tree.directory(f"usr/{folder}")
        tree.link(folder, f"usr/{folder}")
    tree.file("etc/passwd", PASSWD.encode())
    tree.file("etc/group", GROUP.encode())
    interpreter(tree, root, architecture, program)
    loader = Path(architecture.loader)
    found = f"usr/lib/{architecture.triplet}/{loader.name}"
    if found not in tree.entries:
        path = next(
            root / top / "lib" / architecture.triplet / loader.name
            for top in ("usr", "")
            if (root / top / "lib" / architecture.triplet / loader.name).exists()
        )
        tree.file(found, path.resolve(), 0o755)
    if not loader.is_relative_to(f"/lib/{architecture.triplet}"):
        tree.link(f"usr{loader}", f"/{found}")
    for name, script in scripts.items():
        tree.file(os.path.join("/opt/test", name).lstrip("/"), script, 0o755)
    tree.link("init", "/opt/test/init.py")
    with tempfile.TemporaryDirectory() as scratch:
        small = stripped(program, architecture, Path(scratch))
        tree.file("opt/carboy/carboy", small, 0o755)
        tree.write(out)
