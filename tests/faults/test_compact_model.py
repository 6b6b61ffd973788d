"""The model fails in the middle of a compaction: the ledger stands alone, nothing is half done, the next run is whole.

``run compact`` is driven as a person drives it, with the real client against a server that does what a test says.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowwave.compaction.book import Book, all_books, folder_of
from slowwave.context import FixedClock, Run
from slowwave.jobs.story import run_job
from slowwave.models.client import OpenAIModel
from slowwave.report import Report
from slowwave.settings import load_settings
from tests.model_server.scripted import (
    LLAMA_OVERFLOW,
    OPENAI_OVERFLOW,
    Reply,
    completion,
    error,
    notes,
    said,
    serving,
)
from tests.unit.compaction.job.talks import NOW, Talk

STORES = {
    "claude": ".claude/projects/-home-ann-shop",
    "pi": ".pi/agent/sessions/--home-ann-shop--",
    "codex": ".codex/sessions/2026/11/21",
}
NARRATIVE = "The SHOP is rebuilt step by step."
SMALL = {"context_window": "3000", "reserve_tokens": "500", "keep_recent_tokens": "1200"}
BROKEN: dict[str, tuple[Reply, dict[str, str]]] = {
    "too many requests": (error(429, "slow down", retry_after="3600"), {}),
    "an error": (error(500, "boom"), {}),
    "overloaded": (error(529, "overloaded"), {}),
    "a wrong key": (error(401, "who are you"), {}),
    "cut in mid-answer": (Reply(completion('{"summary": "x"}'), sent=60), {}),
    "nothing at all": (Reply(b""), {}),
    "garbage": (Reply(b"\x00\xff<html>"), {}),
    "prose": (said("I would rather talk about the weather.", finish="length"), {}),
    "a refusal": (said("", refusal="I will not summarise this."), {}),
    "an empty summary": (said({"summary": "  "}), {}),
    "another form": (said({"memories": [], "text": 7}), {}),
    "overflow": (OPENAI_OVERFLOW, {}),
    "overflow of llama.cpp": (LLAMA_OVERFLOW, {}),
    "silence": (Reply(b"", hangs=True), {"timeout": "0.05s"}),
    "over budget": (said({"summary": NARRATIVE}), {"budget_tokens": "50"}),
    "over money": (said({"summary": NARRATIVE}), {"budget_usd": "0.0001", "price_input": "5", "price_output": "10"}),
}
# The suite has one of each kind; the longest drills have all.
FAULTS = (
    tuple(BROKEN)
    if os.environ.get("DRILLS") == "all"
    else ("too many requests", "garbage", "overflow", "silence", "over budget")
)
# what is found out before the question is sent
UNASKED = ("over budget", "over money")


def run(home: Path, base_url: str, **model: str) -> Report:
    """Run the job once, without waiting between attempts."""
    environ = {"HOME": str(home)}
    chosen = {f"compaction.{name}": value for name, value in SMALL.items()}
    chosen |= {f"model.{name}": value for name, value in {"name": "m", "retries": "1", **model}.items()}
    settings = load_settings(environ, overrides=[f"{k}={v}" for k, v in chosen.items()], cwd=home)
    settings = replace_url(settings, base_url)
    number = len(list((home / ".local/state/slowwave/runs").glob("*")))
    return run_job("compact", Run(f"r{number}", settings, FixedClock(NOW), environ))


def replace_url(settings: Any, base_url: str) -> Any:
    from msgspec.structs import replace as with_fields  # noqa: PLC0415 - only here

    return with_fields(settings, model=with_fields(settings.model, base_url=base_url))


def healthy(asked: dict[str, Any]) -> Reply:
    """Tell the narrative where a summary is asked for, and remember nothing elsewhere."""
    return said({"summary": f"## Goal\n{NARRATIVE}"}) if asks_summary(asked) else notes()


def asks_summary(asked: dict[str, Any]) -> bool:
    return "conversation" in asked["messages"][-1]["content"] and "The session:" not in asked["messages"][-1]["content"]


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let attempts follow each other at once."""
    begin = OpenAIModel.__init__

    def at_once(_seconds: float) -> None:
        pass

    def eager(self: OpenAIModel, *args: Any, **named: Any) -> None:
        begin(self, *args, **{**named, "sleep": at_once})

    monkeypatch.setattr(OpenAIModel, "__init__", eager)


def grown(home: Path, dialect: str) -> Talk:
    return Talk(home / STORES[dialect], dialect).grow(6)


def book(home: Path) -> Book:
    (found,) = all_books(folder_of({"HOME": str(home)}))
    return found


def spoken(talk: Talk) -> list[str]:
    return [f"{m.role}: {m.text}" for m in talk.context()]


@pytest.mark.parametrize("dialect", sorted(STORES))
def test_an_undisturbed_run_tells_a_narrative(tmp_path: Path, dialect: str):
    talk = grown(tmp_path, dialect)
    with serving(healthy) as server:
        report = run(tmp_path, server.base_url)
    assert (report.failures, report.counts["compacted"]) == ([], 1)
    assert NARRATIVE in "\n".join(spoken(talk))
    assert book(tmp_path).compactions[-1].source == "model"


def test_a_server_that_knows_no_json_tells_a_narrative_all_the_same(tmp_path: Path):
    def texts(asked: dict[str, Any]) -> Reply:
        if "response_format" in asked:
            return error(400, "response_format is not supported")
        return said(f"## Goal\n{NARRATIVE}") if asks_summary(asked) else said("NONE")

    talk = grown(tmp_path, "claude")
    with serving(texts) as server:
        report = run(tmp_path, server.base_url)
    assert (report.failures, report.counts["compacted"]) == ([], 1)
    assert NARRATIVE in "\n".join(spoken(talk))
    assert book(tmp_path).compactions[-1].source == "model"


def test_a_command_tells_a_narrative_too(tmp_path: Path):
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\nprintf '## Goal\\n{NARRATIVE}\\n'\n")
    program.chmod(0o755)
    talk = grown(tmp_path, "claude")
    report = run(tmp_path, "", command=str(program))
    assert (report.failures, report.counts["compacted"]) == ([], 1)
    assert NARRATIVE in "\n".join(spoken(talk))
    assert book(tmp_path).compactions[-1].source == "model"


def test_a_remark_is_no_narrative(tmp_path: Path):
    talk = grown(tmp_path, "claude")
    before, context = talk.path.read_bytes(), spoken(talk)
    with serving(said("Sure, what shall I summarise for you?")) as server:
        report = run(tmp_path, server.base_url)
    ledger_alone(tmp_path, talk, before, context, report)


def whole(talk: Talk) -> bool:
    """Say whether every call of the context has its one result behind it."""
    calls = [call.id for m in talk.context() for call in m.calls]
    return calls == [result.id for m in talk.context() for result in m.results]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_model_costs_the_narrative_and_nothing_else(tmp_path: Path, fault: str):
    reply, model = BROKEN[fault]
    talk = grown(tmp_path, "claude")
    before, context = talk.path.read_bytes(), spoken(talk)
    with serving(reply) as server:
        report = run(tmp_path, server.base_url, **model)
        assert bool(server.requests) == (fault not in UNASKED)
    ledger_alone(tmp_path, talk, before, context, report)
    goes_on(tmp_path, talk)


def ledger_alone(home: Path, talk: Talk, before: bytes, context: list[str], report: Report) -> None:
    """Assert that a session was compacted whole, by the ledger, and that the breaker does not count it."""
    assert (report.failures, report.counts.get("compacted")) == ([], 1)
    assert talk.path.read_bytes().startswith(before)
    after = spoken(talk)
    assert whole(talk)
    assert after[-1] == context[-1]
    summary = next(text for text in after if "## Goal" in text)
    assert all(f"step{n}.py" in summary or f"step{n}.py" in talk.path.read_text() for n in range(1, 7))
    noted = book(home)
    assert (noted.failures, noted.is_stopped) == (0, False)
    assert (noted.compactions[-1].source, len(noted.compactions)) == ("ledger", 1)
    assert any(note.startswith("no narrative: ") for note in noted.compactions[-1].notes)


def goes_on(home: Path, talk: Talk) -> None:
    """Let a session grow, and compact it again with a model that answers."""
    before = talk.grow(6).path.read_bytes()
    with serving(healthy) as server:
        report = run(home, server.base_url)
    assert (report.failures, report.counts.get("compacted")) == ([], 1)
    assert talk.path.read_bytes().startswith(before)
    after = "\n".join(spoken(talk))
    assert NARRATIVE in after
    assert "step 12 is done" in after
    for number in (1, 7):
        assert f"src/step{number}.py" in after
    assert whole(talk)
    assert [done.source for done in book(home).compactions] == ["ledger", "model"]


def test_a_server_that_is_off_costs_the_narrative_and_nothing_else(tmp_path: Path):
    talk = grown(tmp_path, "claude")
    before, context = talk.path.read_bytes(), spoken(talk)
    report = run(tmp_path, "http://127.0.0.1:9/v1")
    ledger_alone(tmp_path, talk, before, context, report)
    goes_on(tmp_path, talk)


@pytest.mark.parametrize("dialect", sorted(STORES))
def test_the_model_breaks_between_the_memories_and_the_summary(tmp_path: Path, dialect: str):
    def breaks(asked: dict[str, Any]) -> Reply:
        return error(500, "boom") if asks_summary(asked) else notes()

    talk = grown(tmp_path, dialect)
    before = talk.path.read_bytes()
    with serving(breaks) as server:
        report = run(tmp_path, server.base_url)
    assert (report.failures, report.counts["compacted"], report.counts["flushed"]) == ([], 1, 1)
    assert talk.path.read_bytes().startswith(before)
    assert book(tmp_path).compactions[-1].source == "ledger"


def test_what_is_too_long_once_is_told_without_its_oldest_half(tmp_path: Path):
    def small(asked: dict[str, Any]) -> Reply:
        return OPENAI_OVERFLOW if len(asked["messages"][-1]["content"]) > 6_000 else healthy(asked)

    talk = grown(tmp_path, "claude")
    with serving(small) as server:
        run(tmp_path, server.base_url)
        assert any(len(asked) > 6_000 for asked in server.asked)
    assert book(tmp_path).compactions[-1].source == "model"
    assert NARRATIVE in "\n".join(spoken(talk))


@pytest.mark.parametrize("dialect", sorted(STORES))
def test_a_run_that_is_killed_while_the_model_thinks_leaves_the_session_as_it_was(tmp_path: Path, dialect: str):
    talk = grown(tmp_path, dialect)
    store = tmp_path / STORES[dialect]
    before = {path: path.read_bytes() for path in store.rglob("*.jsonl")}

    def thinks(asked: dict[str, Any]) -> Reply:
        return Reply(b"", hangs=True) if asks_summary(asked) else notes()

    with serving(thinks) as server:
        killed_when(lambda: any(map(asks_summary, server.requests)), lambda: run(tmp_path, server.base_url))
    assert {path: path.read_bytes() for path in store.rglob("*.jsonl")} == before
    with serving(healthy) as server:
        report = run(tmp_path, server.base_url)
    assert (report.failures, report.counts["compacted"]) == ([], 1)
    assert NARRATIVE in "\n".join(spoken(talk))


def killed_when(is_time: Callable[[], bool], work: Callable[[], object]) -> None:
    """Do ``work`` in a child, and kill it as soon as it has come so far."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    while not is_time():
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "it ended before it could be killed"
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_no_number_of_nights_without_a_model_stops_a_session(tmp_path: Path):
    talk = grown(tmp_path, "pi")
    for night in range(5):
        report = run(tmp_path, "http://127.0.0.1:9/v1")
        assert (report.failures, report.counts.get("compacted")) == ([], 1), night
        talk.grow(6)
    assert len(book(tmp_path).compactions) == 5
    assert (book(tmp_path).failures, book(tmp_path).is_stopped) == (0, False)
    files = [path for number in range(1, 25) if (path := f"src/step{number}.py") not in "\n".join(spoken(talk))]
    assert files == []
