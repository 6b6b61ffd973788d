"""Hooks: does the line come before the failures that a memory knows the cure of, and is it ever a wrong one?

Real sessions are replayed in the order of their days; before each a night remembers those that had ended by then. What
is right was judged by reading (``hook_verdicts.txt``: hashes and verdicts). What nobody judged counts as wrong.
"""

import hashlib
import os
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from slowwave.consolidation.effect.demands import points_of
from slowwave.memory.book import replay
from slowwave.memory.delivery.hook import answer
from slowwave.memory.delivery.hooks import command, hooks_folder, write_program, write_table
from slowwave.reading import Edited, Ran
from tests.quality.beside import CORPUS, missing
from tests.quality.intervals import counted
from tests.quality.replayed import Later, later_sessions
from tests.quality.rows_effect import events_of
from tests.quality.table import Must, Section, Table
from tests.quality.timelines import WISHES, timelines
from tests.quality.timelines_second import SECOND
from tests.week.script import Call

VERDICTS = Path(__file__).with_name("hook_verdicts.txt")
LEAST_SESSIONS, LEAST_BEFORE, MOST_WRONG, MOST_MS = 40, 0.6, 0.01, 30.0
_ROOT = "/project"
_TIMED = 200


@dataclass(frozen=True, slots=True)
class Replayed:
    """A call of a later session.

    Attributes:
        project: its repository.
        name: what stands for it in the verdicts.
        shown: the call, for a person who judges.
        has_failed: whether it failed.
        said: what was said before it, or "".
        earlier: all that had been said in its session by then.
    """

    project: str
    name: str
    shown: str
    has_failed: bool
    said: str
    earlier: tuple[str, ...]


def measure(*, errors: bool = False) -> Section:
    """Replay every later session of the corpus."""
    if reason := missing(CORPUS):
        return Section(skipped=reason)
    verdicts = _verdicts()
    every: list[Replayed] = []
    given: list[dict[str, Any]] = []
    sessions = 0
    with TemporaryDirectory() as folder:
        environ = {"HOME": folder, "PATH": os.environ["PATH"]}
        write_program(environ)
        for later in later_sessions():
            sessions += 1
            found = list(_replayed(later, environ))
            every += [one for one, _ in found]
            given += [call for _, call in found]
        speed = _speed(given, environ)
    planted, missed, spoken = _planted()
    known = [one for one in every if one.has_failed and verdicts.get(one.name) == "known"]
    before = [one for one in known if one.earlier]
    said = [one for one in every if one.said]
    wrong = [one for one in said if verdicts.get(f"{one.name}!") != "right"]
    open_ones = [one for one in every if one.has_failed and one.name not in verdicts]
    groups: dict[str, list[Replayed]] = defaultdict(list)
    for one in every:
        groups[one.project].append(one)
    section = Section(
        [
            Table(
                f"{sessions} later sessions, {len(every):,} commands and edits",
                ("", "calls", "failures", "cure known", "said before", "95 %", "lines", "wrong"),
                [_row(name, of, known, before, said, wrong) for name, of in (("all", every), *sorted(groups.items()))],
            ),
            planted,
            speed.table,
        ],
        [
            Must("later sessions", sessions, LEAST_SESSIONS),
            Must("said before the failures whose cure is known", len(before) / max(1, len(known)), LEAST_BEFORE),
            Must("wrong lines a call", len(wrong) / max(1, len(every)), MOST_WRONG, at_least=False),
            Must("planted: failures with a known cure, not said before", missed, 0, at_least=False),
            Must("planted: calls of which nothing was to be said", spoken, 0, at_least=False),
            Must("p95 from start to answer, ms of processor time", speed.p95, MOST_MS, at_least=False),
        ],
        [f"{len(known)} known cures are few: what of them holds elsewhere, the interval says"],
    )
    if open_ones:
        section.notes.append(f"{len(open_ones)} failures were judged by nobody, and count as not known")
    if errors:
        section.notes += [f"  not judged  {one.name}  {one.shown}" for one in open_ones]
        section.notes += [f"  not said    {one.name}  {one.shown}" for one in known if not one.earlier]
        section.notes += [f"  wrong line  {one.name}!  {one.shown}: {one.said}" for one in wrong]
    return section


def _row(name: str, of: Sequence[Replayed], *chosen: Sequence[Replayed]) -> tuple[str, ...]:
    known, before, said, wrong = (sum(one in few for one in of) for few in chosen)
    share = counted(before, known) if known else ("0/0", "-", "-")
    failures = sum(one.has_failed for one in of)
    return (name, f"{len(of):,}", str(failures), str(known), share[0], share[2], str(said), str(wrong))


def _planted() -> tuple[Table, int, int]:
    """Look at the calls of planted sessions: what failed is said, what works or is something else is not.

    Returns:
        the table, how many failures were not said, and how many commands something was said of that it was not about.
    """
    rows: list[tuple[str, ...]] = []
    lost = wrong = 0
    for name, kinds, seed in (("first set", WISHES, 19), ("second set", SECOND, 29)):
        failures = before = calls = said = 0
        for number, case in enumerate(timelines(seed, kinds)):
            if case.changed is not None:
                continue
            memory = next(iter(replay(events_of(case, ["m1"])).memories.values()))
            with TemporaryDirectory() as folder:
                environ = {"HOME": folder}
                write_table(_ROOT, Path(folder) / "memory", points_of([memory]), environ)
                (hooks_folder(environ) / "said").mkdir(parents=True)
                for step in case.steps:
                    if not isinstance(step, Call) or step.tool != "Bash":
                        continue
                    given = _handed("Bash", {"command": step.argument}, str(number))
                    has_said = bool(answer(given, str(hooks_folder(environ))))
                    is_due = step.failed and case.wish.startswith("a cure")
                    failures, before = failures + is_due, before + (is_due and has_said)
                    # of what breaks another memory it is right to say something
                    is_other = not is_due and case.fate in ("followed", "no occasion")
                    calls, said = calls + is_other, said + (is_other and has_said)
        rows.append((name, str(failures), str(before), str(calls), str(said)))
        lost, wrong = lost + failures - before, wrong + said
    header = ("planted sessions", "failures", "said before", "other calls", "said of them")
    return Table("of the timelines of `make quality SECTION=effect`", header, rows), lost, wrong


def _verdicts() -> dict[str, str]:
    rows = (line.split() for line in VERDICTS.read_text(encoding="utf-8").splitlines() if line[:1] not in ("", "#"))
    return {row[0]: row[1] for row in rows}


def _replayed(later: Later, environ: dict[str, str]) -> Iterator[tuple[Replayed, dict[str, Any]]]:
    """Yield the calls of a session, each with what the client would hand over."""
    write_table(_ROOT, Path(environ["HOME"]) / "memory", points_of(later.book.own), environ)
    earlier: tuple[str, ...] = ()
    for call in later.session.calls:
        given = _given(call, later)
        said = answer(given, str(hooks_folder(environ)))
        text = orjson.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""
        earlier += (text,) if text else ()
        name = hashlib.sha256(f"{later.session.path.name}:{call.order}".encode()).hexdigest()[:16]
        shown = call.line if isinstance(call, Ran) else call.path
        has_failed = isinstance(call, Ran) and not call.run.ok
        yield Replayed(later.project, name, " ".join(shown.split())[:160], has_failed, text, earlier), given


def _given(call: Ran | Edited, later: Later) -> dict[str, Any]:
    if isinstance(call, Ran):
        tool, asked = "Bash", {"command": call.line}
    else:
        tool, asked = "Edit", {"file_path": _inside(call.path, call.cwd or later.session.cwd, later.session.cwd)}
    return _handed(tool, asked, str(later.session.path))


def _handed(tool: str, asked: dict[str, str], session: str) -> dict[str, Any]:
    return {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "cwd": _ROOT,
        "tool_name": tool,
        "tool_input": asked,
    }


def _inside(path: str, *folders: str) -> str:
    """Return a file's path as it is below the project of this replay."""
    plain = PureWindowsPath(path).as_posix() if "\\" in path else path
    for folder in (PureWindowsPath(f).as_posix() if "\\" in f else f for f in folders):
        if folder and plain.startswith(f"{folder}/"):
            return f"{_ROOT}/{plain[len(folder) + 1 :]}"
    return plain


@dataclass(frozen=True, slots=True)
class _Speed:
    table: Table
    p95: float


def _speed(given: Sequence[dict[str, Any]], environ: dict[str, str]) -> _Speed:
    """Start the program as a client does for every so many of the calls, beside what starts without doing anything."""
    data = [orjson.dumps({**one, "session_id": f"{n}"}) for n, one in enumerate(given[:: max(1, len(given) // _TIMED)])]
    programs = {
        "the hook, as a client starts it": ["/bin/sh", "-c", command(environ)],
        "true": ["/bin/sh", "-c", "/bin/true || true"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for piece in data:
        for name, words in programs.items():
            taken[name].append(_taken(lambda w=words, p=piece: _started(w, p, environ)))
    rows: list[tuple[str, ...]] = []
    for name, of in taken.items():
        cells = [f"{_share(sorted(one[place] for one in of), share):.1f}" for place in (0, 1) for share in (0.5, 0.95)]
        rows.append((name, *cells))
    header = ("ms from start to answer", "processor p50", "p95", "clock p50", "p95")
    p95 = _share(sorted(one[0] for one in taken["the hook, as a client starts it"]), 0.95)
    return _Speed(Table(f"{len(data)} of these calls", header, rows), p95)


def _taken(work: Callable[[], object]) -> tuple[float, float]:
    def used() -> float:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    cpu, clock = used(), time.perf_counter()
    work()
    return (used() - cpu) * 1000, (time.perf_counter() - clock) * 1000


def _started(words: Sequence[str], data: bytes, environ: dict[str, str]) -> None:
    subprocess.run(words, input=data, env=environ, stdout=subprocess.PIPE, check=True)


def _share(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]
