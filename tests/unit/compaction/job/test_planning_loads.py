"""What planning a session loads: its own dialect, and no scheduler, settings or client of a model."""

import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[3] / "samples"
OF = {
    "claude": SAMPLES / "claude" / "client-2.1.330-compact.jsonl",
    "cersei": SAMPLES / "cersei" / "4f1d2c3b-8a97-4e55-9c21-7d0e6f5a4b3c.jsonl",
    "pi": SAMPLES / "pi" / "client-0.73.1-compact.jsonl",
    "codex": SAMPLES / "codex" / "client-0.169.0-compact.jsonl",
    "crabtalk": SAMPLES / "crabtalk" / "crab_tg-user-7_3_release-notes.jsonl",
    "ulid": SAMPLES / "ulid" / "01JM2V7Q9N4E8ZC3T6R5W0XKYB" / "session.jsonl",
}
CLIENTS = {*OF, "openclaw", "opencode"}
# pi's readers tell OpenClaw's own records from pi's, and ulid's blocks of content are pi's
FAMILY = {"pi": {"openclaw"}, "ulid": {"pi"}}
HEAVY = {"prefect", "pydantic", "openai", "httpx", "sqlite3", "dateutil", "slowwave.settings", "slowwave.cli"}
PLAN = """
import sys
from pathlib import Path
from slowwave.compaction.plan import planned
from slowwave.compaction.items import read_session
from slowwave.compaction.plan import Budget
from slowwave.formats import SessionFiles

dialect, path = sys.argv[1], Path(sys.argv[2])
planned(read_session(dialect, SessionFiles(path.stem, (path,))), Budget())
print(*sorted(sys.modules))
"""


@pytest.mark.parametrize("dialect", OF)
def test_a_plan_loads_its_own_dialect_alone(dialect: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAN, dialect, str(OF[dialect])], capture_output=True, text=True, check=True
    )
    modules = done.stdout.split()
    # what a client is, is known of all; how its sessions are read, of none but those that are
    readers = (m.split(".")[2:] for m in modules if m.startswith("slowwave.formats."))
    packages = {client for client, *rest in readers if rest} & CLIENTS
    assert dialect in packages
    assert packages <= {dialect} | FAMILY.get(dialect, set[str]())
    assert not [m for m in modules if any(m == heavy or m.startswith(f"{heavy}.") for heavy in HEAVY)]
