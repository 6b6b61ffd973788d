"""``slowwave review``: doubted facts of the miners and of a model, there and back through every answer."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowwave.cli import main, review
from slowwave.cli.review import Sitting
from slowwave.jobs.review import Desk
from slowwave.memory import RETRACTS, Candidate
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates, reconcile
from slowwave.memory.folder import MemoryFolder, visible_files
from slowwave.settings import Settings
from tests.unit.consolidation.dreams import House

DOUBT = "perhaps somebody else's words"
RULE, OTHER = "Always use quartz as the package registry", "Never push on Fridays"
REWORDED = "Quartz is the registry of the web packages only"
EXTRACTORS = ["offline/4:preference", "model/small/2"]
Review = Callable[..., str]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def memory(house: House, capsys: pytest.CaptureFixture[str]) -> Review:
    def run(*arguments: str, code: int = 0) -> str:
        assert main(["memory", arguments[0], "--memory", str(house.memory), *arguments[1:]]) == code
        captured = capsys.readouterr()
        return captured.out or captured.err

    return run


def doubted(house: House, extractor: str, text: str = RULE, session: str = "s1", **more: Any) -> Candidate:
    candidate = house.candidate(text, session=session, **more)
    return msgspec.structs.replace(candidate, id=f"{candidate.id[:-1]}d", extractor=extractor, doubt=DOUBT)


def waiting(memory: Review) -> list[dict[str, Any]]:
    return [json.loads(line) for line in memory("review", "--json").splitlines()]


def active(house: House) -> list[str]:
    return [m.text for m in read_book(house.memory).active]


def next_nights(house: House, extractor: str) -> None:
    """Let the rule come back in each way: doubted, from the other extractor, and as the person's certain word."""
    for number, other in enumerate((extractor, *EXTRACTORS)):
        house.extract(doubted(house, other, session=f"again{number}"))
        house.dream()
    house.extract(house.candidate(RULE.upper(), session="sure", confidence=0.95))
    house.dream()


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_doubted_fact_waits_in_no_file_with_its_reason_and_its_evidence(
    house: House, memory: Review, extractor: str
) -> None:
    house.extract(doubted(house, extractor), house.candidate(OTHER, session="s2"))
    house.dream()
    assert active(house) == [OTHER]
    assert not any(RULE.encode() in data for data in visible_files(house.memory).values())
    (row,) = waiting(memory)
    assert (row["text"], row["reason"]) == (RULE, f"{DOUBT}: waits for a person")
    assert row["evidence"][0]["quote"] == RULE[:40]
    assert RULE in memory("review", "show", row["id"])


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_doubted_fact_that_was_accepted_is_a_memory_and_stays_one(
    house: House, memory: Review, extractor: str
) -> None:
    house.extract(doubted(house, extractor))
    house.dream()
    before = visible_files(house.memory)
    (row,) = waiting(memory)
    dream = json.loads(memory("review", "accept", row["id"], "--json"))["dream"]
    assert active(house) == [RULE]
    after = visible_files(house.memory)
    house.dream()
    assert (active(house), visible_files(house.memory)["MEMORY.md"]) == ([RULE], after["MEMORY.md"])
    assert "Nothing waits for you." in memory("review")
    memory("undo", dream)
    assert visible_files(house.memory) == before
    assert active(house) == []


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_doubted_fact_that_was_rejected_is_gone_in_every_later_night(
    house: House, memory: Review, extractor: str
) -> None:
    house.extract(doubted(house, extractor))
    house.dream()
    (row,) = waiting(memory)
    memory("review", "reject", row["id"])
    assert "Nothing waits for you." in memory("review")
    next_nights(house, extractor)
    assert active(house) == []
    assert "Nothing waits for you." in memory("review")
    assert not any(RULE.encode().lower() in data.lower() for data in visible_files(house.memory).values())


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_doubted_fact_that_was_edited_says_what_the_person_said_and_nothing_else(
    house: House, memory: Review, extractor: str
) -> None:
    house.extract(doubted(house, extractor))
    house.dream()
    (row,) = waiting(memory)
    memory("review", "edit", row["id"], REWORDED)
    assert active(house) == [REWORDED]
    next_nights(house, extractor)
    assert active(house) == [REWORDED]
    (kept,) = read_book(house.memory).active
    assert {e.path for e in kept.evidence} >= {str(house.folder / "s1.jsonl")}
    assert "Nothing waits for you." in memory("review")


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_doubted_repetition_of_what_holds_already_asks_nobody(
    house: House, memory: Review, extractor: str, *, is_first: bool
) -> None:
    one, other = house.candidate(RULE, confidence=0.9), doubted(house, extractor, session="s2")
    house.extract(*([one, other] if is_first else [one]))
    house.dream()
    if not is_first:
        house.extract(other)
        house.dream()
    (kept,) = read_book(house.memory).active
    assert (kept.text, kept.confidence, len(kept.evidence)) == (RULE, 0.9, 1)
    assert "Nothing waits for you." in memory("review")
    before = visible_files(house.memory)
    house.dream()
    assert visible_files(house.memory)["MEMORY.md"] == before["MEMORY.md"]


@pytest.mark.parametrize("verb", ["accept", "edit", "reject"])
def test_every_decision_can_be_taken_back_and_then_waits_again_in_later_nights(
    house: House, memory: Review, verb: str
) -> None:
    house.extract(doubted(house, EXTRACTORS[0]), house.candidate(OTHER, session="s2"))
    house.dream()
    before, (row,) = visible_files(house.memory), waiting(memory)
    words = [REWORDED] if verb == "edit" else []
    told = json.loads(memory("review", verb, row["id"], *words, "--json"))
    assert "Nothing waits for you." in memory("review")
    (anew,) = re.findall(
        r"^To (\w+) it again: slowwave memory (.*)$", memory("review", "undo", told["dream"]), re.MULTILINE
    )
    assert anew[0] == ("reject" if verb == "reject" else "have")
    assert visible_files(house.memory) == before
    assert [r["id"] for r in waiting(memory)] == [row["id"]]
    memory(*anew[1].split())  # what the hint names works, of each decision
    assert "Nothing waits for you." in memory("review")
    memory("undo", told["dream"])
    house.dream()
    assert active(house) == [OTHER]
    assert [r["id"] for r in waiting(memory)] == [row["id"]]
    assert "already" in memory("review", "undo", told["dream"], code=3) or verb == "reject"
    # and decided anew, in the same words
    memory("review", verb, row["id"], *words)
    assert active(house) == {"accept": [OTHER, RULE], "edit": [OTHER, REWORDED], "reject": [OTHER]}[verb]


def test_a_waiting_line_that_a_rejection_took_out_stands_there_again_when_it_is_undone(
    house: House, memory: Review
) -> None:
    house.extract(house.candidate("The cache is slow", session="c", category="project", confidence=0.52))
    house.dream()
    before = visible_files(house.memory)
    assert b"The cache is slow" in before["extracted.md"]
    (row,) = waiting(memory)
    told = json.loads(memory("review", "reject", row["id"], "--json"))
    assert b"The cache is slow" not in visible_files(house.memory)["extracted.md"]
    memory("undo", told["dream"])
    assert visible_files(house.memory)["extracted.md"] == before["extracted.md"]
    house.dream()
    assert [r["id"] for r in waiting(memory)] == [row["id"]]


def test_what_only_waits_for_evidence_is_counted_and_not_put_before_a_person(house: House, memory: Review) -> None:
    house.extract(
        doubted(house, EXTRACTORS[0]),
        house.candidate("The cache is slow", session="c", category="project", confidence=0.45),
        house.candidate("Perhaps the cache is a queue", session="d", category="project", confidence=0.1),
    )
    house.dream()
    shown = memory("review")
    assert RULE in shown
    assert "The cache is slow" not in shown
    how = f"slowwave review list --all --memory {house.memory} shows them, too"
    assert shown.splitlines()[-1] == f"3 facts wait: 1 for you, 2 for more sessions; {how}"
    every = memory("review", "list", "--all")
    for least, text in ((55, "The cache is slow"), (20, "Perhaps the cache is a queue")):
        why = f"Fewer than {least} in 100 facts like it are worth keeping: it waits for more sessions (1):"
        assert f"  {why}\n  - p: {text}\n" in every
    assert every.splitlines()[-1] == "3 facts wait: 1 for you, 2 for more sessions"
    assert [row["is_worth_it"] for row in waiting(memory)] == [True, False]
    rows = [json.loads(line) for line in memory("review", "list", "--all", "--json").splitlines()]
    assert [row["why"].partition(" in")[0] for row in rows[1:]] == ["fewer than 55", "fewer than 20"]
    unsure = memory("review", "show", rows[2]["id"])
    assert "why it waits: fewer than 20 in 100 facts" in unsure


def test_where_nothing_waits_for_a_person_what_waits_for_sessions_is_listed_all_the_same(
    house: House, memory: Review
) -> None:
    house.extract(house.candidate("Perhaps the cache is a queue", session="d", category="project", confidence=0.1))
    house.dream()
    how = f"slowwave review list --all --memory {house.memory} shows it, too"
    assert memory("review", "list") == f"Nothing waits for you.\n1 fact waits for more sessions; {how}\n"
    every = memory("review", "list", "--all").splitlines()
    assert every[0] == "Nothing waits for you. What waits for more sessions:"  # at the head, not below what waits
    assert every[2] == "  - p: Perhaps the cache is a queue"
    assert len(memory("review", "list", "--all", "--json").splitlines()) == 1


def desk(house: House) -> Desk:
    folder = MemoryFolder("-p", house.memory, (house.folder,))
    return Desk([folder], Settings(), {"HOME": str(house.root), "XDG_STATE_HOME": str(house.root / "s")}, house.clock)


def sit(house: House, keys: str, line: str = "") -> int:
    """Answer with these keys, one after the other."""
    left = iter(keys)
    return Sitting(desk(house), lambda _: next(left), lambda _prompt, _text: line).go(desk(house).waiting(every=False))


def test_a_person_goes_through_what_waits_with_the_evidence_around_it(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.extract(doubted(house, EXTRACTORS[0]), doubted(house, EXTRACTORS[0], OTHER, "s2"))
    house.dream()
    assert sit(house, "la") == 5
    shown = capsys.readouterr().out
    assert "1 of 2" in shown
    assert DOUBT in shown
    assert str(house.folder / "s1.jsonl") in shown
    assert "1 decided, 1 left." in shown
    assert len(active(house)) == 1


def test_a_person_rewords_rejects_undoes_and_leaves(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.extract(doubted(house, EXTRACTORS[0]), doubted(house, EXTRACTORS[0], OTHER, "s2"))
    house.dream()
    assert sit(house, "xruq") == 5  # a key that means nothing, reject, undo, quit
    shown = capsys.readouterr().out
    assert "accept: remember it" in shown
    assert "Taken back: r" in shown
    assert "nothing" not in shown
    assert len(desk(house).waiting()) == 2
    assert sit(house, "er", REWORDED) == 0
    assert active(house) == [REWORDED]
    assert sit(house, "") == 0


def report(house: House) -> tuple[str, ...]:
    """Let one pasted message say three things and another one say one; return their ids, as review lists them."""
    first = doubted(house, EXTRACTORS[0], "Findings of the audit.\nThe queue must be drained. The cache is cold.")
    parts = ("The queue must be drained", "The cache must stay cold", "The proxy must keep its logs")
    said = [msgspec.structs.replace(first, id=f"{n}{first.id[1:]}", text=part) for n, part in enumerate(parts)]
    house.extract(*said, doubted(house, EXTRACTORS[0], OTHER, "s2", confidence=0.89))
    house.dream()
    return tuple(one.id for one in said)


def test_all_that_came_from_one_message_is_rejected_and_taken_back_together(house: House, memory: Review) -> None:
    ids = report(house)
    listed = memory("review", "list")
    assert "3 from one message, which begins: Findings of the audit." in listed
    lines = listed.splitlines()
    (at,) = [number for number, line in enumerate(lines) if "from one message" in line]
    assert sum(any(name in line for name in ids) for line in lines[at : at + 7]) == 3  # they stand together
    assert "a whole message is rejected" in memory("review", "accept", ids[0], "--message", code=2)
    for more in ([], ["--json"]):  # where nobody can be asked
        told = memory("review", "reject", ids[0], "--message", *more, code=4)
        assert "3 came from that message: nothing was rejected; --yes rejects all 3" in told
    assert len(waiting(memory)) == 4
    told = memory("review", "reject", ids[0], "--message", "--yes")
    assert "Rejected: all 3 of one message, 3 notes are never taken again" in told
    assert [row["text"] for row in waiting(memory)] == [OTHER]
    (name,) = re.findall(r"review undo (\S+)", told)
    memory("review", "undo", name)
    assert len(waiting(memory)) == 4


def test_in_a_pipe_a_message_is_told_with_all_of_its_first_line(house: House, memory: Review) -> None:
    begin = f"Findings of the audit {'of the quartz registry ' * 9}end"
    first = doubted(house, EXTRACTORS[0], f"{begin}\nThe queue must be drained. The cache is cold.")
    house.extract(*(msgspec.structs.replace(first, id=f"{n}{first.id[1:]}", text=f"Part {n} holds") for n in range(2)))
    house.dream()
    assert f"2 from one message, which begins: {begin}\n" in memory("review", "list")


def test_who_rejects_a_whole_message_is_told_before_how_much_that_is(
    house: House, memory: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, *_) = report(house)
    unsure = doubted(house, EXTRACTORS[0], "Findings of the audit.\nThe queue must be drained. The cache is cold.")
    house.extract(
        msgspec.structs.replace(unsure, id=f"9{first[1:]}", text="The disk may be full", confidence=0.5, doubt="")
    )
    house.dream()
    told = "3 from one message (4 in all; 1 more with --all), which begins: Findings"
    assert told in memory("review", "list")
    every = memory("review", "list", "--all")
    assert "3 from one message (4 in all; 1 more further below), which begins: Findings" in every
    assert "1 from one message (4 in all; 3 more above), which begins: Findings" in every  # for another reason
    inside = [line for line in every.splitlines() if line.startswith("      - ")]
    assert len(inside) == 4, "further in, so that one sees where those of one message end"
    assert f"\n  - p: {OTHER}\n" in every
    assert "--message --memory" in memory("review", "show", first)
    told = " ".join(memory("review", "show", first).split())
    assert "rejects all 4. It begins: Findings of the audit." in told
    asked: list[str] = []
    answers = iter(("", "y"))

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return next(answers)

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(review, "is_attended", lambda: True)
    assert "this rejects all 4" in memory("review", "reject", first, "--message", code=4)
    assert len(desk(house).waiting()) == 5
    assert "Rejected: all 4 of one message" in memory("review", "reject", first, "--message")
    assert asked == ["Reject all 4? [y/N] "] * 2


def test_a_person_who_goes_through_it_is_told_how_many_a_message_brought(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    report(house)
    assert sit(house, "ml") == 5
    shown = capsys.readouterr().out
    told = " ".join(shown.split())
    also = "also such as wait for more sessions"
    assert f"this and 2 more notes, {also}, came from one message; [m] rejects all 3." in told
    assert "It begins: Findings of the audit." in told
    assert "3 decided, 1 left." in shown
    assert [waits.ask.text for waits in desk(house).waiting()] == [OTHER]
    # taken back, it is asked again
    name = re.findall(r"review undo (\S+)", shown)[0]
    desk(house).take_back(name)
    assert sit(house, "mullll") == 5
    assert "0 decided, 4 left." in capsys.readouterr().out


def test_an_answer_to_what_has_changed_meanwhile_is_told_and_the_next_is_asked(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.extract(doubted(house, EXTRACTORS[0]), doubted(house, EXTRACTORS[0], OTHER, "s2"))
    house.dream()
    asked, given = desk(house).waiting(), iter("aa")
    desk(house).decide(asked[0], "reject")
    Sitting(desk(house), lambda _: next(given), lambda _prompt, _text: "").go(asked)
    assert f"{asked[0].ask.id} is a note that does not wait for you, it was rejected" in capsys.readouterr().out
    assert len(active(house)) == 1


def test_an_edit_that_changes_nothing_decides_nothing(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.extract(doubted(house, EXTRACTORS[0]))
    house.dream()
    assert sit(house, "eq", f" {RULE} ") == 5
    shown = capsys.readouterr().out
    assert "Nothing was changed, and nothing decided: [a] accepts it as it is." in shown
    assert "0 decided, 1 left." in shown
    assert active(house) == []


def test_after_a_rewording_was_taken_back_there_is_nothing_to_repair(house: House, memory: Review) -> None:
    house.extract(house.candidate(RULE, confidence=0.52))
    (row,) = waiting(memory)
    name = json.loads(memory("review", "edit", row["id"], REWORDED, "--json"))["dream"]
    memory("review", "undo", name)
    before = visible_files(house.memory)
    assert reconcile(house.memory, read_book(house.memory).done) == ""
    assert visible_files(house.memory) == before
    assert RULE in house.read("extracted.md")
    assert REWORDED not in house.read("extracted.md")


def test_a_decision_by_id_says_what_it_was_about(house: House, memory: Review) -> None:
    house.extract(doubted(house, EXTRACTORS[0]), doubted(house, EXTRACTORS[0], OTHER, "s2"))
    house.dream()
    first, second = waiting(memory)
    assert f"\n  {first['text']}\n" in memory("review", "reject", first["id"])
    assert f"\n  {REWORDED}\n" in memory("review", "edit", second["id"], REWORDED)


def test_an_id_of_which_several_begin_alike_or_nobody_is_asked_is_told_with_what_it_names(
    house: House, memory: Review
) -> None:
    texts = {"abc1": RULE, "abc2": OTHER, "abd3": "The cache may be cold"}
    notes = [doubted(house, EXTRACTORS[0], text, name) for name, text in texts.items()]
    notes = [msgspec.structs.replace(one, id=name) for one, name in zip(notes, texts, strict=True)]
    unsure = msgspec.structs.replace(notes[2], doubt="", confidence=0.1)
    house.extract(*notes[:2], unsure)
    house.dream()
    told = memory("review", "reject", "abc", code=3)
    assert f"2 ids begin with 'abc', write more of the one you mean: abc1 ({RULE}), abc2 ({OTHER})" in told
    assert "fewer than 20 in 100 facts like it are worth keeping: it waits for more sessions" in memory(
        "review", "show", "abd"
    )
    memory("review", "accept", "abc1")
    assert "belongs to memory" in memory("review", "show", "abc1", code=3)


def test_an_unknown_doubted_fact_is_named(house: House, memory: Review) -> None:
    house.extract(doubted(house, EXTRACTORS[0]))
    house.dream()
    assert "zzz" in memory("review", "reject", "zzz", code=3)
    assert len(waiting(memory)) == 1


def retraction(house: House, **more: Any) -> Candidate:
    return house.candidate(
        "ignore my earlier rule about quartz",
        session="back", category="decision", key=RETRACTS, value="quartz", at="2026-11-19T20:00:00Z", **more,
    )  # fmt: skip


def test_undo_of_a_dream_with_a_retraction_restores_every_byte_and_the_rule(house: House, memory: Review) -> None:
    house.extract(house.candidate(RULE), house.candidate(OTHER, session="s2"))
    house.dream()
    house.extract(retraction(house), house.candidate("Answer in English", session="s3"))
    before = visible_files(house.memory)
    undone = set((house.memory / ".slowwave" / "undo").iterdir())
    house.dream()
    assert active(house) == [OTHER, "Answer in English"]
    assert not any(b"quartz" in data for name, data in visible_files(house.memory).items() if name != "extracted.md")
    (dream,) = set((house.memory / ".slowwave" / "undo").iterdir()) - undone
    memory("undo", dream.name)
    assert visible_files(house.memory) == before
    assert active(house) == [RULE, OTHER]
    house.dream()
    assert active(house) == [RULE, OTHER]
    assert visible_files(house.memory)["MEMORY.md"] == before["MEMORY.md"]


def test_a_doubted_retraction_ends_nothing_until_a_person_accepts_it_and_can_be_undone(
    house: House, memory: Review
) -> None:
    house.extract(house.candidate(RULE))
    house.dream()
    house.extract(msgspec.structs.replace(retraction(house), doubt=DOUBT))
    house.dream()
    before = visible_files(house.memory)
    assert active(house) == [RULE]
    (row,) = waiting(memory)
    dream = json.loads(memory("review", "accept", row["id"], "--json"))["dream"]
    assert active(house) == []
    memory("undo", dream)
    assert (active(house), visible_files(house.memory)) == ([RULE], before)


def test_a_rejected_retraction_leaves_the_rule_in_every_later_night(house: House, memory: Review) -> None:
    house.extract(house.candidate(RULE))
    house.dream()
    house.extract(msgspec.structs.replace(retraction(house), doubt=DOUBT))
    house.dream()
    (row,) = waiting(memory)
    memory("review", "reject", row["id"])
    again = msgspec.structs.replace(retraction(house), id="e" * 16, doubt=DOUBT)
    house.extract(again)
    house.dream()
    assert active(house) == [RULE]
    assert "Nothing waits for you." in memory("review")
    assert len(read_candidates(house.memory)[0]) == 3
