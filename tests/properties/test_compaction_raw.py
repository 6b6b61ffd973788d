"""Real sessions that grow by their own raw lines, compacted by the job after each stretch.

The lines of a file are given to the job in three stretches; a stretch hangs below what stands last, as its client would
have written it. What is expected is read from the raw bytes alone (``compaction_scan``): nothing before an append
changes, no call is parted from its result, and the lists of files are those of a plain scan. Files that only shell
lines name are left out on both sides: ``test_ledger_real`` holds those against another reader of shells.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slowwave.compaction.book import read_book
from slowwave.compaction.items import read_session
from slowwave.compaction.story import compact_sessions
from slowwave.errors import UsageError
from slowwave.formats import Message, SessionFiles
from slowwave.formats.registry import sniff
from tests.properties import compaction_scan as scan
from tests.properties.compaction_world import orphans
from tests.properties.test_compaction_job import CORPUS, one_session, real_job

STRETCHES = 3
IS_FULL = os.environ.get("DRILLS") in ("full", "all")
LEAST = 20
# of each client
MOST = 16 if IS_FULL else 1
SIZES = range(150_000, 3_000_000)


def sources() -> Iterator[Path]:
    """Yield long sessions of every client."""
    for folder in sorted(p for p in CORPUS.glob("*") if p.is_dir()):
        files = [p for p in sorted(folder.rglob("*.jsonl")) if p.stat().st_size in SIZES and sniff(p) is not None]
        yield from files[:: max(1, len(files) // MOST)][:MOST]


SOURCES = list(sources())

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout (../shared/corpus)"),
]


def hung_below(lines: list[bytes], before: bytes) -> bytes:
    """Return lines of a client, the first of them below the last record of what the file holds by now."""
    own, parent = ("uuid", "parentUuid") if b'"parentUuid"' in before else ("id", "parentId")
    known = list(scan.records(before))
    last = next((record[own] for record in reversed(known) if parent in record and record.get(own)), None)
    number = next((record["ordinal"] for record in reversed(known) if "ordinal" in record), None)
    here, made = set[Any](), list[bytes]()
    for line in lines:
        record = next(scan.records(line), dict[str, Any]())
        changed = dict(record)
        if parent in record and record.get(own):
            changed[parent] = record[parent] if record[parent] in here else last
            last = record[own]
            here.add(last)
        if number is not None and "ordinal" in record:
            number += 1
            changed["ordinal"] = number
        made.append(line if changed == record else json.dumps(changed, ensure_ascii=False).encode())
    return b"".join(line + b"\n" for line in made)


def summary_of(dialect: str, path: Path) -> tuple[str, list[Message]]:
    """Return the latest summary, and the messages beside it."""
    reading = read_session(dialect, SessionFiles(path.stem, (path,)))
    texts = [item.message.text for item in reading.items if item.kind == "compaction" and item.message is not None]
    return texts[-1] if texts else "", [item.message for item in reading.spoken if item.message is not None]


def is_for_files(use: scan.Use) -> bool:
    """Say whether a call is one of a tool for files, or a patch."""
    names = ("file_path", "path", "absolute_path", "notebook_path")
    is_named = any(name in found for found in scan.objects(use.arguments) for name in names)
    return is_named or use.tool.lower() in ("apply_patch", "patch")


def shell_lines(uses: list[scan.Use]) -> str:
    """Return what all other calls were given, as one text."""
    return "\n".join(text for use in uses if not is_for_files(use) for text in scan.strings(use.arguments)).casefold()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name[:24])
def test_a_session_that_grows_by_raw_lines_keeps_its_bytes_its_calls_and_its_files(
    tmp_path: Path, source: Path
) -> None:
    dialect = sniff(source) or ""
    lines = source.read_bytes().rstrip(b"\n").split(b"\n")
    path = tmp_path / source.name
    covered, own, cwd, carried, done = b"", "", "", scan.Files(set(), set()), 0
    for stretch in range(STRETCHES):
        part = lines[len(lines) * stretch // STRETCHES : len(lines) * (stretch + 1) // STRETCHES]
        before = path.read_bytes() if stretch else b""
        path.write_bytes(before + (hung_below(part, before) if stretch else b"\n".join(part) + b"\n"))
        before = path.read_bytes()
        try:
            (previous, context), run = summary_of(dialect, path), real_job(tmp_path)
        except UsageError:
            pytest.skip("a form that no compaction is written to")
        cwd = cwd or read_session(dialect, SessionFiles(path.stem, (path,))).cwd
        report = compact_sessions(*one_session(dialect, path), run)
        assert report.failures == []
        assert path.read_bytes().startswith(before)
        if not report.counts.get("compacted"):
            assert path.read_bytes() == before or report.counts.get("pruned")
            continue
        done += 1
        if own != previous:  # the client compacted, too, or went back
            covered, carried = b"", scan.listed(previous, cwd)
        entry = read_book(run.folder, path.stem, dialect, path).compactions[-1]
        covered += b"\n" + scan.ranges([path], (one[:3] for one in entry.dropped))
        own, after = summary_of(dialect, path)
        assert set(orphans(after)) <= set(orphans(context))
        stays = {call.id for message in after for call in message.calls}
        uses = [use for use in scan.uses(covered) if use.id not in stays]
        files = scan.together(scan.files(filter(is_for_files, uses), cwd), carried, scan.of_branches(covered, cwd))
        listed, named = scan.listed(own, cwd), shell_lines(uses)
        by_tools = {file for file in listed.read | listed.modified if Path(file).name not in named}
        assert files.modified <= listed.modified
        assert listed.modified & by_tools == files.modified & by_tools
        assert files.read <= listed.read | listed.modified
        assert listed.read & by_tools == files.read & by_tools
    # a test that compacts nothing holds nothing; the few files of pi stay below its trigger
    assert done or dialect == "pi"


@pytest.mark.skipif(not IS_FULL, reason="a few sessions only: DRILLS=full compacts at least twenty")
def test_enough_sessions_are_compacted() -> None:
    assert sum(sniff(source) != "pi" for source in SOURCES) >= LEAST
