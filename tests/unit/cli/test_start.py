"""Reading commands start fast, since they import nothing that only a change, a dream or a server needs."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"asyncio", "ctypes", "dateparser", "difflib", "filelock", "prefect", "psutil", "pydantic", "rapidfuzz"}
PROGRAM = """
import sys
from slowwave.cli import main

code = main(sys.argv[1:])
print("loaded", *sorted(name for name in sys.modules if "." not in name))
sys.exit(code)
"""


def loaded_by(home: Path, *command: str) -> set[str]:
    environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    run = [sys.executable, "-c", PROGRAM, *command]
    done = subprocess.run(run, env=environ, check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def store_in(home: Path) -> None:
    project = home / ".claude" / "projects" / "-p"
    (project / "memory" / ".slowwave").mkdir(parents=True)
    line = '{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"hi"}}\n'
    (project / "s.jsonl").write_text(line, encoding="utf-8")


@pytest.mark.parametrize("command", [("status",), ("sessions", "list"), ("memory", "list")])
def test_a_reading_command_loads_only_what_it_needs(tmp_path: Path, command: tuple[str, ...]):
    store_in(tmp_path)
    loaded = loaded_by(tmp_path, *command)
    assert "msgspec" in loaded
    assert loaded & HEAVY == set()
