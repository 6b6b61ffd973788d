"""pi's own tests of ``agent-session-auto-compaction-queue.test.ts``, by their names, as decisions.

"should resume after threshold compaction when only agent-level queued messages exist" has no counterpart: slowwave
compacts sessions at rest and holds no queue of an agent.
"""

from pathlib import Path
from typing import Any

from slowwave.compaction.auto import Check, check_answer
from slowwave.compaction.pi_entries import pi_items
from slowwave.compaction.triggers import Budget
from tests.unit.dialects.pi_files import Session

WINDOW = 200_000
NOTHING = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}
LARGE = {"input": 180_000, "output": 10_000, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 190_000}
OVERLOADED: dict[str, Any] = {"stopReason": "error", "errorMessage": "529 overloaded", "usage": NOTHING}
TOO_LONG: dict[str, Any] = {"stopReason": "error", "errorMessage": "prompt is too long", "usage": NOTHING}


def check(session: Session, folder: Path, **known: Any) -> Check:
    """Decide after the last answer of a session, as a run that resumes it would."""
    transcript = session.read(folder)
    items = pi_items(transcript.path, transcript.loaded)
    at = max(i for i, item in enumerate(items) if item.kind == "assistant")
    answers = [e for e in transcript.path if e.role == "assistant"]
    return check_answer(answers[-1].message(), items[: at + 1], WINDOW, Budget(), is_stale=items[at].is_stale, **known)


def talk(*answers: dict[str, Any]) -> Session:
    session = Session()
    for fields in answers:
        session.user("hello")
        session.model("answer", **fields)
    return session


def test_does_not_compact_repeatedly_after_overflow_recovery_was_attempted(tmp_path: Path) -> None:
    session = talk(TOO_LONG)
    assert check(session, tmp_path).action == "overflow"
    assert check(session, tmp_path, has_recovered=True).action == "give_up"


def test_an_overflow_of_another_model_is_none_of_this_one(tmp_path: Path) -> None:
    assert check(talk(TOO_LONG), tmp_path, is_same_model=False).action == "none"


def test_ignores_stale_pre_compaction_assistant_usage_on_pre_prompt_checks(tmp_path: Path) -> None:
    session = talk({"usage": {**LARGE, "totalTokens": 610_000}})
    assert check(session, tmp_path).action == "threshold"
    session.compact("e1")
    session.user("session recovery payload")
    assert check(session, tmp_path) == Check("none", "the answer is older than the latest compaction")


def test_triggers_threshold_compaction_for_error_messages_using_the_last_successful_usage(tmp_path: Path) -> None:
    found = check(talk({"usage": LARGE}, OVERLOADED), tmp_path)
    assert found.action == "threshold"
    # and what came behind it, by estimate: "hello" and "answer", two tokens each
    assert found.tokens == 190_004


def test_does_not_trigger_threshold_compaction_for_error_messages_without_prior_usage(tmp_path: Path) -> None:
    assert check(talk(OVERLOADED), tmp_path).action == "none"


def test_does_not_trigger_for_error_messages_when_only_kept_pre_compaction_usage_exists(tmp_path: Path) -> None:
    session = talk({"usage": LARGE})
    session.compact("e1")
    session.user("new prompt")
    session.model("", **OVERLOADED)
    found = check(session, tmp_path)
    assert (found.action, found.tokens) == ("none", 0)


def test_an_aborted_answer_and_disabled_compaction_decide_nothing(tmp_path: Path) -> None:
    assert check(talk({"usage": LARGE, "stopReason": "aborted"}), tmp_path).action == "none"
    answer = {"role": "assistant", "usage": LARGE}
    assert check_answer(answer, [], WINDOW, Budget(enabled=False)).action == "none"
    assert check_answer(answer, [], WINDOW, Budget()).action == "threshold"
