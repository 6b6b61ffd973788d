"""How far a run is, on standard error: bars at a terminal, a line a stage, JSON lines for a program, or nothing."""

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, Self

import msgspec

from slowwave.cli.terminal import harmless
from slowwave.observability.progress import LOOK, LeftBy, watched_by, words

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_WIDEST = 40
# seconds after which a run takes long for somebody who sees no bars
LONG = 2.0
_PARTS_TOLD = 10
# from so many things, which took so many seconds, it shows how fast a step goes
_FEW, _SHORT = 5, 3.0
Wish = Literal["auto", "lines", "json"]


@contextmanager
def shown(wish: Wish) -> Generator[None]:
    """Show how far what is inside is, for one who looks.

    ``lines`` tells each stage in words, ``json`` writes a line after every step; ``auto`` draws bars where a person
    looks, and anywhere else tells the stages of a run that takes long.
    """
    if wish == "json":
        with watched_by(Lines()):
            yield
    elif wish == "lines":
        with watched_by(Stages()):
            yield
    elif sys.stderr and sys.stderr.isatty():
        with _bars() as bars, watched_by(bars):
            yield
    else:
        with Patient(LONG) as stages, watched_by(stages):
            yield


class Stages:
    """Writes a line when a stage begins, and how far it is at every tenth of a long one."""

    def __init__(self) -> None:
        """Tell at once what every run begins with."""
        self._totals: dict[str, int] = {}
        self._done: dict[str, int] = {}
        self._going: dict[str, Going] = {}
        self._told: list[str] = []
        self._name(LOOK)

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        """Name the stage, once; one that begins beside another when that is over, or when there is more of it."""
        is_next = all(done >= self._totals.get(one, 0) for one, done in self._done.items())
        self._totals[step], self._done[step] = total, 0
        self._going[step] = Going(total, left)
        if is_next:
            self._name(step)

    def done(self, step: str, what: str) -> None:
        """Tell how far it is: after each of a few, else after each tenth."""
        done, total = self._done.get(step, 0) + 1, self._totals.get(step, 0)
        self._done[step] = done
        left = self._going[step].on() if step in self._going else ""
        if total > 1 and done * _PARTS_TOLD // total > (done - 1) * _PARTS_TOLD // total:
            self._name(step)
            self._write(f"  {done} of {total}  {_named(what)}".rstrip() + (f"  {left}" if left else ""))
        if done >= total:
            for other in [one for one, of in self._totals.items() if self._done[one] < of][:1]:
                self._name(other)

    def _name(self, step: str) -> None:
        """Write the heading of a stage: what is written below it is of this one."""
        if step not in self._told or (self._told[-1] != step and self._totals.get(step, 0) > 1):
            self._told.append(step)
            self._write(_sentence(step))

    def _write(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - what was asked for


class Patient(Stages):
    """Writes the stages of a run that takes longer than some seconds: the present one then, further ones at once."""

    def __init__(self, seconds: float) -> None:
        """Say how long it is silent."""
        self._held: list[str] | None = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self.speak)
        self._timer.daemon = True
        super().__init__()

    def __enter__(self) -> Self:
        """Begin to wait."""
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Be silent from now on."""
        self._timer.cancel()
        self._timer.join()

    def speak(self) -> None:
        """Tell where the run is, and from now on everything at once."""
        with self._lock:
            held, self._held = self._held or [], None
        for line in held[-1:]:
            super()._write(line)

    def _write(self, line: str) -> None:
        with self._lock:
            if self._held is not None:
                self._held = [line] if not line.startswith(" ") else self._held
                return
        super()._write(line)


class Lines:
    """Writes a JSON object a line: what is done, of how much, how long the step has run, and what is left if known."""

    def __init__(self) -> None:
        """Begin to count."""
        self._totals: dict[str, int] = {}
        self._done: dict[str, int] = {}
        self._began: dict[str, float] = {}
        self._going: dict[str, Going] = {}

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        """Say how much there is to do."""
        self._totals[step], self._done[step], self._began[step] = total, 0, time.monotonic()
        self._going[step] = Going(total, left)
        self._write(step, "")

    def done(self, step: str, what: str) -> None:
        """Say that one more is done."""
        self._done[step] = self._done.get(step, 0) + 1
        if step in self._going:
            self._going[step].on()
        self._write(step, what)

    def _write(self, step: str, what: str) -> None:
        line = {
            "progress": step,
            "done": self._done[step],
            "total": self._totals.get(step, 0),
            "what": what.encode("utf-8", "backslashreplace").decode(),
            "seconds": round(time.monotonic() - self._began.get(step, time.monotonic()), 3),
        }
        if step in self._going and (left := self._going[step].left) is not None:
            line["seconds_left"] = round(left, 3)
        print(msgspec.json.encode(line).decode(), file=sys.stderr, flush=True)  # noqa: T201 - what was asked for


class Going:
    """How long a step still takes: by the pace that somebody set, and by how fast it went where that is slower.

    Args:
        total: how many things it goes over.
        pace: what a pace makes of those that are left, if there is one.
        now: the time in seconds.
    """

    def __init__(self, total: int, pace: LeftBy | None = None, now: Callable[[], float] = time.monotonic) -> None:
        """Begin to count."""
        self._total, self._pace, self._now = total, pace, now
        self._began = self._last = now()
        self._done = 0

    def on(self) -> str:
        """Take note that one more is done, and say how long the rest takes."""
        self._done += 1
        self._last = self._now()
        return str(self)

    @property
    def left(self) -> float | None:
        """Seconds that it still takes, None while nothing tells."""
        since = self._now() - self._last
        known = [self._pace(self._done)] if self._pace else []
        took = self._last - self._began
        if self._done >= _FEW and took >= _SHORT:
            known.append(took / self._done * (self._total - self._done))
        return max(0.0, max(known) - since) if known and self._done < self._total else None

    def __str__(self) -> str:
        """Say it, or nothing while it is not known."""
        left = self.left
        return "" if left is None else f"{timedelta(seconds=round(left))} left"


class Bars:
    """Draws a bar for each step; they are gone when the run is over, so that the report stands alone."""

    def __init__(self, screen: "Progress") -> None:
        """Draw on a screen that somebody else begins and ends."""
        self._screen = screen
        self._tasks: dict[str, TaskID] = {}
        self._going: dict[str, Going] = {}
        self.plan(LOOK, 1)  # what every run begins with is there before anything slow is imported

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        """Draw the bar of a step."""
        going = self._going[step] = Going(total, left)
        if step in self._tasks:
            # rich keeps none of a step's own words that it is not given again
            self._screen.reset(self._tasks[step], total=total, what="", going=going)
        else:
            self._tasks[step] = self._screen.add_task(_sentence(step), total=total, what="", going=going)

    def done(self, step: str, what: str) -> None:
        """Move the bar, and say what it moved over."""
        if step in self._tasks:
            self._going[step].on()
            # names of projects are foreign: nothing in them reaches the terminal
            self._screen.update(self._tasks[step], advance=1, what=_named(what))


def _named(project: str) -> str:
    """Return what people call a project; of a long name the end, which tells most, and a mark of the rest."""
    from slowwave.stores.projects import short_names  # noqa: PLC0415 - --help stays fast

    name = harmless(short_names([project])[project])
    return name if len(name) <= _WIDEST else f"...{name[3 - _WIDEST :]}"


def _sentence(step: str) -> str:
    name = words(step)
    return name[:1].upper() + name[1:]


@contextmanager
def _bars() -> Generator[Bars]:
    from rich.console import Console  # noqa: PLC0415 - only a person at a terminal waits for it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415 - as above

    texts = [
        TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[going]", "fields[what]")
    ]
    columns = (SpinnerColumn(), texts[0], BarColumn(), MofNCompleteColumn(), *texts[1:])
    with Progress(*columns, console=Console(stderr=True), transient=True) as screen:
        yield Bars(screen)
