"""What an erasure cannot take out is refused by name, on the certificate and in the exit code, never in silence."""

import errno
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import zstandard

from slowwave.cli import main
from slowwave.errors import PARTLY_FAILED, RefusedError
from slowwave.formats.database import RowReader
from slowwave.formats.notes import Note
from slowwave.memory import name_from_json
from slowwave.memory.candidates import read_candidates
from slowwave.retention.audit import AuditLog
from slowwave.retention.erase.mask import masked, overwritten
from slowwave.retention.erase.places import clean_database, found_in_database
from slowwave.retention.erase.subjects import Asked, Subjects
from slowwave.retention.holds import read_holds
from slowwave.secrets import Redactor
from slowwave.stores.archive.pack import PackedSession, Wanted, write_pack
from tests.unit.extraction.talk import RULES
from tests.unit.formats import openclaw_files, opencode_files
from tests.unit.retention import everybody, planted
from tests.unit.retention.planted import aged
from tests.unit.retention.test_subjects_erased import GATES, NAME, erase, left_in
from tests.unit.stores import families

WHAT = Subjects(Asked(persons=(NAME,), topics=("2024",)), Redactor(b"k" * 32))


@pytest.fixture(autouse=True)
def usual_folders(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let everything lie in the home, as without any variables."""
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(own_home)
    return own_home


def refused(report: dict[str, Any], path: Path | str) -> list[str]:
    """Return why something at a place was refused."""
    return [one["reason"] for one in report["items"] if one["action"] == "refused" and str(path) in one["target"]]


def on_certificate(home: Path) -> list[str]:
    """Return what the only certificate says was refused."""
    (page,) = (home / ".local/share/slowwave/certificates").glob("*.json")
    return [line["where"] for line in json.loads(page.read_bytes())["refused"]]


def test_a_number_stays_and_the_rest_of_its_line_goes() -> None:
    line = json.dumps({"year": 2024, "who": NAME, "said": "in 2024"}).encode()
    found = masked(line, WHAT)
    assert json.loads(found.data)["year"] == 2024
    assert NAME.encode() not in found.data
    assert len(found.places) == 2
    assert [found.data[p.offset : p.offset + p.length] for p in found.stuck] == [b"2024"]


@pytest.mark.parametrize("more", [b"", b'{"n": 1}\n', b"no json\n"])
def test_a_line_among_others_keeps_its_form(more: bytes) -> None:
    data = b'{"year": 2024}\n' + more + b"in 2024 " + NAME.encode() + b"\n"
    found = masked(data, WHAT)
    assert found.data.startswith(b'{"year": 2024}\n' + more)
    assert NAME.encode() not in found.data
    assert len(found.stuck) == 1
    assert b"in 2024" not in found.data


def test_a_file_of_ours_keeps_its_number_and_says_so(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    families.claude(own_home)
    # so long that no time or id of a run happens to hold it
    state = own_home / ".local/state/slowwave/runs/r1.report.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({"day": 20240917, "who": NAME}))
    aged(own_home)
    done = erase(capsys, "--person", NAME, "--topic", "20240917", "--apply")
    assert json.loads(state.read_bytes())["day"] == 20240917
    assert left_in(own_home) == []
    assert len(refused(done, state)) == 1
    assert on_certificate(own_home) == [str(state)]


def test_a_hold_that_names_a_person_is_named(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    families.claude(own_home)
    aged(own_home)
    assert main(["retain", "hold", "--person", NAME, "--reason", "a dispute"]) == 0
    done = erase(capsys, "--person", NAME, "--apply")
    (where,) = left_in(own_home)
    assert len(refused(done, where)) == 1


def test_what_was_done_is_told_although_it_cannot_be_certified(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    aged(planted.claude(own_home))

    def broken(_self: AuditLog, _entries: object, _at: object) -> None:
        raise OSError(errno.EIO, "Input/output error", "audit.jsonl")

    monkeypatch.setattr(AuditLog, "append", broken)
    capsys.readouterr()
    assert main(["run", "erase", "--json", "--topic", "mend it", "--apply"]) == PARTLY_FAILED
    done = json.loads(capsys.readouterr().out)
    assert done["counts"]["replaced"] > 0
    assert [one for one in done["failures"] if "certificate" in one and "audit.jsonl" in one] == done["failures"]


@pytest.mark.parametrize(
    ("name", "value", "is_elsewhere"),
    [
        ("PREFECT_API_URL", "http://prefect.example:4200/api", True),
        ("PREFECT_API_URL", "http://127.0.0.1:4200/api", False),
        ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "postgresql+asyncpg://db/prefect", True),
    ],
)
def test_a_scheduler_elsewhere_is_named(
    name: str,
    value: str,
    is_elsewhere: bool,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    families.claude(own_home)
    aged(own_home)
    monkeypatch.setenv(name, value)
    done = erase(capsys, "--topic", "mend it", "--apply")
    assert len(refused(done, f"${name}")) == is_elsewhere
    assert len(on_certificate(own_home)) == is_elsewhere


def test_every_frame_of_a_packed_file_is_looked_into() -> None:
    frames = [zstandard.ZstdCompressor().compress(f"{n} {NAME}\n".encode()) for n in range(3)]
    found = overwritten(b"".join(frames), WHAT)
    plain = zstandard.ZstdDecompressor().decompress(found.data)
    assert len(found.places) == 3
    assert [line[:2] for line in plain.splitlines()] == [b"0 ", b"1 ", b"2 "]
    assert NAME.encode() not in plain


@pytest.mark.parametrize("cut", [slice(0, -4), slice(0, 10)])
def test_a_damaged_file_in_the_trash_is_refused_and_stays(
    own_home: Path, capsys: pytest.CaptureFixture[str], cut: slice
) -> None:
    families.claude(own_home)
    item = own_home / ".local/share/slowwave/trash/20250101T000000-aaaa/00000"
    item.parent.mkdir(parents=True)
    item.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(f"{NAME}\n".encode() * 99)[cut])
    before = item.read_bytes()
    aged(own_home)
    done = erase(capsys, "--person", NAME, "--apply")
    assert item.read_bytes() == before
    assert len(refused(done, item)) == 1
    assert str(item) in on_certificate(own_home)


def test_notes_in_a_pack_are_overwritten_and_names_in_it_refused(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    families.claude(own_home)
    file = own_home / f"{NAME}.jsonl"
    file.write_text("{}\n")
    note = Note("/x/session_index.jsonl", "line", "gone", json.dumps({"thread_name": f"ask {NAME}"}))
    pack = own_home / ".local/share/slowwave/archive/a.swpack"
    write_pack(pack, [Wanted(PackedSession("gone", "codex", "p", "/work", "", 0.0, (), notes=(note,)), [file])])
    file.unlink()
    aged(own_home)
    done = erase(capsys, "--person", NAME, "--apply")
    assert ["its name" in reason for reason in refused(done, pack)] == [True]
    every = b"\n".join(everybody.pieces(pack))
    assert b"thread_name" in every
    assert f"ask {NAME}".encode() not in every


def database(path: Path, *values: object) -> Path:
    """Write a database with a value a row."""
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
        rows.executemany("INSERT INTO t(v) VALUES (?)", [(value,) for value in values])
        rows.commit()
    return path


def test_what_was_deleted_from_a_database_leaves_it_too(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", *(f"{number} {NAME} " * 40 for number in range(200)))
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("PRAGMA secure_delete = OFF")
        rows.execute("DELETE FROM t WHERE id > 3")
        rows.commit()
    assert path.read_bytes().count(NAME.encode()) > 1000
    found = clean_database(path, WHAT, alone=True)
    assert len(found.places) == 120
    assert found.refused == []
    assert NAME.encode() not in path.read_bytes()


def test_values_keep_their_types_and_what_is_no_text_stays(tmp_path: Path) -> None:
    packed = zstandard.ZstdCompressor().compress(f"a {NAME}".encode())
    broken = packed[:-2]
    path = database(tmp_path / "a.db", f"a {NAME}", f"b {NAME}".encode(), 2024, packed, broken, None, b"\xff\xfe")
    before = path.stat().st_mtime_ns
    found = clean_database(path, WHAT, alone=True)
    assert path.stat().st_mtime_ns == before
    assert ["cut short" in reason for reason in found.refused] == [True]
    with closing(sqlite3.connect(path)) as rows:
        types = [kind for (kind,) in rows.execute("SELECT typeof(v) FROM t")]
        values = [value for (value,) in rows.execute("SELECT v FROM t")]
    assert types == ["text", "blob", "integer", "blob", "blob", "null", "blob"]
    assert values[0] == "a [erased]" + "*" * (len(NAME) - 8)
    assert values[2] == 2024
    assert zstandard.ZstdDecompressor().decompress(values[3]).startswith(b"a [erased]")
    assert values[4] == broken


def test_a_search_forgets_the_words_and_still_finds_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as rows:
        rows.executescript(
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, said TEXT);"
            "CREATE VIRTUAL TABLE own USING fts5(said);"
            "CREATE VIRTUAL TABLE other USING fts5(said, content='notes', content_rowid='id');"
            "CREATE TRIGGER changed AFTER UPDATE ON notes BEGIN"
            " INSERT INTO other(other, rowid, said) VALUES ('delete', old.id, old.said);"
            " INSERT INTO other(rowid, said) VALUES (new.id, new.said); END;"
        )
        rows.execute("INSERT INTO notes VALUES (1, ?)", (f"ask {NAME} first",))
        rows.execute("INSERT INTO other(rowid, said) SELECT id, said FROM notes")
        rows.execute("INSERT INTO own VALUES (?)", (f"ask {NAME} first",))
        rows.commit()
    what = Subjects(Asked(persons=tuple(NAME.split())), Redactor(b"k" * 32))
    assert clean_database(path, what, alone=True).refused == []
    assert not any(word in path.read_bytes().lower() for word in NAME.lower().encode().split())
    with closing(sqlite3.connect(path)) as rows:
        for table in ("own", "other"):
            assert rows.execute(f"SELECT count(*) FROM {table}('first')").fetchone() == (1,)
            assert rows.execute(f"SELECT count(*) FROM {table}('ottilie')").fetchone() == (0,)
            rows.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_database_that_its_client_has_open_is_refused_and_stays(tmp_path: Path, mode: str) -> None:
    path = database(tmp_path / "a.db", f"a {NAME}")
    with closing(sqlite3.connect(path, isolation_level=None)) as client:
        client.execute(f"PRAGMA journal_mode = {mode}")
        client.execute("BEGIN")
        client.execute("SELECT * FROM t").fetchall()
        before = path.read_bytes()
        assert len(found_in_database(path, WHAT).places) == 1
        with pytest.raises(RefusedError, match="end the client"):
            clean_database(path, WHAT, alone=True)
        assert path.read_bytes() == before
    assert clean_database(path, WHAT, alone=True).refused == []
    assert NAME.encode() not in path.read_bytes()


@pytest.mark.parametrize("build", [everybody.openclaw, everybody.opencode])
def test_a_held_session_keeps_the_database_that_it_shares(
    build: Callable[[Path], Path], own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = build(own_home)
    (path,) = (one for one in root.rglob("*") if one.suffix in (".db", ".sqlite"))
    aged(own_home)
    held = "ses_main" if build is everybody.opencode else families.named(1)
    assert main(["retain", "hold", "--session", held, "--reason", "a dispute", "--store", str(root)]) == 0
    before = path.read_bytes()
    person = everybody.PEOPLE[0]
    done = erase(capsys, "--person", person, "--store", str(root), "--apply")
    assert path.read_bytes() == before
    assert any(held in reason and "held" in reason for reason in refused(done, path))
    (hold,) = read_holds(os.environ)
    assert main(["retain", "release", hold.id]) == 0
    done = erase(capsys, "--person", person, "--store", str(root), "--apply")
    assert refused(done, path) == []
    assert path.read_bytes() != before


def opencode_with_a_rule(home: Path) -> Path:
    """Return the database of somebody who said a rule and named a person in one breath."""
    made = opencode_files.Session("ses_rule")
    made.user(f"{RULES[0]}\n\n```\n{NAME}\n```")
    made.answer(opencode_files.words("ok"))
    root = home / ".local/share/opencode"
    root.mkdir(parents=True)
    return opencode_files.database(root, made)


def openclaw_with_a_rule(home: Path) -> Path:
    """Return the database of an agent that heard the same, with packed rows."""
    folder = home / ".openclaw/agents/main/agent"
    folder.mkdir(parents=True)
    made = openclaw_files.session(families.named(1))
    made.user(f"{RULES[0]}\n\n```\n{NAME}\n```")
    made.model("ok")
    store = openclaw_files.Agent(folder)
    store.add(made, packed=True)
    return store.path


@pytest.mark.parametrize("build", [opencode_with_a_rule, openclaw_with_a_rule])
def test_evidence_in_rows_of_a_database_still_proves_its_memory(
    build: Callable[[Path], Path], own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = build(own_home)
    aged(own_home)
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    (folder,) = {one.parent.parent for one in own_home.rglob("candidates.jsonl")}
    rested = proven_in(folder, path)
    assert rested
    done = erase(capsys, "--person", NAME, "--apply")
    assert done["counts"]["replaced"] > 0
    assert named_in(own_home) == []
    now = proven_in(folder, path)
    assert now.keys() == rested.keys()
    assert set(now.values()).isdisjoint(rested.values())


def proven_in(folder: Path, path: Path) -> dict[str, str]:
    """Return the rows that candidates rest on, with the hashes that both have."""
    pieces = [e for c in read_candidates(folder)[0] for e in c.evidence if name_from_json(e.path) == str(path)]
    with RowReader() as rows:
        for piece in pieces:
            assert sha256(rows.read(path, piece.record) or b"").hexdigest() == piece.sha256
    return {piece.record: piece.sha256 for piece in pieces}


def named_in(home: Path) -> list[str]:
    """Return the files in which the name stands, also in what is packed."""
    files = [one for one in home.rglob("*") if one.is_file()]
    return [str(one) for one in files if any(NAME.encode() in piece for piece in everybody.pieces(one))]
