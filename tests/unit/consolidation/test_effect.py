"""What later sessions made of the memories that were delivered to them, and what becomes of these."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from slowwave.cli import main
from slowwave.consolidation.effect.demands import demand_of
from slowwave.consolidation.job import consolidate_project
from slowwave.extraction.keys import key_of
from slowwave.memory.book import NEEDLESS_SESSIONS, Memory, Standing, read_book, standing_of
from slowwave.memory.delivery.register import Placed, Register, told_as
from slowwave.memory.effects import Watched, append_effects, effects_of
from slowwave.memory.ledger import Sighting
from slowwave.report import Report
from slowwave.samples.claude import write_claude
from slowwave.samples.script import Call, Say, Script
from slowwave.settings import ConsolidationSettings, Settings
from tests.quality.rows_effect import verdicts_on
from tests.quality.timelines import timelines
from tests.unit.consolidation.dreams import House

LIVES = ConsolidationSettings().half_lives


def memory(text: str, **fields: object) -> Memory:
    key, value = key_of(text)
    plain = Memory(
        "m1", "constraint", text, 0.9, key, value, "constraints.md", "", "", "2026-11-01T00:00:00Z", (), (), ()
    )
    return replace(plain, **fields)  # pyright: ignore[reportArgumentType]


def row(number: int, **fields: tuple[str, ...]) -> Watched:
    began = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(days=number)
    return Watched(
        dialect="claude",
        session=f"s{number}",
        began=began.strftime("%Y-%m-%dT%H:%M:%SZ"),
        **fields,  # pyright: ignore[reportArgumentType]
    )


@pytest.mark.parametrize("fate", ["followed", "broken", "no occasion", "delivered late", "changed meanwhile"])
@pytest.mark.parametrize("client", ["claude 2.1", "cersei", "codex", "pi", "opencode"])
def test_a_planted_timeline_is_told_as_it_was(fate: str, client: str) -> None:
    case = next(
        c
        for c in timelines()
        if (c.fate, c.client) == (fate, client)
        and c.wish in ("package manager", "how tests are run", "a cure: a step before", "one call, not another")
    )
    assert verdicts_on(case, 1) == case.expected


@pytest.mark.parametrize(
    "text",
    [
        "In the web folder use pnpm",  # elsewhere another one may be right
        "Only use `npm publish` if the tag is signed",
        "The parser is in `src/parse.py`",
        "Be brief in commit messages",
        "不要用 `npm` 用 `pnpm`",  # a no that is not read
    ],
)
def test_what_leaves_a_doubt_demands_nothing(text: str) -> None:
    assert demand_of(memory(text)) is None


def test_what_a_person_asked_for_breaks_nothing() -> None:
    case = next(c for c in timelines() if c.fate == "broken" and c.wish == "package manager" and c.client == "pi")
    call = next(step for step in case.steps if getattr(step, "argument", "").endswith(" install"))
    asked = Say("user", f"Just this once: {getattr(call, 'argument', '')}, please.")
    wished = replace(case, steps=(asked, *case.steps))
    assert verdicts_on(case, 1) == {0: "broken"}
    assert verdicts_on(wished, 1) == {0: "no occasion"}


def test_what_a_person_had_to_correct_again_is_broken() -> None:
    again = Sighting("claude", "s2", "/t", "user_correction", 0.9, "2026-11-03T10:00:00Z")
    first = replace_session(again, "s0", "2026-10-30T10:00:00Z")
    of = memory("Write short commit messages", sightings=(first, again))
    effect = effects_of([of], [row(1, told=("m1",)), row(2, told=("m1",))])["m1"]
    assert [(case.session.session, case.is_said_again) for case in effect.broken] == [("s2", True)]


def replace_session(sighting: Sighting, session: str, at: str) -> Sighting:
    return Sighting(sighting.dialect, session, sighting.path, sighting.origin, sighting.confidence, at)


def test_a_broken_memory_counts_more_and_a_needless_one_leaves() -> None:
    of = memory("Use pnpm, not npm")
    sessions = [row(n, idle=("m1",)) for n in range(NEEDLESS_SESSIONS)]
    idle = Standing(now="2027-12-01T00:00:00Z", half_life=LIVES, effects=effects_of([of], sessions))
    seen = replace(of, sightings=(Sighting("claude", "s", "/t", "user_explicit", 0.9, "2026-11-01T00:00:00Z"),))
    assert idle.is_needless(seen)
    assert not replace(idle, now="2026-12-20T00:00:00Z").is_needless(seen)  # many sessions, but no long time
    kept = [*sessions, row(NEEDLESS_SESSIONS, followed=("m1",))]
    assert not replace(idle, effects=effects_of([of], kept)).is_needless(seen)


def test_a_dream_lifts_what_was_broken_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = House(tmp_path)
    texts = ("Use pnpm, not npm", "Never use tabs in YAML files")
    house.extract(*(house.candidate(text, session=f"s{n}") for n, text in enumerate(texts)))
    house.dream()
    before = house.read("MEMORY.md")
    lower = max(texts, key=before.index)
    (name,) = (m.id for m in read_book(house.memory).active if m.text == lower)
    broken = {"memory": name, "record": "r7"}
    line = {"dialect": "claude", "session": "s9", "began": "2026-11-21T08:00:00Z", "broken": [broken]}
    effects = house.memory / ".slowwave" / "effects.jsonl"
    effects.write_text(json.dumps(line) + "\n")
    house.clock.advance(hours=30)
    house.dream()
    assert min(texts, key=house.read("MEMORY.md").index) == lower
    assert standing_of(read_book(house.memory), LIVES).effects[name].verdict == "broken"
    assert main(["memory", "effect", "--memory", str(house.memory)]) == 0
    shown = capsys.readouterr().out
    assert f"{name}  broken" in shown
    assert "broken in claude s9, 2026-11-21T08:00:00Z, record r7" in shown
    assert "0 followed, 1 broken" in shown
    assert main(["memory", "effect", "--json", "--memory", str(house.memory)]) == 0
    (told,) = (json.loads(one) for one in capsys.readouterr().out.splitlines())
    assert (told["verdict"], told["broken"][0]["session"], told["text"]) == ("broken", "s9", lower)


def test_what_is_noted_twice_of_a_session_counts_once(tmp_path: Path) -> None:
    append_effects(tmp_path, [row(1, idle=("m1",)), row(2, idle=("m1",))])
    append_effects(tmp_path, [row(1, followed=("m1",))])
    book = read_book(tmp_path)
    assert [(one.session, one.followed) for one in book.watched] == [("s1", ("m1",)), ("s2", ())]


def _session(house: House, name: str, *steps: Say | Call) -> None:
    """Write a session of Claude Code 2.0, which loads no memory by itself, that began an hour ago."""
    script = Script(name, "claude 2.0", "p", 1, 0, "", "", (Say("user", "Go on."), *steps, Say("agent", "Done.")))
    written = write_claude(script, house.clock.now() - timedelta(hours=1), "/p")
    path = house.session(name)
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in next(iter(written.lines.values()))))
    house.session(name)  # as old as its last record


def test_a_night_notes_what_was_broken_once(tmp_path: Path) -> None:
    house = House(tmp_path)
    text = "Use pnpm, not npm"
    house.extract(house.candidate(text))
    house.dream()
    house.clock.advance(days=2)
    placed = Placed(
        project="-p",
        root="/p",
        memory=str(house.memory),
        clients=("claude",),
        since={told_as(text): "2026-11-20T04:00:00Z"},
    )

    def night(*, dry_run: bool = False) -> Report:
        return consolidate_project(
            house.project(), Settings(), house.clock, force=True, dry_run=dry_run, home=house.root,
            register=Register(files={"/p/CLAUDE.local.md": placed}),
        )  # fmt: skip

    _session(house, "bad", Call("Bash", "npm install", ("done",)))
    planned = night(dry_run=True)
    assert not (house.memory / ".slowwave" / "effects.jsonl").exists()
    first = night()
    assert first.counts["memories_broken"] == planned.counts["memories_broken"] == 1
    (item,) = (item for item in first.items if item.action == "broken")
    assert (item.text, "it stands higher from now on" in item.reason) == (text, True)
    house.clock.advance(days=2)
    _session(house, "good", Call("Bash", "pnpm install", ("done",)))
    second = night()
    assert (second.counts.get("memories_followed"), second.counts.get("memories_broken")) == (1, None)
    noted = (house.memory / ".slowwave" / "effects.jsonl").read_text()
    assert "npm" not in noted  # ids and times, no words
