"""What a person reads after a run."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowwave.cli.screen import MOST_ASKS, MOST_CHANGES, Screen, lines
from slowwave.jobs.conclusion import outcome_of
from slowwave.observability.lessons import Ask, Change, Dream, Kind, Learned
from slowwave.report import COUNTERS, PARKED_FOR_REVIEW, Gate, Item, Phases, Report, counted

LIBRARY = Path(__file__).parents[3] / "lib" / "slowwave"
KEY = "-home-ann-shop"


def screen(report: Report, *, dry_run: bool = False, width: int = 0) -> str:
    return "\n".join(lines(report.to_builtins(), dry_run=dry_run, screen=Screen(width)))


def change(kind: Kind, text: str, **more: Any) -> Change:
    usual: dict[str, Any] = {"project": KEY, "memory": f"m{text}", "text": text, "confidence": 0.9}
    return Change(kind=kind, **{**usual, **more})


def learned(*changes: Change, asks: list[Ask] | None = None) -> dict[str, Any]:
    dream = Dream(id="d1", project=KEY, memory="/m", at="2026-11-20T03:30:00Z", run="r1", changes=list(changes))
    return msgspec.to_builtins(Learned(list(changes), asks or [], [dream]))


def test_what_was_learned_stands_by_project_with_what_it_took_the_place_of():
    told = learned(
        change("new", "Use uv", sessions=2),
        change("replaced", "Use pnpm", before="Use npm", sessions=1),
        change("dropped", "Use make", why="taken back: no make here"),
    )
    shown = screen(Report("nightly", "r1", dream_ids=["d1"], learned=told))
    assert "shop: 1 new memory, 1 replaced, 1 dropped" in shown
    assert "new        Use uv (2 sessions)" in shown
    assert "replaced   Use pnpm (1 session)" in shown
    assert "before: Use npm" in shown
    assert "why: taken back: no make here" in shown
    assert "slowwave memory undo d1" in shown


def test_the_end_names_where_memories_lie_how_one_is_taken_out_and_whom_they_do_not_reach():
    told = learned(change("new", "Use uv"))
    shown = screen(Report("nightly", "r1", dream_ids=["d1"], learned=told))
    assert "Read it: slowwave memory list, or MEMORY.md of the project\n  /m/MEMORY.md\n" in shown
    assert "slowwave memory drop ID" in shown
    assert "slowwave install" not in shown
    not_yet = "not loaded: it reads AGENTS.md of the project, and nothing stands there yet; slowwave install writes it"
    told["reaches"] = {KEY: {"claude": "loaded: it reads MEMORY.md by itself", "codex": not_yet}}
    shown = screen(Report("nightly", "r1", dream_ids=["d1"], learned=told))
    heading = "How it reaches your agents:"
    itself = "  claude  loaded: it reads MEMORY.md by itself\n"
    assert f"  /m/MEMORY.md\n{heading}\n{itself}  codex  {not_yet}\n" in shown


def test_who_loads_the_memories_of_many_projects_is_one_line_a_client_and_reason():
    told = learned(change("new", "Use uv"))
    keys = [KEY, *(f"-home-ann-p{n}" for n in range(4))]
    told["dreams"] = [{**told["dreams"][0], "project": key, "memory": f"/{n}"} for n, key in enumerate(keys)]
    told["reaches"] = {key: {"claude": "loaded: by itself", "pi": "not loaded: gone"} for key in keys}
    told["reaches"][KEY]["claude"] = "not loaded: too old; update it"
    shown = screen(Report("nightly", "r1", dream_ids=["d1"], learned=told))
    block = shown.partition("How it reaches your agents:\n")[2].partition("\nDrop one memory")[0]
    assert block.split("\n") == [
        "  claude (4 projects)  loaded: by itself",
        "  claude (1 project)  not loaded: too old; update it",
        "  pi (5 projects)  not loaded: gone",
    ]


def test_the_end_names_the_memory_of_every_project_that_learned():
    told = learned(change("new", "Use uv"))
    told["dreams"].append({**told["dreams"][0], "project": "-home-ann-bakery", "memory": "/b"})
    shown = screen(Report("nightly", "r1", dream_ids=["d1"], learned=told))
    assert "or MEMORY.md of each project\n  /m/MEMORY.md\n  /b/MEMORY.md\n" in shown


def test_what_needs_a_person_is_short_and_says_how_many_more_there_are():
    asks = [
        Ask(kind="fact", project=KEY, id=f"c{n}", text=f"fact {n}", why="perhaps pasted", confidence=0.8)
        for n in range(MOST_ASKS + 3)
    ]
    weak = Ask(kind="fact", project=KEY, id="w", text="very nice", why="21% sure", is_worth_it=False)
    shown = screen(Report("nightly", "r1", learned=learned(asks=[*asks, weak])))
    assert f"Waiting for you: {MOST_ASKS + 3}" in shown
    assert shown.count("erhaps pasted") == 1, "what they all wait for is said once"
    assert f"Perhaps pasted ({MOST_ASKS + 3}):" in shown
    assert "and 3 more; slowwave review" in shown
    assert "%" not in shown
    assert "very nice" not in shown


def test_a_terminal_is_filled_to_its_width_and_no_word_of_it_is_cut():
    long = " ".join(f"word{n}" for n in range(60))
    told = learned(*(change("new", f"{long} {n}") for n in range(MOST_CHANGES + 2)))
    shown = screen(Report("nightly", "r1", learned=told), width=60)
    assert max(map(len, shown.splitlines())) <= 60
    assert "word59" in shown
    assert "and 2 more: slowwave nights show r1" in shown


def test_a_pipe_gets_every_memory_on_one_line():
    long = " ".join(f"word{n}" for n in range(60))
    told = learned(*(change("new", f"{long} {n}") for n in range(MOST_CHANGES + 2)))
    shown = screen(Report("nightly", "r1", learned=told))
    assert shown.count(long) == MOST_CHANGES + 2


def test_no_internal_name_of_a_counter_reaches_a_screen():
    """Whatever the library counts has words, and neither a screen nor the state of a run says anything else."""
    named = re.compile(r"\.count\(\s*\"([a-z_]+)\"|counts\.get\(\"([a-z_]+)\"|counts\[\"([a-z_]+)\"")
    found = {
        name
        for path in LIBRARY.rglob("*.py")
        for match in named.finditer(path.read_text())
        for name in match.groups()
        if name and "_" in name
    }
    assert found - set(COUNTERS) == set()
    report = Report("nightly", "r1", counts=dict.fromkeys([*COUNTERS, "new_and_unnamed"], 3))
    for text in (screen(report), screen(report, dry_run=True), outcome_of(report, dry_run=True).message):
        assert [name for name in report.counts if "_" in name and re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize(("name", "words"), [("sessions", "1 session"), ("bytes_read", "1 B of transcripts")])
def test_one_of_a_thing_is_not_told_as_several(name: str, words: str) -> None:
    assert counted(name, 1) == words
    assert [counted(name, 1) for name in COUNTERS if counted(name, 1).startswith("1 sessions")] == []


def test_a_closed_gate_is_shown_with_its_reason_and_that_there_is_nothing_to_do():
    shown = screen(Report("nightly", gates=[Gate("time", KEY, passed=False, reason="1 h since the last dream")]))
    assert "shop: 1 h since the last dream" in shown
    assert shown.endswith("Nothing to do.\nTo run it all the same: slowwave run nightly --force")


@pytest.mark.parametrize("width", [0, 80])
def test_a_project_that_was_read_and_gave_nothing_has_its_line_beside_one_that_learned(width: int):
    keys = {name: f"-home-ann-{name}" for name in ("bare", "late", "parked")}
    nothing = "1 session was read, and nothing worth a line was found"
    items = [
        Item("/m", "keep", f"nothing to do: {nothing}", keys["bare"]),
        Item("c1", "wait", "confidence 0.5 is below 0.55: waits for more evidence", keys["late"]),
        Item("c2", "wait", "confidence 0.5 is below 0.55: waits for more evidence", keys["parked"]),
        Item("/m", "skip", f"{PARKED_FOR_REVIEW}: it changes much", keys["parked"]),
    ]
    phases = dict.fromkeys((KEY, *keys.values()), Phases({}, 0, 0, 0))
    report = Report("nightly", dream_ids=["d1"], items=items, phases=phases, learned=learned(change("new", "Use uv")))
    told = "1 fact waits for more sessions"
    assert f"\n\nNo new memory:\n  bare: {nothing}\n  late: {told}\n\n" in screen(report, width=width)
    assert "Nothing to do" not in screen(report, width=width)


def test_facts_that_wait_are_told_with_whom_they_wait_for_and_of_several_projects_that_it_is_so_of_each():
    keys = ["-home-ann-a", "-home-ann-b", "-home-ann-c"]
    items = [Item(f"c{n}", "wait", "not sure enough", key) for key in keys for n in range(2)]
    ask = Ask(kind="fact", project=keys[2], id="c0", text="Use uv", why="a quotation")
    phases = dict.fromkeys((KEY, *keys), Phases({}, 0, 0, 0))
    told = learned(change("new", "Use uv"), asks=[ask])
    shown = screen(Report("nightly", dream_ids=["d1"], items=items, phases=phases, learned=told))
    of_two = "  a, b, each: 2 facts wait for more sessions\n"
    assert f"\nNo new memory:\n{of_two}  c: 2 facts wait: 1 for you, 1 for more sessions\n" in shown


def test_what_was_read_and_gave_nothing_does_not_stand_among_what_waits_for_a_gate():
    nothing = "1 session was read, and nothing worth a line was found"
    gates = [
        Gate("sessions", key, passed=False, reason=nothing, nothing_waits=True)
        for key in ("-home-ann-a", "-home-ann-b")
    ]
    gates.append(Gate("sessions", "-home-ann-c", passed=False, reason="1 session: a first dream comes with 3"))
    report = Report("nightly", dream_ids=["d1"], gates=gates, learned=learned(change("new", "Use uv")))
    waits = "Not now:\n  c: 1 session: a first dream comes with 3\n"
    assert f"\n{waits}\nNo new memory:\n  a, b, each: {nothing}\n" in screen(report)


def test_a_night_without_news_ends_with_one_verdict_and_one_quiet_line():
    keys = [f"-home-ann-{name}" for name in "abc"]
    items = [Item("/m", "keep", "nothing to do: 2 facts wait for more sessions or for you", key) for key in keys]
    items += [Item(f"c{n}", "wait", "not sure enough", key) for key in keys[:2] for n in range(2)]
    ask = Ask(kind="fact", project=keys[1], id="c0", text="Use uv", why="a quotation")
    phases = dict.fromkeys(keys, Phases({}, 0, 0, 0))
    counts = {"waiting": 4, "kept": 7}
    forced = Report("nightly", items=items, phases=phases, counts=counts, learned=learned(asks=[ask]))
    verdict = "Nothing to do: nothing new to remember in 3 projects.\n"
    assert screen(forced).endswith(f"\n{verdict}  3 facts of 2 projects wait for more sessions (slowwave status)")
    assert "In numbers" not in screen(forced)
    gates = [
        Gate("time", key, passed=False, reason="not before noon, and nothing new", nothing_waits=True) for key in keys
    ]
    soon = screen(Report("nightly", gates=gates))
    assert soon.endswith(f"\n{verdict}  each: not before noon, and nothing new (slowwave status)")
    assert "Not now" not in soon
    gates[0] = msgspec.structs.replace(gates[0], reason="nothing new since the last dream")
    assert screen(Report("nightly", gates=gates)).endswith(f"\n{verdict}  what there is of each: slowwave status")
    one = screen(Report("nightly", gates=gates[1:2]))
    assert one.endswith("\nNothing to do.\n  b: not before noon, and nothing new")


def test_failures_do_not_read_as_nothing_to_do():
    shown = screen(Report("nightly", failures=["p: extract: disk full"]))
    assert "Failed: 1" in shown
    assert "Nothing to do." not in shown


def test_a_parked_dream_does_not_read_as_nothing_to_do():
    shown = screen(Report("consolidate", parked=["d1"]))
    assert "Dreams that wait for you: 1" in shown
    assert "Nothing to do." not in shown


def test_an_erasure_tells_what_went_and_in_full_what_stays() -> None:
    why = "held: h1234 (a dispute over the contract of last autumn; set by ann), and released with slowwave retain"
    items = [Item("s1", "erased", "the whole session: 3 files and folders"), Item("s2", "refused", why * 2)]
    shown = screen(Report("erase", items=items, counts={"sessions_erased": 1, "refused": 1}))
    assert "the whole session: 3 files and folders" in shown
    assert why * 2 in shown
    assert "Nothing" not in shown
    shown = screen(Report("erase", items=items[1:], counts={"refused": 1}))
    assert shown.endswith("Nothing was done.")
    assert screen(Report("erase")).endswith("Nothing to do.")


def test_what_a_dry_run_would_learn_does_not_read_as_done():
    change = Change(kind="new", project="p", memory="m1", text="Use uv", said="uv, please")
    refused = Item("c1", "drop", "too short", project="p", text="Very nice")
    would = msgspec.to_builtins(Learned([change], is_planned=True))
    dry = screen(Report("nightly", items=[refused], learned=would), dry_run=True)
    assert "Would be learned: 1 new memory" in dry
    assert "said: uv, please" in dry
    assert "nothing was changed" in dry
    assert "Very nice" not in dry


def test_what_waits_for_a_person_is_counted_beside_what_waits_for_more_sessions():
    asks = [Ask(kind="fact", project=KEY, id=f"a{n}", text="Use uv", why="a quotation") for n in range(2)]
    shown = screen(Report("nightly", "r1", counts={"waiting": 5}, learned=learned(asks=asks)))
    assert "Waiting for you: 2" in shown
    told = {**learned(asks=asks), "bar": 0.6}
    less = "each is less than 60 % likely to be worth keeping"
    one_line = " ".join(screen(Report("nightly", "r1", counts={"waiting": 5}, learned=told)).split())
    assert f"5 facts wait: 2 for you, 3 for more sessions ({less})" in one_line
    assert "In numbers: 5 facts wait: 2 for you, 3 for more sessions\n" in shown


def test_sessions_that_were_archived_for_one_reason_are_told_by_project_and_with_their_room():
    items = [Item(f"s{n}", "rescued", "Claude Code would delete it soon", f"-home-ann-p{n % 3}") for n in range(40)]
    items.append(Item("/data/archive", "rescue room", "7.6 MB by this run, 7.6 MB of 5.0 GB at most in all"))
    shown = screen(Report("retain", items=items))
    assert shown.count("would delete it soon") == 1
    assert "would delete it soon: 14 of p0, 13 of p1, 13 of p2 (--json names each)\n  /data/archive: 7.6 MB by" in shown


def test_what_was_left_out_is_counted_in_words():
    shown = screen(Report("extract", counts={"redacted": 2, "too_unsure": 1, "bytes_read": 9}))
    secrets = "2 secrets in messages and commands, of which only marks are kept"
    assert f"Left out: {secrets}, 1 remark too unsure to be noted, kept nowhere\n" in shown
    assert "Left out" not in screen(Report("extract", counts={"bytes_read": 9}))


@pytest.mark.parametrize("deed", ["rescued", "purged", "openclaw_entries", "taken_back"])
def test_a_run_that_only_rescued_purged_or_tidied_did_something(deed: str) -> None:
    report = Report("retain", counts={deed: 1})
    assert "Nothing to do." not in screen(report)
    assert outcome_of(report).name == "Completed"


def test_what_was_rescued_purged_tidied_and_gone_is_told_with_its_reason() -> None:
    items = [
        Item("s1", action, f"why {action}") for action in ("rescued", "purged", "tidied", "gone", "rescue", "purge")
    ]
    shown = screen(Report("retain", items=items))
    assert [item.reason in shown for item in items] == [True] * len(items)
    assert "Removed, to be rebuilt" not in shown
