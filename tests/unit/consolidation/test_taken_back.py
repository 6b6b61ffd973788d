"""What a person takes back ends, in whichever night it is found; what nobody can tell waits, and others end nothing."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.consolidation.inbox import accept_fact, inbox
from slowwave.extraction.offline import notes
from slowwave.memory import RETRACTS, Candidate
from slowwave.memory.book import Memory, read_book
from slowwave.settings import ConsolidationSettings
from tests.unit.consolidation.dreams import House
from tests.unit.consolidation.nights import Nights, together
from tests.unit.consolidation.nights import said as stated
from tests.unit.extraction.talk import Talk
from tests.unit.reading.clients import of_talk

PNPM = "Use pnpm for packages"


def back(thing: str, day: int) -> Candidate:
    text = f"forget what I said about {thing}"
    at = f"2026-03-{day:02}T10:00:00Z"
    return stated(text, at, session=f"b{day}", category="decision", key=RETRACTS, value=thing)


def rule(text: str, day: int) -> Candidate:
    return stated(text, f"2026-03-{day:02}T10:00:00Z", session=f"r{day}-{len(text)}")


def of(nights: Nights, text: str) -> Memory:
    return next(m for m in nights.book.memories.values() if m.text == text)


def test_what_is_taken_back_held_until_then_and_says_what_ended_it() -> None:
    nights = together([[rule(PNPM, 1)], [back("pnpm", 3)]])
    ended = of(nights, PNPM)
    assert (ended.status, ended.held) == ("superseded", (("2026-03-01T10:00:00Z", "2026-03-03T10:00:00Z"),))
    assert nights.book.memories[ended.successor].text == "forget what I said about pnpm"
    assert nights.believed_at("2026-03-02T00:00:00Z") == {PNPM}
    assert not any(b"pnpm" in data for data in nights.files.values())
    assert nights.book.active == []


def test_what_is_said_again_holds_again() -> None:
    nights = together([[rule(PNPM, 1)], [back("pnpm", 3)], [rule(PNPM, 5)]])
    assert [m.text for m in nights.book.active] == [PNPM]
    assert len(of(nights, PNPM).held) == 2


@pytest.mark.parametrize("thing", ["yarn", "the vendor folder", "pnp"])
def test_what_fits_nothing_changes_nothing_and_waits(thing: str) -> None:
    nights = together([[rule(PNPM, 1)]])
    files, events = dict(nights.files), list(nights.events)
    (waits,) = [o for o in nights.dream([back(thing, 3)]) if o.action == "WAIT"]
    assert waits.reason == "takes back nothing that is known"
    assert (nights.files, nights.events) == (files, events)


def test_a_rule_that_is_stated_later_is_not_taken_back() -> None:
    assert [m.text for m in together([[back("pnpm", 3), rule(PNPM, 5)]]).book.active] == [PNPM]


def test_what_fits_several_waits_and_ends_them_all_once_a_person_accepts_it(tmp_path: Path) -> None:
    house = House(tmp_path)
    rules = ["Use pnpm for packages", "Run pnpm with a frozen lockfile"]
    texts = [c for n, text in enumerate(rules) for c in [house.candidate(text, session=f"s{n}")]]
    at = "2026-11-19T12:00:00Z"
    house.extract(
        *texts,
        house.candidate("scrap the pnpm rule", session="b", category="decision", key=RETRACTS, value="pnpm", at=at),
    )
    house.dream()
    assert [m.text for m in read_book(house.memory).active] == rules
    (waiting,) = inbox(house.memory, (house.folder,), ConsolidationSettings(), house.clock.now())
    assert waiting.reason.startswith("may take back any of 2: ")
    accept_fact(house.memory, waiting, ConsolidationSettings(), house.clock.now())
    assert read_book(house.memory).active == []
    house.extract(house.candidate("Never rename a table", session="s9"))
    house.dream()
    assert [m.text for m in read_book(house.memory).active] == ["Never rename a table"]


def test_we_do_not_any_more_is_worth_keeping_itself() -> None:
    later = stated("we don't squash commits any more", "2026-03-03T10:00:00Z", category="decision")
    nights = together([[rule("Squash commits before a review", 1)], [later]])
    assert [m.text for m in nights.book.active] == ["we don't squash commits any more"]
    assert of(nights, "Squash commits before a review").successor == of(nights, later.text).id


@settings(max_examples=60, deadline=None)
@given(
    said=st.lists(
        st.one_of(
            st.tuples(st.sampled_from([PNPM, "Never deploy on Fridays", "Indent with tabs"]), st.integers(1, 28)),
            st.tuples(st.sampled_from(["pnpm", "Fridays", "tabs", "yarn"]), st.integers(1, 28)),
        ),
        min_size=1,
        max_size=8,
        unique=True,
    ),
    seed=st.randoms(use_true_random=False),
)
def test_the_order_in_which_sessions_are_found_makes_no_difference(said: list[tuple[str, int]], seed: object) -> None:
    every = [rule(text, day) if " " in text else back(text, day) for text, day in said]
    shuffled = every[:]
    seed.shuffle(shuffled)  # type: ignore[attr-defined]

    def shown(nights: Nights) -> object:
        rules = [m for m in nights.book.memories.values() if not m.is_retraction]
        return sorted((m.text, m.status, m.held) for m in rules), [*nights.shown()]

    assert shown(together([[one] for one in shuffled])) == shown(together([every]))


FRAMES = (
    "my colleague writes: {}\nwhat does he mean?",
    "> {}\n\nis that so?",
    'The wiki says "{}", can you look it up?',
    "```\n{}\n```\nwhat is this about?",
)


@pytest.mark.parametrize(
    ("frame", "words"), list(itertools.product(FRAMES, ["forget what I said about pnpm", "scrap the pnpm rule"]))
)
def test_quoted_words_take_nothing_back(tmp_path: Path, frame: str, words: str) -> None:
    talk = Talk().person("go on").bash("ls src").assistant("I looked.").person(frame.format(words))
    found = notes(of_talk(tmp_path, talk.assistant("All right.")))
    assert [note for note in found if note.key == RETRACTS and not note.doubt] == []


def test_only_what_was_typed_takes_back() -> None:
    claimed = back("pnpm", 3)
    for origin in ("assistant", "command_outcome"):
        other = stated(
            claimed.text, claimed.observed_at, category="decision", key=RETRACTS, value="pnpm", origin=origin
        )
        assert [m.text for m in together([[rule(PNPM, 1)], [other]]).book.active] == [PNPM]


FAILED, WORKS = "`make check` fails (no rule); `make test` works", "`make test` fails (gone); `make check` works"


@pytest.mark.parametrize("order", [(FAILED, WORKS), (WORKS, FAILED)])
def test_a_command_that_was_said_to_fail_and_works_now_is_over_and_the_other_way_round(order: tuple[str, str]) -> None:
    def shown(text: str, at: str) -> Candidate:
        return stated(text, at, category="pattern", origin="command_outcome")

    first, second = order
    nights = Nights()
    nights.dream([shown(first, "2026-11-01T00:00:00Z")])
    nights.dream([shown(second, "2026-11-05T00:00:00Z")])
    by_text = {m.text: m for m in nights.book.memories.values()}
    assert {text: m.status for text, m in by_text.items()} == {first: "superseded", second: "active"}
    assert by_text[first].successor == by_text[second].id
    assert by_text[first].held == (("2026-11-01T00:00:00Z", "2026-11-05T00:00:00Z"),)
    # and what comes back holds again
    nights.dream([shown(first, "2026-11-09T00:00:00Z")])
    assert {m.text for m in nights.book.active} == {first}
    assert together([nights.candidates]).beliefs() == nights.beliefs()


@pytest.mark.parametrize(
    "failed",
    [
        FAILED,
        "`make check` fails (no modules) until `npm install` was run",
        "`make check` fails (unset); `A=1 make check` works",
    ],
)
def test_what_people_run_does_not_disprove_that_it_fails_without_what_it_needs(failed: str) -> None:
    run = stated(
        "Tests are run with `make check`", "2026-11-05T00:00:00Z", category="pattern", origin="command_outcome",
        key="cmd:test", value="make check",
    )  # fmt: skip
    nights = together([[stated(failed, "2026-11-01T00:00:00Z", category="pattern", origin="command_outcome")], [run]])
    assert len(nights.book.active) == 2
