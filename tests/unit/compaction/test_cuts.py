"""Where a kept range begins: never between a call and its result, always somewhere, never moved by a setting."""

from pathlib import Path

from slowwave.compaction.items import Item, items_of, pi_items
from slowwave.compaction.plan import Cut, cut_points, find_cut, find_cut_before
from slowwave.compaction.tokens import PI
from slowwave.formats import Message
from tests.unit.compaction.messages import answer, result, user
from tests.unit.formats.pi_files import Session, call

LONG = "x" * 4000


def of(*messages: Message) -> list[Item]:
    return items_of(messages, PI)


def of_pi(session: Session, folder: Path) -> list[Item]:
    transcript = session.read(folder)
    return pi_items(transcript.path, transcript.loaded)


def test_no_boundary_between_a_call_and_its_result_also_with_messages_between() -> None:
    items = of(user("a"), answer("", "c"), user("by the way"), result("c"), answer("b"))
    assert cut_points(items) == [0, 1, 4]


def test_no_boundary_between_calls_that_are_answered_together() -> None:
    items = of(user("a"), answer("", "c"), answer("", "d"), result("c"), result("d"), answer("b"))
    assert cut_points(items) == [0, 1, 5]


def test_a_call_that_nobody_answered_pins_nothing() -> None:
    assert cut_points(of(answer("", "c"), user("a"), answer("", "c"), result("c"), user("b"))) == [0, 1, 2, 4]


def test_a_giant_result_at_the_end_still_gives_a_cut() -> None:
    items = of(user("a"), answer("b"), user("go"), answer("", "c"), result("c", LONG * 20))
    assert find_cut(items, 1000) == Cut(3, turn_start=2)


def test_takes_the_boundary_at_or_after_the_item_that_fills_the_budget() -> None:
    items = of(user("a"), answer("", "c"), result("c", LONG), answer("b"), user(LONG), answer("d"))
    assert find_cut(items, 1_000) == Cut(4)
    assert find_cut(items, 1_500) == Cut(3, turn_start=0)


def test_a_setting_before_a_persons_message_stays_with_it_and_splits_no_turn(tmp_path: Path) -> None:
    session = Session()
    session.user("first")
    session.model("answer")
    session.add("model_change", provider="fake", modelId="fake-2")
    session.add("thinking_level_change", thinkingLevel="high")
    session.user(LONG)
    session.model("done")
    assert find_cut(of_pi(session, tmp_path), 500) == Cut(2)


def test_messages_of_extensions_count_and_begin_turns(tmp_path: Path) -> None:
    session = Session()
    session.user("first")
    session.model("answer")
    session.add("custom_message", customType="note", content=LONG, display=True)
    session.model("done")
    assert find_cut(of_pi(session, tmp_path), 500) == Cut(2)
    assert find_cut(of_pi(session, tmp_path), 1) == Cut(3, turn_start=2)


def test_a_shell_command_that_the_model_never_saw_is_no_boundary(tmp_path: Path) -> None:
    session = Session()
    session.user("first")
    hidden = {"role": "bashExecution", "command": "ls", "output": LONG, "excludeFromContext": True}
    session.add("message", message=hidden)
    session.model("done", call("c"))
    session.result("c", "x")
    items = of_pi(session, tmp_path)
    assert cut_points(items) == [0, 2]
    assert find_cut(items, 1) == Cut(1, turn_start=0)


def test_so_many_messages_stay_and_one_more_where_a_call_would_be_parted() -> None:
    items = of(user("a"), answer("b"), user("c"), answer("", "c1"), result("c1"), answer("d"))
    assert [find_cut_before(items, most).first_kept for most in (1, 2, 3, 4, 5)] == [5, 3, 3, 2, 1]
    assert find_cut_before(items, 7) == Cut(0)
