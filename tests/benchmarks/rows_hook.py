"""What a client starts before each call of its agent: from start to answer, as it starts it, beside an empty Python."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

from measure import Row, cpu_of_command

from slowwave.memory.delivery.hooks import CallForm, Point, command, hooks_folder, write_program, write_table

STARTS = 100
MOST_S = 0.030
_ROOT = "/project"


def hook(build: Path, _rounds: int) -> list[Row]:
    """Start it a hundred times over a table of 200 memories, with something to say each time; the slowest twentieth."""
    home = build / "hook"
    environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    write_program(environ)
    points = [
        Point(f"m{n}", f"`make part{n}` fails until `make deps` was run", (CallForm(("make", f"part{n}")),), step=True)
        for n in range(100)
    ]
    points += [Point(f"p{n}", f"src/part{n} is generated", paths=(("src", f"part{n}"),)) for n in range(100)]
    write_table(_ROOT, home / "memory", points, environ)
    given = {
        "hook_event_name": "PreToolUse",
        "cwd": _ROOT,
        "tool_name": "Bash",
        "tool_input": {"command": "cd src && make part99 2>&1 | tail -5"},
    }
    said = hooks_folder(environ) / "said"
    for path in (path for folder in said.iterdir() for path in folder.iterdir()):
        path.unlink()
    times: dict[str, list[float]] = {"ours": [], "empty": []}
    handed = home / "handed.json"
    for number in range(STARTS + 1):
        handed.write_text(json.dumps({**given, "session_id": f"session {number}"}), encoding="utf-8")
        start = ["/bin/sh", "-c", f"{{ {command(environ)}; }} < {shlex.quote(str(handed))}"]
        if not number:
            assert b"part99" in subprocess.run(start, stdout=subprocess.PIPE, check=True).stdout
            continue
        times["ours"].append(cpu_of_command(start))
        times["empty"].append(cpu_of_command([sys.executable, "-c", "pass"]))
    own, other = (sorted(times[name])[int(STARTS * 0.95)] for name in ("ours", "empty"))
    return [
        Row("hook before a call, p95", f"{own * 1000:.1f} ms", "most", f"{MOST_S * 1000:.0f} ms", own / MOST_S, 1),
        Row("the same", f"{own * 1000:.1f} ms", "python -c pass", f"{other * 1000:.1f} ms", own / other, None),
    ]
