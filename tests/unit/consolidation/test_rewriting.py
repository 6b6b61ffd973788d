"""A model writes lines for memories: what it writes is taken only whole, and every line rests on what was said."""

from pathlib import Path
from typing import Any

import pytest

from slowwave.consolidation.inbox import accept_fact, inbox
from slowwave.consolidation.job import consolidate_project
from slowwave.memory.book import Book, read_book
from slowwave.memory.ledger import line_hash, read_ledger
from slowwave.memory.undo import undo
from slowwave.report import Report
from slowwave.retention.erase.memory import what_goes
from slowwave.settings import ConsolidationSettings, Settings
from tests.unit.consolidation.folders import Folder
from tests.unit.consolidation.test_asking import Scripted

FACTS = (
    ("The billing service listens on port 8080", "a"),
    ("The billing service needs Redis", "b"),
    ("The search service is slow on Mondays", "c"),
)
JOINED = "The billing service listens on port 8080 and needs Redis"
PAGE: dict[str, Any] = {"operations": [], "lines": [{"text": JOINED, "entries": [1, 2]}], "as_they_are": [3]}
BARE = [f"- {text}" for text, _ in FACTS]


def _folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    days = {"a": "01", "b": "02", "c": "03"}
    folder.extract(
        *(folder.candidate(t, session=s, category="project", at=f"2026-11-{days[s]}T10:00:00Z") for t, s in FACTS)
    )
    return folder


def _dream(folder: Folder, *said: Any, **settings: Any) -> tuple[Report, Scripted]:
    model = Scripted(*said)
    made = Settings(consolidation=ConsolidationSettings(**settings))
    report = consolidate_project(folder.project(), made, folder.clock, force=True, home=folder.root, model=model)
    folder.clock.advance(days=1)
    return report, model


def _bullets(folder: Folder, name: str = "MEMORY.md") -> list[str]:
    return sorted(line for line in folder.read(name).splitlines() if line.startswith("- "))


def _book(folder: Folder) -> Book:
    return read_book(folder.memory)


def test_a_line_says_several_memories_and_the_ledger_knows_which(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    before = folder.everything()
    report, model = _dream(folder, PAGE)
    assert _bullets(folder) == [f"- {JOINED}", BARE[2]]
    assert report.counts["phrased"] == 1
    said = next(e for e in read_ledger(folder.memory) if e.event == "phrase")
    texts = {m.id: m.text for m in _book(folder).active}
    assert sorted(texts[one] for one in said.memories) == [FACTS[0][0], FACTS[1][0]]
    assert len(texts) == 3
    assert not any(one in folder.read("MEMORY.md") for one in texts)
    assert len(model.asked) == 1
    # twice is once
    files = folder.everything()
    report, model = _dream(folder, PAGE)
    assert (report.dream_ids, model.asked, folder.everything()) == ([], [], files)
    undo(folder.memory, _book(folder).dreams[0], folder.clock.now())
    assert folder.everything() == before


BROKEN: list[tuple[dict[str, Any], str]] = [
        ({"lines": [{"text": JOINED, "entries": []}]}, "rests on nothing"),
        ({"lines": [{"text": JOINED, "entries": [1, 9]}]}, "rests on nothing"),
        ({"lines": "no list"}, "rests on nothing"),
        ({"lines": [{"text": JOINED}, 7]}, "rests on nothing"),
        ({"as_they_are": []}, "entry 3 is left out without a reason"),
        ({"lines": [{"text": JOINED.replace("8080", "9090"), "entries": [1, 2]}]}, "a number or a name"),
        ({"lines": [{"text": "The billing service needs Redis and a port", "entries": [1, 2]}]}, "number or a name"),
        ({"lines": [{"text": f"{JOINED[:50]} Redis, says Dana", "entries": [1, 2]}]}, "number or a name"),
        ({"lines": [{"text": JOINED.replace("needs", "never needs"), "entries": [1, 2]}]}, "adds or leaves out a no"),
        ({"lines": [{"text": "See the port 8080 of Redis", "entries": [1, 2]}]}, "does not say what it rests on"),
        ({"lines": [{"text": f"{JOINED}, {'which is well known here ' * 4}", "entries": [1, 2]}]}, "longer than"),
        (
            {"lines": [{"text": JOINED, "entries": [1, 2]}, {"text": FACTS[1][0], "entries": [2]}]},
            "stands in two lines",
        ),
        (
            {"lines": [{"text": "The billing service needs Redis ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
                        "entries": [2]}], "as_they_are": [1, 3]},
            "secret",
        ),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "why"), BROKEN)
def test_a_page_or_a_line_that_breaks_a_rule_is_refused_and_that_of_the_rules_stands(
    tmp_path: Path, answer: dict[str, Any], why: str
) -> None:
    folder = _folder(tmp_path)
    report, _ = _dream(folder, PAGE | answer)
    assert sorted(_bullets(folder)) == sorted(BARE)
    is_whole = any(reason in why for reason in ("rests on nothing", "left out without", "stands in two lines"))
    assert ("the model's page was refused" if is_whole else "not taken") in report.warnings[0]
    assert why in report.warnings[0]
    assert not _book(folder).phrases


def test_a_line_that_breaks_a_rule_costs_no_other_line(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    slow = {"text": "The search service is slow on 3", "entries": [3]}
    report, _ = _dream(folder, {"operations": [], "lines": [*PAGE["lines"], slow]})
    assert _bullets(folder) == [f"- {JOINED}", BARE[2]]
    assert "1 line of the model's page not taken: the line adds or leaves out a number" in report.warnings[0]


def test_a_line_lasts_as_long_as_what_it_rests_on_says_the_same(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    _dream(folder, PAGE)
    folder.extract(folder.candidate(FACTS[0][0], session="d", category="project", at="2026-11-20T10:00:00Z"))
    assert folder.dream().counts == {"merged": 1, "kept": 2}
    assert f"- {JOINED}" in _bullets(folder)
    folder.clock.advance(days=1)
    newer = "The billing service listens on port 9090"
    folder.extract(folder.candidate(newer, session="e", category="project", at="2026-11-21T10:00:00Z"))
    assert folder.dream().counts["superseded"] == 1
    assert sorted(_bullets(folder)) == sorted([f"- {newer}", BARE[1], BARE[2]])


def test_a_person_who_rewords_or_deletes_a_line_does_so_to_all_that_it_says(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    _dream(folder, PAGE)
    index = folder.memory / "MEMORY.md"
    index.write_text(index.read_text().replace("needs Redis", "needs Redis 7"))
    folder.dream()
    assert [m.status for m in _book(folder).memories.values()] == ["edited-by-person"] * 2 + ["active"]
    assert f"- {JOINED} 7" in _bullets(folder)
    (tmp_path / "other").mkdir()
    folder = _folder(tmp_path / "other")
    _dream(folder, PAGE)
    index = folder.memory / "MEMORY.md"
    index.write_text(index.read_text().replace(f"- {JOINED}\n", ""))
    folder.dream()
    assert [m.status for m in _book(folder).memories.values()] == ["removed-by-person"] * 2 + ["active"]


def test_a_line_that_has_no_room_stands_on_the_page_and_comes_back(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    folder.page("MEMORY.md", "- my own\n" * 200)
    _dream(folder, PAGE)
    assert _bullets(folder, "project.md") == [f"- {JOINED}", BARE[2]]
    assert folder.dream().dream_ids == []
    folder.page("MEMORY.md", "- my own\n")
    folder.dream()
    assert _bullets(folder) == [f"- {JOINED}", BARE[2], "- my own"]


def test_lines_of_others_and_words_that_a_person_chose_stay(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.agent_writes("notes.md", f"{BARE[0]}\n")
    folder.extract(folder.candidate(FACTS[1][0], session="b", category="project"))
    report, _ = _dream(folder, {"operations": [], "lines": [{"text": JOINED, "entries": [1, 2]}]})
    assert "somebody else's" in report.warnings[0]
    assert _bullets(folder, "notes.md") == BARE[:1]
    assert BARE[1] in _bullets(folder)


def test_what_an_agent_left_in_the_index_is_shown_and_said_anew_where_it_stands(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.agent_writes("MEMORY.md", "".join(f"{one}\n" for one in BARE))
    with (folder.memory / "MEMORY.md").open("a") as file:
        file.write("- my own\n")
    before = folder.everything()
    merge = {"operations": [{"op": "merge", "entries": [2, 3], "by": 0, "text": JOINED}]}
    again = {"pairs": [{"pair": 1, "newer": "more"}, {"pair": 2, "newer": "more"}]}
    report, model = _dream(folder, merge, again)
    assert all(f"an agent's line in MEMORY.md, project, 2026-11-17] {text}" in model.asked[0].user for text, _ in FACTS)
    assert "[a person's line] my own" in model.asked[0].user
    assert folder.read("MEMORY.md").splitlines() == [f"- {JOINED}", BARE[2], "- my own"]
    assert {m.text for m in _book(folder).active} == {JOINED, FACTS[2][0]}
    # nobody is asked again without news
    files = folder.everything()
    later, model = _dream(folder, PAGE)
    assert (later.dream_ids, model.asked, folder.everything()) == ([], [], files)
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.everything() == before


def test_an_erasure_takes_the_whole_line_and_what_is_left_waits_again(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    _dream(folder, PAGE)
    gone = what_goes(folder.memory, ["a"], lambda _: False)
    both = {m.id for m in _book(folder).active if m.text != FACTS[2][0]}
    assert gone.memories == both
    kept = next(m for m in _book(folder).active if m.text == FACTS[1][0])
    assert gone.renewed == {kept.id}
    assert gone.released == set(kept.candidates)
    assert line_hash(f"- {JOINED}") in gone.rendered


def test_an_accepted_fact_does_not_lose_the_lines_of_the_others(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    _dream(folder, PAGE)
    folder.extract(folder.candidate("The cache is cold", session="d", category="project", confidence=0.45))
    folder.dream()
    waiting = inbox(folder.memory, (), ConsolidationSettings(), folder.clock.now())[0]
    accept_fact(folder.memory, waiting, ConsolidationSettings(), folder.clock.now())
    assert f"- {JOINED}" in _bullets(folder)


def test_an_erasure_takes_every_line_of_a_piece(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    lines = ("- **Deploy**: push a tag", "  - Ada approves")
    folder.agent_writes("MEMORY.md", "".join(f"{line}\n" for line in lines))
    _dream(folder, PAGE)
    (piece,) = _book(folder).active
    gone = what_goes(folder.memory, [piece.sightings[0].session], lambda _: False)
    assert gone.memories == {piece.id}
    assert {line_hash(line) for line in lines} <= gone.rendered
