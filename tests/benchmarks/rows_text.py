"""The words of 1 GB of sessions: against jq, which decodes everything, and ripgrep, which decodes nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

from measure import Row, compared, cpu_of
from peers import ripgrep
from sessions_data import VERSION, fleet

FILES = 10_000
_FILTER = '.message.content | if type == "string" then . elif type == "array" then (.[] | select(.type == "text") | .text) else empty end'  # noqa: E501 - one program
_STRING = r'"(?:[^"\\]|\\.)*"'
# Prompts are strings and all else is blocks, so it takes both to find the same words.
_PATTERN = f'(?:"text"|"role":"user","content"):{_STRING}'


def text(build: Path, rounds: int) -> list[Row]:
    """Print the words of every message of 10,000 sessions, whole process."""
    folder = fleet(build / f"data-{VERSION}" / f"fleet{FILES}" / "projects", FILES, 67_000, projects=40)
    size = sum(path.stat().st_size for path in folder.rglob("*.jsonl")) / 1e9
    commands: dict[str, list[str]] = {"ours": text_command(folder)}
    _check(folder)
    if shutil.which("jq"):
        names = build / "text-files.txt"
        names.write_bytes(b"\0".join(str(path).encode() for path in sorted(folder.rglob("*.jsonl"))))
        commands["jq"] = ["xargs", "-0", "-a", str(names), "jq", "-r", _FILTER]
    else:
        print("no jq here: the words of 1 GB are not measured against it")
    if rg := ripgrep(build):
        commands["ripgrep -o"] = [
            rg,
            "-o",
            "--no-filename",
            "--no-line-number",
            "--threads",
            "1",
            _PATTERN,
            str(folder),
        ]
    times = cpu_of(commands, max(1, rounds // 3))
    job = f"text of {size:.1f} GB"
    limits = {"jq": 0.3, "ripgrep -o": 1.2}
    rows = [compared(job, times, "ours", name, must) for name, must in limits.items() if name in times]
    missing = [name for name in limits if name not in times]
    return rows + [Row(job, f"{times['ours']:.2f} s", f"{name}, not here", "-", None, limits[name]) for name in missing]


def text_command(path: Path) -> list[str]:
    """Return the command a person would type, as its own process."""
    return [sys.executable, "-m", "slowwave", "sessions", "text", str(path)]


def _check(folder: Path) -> None:
    """Refuse to measure a pass that loses words: one project against jq, byte for byte."""
    project = min(folder.glob("-*"))
    ours = subprocess.run(text_command(project), check=True, capture_output=True).stdout
    assert ours.count(b"\n") > 1000
    if shutil.which("jq"):
        command = ["jq", "-r", _FILTER, *map(str, sorted(project.glob("*.jsonl")))]
        assert ours == subprocess.run(command, check=True, capture_output=True).stdout
