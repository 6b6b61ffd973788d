"""What is remembered depends on what was seen and when, never on the order or the night in which it was found.

Equal, whatever the order of the candidates and however they are spread over nights: the texts and categories of all
memories, whether each still holds, every interval in which it held, its confidence, and the lines of every page and of
the index. Not equal: ids of memories, the time and number of events, which tell what was done when, and the order of
lines that are worth almost the same: a line moves only for a reason.

It holds for facts that reach the accept threshold in the end, as long as no person changed a file in between and no
rejected or undone candidate is among them: these are decisions, and they come at a time.
"""

# ruff: noqa: E501 - tables of sentences

import os
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.memory import Candidate, CandidateOrigin
from tests.unit.consolidation.nights import Nights, said, together

EXAMPLES = 1_000 if os.environ.get("DRILLS") == "full" else 60

# key, and what is said for each of its values; some are said in two ways
SLOTS = {
    "pref:pm": {"npm": ("We use npm", "Use npm for installs"), "pnpm": ("Use pnpm, not npm",), "bun": ("Now it is bun",)},
    "": {
        "a": ("Use at most 80 characters a line",), "b": ("Use at most 120 characters a line",),
        "c": ("Always squash commits", "Please always squash commits"), "d": ("Never squash commits",),
        "e": ("Config lives in app/settings.py", "The config is in app/settings.py"), "f": ("Config lives in conf/app.toml",),
        "g": ("Put events into a table instead of Redis streams",), "h": ("Put events on Redis streams",),
        "i": ("The API listens on port 8080",), "j": ("The API listens on port 9090",), "k": ("The cache is slow",),
    },
}  # fmt: skip
STATED = [(key, value, text) for key, values in SLOTS.items() for value, texts in values.items() for text in texts]


@st.composite
def _candidates(draw: st.DrawFn) -> list[Candidate]:
    made: dict[str, Candidate] = {}
    for _ in range(draw(st.integers(1, 14))):
        key, value, text = draw(st.sampled_from(STATED))
        day = draw(st.integers(1, 28))
        origin: CandidateOrigin = draw(st.sampled_from(["user_explicit", "user_explicit", "command_outcome"]))
        one = said(
            text, f"2026-03-{day:02}T10:00:00Z", session=f"s{day}-{len(made)}", origin=origin, key=key,
            value=value if key else "", category="project" if origin == "command_outcome" else "preference",
            confidence=draw(st.sampled_from([0.5, 0.7, 0.9])),
        )  # fmt: skip
        made[one.id] = one
    return list(made.values())


def _shown(nights: Nights) -> object:
    memories = sorted((m.category, m.text, m.status, m.held, m.confidence) for m in nights.book.memories.values())
    return memories, nights.shown()


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(candidates=_candidates(), seed=st.integers(0, 10_000))
def test_the_order_of_candidates_within_a_night_makes_no_difference(candidates: list[Candidate], seed: int) -> None:
    shuffled = random.Random(seed).sample(candidates, len(candidates))
    assert _shown(together([shuffled])) == _shown(together([candidates]))
    assert together([shuffled]).events == together([candidates]).events


@settings(max_examples=EXAMPLES, deadline=None)
@given(candidates=_candidates(), seed=st.integers(0, 10_000), number=st.integers(2, 6))
def test_several_nights_in_any_order_end_in_what_one_night_ends_in(
    candidates: list[Candidate], seed: int, number: int
) -> None:
    chance = random.Random(seed)
    nights: list[list[Candidate]] = [[] for _ in range(number)]
    for candidate in candidates:
        nights[chance.randrange(number)].append(candidate)
    one, several = together([candidates]), together(nights)
    assert _shown(several) == _shown(one)


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(candidates=_candidates())
def test_of_a_question_at_most_one_answer_held_at_any_time(candidates: list[Candidate]) -> None:
    nights = together([candidates])
    for day in range(1, 30):
        held = nights.believed_at(f"2026-03-{day:02}T12:00:00Z")
        assert len({m.value for m in nights.book.memories.values() if m.key and m.text in held}) <= 1


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(candidates=_candidates())
def test_a_night_without_anything_new_does_nothing(candidates: list[Candidate]) -> None:
    nights = together([candidates])
    events, files = list(nights.events), dict(nights.files)
    nights.dream()
    assert nights.events == events
    assert nights.files == files


def test_what_holds_again_is_one_memory_with_two_intervals() -> None:
    nights = Nights()
    for text, day in (("We use npm", "01"), ("We use bun", "02"), ("We use npm", "03")):
        nights.dream([said(text, f"2026-03-{day}T00:00:00Z", key="pref:pm", value=text[7:])])
    npm = ("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"), ("2026-03-03T00:00:00Z", "")
    bun = (("2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"),)
    assert nights.beliefs() == {("preference", "We use npm"): npm, ("preference", "We use bun"): bun}
    assert [m.text for m in nights.book.active] == ["We use npm"]
    assert nights.files == {"MEMORY.md": b"# Memory\n\n- We use npm\n"}


def test_an_older_session_that_is_found_late_fits_in_where_it_belongs() -> None:
    nights = Nights()
    for text, day in (("We use npm", "01"), ("We use npm", "09"), ("We use bun", "20"), ("We use yarn", "05")):
        nights.dream([said(text, f"2026-03-{day}T00:00:00Z", key="pref:pm", value=text[7:])])
    assert [m.text for m in nights.book.active] == ["We use bun"]
    for day, expected in (("02", "npm"), ("05", "yarn"), ("08", "yarn"), ("09", "npm"), ("19", "npm"), ("20", "bun")):
        assert nights.believed_at(f"2026-03-{day}T00:00:00Z") == {f"We use {expected}"}, day
