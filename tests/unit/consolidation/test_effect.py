"""What later sessions made of the memories that were delivered to them, and what becomes of these."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import orjson
import pytest

from slowwave.cli import main
from slowwave.consolidation.effect.calls import Call as Asked
from slowwave.consolidation.effect.calls import call_of
from slowwave.consolidation.effect.demands import demand_of
from slowwave.consolidation.effect.verdicts import Told
from slowwave.consolidation.job import consolidate_project
from slowwave.consolidation.slots import key_of
from slowwave.memory.book import NEEDLESS_SESSIONS, Memory, Standing, read_book, standing_of
from slowwave.memory.delivery import Placed, Register, told_as
from slowwave.memory.effects import EFFECTS, Breach, Watched, effects_of
from slowwave.memory.ledger import Sighting
from slowwave.reading import Edited, Reading
from slowwave.report import Report
from slowwave.settings import ConsolidationSettings, Settings
from slowwave.shell.commands import commands_of
from tests.quality.rows_effect import verdicts_on
from tests.quality.timelines import Timeline, timelines, written_timelines
from tests.unit.consolidation.dreams import House
from tests.unit.consolidation.test_asking import Scripted
from tests.week.claude import write_claude
from tests.week.script import Call, Say, Script

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
        "The parser is in `src/parse.py`",
        "Be brief in commit messages",
        "pytest is slow on Windows",
        "`hero.png` shows the plain prompt; it is not the theme",
        "Never gitignore the whole .entire folder",
        "There is no root `CHANGELOG.md`, and bd has no --set-metadata flag",
        "golangci-lint rejects unchecked calls in tests; use another one instead",
        "Use composition, not inheritance wherever it reads better",
        "No console.log in code, but winston.info() or lineLength",
        "Use conventional commits, without a Co-Authored-By",
        "New tests go into tests/unit and are named *.spec.ts",
        "`go test` without `-race` is not allowed",
    ],
)
def test_what_leaves_a_doubt_demands_nothing(text: str) -> None:
    assert demand_of(memory(text)) is None


@pytest.mark.parametrize(
    ("text", "kind", "wanted", "refused"),
    [
        ("we use pnpm here, not npm", "choice", ["pnpm"], ["npm"]),
        ("Wir sind von npm auf pnpm umgestiegen", "choice", ["pnpm"], ["npm"]),
        ("use rg, grep is way too slow on this tree", "choice", ["rg"], ["grep"]),
        ("don't use go build, use make build, it sets the flags", "choice", ["make build"], ["go build"]),
        ("no `-i` with `git rebase`, because that opens an editor", "choice", [], ["git rebase -i"]),
        ("always pass --locked to cargo build", "choice", ["cargo build --locked"], ["cargo build"]),
        ("Never run `git push` without asking me", "choice", [], ["git push"]),
        ("hier bitte kein npm und kein yarn", "choice", [], ["npm", "yarn"]),
        ("the tests run with uv run pytest", "purpose", ["uv run pytest"], ["pytest"]),
        ("`make check` runs the tests", "purpose", ["make check"], []),
        ("no commit without a green make check", "gate", ["make check"], []),
        ("run the linter before you commit", "gate", ["<lint>"], []),
        ("`rails test` only works after `rails db:test:prepare`", "gate", ["rails db:test:prepare"], []),
        ("If you change Gemfile, run bundle lock afterwards", "after", ["bundle lock"], []),
        ("After `git pull` run `npm ci`", "after", ["npm ci"], []),
    ],
)
def test_a_rule_demands_what_its_words_name_and_say_of_it(
    text: str, kind: str, wanted: list[str], refused: list[str]
) -> None:
    found = demand_of(memory(text, key="", value=""))
    assert found is not None
    assert (found.kind, *map(calls, (found.wanted, found.refused))) == (kind, wanted, refused)


def calls(every: Sequence[Asked]) -> list[str]:
    return [" ".join([*sorted(c.setting), *c.words, *sorted(c.options)]) or f"<{c.topic}>" for c in every]


@pytest.mark.parametrize(
    ("text", "paths", "instead"),
    [
        ("Keep out of src/gen/, edit api.yaml", ("src/gen",), ("api.yaml",)),
        ("`dist/` is generated: never change it by hand", ("dist",), ()),
        ("no edites dist/ a mano, el código está en src/", ("dist",), ("src",)),
        ("Leave `static/` alone", ("static",), ()),
        ("db/migrations/ must not be edited", ("db/migrations",), ()),
    ],
)
def test_a_rule_says_which_files_are_not_to_be_changed(
    text: str, paths: tuple[str, ...], instead: tuple[str, ...]
) -> None:
    found = demand_of(memory(text))
    assert found is not None
    assert (found.paths, found.instead) == (paths, instead)


@pytest.mark.parametrize(
    ("command", "fits"),
    [
        ("git -C web push -f origin main", True),
        ("git push --force-with-lease", False),
        ("bash -c 'git push --force'", True),
        ("git push", False),
    ],
)
def test_a_call_is_known_whatever_else_is_given(command: str, *, fits: bool) -> None:
    call = call_of("git push --force")
    assert call is not None
    assert any(call.fits(one) for one in commands_of(command)) is fits


def _case(text: str, *steps: Say | Call) -> Timeline:
    began = datetime(2026, 9, 2, 9, tzinfo=UTC)
    asked = (Say("user", "Look at the parser."), *steps, Say("agent", "Done."))
    return Timeline("broken", "claude 2.1", "", (text,), began, began - timedelta(hours=2), asked)


@pytest.mark.parametrize("text", ["In the web folder use pnpm", "Only use `npm publish` if the tag is signed"])
def test_what_holds_under_a_condition_can_be_kept_and_not_broken(text: str) -> None:
    demand = demand_of(memory(text))
    assert demand is not None
    assert demand.is_scoped
    npm = _case("In the web folder use pnpm", Call("Bash", "npm install", ("done",)))
    assert verdicts_on(npm, 1) == {}
    assert verdicts_on(replace(npm, steps=(Call("Bash", "pnpm install", ("done",)),)), 1) == {0: "followed"}


@pytest.mark.parametrize(
    ("text", "kept", "other"),
    [
        ("We use pnpm here", "pnpm install", "./setup"),
    ],
)
def test_what_is_chosen_is_kept_by_it_and_open_beside_what_nobody_knows(text: str, kept: str, other: str) -> None:
    case = _case(text, Call("Bash", kept, ("done",)))
    assert verdicts_on(case, 1) == {0: "followed"}
    assert verdicts_on(replace(case, steps=(Call("Bash", other, ("done",)),)), 1) == {}


def test_what_an_agent_only_says_of_a_call_leaves_it_open() -> None:
    assert verdicts_on(_case("Never run `rake db:seed`", Say("agent", "I leave rake db:seed to you.")), 1) == {}
    assert verdicts_on(_case("Never run `rake db:seed`"), 1) == {0: "no occasion"}


def test_a_word_alone_that_is_refused_had_an_occasion_for_all_that_anybody_knows() -> None:
    # what runs through it is not known by its name
    assert verdicts_on(_case("Never use sudo", Call("Bash", "sudo make install", ("done",))), 1) == {}
    assert verdicts_on(_case("Use `pnpm`, never `npm`"), 1) == {0: "no occasion"}


def test_what_only_follows_from_a_wish_breaks_nothing() -> None:
    pytest_alone, asked = Call("Bash", "pytest", ("done",)), Call("Bash", "uv run pytest", ("done",))
    text = "uv run pytest, always"
    assert verdicts_on(_case(text, pytest_alone), 1) == {}
    assert verdicts_on(_case(text, pytest_alone, asked), 1) == {0: "followed"}
    named = "Use `uv run pytest`, never `pytest`"
    assert verdicts_on(_case(named, pytest_alone, asked), 1) == {0: "broken"}


@pytest.mark.parametrize("other", ["./check.sh", "make lint"])
def test_what_may_be_a_check_by_another_name_leaves_it_open(other: str) -> None:
    edit, commit = Call("Edit", "src/a.py", ("- a", "+ b")), Call("Bash", "git commit -m x", ("done",))
    text = "Run `npm run lint` before every commit"
    assert verdicts_on(_case(text, edit, Call("Bash", "git status", ("",)), commit), 1) == {0: "broken"}
    assert verdicts_on(_case(text, edit, Call("Bash", other, ("",)), commit), 1) == {}
    run = Call("Bash", "npm run lint", ("",))
    assert verdicts_on(_case(text, run, edit, commit), 1) == {}


@pytest.mark.parametrize("text", ["Never delete `deploy.yml`", "Never edit `deploy.yml`"])
def test_another_deed_or_another_file_of_the_same_name_breaks_nothing(text: str) -> None:
    edit = _case(text, Call("Edit", "deploy.yml", ("- a", "+ b")))
    assert verdicts_on(edit, 1) == ({} if "delete" in text else {0: "broken"})
    elsewhere = _case(text, Call("Edit", "samples/deploy.yml", ("- a", "+ b")))
    assert verdicts_on(elsewhere, 1) == {}


def test_what_may_be_left_out_this_time_breaks_nothing() -> None:
    steps = Call("Edit", "src/a.py", ("-a", "+b")), Call("Bash", "git commit -m x", ("done",))
    assert verdicts_on(_case("Run `make check` before every commit", *steps), 1) == {0: "broken"}
    waived = _case("Run `make check` before every commit", Say("user", "Skip the checks this time."), *steps)
    assert verdicts_on(waived, 1) == {0: "no occasion"}


def test_a_file_that_a_command_changes_in_its_place_is_changed() -> None:
    sed = Call("Bash", "sed -i s/a/b/ dist/app.js", ("",))
    assert verdicts_on(_case("Never edit `dist/`", sed), 1) == {0: "broken"}


def test_what_a_person_asked_for_breaks_nothing() -> None:
    case = next(c for c in timelines() if c.fate == "broken" and c.wish == "package manager" and c.client == "pi")
    call = next(step for step in case.steps if getattr(step, "argument", "").endswith(" install"))
    asked = Say("user", f"Just this once: {getattr(call, 'argument', '')}, please.")
    wished = replace(case, steps=(asked, *case.steps))
    assert verdicts_on(case, 1) == {0: "broken"}
    assert verdicts_on(wished, 1) == {}


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
    EFFECTS.append(tmp_path, [row(1, idle=("m1",)), row(2, idle=("m1",))])
    EFFECTS.append(tmp_path, [row(1, followed=("m1",))])
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


LINE = {
    "id": "t1", "fate": "changed meanwhile", "client": "pi", "kind": "tests",
    "memory": ["Tests: `nox`", "Tests: `tox`"],
    "delivered": "2026-09-03T09:00:00Z", "changed": "2026-09-06T09:00:00Z", "began": "2026-09-08T08:15:00Z",
    "steps": [
        {"person": "Mend it."}, {"edit": "a.py", "removed": "a", "added": "b"}, {"write": "b.py", "text": "x"},
        {"read": "c.md", "text": "# C"}, {"run": "tox", "output": "1 failed", "failed": True}, {"agent": "Done."},
    ],
    "right": ["not told", "followed"],
}  # fmt: skip


def test_a_timeline_that_somebody_wrote_is_read(tmp_path: Path) -> None:
    path = tmp_path / "timelines.jsonl"
    path.write_text(json.dumps(LINE) + "\n\n")
    (case,) = written_timelines(path)
    assert (case.name, case.fate, case.expected, len(case.steps)) == ("t1", "changed meanwhile", {1: "followed"}, 6)
    assert verdicts_on(case, 1) == case.expected


@pytest.mark.parametrize("change", [{"fate": "lost"}, {"right": ["followed"]}, {"steps": [{"sing": "x"}]}, {"more": 1}])
def test_a_line_of_another_format_is_refused_by_its_number(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "timelines.jsonl"
    path.write_text(json.dumps(LINE) + "\n" + json.dumps(LINE | change) + "\n")
    with pytest.raises(ValueError, match=r"line 2 of timelines\.jsonl"):
        list(written_timelines(path))


# What a model says of memories that rules cannot tell.

FREE = "Explain every workaround in the code with the reason for it"
SESSION = {
    "id": "t2", "fate": "followed", "client": "claude 2.1", "kind": "style", "memory": [FREE],
    "delivered": "2026-09-03T09:00:00Z", "began": "2026-09-08T08:15:00Z",
    "steps": [
        {"person": "The parser hangs."},
        {"edit": "a.py", "removed": "x", "added": "# the library leaks, so restart it"},
        {"run": "make test", "output": "all good: every workaround is explained"}, {"agent": "Mended."},
    ],
    "right": ["followed"],
}  # fmt: skip


def _untold(tmp_path: Path, **fields: object) -> Timeline:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(SESSION | fields) + "\n")
    return next(written_timelines(path))


def _effects(*said: tuple[str, str], name: str = "M0007aa") -> Scripted:
    told = [{"memory": name, "verdict": verdict, "words": words} for verdict, words in said]
    return Scripted({"operations": [], "effects": told})


def test_a_model_says_what_rules_cannot_and_is_asked_nothing_more(tmp_path: Path) -> None:
    case, model = _untold(tmp_path), _effects(("followed", "the library leaks, so restart it"))
    assert verdicts_on(case, 7) == {}
    assert verdicts_on(case, 7, model) == {0: "followed"}
    (ask,) = model.asked
    assert f"M0007aa* (constraint): {FREE}" in ask.user
    assert "changed a.py + # the library leaks, so restart it" in ask.user
    assert "effects" in ask.schema["required"]


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ([], "no occasion"),
        ([("broken", "# the library leaks")], "broken"),
        ([("followed", "so restart it"), ("broken", "the library leaks")], "broken"),
        ([("open", "")], ""),
        ([("followed", "")], ""),
        ([("followed", "words that nobody wrote")], ""),
        ([("followed", "every workaround is explained")], ""),  # a tool printed it
        ([("lifted", "so restart it")], "no occasion"),
    ],
)
def test_a_verdict_needs_words_that_stand_in_what_was_done_or_said(
    tmp_path: Path, said: list[tuple[str, str]], verdict: str
) -> None:
    assert verdicts_on(_untold(tmp_path), 7, _effects(*said)) == ({0: verdict} if verdict else {})


@pytest.mark.parametrize(
    "answer", ["null", "[]", '{"operations": [], "effects": 7}', '{"operations": [], "effects": [7]}']
)
def test_an_answer_of_another_form_tells_of_no_breach(tmp_path: Path, answer: str) -> None:
    assert verdicts_on(_untold(tmp_path), 7, Scripted(json.loads(answer))) in ({}, {0: "no occasion"})


def test_only_what_was_told_before_is_asked_about_and_rules_come_first(tmp_path: Path) -> None:
    late = _untold(tmp_path, delivered="2026-09-09T09:00:00Z", fate="delivered late")
    model = _effects(("followed", "the library leaks"))
    assert verdicts_on(late, 7, model) == {}
    assert "*" not in model.asked[0].user
    assert "effects" not in model.asked[0].schema["required"]
    ruled = _untold(tmp_path, memory=["Use pnpm, not npm"], steps=[{"run": "npm install"}, {"agent": "Done."}])
    assert verdicts_on(ruled, 7, _effects(("followed", "npm install"))) == {0: "broken"}


def test_what_another_name_or_a_model_alone_says_moves_nothing_up_that_no_person_said() -> None:
    mine, theirs = memory("Mind the gap"), memory("Mind the step", id="m2")
    theirs = replace(theirs, sightings=(Sighting("claude", "s", "/t", "user_explicit", 0.9, "2026-11-01T00:00:00Z"),))
    rows = [row(1, told=("m1", "m2")), replace_by(row(1), broken=("m1", "m2"))]
    effects = effects_of([mine, theirs], rows)
    assert [effects[name].verdict for name in ("m1", "m2")] == ["broken", "broken"]
    assert {case.by for case in effects["m1"].broken} == {"model/3:m"}
    plain, told = Standing(), Standing(effects=effects)
    assert told.worth(mine) == plain.worth(mine)
    assert told.worth(theirs) > plain.worth(theirs)
    # without the rules' row, or where they say something, it says nothing
    assert effects_of([mine, theirs], rows[1:]) == {}
    assert effects_of([mine], [row(1, followed=("m1",)), rows[1]])["m1"].verdict == "followed"


def replace_by(of: Watched, *, broken: Sequence[str] = (), **fields: tuple[str, ...]) -> Watched:
    breaches = tuple(Breach(name) for name in broken)
    return msgspec.structs.replace(of, by="model/3:m", broken=breaches, **fields)


def test_silence_of_a_model_takes_twice_as_many_sessions() -> None:
    of = replace(
        memory("Mind the gap"), sightings=(Sighting("claude", "s", "/t", "user_explicit", 0.9, "2026-11-01T00:00:00Z"),)
    )
    for number, needless in ((NEEDLESS_SESSIONS, False), (2 * NEEDLESS_SESSIONS, True)):
        rows = [r for n in range(number) for r in (row(n, told=("m1",)), replace_by(row(n), idle=("m1",)))]
        standing = Standing(now="2027-12-01T00:00:00Z", half_life=LIVES, effects=effects_of([of], rows))
        assert standing.is_needless(of) is needless


def test_a_session_that_went_on_is_judged_as_a_whole() -> None:
    first = replace_by(row(1), idle=("m1", "m2", "m3"), followed=("m4", "m5"))
    then = replace_by(row(1), idle=("m1", "m4"), followed=("m2",), broken=("m5",), told=("m3",))
    whole = then.after(first)
    assert (whole.idle, whole.followed, [b.memory for b in whole.broken], whole.told) == (
        ("m1",), ("m2", "m4"), ["m5"], ("m3",)
    )  # fmt: skip


def test_of_many_acts_those_that_name_what_a_memory_is_about_are_shown() -> None:
    items = [Edited(n, (), "", None, "/p", f"file{n}.py", added="word " * 40) for n in range(200)]
    items.append(Edited(200, (), "", None, "/p", "gap.py", added="mind the gap"))
    told = Told(row(1, told=("m1",)), [memory("Mind the gap")], Reading(list(items)), str)
    shown = told.asked({"m1": "Mab"}, ())
    assert "gap.py" in shown
    assert len(shown) < 8_000
