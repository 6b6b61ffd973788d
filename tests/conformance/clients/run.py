"""Run the real clients over sessions that slowwave has written to: ``python -m tests.conformance.clients.run``.

Every client resumes copies of its own sessions after one operation each; what it then sends must be what slowwave says
that it will send. The table goes to ``docs/conformance.md`` with ``--record``. The exit code is 1 when a row differs.
"""

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.conformance.clients.changes import RefusedError, context
from tests.conformance.clients.drawn_cases import NAME, case_of
from tests.conformance.clients.listed import listed
from tests.conformance.clients.operations import OPERATIONS
from tests.conformance.clients.report import RECORD, Row, record
from tests.conformance.clients.resume import CORPUS, Resumed, comparable, go_on, install, resume, why_not
from tests.conformance.clients.steps import COMPACTED, Asks, Compacts, Lists, Operation


def main() -> int:
    """Run the chosen rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=f"of {', '.join(COMPACTED)}; all by default")
    parser.add_argument("--cases", type=int, default=3, help="sessions of each client (3); 0 takes all")
    parser.add_argument("--only", default="", metavar="TEXT", help="only operations whose name holds this")
    parser.add_argument("--seeds", default="0-9", metavar="A-B", help="cases drawn at random of each client (0-9)")
    parser.add_argument("--jobs", type=int, default=2, help="clients at the same time (2)")
    parser.add_argument("--minutes", type=float, default=0, help="what is not tried by then is left out (no limit)")
    parser.add_argument("--record", action="store_true", help=f"write the table to {RECORD.name}")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    clients: list[str] = options.clients or list(COMPACTED)
    reason = why_not()
    if reason:
        print(f"the real clients are SKIPPED: {reason}")
        return 0
    install(clients)
    with ProcessPoolExecutor(options.jobs) as pool:
        until = time.monotonic() + 60 * options.minutes if options.minutes else math.inf
        run_all = partial(told, most=options.cases, seeds=seeds, only=options.only, until=until)
        rows = [row for found in pool.map(run_all, clients) for row in found]
    failed = [row for row in rows if row.verdict == "DIFFERENT"]
    print(f"{len(rows) - len(failed)} passed, {len(failed)} failed")
    if options.record:
        record(clients, rows)
    return int(bool(failed))


def told(client: str, most: int, seeds: range, only: str, until: float) -> list[Row]:
    """Return the rows of a client, and print each when it is there; the last one begins before a time has come."""
    rows: list[Row] = []
    for row in rows_of(client, most, seeds, only):
        print(f"{row.verdict:10} {row.client:15} {row.case:25} {row.operation} {row.detail}", flush=True)
        rows.append(row)
        if time.monotonic() >= until:
            break
    return rows


def rows_of(client: str, most: int, seeds: range, only: str) -> Iterator[Row]:
    """Yield a row for each operation on each of a client's sessions, and for each case drawn from a seed."""
    sessions = list(sessions_of(client))
    for number, (case, path) in enumerate(sessions[: most or None]):
        for operation in OPERATIONS:
            enough = operation.sessions and number >= operation.sessions
            if client in operation.clients and only in operation.name and not enough:
                yield tried(client, case, path, operation)
    for seed in seeds if only in NAME else ():
        case, path = sessions[seed % len(sessions)]
        yield tried(client, f"{case} seed {seed}", path, case_of(seed, client))


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
        # as in its client's home, where Codex keeps the names of its sessions and all look for what they list
        at = next(at for at, name in enumerate(path.parts) if name.startswith("."))
        store = Path(folder, *path.parts[at:-1])
        store.mkdir(parents=True)
        copy = Path(shutil.copy(path, store))
        if path.with_suffix("").is_dir():
            shutil.copytree(path.with_suffix(""), copy.with_suffix(""))
        try:
            changed = done_to(client, copy, operation)
            ours = comparable(context(changed))
            seen = resume(client, changed)
        except (RefusedError, RuntimeError) as error:
            return Row(client, case, operation.name, "DIFFERENT", str(error))
        return Row(client, case, operation.name, *judged(seen, ours, operation.shows))


def done_to(client: str, path: Path, operation: Operation) -> Path:
    """Take the steps of an operation, and return the file that is then resumed.

    Raises:
        RefusedError: slowwave refused one.
        RuntimeError: the client failed in a turn of its own, or sent something else in it than was expected.
    """
    for number, step in enumerate(operation.steps):
        if isinstance(step, Asks):
            ours = comparable(context(path))
            verdict, detail = judged(go_on(client, path, step.prompt), ours, "")
            if verdict != "equal":
                raise RuntimeError(f"step {number}, {step.prompt}: {detail}")
        elif isinstance(step, Compacts):
            for turn in step.turns(client):
                go_on(client, path, turn.prompt)
        elif isinstance(step, Lists):
            path = step.change(path, partial(listed, client))
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
        if at < 0:
            at = min(len(theirs), len(ours))
        pair = " | ".join(json.dumps(side[at : at + 1])[:300] for side in (theirs, ours))
        return "DIFFERENT", f"message {at} of {len(theirs)} sent and {len(ours)} expected: {pair}"
    if shows and shows not in json.dumps(theirs):
        return "DIFFERENT", "what was written is not in what the client sent"
    if not only_appended:
        return "DIFFERENT", "the client rewrote the file"
    return "equal", f"(torn line {bad_lines[0]} kept)" if bad_lines else ""


if __name__ == "__main__":
    sys.exit(main())
