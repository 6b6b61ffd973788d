"""Which sessions can be written at all: by dialect, by where they lie, and by what became of them."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from slowwave.clock import FixedClock
from slowwave.errors import UsageError
from slowwave.settings import Settings, StoreSettings
from slowwave.stores.one import session_of_path
from slowwave.stores.writing.base import Means, checked
from slowwave.stores.writing.begin import folder_for
from slowwave.stores.writing.opened import Writers
from slowwave.stores.writing.registry import READ_ONLY, WRITABLE, writer_for
from tests.unit.dialects import opencode_files
from tests.unit.dialects.pi_files import Session
from tests.unit.stores.store_builder import claude, write
from tests.unit.stores.writing.written import sessions_in, unchanged

MEANS = Means(FixedClock(datetime(2026, 11, 21, 9, tzinfo=UTC)), Path("/nowhere"))


@pytest.mark.parametrize("dialect", WRITABLE)
def test_every_writer_is_that_of_its_dialect(dialect: str):
    assert writer_for(dialect, MEANS).dialect == dialect


@pytest.mark.parametrize("dialect", READ_ONLY)
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
    made = Session()
    made.user("one")
    made.model("1")
    write(tmp_path / "main.jsonl", made.data().rstrip(b"\n"))
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
