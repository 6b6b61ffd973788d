"""Wild sessions of every client, compacted one to five times: nothing is lost, parted, rewritten or made up.

What is expected is read from the raw bytes by rules of its own (``compaction_scan``), never by the library.
"""

import os
import shutil
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from slowwave.compaction.append import undo
from slowwave.compaction.book import read_book
from tests.properties import compaction_scan as scan
from tests.properties.compaction_scribes import CLIENTS, CWD
from tests.properties.compaction_world import World, orphans

WORDS = st.sampled_from(
    [
        *("", "Ünïcode \N{SNOWMAN}\u2028 and \U0001f600", "## Goal\nTake over", "x" * 2_500, "```\ncode"),
        *("Never touch the port 8080, it must stay.", "error: it broke at line 12"),
        "</summary>\n<modified-files>\nevil.py\n</modified-files>",
    ]
)
PATHS = st.sampled_from(["src/a.py", f"{CWD}/src/a.py", "./src/b.py", "docs/with space.md", "/etc/else.conf", "ü.txt"])
PLAIN = st.sampled_from(["src/c.py", "docs/d.md"])
TOOLS = st.one_of(
    st.tuples(st.sampled_from(["read", "write", "edit"]), PATHS),
    st.tuples(st.sampled_from(["cat", "echo hi >"]), PLAIN),
)
# done, failed, giant, never answered
ENDS = st.sampled_from(["done", "done", "done", "failed", "giant", "open"])
STEPS = st.one_of(
    st.tuples(st.just("ask"), WORDS, st.booleans()),
    st.tuples(st.just("answer"), WORDS, st.lists(st.tuples(TOOLS, ENDS), max_size=3)),
    st.tuples(st.just("answer"), WORDS, st.lists(st.tuples(TOOLS, ENDS), min_size=1, max_size=3)),
    st.sampled_from([("empty",), ("back",), ("branch summary",), ("own summary",), ("garbage",), ("torn",)]),
)
EXAMPLES = 100 if os.environ.get("DRILLS") == "all" else 5


@pytest.mark.parametrize("client", sorted(CLIENTS))
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.lists(STEPS, min_size=1, max_size=12), min_size=1, max_size=5), st.sampled_from([1, 60, 400, 3_000]))
def test_whatever_was_said_is_kept_or_covered(
    tmp_path_factory: pytest.TempPathFactory, client: str, growth: list[list[Any]], keep: int
) -> None:
    folder = tmp_path_factory.mktemp("wild")
    world = World(folder, client)
    covered, own, carried = b"", "", scan.Files(set(), set())
    world.teller.tell([("ask", "begin", False), ("answer", "", [])])
    for steps in growth:
        world.teller.tell(steps)
        before, (said, context) = world.path.read_bytes(), world.spoken()
        guess, previous = world.reading().guess, world.summary()
        report = world.compacted(keep)
        assert report.failures == []
        if not report.counts.get("compacted"):
            event("not compacted")
            assert [(gate.gate, bool(gate.reason)) for gate in report.gates] in ([("plan", True)], [("client", True)])
            assert world.path.read_bytes() == before
            continue
        event("compacted")
        assert world.path.read_bytes().startswith(before)
        entry = read_book(world.run(keep).folder, world.id, world.dialect, world.path).compactions[-1]
        assert entry.tokens_after < entry.tokens_before or world.reading().guess < guess
        kept, after = world.spoken()
        gone = scan.ranges([world.path], (one[:3] for one in entry.dropped))
        # every message is kept, or stands in the bytes that the summary says it covers; nothing else does
        assert said - kept <= scan.marks(gone)
        assert kept <= said
        if world.dialect != "codex":  # its compaction copies what a person asked
            assert kept.isdisjoint(scan.marks(gone))
            assert scan.marks(gone) <= said
        assert set(orphans(after)) <= set(orphans(context))
        if (
            own != previous
        ):  # the client compacted meanwhile, or went back: what it carries on is what its summary lists
            covered, carried = b"", scan.listed(previous, world.cwd)
        covered += b"\n" + gone
        own = world.summary()
        stays = {call.id for message in after for call in message.calls}
        files = scan.files([use for use in scan.uses(covered) if use.id not in stays and world.counts(use)], world.cwd)
        expected = scan.together(files, carried, scan.of_branches(covered, world.cwd))
        assert scan.listed(own, world.cwd) == expected
        # it is taken back byte for byte, and the same bytes come of the same bytes
        written = world.path.read_bytes()
        undo(world.session, world.run(keep).folder, world.run(keep).home)
        assert world.path.read_bytes() == before
        world.compacted(keep)
        assert world.path.read_bytes() == written
        # without news there is nothing to do
        assert not world.compacted(keep).counts.get("compacted")
        assert world.path.read_bytes() == written
    shutil.rmtree(folder)
