"""Whether clients are newer than those that slowwave was tested with: their files may hold what it does not know yet.

Nothing breaks then: what is not understood is kept, counted and shown. But it may be missing from memories.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson

from slowwave.service.check import Check
from slowwave.stores.model import Discovery, StoredSession

# The newest releases whose sessions and behaviour the tests hold (docs/conformance.md); of pi the form of its files.
TESTED = {"claude": "2.1.330", "codex": "0.169.0", "opencode": "1.18.33", "pi": "3"}
# so many of the sessions that changed last, and so much of each end
_SESSIONS = 5
_BYTES = 64 << 10
_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:[-+].*)?$")


def clients(found: Discovery) -> Iterator[Check]:
    """Say of every client with a version whether the newest sessions come from one that was tested."""
    seen: list[str] = []
    newer: list[str] = []
    for dialect, tested in TESTED.items():
        newest = _newest(found, dialect)
        if newest:
            seen.append(f"{dialect} {newest}")
            if _order(newest) > _order(tested):
                newer.append(f"{dialect} {newest} (tested up to {tested})")
    if newer:
        fix = "update slowwave; sessions list shows what it does not understand (bad_lines), and nothing of it is lost"
        yield Check("clients", ok=True, seen=f"newer than what was tested: {', '.join(newer)}", fix=fix)
    else:
        yield Check("clients", ok=True, seen=", ".join(seen) or "no client that tells its version")


def _newest(found: Discovery, dialect: str) -> str:
    """Return the newest version that a client's latest sessions name, "" where they name none."""
    sessions = [s for p in found.projects for s in p.sessions if s.dialect == dialect and not s.in_database]
    latest = sorted(sessions, key=lambda s: s.mtime_ns, reverse=True)[:_SESSIONS]
    versions = [version for session in latest for version in _versions(session)]
    return max(versions, key=_order, default="")


def _versions(session: StoredSession) -> Iterator[str]:
    for path in session.files.paths[-1:]:
        for line in _ends(path):
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # a piece of a line, or damage that other commands report
            if isinstance(record, dict) and (version := _version_of(cast("dict[str, Any]", record))):
                yield version


def _version_of(record: dict[str, Any]) -> str:
    """Return the version in a record: its own, or that in the header of Codex."""
    payload = record.get("payload")
    inner = cast("dict[str, Any]", payload).get("cli_version") if isinstance(payload, dict) else None
    found = inner or record.get("version")
    return str(found) if _order(str(found)) else ""


def _ends(path: Path) -> list[bytes]:
    """Return the lines at both ends of a file; one that cannot be read has none, which the permissions tell."""
    try:
        with path.open("rb") as file:
            head = file.read(_BYTES)
            file.seek(max(len(head), file.seek(0, 2) - _BYTES))
            return [*head.splitlines(), *file.read().splitlines()]
    except OSError:
        return []


def _order(version: str) -> tuple[int, ...]:
    """Return a version as numbers; one of another form has none."""
    found = _VERSION.match(version)
    return tuple(int(part) for part in found[1].split(".")) if found else ()
