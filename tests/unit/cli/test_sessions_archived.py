"""Archived sessions of every client that keeps files are listed, read, searched and restored as if they lay there."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.files import archive_folder, state_folder
from slowwave.retention.audit import AuditLog
from slowwave.settings import Settings, StoreSettings
from tests.unit.secrets.keys import give_key
from tests.unit.stores.archive.shelves import STORES, archive, listed, tree

Capture = pytest.CaptureFixture[str]
EVERY = pytest.mark.parametrize("client", list(STORES))


def said(capsys: Capture, *args: object, code: int = 0) -> str:
    assert main(["sessions", *map(str, args)]) == code
    return capsys.readouterr().out


def objects(capsys: Capture, *args: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said(capsys, *args, "--json").splitlines()]


def rows(capsys: Capture) -> list[dict[str, Any]]:
    return sorted(objects(capsys, "list"), key=lambda row: row["path"])


@pytest.fixture
def home(own_home: Path) -> Path:
    return own_home


def pack_all(environ: "os._Environ[str]" = os.environ) -> Path:
    return archive(listed(Settings(), environ), environ)


@EVERY
def test_what_is_archived_reads_as_before(client: str, home: Path, capsys: Capture) -> None:
    STORES[client](home)
    before = rows(capsys)
    ids = [row["id"] for row in before]
    assert ids
    shown = {i: objects(capsys, "show", i, "--all") for i in ids}
    trees = {i: objects(capsys, "show", i, "--tree") for i in ids}
    contexts = {i: objects(capsys, "context", i) for i in ids}
    words = [objects(capsys, "text", row["path"]) for row in before]
    hits = sorted((hit["id"], hit["snippet"], hit["message"]) for hit in objects(capsys, "search", "mend", "--all"))
    assert hits
    pack = pack_all()

    after = rows(capsys)
    assert [row | {"source": "archived", "archive": str(pack)} for row in before] == after
    assert {i: objects(capsys, "show", i, "--all") for i in ids} == shown
    assert {i: objects(capsys, "show", i, "--tree") for i in ids} == trees
    assert {i: objects(capsys, "context", i) for i in ids} == contexts
    assert [objects(capsys, "text", row["path"]) for row in before] == words
    again = objects(capsys, "search", "mend", "--all")
    assert sorted((hit["id"], hit["snippet"], hit["message"]) for hit in again) == hits
    # an index that is lost is made anew from the pack
    for path in state_folder(os.environ).glob("search*"):
        path.unlink()
    anew = objects(capsys, "search", "mend", "--all")
    assert sorted((hit["id"], hit["snippet"], hit["message"]) for hit in anew) == hits
    assert list((state_folder(os.environ) / "opened").iterdir()) == []


@EVERY
def test_what_is_restored_is_as_it_was(client: str, home: Path, capsys: Capture) -> None:
    STORES[client](home)
    before, listing = tree(home / ""), rows(capsys)
    stores = {name: entry for name, entry in before.items() if not name.startswith(("state", "data", "cache"))}
    pack = pack_all()
    mine = [row for row in listing if row["kind"] != "subagent" or "/subagents/" not in row["path"]]
    said(capsys, "restore", *(row["id"] for row in mine))
    after = {name: entry for name, entry in tree(home).items() if not name.startswith(("state", "data", "cache"))}
    assert after == stores
    assert rows(capsys) == listing
    assert pack.is_file()
    log = list(AuditLog(os.environ).lines())
    assert [(line.action, line.session) for line in log] == [("restore", row["id"]) for row in mine]


def test_an_index_keeps_what_it_read_before_a_session_was_archived(home: Path, capsys: Capture) -> None:
    STORES["claude"](home)
    objects(capsys, "search", "mend")
    pack = pack_all()
    rows(capsys)
    # nothing of the pack can be read any more but its table
    data = bytearray(pack.read_bytes())
    data[10:200] = bytes(190)
    pack.write_bytes(bytes(data))
    assert objects(capsys, "search", "mend")


def test_a_search_in_one_store_forgets_nothing_of_another(home: Path, tmp_path: Path, capsys: Capture) -> None:
    STORES["claude"](home)
    pack_all()
    before = objects(capsys, "search", "mend")
    STORES["pi"](tmp_path)
    assert objects(capsys, "search", "mend", "--store", tmp_path / ".pi")
    for path in archive_folder(os.environ).glob("*"):
        data = path.read_bytes()
        path.write_bytes(data[:10] + bytes(190) + data[200:])
    # the other store's sessions stay in the index and change how much a word weighs
    assert {hit["id"] for hit in objects(capsys, "search", "mend")} == {hit["id"] for hit in before}


def test_only_what_lay_under_a_named_store_is_listed(home: Path, tmp_path: Path, capsys: Capture) -> None:
    STORES["claude"](home)
    STORES["pi"](tmp_path)
    archive(listed(Settings(store=StoreSettings(roots=(tmp_path / ".pi",))), os.environ), os.environ, "pi")
    STORES["pi"](tmp_path / "again")
    found = objects(capsys, "list", "--store", tmp_path / "again" / ".pi")
    assert {row["source"] for row in found} == {""}
    dialects = {row["dialect"] for row in rows(capsys)}
    assert dialects == {"claude", "pi"}


def test_a_session_that_lies_in_its_place_again_is_listed_once(home: Path, capsys: Capture) -> None:
    STORES["claude"](home)
    before = rows(capsys)
    pack_all()
    main_id = next(row["id"] for row in before if row["kind"] == "main")
    said(capsys, "restore", main_id)
    after = rows(capsys)
    assert [row["id"] for row in after] == [row["id"] for row in before]
    assert [row["source"] for row in after if row["id"] == main_id] == [""]


def test_what_is_archived_is_not_written_to(home: Path, capsys: Capture) -> None:
    STORES["claude"](home)
    name = next(row["id"] for row in rows(capsys) if row["kind"] == "main")
    pack_all()
    for words in (["rm", name], ["append", name, "--role", "user", "more"], ["compact", name], ["fork", name]):
        assert main(["sessions", *words]) == 4
        assert f"slowwave sessions restore {name}" in capsys.readouterr().err
    assert not list((home / ".claude" / "projects" / "-work").glob("*.jsonl"))


def test_a_restore_replaces_nothing(home: Path, capsys: Capture) -> None:
    STORES["claude"](home)
    row = next(row for row in rows(capsys) if row["kind"] == "main")
    pack_all()
    Path(row["path"]).write_text("another\n", encoding="utf-8")
    assert main(["sessions", "restore", row["id"]]) == 4
    assert "move it away" in capsys.readouterr().err
    assert Path(row["path"]).read_text(encoding="utf-8") == "another\n"
    assert [path.name for path in Path(row["path"]).parent.iterdir()] == [Path(row["path"]).name]
    assert not AuditLog(os.environ).path.exists()


def test_a_damaged_pack_is_named_and_stops_nothing(home: Path, capsys: Capture) -> None:
    STORES["claude"](home)
    STORES["pi"](home)
    found = listed(Settings(), os.environ)
    archive([row for row in found if row.dialect == "pi"], os.environ, "pi")
    broken = archive([row for row in found if row.dialect == "claude"], os.environ, "claude")
    broken.write_bytes(broken.read_bytes()[:-3])
    assert main(["sessions", "list", "--json"]) == 0
    out, err = capsys.readouterr()
    assert {json.loads(line)["dialect"] for line in out.splitlines()} == {"pi"}
    assert f"{broken}: damaged" in err
    assert objects(capsys, "search", "mend")


def test_a_beginning_that_fits_two_sessions_is_refused(home: Path, capsys: Capture) -> None:
    STORES["claude"](home)
    pack_all()
    assert main(["sessions", "show", "0000"]) == 3
    assert "matches" in capsys.readouterr().err
    assert main(["sessions", "restore", "0000"]) == 4
    assert main(["sessions", "restore", "nobody"]) == 3


def test_an_older_copy_of_the_archive_shows_nobody_who_was_erased(home: Path, capsys: Capture) -> None:
    STORES["claude"](home)
    give_key(Path(os.environ["XDG_CONFIG_HOME"]))
    gone = next(row["id"] for row in rows(capsys) if row["kind"] == "main")
    pack = pack_all()
    every = {row["id"] for row in rows(capsys)}
    copy = pack.read_bytes()
    assert main(["run", "erase", "--session", gone, "--apply"]) == 0
    pack.write_bytes(copy)
    capsys.readouterr()
    assert main(["sessions", "list", "--json"]) == 0
    shown = capsys.readouterr()
    left = {json.loads(line)["id"] for line in shown.out.splitlines()}
    assert gone not in left
    assert left < every
    assert "erased on request" in shown.err
    assert [hit for hit in objects(capsys, "search", "mend", "--all") if hit["id"] == gone] == []
