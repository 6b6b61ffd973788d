"""No place that slowwave writes to is left out of an erasure, whatever is put there tomorrow."""

import bz2
import gzip
import io
import json
import lzma
import os
import sqlite3
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from slowwave import files
from slowwave.cli import main
from slowwave.retention.erase.places import SETTINGS
from slowwave.settings import Settings
from tests.unit.extraction.talk import CWD, Talk
from tests.unit.retention.planted import aged
from tests.unit.retention.test_subjects_erased import GATES, NAME, erase, home_of, left_in
from tests.unit.retention.test_what_stays import on_certificate, opencode_with_a_rule

SAID = json.dumps({"text": f"ask {NAME}"}).encode()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home in which a person is named."""
    return home_of(tmp_path, monkeypatch)


def zipped(data: bytes) -> bytes:
    """Return an archive with one file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.txt", data)
    return out.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "zstd": zstandard.ZstdCompressor().compress,
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zip": zipped,
    "gzip in zstd": lambda data: zstandard.ZstdCompressor().compress(gzip.compress(data)),
}


def refused(report: dict[str, Any]) -> set[str]:
    """Return what was left alone, by name."""
    return {Path(item["target"]).name for item in report["items"] if item["action"] == "refused"}


def test_every_folder_that_slowwave_writes_below_is_known() -> None:
    known = {"home_folder", "state_folder", "data_folder", "archive_folder", "config_folder", "scheduler_folder"}
    folders = {
        name for name, one in vars(files).items() if name.endswith("_folder") and "environ" in one.__annotations__
    }
    folders.discard("_own_folder")
    assert folders == known, "let the erasure look into the new folder: retention/erase/places.py"


def test_every_setting_that_names_a_place_is_known() -> None:
    found = set[str]()
    for section in msgspec.structs.fields(Settings):
        kind: Any = section.type
        for field in msgspec.structs.fields(kind) if isinstance(kind, type) else ():
            told = str(field.type)
            name_of_place = ("file", "folder", "path", "elsewhere", "roots", "import", "moved", "shared")
            if "Path" in told or any(word in field.name for word in name_of_place):
                found.add(f"{section.name}.{field.name}")
    assert found == set(SETTINGS), "say in retention/erase/places.py what an erasure does with it"


@pytest.mark.parametrize("folder", [".local/share/slowwave", ".local/state/slowwave", ".config/slowwave"])
@pytest.mark.parametrize("name", ["new.json", "new/deep/er.jsonl", "new/page.html", "new/of.bin", "new/a.lock", "x"])
def test_what_is_put_there_tomorrow_is_overwritten_or_named(
    folder: str, name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(SAID)
    aged(home)
    done = erase(capsys, "--person", NAME, "--apply")
    assert left_in(home) == ([str(path)] if path.name in refused(done) else [])
    assert (".local/state" in folder) == (path.name not in refused(done)) or path.suffix == ".lock"


@pytest.mark.parametrize("folder", ["", "backfills/b1/", "prefect-like/"])
def test_a_database_of_the_state_folder_goes_wherever_it_lies(
    folder: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / ".local/state/slowwave" / folder / "known.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("CREATE TABLE t AS SELECT ? AS a", (NAME,))
        rows.commit()
    erase(capsys, "--person", NAME, "--apply")
    assert not path.exists()
    assert left_in(home) == []


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize(
    "place", [".local/state/slowwave/runs/r1.report", ".claude/paste-cache/p", ".claude/plugins/p"]
)
def test_what_is_packed_is_overwritten_or_named(
    kind: str, place: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PACKED[kind](SAID * 9))
    aged(home)
    before = path.read_bytes()
    done = erase(capsys, "--person", NAME, "--apply")
    if kind in ("zstd", "gzip") and "state" in place:
        unpacked = {"zstd": zstandard.ZstdDecompressor().decompress, "gzip": gzip.decompress}[kind](path.read_bytes())
        assert NAME.encode() not in unpacked
        assert len(unpacked) == len(SAID) * 9
        assert path.name not in refused(done)
    else:
        assert path.name in refused(done)
        assert path.read_bytes() == before


def test_a_snapshot_of_opencode_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = home / ".local/share/opencode/snapshot/p1"
    subprocess.run(["git", "init", "-q", "--bare", str(store)], check=True)
    command = ["git", "--git-dir", str(store), "hash-object", "-w", "--stdin"]
    subprocess.run(command, input=f"a note of {NAME}\n".encode(), check=True, capture_output=True)
    clean = store.with_name("p2")
    subprocess.run(["git", "init", "-q", "--bare", str(clean)], check=True)
    subprocess.run(["git", "--git-dir", str(clean), "hash-object", "-w", "--stdin"], input=b"a", check=True)
    aged(home)
    done = erase(capsys, "--person", NAME, "--apply")
    assert [(i["target"], "1 objects" in i["reason"]) for i in done["items"] if i["action"] == "refused"] == [
        (str(store), True)
    ]
    assert any(str(store) in line for line in on_certificate(home))


def test_a_log_that_the_settings_put_elsewhere_is_overwritten(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "logs" / "slowwave.log"
    log.parent.mkdir()
    for path in (log, log.with_name("slowwave.log.1")):
        path.write_bytes(SAID + b"\n")
    aged(log.parent)
    erase(capsys, "--person", NAME, "--apply", "--set", f"telemetry.log_file={log}")
    assert left_in(log.parent) == []
    assert left_in(home) == []


def test_memories_that_the_settings_put_elsewhere_are_found_without_a_session(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--set", f"memory.elsewhere={tmp_path}/notes/{{key}}/m", "--set", f"memory.global_folder={tmp_path}/every"]
    sessions = home / ".pi" / "agent" / "sessions" / "--w--"
    (claude,) = (home / ".claude" / "projects").rglob("*.jsonl")
    Talk().person("hello").write(sessions)
    first = next(sessions.glob("*.jsonl"))
    first.write_bytes(claude.read_bytes())
    aged(home)
    assert main(["run", "nightly", "--direct", *GATES, *place, "--store", str(home / ".pi")]) == 0
    assert left_in(tmp_path / "notes")
    first.unlink()
    erase(capsys, "--person", NAME, "--apply", *place)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("name", ["holds.lock", "retain.lock.old.lock"])
def test_a_pipe_in_the_place_of_a_lock_is_named_and_never_waited_for(
    home: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = files.state_folder({"HOME": str(home)}) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    done = erase(capsys, "--person", NAME, "--apply")
    assert name in refused(done)
    assert any("is a pipe" in item["reason"] for item in done["items"] if item["action"] == "refused")


def test_names_of_files_and_folders_are_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (".claude/projects/-home-x-hugelproject", ".local/state/slowwave/contexts/hugelproject"):
        (home / folder).mkdir(parents=True)
        (home / folder / "one.json").write_text("{}")
    aged(home)
    capsys.readouterr()
    main(["run", "erase", "--json", "--topic", "hugelproject"])
    done = json.loads(capsys.readouterr().out)
    named = [item for item in done["items"] if "its name holds a subject" in item["reason"]]
    assert len(named) == 2
    assert "hugelproject" not in json.dumps(done)


def test_questions_on_their_way_to_a_model_are_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sent = home / ".local/state/slowwave/batches/sent"
    sent.mkdir(parents=True)
    (sent / "b1.json").write_text("{}")
    assert "sent" in refused(erase(capsys, "--person", NAME, "--apply"))


def test_within_one_project_the_certificate_says_what_was_left_out(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opencode_with_a_rule(home)
    aged(home)
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    main(["sessions", "search", "release"])
    database = home / ".local/share/opencode/opencode.db"
    before = database.read_bytes()
    done = erase(capsys, "--person", NAME, "--apply", "--project", "w")
    (page,) = (home / ".local/share/slowwave/certificates").glob("*.json")
    certificate = json.loads(page.read_bytes())
    (line,) = (one for one in certificate["refused"] if one["where"] == str(database))
    assert "--project" in line["reason"]
    assert database.read_bytes() == before
    left_out = {one["where"] for one in certificate["left_out"]}
    assert {"all other projects", "elsewhere"} <= left_out
    for folder in (".claude", ".local/share/opencode", ".local/state/slowwave", ".local/share/slowwave"):
        assert str(home / folder) in left_out, folder
    assert done["counts"]["not_searched"] == len(left_out) - 1
    assert "## Not searched" in page.with_suffix(".md").read_text()
    # what is built anew holds it no more
    assert not [path for path in left_in(home) if path.endswith(".sqlite")]
    capsys.readouterr()
    erase(capsys, "--person", NAME, "--apply", "--project", CWD)
    erase(capsys, "--person", NAME, "--apply")
    assert left_in(home) == []


def test_a_backfill_the_nights_and_their_page_forget_a_person(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = home / ".local/state/slowwave"
    backfill = ["run", "backfill", "--direct", *GATES[:-1]]
    assert main(backfill) == 0
    assert main(["run", "nightly", "--direct", *GATES, "--set", f"telemetry.log_file={state}/log.jsonl"]) == 0
    page, nights, waits = state / "report.html", state / "nights.jsonl", state / "asks.json"
    assert page.is_file()
    waits.write_text(f'{{"as it was": {SAID!r}}}')
    assert list((state / "backfills").iterdir())
    for path in (page, nights):
        path.write_bytes(path.read_bytes() + (b"<!-- " + SAID + b" -->\n" if path is page else SAID + b"\n"))
    aged(home)
    erase(capsys, "--person", NAME, "--apply", "--set", f"telemetry.log_file={state}/log.jsonl")
    assert left_in(home) == []
    assert main([*backfill, "--force"]) == 0
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    assert left_in(home) == []
