"""The house: how many rooms the library has, and how many of them a story walks through.

Each walk runs the command in a process of its own and notes every function of the project that runs there, in any of
its threads; what runs because a module is being imported does not count. Such a process is
``python -m tests.quality.rows_house FILE WORD...``: it runs ``slowwave WORD...`` and writes what ran to FILE.
"""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import orjson

from tests.quality.table import Must, Section, Table
from tests.unit.extraction.talk import CWD, RULES, Talk
from tests.unit.retention.planted import aged

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "lib" / "slowwave"
_FOLDERS = tuple(f"{ROOT / name}{os.sep}" for name in ("lib/slowwave", "flows", "tasks"))
# who tells the story of a run through Prefect, rather than doing its work
_TELLS = ("flows/", "tasks/", "lib/slowwave/cli/", "lib/slowwave/service/", "lib/slowwave/jobs/")
_OPTIMIZED = 0x1  # inspect.CO_OPTIMIZED: the code of a function, and not of a module or class
_MOST_FILES, _MOST_LINES = 220, 55_000
_RECORDS = 46
_HEADER = ("", "files", "their lines", "functions")

Seen = set[tuple[str, str]]


def measure(*, errors: bool = False) -> Section:
    """Count the rooms, and walk."""
    files = sorted(LIBRARY.rglob("*.py"))
    sizes = {path: path.read_bytes().count(b"\n") for path in files}
    named = [path for path in files if re.search(rb'"codex"', path.read_bytes()) and "codex" not in path.as_posix()]
    rows = [
        ("files", str(len(files))),
        ("lines", f"{sum(sizes.values()):,}"),
        ("median of a file", f"{median(sizes.values()):.0f}"),
        ("longest file", str(max(sizes.values()))),
        ('files that name "codex", outside of its own', str(len(named))),
    ]
    section = Section(
        [Table("The library", ("", ""), rows)],
        [
            Must("files", len(files), _MOST_FILES, at_least=False),
            Must("lines", sum(sizes.values()), _MOST_LINES, at_least=False),
            Must('files that name "codex", outside of its own', len(named), 4, at_least=False),
        ],
    )
    walked = {name: (_walk(lines, only), most) for name, lines, only, most in _WALKS}
    section.tables.append(Table("Walks", _HEADER, [_row(name, seen, sizes) for name, (seen, _) in walked.items()]))
    section.musts += [
        Must(f"files of the walk: {name}", len({file for file, _ in seen}), most, at_least=False)
        for name, (seen, most) in walked.items()
    ]
    if errors:
        section.notes += [f"  names it  {path.relative_to(ROOT)}" for path in named]
        for name, (seen, _) in walked.items():
            section.notes += [f"  {name}: {file}" for file in sorted({file for file, _ in seen})]
    return section


_GATES = "--set extraction.min_messages=0 --set consolidation.min_sessions=0 --force --json"
_AWAY = "--set retention.enforce=true --set retention.max_age=1d --set retention.require_extracted=false --json"
# name, the commands after one another, what of the project counts, at most so many files
_WALKS: Sequence[tuple[str, Sequence[str], tuple[str, ...], int]] = (
    (
        "a record on its way to MEMORY.md",
        (f"run extract --direct {_GATES}", f"run consolidate --direct {_GATES}"),
        ("lib/slowwave/",),
        80,
    ),
    (
        "compaction of one session",
        ("sessions compact {session} --set compaction.keep_recent_tokens=2000 --json",),
        ("lib/slowwave/",),
        60,
    ),
    (
        "retain and restore",
        (f"run retain --apply --confirm 99 --direct {_AWAY}", "sessions restore --all --json"),
        ("lib/slowwave/",),
        60,
    ),
    ("sessions list", ("sessions list",), ("lib/slowwave/",), 25),
    ("orchestration of a run through Prefect", (f"run consolidate --prefect {_GATES}",), _TELLS, 15),
)


def _walk(lines: Sequence[str], only: tuple[str, ...]) -> Seen:
    """Return what ran of the project, by file and function, while one command after the other did its work."""
    with TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        session = _session(home)
        environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
        seen: Seen = set()
        for line in lines:
            out = Path(folder) / "seen.json"
            words = line.format(session=session).split()
            command = [sys.executable, "-m", "tests.quality.rows_house", str(out), *words]
            done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
            if done.returncode not in (0, 6) or not out.exists():
                raise RuntimeError(f"slowwave {line} ended with {done.returncode}: {done.stderr[-2_000:]}")
            seen |= {(file, name) for file, name in orjson.loads(out.read_bytes()) if file.startswith(only)}
            out.unlink()
        return seen


def _session(home: Path) -> str:
    """Write a session of Claude Code with 46 records that has rested for long; return its id."""
    talk = Talk()
    for rule in RULES:
        talk.person(rule).assistant("I keep that in mind.").bash("make test", "error: DB_URL is not set", code=2)
        talk.bash("DB_URL=sqlite:// make test", "12 passed\n" + "ok\n" * 4_000)
    while len(talk.records) < _RECORDS:
        talk.person("go on with the next part").assistant("Done, the next part stands.")
    talk.write(home / ".claude" / "projects" / CWD.replace("/", "-"))
    aged(home)
    return talk.id


def _row(name: str, seen: Seen, sizes: dict[Path, int]) -> tuple[str, ...]:
    files = {file for file, _ in seen}
    lines = sum(sizes.get(ROOT / file, 0) for file in files)
    return name, str(len(files)), f"{lines:,}", str(len(seen))


class _Steps:
    """Notes the functions of the project that run, in every thread."""

    def __init__(self) -> None:
        self.seen: Seen = set()
        self._importing = threading.local()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(_FOLDERS):
            return
        deep: int = getattr(self._importing, "deep", 0)
        if code.co_name == "<module>":
            self._importing.deep = deep + (1 if event == "call" else -1)
        elif event == "call" and not deep and code.co_flags & _OPTIMIZED:
            self.seen.add((str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname))


def _main(out: Path, words: Sequence[str]) -> int:
    from slowwave.cli import main  # noqa: PLC0415 - after the steps are noted

    steps = _Steps()
    threading.setprofile(steps)
    sys.setprofile(steps)
    try:
        return main(list(words))
    finally:
        sys.setprofile(None)
        out.write_bytes(orjson.dumps(sorted(steps.seen)))


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), sys.argv[2:]))
