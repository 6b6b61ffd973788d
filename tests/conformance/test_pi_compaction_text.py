"""pi's own tests of what a summarising model is asked: ``compaction-serialization`` and ``-summary-reasoning``.

By their names; the calls of a model are requests here, and nothing is sent.
"""

from collections.abc import Iterable

from slowwave.compaction.files import of_calls
from slowwave.compaction.items import ContextTokens, Item, item_of
from slowwave.compaction.plan import Budget, Plan
from slowwave.compaction.summary import NO_HISTORY, SECTIONS, ULID_SEPARATOR, flat, joined, requests
from slowwave.formats import Message, Other, Text, Thinking, ToolCall
from tests.unit.compaction.messages import answer, message, result, user


def items(messages: Iterable[Message]) -> tuple[Item, ...]:
    return tuple(item_of(m, 10) for m in messages)


def plan(history: Iterable[Message], prefix: Iterable[Message] = (), *, previous: str = "", files: str = "") -> Plan:
    """Return a plan over messages, as far as requests need it; ``files`` are calls as :func:`answer` takes them."""
    operations = of_calls(answer("", *files.split()).calls)
    kept = items([user("kept")])
    return Plan(items(history), items(prefix), kept, previous, operations, ContextTokens(0, 0))


def test_truncates_long_tool_results() -> None:
    text = flat([result("tc1", "x" * 5000)])
    assert text == f"[Tool result]: {'x' * 2000}\n\n[... 3000 more characters truncated]"


def test_does_not_truncate_short_tool_results() -> None:
    assert flat([result("tc1", "x" * 1500)]) == f"[Tool result]: {'x' * 1500}"
    assert flat([result("tc1", "x" * 2000)]) == f"[Tool result]: {'x' * 2000}"


def test_does_not_truncate_assistant_or_user_messages() -> None:
    text = flat([user("y" * 5000), answer("z" * 5000)])
    assert text == f"[User]: {'y' * 5000}\n\n[Assistant]: {'z' * 5000}"


def test_counts_and_cuts_as_javascript_does_but_halves_no_character() -> None:
    assert flat([result("c", "\N{GRINNING FACE}" * 1000)]).endswith("\N{GRINNING FACE}")
    cut = flat([result("c", "a" + "\N{GRINNING FACE}" * 1000)])
    assert cut.endswith("\N{GRINNING FACE}\n\n[... 2 more characters truncated]")


def test_shows_an_answer_in_three_parts_and_no_image() -> None:
    blocks = (Thinking("hm"), Text("one"), Text("two"), ToolCall("c", "read", {"path": "a b", "n": 1.0, "deep": [1]}))
    text = flat([message("assistant", *blocks, ToolCall("d", "ls", {})), message("user", Other("image"))])
    assert text == (
        "[Assistant thinking]: hm\n\n[Assistant]: one\ntwo\n\n"
        '[Assistant tool calls]: read(path="a b", n=1, deep=[1]); ls()'
    )


def test_joins_by_one_newline_where_the_specification_does() -> None:
    messages = [user("What pods?"), answer("Let me check."), result("tc", "NAME READY\nnginx 1/1")]
    assert flat(messages, separator=ULID_SEPARATOR) == (
        "[User]: What pods?\n[Assistant]: Let me check.\n[Tool result]: NAME READY\nnginx 1/1"
    )


def test_shows_injected_text_as_nobodys_words() -> None:
    text = flat([message("user", Text("IMPORTANT: obey"), origin="injected")])
    assert text == "[Injected]: IMPORTANT: obey"


def test_sets_reasoning_high_for_models_that_reason() -> None:
    asked = requests(plan([user("a")], [user("b")]), Budget(reserve_tokens=2000), reasons=True)
    assert [(r.part, r.reasoning, r.max_tokens) for r in asked] == [("history", "high", 1600), ("prefix", None, 1000)]


def test_does_not_set_reasoning_for_models_that_do_not() -> None:
    asked = requests(plan([user("Summarise this.")]), Budget())
    assert [(r.reasoning, r.max_tokens) for r in asked] == [(None, 13_107)]


def test_asks_for_an_update_when_a_summary_exists_and_for_its_sections() -> None:
    (first,) = requests(plan([user("a")]), Budget(), focus="the tests")
    (second,) = requests(plan([user("a")], previous="## Goal\nX"), Budget())
    assert (first.form, second.form) == ("initial", "update")
    assert "<previous-summary>\n## Goal\nX\n</previous-summary>" in second.prompt
    assert all(f"## {name}" in asked.prompt for asked in (first, second) for name in SECTIONS)
    assert first.prompt.startswith("<conversation>\n[User]: a\n</conversation>\n\n")
    assert first.prompt.endswith("Additional focus: the tests")


def test_joins_both_answers_and_the_files() -> None:
    both = plan([user("a")], [user("b")], files="1:read:b 2:read:a 3:edit:a")
    text = joined(both, {"history": "H", "prefix": "P"})
    assert text == (
        "H\n\n---\n\n**Turn Context (split turn):**\n\nP"
        "\n\n<read-files>\nb\n</read-files>\n\n<modified-files>\na\n</modified-files>"
    )


def test_a_split_turn_without_history_says_so_but_never_drops_an_earlier_summary_as_pi_does() -> None:
    split = plan([], [user("b")])
    assert [r.part for r in requests(split, Budget())] == ["prefix"]
    assert joined(split, {"prefix": "P"}).startswith(NO_HISTORY)
    assert joined(plan([], [user("b")], previous="Before"), {"prefix": "P"}).startswith("Before\n\n---")


def test_a_focus_goes_into_the_beginning_of_a_turn_only_where_nothing_else_is_asked() -> None:
    _, prefix = requests(plan([user("a")], [user("b")]), Budget(), focus="the tests")
    assert "the tests" not in prefix.task
    (alone,) = requests(plan([], [user("b")]), Budget(), focus="the tests")
    assert alone.task.endswith("Additional focus: the tests")
