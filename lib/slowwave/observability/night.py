"""A night: what is kept of a run for good, in a history that only grows; and the alarms that its history raises.

Alarms are what a run that ended well would otherwise hide. They are pure: the history and the settings go in, alarms
come out. An alarm is raised again every night until its cause is gone, always under the same name; only a type of
record is told once. Nights without new sessions say nothing: a holiday is no failure.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from slowwave.consolidation.gates import backlog_of
from slowwave.errors import SlowwaveError, UnreadableError
from slowwave.files import at_fault_point, file_bytes, private_folder, state_folder, write_all
from slowwave.formats import parse_time
from slowwave.locks import locked_file
from slowwave.memory.book import read_book
from slowwave.memory.folder import INDEX
from slowwave.report import BY_SETTING, PARKED_FOR_REVIEW, Report, Span
from slowwave.settings import AlarmSettings

VERSION = 1
# the outcome of a run that could not even begin
BROKEN = "Broken"
# the outcome of a run that began and never came to its end
STOPPED = "Stopped"
# A history line stays below what one write puts on a disk at once, whatever a fleet is made of.
MOST_FAILURES = 10
MOST_SPANS = 20
MOST_FOLDERS = 20
MOST_KINDS = 50
MOST_QUIET = 100
# what took less is no step that anybody waits for
LEAST_S = 0.001


class Alarm(msgspec.Struct, frozen=True):
    """Something that a person has to look at."""

    name: str  # silence, failures, stopped, backlog, loss, rescue or unknown-records; the same from night to night
    summary: str  # what is wrong and what to do, in one line
    count: int  # how many nights, failures, days, dreams or types


class Spent(msgspec.Struct, frozen=True):
    """What a language model was asked in a run: tokens both ways, and US dollars by the prices of the settings."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0


class Limits(msgspec.Struct, frozen=True):
    """Most lines and bytes of an index."""

    lines: int = 0
    bytes: int = 0


class Footprint(msgspec.Struct, frozen=True):
    """One project's memory."""

    project: str  # its key
    memories: int = 0  # active memories
    lines: int = 0  # lines of its index
    bytes: int = 0  # bytes of its index
    backlog: int = 0  # candidates that no dream has looked at
    oldest: str = ""  # when the first of them was noted, ISO time, or ""

    def share(self, lines: int, size: int) -> float:
        """Return how full the index is, of its lines or its bytes, whichever is fuller; 1.0 is full."""
        return max(self.lines / lines if lines else 0.0, self.bytes / size if size else 0.0)


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """One run, whichever job it was; a line of the history."""

    v: int = VERSION  # version of the form
    job: str  # name of the job
    run_id: str  # id of the run
    at: str  # when it began, ISO time
    seconds: float = 0.0  # how long it took
    # Completed, Skipped, Parked, PartlyFailed, Failed, Broken (it could not even begin) or Stopped (it was killed,
    # cancelled or cut off before it was over)
    outcome: str = "Completed"
    partial: bool = False  # whether only chosen projects were worked on
    projects: int = 0  # how many there were
    sessions: int = 0  # how many sessions they had
    # how many of these had changed since the run before and were worth reading, or were read with effect
    changed: int = 0
    dreams: int = 0  # dreams that were committed
    dreamt: int = 0  # projects over which a dream went; ``quiet`` are the first of those for which it wrote nothing
    quiet: list[str] = []
    counts: dict[str, int] = {}  # the counters of the report
    refusals: dict[str, int] = {}  # closed gates by gate
    failed: int = 0  # failures; the first of them stand in ``failures``
    failures: list[str] = []
    parked: int = 0  # dreams that wait for a person; ``lossy`` says why those wait that would lose too much
    lossy: list[str] = []
    unknown: dict[str, int] = {}  # records by a type that this version does not know
    spent: Spent = Spent()  # what a model cost
    memories: int = 0  # active memories of all projects
    backlog: int = 0  # candidates that no dream has looked at; ``oldest`` is when the first of them was noted, or ""
    oldest: str = ""
    folders: list[Footprint] = []  # the memory folders that are nearest to their limits
    limits: Limits = Limits()  # the limits of their indexes
    steps: dict[str, float] = {}  # seconds by step; ``slowest`` are single projects
    slowest: list[Span] = []
    alarms: list[Alarm] = []  # what was raised
    found_by: str = ""  # of a run that was stopped, the run that found it so and put it here
    # of a run that was stopped since somebody ended it, which is no failure: how far it was, and what goes on with it
    ended: str = ""

    @property
    def has_looked(self) -> bool:
        """Whether it went over its projects at all, so that its numbers say something."""
        return self.outcome not in (BROKEN, STOPPED)

    @property
    def began(self) -> datetime:
        """When it began."""
        return moment(self.at)

    def has_dreamt(self, project: str) -> bool:
        """Say whether a dream is known to have gone over a project and to have written nothing."""
        return project in self.quiet or (not self.partial and 0 < self.projects == self.dreamt)

    def counted(self, *names: str) -> int:
        """Return the sum of some counters."""
        return sum(self.counts.get(name, 0) for name in names)


# how runs end, in words
_STATES = {
    "Skipped": "nothing to do",
    "Parked": "a dream waits for you",
    "PartlyFailed": "failed in part",
    "Failed": "failed",
    "Broken": "could not begin",
    "Stopped": "stopped before its end",
    "Unfinished": "paused",
}


def state(night: Night) -> str:
    """Return how a run ended, in words."""
    if night.ended:
        return "ended with Ctrl-C"
    if night.job == "backfill" and night.counted("rolled_back") and not night.failed:
        return "taken back"
    return _STATES.get(night.outcome, night.outcome.lower())


def moment(at: str) -> datetime:
    """Return the moment that an ISO time names."""
    found = parse_time(at)
    if found is None:
        raise ValueError(f"{at!r} is not a time")
    return found


def night_of(
    report: Report,
    *,
    at: datetime,
    seconds: float,
    outcome: str,
    partial: bool,
    sessions: int,
    changed: int,
    spent: Spent,
    folders: Sequence[Footprint],
    limits: Limits,
) -> Night:
    """Return the night that a report without secrets tells of, and what is known of its run beside that."""
    full = sorted(folders, key=lambda f: (-f.share(limits.lines, limits.bytes), f.project))
    slowest = sorted((s for s in report.spans if s.seconds >= LEAST_S), key=lambda span: -span.seconds)
    kinds = sorted(report.unknown_types.items(), key=lambda kind: (-kind[1], kind[0]))
    return Night(
        job=report.job,
        run_id=report.run_id,
        at=at.isoformat(),
        seconds=round(seconds, 3),
        outcome=outcome,
        partial=partial,
        projects=report.counts.get("projects", 0),
        sessions=sessions,
        changed=changed,
        dreams=len(report.dream_ids),
        dreamt=len(report.phases),
        quiet=[_writable(project) for project in report.quiet_projects()[:MOST_QUIET]],
        counts=dict(report.counts),
        refusals=dict(Counter(gate.gate for gate in report.gates if not gate.passed)),
        failed=len(report.failures),
        failures=[_writable(failure) for failure in report.failures[:MOST_FAILURES]],
        parked=len(report.parked),
        lossy=[_writable(lossy) for lossy in _lossy(report)[:MOST_FAILURES]],
        unknown=dict(kinds[:MOST_KINDS]),
        spent=spent,
        memories=sum(folder.memories for folder in folders),
        backlog=sum(folder.backlog for folder in folders),
        oldest=min((folder.oldest for folder in folders if folder.oldest), default=""),
        folders=[replace(folder, project=_writable(folder.project)) for folder in full[:MOST_FOLDERS]],
        limits=limits,
        steps=_by_step(report.spans),
        slowest=[replace(s, project=_writable(s.project), seconds=round(s.seconds, 3)) for s in slowest[:MOST_SPANS]],
    )


def _lossy(report: Report) -> list[str]:
    """Return the projects whose dream waits since it would lose too much, and how much."""
    return [
        f"{item.project}: {item.reason.removeprefix(PARKED_FOR_REVIEW).lstrip(': ')}"
        for item in report.items
        if item.action == "skip" and item.reason.startswith(PARKED_FOR_REVIEW) and not item.reason.endswith(BY_SETTING)
    ]


def _writable(text: str) -> str:
    """Return text that any JSON carries: names of folders may hold bytes that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _by_step(spans: Sequence[Span]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for span in spans:
        sums[span.step] = sums.get(span.step, 0.0) + span.seconds
    return {step: round(seconds, 3) for step, seconds in sums.items()}


# What stands in a memory folder now: how large it is, and what waits there that no dream has looked at.


def footprints(folders: Sequence[tuple[str, Path]]) -> tuple[list[Footprint], list[str]]:
    """Return the footprint of each memory folder, given with its project's key, and what could not be read."""
    found: list[Footprint] = []
    problems: list[str] = []
    for project, memory in folders:
        try:
            found.append(footprint(project, memory))
        except (SlowwaveError, OSError) as error:
            problems.append(f"{project}: {error}")
    return found, problems


def footprint(project: str, memory: Path) -> Footprint:
    """Return the footprint of one memory folder."""
    if not memory.is_dir():
        return Footprint(project)
    book = read_book(memory)
    index = memory / INDEX
    data = file_bytes(index) if index.is_file() else b""
    times = [noted for _, noted in backlog_of(memory, book)]
    return Footprint(
        project, len(book.active), len(data.splitlines()), len(data), len(times), min(filter(None, times), default="")
    )


# The history of nights: a file that only grows, a line a run, beside the catalogue in the state folder.

FILE = "nights.jsonl"


def history_path(environ: Mapping[str, str]) -> Path:
    """Return where the history is."""
    return state_folder(environ) / FILE


def append_night(environ: Mapping[str, str], night: Night) -> None:
    """Add a night; a line that a killed process left torn is ended first, so that it costs itself only."""
    path = history_path(environ)
    private_folder(path.parent)
    with locked_file(path, create=True, append=True) as fd:
        size = os.fstat(fd).st_size
        torn = b"\n" if size and os.pread(fd, 1, size - 1) != b"\n" else b""
        at_fault_point("write", path)
        try:
            write_all(fd, torn + msgspec.json.encode(night) + b"\n")
        except OSError:
            # half a line would be told as damage for good
            os.ftruncate(fd, size)
            raise
        at_fault_point("fsync", path)
        os.fsync(fd)


def read_nights(environ: Mapping[str, str]) -> tuple[list[Night], list[str]]:
    """Return every night by its time, and what of the file could not be read."""
    path = history_path(environ)
    times: list[tuple[datetime, Night]] = []
    problems: list[str] = []
    try:
        lines = file_bytes(path).split(b"\n") if path.exists() else []
    except UnreadableError as error:
        return [], [str(error)]
    for number, line in enumerate(lines, 1):
        try:
            if line and (night := msgspec.json.decode(line, type=Night)).v <= VERSION:
                times.append((night.began, night))
            elif line:
                problems.append(f"{path}: line {number} was written by a newer slowwave; install that one to see it")
        except ValueError as error:
            # bytes that are no text, text that is no night, a night at no time
            problems.append(f"{path}: line {number} does not parse ({error}); it is left out")
    return [night for _, night in sorted(times, key=itemgetter(0))], problems


# jobs that together turn sessions into memories
REMEMBERING = ("nightly", "extract", "consolidate")
_MOST_NAMED = 3


def alarms_of(earlier: Sequence[Night], night: Night, settings: AlarmSettings) -> list[Alarm]:
    """Return the alarms that a night raises."""
    found: list[Alarm] = [*_failures(night), *_stopped(earlier, night)]
    if night.job in REMEMBERING:
        found += _silence([*earlier, night], settings.silent_nights)
        found += _backlog(night, settings.backlog)
    return [*found, *_loss(night), *_rescue(night), *_unknown(earlier, night)]


def _failures(night: Night) -> Iterator[Alarm]:
    if night.failed:
        first = night.failures[0] if night.failures else "see the report of the run"
        yield Alarm("failures", f"{_number(night.failed, 'failure')} in {night.job}, first: {first}", night.failed)


def _stopped(earlier: Sequence[Night], night: Night) -> Iterator[Alarm]:
    """Look for runs that this one found stopped, and not by somebody: nobody else could tell of them."""
    found = [one for one in earlier if one.outcome == STOPPED and one.found_by == night.run_id and not one.ended]
    if found:
        last = found[-1]
        what = f"{last.job} of {last.began:%Y-%m-%d %H:%M}" + (f" and {len(found) - 1} more" if len(found) > 1 else "")
        yield Alarm("stopped", f"{what}: {last.failures[0]}", len(found))


def _silence(nights: Sequence[Night], most: int) -> Iterator[Alarm]:
    """Look for days in a row on which there was something to remember, and nobody dreamt."""
    if not most:
        return
    if vanished := _vanished(nights):
        yield Alarm("silence", f"no session is found any more where {vanished} were; check store.roots", 1)
        return
    days = [day for day in _days(nights) if any(n.changed or n.dreams or n.parked for n in day)]
    silent = list(takewhile(lambda day: not any(n.dreams or n.parked for n in day), reversed(days)))
    if len(silent) < most:
        return
    runs = [night for day in silent for night in day]
    closed: Counter[str] = Counter()
    for night in runs:
        closed.update(night.refusals)
    gates = ", ".join(f"{gate} {_number(number, 'time')}" for gate, number in closed.most_common(_MOST_NAMED))
    why = f"gates refused: {gates}" if gates else "no gate refused"
    noted = sum(night.counted("candidates") for night in runs)
    what = f"{_number(len(silent), 'night')} with new sessions gave {_number(noted, 'fact')} and no dream"
    yield Alarm("silence", f"{what}; {why}; slowwave status says more", len(silent))


def _vanished(nights: Sequence[Night]) -> int:
    """Return how many sessions there were when the last whole run found some, if now there are none."""
    whole = [night for night in nights if night.job in REMEMBERING and not night.partial and night.has_looked]
    if not whole or whole[-1] is not nights[-1] or whole[-1].sessions:
        return 0
    return next((night.sessions for night in reversed(whole) if night.sessions), 0)


def _days(nights: Iterable[Night]) -> list[list[Night]]:
    """Return the remembering runs of each day together: extraction and dreams may be scheduled apart."""
    days: dict[date, list[Night]] = {}
    for night in nights:
        if night.job in REMEMBERING:
            days.setdefault(night.began.date(), []).append(night)
    return list(days.values())


def _backlog(night: Night, longest: timedelta) -> Iterator[Alarm]:
    if not longest or not night.oldest:
        return
    age = night.began - datetime.fromisoformat(night.oldest)
    if age > longest:
        what = f"{_number(night.backlog, 'fact')} in the backlog of dreams, the oldest for {age.days} days"
        yield Alarm("backlog", f"{what}; slowwave status says why", age.days)


def _loss(night: Night) -> Iterator[Alarm]:
    if night.lossy:
        what = f"{_number(len(night.lossy), 'dream')} parked for losing too much, first: {night.lossy[0]}"
        yield Alarm("loss", f"{what}; slowwave memory review decides", len(night.lossy))


def _rescue(night: Night) -> Iterator[Alarm]:
    if left := night.counted("rescue_left_out"):
        what = f"{_number(left, 'session')} that their client deletes soon found no room in the archive"
        yield Alarm("rescue", f"{what}; raise retention.rescue_max_bytes", left)


def _unknown(earlier: Sequence[Night], night: Night) -> Iterator[Alarm]:
    """Look for types of records that no night has met before: a client may have changed its format."""
    known = {kind for one in earlier for kind in one.unknown}
    new = [kind for kind in night.unknown if kind not in known]
    if new:
        more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
        what = f"records of unknown types appeared: {', '.join(new[:_MOST_NAMED])}{more}"
        yield Alarm(
            "unknown-records",
            f"{what}; nothing of them is lost, and you need do nothing: a newer slowwave may read them",
            len(new),
        )


def _number(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


# The events that a scheduler gets of a run: one that it is over, and one for each alarm.

OVER = "slowwave.run.over"
ALARM = "slowwave.alarm"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, the resource that it is about, and what goes with it."""

    name: str
    resource: dict[str, str]
    payload: dict[str, Any] = field(default_factory=dict[str, Any])


def events_of(night: Night, host: str) -> list[Event]:
    """Return the events of a run: ``slowwave.run.over`` and ``slowwave.alarm.NAME``, about the job on its machine.

    The resource is the same every night, so that an automation can wait for the next event of it.
    """
    about = {
        "prefect.resource.id": f"slowwave.{night.job}.{host}",
        "prefect.resource.name": f"{night.job} on {host}",
        "slowwave.job": night.job,
        "slowwave.host": host,
    }
    run = {"run_id": night.run_id, "outcome": night.outcome}
    over = Event(OVER, about, {**run, "seconds": night.seconds, "failures": night.failed, "dreams": night.dreams})
    alarms = [
        Event(f"{ALARM}.{alarm.name}", about, {**run, "summary": alarm.summary, "count": alarm.count})
        for alarm in night.alarms
    ]
    return [over, *alarms]
