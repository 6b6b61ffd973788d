"""Searching sessions: what is found, in which order, what the index keeps and how it stays up to date."""

import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slowwave.stores.catalogue import Catalogue, catalogue_path
from slowwave.stores.discovery import list_sessions
from slowwave.stores.search import Hit, search
from slowwave.stores.search.index import Refreshed, SearchIndex, index_path
from slowwave.stores.search.words import Term, folded, terms_of
from slowwave.stores.summary import SessionRow
from tests.unit.formats import codex_files, opencode_files, pi_files
from tests.unit.stores.store_builder import add, cersei, claude, settings_for, tombstone, write


class Store:
    """A store in a folder of its own, with the searches that are made in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "projects"
        self.project = self.folder / "-home-ann-shop"
        self.environ = {"HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state")}
        self.warnings: list[str] = []
        self.done = Refreshed()

    def session(self, name: str, *said: str, **fields: object) -> Path:
        """Write a session in which a person and the model speak in turn."""
        roles = ("user", "assistant")
        lines = [claude(roles[n % 2], text, n, **fields) for n, text in enumerate(said)]
        return write(self.project / f"{name}.jsonl", *lines)

    def rows(self) -> list[SessionRow]:
        with Catalogue(catalogue_path(self.environ), self.warnings) as catalogue:
            return list_sessions(settings_for(self.folder), self.environ, catalogue).rows

    def search(self, query: str, *, limit: int = 10, everything: bool = False, kind: str = "") -> list[Hit]:
        rows = self.rows()
        terms, _ = terms_of(query)
        with SearchIndex(index_path(self.environ), self.warnings) as index:
            self.done = index.refresh(rows)
            asked = [row for row in rows if kind in ("", row.kind)]
            return search(index, terms, index.numbers(asked), limit=limit, everything=everything)

    def found(self, query: str, *, everything: bool = False) -> list[str]:
        return [hit.row.id for hit in self.search(query, everything=everything)]


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_a_prompt_counts_more_than_an_answer_and_a_title_more_than_both(store: Store):
    filler = "some other words about nothing at all"
    store.session("answer", filler, f"the ledger is slow, {filler}")
    store.session("prompt", f"the ledger is slow, {filler}", filler)
    path = store.session("title", f"{filler}, {filler}", filler)
    add(path, {"type": "custom-title", "customTitle": "the ledger is slow", "sessionId": "s"})
    store.session("nothing", filler, filler)
    assert store.found("ledger") == ["title", "prompt", "answer"]


def test_a_session_that_has_all_words_comes_before_those_that_have_one_often(store: Store):
    store.session("both", "we put redis in front", "then the outbox came")
    store.session("one", "we put redis behind redis", "then redis came")
    store.session("other", "the outbox came", "we use the outbox now")
    store.session("none", "a", "b")
    assert store.found("redis outbox")[0] == "both"
    assert sorted(store.found("redis outbox")) == ["both", "one", "other"]


def test_a_hit_names_its_message_its_role_and_its_time(store: Store):
    store.session("s", "hello there", "we keep amounts in minor units", "thanks")
    (hit,) = store.search("minor")
    assert hit.said is not None
    assert (hit.said.id, hit.said.role, hit.said.at[:19]) == ("msg_1", "assistant", "2026-11-20T10:00:01")
    assert hit.snippet == "we keep amounts in minor units"


def test_a_title_alone_is_a_hit_without_a_message(store: Store):
    path = store.session("s", "hello", "hi")
    add(path, {"type": "custom-title", "customTitle": "Quarterly cleanup", "sessionId": "s"})
    (hit,) = store.search("quarterly")
    assert (hit.said, hit.snippet) == (None, "Quarterly cleanup")


def test_tools_are_found_by_name_and_never_by_what_they_took_or_gave(store: Store):
    call = {"type": "tool_use", "id": "c", "name": "WebFetch", "input": {"url": "zebra"}}
    result = [{"type": "tool_result", "tool_use_id": "c", "content": "walrus"}]
    write(
        store.project / "s.jsonl",
        claude("user", "look it up"),
        claude("assistant", "", 1, message={"id": "m", "role": "assistant", "content": [call]}),
        claude("user", "", 2, message={"role": "user", "content": result}),
    )
    (hit,) = store.search("webfetch")
    assert (hit.said and hit.said.id, hit.snippet) == ("m", "WebFetch")
    assert store.found("zebra walrus") == []


def test_reminders_and_reasoning_are_not_searched(store: Store):
    thinking = {"type": "thinking", "thinking": "walrus"}
    write(
        store.project / "s.jsonl",
        claude("user", "<system-reminder>zebra</system-reminder>fix it"),
        claude("assistant", "", 1, message={"id": "m", "role": "assistant", "content": [thinking]}),
    )
    assert store.found("zebra walrus") == []
    assert store.found("fix") == ["s"]


def test_sub_agents_are_found_only_when_asked_for(store: Store):
    write(
        store.project / "s.jsonl",
        claude("user", "start"),
        claude("user", "count the giraffes", 1, isSidechain=True, parentUuid=None),
        claude("assistant", "seven giraffes", 2, isSidechain=True),
        claude("assistant", "done", 3),
    )
    assert store.found("giraffes") == []
    assert store.found("giraffes", everything=True) == ["s"]
    assert store.found("done") == ["s"]


@pytest.mark.parametrize(
    ("text", "query", "fits"),
    [
        ("Überprüfung der Zertifikate", "uberprufung", True),
        ("ÜBERPRÜFUNG", "überprüfung", True),
        ("Проверка журнала", "проверка", True),
        ("数据库的迁移已经完成", "迁移", True),
        ("数据库的迁移已经完成", "迁数", False),
        ("データベースを移行する", "移行", True),
        ("데이터베이스를 옮긴다", "베이스", True),
        ("the outbox_events table", "outbox_events", True),
        ("events in the outbox", "outbox_events", False),
        ("deployments are frozen", "deploy*", True),
        ("deployments are frozen", "deploy", True),
        ("we deploy on Friday", '"on friday"', True),
        ("on a Friday", '"on friday"', False),
        ("emoji 🎉 party", "🎉", False),
        ("x" * 300, "x" * 300, True),
    ],
)
def test_words_are_found_in_any_script_and_spelling(store: Store, text: str, query: str, *, fits: bool):
    store.session("s", text, "ok")
    hits = store.search(query)
    assert [hit.row.id for hit in hits] == (["s"] if fits else [])
    assert all(hit.said is not None and hit.said.field == "user" for hit in hits)


@pytest.mark.parametrize(
    "query",
    [
        "", " ", '"', '""', "*", "a AND", "NOT", "OR OR", "NEAR(a b)", "user:a", "a^", "(", "{user}: x",
        "'; DROP TABLE", "a\0b", "\udc80", "-a", "+", "%", "*a", '"a*" *',
        "a" * 1_000_000, '" ' * 500_000, "w " * 500_000,
        "".join(map(chr, range(1, 0x3000))),
    ],
)  # fmt: skip
def test_no_query_is_an_error(store: Store, query: str):
    store.session("s", "a plain session", "fine")
    store.search(query)


def test_words_that_are_operators_elsewhere_are_words(store: Store):
    store.session("s", "this and not that", "or near it")
    assert store.found("AND NOT NEAR") == ["s"]


def test_a_long_query_counts_up_to_its_limit():
    terms, cut = terms_of(" ".join(f"w{n}" for n in range(100)))
    assert (len(terms), cut) == (32, True)
    assert terms_of("one two one")[1] is False
    assert len(terms_of("one two one")[0]) == 2


def test_a_word_that_is_everywhere_counts_for_nothing_beside_a_rarer_one(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("slowwave.stores.search._MANY", 2)
    for name in ("a", "b", "c"):
        store.session(name, "the usual words", "indeed")
    store.session("d", "the walrus", "indeed")
    assert store.found("the walrus") == ["d"]
    assert sorted(store.found("the")) == ["a", "b", "c", "d"]
    assert sorted(store.found("the nonsense")) == ["a", "b", "c", "d"]


@given(word=st.text("aB_é", min_size=1, max_size=3), text=st.text("aB_é -", max_size=12), is_prefix=st.booleans())
def test_a_word_is_seen_where_its_pattern_sees_it(word: str, text: str, *, is_prefix: bool):
    term = Term(word, is_prefix=is_prefix)
    assume(term.tokens)
    assert term.is_in(folded(text)) == (term.pattern.search(folded(text)) is not None)


def test_a_word_finds_its_other_forms_and_itself_first(store: Store):
    store.session("other", "she was painting the fence", "nice")
    store.session("same", "she has painted the fence", "nice")
    store.session("none", "she saw a paintbrush", "nice")
    assert store.found("painted") == ["same", "other"]
    assert sorted(store.found("paints")) == ["other", "same"]
    snippets = {hit.row.id: hit.snippet for hit in store.search("x paint")}
    assert snippets == {"same": "she has painted the fence", "other": "she was painting the fence"}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("we ran migrations", '"migration"'),
        ("we ran migrations", "migration1"),
        ("call useState twice", "useStates"),
        ("the outbox_event table", "outbox_events"),
        ("see src/ledgers", "src/ledger"),
        ("running tests", '"run test"'),
    ],
)
def test_what_is_quoted_and_what_is_a_name_stands_for_itself_alone(store: Store, text: str, query: str):
    store.session("s", text, "ok")
    assert store.found(query) == []


def test_words_of_every_question_count_only_where_nothing_else_is_asked_for(store: Store):
    store.session("chatter", "what did you do when you were there", "ok")
    store.session("answer", "Ana signed the release", "ok")
    assert store.found("when did Ana sign it") == ["answer"]
    assert store.found("what did you do") == ["chatter"]
    assert store.found("walrus when") == ["chatter"]
    assert sorted(store.found('"when" ana')) == ["answer", "chatter"]


@pytest.mark.parametrize("query", ["Ana's", "Ana\u2019s", "Ana's?", "anas'"])
def test_a_possessive_asks_for_the_word(store: Store, query: str):
    store.session("s", "Ana and the anas", "ok")
    assert store.found(query) == ["s"]


def test_only_the_own_turns_of_a_fork_by_reference_are_read(store: Store, monkeypatch: pytest.MonkeyPatch):
    store.folder = store.folder.parent / ".codex"
    folder = store.folder / "sessions" / "2026" / "11" / "21"
    parent, child = (f"{n:08}-0000-4000-8000-{n:012}" for n in (1, 2))
    path = codex_files.rollout(folder, codex_files.meta(parent), *codex_files.turn("zebra", "one"), thread=parent)
    base = {"thread_id": parent, "end_byte_offset": path.stat().st_size}
    own = codex_files.meta(child, forked_from_id=parent, history_base=base)
    codex_files.rollout(folder, own, *codex_files.turn("walrus", "two"), thread=child)
    monkeypatch.setattr("slowwave.formats.codex.dialect.find_rollout", _never)
    assert store.found("zebra") == [parent]
    assert store.found("walrus") == [child]


def test_a_snippet_is_short_and_shows_the_hit(store: Store):
    store.session("s", "数" * 4000 + " needle " + "数" * 4000, "ok")
    (hit,) = store.search("needle")
    assert "needle" in hit.snippet
    assert len(hit.snippet.encode()) <= 1024


def test_only_what_changed_is_read_again(store: Store, monkeypatch: pytest.MonkeyPatch):
    store.session("a", "first", "one")
    path = store.session("b", "second", "two")
    store.search("x")
    assert (store.done.read, store.done.continued) == (2, 0)
    store.search("x")
    assert store.done == Refreshed()
    add(path, claude("user", "walrus", 2))
    monkeypatch.setattr("slowwave.stores.search.index.client_of", _never)
    assert store.found("walrus second") == ["b"]
    assert (store.done.read, store.done.continued) == (0, 1)


def _never(*_args: object) -> None:
    pytest.fail("a session was read from its start")


def test_a_session_that_grew_is_indexed_as_if_it_had_been_read_at_once(store: Store, tmp_path: Path):
    other = Store(tmp_path / "other")
    lines = [claude(("user", "assistant")[n % 2], f"word{n} " + "filler " * 2500, n) for n in range(12)]
    title = {"type": "ai-title", "aiTitle": "Word games", "sessionId": "s"}
    for line in [*lines, title]:
        path = store.project / "s.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        add(path, line)
        store.search("x")
    write(other.project / "s.jsonl", *lines, title)
    for query in ("word0", "word5", "word11 filler", "games", "word3 word9"):
        grown, whole = store.search(query), other.search(query)
        assert [(h.said and h.said.id, h.score) for h in grown] == [(h.said and h.said.id, h.score) for h in whole]
    assert store.search("word")[0].row.title == "Word games"


def test_a_line_that_was_torn_is_searched_once_it_is_whole(store: Store):
    path = store.session("s", "first", "one")
    line = path.read_bytes().splitlines()[0].replace(b"first", b"walrus")
    with path.open("ab") as file:
        file.write(line[:60])
    assert store.found("walrus") == []
    with path.open("ab") as file:
        file.write(line[60:])
    assert store.found("walrus") == ["s"]
    with path.open("ab") as file:
        file.write(b"\n")
    assert [(hit.said and hit.said.text) for hit in store.search("walrus")] == ["walrus"]
    (segments,) = _table(store, "SELECT count(*) FROM segments")
    assert segments == (1,)


def _table(store: Store, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(index_path(store.environ)) as database:
        return database.execute(query).fetchall()


def test_a_session_of_pi_that_grew_is_continued(store: Store):
    session = pi_files.Session()
    session.user("first words")
    path = store.project / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(session.data())
    assert store.found("first") == ["s"]
    session.user("then the walrus")
    path.write_bytes(path.read_bytes() + session.lines[-1] + b"\n")
    assert store.found("walrus") == ["s"]
    assert store.done.continued == 1


def test_sessions_of_one_database_are_told_apart(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch):
    store.folder = tmp_path / "opencode"
    first, second = opencode_files.Session("ses_one1"), opencode_files.Session("ses_two2")
    first.user("the walrus")
    second.user("the badger")
    store.folder.mkdir(parents=True)
    opencode_files.database(store.folder, first, second)
    assert store.found("walrus") == ["ses_one1"]
    assert store.found("badger") == ["ses_two2"]
    second.user("the zebra")
    (store.folder / "opencode.db").unlink()
    opencode_files.database(store.folder, first, second)
    assert store.found("zebra") == ["ses_two2"]
    assert store.done.read == 1
    monkeypatch.setattr("slowwave.stores.search.index.client_of", _never)
    assert store.found("walrus zebra badger") == ["ses_two2", "ses_one1"]


def _rewritten(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"walrus", b"badger"))


def _removed(path: Path) -> None:
    path.unlink()


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _hidden(path: Path) -> None:
    add(path, tombstone("u0"))


def _moved(path: Path) -> None:
    path.rename(path.with_suffix(".gone"))


@pytest.mark.parametrize("change", [_rewritten, _removed, _emptied, _hidden, _moved])
def test_what_is_no_longer_there_is_not_found(store: Store, change: Callable[[Path], None]):
    store.session("other", "stays", "here")
    path = write(store.project / "s.jsonl", cersei("user", "walrus", 0), cersei("assistant", "hi", 1))
    assert store.found("walrus") == ["s"]
    change(path)
    assert store.found("walrus") == []
    assert _table(store, "SELECT count(*) FROM words WHERE words MATCH 'walrus'") == [(0,)]


def test_sessions_of_stores_that_were_not_listed_stay(store: Store, tmp_path: Path):
    store.session("s", "walrus", "here")
    store.search("x")
    other = Store(tmp_path / "other")
    other.environ = store.environ
    other.session("t", "badger", "there")
    assert other.found("walrus badger") == ["t"]
    store.search("x")
    assert store.done == Refreshed()


def test_the_index_is_the_users_alone(store: Store):
    store.session("s", "secret", "here")
    store.search("x")
    path = index_path(store.environ)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def _garbage(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)


def _older(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 1")


def _holed(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))


def _wordless(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE words")


@pytest.mark.parametrize("damage", [_garbage, _older, _holed, _wordless])
def test_a_damaged_or_older_index_is_built_anew_and_that_is_said(store: Store, damage: Callable[[Path], None]):
    store.session("s", "walrus", "here")
    store.search("x")
    damage(index_path(store.environ))
    assert store.found("walrus") == ["s"]
    assert [w for w in store.warnings if "is built anew" in w]
    assert stat.S_IMODE(index_path(store.environ).stat().st_mode) == 0o600


def test_a_session_that_vanishes_while_it_is_indexed_is_named(store: Store):
    path = store.session("s", "walrus", "here")
    rows = store.rows()
    path.unlink()
    with SearchIndex(index_path(store.environ), store.warnings) as index:
        assert index.refresh(rows).read == 0
    assert str(path) in store.warnings[0]
