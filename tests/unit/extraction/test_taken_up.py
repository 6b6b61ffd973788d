"""A branch that was left when its session was read gives what it holds once it is taken up again, and only once."""

import json
from pathlib import Path

import pytest

from slowwave.extraction.job import extract_sessions
from slowwave.extraction.ranges import is_in, runs_of
from slowwave.formats import SessionFiles
from slowwave.formats.sessions import StoredSession
from slowwave.memory.candidates import candidates_path, read_candidates
from slowwave.report import Report
from tests.unit.extraction.talk import RULES, START, clock, open_gates, project, stored
from tests.unit.formats import claude_files, openclaw_files, opencode_files, pi_files

FIRST = RULES[1]
SECOND = RULES[0]


class Branched:
    """A session whose file is written anew with each prompt; every prompt is answered."""

    def __init__(self, folder: Path, dialect: str) -> None:
        folder.mkdir(parents=True)
        self.dialect = dialect
        self.path = folder / "s1.jsonl"
        self.claude = claude_files.Session()
        self.pi = pi_files.Session()

    def say(self, text: str, after: str | None) -> str:
        if self.dialect == "claude":
            self.claude.user(text, after)
            last = self.claude.says(f"m{len(self.claude.lines)}", "ok")
            self.path.write_text("\n".join(self.claude.lines) + "\n", encoding="utf-8")
            return last
        self.pi.user(text, parent=after)
        last = self.pi.model("ok")
        self.path.write_bytes(self.pi.data())
        return last

    def stored(self) -> StoredSession:
        return stored(self.path, dialect=self.dialect)


def extracted(session: StoredSession) -> Report:
    where = project(session.folder, session)
    return extract_sessions(where, [session], open_gates(), clock(), home=session.folder / "home")


def texts(session: StoredSession) -> list[str]:
    """Return the text of every line of a candidate, also if one stood there twice."""
    lines = candidates_path(project(session.folder, session).memory).read_bytes().splitlines()
    return [line["text"] for line in map(json.loads, lines) if "text" in line]


@pytest.mark.parametrize("dialect", ["claude", "pi", "openclaw"])
def test_a_branch_taken_up_again_is_read_then_and_only_then(tmp_path: Path, dialect: str) -> None:
    made = Branched(tmp_path / "store", dialect)
    root = made.say("hello", None)
    first = made.say(FIRST, root)
    second = made.say(SECOND, root)
    report = extracted(made.stored())
    assert texts(made.stored()) == [SECOND]
    assert report.counts["abandoned"] == 2
    # the note of it is carried over a run that reads something else
    second = made.say("thanks", second)
    assert "candidates" not in extracted(made.stored()).counts
    first = made.say("go on with this", first)
    report = extracted(made.stored())
    assert texts(made.stored()) == [SECOND, FIRST]
    assert report.counts["candidates"] == 1
    assert "abandoned" not in report.counts
    assert extracted(made.stored()).counts["unchanged"] == 1
    # to and fro: both were read by now
    made.say("go on", second)
    assert "candidates" not in extracted(made.stored()).counts
    made.say("run it again", first)
    assert "candidates" not in extracted(made.stored()).counts
    assert texts(made.stored()) == [SECOND, FIRST]
    ranges = read_candidates(project(made.path.parent).memory)[1]
    # the last prompt on the second branch was never passed over: it was read before it was left
    assert ranges[-1].abandoned == ()


@pytest.mark.parametrize("dialect", ["claude", "pi", "openclaw"])
def test_a_branch_that_was_read_before_it_was_left_gives_nothing_twice(tmp_path: Path, dialect: str) -> None:
    made = Branched(tmp_path / "store", dialect)
    root = made.say("hello", None)
    first = made.say(FIRST, root)
    extracted(made.stored())
    made.say(SECOND, root)
    assert "abandoned" not in extracted(made.stored()).counts
    made.say("go on with this", first)
    assert "candidates" not in extracted(made.stored()).counts
    assert texts(made.stored()) == [FIRST, SECOND]


def test_the_range_names_the_bytes_of_the_branch_and_only_where_there_are_some(tmp_path: Path) -> None:
    made = Branched(tmp_path / "store", "pi")
    root = made.say("hello", None)
    start = made.path.stat().st_size
    made.say(FIRST, root)
    stop = made.path.stat().st_size - 1
    made.say(SECOND, root)
    extracted(made.stored())
    memory = project(made.path.parent).memory
    lines = [json.loads(line) for line in candidates_path(memory).read_bytes().splitlines()]
    (noted,) = [line["extracted"] for line in lines if "extracted" in line]
    assert noted["abandoned"] == [[start, stop]]
    assert read_candidates(memory)[1][0].abandoned == ((start, stop),)
    other = Branched(tmp_path / "other", "pi")
    other.say(FIRST, None)
    extracted(other.stored())
    assert b"abandoned" not in candidates_path(project(other.path.parent).memory).read_bytes()


def test_a_file_that_was_rewritten_is_read_as_if_nothing_were_known(tmp_path: Path) -> None:
    made = Branched(tmp_path / "store", "pi")
    root = made.say("hello", None)
    first = made.say(FIRST, root)
    made.say(SECOND, root)
    extracted(made.stored())
    made.pi.lines[0] = made.pi.lines[0].replace(b"hello", b"hullo")
    made.say("go on with this", first)
    extracted(made.stored())
    assert texts(made.stored()) == [SECOND, FIRST]


def test_what_opencode_took_back_is_read_when_it_is_restored(tmp_path: Path) -> None:
    session = opencode_files.Session()
    session.user(SECOND)
    session.answer(opencode_files.words("ok"))
    session.info["revert"] = {"messageID": session.user(FIRST)}
    session.answer(opencode_files.words("ok"))
    path = session.export(tmp_path)
    extracted(stored(path, dialect="opencode"))
    assert texts(stored(path, dialect="opencode")) == [SECOND]
    del session.info["revert"]
    session.export(tmp_path)
    report = extracted(stored(path, dialect="opencode"))
    assert report.counts["candidates"] == 1
    assert texts(stored(path, dialect="opencode")) == [SECOND, FIRST]
    assert extracted(stored(path, dialect="opencode")).counts["unchanged"] == 1


def test_a_branch_of_a_database_is_taken_up_though_nothing_new_was_said(tmp_path: Path) -> None:
    made = openclaw_files.session("s1")
    made.user("hello")
    root = made.model("hi")
    made.user(FIRST)
    tip = made.model("ok")
    made.user(SECOND, parent=root)
    made.model("ok")
    agent = openclaw_files.Agent(tmp_path)
    agent.add(made)

    def session(at: int) -> StoredSession:
        written = int(START.timestamp()) * 1_000_000_000 + at
        files = SessionFiles("s1", (agent.path,))
        return StoredSession("openclaw", files, "main", tmp_path, 1, written, in_database=True)

    extracted(session(0))
    assert texts(session(0)) == [SECOND]
    moved = {"type": "leaf", "id": "e9", "parentId": made.last, "targetId": tip}
    agent.event("s1", 7, json.dumps(moved).encode())
    extracted(session(1))
    assert texts(session(1)) == [SECOND, FIRST]
    assert extracted(session(2)).counts["unchanged"] == 1
    assert read_candidates(tmp_path / "memory")[1][-1].abandoned == ()


def test_runs_join_records_of_one_branch_and_nothing_that_was_read() -> None:
    records = [(10, 20, True), (21, 30, True), (31, 40, False), (50, 60, True), (70, 80, True)]
    runs = runs_of(reversed(records))
    assert runs == ((10, 30), (50, 80))
    assert [is_in(runs, at) for at in (9, 10, 21, 30, 31, 50, 80)] == [False, True, True, False, False, True, False]
