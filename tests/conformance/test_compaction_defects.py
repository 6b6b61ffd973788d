"""What the clients' own compactions do wrong, tried on whole sessions with the job: each case has a test by its name.

The cases are those of the measured defects of pi 0.58.3 and of the known weaknesses of the other clients, as far as a
compaction could repeat them. ``test_compaction_cases`` says which test holds which case.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.compaction.book import read_book
from slowwave.compaction.items import read_session
from slowwave.compaction.story import compact_one
from slowwave.errors import CorruptStateError, SlowwaveError
from slowwave.formats import SessionFiles
from slowwave.formats.sessions import StoredSession
from slowwave.report import Report
from tests.properties import compaction_scan as scan
from tests.properties.compaction_scribes import CLIENTS, CWD, TORN
from tests.properties.compaction_world import World, orphans
from tests.unit.compaction.job.talks import IDS, Talk, compacted, job

# The clients that leave messages as they stand; pi's first version cannot be written to.
KEEPING = ("claude 2.1", "pi 3", "pi 2", "openclaw", "codex", "ulid")
WRITTEN = (*KEEPING, "claude 2.0", "cersei", "codex, no ids", "crabtalk")
PIS = ("pi 3", "openclaw")
KEEP = 60


def begun(folder: Path, client: str, turns: int = 8) -> World:
    """Return a session with turns that each wrote one file."""
    world = World(folder, client)
    for turn in range(turns):
        call = (("write", f"src/{turn}.py"), "done")
        world.teller.tell([("ask", "do it", False), ("answer", "done " * 500, [call])])
    return world


def compact(world: World, keep: int = KEEP) -> Report:
    """Compact a session that has to be compacted, and return what was done."""
    report = world.compacted(keep)
    assert report.counts.get("compacted") == 1, [item.reason for item in report.items]
    return report


def last_entry(world: World) -> dict[str, Any]:
    return list(scan.records(world.path.read_bytes()))[-1]


@pytest.mark.parametrize("client", WRITTEN)
def test_a_torn_end_costs_neither_the_summary_nor_a_message(tmp_path: Path, client: str) -> None:
    world = begun(tmp_path, client)
    world.teller.tell([("torn",)])
    said, _ = world.spoken()
    before = world.path.read_bytes()
    assert before.endswith(TORN)
    compact(world)
    after = world.path.read_bytes()
    assert after.startswith(before + b"\n")
    assert scan.listed(world.summary(), world.cwd).modified
    (done,) = read_book(world.run(KEEP).folder, world.id, world.dialect, world.path).compactions
    kept, _ = world.spoken()
    assert kept | scan.marks(scan.ranges([world.path], (one[:3] for one in done.dropped))) >= said


@pytest.mark.parametrize("client", WRITTEN)
def test_a_second_compaction_within_one_turn_carries_the_first_summary_on(tmp_path: Path, client: str) -> None:
    world = World(tmp_path, client)
    world.teller.tell([("ask", "Write the module of the harbour.", False)])
    count = 8 if client == "cersei" else 4  # its ten newest messages stay
    for stretch in range(2):
        steps = [("answer", "on it " * 500, [(("write", f"src/{stretch}{n}.py"), "done")]) for n in range(count)]
        world.teller.tell(steps)
        compact(world)
    summary = world.summary()
    assert "the module of the harbour" in summary
    kept = " ".join(json.dumps(call.args) for message in world.spoken()[1] for call in message.calls)
    listed = scan.listed(summary, CWD).modified
    wanted = [f"src/{stretch}{n}.py" for stretch in range(2) for n in range(count)]
    assert [path for path in wanted if path not in kept and f"{CWD}/{path}" not in listed] == []


@pytest.mark.parametrize("client", KEEPING)
def test_a_giant_result_at_the_end_does_not_keep_the_session_from_being_compacted(tmp_path: Path, client: str) -> None:
    world = begun(tmp_path, client)
    world.teller.tell([("ask", "read it", False), ("answer", "", [(("read", "src/big.py"), "giant")])])
    compact(world)
    _, messages = world.spoken()
    assert orphans(messages) == []
    assert sum(len(result.text) > 9_000 for m in messages for result in m.results) == 1
    assert sum(message.role == "assistant" for message in messages) == 1


@pytest.mark.parametrize("client", PIS)
def test_a_change_of_the_model_before_a_prompt_splits_no_turn(tmp_path: Path, client: str) -> None:
    world = begun(tmp_path, client)
    scribe: Any = world.teller.scribe
    scribe.resume()
    setting = scribe._add("model_change", provider="fake", modelId="fake-2")
    scribe.save()
    world.teller.tell([("ask", "and now this " * 40, False)])
    report = compact(world)
    assert last_entry(world)["firstKeptEntryId"] == setting
    assert "in the middle of a turn" not in report.items[-1].reason


@pytest.mark.parametrize("client", [*PIS, "claude 2.1", "claude 2.0"])
def test_parents_in_a_circle_end(tmp_path: Path, client: str) -> None:
    world = begun(tmp_path, client)
    rows = list(scan.records(world.path.read_bytes()))
    own, parent = ("id", "parentId") if world.dialect in ("pi", "openclaw") else ("uuid", "parentUuid")
    first = next(row for row in rows if own in row and row.get("type") != "session")
    first[parent] = rows[-1][own]
    world.path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    before = world.path.read_bytes()
    report = world.compacted(KEEP)
    assert world.path.read_bytes().startswith(before)
    assert report.failures == []


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_a_file_that_is_no_session_keeps_its_bytes(tmp_path: Path, client: str) -> None:
    world = World(tmp_path, client)
    world.path.write_bytes(b'{"name":"not a session"}\n' * 400)
    before = world.path.read_bytes()
    with pytest.raises(SlowwaveError):
        compact_one(world.session, world.run(KEEP))
    assert world.path.read_bytes() == before


@pytest.mark.parametrize("dialect", sorted(IDS))
def test_nothing_is_summarised_whose_memories_could_not_be_saved_and_it_is_not_tried_for_ever(
    tmp_path: Path, dialect: str
) -> None:
    talk = Talk(tmp_path / "store", dialect).grow(6)
    before, tries = talk.path.read_bytes(), list[str]()

    def broken(session: StoredSession) -> Report:
        tries.append(session.id)
        raise CorruptStateError(tmp_path, "is damaged")

    reports = [compacted(talk, job(tmp_path, flush=broken)) for _ in range(5)]
    assert [len(report.failures) for report in reports] == [1, 1, 1, 0, 0]
    assert len(tries) == 3
    assert [gate.gate for gate in reports[-1].gates] == ["breaker"]
    assert talk.path.read_bytes() == before


def test_numbers_of_codex_go_on_behind_a_torn_line(tmp_path: Path) -> None:
    world = begun(tmp_path, "codex")
    rows = [row | {"ordinal": n} for n, row in enumerate(scan.records(world.path.read_bytes()))]
    torn = json.dumps(rows[-1] | {"ordinal": len(rows)}).encode()[:-9]
    world.path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows) + torn)
    compact(world)
    appended = list(scan.records(world.path.read_bytes()))[len(rows) :]
    assert "compacted" in [row["type"] for row in appended]
    assert [row["ordinal"] for row in appended] == list(range(len(rows), len(rows) + len(appended)))


@pytest.mark.parametrize("client", WRITTEN)
def test_what_a_compaction_hides_stays_in_the_file(tmp_path: Path, client: str) -> None:
    world = begun(tmp_path, client)
    before = world.path.read_bytes()
    for _ in range(3):
        compact(world)
        assert world.path.read_bytes().startswith(before)
        world.teller.tell([("ask", "more", False), ("answer", "yes " * 900, [])])
        before = world.path.read_bytes()


@pytest.mark.parametrize("client", PIS)
def test_of_two_branches_the_one_that_the_client_goes_on_from_is_compacted(tmp_path: Path, client: str) -> None:
    world = begun(tmp_path, client)
    world.teller.tell([("ask", "left", False), ("answer", "no " * 900, [(("write", "left.py"), "done")])])
    scribe: Any = world.teller.scribe
    scribe.resume()
    scribe._last = list(scan.records(world.path.read_bytes()))[13]["id"]
    scribe.answer("the other way")
    scribe.save()
    compact(world, 1)
    items = read_session(world.dialect, SessionFiles(world.id, (world.path,))).items
    assert items[0].kind == "compaction"
    assert "left.py" not in world.summary()
