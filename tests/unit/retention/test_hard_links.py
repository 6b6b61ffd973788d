"""A second name of a file would keep what is erased: it is erased, too, or named, and the run has failed in part."""

import json
import shutil
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.errors import DONE, PARTLY_FAILED
from tests.unit.extraction.talk import CWD
from tests.unit.retention import planted
from tests.unit.retention.test_subjects_erased import GATES, NAME, aged, home_of, left_in


def erase(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, list[str], list[str]]:
    """Run the job; return its code, its failures and the targets that it refused."""
    capsys.readouterr()
    code = main(["run", "erase", "--json", *more])
    report = json.loads(capsys.readouterr().out)
    return code, report["failures"], [i["target"] for i in report["items"] if i["action"] == "refused"]


def transcript(home: Path) -> Path:
    (path,) = (home / ".claude" / "projects").glob("*/*.jsonl")
    return path


def test_a_name_outside_of_the_stores_is_named_and_nothing_is_done_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    path, copy = transcript(home), home / "copy.jsonl"
    copy.hardlink_to(path)
    for more in ((), ("--apply",), ("--apply",)):
        code, failures, refused = erase(capsys, "--person", NAME, *more)
        assert (code, refused) == (PARTLY_FAILED, [str(path)])
        assert "1 other names" in failures[0]
    assert path.samefile(copy)
    copy.unlink()
    assert erase(capsys, "--person", NAME, "--apply") == (DONE, [], [])
    assert left_in(home) == []


def test_all_names_inside_of_the_stores_are_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    path = transcript(home)
    other = path.parents[1] / "-another" / "0000aaaa-1111-4222-8333-444444444444.jsonl"
    other.parent.mkdir()
    other.hardlink_to(path)
    (home / ".claude" / "debug").mkdir()
    (home / ".claude" / "debug" / "a.txt").hardlink_to(path)
    assert erase(capsys, "--person", NAME, "--apply") == (DONE, [], [])
    assert left_in(home) == []


def test_a_part_of_the_projects_erases_none_of_several_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    path = transcript(home)
    (home / ".claude" / "debug").mkdir()
    (home / ".claude" / "debug" / "a.txt").hardlink_to(path)
    code, _, refused = erase(capsys, "--person", NAME, "--project", CWD, "--apply")
    assert (code, str(path) in refused) == (PARTLY_FAILED, True)


@pytest.mark.parametrize("what", ["MEMORY.md", ".slowwave/ledger.jsonl"])
def test_a_memory_folder_with_a_linked_file_stays_as_a_whole(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    aged(home / ".claude")
    memory = transcript(home).parent / "memory"
    candidates = (memory / ".slowwave" / "candidates.jsonl").read_bytes()
    (home / "kept").hardlink_to(memory / what)
    code, _, refused = erase(capsys, "--person", NAME, "--apply")
    assert (code, str(memory / what) in refused) == (PARTLY_FAILED, True)
    assert (memory / ".slowwave" / "candidates.jsonl").read_bytes() == candidates
    (home / "kept").unlink()
    assert erase(capsys, "--person", NAME, "--apply")[0] == DONE
    assert left_in(home) == []


@pytest.mark.parametrize("place", ["store", "trash", "archive"])
def test_a_session_of_which_a_second_name_would_stay_is_refused_wherever_it_lies(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    linked = transcript(home)
    session = linked.stem
    if place != "store":
        assert main(["run", "retain", "--direct", "--apply", "--set", "retention.max_age=1d", "--confirm", "9",
                     "--set", "retention.require_extracted=false"]) == 0  # fmt: skip
        folder = home / ".local/share/slowwave" / place
        (linked, *_) = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".json" and p.stat().st_size)
    (home / "kept").hardlink_to(linked)
    for _ in range(2):
        code, _, refused = erase(capsys, "--session", session, "--apply")
        assert (code, str(linked) in refused, linked.exists()) == (PARTLY_FAILED, True, True)
    (home / "kept").unlink()
    assert erase(capsys, "--session", session, "--apply")[0] == DONE
    assert not linked.exists() or NAME.encode() not in linked.read_bytes()


def test_secrets_of_which_a_second_name_would_stay_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    root = planted.claude(tmp_path)
    aged(tmp_path)
    path = next(p for p in root.rglob("*.jsonl") if planted.TOKEN.encode() in p.read_bytes())
    shutil.copy2(path, tmp_path / "before")
    (tmp_path / "kept.jsonl").hardlink_to(path)
    code, failures, refused = erase(capsys, "--secrets", "--direct", "--apply")
    assert (code, len(failures), refused) == (PARTLY_FAILED, 1, [str(path)])
    assert path.read_bytes() == (tmp_path / "before").read_bytes()
