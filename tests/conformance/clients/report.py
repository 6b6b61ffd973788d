"""What the runs found, as the table of ``docs/conformance.md``; what stands below it there is written by hand."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tests.conformance.clients import drawn_cases
from tests.conformance.clients.operations import OPERATIONS
from tests.conformance.clients.resume import version

RECORD = Path(__file__).parents[3] / "docs" / "conformance.md"
# the home that a client was given: of no use to a reader, and of one machine
_TEMPORARY = re.compile(r"/\S*/conformance-\w+/")
BY_HAND = "\n## Contexts of edited sessions\n"


class Row(NamedTuple):
    """One operation on one session."""

    client: str
    case: str
    operation: str
    verdict: str
    detail: str = ""


def record(clients: list[str], rows: list[Row]) -> None:
    """Write the table anew."""
    RECORD.write_text(report(clients, rows) + by_hand(RECORD), encoding="utf-8")


def by_hand(record: Path) -> str:
    """Return the part of the record that no run writes: what is known of edited sessions."""
    before = record.read_text(encoding="utf-8") if record.exists() else ""
    _, heading, rest = before.partition(BY_HAND)
    return heading + rest


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
        "errors, rewinds, open calls, blank and failed answers, sub-agents) are made from a seed in the client's own",
        "records, and so are whole cases drawn at random. The databases of opencode and OpenClaw are never written to.",
        "",
        "A dash stands where a client knows no such record: only Codex has one for cleared outputs; Claude Code before",
        "2.1 keeps no message before a compaction, so that a summary stands alone and no turn is split; forks of Codex",
        "need the file of their parent beside them, which a copy has not; Clawdbot keeps names in a file of its own",
        "and lists what that names. An",
        "empty cell was not reached in the time that a run was given.",
        "",
        f"Run on {datetime.now(UTC):%Y-%m-%d} with " + ", ".join(f"{c} {version(c)}" for c in clients) + ".",
        "",
        "| operation | " + " | ".join(clients) + " |",
        "|---|" + "---|" * len(clients),
    ]
    for name in dict.fromkeys([*(operation.name for operation in OPERATIONS), drawn_cases.NAME]):
        cells: list[str] = []
        for client in clients:
            own = [row for row in rows if row.client == client and row.operation == name]
            equal = sum(row.verdict == "equal" for row in own)
            cells.append(f"{equal} of {len(own)}" if own else _nothing(client, name))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    different = [row for row in rows if row.verdict != "equal"]
    lines += ["", "Rows that differ:" if different else "No row differs.", ""]
    lines += [f"- {row.client}, {row.case}, {row.operation}: {_told(row.detail)}" for row in different]
    return "\n".join(lines).rstrip() + "\n"


def _told(detail: str) -> str:
    return _TEMPORARY.sub("~/", detail.strip())


def _nothing(client: str, name: str) -> str:
    """Return a dash where a client knows no such row, and nothing where there was no time for it."""
    takers = {taker for operation in OPERATIONS if operation.name == name for taker in operation.clients}
    return " " if client in takers or name == drawn_cases.NAME else "-"
