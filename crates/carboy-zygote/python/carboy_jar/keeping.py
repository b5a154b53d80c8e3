"""Files that roll back with the memory of a session: kept and put back by its first process.

That process runs no code of the guest's and stands inside the same walls, so whatever names and kinds of
files it finds, it can do no more than the code could. Nothing else in the session runs meanwhile, so what
is looked at does not change. There are folders, plain files and links: the walls refuse everything else,
and second names of a file.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any

    # Where each piece of a file begins that is no hole, and what stands there.
    Pieces = list[tuple[int, bytes]]
    # Kind, mode, time of the last change, size; then the pieces of a file, or where a link leads.
    Entry = tuple[int, int, int, int, Any]
    Files = dict[str, Entry]

PIECE = 1 << 20
# What an entry takes in memory beside its name and its content.
ENTRY = 1000
# How deep folders are nested that can be kept.
DEEPEST = 100
# The clock that files are marked with ticks this often at least, in seconds.
TICK = 0.012
FOLDER, FILE, LINK = stat.S_IFDIR, stat.S_IFREG, stat.S_IFLNK


class Unkeepable(Exception):
    """Why files cannot be kept."""


class Marked:
    """Whether anything has a new time of its last change."""

    any = False


def change_mode(name: str, mode: int) -> None:
    """Changes what a file or folder allows."""
    Marked.any = True
    os.chmod(name, mode)


class Keeper:
    """The files of a session as they were at some moments. The first of them is replaced after each run."""

    def __init__(self) -> None:
        self.kept: dict[int, Files] = {}

    def obey(self, asked: dict[str, Any]) -> None:
        """Does one of four things, and goes back to where it was."""
        home = os.getcwd()
        Marked.any = False
        try:
            if "keep" in asked:
                most, before = asked["keep"]["most_bytes"], self.kept.pop(0, {})
                self.kept[0] = look(asked["keep"]["folders"], before, most)
            elif "share" in asked:
                self.share(asked["share"]["number"], asked["share"]["most_bytes"])
            elif "restore" in asked:
                files = self.kept[asked["restore"]["number"]]
                Marked.any = True
                restore(asked["restore"]["folders"], files)
                self.kept[0] = dict(files)
            else:
                self.kept.pop(asked["forget"]["number"], None)
        finally:
            os.chdir(home)
            if Marked.any:
                # What was marked here is not to be taken for what the next run changes.
                time.sleep(TICK)

    def share(self, number: int, most: int) -> None:
        """What is kept after the last run is kept under another number too. Content that several have counts
        once.
        """
        others = [files for key, files in self.kept.items() if key not in (0, number)]
        seen: dict[int, int] = {}
        for files in [*others, self.kept[0]]:
            for path, entry in files.items():
                most -= ENTRY + len(path)
                if entry[0] == FILE:
                    seen.update((id(data), len(data)) for _, data in entry[4])
        if sum(seen.values()) > most:
            raise Unkeepable("files of all checkpoints have more bytes than are kept")
        self.kept[number] = dict(self.kept[0])


def look(folders: list[str], before: Files, most: int) -> Files:
    """What is in these folders. Content that is as it was before is not kept twice, and what was before is
    given up on the way.
    """
    found: Files = {}
    for folder in folders:
        found[folder] = entry = described(folder)
        enter(folder, entry[1])
        most = look_below(folder, found, before, most, 1)
        leave(folder, entry[1], "/")
    return found


def look_below(at: str, found: Files, before: Files, most: int, depth: int) -> int:
    """The same for the folder that this process is in; how many bytes more may be kept."""
    for name in os.listdir():
        path = f"{at}/{name}"
        kind, mode, changed, size, content = described(name)
        if kind == FILE:
            old = before.pop(path, None)
            same = old[4] if old and old[0] == FILE else []
            content = pieces_of(name, mode, same, most) if size else []
            most -= sum(len(data) for _, data in content)
        elif kind == LINK:
            content = os.readlink(name)
        elif kind != FOLDER:
            raise Unkeepable("there is something that is no file, folder or link")
        most -= ENTRY + len(path)
        if most < 0:
            raise Unkeepable("there are more files than are kept")
        found[path] = (kind, mode, changed, size, content)
        if kind == FOLDER:
            if depth >= DEEPEST:
                raise Unkeepable(f"folders are nested deeper than {DEEPEST}")
            enter(name, mode)
            most = look_below(path, found, before, most, depth + 1)
            leave(name, mode)
    return most


def described(name: str) -> Entry:
    """What the kernel says of a name here."""
    found = os.lstat(name)
    return (
        stat.S_IFMT(found.st_mode),
        stat.S_IMODE(found.st_mode),
        found.st_mtime_ns,
        found.st_size,
        None,
    )


def enter(name: str, mode: int) -> None:
    """Goes into a folder, whatever it allows."""
    if mode & 0o700 != 0o700:
        change_mode(name, 0o700)
    os.chdir(name)


def leave(name: str, mode: int, to: str = "..") -> None:
    """Goes out of it, and lets it allow what it did."""
    os.chdir(to)
    if mode & 0o700 != 0o700:
        change_mode(name, mode)


def pieces_of(name: str, mode: int, before: Pieces, most: int) -> Pieces:
    """What is in a file, without its holes. A piece that was there before is the same object.

    Everything is read: a file that is changed through a mapping has no other mark of it.
    """
    if mode & 0o400 == 0:
        change_mode(name, 0o600)
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        found: Pieces = []
        for start, end in data_in(file):
            for at in range(start, end, PIECE):
                old = before[len(found)] if len(found) < len(before) else None
                data = os.pread(file, min(PIECE, end - at), at)
                most -= len(data)
                if most < 0:
                    raise Unkeepable("files have more bytes than are kept")
                found.append(old if old and old[0] == at and old[1] == data else (at, data))
        return found
    finally:
        os.close(file)
        if mode & 0o400 == 0:
            change_mode(name, mode)


def data_in(file: int) -> list[tuple[int, int]]:
    """Where an open file has data, from and to."""
    found, at, size = [], 0, os.fstat(file).st_size
    while at < size:
        try:
            at = os.lseek(file, at, os.SEEK_DATA)
        except OSError:
            # None behind this.
            break
        end = os.lseek(file, at, os.SEEK_HOLE)
        found.append((at, end))
        at = end
    return found


def restore(folders: list[str], files: Files) -> None:
    """Makes the folders what they were. What is too much goes first: there is room for all of it then."""
    below: dict[str, Files] = {path: {} for path in folders}
    for path, entry in files.items():
        if entry[0] == FOLDER:
            below.setdefault(path, {})
        if path not in folders:
            at, _, name = path.rpartition("/")
            below[at][name] = entry
    for step in (clear, fill):
        for folder in folders:
            enter(folder, described(folder)[1])
            step(folder, below)
            leave(folder, files[folder][1], "/")
    for folder in folders:
        change_mode(folder, files[folder][1])


def clear(at: str, below: dict[str, Files]) -> None:
    """Removes what was not there, and of files what they did not have."""
    wanted = below[at]
    for name in os.listdir():
        kind, mode, _, size, _ = described(name)
        entry = wanted.get(name)
        if entry is None or entry[0] != kind:
            remove(name, kind)
        elif kind == FOLDER:
            enter(name, mode)
            clear(f"{at}/{name}", below)
            os.chdir("..")
        elif kind == FILE and size > entry[3]:
            writable(name, mode)
            os.truncate(name, entry[3])


def remove(name: str, kind: int) -> None:
    """Removes a file or a whole folder, however deep."""
    if kind != FOLDER:
        os.unlink(name)
        return
    enter(name, 0)
    inside = [(name, os.listdir())]
    while inside:
        name, names = inside[-1]
        if not names:
            inside.pop()
            os.chdir("..")
            os.rmdir(name)
            continue
        child = names.pop()
        if described(child)[0] == FOLDER:
            enter(child, 0)
            inside.append((child, os.listdir()))
        else:
            os.unlink(child)


def fill(at: str, below: dict[str, Files]) -> None:
    """Makes everything that is not there, and what is not as it was."""
    there = set(os.listdir())
    for name, entry in below[at].items():
        kind, mode, changed, _, content = entry
        if kind == LINK:
            if name in there and os.readlink(name) != content:
                os.unlink(name)
                there.remove(name)
            if name not in there:
                os.symlink(content, name)
            continue
        if kind == FOLDER:
            if name not in there:
                os.mkdir(name, 0o700)
            enter(name, 0)
            fill(f"{at}/{name}", below)
            os.chdir("..")
        else:
            rewrite(name, entry, name in there)
        now = described(name)
        if now[1] != mode:
            change_mode(name, mode)
        if kind == FILE and now[2] != changed:
            os.utime(name, ns=(changed, changed))


def rewrite(name: str, entry: Entry, is_there: bool) -> None:
    """Gives a file the content that it had. One that is there stays the same for those who have it open."""
    size, content = entry[3], entry[4]
    mode = described(name)[1] if is_there else 0o600
    if is_there:
        if described(name)[3] == size and pieces_of(name, mode, content, 1 << 62) == content:
            return
        writable(name, mode)
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        kept = sum(len(data) for _, data in content)
        if sum(end - start for start, end in data_in(file)) > kept:
            # It had holes where it has none now.
            os.ftruncate(file, 0)
        for start, end in data_in(file):
            for at in range(start, end, PIECE):
                os.pwrite(file, bytes(min(PIECE, end - at)), at)
        for at, data in content:
            view = memoryview(data)
            while view:
                done = os.pwrite(file, view, at)
                view, at = view[done:], at + done
        os.ftruncate(file, size)
    finally:
        os.close(file)


def writable(name: str, mode: int) -> None:
    """Lets a file be written."""
    if mode & 0o600 != 0o600:
        change_mode(name, 0o600)
