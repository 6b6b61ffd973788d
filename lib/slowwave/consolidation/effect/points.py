"""When a memory is to be said: before a command that it knows better, before an edit of a file that it is about.

Of a cure that is the call that failed, unless the one that works, or the step that it needs, is made; of a refusal the
call that is refused; of any other memory the files and folders that it names.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from slowwave.consolidation.effect.calls import Call, Demand
from slowwave.consolidation.effect.demands import demand_of
from slowwave.consolidation.effect.mentions import spans_of
from slowwave.memory.book import Memory, read_book, standing_of
from slowwave.memory.delivery.hooks import (
    MOST_POINTS,
    CallForm,
    Point,
    drop_tables,
    hooked_clients,
    said_of,
    write_table,
)
from slowwave.memory.delivery.register import read_register
from slowwave.memory.delivery.targets import unfit
from slowwave.settings import Settings
from slowwave.shell.mentioned import is_path
from slowwave.shell.purposes import is_ask
from slowwave.shell.tree import Word
from slowwave.stores.model import Project

# a path that stands without backticks: with a folder and an ending, or with an end that says it is a folder
_BARE = re.compile(r"(?<![\w/.@:-])(?:[\w.@*-]+/)+(?:[\w@*-]*\.\w+\b)?(?![\w/])")
_QUOTED = re.compile(r"['\"`]([^'\"`\s]{1,60})['\"`]")
_MOST_PATHS = 4


def points_of(memories: Iterable[Memory]) -> list[Point]:
    """Return where memories are to be said, those that commands are about first; nothing of what names neither.

    What one memory warns of and another one asks for is not sure enough.
    """
    every = [(memory, demand_of(memory)) for memory in memories]
    asked = {call.words for _, demand in every if demand and not demand.refused for call in demand.wanted}
    points = (point for memory, demand in every for point in _points(memory, demand, asked))
    return sorted(points, key=lambda point: (not point.tried, point.id))[:MOST_POINTS]


def _points(memory: Memory, demand: Demand | None, asked: Collection[tuple[str, ...]]) -> Iterator[Point]:
    text = said_of(memory.text)
    if demand is not None and demand.kind in ("other way", "step", "choice") and (calls := _tried(demand)):
        if not any(call.words in asked for call in calls):
            cure = tuple(map(_form, demand.wanted))
            yield Point(memory.id, text, tried=tuple(map(_form, calls)), cure=cure, step=demand.kind == "step")
    elif paths := tuple(_paths(memory, demand)):
        yield Point(memory.id, text, paths=paths[:_MOST_PATHS])


def _tried(demand: Demand) -> list[Call]:
    """Return the calls that are not to be made; of those without a program nobody knows what they belong to."""
    calls = [call for call in demand.refused if call.words and not is_ask([Word(word) for word in call.words])]
    return [_complained(call, demand.cause) for call in calls]


def _complained(call: Call, cause: str) -> Call:
    """Return a call up to the word that its program refused by name: whatever stands behind it, that fails as well."""
    named = _QUOTED.findall(cause)
    last = next((at for at, word in enumerate(call.words) if at and word in named), None)
    return call if last is None or call.options else Call(call.words[: last + 1], frozenset(), call.setting)


def _form(call: Call) -> CallForm:
    """Return how the table has a call: the value of an option is a word like others there."""
    options = [option.split() for option in sorted(call.options)]
    values = (value for _, *rest in options for value in rest)
    return CallForm((*call.words, *values), tuple(name for name, *_ in options), tuple(sorted(call.setting)))


def _paths(memory: Memory, demand: Demand | None) -> Iterator[tuple[str, ...]]:
    """Yield the files and folders that a memory is about, as the parts of their names below the project."""
    named = demand.paths if demand is not None else ()
    rest, spans = spans_of(memory.text)
    every = [*named, *(span for span in spans if is_path(span)), *(found[0] for found in _BARE.finditer(rest))]
    seen: set[tuple[str, ...]] = set()
    for text in every:
        path = PurePosixPath(text)
        parts = tuple(part for part in path.parts if part not in (".", "**"))
        is_open = path.is_absolute() or ".." in parts or any(sign in text for sign in "?[]{}$~\\:")
        # a name with nothing but stars fits every file
        if parts and not is_open and all(part.strip("*.") for part in parts) and parts not in seen:
            seen.add(parts)
            yield parts


def write_points(projects: Sequence[Project], settings: Settings, environ: Mapping[str, str], *, is_all: bool) -> None:
    """Write what may be said in each project whose clients have hooks that somebody asked for.

    Args:
        projects: the projects that it is about.
        settings: the settings in force.
        environ: the environment.
        is_all: these are all projects; the tables of others go.

    Raises:
        CorruptStateError: the register of deliveries, or a ledger, is damaged.
        OSError: a table cannot be written.
    """
    register = read_register(environ)
    if register is None or not register.hooks:
        return
    kept: list[str] = []
    for project in projects:
        is_wanted = any(not reason for reason in hooked_clients(project, register).values())
        if not is_wanted or unfit(project.root, environ):
            continue
        book = read_book(project.memory)
        standing = standing_of(book, settings.consolidation.half_lives)
        points = points_of(m for m in book.own if not standing.is_needless(m))
        write_table(project.root, project.memory, points, environ)
        kept.append(project.root)
    if is_all:
        drop_tables(kept, environ)
