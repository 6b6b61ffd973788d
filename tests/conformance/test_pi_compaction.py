"""pi's own tests of ``compaction.test.ts``, by their names, against slowwave's usage rules, thresholds and cuts.

The tests with a large session make one; those of pi's authors are tried in ``test_pi_real_compactions.py``. What pi
does not test and does wrong (``findCutPoint``, ``prepareCompaction``) is in ``tests/unit/compaction``.
"""

from pathlib import Path
from typing import Any

from slowwave.compaction.items import Item, Usage, context_tokens, pi_items, usage_of
from slowwave.compaction.plan import KEEP_RECENT_TOKENS, Budget, Cut, Plan, find_cut, is_over_budget, prepare
from slowwave.compaction.summary import joined
from slowwave.formats.pi.dialect import PI
from slowwave.formats.writing import Compaction
from tests.conformance.pi_manager import Manager
from tests.unit.formats.pi_files import Session, call

HUNDRED = Budget(reserve_tokens=10_000)


def counted(given: int, output: int, read: int = 0, written: int = 0) -> dict[str, int]:
    return {
        "input": given,
        "output": output,
        "cacheRead": read,
        "cacheWrite": written,
        "totalTokens": given + output + read + written,
    }


def said(role: str, **fields: Any) -> dict[str, Any]:
    return {"role": role, **fields}


def last_usage(messages: list[dict[str, Any]]) -> Usage | None:
    return next(filter(None, map(usage_of, reversed(messages))), None)


def items(session: Session, folder: Path) -> list[Item]:
    transcript = session.read(folder)
    return pi_items(transcript.path, transcript.loaded)


def talk(*texts: str) -> Session:
    session = Session()
    for number, text in enumerate(texts):
        session.model(text, usage=counted(100, 50)) if number % 2 else session.user(text)
    return session


def large_session(turns: int = 120) -> Session:
    session = Session()
    session.add("model_change", provider="fake", modelId="fake-1")
    for turn in range(turns):
        session.user(f"Please look at part {turn} of the program. " * 5)
        session.model("I will.", call(f"c{turn}", path=f"src/{turn}.py"), usage=counted(900 * turn, 40))
        session.result(f"c{turn}", f"line {turn}\n" * 150)
        session.model(f"Part {turn} is fine, and this is why. " * 10, usage=counted(900 * turn + 700, 90))
    return session


def test_calculates_total_context_tokens_from_usage() -> None:
    assert Usage(1000, 500, 200, 100).context_tokens == 1800
    assert Usage(1000, 500, 200, 100, 1700).context_tokens == 1700


def test_handles_zero_values() -> None:
    assert Usage(0, 0, 0, 0).context_tokens == 0


def test_finds_the_last_non_aborted_assistant_usage() -> None:
    answers = [said("user"), said("assistant", usage=counted(100, 50)), said("assistant", usage=counted(200, 100))]
    found = last_usage(answers)
    assert found is not None
    assert found.input == 200


def test_skips_aborted_messages() -> None:
    good = said("assistant", usage=counted(100, 50), stopReason="stop")
    for reason in ("aborted", "error"):
        bad = said("assistant", usage=counted(300, 150), stopReason=reason)
        found = last_usage([good, said("user"), bad])
        assert found is not None
        assert found.input == 100


def test_returns_none_if_there_are_no_assistant_messages() -> None:
    assert last_usage([said("user", usage=counted(1, 1))]) is None


def test_does_not_trigger_threshold_compaction_from_stale_pre_compaction_usage(tmp_path: Path) -> None:
    """Of ``agent-session-auto-compaction-queue.test.ts``: what an answer counted before is not counted again."""
    session = talk("1", "a", "2")
    session.model("b", usage=counted(150_000, 100))
    session.compact("e3", "so far")
    stale = context_tokens(items(session, tmp_path))
    assert stale.counted == 0
    assert stale.total < 100
    session.user("3")
    session.model("c", usage=counted(2_000, 100))
    assert context_tokens(items(session, tmp_path)) == (2_100, 0)


def test_uses_the_last_valid_usage_for_an_answer_that_failed(tmp_path: Path) -> None:
    """Of ``agent-session-auto-compaction-queue.test.ts``, for both ways to fail."""
    for reason in ("error", "aborted"):
        session = talk("1", "a")
        session.user("x" * 400)
        session.model("", usage=counted(190_000, 0), stopReason=reason)
        assert context_tokens(items(session, tmp_path)) == (150, 100)


def test_should_compact_when_context_exceeds_the_threshold() -> None:
    assert is_over_budget(95_000, 100_000, HUNDRED)
    assert not is_over_budget(89_000, 100_000, HUNDRED)
    assert [is_over_budget(n, 100_000, HUNDRED) for n in (90_000, 90_001)] == [False, True]


def test_should_compact_is_false_when_disabled() -> None:
    assert not is_over_budget(95_000, 100_000, HUNDRED._replace(enabled=False))


def test_openclaw_raises_a_reserve_below_its_floor() -> None:
    assert Budget(reserve_floor=20_000).reserve == 20_000
    assert Budget(reserve_tokens=30_000, reserve_floor=20_000).reserve == 30_000
    assert Budget(reserve_floor=0).reserve == 16_384


def test_finds_a_cut_point_at_a_user_or_assistant_message(tmp_path: Path) -> None:
    session = talk(*(f"message {i} " + "x" * 400 for i in range(20)))
    found = items(session, tmp_path)
    cut = find_cut(found, 500)
    assert found[cut.first_kept].kind in ("user", "assistant")
    assert sum(i.tokens for i in found[cut.first_kept :]) >= 500 > sum(i.tokens for i in found[cut.first_kept + 1 :])


def test_returns_the_start_if_a_single_entry_is_all_there_is(tmp_path: Path) -> None:
    session = Session()
    session.model("a")
    assert find_cut(items(session, tmp_path), 1000) == Cut(0)
    assert find_cut([], 1000) == Cut(0)


def test_keeps_everything_if_all_messages_fit_within_the_budget(tmp_path: Path) -> None:
    assert find_cut(items(talk("1", "a", "2", "b"), tmp_path), 50_000) == Cut(0)


def test_indicates_a_split_turn_when_cutting_at_an_assistant_message(tmp_path: Path) -> None:
    session = talk("Turn 1", "A1")
    session.user("Turn 2")
    for answer in ("A2-1", "A2-2", "A2-3"):
        session.model(answer + "x" * 4000)
    assert find_cut(items(session, tmp_path), 1_500) == Cut(4, turn_start=2)


def test_build_session_context_loads_all_messages_when_there_is_no_compaction(tmp_path: Path) -> None:
    transcript = talk("1", "a", "2", "b").read(tmp_path)
    assert len(PI.context(transcript)) == 4
    assert (transcript.thinking_level, transcript.model and transcript.model[:2]) == ("off", ("fake", "fake-1"))


def test_build_session_context_handles_a_single_compaction(tmp_path: Path) -> None:
    session = talk("1", "a", "2", "b")
    session.compact("e3", "Summary of 1,a,2,b")
    session.user("3")
    session.model("c")
    shape = session.shape(tmp_path)
    assert (len(shape), shape[0]) == (5, "user: [Summary of 1,a,2,b]")


def test_build_session_context_handles_multiple_compactions_only_the_latest_matters(tmp_path: Path) -> None:
    session = talk("1", "a")
    session.compact("e1", "First summary")
    for text in ("2", "3"):
        session.user(text)
        session.model("answer")
    session.compact("e6", "Second summary")
    session.user("4")
    session.model("d")
    shape = session.shape(tmp_path)
    assert (len(shape), shape[0]) == (5, "user: [Second summary]")


def test_build_session_context_keeps_all_messages_when_first_kept_is_the_first_entry(tmp_path: Path) -> None:
    session = talk("1", "a")
    session.compact("e1", "First summary")
    session.user("2")
    session.model("b")
    assert len(session.context(tmp_path)) == 5


def test_build_session_context_tracks_model_and_thinking_level_changes(tmp_path: Path) -> None:
    session = Session()
    session.user("1")
    session.add("model_change", provider="openai", modelId="gpt-4")
    session.model("a")
    session.add("thinking_level_change", thinkingLevel="high")
    transcript = session.read(tmp_path)
    assert transcript.model is not None
    assert (transcript.model[:2], transcript.thinking_level) == (("fake", "fake-1"), "high")


def test_parses_a_large_session(tmp_path: Path) -> None:
    transcript = large_session().read(tmp_path)
    assert transcript.records == 482
    assert len(transcript.messages) == 480
    assert transcript.problems == []


def test_finds_a_cut_point_in_a_large_session(tmp_path: Path) -> None:
    found = items(large_session(), tmp_path)
    cut = find_cut(found, KEEP_RECENT_TOKENS)
    kept = sum(i.tokens for i in found[cut.first_kept :])
    assert found[cut.first_kept].kind in ("user", "assistant")
    assert KEEP_RECENT_TOKENS - 2_000 < kept < KEEP_RECENT_TOKENS + 2_000


def test_loads_a_large_session_correctly(tmp_path: Path) -> None:
    transcript = large_session().read(tmp_path)
    assert len(PI.context(transcript)) == 480
    assert transcript.model is not None
    size = context_tokens(items(large_session(), tmp_path))
    assert size.total == size.counted == 900 * 119 + 790


def test_a_second_compaction_on_disk_loses_neither_messages_nor_files_as_pi_does(tmp_path: Path) -> None:
    manager = Manager(tmp_path, large_session(4))
    for number in range(2):
        found = manager.transcript
        plan = prepare(pi_items(found.path, found.loaded), Budget(keep_recent_tokens=400))
        assert isinstance(plan, Plan)
        before = plan.context.total
        summary = joined(plan, {"history": plan.previous_summary + f"H{number}"})
        read, modified = tuple(plan.files.read_files), tuple(plan.files.modified_files)
        manager.sessions.compact("s1", Compaction(summary, plan.first_kept, before, read, modified))
        kept = [item.message.text for item in plan.kept if item.message is not None]
        assert [m.text for m in manager.transcript.messages][-1].startswith("The conversation history before")
        assert len(manager.context()) == 1 + len(kept)
        manager.user("And now?")
        manager.model("This. " * 400)
    last = manager.transcript.path[-3].fields()
    assert last["summary"].startswith("H0H1")
    assert last["summary"].count("<read-files>") == 1
    assert last["details"]["readFiles"] == [f"src/{n}.py" for n in range(4)]
