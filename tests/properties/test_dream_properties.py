"""What holds for every memory folder: people's bytes, exact accounting, limits, and no influence of order."""

import random
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.consolidation.decisions import consolidate
from slowwave.consolidation.likeness import is_same
from slowwave.consolidation.model import lost_share, validate
from slowwave.consolidation.snapshot import gather, orient
from slowwave.memory import CATEGORIES, Candidate, Evidence, SessionRef
from slowwave.memory.book import Book, Memory
from slowwave.memory.folder import memory_line
from slowwave.memory.index import MARGIN, Room, in_order, index_block
from slowwave.memory.ledger import Sighting, line_hash
from slowwave.memory.pages import line_count, own_lines, split, weave, without_own
from tests.unit.consolidation.dreams import House

LINES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1, max_size=12).map(
    lambda t: f"- {t}"
)
# what people leave in files: any bytes, also without newlines, with carriage returns, and copies of our lines
PEOPLE = st.one_of(
    st.binary(max_size=60),
    st.lists(st.sampled_from([b"- a", b"x", b"", b"\xff", b"- a\r"]), max_size=6).map(b"\n".join),
)
WORDS = ("use", "never", "pnpm", "npm", "for", "installs", "80", "120", "src/app.py", "the", "tests", "run_all")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@given(people=PEOPLE, lines=st.lists(LINES, unique=True, max_size=5))
def test_taking_own_lines_out_gives_back_what_people_wrote(people: bytes, lines: list[str]) -> None:
    woven = weave(people, [], lines)
    hashes = [line_hash(line) for line in lines]
    if not set(hashes) & {line_hash(line) for line in split(people)}:
        assert without_own(woven, hashes) == people
        assert weave(woven, hashes, []) == people
        assert list(own_lines(woven, hashes).values()) == hashes
        assert weave(woven, hashes, lines) == woven


@given(
    people=PEOPLE,
    old=st.lists(LINES, unique=True, max_size=4),
    new=st.lists(LINES, unique=True, max_size=4),
    at=st.integers(0, 10),
)
def test_lines_of_people_keep_their_bytes_and_order_through_any_change(
    people: bytes, old: list[str], new: list[str], at: int
) -> None:
    lines = split(weave(people, [], old))
    lines.insert(min(at, len(lines)), b"typed in the middle")
    data = b"\n".join(lines)
    hashes = [line_hash(line) for line in old]
    after = weave(data, hashes, new)
    kept = split(without_own(data, hashes))
    rest = iter(split(after))
    assert all(line in rest for line in kept)
    assert len(split(after)) == len(kept) + len(new)


def _memory(number: int, text: str, confidence: float) -> Memory:
    sighting = Sighting("claude", str(number), "", "user_explicit", confidence, f"2026-11-{number % 28 + 1:02}")
    line = memory_line(text)
    return Memory(
        f"m{number}", CATEGORIES[number % 5], text, confidence, "", "", "x.md", line, line_hash(line), "", (),
        (sighting,), (),
    )  # fmt: skip


@given(
    people=PEOPLE,
    texts=st.lists(st.text(min_size=1, max_size=80), max_size=40),
    max_lines=st.integers(1, 30),
    max_bytes=st.integers(10, 1500),
    seed=st.integers(0, 99),
)
def test_the_index_keeps_its_limits_cuts_whole_lines_and_ignores_the_order(
    people: bytes, texts: list[str], max_lines: int, max_bytes: int, seed: int
) -> None:
    memories = [_memory(n, text, n % 10 / 10) for n, text in enumerate(texts)]
    room = Room(people, max_lines, max_bytes)
    block = index_block(memories, room)
    shuffled = random.Random(seed).sample(memories, len(memories))
    assert replace(index_block(shuffled, room), left_out=block.left_out) == block
    woven = weave(people, [], block.lines)
    assert line_count(woven) <= max(max_lines, line_count(people))
    assert len(woven) <= max(max_bytes, len(people))
    if block.left_out and not block.lines:
        assert block.warning
    shown = {entry.ref for entry in block.entries}
    assert sorted([*(m.id for m in memories if m.id in shown), *block.left_out]) == sorted(m.id for m in memories)


@given(values=st.lists(st.floats(0, 2), max_size=20), seed=st.integers(0, 99), known=st.integers(0, 20))
def test_a_line_stands_below_no_other_that_it_outdoes_and_moves_for_nothing_less(
    values: list[float], seed: int, known: int
) -> None:
    names = [str(n) for n in range(len(values))]
    worth = dict(sorted(zip(names, values, strict=True), key=lambda one: -one[1]))
    before = random.Random(seed).sample(names, len(names))[:known]
    order = in_order(before, worth)
    assert sorted(order) == sorted(names)
    assert all(worth[low] <= worth[high] + MARGIN for n, low in enumerate(order) for high in order[:n])
    assert in_order(order, worth) == order
    best = list(worth)
    nudged = {name: worth[name] + random.Random(name).uniform(-0.49, 0.49) * MARGIN for name in best}
    assert in_order(best, dict(sorted(nudged.items(), key=lambda one: -one[1]))) == best


@given(one=TEXTS, other=TEXTS)
def test_likeness_is_mutual_and_every_text_is_like_itself(one: str, other: str) -> None:
    assert is_same(one, one)
    assert is_same(one, other) == is_same(other, one)


CANDIDATES = st.lists(
    st.tuples(
        TEXTS,
        st.sampled_from(CATEGORIES),
        st.sampled_from(["user_explicit", "assistant", "command_outcome"]),
        st.sampled_from([0.4, 0.7, 0.95]),
        st.sampled_from(["", "pref:a", "pref:b"]),
        st.sampled_from(["1", "2", "3"]),
        st.integers(1, 9),
    ),
    max_size=12,
)


@settings(max_examples=150)
@given(first=CANDIDATES, second=CANDIDATES, seed=st.integers(0, 99))
def test_every_memory_and_candidate_is_accounted_for_once_in_any_order(
    first: list[tuple[str, ...]], second: list[tuple[str, ...]], seed: int
) -> None:
    state = orient({}, Book())
    known = [_memory(n, item[0], 0.9) for n, item in enumerate(first)]
    state = type(state)(Book({m.id: m for m in known}), {}, tuple(known), (), (), (), ())
    candidates = [_candidate(n, *item) for n, item in enumerate(second)]  # pyright: ignore[reportArgumentType]
    unproven = {c.id: "gone" for c in candidates[::5]}
    gathered = gather(state.book, candidates, lambda _: unproven)
    operations = consolidate(state, gathered, accept_confidence=0.6)
    validate(operations, state, gathered)
    assert lost_share(operations, state) == (0, 0.0)
    shuffled = gather(
        state.book,
        random.Random(seed).sample(candidates, len(candidates)),
        lambda _: unproven,
    )
    assert consolidate(state, shuffled, accept_confidence=0.6) == operations


def _candidate(
    number: int, text: str, category: str, origin: str, confidence: float, key: str, value: str, day: int
) -> Candidate:
    session = SessionRef("claude", f"s{number % 4}", "/s")
    evidence = (Evidence("/s", "", number, 1, f"{number:064}"),)
    return Candidate(
        f"{number:016}", category, text, confidence, origin, "t", session, evidence,  # type: ignore[arg-type]
        f"2026-11-0{day}", key, value if key else "",
    )  # fmt: skip


def test_many_dreams_never_touch_what_a_person_wrote(tmp_path: Path) -> None:
    chance = random.Random(1)
    house = House(tmp_path)
    house.memory.mkdir(parents=True)
    typed = b"# Mine\r\n\r\n- one\r\n\xff\xfe\r\nno newline"
    for name in ("MEMORY.md", "preferences.md"):
        (house.memory / name).write_bytes(typed)
    for number in range(12):
        house.extract(*(house.candidate(chance.choice(WORDS[2:]) + f" {n}", session=f"{number}{n}") for n in range(3)))
        house.dream()
        house.clock.advance(days=1)
    for name in ("MEMORY.md", "preferences.md"):
        rest = iter(split((house.memory / name).read_bytes()))
        assert all(line in rest for line in split(typed))
