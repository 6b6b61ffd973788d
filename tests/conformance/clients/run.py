"""Run the real clients over sessions that slowwave has written to: ``python -m tests.conformance.clients.run``.

Every client resumes copies of its own sessions after one operation each; what it then sends must be what slowwave says
that it will send. The table goes to ``docs/conformance.md`` with ``--record``. The exit code is 1 when a row differs.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tests.conformance.clients.changes import RefusedError, context
from tests.conformance.clients.operations import COMPACTED, OPERATIONS, Asks, Compacts, Operation
from tests.conformance.clients.resume import CORPUS, Resumed, comparable, go_on, install, resume, version, why_not

RECORD = Path(__file__).parents[3] / "docs" / "conformance.md"
BY_HAND = "\n## Contexts of edited sessions\n"


class Row(NamedTuple):
    """One operation on one session."""

    client: str
    case: str
    operation: str
    verdict: str
    detail: str = ""


def main() -> int:
    """Run the chosen rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=f"of {', '.join(COMPACTED)}; all by default")
    parser.add_argument("--cases", type=int, default=3, help="sessions of each client (3); 0 takes all")
    parser.add_argument("--only", default="", metavar="TEXT", help="only operations whose name holds this")
    parser.add_argument("--record", action="store_true", help=f"write the table to {RECORD.name}")
    options = parser.parse_args()
    clients: list[str] = options.clients or list(COMPACTED)
    reason = why_not()
    if reason:
        print(f"the real clients are SKIPPED: {reason}")
        return 0
    install(clients)
    rows: list[Row] = []
    for client in clients:
        for row in rows_of(client, options.cases, options.only):
            print(f"{row.verdict:10} {row.client:15} {row.case:25} {row.operation} {row.detail}", flush=True)
            rows.append(row)
    failed = [row for row in rows if row.verdict == "DIFFERENT"]
    print(f"{len(rows) - len(failed)} passed, {len(failed)} failed")
    if options.record:
        RECORD.write_text(report(clients, rows) + by_hand(RECORD), encoding="utf-8")
    return int(bool(failed))


def by_hand(record: Path) -> str:
    """Return the part of the record that no run writes: what is known of edited sessions."""
    before = record.read_text(encoding="utf-8") if record.exists() else ""
    _, heading, rest = before.partition(BY_HAND)
    return heading + rest


def rows_of(client: str, most: int, only: str) -> Iterator[Row]:
    """Yield a row for each operation on each of a client's sessions."""
    for number, (case, path) in enumerate(list(sessions_of(client))[: most or None]):
        for operation in OPERATIONS:
            enough = operation.sessions and number >= operation.sessions
            if client in operation.clients and only in operation.name and not enough:
                yield tried(client, case, path, operation)


def sessions_of(client: str) -> Iterator[tuple[str, Path]]:
    """Yield the sessions that the client itself resumes without complaint, the richest first."""
    found: list[tuple[int, str, Path]] = []
    for known in sorted((CORPUS / client).glob("*/context.json")):
        rows = [row for row in json.loads(known.read_text(encoding="utf-8")) if row["rc"] == 0 and row.get("context")]
        found += [(-len(row["context"]), known.parent.name, known.parent / row["file"]) for row in rows]
    for _, case, path in sorted(found):
        yield case, path


def tried(client: str, case: str, path: Path, operation: Operation) -> Row:
    """Apply one operation to a copy of a session, resume it in its client, and compare."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        os.environ |= {"HOME": folder, "XDG_STATE_HOME": f"{folder}/state", "XDG_DATA_HOME": f"{folder}/data"}
        # Codex keeps the names of its sessions in its home, and days as folders
        store = Path(folder, *path.parts[path.parts.index(".codex") : -1] if client == "codex" else ["store"])
        store.mkdir(parents=True)
        copy = Path(shutil.copy(path, store))
        if path.with_suffix("").is_dir():
            shutil.copytree(path.with_suffix(""), copy.with_suffix(""))
        try:
            changed = done_to(client, copy, operation)
            ours = comparable(context(changed))
        except (RefusedError, RuntimeError) as error:
            return Row(client, case, operation.name, "DIFFERENT", str(error))
        seen = resume(client, changed)
        return Row(client, case, operation.name, *judged(seen, ours, operation.shows))


def done_to(client: str, path: Path, operation: Operation) -> Path:
    """Take the steps of an operation, and return the file that is then resumed.

    Raises:
        RefusedError: slowwave refused one.
        RuntimeError: the client failed in a turn of its own.
    """
    for step in operation.steps:
        if isinstance(step, Asks | Compacts):
            for turn in step.turns(client) if isinstance(step, Compacts) else (step,):
                go_on(client, path, turn.prompt)
        else:
            path = step(path)
    return path


def judged(seen: Resumed, ours: list[dict[str, object]], shows: str) -> tuple[str, str]:
    """Return the verdict on what a client did, and what was wrong."""
    rc, sent, only_appended, bad_lines, error = seen
    if rc != 0:
        return "DIFFERENT", f"exit {rc}: {error}"
    theirs = comparable(sent)
    if theirs != ours:
        at = next((i for i, pair in enumerate(zip(theirs, ours, strict=False)) if pair[0] != pair[1]), -1)
        return "DIFFERENT", f"message {at} of {len(theirs)} sent and {len(ours)} expected"
    if shows and shows not in json.dumps(theirs):
        return "DIFFERENT", "what was written is not in what the client sent"
    if not only_appended:
        return "DIFFERENT", "the client rewrote the file"
    return "equal", f"(torn line {bad_lines[0]} kept)" if bad_lines else ""


def report(clients: list[str], rows: list[Row]) -> str:
    """Return the table as a document."""
    lines = [
        "# What the real clients make of what slowwave writes",
        "",
        "Written by `make conformance RECORD=1`. Each client resumed copies of sessions that it had written itself,",
        "after one operation of slowwave on each, against a scripted server on loopback. A session counts when the",
        "messages that the client then sent are exactly those that `slowwave sessions context FILE` prints, when what",
        "was written is among them, and when the client only appended to the file. In some rows the client itself",
        "takes turns in between, with its tools, or compacts; drawn turns (parallel calls, long results, pictures,",
        "errors, rewinds) are made from a seed in the client's own records. Clawdbot takes pi's records and was tried",
        "with compactions alone; the databases of opencode and OpenClaw are never written to. A dash stands where a",
        "client knows no such record, or was not tried.",
        "",
        f"Run on {datetime.now(UTC):%Y-%m-%d} with " + ", ".join(f"{c} {version(c)}" for c in clients) + ".",
        "",
        "| operation | " + " | ".join(clients) + " |",
        "|---|" + "---|" * len(clients),
    ]
    for operation in OPERATIONS:
        cells: list[str] = []
        for client in clients:
            own = [row for row in rows if row.client == client and row.operation == operation.name]
            equal = sum(row.verdict == "equal" for row in own)
            cells.append(f"{equal} of {len(own)}" if own else "-")
        lines.append(f"| {operation.name} | " + " | ".join(cells) + " |")
    different = [row for row in rows if row.verdict != "equal"]
    lines += ["", "Rows that differ:" if different else "No row differs.", ""]
    lines += [f"- {row.client}, {row.case}, {row.operation}: {row.detail}" for row in different]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
