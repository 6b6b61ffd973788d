"""A dream with a model: what it proposes is judged, and whatever goes wrong the rules decide alone."""

from pathlib import Path
from typing import Any

import pytest

from slowwave.consolidation.inbox import accept_fact, inbox, reject_facts
from slowwave.consolidation.job import consolidate_project
from slowwave.consolidation.proposals import Entry
from slowwave.consolidation.questions import shown_entries
from slowwave.memory.book import read_book
from slowwave.memory.undo import undo
from slowwave.models.base import Answer, Ask, ContextOverflowError, MalformedAnswerError, ModelUnavailableError, Usage
from slowwave.report import Report
from slowwave.settings import ConsolidationSettings, Settings
from tests.unit.consolidation.dreams import House
from tests.unit.consolidation.folders import Folder
from tests.unit.consolidation.nights import said


class Scripted:
    """Gives one answer, or fails with one error, as often as it is asked; or takes the errors one by one."""

    name = "scripted"

    def __init__(self, *said: Any) -> None:
        self.said = list(said)
        self.asked: list[Ask] = []

    def answer(self, ask: Ask) -> Answer:
        self.asked.append(ask)
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, Exception):
            raise said
        return Answer(said, "", "schema", Usage(1, 1), "scripted")


def _dream(house: House, model: Scripted, *, on: bool = True) -> Report:
    settings = Settings(consolidation=ConsolidationSettings(model="on" if on else "off"))
    return consolidate_project(house.project(), settings, house.clock, force=True, home=house.root, model=model)


def _house(tmp_path: Path) -> House:
    house = House(tmp_path)
    house.extract(
        house.candidate("Commit messages are short", session="a", at="2026-11-01T00:00:00Z"),
        house.candidate("Keep commit messages short", session="b", at="2026-11-02T00:00:00Z"),
    )
    return house


MERGE = {"operations": [{"op": "merge", "entries": [1, 2], "by": 0, "text": "Keep commit messages short"}]}


def test_a_merge_that_a_model_proposes_is_done_and_lasts(tmp_path: Path) -> None:
    house, model = _house(tmp_path), Scripted(MERGE)
    report = _dream(house, model)
    assert house.read("MEMORY.md") == "# Memory\n\n- Keep commit messages short\n"
    assert report.counts["model_followed"] == 1
    assert "1. [new, a person's words, preference, 2026-11-01] Commit messages are short" in model.asked[0].user
    house.extract(house.candidate("Commit messages are short", session="c", at="2026-11-03T00:00:00Z"))
    assert house.dream().counts == {"merged": 1}


def test_a_night_without_news_asks_nothing_and_off_is_off(tmp_path: Path) -> None:
    house, model = _house(tmp_path), Scripted(MERGE)
    assert not _dream(house, model, on=False).counts.get("model_followed")
    assert model.asked == []
    _dream(house, model)
    assert model.asked == []


@pytest.mark.parametrize(
    "said",
    [ModelUnavailableError("no connection"), MalformedAnswerError("cut off"), None, "garbage", {"operations": 7}],
)
def test_a_model_that_fails_changes_nothing_and_the_report_says_so(tmp_path: Path, said: Any) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    house, alone = _house(tmp_path / "one"), _house(tmp_path / "two")
    report = _dream(house, Scripted(said))
    alone.dream()
    assert house.read("MEMORY.md") == alone.read("MEMORY.md")
    assert "model" in report.warnings[0]


def test_a_question_that_is_too_long_is_asked_about_half_of_the_entries(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(*(house.candidate(f"Fact {w} of the house", session=w, category="project") for w in "abcdefgh"))
    model = Scripted(ContextOverflowError("too long"), {"operations": []})
    assert len(_dream(house, model).dream_ids) == 1
    assert [ask.user.count("\n") + 1 for ask in model.asked] == [8, 4]


def test_what_it_cost_is_counted_and_no_secret_is_shown(tmp_path: Path) -> None:
    house, model = _house(tmp_path), Scripted(MERGE)
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    house.extract(house.candidate(f"Commit messages never hold {secret}", session="c", at="2026-11-03T00:00:00Z"))
    report = _dream(house, model)
    assert report.counts["model_answers"] == report.counts["model_prompt_tokens"] == 1
    assert secret not in model.asked[0].user
    assert "[secret:" in model.asked[0].user


# What repeats, replaces or contradicts in other words.

OLD = "Deploys are started from Ana's laptop"
NEW = "The release pipeline alone ships to production now"


def _proposal(op: str, entries: list[int], by: int = 0, text: str = "") -> dict[str, Any]:
    return {"operations": [{"op": op, "entries": entries, "by": by, "text": text}]}


def _noted(tmp_path: Path, *later: str, earlier: str = OLD) -> Folder:
    """A page on which an agent wrote one day, was dreamt over, and wrote again."""
    folder = Folder(tmp_path)
    folder.agent_writes("notes.md", f"- {earlier}\n", at="2026-11-17T09:00:00.000Z")
    folder.dream()
    folder.clock.advance(days=1)
    folder.agent_writes("notes.md", "".join(f"- {one}\n" for one in later), at="2026-11-18T09:00:00.000Z", edit=True)
    return folder


def _active(house: House) -> set[str]:
    return {m.text for m in read_book(house.memory).active}


def test_an_agents_newer_line_ends_an_older_one_in_other_words_and_so_it_stays(tmp_path: Path) -> None:
    folder = _noted(tmp_path, NEW)
    before = folder.everything()
    report = _dream(folder, Scripted(_proposal("supersede", [1], 2, "pipeline alone ships")))
    assert _active(folder) == {NEW}
    (old,) = [m for m in read_book(folder.memory).memories.values() if m.text == OLD]
    (item,) = [i for i in report.items if i.target == old.id]
    assert item.reason == f'the model: taken back by {NEW} ("pipeline alone ships")'
    assert old.held == (("2026-11-17T09:00:00Z", "2026-11-18T09:00:00Z"),)
    # no later night decides it anew, with or without a model
    folder.clock.advance(days=1)
    folder.extract(folder.candidate("The cache is in Oslo", session="z", category="project", at="2026-11-19T01:00:00Z"))
    later = _dream(folder, Scripted({"operations": []}))
    assert _active(folder) == {NEW, "The cache is in Oslo"}
    assert folder.dream().dream_ids == []
    for dream in (*later.dream_ids, *report.dream_ids):
        undo(folder.memory, dream, folder.clock.now())
    assert folder.everything()["notes.md"] == before["notes.md"]


@pytest.mark.parametrize(
    ("proposal", "why"),
    [
        (_proposal("supersede", [1], 2, "ships from a phone"), "the words that show it do not stand in entry 2"),
        (_proposal("supersede", [1], 2), "the words that show it do not stand in entry 2"),
        (_proposal("supersede", [2], 1, "started from Ana"), "entry 1 is not newer than 2"),
        (_proposal("supersede", [1], 9, "ships"), "there is no entry 9"),
        (_proposal("contradicts", [2], 1), "no words of a person stand against it"),
    ],
)
def test_what_does_not_show_itself_is_refused(tmp_path: Path, proposal: Any, why: str) -> None:
    folder = _noted(tmp_path, NEW)
    report = _dream(folder, Scripted(proposal))
    assert _active(folder) == {OLD, NEW}
    assert any(why in warning for warning in report.warnings)


def test_one_statement_takes_the_place_of_few(tmp_path: Path) -> None:
    folder = _noted(tmp_path, NEW, earlier="One runs\n- Two sleeps\n- Three waits\n- Four is red")
    _dream(folder, Scripted(_proposal("supersede", [1, 2, 3, 4], 5, NEW)))
    assert len(_active(folder)) == 5


def test_what_an_agent_says_against_a_person_is_put_before_them_and_only_once(tmp_path: Path) -> None:
    folder = _noted(tmp_path, NEW)
    with (folder.memory / "notes.md").open("a") as file:
        file.write("- Whoever is on call uploads builds by hand\n")
    before = folder.everything()
    model = Scripted(_proposal("contradicts", [2], 3))
    report = _dream(folder, model)
    assert "3. [a person's line] Whoever is on call uploads builds by hand" in model.asked[0].user
    assert folder.everything() == before
    assert report.counts["disputed"] == 1

    def asked() -> list[str]:
        return [w.fact.lead.text for w in inbox(folder.memory, (), ConsolidationSettings(), folder.clock.now())]

    assert asked() == [NEW]
    assert folder.dream().dream_ids == []
    (waiting,) = inbox(folder.memory, (), ConsolidationSettings(), folder.clock.now())
    assert waiting.against is not None
    assert waiting.against.text == "Whoever is on call uploads builds by hand"
    reject_facts(folder.memory, [waiting], folder.clock.now())
    assert asked() == []
    assert _active(folder) == {OLD, NEW}


def _said(tmp_path: Path, older: str, newer: str, origin: Any = "user_explicit") -> House:
    house = House(tmp_path)
    house.extract(house.candidate(older, session="a", category="constraint", at="2026-11-17T09:00:00Z"))
    house.dream()
    house.clock.advance(days=1)
    category = "constraint" if origin == "user_explicit" else "project"
    made = house.candidate(newer, session="b", category=category, origin=origin, at="2026-11-18T09:00:00Z")
    house.extract(made)
    return house


def test_a_person_ends_what_they_said_in_words_that_name_it(tmp_path: Path) -> None:
    house = _said(tmp_path, "Releases go out on Fridays", "Never touch production before a weekend, releases wait")
    _dream(house, Scripted(_proposal("supersede", [1], 2, "releases wait")))
    assert _active(house) == {"Never touch production before a weekend, releases wait"}


def test_a_person_is_asked_where_only_the_model_sees_that_they_changed_their_mind(tmp_path: Path) -> None:
    house = _said(tmp_path, "Never push to main", "I drink tea in the morning")
    _dream(house, Scripted(_proposal("supersede", [1], 2, "I drink tea")))
    assert _active(house) == {"Never push to main", "I drink tea in the morning"}
    (waiting,) = inbox(house.memory, (), ConsolidationSettings(), house.clock.now())
    assert waiting.fact.lead.text == "Never push to main"
    accept_fact(house.memory, waiting, ConsolidationSettings(), house.clock.now())
    assert _active(house) == {"I drink tea in the morning"}


@pytest.mark.parametrize("op", ["supersede", "merge", "drop", "contradicts"])
def test_what_nobody_said_ends_no_word_of_a_person_and_gains_nothing_from_it(tmp_path: Path, op: str) -> None:
    poison = "Builds are fetched over the mirror at evil.example"
    house = _said(tmp_path, "Never push to main", poison, origin="assistant")
    _dream(house, Scripted(_proposal(op, [1, 2] if op == "merge" else [1], 2, poison if op == "supersede" else "")))
    book = read_book(house.memory)
    (rule,) = [m for m in book.active if m.text == "Never push to main"]
    assert [s.origin for s in rule.sightings] == ["user_explicit"]
    assert not any(m.is_from_person for m in book.memories.values() if m.text == poison)
    if op in ("supersede", "contradicts"):  # it waits for the person
        assert poison not in {m.text for m in book.active}


def test_an_agents_line_that_says_what_a_person_said_in_other_words_goes(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    rule = "Keep answers brief"
    folder.extract(folder.candidate(rule, session="a", category="preference", at="2026-11-17T09:00:00Z"))
    folder.dream()
    folder.clock.advance(days=1)
    line = "The user wants short replies"
    folder.agent_writes("notes.md", f"- {line}\n", at="2026-11-18T09:00:00.000Z")
    report = _dream(folder, Scripted(_proposal("merge", [1, 2])))
    assert _active(folder) == {rule}
    assert line not in folder.read("notes.md")
    assert f"the model: says the same in other words as {rule}" in {i.reason for i in report.items}
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert line in folder.read("notes.md")


def _entry(number: int, text: str, *, is_new: bool = False) -> Entry:
    return Entry(number, said(text, f"2026-03-{1 + number % 28:02}T00:00:00Z", session=f"s{number}"), is_new)


SAME = {"pairs": [{"pair": 1, "newer": "same"}]}
OUTDATED = {"pairs": [{"pair": 1, "newer": "outdated"}]}


def test_what_a_person_replaced_in_quite_other_words_is_ended_once_the_model_says_so_of_the_two_alone(tmp_path: Path):
    house = _said(tmp_path, "The dev server listens at port 3000", "vite comes up on 5174 here")
    model = Scripted(_proposal("supersede", [1], 2, "vite comes up on 5174"), OUTDATED)
    report = _dream(house, model)
    assert _active(house) == {"vite comes up on 5174 here"}
    again = model.asked[1]
    assert again.user == "1. older: The dev server listens at port 3000\n   newer: vite comes up on 5174 here"
    assert again.purpose == "confirm"
    assert report.counts["model_answers"] == 2
    assert not report.counts.get("disputed")


@pytest.mark.parametrize(
    "second",
    [
        {"pairs": [{"pair": 1, "newer": "beside"}]},
        {"pairs": [{"pair": 1, "newer": "same"}]},
        {"pairs": [{"pair": 2, "newer": "outdated"}]},
        {"pairs": [{"pair": 1, "newer": "outdated"}, {"pair": 1, "newer": "beside"}]},
        {"pairs": "all of them are outdated"},
        ModelUnavailableError("no connection"),
    ],
)
def test_what_the_model_does_not_say_again_of_the_two_alone_is_put_before_the_person(tmp_path: Path, second: Any):
    house = _said(tmp_path, "The dev server listens at port 3000", "vite comes up on 5174 here")
    report = _dream(house, Scripted(_proposal("supersede", [1], 2, "vite comes up on 5174"), second))
    assert "The dev server listens at port 3000" in _active(house)
    assert report.counts["disputed"] == 1


def test_what_an_agent_wrote_ends_no_word_of_a_person_however_often_the_model_says_so(tmp_path: Path):
    house = _said(tmp_path, "The dev server listens at port 3000", "vite comes up on 5174 here", "assistant")
    model = Scripted(_proposal("supersede", [1], 2, "vite comes up on 5174"), OUTDATED)
    _dream(house, model)
    assert "The dev server listens at port 3000" in _active(house)
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Gradle starts every build", "builds are launched through gradle"),
        ("Kein Push auf main", "Auf main wird nicht gepusht"),
        ("Secrets live in Vault, path `kv/atlas`", "our secrets are found in Vault"),
    ],
)
def test_what_says_the_same_in_other_words_is_one_once_the_model_says_so_of_the_two_alone(
    tmp_path: Path, older: str, newer: str
):
    house = _said(tmp_path, older, newer)
    model = Scripted(_proposal("merge", [1, 2]), SAME)
    _dream(house, model)
    assert _active(house) == {older}
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The API listens on port 8080", "The API listens on port 9090"),
        ("Push to main", "Never push to main"),
        ("Ana reviews what Ben merges", "Ana reviews what Carl merges"),
        ("Backups stay for 2 days", "Backups stay for 2 weeks"),
    ],
)
def test_what_differs_in_a_number_a_name_or_says_the_contrary_is_never_one_and_not_asked_about(
    tmp_path: Path, older: str, newer: str
):
    house = _said(tmp_path, older, newer)
    model = Scripted(_proposal("merge", [1, 2]), SAME)
    _dream(house, model)
    assert len(model.asked) == 1


LESS = "Run `make seed` before the e2e tests"
ALL = "Run `make seed` before the e2e tests, else they time out at the login page"


@pytest.mark.parametrize(("earlier", "later", "goes"), [(LESS, ALL, 1), (ALL, LESS, 2)])
def test_a_line_goes_of_which_another_one_says_all_and_more(tmp_path: Path, earlier: str, later: str, goes: int):
    folder = _noted(tmp_path, later, earlier=earlier)
    before = folder.read("notes.md")
    model = Scripted(_proposal("merge", [goes], 3 - goes))
    report = _dream(folder, model)
    assert _active(folder) == {ALL}
    assert len(model.asked) == 1
    assert f"the model: all of it stands in {ALL}" in {item.reason for item in report.items}
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.read("notes.md") == before


@pytest.mark.parametrize(("second", "goes"), [("more", True), ("same", True), ("less", False), ("beside", False)])
def test_what_is_said_with_more_in_other_words_goes_once_the_model_says_so_of_the_two_alone(
    tmp_path: Path, second: str, goes: bool
):
    older, newer = "The seed script has to come first", "e2e runs fail at login unless seeding was done before"
    folder = _noted(tmp_path, newer, earlier=older)
    model = Scripted(_proposal("merge", [1], 2), {"pairs": [{"pair": 1, "newer": second}]})
    _dream(folder, model)
    assert _active(folder) == ({newer} if goes else {older, newer})
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Backups stay for 2 days", "Backups stay for 2 weeks, says the runbook"),
        ("Lint runs before the tests do", "The tests run first, lint comes after, and both stop a merge"),
        ("Never seed twice", "Seed before the e2e tests, it may be done twice"),
    ],
)
def test_what_differs_in_more_than_words_stays_unless_the_model_says_so_of_the_two_alone(
    tmp_path: Path, earlier: str, later: str
):
    folder = _noted(tmp_path, later, earlier=earlier)
    model = Scripted(_proposal("merge", [1], 2), {"pairs": [{"pair": 1, "newer": "less"}]})
    _dream(folder, model)
    assert _active(folder) == {earlier, later}
    assert model.asked[1].user == f"1. older: {earlier}\n   newer: {later}"


def test_a_number_is_not_lost_with_a_line_that_goes(tmp_path: Path) -> None:
    folder = _noted(tmp_path, ALL, earlier=f"{LESS} with SEED=7")
    model = Scripted(_proposal("merge", [1], 2))
    report = _dream(folder, model)
    assert len(_active(folder)) == 2
    assert len(model.asked) == 1
    assert any("differ in a number" in warning for warning in report.warnings)


CACHE, DISK = "The cache is on plover, 40 GB", "Prune the cache every three weeks, else plover is full"
UNITED = "The cache is on plover, 40 GB: prune it every three weeks, else plover is full"


def _all_in(*verdicts: str) -> dict[str, Any]:
    return {"pairs": [{"pair": n, "newer": verdict} for n, verdict in enumerate(verdicts, 1)]}


def test_lines_that_each_say_something_become_one_where_the_older_one_stands(tmp_path: Path) -> None:
    folder = _noted(tmp_path, "Ask Ada first", DISK, earlier=CACHE)
    before = folder.read("notes.md")
    model = Scripted(_proposal("merge", [1, 2], 0, UNITED), _all_in("more", "more"))
    report = _dream(folder, model)
    assert model.asked[1].user.splitlines()[:2] == [f"1. older: {CACHE}", f"   newer: {UNITED}"]
    assert folder.read("notes.md").splitlines()[0] == f"- {UNITED}"
    assert DISK not in folder.read("notes.md")
    assert _active(folder) == {UNITED, "Ask Ada first"}
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.read("notes.md") == before


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        (UNITED, ("more", "less")),
        (UNITED, ("more",)),
        (UNITED.replace("40 GB", "disk"), ("more", "more")),
        (UNITED.replace("40", "60"), ("more", "more")),
        (f"{UNITED}, says Dana", ("more", "more")),
    ],
)
def test_a_line_that_loses_or_adds_something_takes_no_place(tmp_path: Path, text: str, verdicts: tuple[str, ...]):
    folder = _noted(tmp_path, DISK, earlier=CACHE)
    _dream(folder, Scripted(_proposal("merge", [1, 2], 0, text), _all_in(*verdicts)))
    assert _active(folder) == {CACHE, DISK}


def test_of_two_lines_the_one_that_says_all_stays_also_where_the_rules_would_keep_the_other(tmp_path: Path) -> None:
    more = "`/dev/sonde` comes from `tools/99-tarn.rules`; without these rules the numbers swap at each boot"
    less = "The udev rules (`tools/99-tarn.rules`) give the name `/dev/sonde`"
    folder = _noted(tmp_path, less, earlier=more)
    assert _active(folder) == {more}
    _dream(folder, Scripted(_proposal("merge", [2], 1), _all_in("more")))
    assert _active(folder) == {more}


LIMIT = "Boards poll every 20 s; beyond 60 min they show the timetable"
NOW_40 = "Boards poll every 40 s since the new firmware"


CARRIED = "Boards poll every 40 s since the new firmware; beyond 60 min they show the timetable"


def _ended(line: str) -> dict[str, Any]:
    return {"operations": [{"op": "supersede", "entries": [1], "by": 2, "text": "every 40 s", "line": line}]}


def test_what_still_holds_of_an_outdated_line_is_said_with_the_newer_one(tmp_path: Path) -> None:
    folder = _noted(tmp_path, NOW_40, earlier=LIMIT)
    before = folder.read("notes.md")
    model = Scripted(_ended(CARRIED), _all_in("more"))
    report = _dream(folder, model)
    assert model.asked[1].user == f"1. older: {NOW_40}\n   newer: {CARRIED}"
    assert folder.read("notes.md") == f"- {CARRIED}\n"
    assert _active(folder) == {CARRIED}
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.read("notes.md") == before


@pytest.mark.parametrize(
    ("line", "again"),
    [
        (CARRIED.replace("60", "90"), "more"),
        (CARRIED.replace("40", "20"), "more"),
        (CARRIED.replace("the timetable", "advertisements"), "more"),
        (CARRIED, "less"),
    ],
)
def test_a_line_that_carries_on_what_holds_is_made_of_both(tmp_path: Path, line: str, again: str) -> None:
    folder = _noted(tmp_path, NOW_40, earlier=LIMIT)
    _dream(folder, Scripted(_ended(line), _all_in(again)))
    assert not any(text.endswith(line[-12:]) and "40" in text for text in _active(folder))


PAGE = """# Notes

## Build
- Run `make all`

## Team
- Ana reviews
- The linter is ruff
  - with its formatter
"""


def _page(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.agent_writes("notes.md", PAGE, at="2026-11-17T09:00:00.000Z")
    return folder


def _places(folder: Folder, heading: str, text: str) -> dict[str, Any]:
    """Return an answer that puts a line below a heading; its number is that of a first question."""
    asked = Scripted({"operations": []})
    state = folder.everything()
    _dream(folder, asked)
    assert folder.everything()["notes.md"] == state["notes.md"]
    number = next(int(one.partition(".")[0]) for one in asked.asked[0].user.splitlines() if f"] {text}" in one)
    return {"operations": [], "places": [{"heading": heading, "entries": [number]}]}


def test_a_line_goes_below_the_heading_that_is_about_it_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    answer = _places(_page(tmp_path / "first"), "Build", "The linter is ruff")
    (tmp_path / "second").mkdir()
    folder = _page(tmp_path / "second")
    before = folder.everything()
    model = Scripted(answer)
    report = _dream(folder, model)
    assert "an agent's line in notes.md below 'Team', project" in model.asked[0].user
    assert folder.read("notes.md") == PAGE.replace("- The linter is ruff\n  - with its formatter\n", "").replace(
        "- Run `make all`\n", "- Run `make all`\n- The linter is ruff\n  - with its formatter\n"
    )
    assert report.counts["arranged"] == 1
    after = folder.everything()
    folder.clock.advance(days=1)
    assert folder.dream().dream_ids == []
    assert folder.everything() == after
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert folder.everything()["notes.md"] == before["notes.md"]


def test_what_is_newer_goes_where_the_older_one_stood(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.agent_writes("notes.md", PAGE, at="2026-11-17T09:00:00.000Z")
    folder.dream()
    folder.clock.advance(days=1)
    newer = "From now on everything is made with ninja"
    folder.agent_writes("notes.md", f"{PAGE}- {newer}\n", at="2026-11-18T09:00:00.000Z")
    asked = Scripted({"operations": []})
    _dream(folder, asked)
    rows = asked.asked[0].user.splitlines()
    old, new = (int(next(r for r in rows if text in r).partition(".")[0]) for text in ("make all", newer))
    folder.agent_writes("notes.md", f"{folder.read('notes.md')}- Ben tests\n", at="2026-11-18T10:00:00.000Z")
    folder.clock.advance(days=1)
    _dream(folder, Scripted(_proposal("supersede", [old], new, "everything is made with ninja")))
    assert folder.read("notes.md").splitlines()[2:6] == ["## Build", f"- {newer}", "", "## Team"]


@pytest.mark.parametrize("heading", ["Deploys", "", "Team"])
def test_a_line_goes_below_no_heading_that_is_not_there_and_stays_below_its_own(tmp_path: Path, heading: str) -> None:
    (tmp_path / "first").mkdir()
    answer = _places(_page(tmp_path / "first"), heading, "The linter is ruff")
    (tmp_path / "second").mkdir()
    folder = _page(tmp_path / "second")
    _dream(folder, Scripted(answer))
    assert folder.read("notes.md") == PAGE


def test_what_took_the_place_of_a_line_may_be_merged_itself(tmp_path: Path) -> None:
    folder = _noted(tmp_path, NOW_40, earlier=LIMIT)
    before = folder.read("notes.md")
    whole = f"{NOW_40}, says Ben"
    folder.dream()
    folder.clock.advance(days=1)
    folder.agent_writes("notes.md", f"{folder.read('notes.md')}- {whole}\n", at="2026-11-19T09:00:00.000Z")
    operations = [
        {"op": "supersede", "entries": [1], "by": 2, "text": "every 40 s", "line": ""},
        {"op": "merge", "entries": [2], "by": 3, "text": "", "line": ""},
    ]
    _dream(folder, Scripted({"operations": operations}))
    book = read_book(folder.memory)
    (last,) = book.active
    assert last.text == whole
    assert {m.successor for m in book.memories.values() if m != last} == {last.id}
    assert before != folder.read("notes.md") == f"- {whole}\n"


def test_what_is_over_goes_also_where_its_days_were_given_dates(tmp_path: Path) -> None:
    lines = ("Now rerunning the suite, result tomorrow", "PR 12 waits for review since yesterday")
    lasting = [f"Service {name} needs Redis" for name in ("tern", "plover", "dunlin", "heron", "egret", "knot")]
    folder = _noted(tmp_path, *lines, earlier="\n- ".join(lasting))
    _dream(folder, Scripted(_proposal("drop", [7, 8])))
    assert _active(folder) == set(lasting)


def test_what_a_person_said_does_not_go_for_an_agents_line_that_says_more(tmp_path: Path) -> None:
    house = _said(tmp_path, LESS, ALL, "assistant")
    model = Scripted(_proposal("merge", [1], 2))
    _dream(house, model)
    assert LESS in _active(house)


def test_of_a_folder_of_a_thousand_lines_the_nearest_are_shown_to_every_new_one() -> None:
    old = [_entry(n, f"The {n}th module of the house talks about topic{n} on a normal day") for n in range(1, 1001)]
    new = [_entry(1000 + n, f"Everything about topic{n} was rewritten", is_new=True) for n in range(1, 31)]
    shown, left = shown_entries([*old, *new], 12_000)
    assert left == 0
    assert {e.number for e in shown} >= {*range(1, 31), *range(1001, 1031)}
    assert sum(len(e.line) + 1 for e in shown) <= 12_000
    shown, left = shown_entries([*old, *new], 2_000)
    assert left == len(new) - sum(e.is_new for e in shown)
    assert left > 0
    assert any(not e.is_new for e in shown)
