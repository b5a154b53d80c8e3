"""What code leaves comes out, stays as long as it is wanted, and is written nowhere else."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
from pathlib import Path

import pytest

import carboy

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20_000)
LEAVES = f"""
import os
os.mkdir("out")
open("out/plot.png", "wb").write({PNG[:8]!r} + bytes(20_000))
open("notes.txt", "w").write("hello")
os.symlink("/etc/passwd", "link")
"""


def folders(box: carboy.Sandbox) -> list[str]:
    """The folders of runs that the engine of a box has made."""
    assert box._pipe is not None
    # A server has no such folders.
    place = getattr(box._pipe, "artifacts", None)
    return [] if place is None else os.listdir(place)


def test_artifacts_are_read_opened_and_found_by_path(box: carboy.Sandbox) -> None:
    outcome = box.run(LEAVES)
    artifacts = outcome.artifacts
    assert [file.path for file in artifacts] == ["notes.txt", "out/plot.png"]
    assert len(artifacts) == 2 and "out/plot.png" in artifacts and "link" not in artifacts
    plot = artifacts["out/plot.png"]
    assert plot.read() == PNG
    assert (plot.bytes, plot.media_type) == (len(PNG), "image/png")
    assert plot.sha256 == hashlib.sha256(PNG).hexdigest()
    with artifacts[0].open() as file:
        assert file.read(2) == b"he"
    with pytest.raises(KeyError, match=r"no file 'missing', but notes.txt, out/plot.png"):
        artifacts["missing"]
    (left,) = outcome.artifacts_left_out
    assert (left.reason, left.count, left.paths) == ("link", 1, ["link"])


def test_artifacts_are_saved_below_a_folder_and_nowhere_else(
    box: carboy.Sandbox, tmp_path: Path
) -> None:
    artifacts = box.run(LEAVES).artifacts
    saved = artifacts.save(tmp_path / "new")
    assert saved == [tmp_path / "new/notes.txt", tmp_path / "new/out/plot.png"]
    assert saved[1].read_bytes() == PNG
    with pytest.raises(FileExistsError, match=r"force=True.*new/notes.txt"):
        artifacts["notes.txt"].save(tmp_path / "new")
    saved[0].write_text("old")
    artifacts["notes.txt"].save(tmp_path / "new", force=True)
    assert saved[0].read_text() == "hello"

    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    (tmp_path / "links").mkdir()
    (tmp_path / "links/out").symlink_to(outside)
    (tmp_path / "links/notes.txt").symlink_to(outside / "mine")
    with pytest.raises(OSError):
        artifacts["out/plot.png"].save(tmp_path / "links", force=True)
    with pytest.raises(FileExistsError):
        artifacts["notes.txt"].save(tmp_path / "links")
    artifacts["notes.txt"].save(tmp_path / "links", force=True)
    assert [file.name for file in outside.iterdir()] == ["mine"]
    assert (outside / "mine").read_text() == "mine"
    forged = carboy.Artifact("../x", 1, "ab", None, artifacts[0]._kept)
    with pytest.raises(carboy.RequestError):
        forged.save(tmp_path)


def test_what_nobody_refers_to_is_removed() -> None:
    with carboy.Sandbox() as box:
        box.run("result = 1")
        assert folders(box) == []
        outcome = box.run("open('a', 'w').write('a')")
        kept = outcome.artifacts["a"]
        assert len(folders(box)) == 1
        del outcome
        gc.collect()
        assert kept.read() == b"a"
        del kept
        gc.collect()
        assert folders(box) == []
        assert box._pipe is not None and box._pipe.artifacts is not None
        place = box._pipe.artifacts
        again = box.run("open('a', 'w').write('a')").artifacts["a"]
    assert not os.path.exists(place)
    with pytest.raises(carboy.RequestError, match="closed"):
        again.read()


@pytest.mark.parametrize("wish", ["list", "none"])
def test_a_caller_that_does_not_want_them_gets_none(wish: carboy.ArtifactWish) -> None:
    with carboy.Sandbox(artifacts=wish) as box:
        outcome = box.run("open('a', 'w').write('a')")
        assert folders(box) == []
        if wish == "none":
            assert outcome.artifacts == []
            return
        (artifact,) = outcome.artifacts
        assert artifact == carboy.Artifact("a", 1)
        with pytest.raises(carboy.RequestError, match="not kept"):
            artifact.read()


def test_a_wish_that_is_none_is_refused() -> None:
    with pytest.raises(carboy.RequestError, match="artifacts must be"):
        carboy.Sandbox(artifacts="some")  # type: ignore[arg-type]


def test_artifacts_of_an_asynchronous_box() -> None:
    async def main() -> bytes:
        async with carboy.AsyncSandbox() as box:
            outcome = await box.run(LEAVES)
            return outcome.artifacts["out/plot.png"].read()

    assert asyncio.run(main()) == PNG


def test_a_forked_child_does_not_remove_the_files_of_its_parent(box: carboy.Sandbox) -> None:
    outcome = box.run("open('a', 'w').write('a')")
    child = os.fork()
    if child == 0:
        del outcome
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert outcome.artifacts["a"].read() == b"a"
