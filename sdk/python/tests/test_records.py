"""Records of runs, left and read by a box."""

from __future__ import annotations

from pathlib import Path

import pytest

import carboy


def test_a_box_with_a_store_leaves_records(tmp_path: Path) -> None:
    with carboy.Sandbox(store=tmp_path / "store", record_inputs=True) as box:
        first = box.run("result = sum(n)", {"n": [1, 2, 3]})
        second = box.run("1 / 0")
        runs = box.runs
        assert [run.id for run in runs.find()] == [second.id, first.id]
        assert [run.kind for run in runs.find(status="error")] == ["exception"]
        record = runs.show(first.id[:8])
        assert (record.id, record.outcome, record.inputs) == (first.id, first, {"n": [1, 2, 3]})
        assert record.code == "result = sum(n)"
    replayed = runs.replay(first.id)
    assert replayed.same and replayed.now.result == 6 and not replayed.surroundings
    assert "n = " in runs.export(first.id)
    assert runs.page(first.id).startswith("<!doctype html>")
    head = runs.head()
    assert runs.verify(head).is_whole and runs.verify().records == 2
    assert not runs.verify("7" + head[1:]).is_whole
    assert runs.prune(keep_days=0) == 2 and runs.find() == []
    assert runs.verify(head).is_whole


def test_without_a_store_there_are_no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARBOY_STORE", raising=False)
    with pytest.raises(carboy.RequestError, match="no runs are recorded here"):
        carboy.Sandbox().runs  # noqa: B018


def test_a_run_that_is_not_there_is_the_callers_mistake(tmp_path: Path) -> None:
    runs = carboy.Runs(tmp_path)
    with pytest.raises(carboy.RequestError, match="could not open the run store"):
        runs.find()


def test_a_store_that_cannot_be_written_is_our_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(carboy.EngineError, match="the run store"):
        carboy.Sandbox(store=tmp_path / "file").run("1")


def test_keeping_inputs_without_a_store_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARBOY_STORE", raising=False)
    with pytest.raises(carboy.RequestError, match="nothing is recorded"):
        carboy.Sandbox(record_inputs=True)
    with pytest.raises(carboy.RequestError, match="record_artifacts has no effect"):
        carboy.Sandbox(record_artifacts=True)


def test_files_are_kept_beside_records_where_that_is_wanted(tmp_path: Path) -> None:
    with carboy.Sandbox(store=tmp_path / "store", record_artifacts=True) as box:
        outcome = box.run("open('a.txt', 'w').write('content')")
        artifact = outcome.artifacts["a.txt"]
        assert artifact.read() == b"content"
    kept = [path for path in (tmp_path / "store" / "artifacts").rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in kept] == [b"content"]
    assert box.runs.verify().is_whole
    kept[0].write_bytes(b"Content")
    assert not box.runs.verify().is_whole
    assert box.runs.prune(keep_days=0) == 1 and not kept[0].exists()


def test_waiting_for_modules_leaves_no_record(tmp_path: Path) -> None:
    with carboy.Sandbox(store=tmp_path / "store", preload=["json"]) as box:
        assert box.runs.find() == []
        outcome = box.run("import json; result = json.dumps([1])")
        assert [run.id for run in box.runs.find()] == [outcome.id]
