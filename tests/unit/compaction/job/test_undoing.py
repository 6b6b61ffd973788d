"""Undo takes back exactly what was appended, and only as long as nothing follows it."""

from pathlib import Path

import pytest

from slowwave.compaction.append import undo
from slowwave.errors import MovedError, NotFoundError
from tests.unit.compaction.job.talks import IDS, WRITTEN, Talk, compacted, job

every_client = pytest.mark.parametrize("dialect", sorted(IDS))


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@every_client
def test_a_compaction_is_taken_back_byte_for_byte(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    before = everything(tmp_path / "store")
    run = job(tmp_path)
    compacted(talk, run)
    assert everything(tmp_path / "store") != before
    undo(talk.stored(), run.folder, run.home)
    assert everything(tmp_path / "store") == before
    assert talk.path.stat().st_mtime == WRITTEN.timestamp()
    with pytest.raises(NotFoundError):
        undo(talk.stored(), run.folder, run.home)


@every_client
def test_what_was_taken_back_is_not_done_again_until_the_session_changes(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    run = job(tmp_path)
    compacted(talk, run)
    undo(talk.stored(), run.folder, run.home)
    assert [gate.gate for gate in compacted(talk, job(tmp_path)).gates] == ["undone"]
    talk.grow()
    assert compacted(talk, job(tmp_path)).counts["compacted"] == 1


@every_client
def test_what_was_said_since_is_never_cut_off(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    run = job(tmp_path)
    compacted(talk, run)
    talk.grow()
    before = everything(tmp_path / "store")
    with pytest.raises(MovedError, match="appended behind it"):
        undo(talk.stored(), run.folder, run.home)
    assert everything(tmp_path / "store") == before


def test_a_torn_end_is_torn_again(tmp_path: Path):
    talk = Talk(tmp_path / "store", "claude").grow(6)
    torn = talk.path.read_bytes()[:-1] + b'\n{"type":"user","mess'
    talk.path.write_bytes(torn)
    talk.rest()
    run = job(tmp_path)
    assert compacted(talk, run).counts["compacted"] == 1
    undo(talk.stored(), run.folder, run.home)
    assert talk.path.read_bytes() == torn


def test_a_part_that_the_summary_began_is_gone_again(tmp_path: Path):
    talk = Talk(tmp_path / "store", "cersei").grow(6)
    size = talk.path.stat().st_size
    run = job(tmp_path, f"store.part_bytes={size}")
    assert compacted(talk, run).counts["compacted"] == 1
    assert [path.name for path in talk.paths] == ["s1.jsonl", "s1_part2.jsonl"]
    undo(talk.stored(), run.folder, run.home)
    assert [path.name for path in talk.paths] == ["s1.jsonl"]


def test_bytes_that_somebody_changed_since_are_not_cut_off(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    run = job(tmp_path)
    compacted(talk, run)
    changed = talk.path.read_bytes()[:-3] + b" }\n"
    talk.path.write_bytes(changed)
    with pytest.raises(MovedError, match="not what was appended"):
        undo(talk.stored(), run.folder, run.home)
    assert talk.path.read_bytes() == changed
