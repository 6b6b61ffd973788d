"""When opencode prunes old outputs of tools, with its thresholds of 40,000 and 20,000 tokens."""

from slowwave.compaction.items import items_of
from slowwave.compaction.plan import CLEARED, Pruning, cleared, prune
from slowwave.compaction.tokens import OPENCODE
from slowwave.formats import Message
from tests.unit.compaction.messages import answer, result, summary, user

OUTPUT = "x" * 40_000  # ten thousand tokens


def turn(number: int, tool: str = "read", text: str = OUTPUT) -> list[Message]:
    return [user(f"turn {number}"), answer("", f"c{number}:{tool}:f"), result(f"c{number}", text), answer("done")]


def talk(*turns: list[Message]) -> list[Message]:
    return [message for one in turns for message in one]


def pruned(messages: list[Message]) -> list[str]:
    """Return the ids of the calls whose output would be cleared, the newest first."""
    found = prune(items_of(messages, OPENCODE))
    return [messages[o.at].results[o.number].id for o in found.outputs]


def test_protects_the_last_two_turns_and_the_newest_forty_thousand_tokens_before_them() -> None:
    # of ten turns two are skipped, four protected
    messages = talk(*(turn(n) for n in range(10)))
    assert pruned(messages) == ["c3", "c2", "c1", "c0"]
    assert prune(items_of(messages, OPENCODE)).freed_tokens == 40_000


def test_prunes_only_when_more_than_twenty_thousand_tokens_would_go() -> None:
    assert pruned(talk(*(turn(n) for n in range(8)))) == []
    assert pruned(talk(*(turn(n) for n in range(9)))) == ["c2", "c1", "c0"]
    exactly = talk(turn(0, text="x" * 80_000), *(turn(n) for n in range(1, 7)))
    assert prune(items_of(exactly, OPENCODE)) == Pruning()
    assert pruned(talk(turn(0, text="x" * 80_004), *(turn(n) for n in range(1, 7)))) == ["c0"]


def test_never_prunes_a_skill() -> None:
    messages = talk(*(turn(n, "skill" if n == 1 else "read") for n in range(11)))
    assert "c1" not in pruned(messages)
    assert "c0" in pruned(messages)


def test_stops_at_a_summary_and_at_what_was_pruned_before() -> None:
    messages = talk(*(turn(n) for n in range(13)))
    assert pruned([*messages[:12], summary("S"), *messages[12:]])[-1] == "c3"
    messages[4 * 3 + 2] = result("c3", CLEARED)
    assert pruned(messages)[-1] == "c4"


def test_clears_the_outputs_and_nothing_else() -> None:
    messages = talk(*(turn(n) for n in range(9)))
    items = items_of(messages, OPENCODE)
    after = [item.message for item in cleared(items, prune(items)) if item.message is not None]
    assert [m.results[0].text == CLEARED for m in after if m.results] == [True] * 3 + [False] * 6
    assert [m for m in after if not m.results] == [m for m in messages if not m.results]
    assert pruned(after) == []
