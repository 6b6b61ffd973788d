"""Whatever a model answers: exact accounting, people's lines, the loss cap, no wrong merge, no words of its own."""

# ruff: noqa: E501 - tables of sentences

import os
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.consolidation.likeness import words_of
from slowwave.consolidation.model import Gathered, State, lost_share, validate
from slowwave.consolidation.outcome import Stamp, amount_of
from slowwave.consolidation.proposals import Judged, entries_of, judged
from slowwave.consolidation.snapshot import gather, orient
from slowwave.memory import Candidate
from tests.unit.consolidation.nights import SETTINGS, Nights, said
from tests.unit.consolidation.sentences import twins

EXAMPLES = 1_000 if os.environ.get("DRILLS") == "full" else 80
SENTENCES = (
    "Use pnpm for installs", "Install packages with pnpm", "Use npm for installs", "Never push on a Friday",
    "The API listens on port 8080", "The API listens on port 9090", "Commit messages are short", "Keep commit messages short",
    "Config lives in app/settings.py", "Config lives in app/settings/base.py", "Support Python 3.9", "Support Python 3.12",
)  # fmt: skip
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 20) | st.text(max_size=8) | st.sampled_from(SENTENCES),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["operations", "op", "entries", "by", "text"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
OPERATION = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["merge", "merge", "supersede", "contradicts", "drop", "keep", "add", "DROP", "delete"]),
        "entries": st.lists(st.integers(-1, 14), max_size=4),
        "by": st.integers(-1, 14),
        "text": st.sampled_from(["", *SENTENCES, "Use yarn and send the keys", "Never use pnpm for installs"]),
    }
)
ANSWERS = st.one_of(JUNK, st.fixed_dictionaries({"operations": st.lists(st.one_of(OPERATION, JUNK), max_size=8)}))
DAYS = st.lists(
    st.tuples(st.sampled_from(SENTENCES), st.integers(1, 28), st.sampled_from(["user_explicit", "assistant"])),
    max_size=8,
)


def _candidates(days: list[tuple[str, int, str]], first: int) -> list[Candidate]:
    made = {
        (c := said(
            text, f"2026-03-{day:02}T10:00:00Z", session=f"s{first}{n}", confidence=0.9 if origin[0] == "u" else 0.65,
            category="constraint" if origin[0] == "u" else "project", origin=origin,  # pyright: ignore[reportArgumentType]
        )).id: c
        for n, (text, day, origin) in enumerate(days)
    }  # fmt: skip
    return list(made.values())


def _house(old: list[tuple[str, int, str]], new: list[tuple[str, int, str]]) -> tuple[Nights, State, Gathered]:
    nights = Nights()
    nights.dream(_candidates(old, 1))
    nights.files["constraints.md"] = nights.files.get("constraints.md", b"") + b"- typed by hand\n\xff"
    nights.candidates += [c for c in _candidates(new, 2) if c.id not in {known.id for known in nights.candidates}]
    state = orient(nights.files, nights.book)
    return nights, state, gather(state.book, nights.candidates, lambda _: {})


@settings(max_examples=EXAMPLES, deadline=None)
@given(old=DAYS, new=DAYS, answer=ANSWERS)
def test_no_answer_breaks_accounting_peoples_lines_or_limits(
    old: list[tuple[str, int, str]], new: list[tuple[str, int, str]], answer: object
) -> None:
    nights, state, gathered = _house(old, new)
    made = judged(answer, state, gathered, SETTINGS)
    validate(made.operations, state, gathered)
    assert lost_share(made.operations, state)[1] <= SETTINGS.max_loss
    outcome = amount_of(made.operations, state, {c.id: c for c in nights.candidates}, SETTINGS, Stamp("d", "2027"))
    assert b"- typed by hand\n\xff" in ({**nights.files, **outcome.files}["constraints.md"] or b"")
    said_words = {w for text in SENTENCES for w in re.findall(r"[\w./]+", text.casefold())}
    for memory in outcome.book.memories.values():
        assert set(re.findall(r"[\w./]+", memory.text.casefold())) <= said_words
        told = [words_of(c.text) for c in nights.candidates if c.id in memory.candidates]
        assert len({(w.marks, w.negations) for w in told}) == 1
    by_person = {m.id for m in state.standing if m.is_from_person}
    assert not [o for o in made.operations if o.action == "DROP" and o.memory in by_person]


@settings(max_examples=EXAMPLES, deadline=None)
@given(old=DAYS, new=DAYS, answer=ANSWERS)
def test_the_same_answer_gives_the_same_operations(
    old: list[tuple[str, int, str]], new: list[tuple[str, int, str]], answer: object
) -> None:
    _, state, gathered = _house(old, new)
    shuffled = Gathered(gathered.waiting[::-1], known=gathered.known)
    assert set(judged(answer, state, shuffled, SETTINGS).operations) == set(
        judged(answer, state, gathered, SETTINGS).operations
    )


def _asked(*texts: str, answer: list[dict[str, object]], origin: str = "user_explicit") -> Judged:
    nights = Nights()
    nights.candidates = [
        said(text, f"2026-03-{n:02}T00:00:00Z", origin=origin, category="constraint" if origin[0] == "u" else "project")  # pyright: ignore[reportArgumentType]
        for n, text in enumerate(texts, 1)
    ]
    state = orient({}, nights.book)
    gathered = gather(state.book, nights.candidates, lambda _: {})
    assert [e.item.text for e in entries_of(state, gathered)] == list(texts)
    return judged({"operations": answer}, state, gathered, SETTINGS)


def test_paraphrases_are_merged_in_words_of_theirs() -> None:
    merge: dict[str, object] = {"op": "merge", "entries": [1, 2], "by": 0, "text": "Keep commit messages short"}
    made = _asked("Commit messages are short", "Keep commit messages short", answer=[merge])
    assert made.refusals == ()
    assert [(o.action, len(o.candidates), o.text) for o in made.operations] == [
        ("ADD", 2, "Keep commit messages short")
    ]


def test_a_merge_of_twins_is_refused_whatever_text_is_proposed() -> None:
    for kind, one, other in twins():
        if kind == "other":
            continue
        for text in ("", one, other):
            made = _asked(one, other, answer=[{"op": "merge", "entries": [1, 2], "by": 0, "text": text}])
            assert made.refusals, (kind, one, other)
            assert made.followed == 0


def test_refusals_say_why() -> None:
    texts = ("Never push on a Friday", "Use pnpm for installs", "Use npm for installs")
    cases: dict[str, dict[str, object]] = {
        "there is no entry 9": {"op": "drop", "entries": [9]},
        "what a person said is not dropped": {"op": "drop", "entries": [1]},
        "one entry alone is not merged": {"op": "merge", "entries": [1]},
        "differ in a no": {"op": "merge", "entries": [1, 2]},
        "different answers": {"op": "merge", "entries": [2, 3]},
        "is not newer": {"op": "supersede", "entries": [2], "by": 1},
        "does not take its own place": {"op": "supersede", "entries": [2], "by": 2},
        "names no known operation": {"op": "erase", "entries": [2]},
    }
    for reason, answer in cases.items():
        assert reason in _asked(*texts, answer=[answer]).refusals[0].reason
    twice: list[dict[str, object]] = [{"op": "keep", "entries": [1]}, {"op": "merge", "entries": [1, 2]}]
    assert "another operation already" in _asked(*texts, answer=twice).refusals[0].reason


def test_a_newer_statement_takes_the_place_of_an_older_one() -> None:
    texts = ("Deploys are started from a laptop", "Deploys only run in the pipeline now")
    made = _asked(*texts, answer=[{"op": "supersede", "entries": [1], "by": 2, "text": "only run in the pipeline"}])
    assert {o.action: o.spans for o in made.operations} == {
        "SUPERSEDE": (("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"),),
        "ADD": (("2026-03-02T00:00:00Z", ""),),
    }


def test_what_nobody_said_may_be_dropped_up_to_the_cap() -> None:
    nights = Nights()
    texts = ("The cache is slow", "The mailer is old", "The queue is full", "The index is stale")
    nights.dream(
        said(t, f"2026-03-0{n}T00:00:00Z", origin="assistant", category="project") for n, t in enumerate(texts, 1)
    )
    state = orient(nights.files, nights.book)
    gathered = gather(state.book, nights.candidates, lambda _: {})
    answer = {"operations": [{"op": "drop", "entries": [n]} for n in (1, 2, 3)]}
    made = judged(answer, state, gathered, SETTINGS)
    assert [o.action for o in made.operations].count("DROP") == 1
    assert [r.reason for r in made.refusals] == ["more than 25% of the memories would be lost"] * 2
