"""A hundred people leave the sessions of all clients and all that slowwave keeps, while its scheduler runs.

Looked for in every byte, in every form, by a search of the tests' own; and again after every job has run once more.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slowwave.files import scheduler_folder
from slowwave.service.server import own_server
from tests.unit.retention.everybody import EVERYBODY, KINDS, PEOPLE, every_store, found_in, left_in
from tests.unit.retention.planted import ULID, aged

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(3600)]

LIMIT_S = 900
# a night is all of them, one after the other
JOBS = ("extract", "consolidate", "compact", "retain", "nightly")[0 if os.environ.get("DRILLS") == "all" else -1 :]
SETTINGS = [
    *("--set", "extraction.min_messages=0", "--set", "consolidation.min_sessions=0"),
    *("--set", "retention.rescue=60d", "--set", "retention.enforce=true", "--force"),
]


def slowwave(*arguments: str | Path) -> str:
    """Run a command and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "slowwave", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, (arguments[:3], done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def stores(own_home: Path) -> list[str]:
    """Return the options that name one store of each client, all at rest."""
    roots = every_store(own_home)
    aged(own_home)
    return [option for root in roots for option in ("--store", str(root))]


@pytest.fixture
def neighbours(stores: list[str]) -> dict[Path, bytes]:
    """Return files that name nobody, one or more in each store, but none of the session that is thrown away."""
    roots = [Path(root) for root in stores[1::2]]
    for root in roots:
        (root / "nobody.json").write_text('{"who": "nobody"}\n')
    named = {path for root in roots for path in left_in(root)}
    files = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in files if str(path) not in named and ULID not in path.parts}


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a server of our own, with its database below the state folder, as ``slowwave serve`` does."""
    with own_server(scheduler_folder(os.environ), os.environ) as api:
        monkeypatch.setenv("PREFECT_API_URL", api)
        yield api


def erased(*options: str) -> dict[str, Any]:
    """Erase everybody and return the report."""
    people = [option for name in PEOPLE for option in ("--person", name)]
    return json.loads(slowwave("run", "erase", "--json", *people, *options))


def test_nobody_is_found_in_any_byte_and_no_job_brings_them_back(
    own_home: Path, stores: list[str], neighbours: dict[Path, bytes], scheduler: str
) -> None:
    del scheduler
    focus = ("--set", f"compaction.focus=what {PEOPLE[3]} said")
    slowwave("run", "nightly", *stores, *SETTINGS, *focus)
    slowwave("sessions", "search", "release", *stores)
    slowwave("sessions", "rm", ULID, *stores)
    before = found_in(own_home)
    assert set(before) == {(name, kind) for name in PEOPLE for kind in KINDS}
    places = {path for paths in before.values() for path in paths}
    for part in ("/memory/", "/state/slowwave/prefect/prefect.db", "/archive/", "/trash/", "openclaw-agent.sqlite"):
        assert any(part in path for path in places), part

    done = erased("--apply", *stores)
    assert [item for item in done["items"] if item["action"] == "refused"] == []
    assert left_in(own_home) == []
    assert {path: path.read_bytes() for path in neighbours} == neighbours
    assert slowwave("retain", "audit", "--verify")
    for job in JOBS:
        slowwave("run", job, *stores, *SETTINGS)
        assert left_in(own_home) == [], job
    again = erased("--apply", *stores)
    assert not {"replaced", "memories_erased", "candidates_erased"} & {k for k, v in again["counts"].items() if v}
    assert {path: path.read_bytes() for path in neighbours} == neighbours


def test_a_hundred_people_of_every_script() -> None:
    assert len(set(EVERYBODY)) == 100
    assert any(name.isascii() for name in PEOPLE)
    assert not all(name.isascii() for name in PEOPLE)
