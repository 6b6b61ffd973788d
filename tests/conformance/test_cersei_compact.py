"""Cersei's own tests of ``compact.rs``, all fifteen by their names, against slowwave's thresholds, rounds and cuts.

Its estimates look at text alone and its cuts part calls from results; no test of its own asserts either, and slowwave
does neither: the tests at the end say so.
"""

from pathlib import Path

import pytest

from slowwave.compaction.book import MOST_FAILURES, Breaker, content_stamp, read_book, write_book
from slowwave.compaction.plan import is_over_share, warning_level
from slowwave.compaction.summary import compact_prompt, keep_index, rounds, snip, wrapped_summary
from slowwave.compaction.tokens import CERSEI, context_window
from slowwave.formats import Message
from tests.unit.compaction.job.talks import Talk, compacted, job
from tests.unit.compaction.messages import answer, result, user

WINDOW = 200_000


def talk(number: int) -> list[Message]:
    """Return messages of a user and an assistant in turn; the answers are some thirty tokens long."""
    return [answer(f"Answer {i} " + "that goes on " * 9) if i % 2 else user(f"Question {i}") for i in range(number)]


def test_token_warning_ok() -> None:
    assert warning_level(50_000, WINDOW) == "ok"
    assert warning_level(10**9, 0) == "ok"


def test_token_warning_warning() -> None:
    assert warning_level(170_000, WINDOW) == "warning"
    assert [warning_level(n, WINDOW) for n in (159_999, 160_000)] == ["ok", "warning"]


def test_token_warning_critical() -> None:
    assert warning_level(196_000, WINDOW) == "critical"
    assert [warning_level(n, WINDOW) for n in (189_999, 190_000)] == ["warning", "critical"]


def test_should_compact() -> None:
    tokens = (100_000, 170_000, 185_000, 195_000)
    assert [is_over_share(n, WINDOW) for n in tokens] == [False, False, True, True]
    assert [is_over_share(n, WINDOW) for n in (179_999, 180_000)] == [False, True]
    assert not is_over_share(10**9, 0)


def test_should_auto_compact_disabled(tmp_path: Path) -> None:
    session = Talk(tmp_path / "store", "cersei").grow(6)
    run = job(tmp_path)
    book = read_book(run.folder, session.id, "cersei", session.path)
    for _ in range(MOST_FAILURES):
        book.fail("no answer", content_stamp(session.paths))
    write_book(run.folder, book)
    report = compacted(session, run)
    assert [gate.gate for gate in report.gates] == ["breaker"]
    assert "compacted" not in report.counts


def test_circuit_breaker() -> None:
    twice = Breaker().failed().failed()
    assert not twice.is_open
    assert twice.failed().is_open
    assert twice.succeeded() == Breaker(compactions=1)
    assert not twice.succeeded().failed().is_open
    assert twice.failed().succeeded().is_open


def test_snip_compact() -> None:
    kept, freed = snip(talk(20), 10)
    assert len(kept) == 10
    assert freed > 0


def test_snip_compact_already_small() -> None:
    kept, freed = snip(talk(5), 10)
    assert (len(kept), freed) == (5, 0)


def test_group_messages() -> None:
    messages = [user("Read file A"), answer("Contents of A"), user("Now edit B"), answer("Edited B")]
    assert [[m.text for m in group.messages] for group in rounds(messages)] == [
        ["Read file A", "Contents of A"],
        ["Now edit B", "Edited B"],
    ]


def test_group_messages_ends_a_round_behind_the_last_call_and_names_its_file() -> None:
    messages = [user("look"), answer("", "c1:read:a.rs"), result("c1"), answer("seen"), user("and")]
    assert [(len(group.messages), group.hint) for group in rounds(messages)] == [(4, "a.rs"), (1, "")]


def test_estimate_tokens() -> None:
    assert CERSEI.of_text("hello world") == 2
    assert CERSEI.of_text("") == 0
    assert CERSEI.of_text("x" * 1000) == 250
    assert CERSEI.of_text("äöü") == 1


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-sonnet-4-6", 200_000),
        ("gpt-4o", 128_000),
        ("gpt-4", 8_192),
        ("gpt-5-mini", 1_000_000),
        ("gemini-2.0-flash", 1_000_000),
        ("o3-mini", 200_000),
        ("gpt-4-turbo-2024", 128_000),
        ("gpt-3.5-turbo", 16_385),
        ("llama3.1:8b", 8_192),
        ("anything-else", 200_000),
    ],
)
def test_context_window_for_model(model: str, window: int) -> None:
    assert context_window(model) == window


def test_context_window_for_model_is_what_a_person_says_first() -> None:
    known = {"gpt-4": 1, "gpt-4o-mini": 2}
    assert [context_window(m, known) for m in ("gpt-4o-mini-x", "gpt-4o", "opus")] == [2, 1, 200_000]


def test_compact_prompt_with_instructions() -> None:
    prompt = compact_prompt("Focus on API changes")
    assert "Focus on API changes" in prompt
    assert prompt.startswith("Summar")
    assert "Additional context" not in compact_prompt()


def test_format_compact_summary() -> None:
    wrapped = wrapped_summary("- Did X\n- Did Y\n")
    assert wrapped.startswith("<context_summary>\n")
    assert wrapped.endswith("- Did X\n- Did Y\n</context_summary>")


def test_calculate_messages_to_keep_index() -> None:
    index = keep_index(talk(20), 100)
    assert 0 < index < 20
    assert CERSEI.of_messages(talk(20)[index:]) <= 100 < CERSEI.of_messages(talk(20)[index - 1 :])


def test_messages_to_keep_all_fit() -> None:
    assert keep_index(talk(3), 100_000) == 0


def test_snip_and_keep_index_part_no_call_from_its_result_as_cersei_does() -> None:
    messages = [user("go"), answer("a", "c1"), result("c1"), answer("b", "c2"), result("c2", "x" * 400)]
    assert [m.role for m in snip(messages, 1).kept] == ["assistant", "tool"]
    assert keep_index(messages, 100) == 3


def test_estimate_counts_calls_and_results_which_are_nothing_to_cersei() -> None:
    assert CERSEI.of_message(result("c1", "x" * 4000)) == 1000
    assert CERSEI.of_message(answer("", "c1:read:" + "p" * 389)) == 101
