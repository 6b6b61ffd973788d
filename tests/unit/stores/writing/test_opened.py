"""Which sessions can be written at all: by dialect, by where they lie, and by what became of them."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from slowwave.context import FixedClock
from slowwave.errors import NotFoundError, RefusedError, UnreadableError, UsageError
from slowwave.formats.registry import CLIENTS
from slowwave.formats.writing import Compaction, Means, checked
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.roots import Writers, folder_for, session_of_path, writable, writer_for
from tests.unit.formats import opencode_files
from tests.unit.formats.pi_files import Session
from tests.unit.stores.store_builder import claude, write
from tests.unit.stores.writing.written import records, sessions_in, texts, unchanged

MEANS = Means(FixedClock(datetime(2026, 11, 21, 9, tzinfo=UTC)), Path("/nowhere"))


def pi_session(folder: Path, name: str) -> Path:
    made = Session()
    made.user("one")
    made.model("1")
    return write(folder / name, made.data().rstrip(b"\n"))


@pytest.mark.parametrize("dialect", writable())
def test_every_writer_is_that_of_its_dialect(dialect: str):
    assert writer_for(dialect, MEANS).dialect == dialect


@pytest.mark.parametrize("dialect", CLIENTS.keys() - {*writable()})
def test_databases_are_never_written(dialect: str):
    with pytest.raises(UsageError, match="only its client writes"):
        writer_for(dialect, MEANS)


def test_a_session_in_a_database_is_refused(tmp_path: Path):
    session = opencode_files.Session("ses_one1")
    session.user("hello")
    path = opencode_files.database(tmp_path, session)
    with pytest.raises(UsageError, match="opencode is read only"):
        unchanged(path, lambda: Writers(MEANS).known(session_of_path(path)))


@pytest.mark.parametrize("source", ["reset", "deleted", "backup"])
def test_what_a_client_has_put_aside_is_refused(tmp_path: Path, source: str):
    path = write(tmp_path / "s.jsonl", claude("user", "hi"))
    found = msgspec.structs.replace(session_of_path(path), source=source)
    with pytest.raises(UsageError, match=source):
        unchanged(path, lambda: Writers(MEANS).known(found))


def test_a_link_that_leads_out_of_its_folder_is_refused(tmp_path: Path):
    real = write(tmp_path / "elsewhere" / "s.jsonl", claude("user", "hi"))
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "s.jsonl").symlink_to(real)
    with pytest.raises(UsageError, match="out of its folder"):
        unchanged(real, lambda: sessions_in(tmp_path / "project").write_user_message("s", "more"))


def test_sessions_of_clawdbot_are_begun_by_clawdbot_and_forked_in_their_folder(tmp_path: Path):
    pi_session(tmp_path, "main.jsonl")
    (tmp_path / "sessions.json").write_text("{}")
    writers = Writers(MEANS)
    writer, target = writers.of("openclaw"), writers.known(session_of_path(tmp_path / "main.jsonl")).target
    with pytest.raises(UsageError, match="begin it in its client"):
        writer.path(tmp_path, "new")
    assert writer.fork(target, tmp_path, "copy") == [tmp_path / "copy.jsonl"]
    database = target._replace(path=tmp_path / "openclaw-agent.sqlite")
    attempts: list[Callable[[], object]] = [
        lambda: writer.fork(database, tmp_path, "x"),
        lambda: writer.alone(database).__enter__(),
    ]
    for attempt in attempts:
        with pytest.raises(UsageError, match="only its client writes"):
            attempt()


@pytest.mark.parametrize("value", ["bad \ud800", {"x": object()}, ["fine", ("also \udfff",)]])
def test_what_is_no_json_is_refused(value: object):
    with pytest.raises(UsageError, match="not valid text or JSON"):
        checked(value)


@pytest.mark.parametrize(
    ("dialect", "folder"),
    [
        ("pi", ".pi/agent/sessions/--home-ann-my-shop--"),
        ("claude", ".claude/projects/-home-ann-my-shop"),
        ("ulid", ".agent/sessions"),
    ],
)
def test_a_new_session_goes_where_its_client_looks_for_it(tmp_path: Path, dialect: str, folder: str):
    environ = {"HOME": str(tmp_path)}
    assert folder_for(dialect, Settings(), environ, Path("/home/ann/my:shop")) == tmp_path / folder
    named = Settings(store=StoreSettings(roots=(tmp_path / "agent",)))
    assert folder_for("pi", named, environ, Path("/w")) == tmp_path / "agent" / "sessions" / "--w--"


@pytest.mark.parametrize(("dialect", "folder"), [("pi", ".pi/agent/sessions/--w--"), ("cersei", ".claude/projects/-w")])
def test_in_a_persons_home_a_new_session_goes_to_its_clients_own_place(tmp_path: Path, dialect: str, folder: str):
    (tmp_path / "ann" / ".codex").mkdir(parents=True)
    named = Settings(store=StoreSettings(roots=(tmp_path / "ann",)))
    assert folder_for(dialect, named, {"HOME": str(tmp_path)}, Path("/w")) == tmp_path / "ann" / folder


def test_sessions_of_the_specification_are_written_and_copied_in_their_folder(tmp_path: Path):
    sessions, name = sessions_in(tmp_path, "ulid"), "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    sessions.write_user_message(name, "hello")
    sessions.write_assistant_message(name, "hi")
    copy = sessions.fork(name)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, copy])
    assert [m.text for m in sessions.load(copy)] == ["hello", "hi"]


def test_sessions_of_crabtalk_are_called_by_agent_sender_and_number(tmp_path: Path):
    sessions = sessions_in(tmp_path, "crabtalk")
    sessions.write_user_message("crab_user_1", "hello")
    sessions.name("crab_user_1", "A Title")
    sessions.write_assistant_message("crab_user_1", "hi")
    assert sessions.fork("crab_user_1") == "crab_user_2"
    assert [m.text for m in sessions.load("crab_user_2")] == ["hello", "hi"]


@pytest.mark.parametrize(("dialect", "name"), [("crabtalk", "crab_user_1"), ("ulid", "01ARZ3NDEKTSV4RRFFQ69G5FAV")])
def test_sessions_are_found_by_their_ids_whatever_new_ones_are_to_be(tmp_path: Path, dialect: str, name: str):
    sessions_in(tmp_path, dialect).write_user_message(name, "hello")
    sessions_in(tmp_path, dialect).name(name, "A Title")
    sessions = sessions_in(tmp_path, "cersei")
    sessions.write_assistant_message(name, "hi")
    assert [m.text for m in sessions.load(name)] == ["hello", "hi"]
    assert [row.id for row in sessions.list()] == [name]


def test_an_unreadable_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(UnreadableError, match="Permission denied"):
        sessions_in(tmp_path).load("s")


def test_an_empty_file_beside_a_session_of_the_same_id_hides_nothing(tmp_path: Path):
    path = pi_session(tmp_path, "2026-03-15T10-00-00-000Z_abc.jsonl")
    (tmp_path / "abc.jsonl").touch()
    sessions = sessions_in(tmp_path)
    assert sessions.find("abc").path == sessions.find("ab").path == str(path)
    pi_session(tmp_path, "2026-03-15T11-00-00-000Z_abc.jsonl")
    for attempt in (lambda: sessions.find("abc"), lambda: sessions.write_user_message("abc", "which one?")):
        with pytest.raises(NotFoundError, match="matches 2 sessions"):
            unchanged(path, attempt)


def test_a_unique_beginning_names_a_session_except_for_a_message(tmp_path: Path):
    path = pi_session(tmp_path, "2026-03-15T10-00-00-000Z_abcdef.jsonl")
    sessions = sessions_in(tmp_path)
    sessions.name("abc", "counting")
    sessions.label("abc", "e1", "start")
    sessions.branch("abc", "e2")
    sessions.compact("abc", Compaction("the gist"))
    assert [r["type"] for r in records(path)[-4:]] == ["session_info", "label", "custom", "compaction"]
    assert texts(sessions, sessions.fork("abc")) == texts(sessions, "abcdef")
    sessions.write_user_message("abc", "another session")
    assert sessions.find("abc").id == "abc"


def test_a_session_that_a_client_has_open_is_not_copied(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", claude("user", "hi"))
    claims = tmp_path / "home" / ".claude" / "sessions"
    claims.mkdir(parents=True)
    (claims / f"{os.getpid()}.json").write_text('{"sessionId": "s"}')
    with pytest.raises(RefusedError, match=f"process {os.getpid()}"):
        sessions_in(tmp_path).fork("s")
    assert [p for p in tmp_path.iterdir() if p.suffix] == [path]
