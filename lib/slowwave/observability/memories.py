"""The first two parts of the report: what agents know, with its source one click away, and what waits for a person.

What was learned in the last days comes first, then the inbox, then everything that is remembered, project by project.
Served by ``slowwave serve``, the inbox has buttons; as a file it names the commands.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from html import escape
from pathlib import Path

import msgspec

from slowwave.consolidation.gates import noted_of
from slowwave.errors import SlowwaveError
from slowwave.files import home_folder
from slowwave.memory import iso
from slowwave.memory.book import Memory
from slowwave.memory.evidence import Source, sources_of
from slowwave.memory.folder import MemoryFolder
from slowwave.observability.lessons import (
    Ask,
    Change,
    Dream,
    Learned,
    Remembered,
    asked,
    by_reason,
    in_words,
    learned,
    number_of_sessions,
    remembered,
)
from slowwave.report import counted, in_wait, plain
from slowwave.settings import ConsolidationSettings
from slowwave.stores.projects import short_names

# what is new to somebody who looks once a week
LATELY = timedelta(days=7)
MOST_CHANGES = 60
MOST_ASKS = 30
MOST_SOURCES = 3
# of a fleet, the page shows the busiest projects; slowwave memory list has all
MOST_PROJECTS = 100
MOST_MEMORIES = 200
_COMMAND = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered, what was learned lately, and what waits for a person."""

    every: Sequence[Remembered] = ()  # all memory folders with their dreams
    asks: Sequence[Ask] = ()  # what waits
    lately: Learned = field(default_factory=Learned)  # what was learned in the last days
    # where the memories and the facts that are shown first were said, by project and id
    sources: Mapping[tuple[str, str], Sequence[Source]] = field(default_factory=dict[tuple[str, str], Sequence[Source]])
    problems: Sequence[str] = ()  # memory folders that could not be read
    home: str = ""  # the home folder, which paths are told from
    token: str = ""  # what a served page sends along with each decision; "" for a file, which has no buttons
    said: str = ""  # what became of the last decision, on a served page; ``undo`` is the id by which it is taken back
    undo: str = ""

    def of_dreams(self, dreams: Collection[str]) -> Learned:
        """Return what some dreams changed, and what waits after them."""
        return self._learned(lambda dream: dream.id in dreams)

    def of_run(self, run: str) -> Learned:
        """Return what one run learned, and what waits after it."""
        return self._learned(lambda dream: dream.run == run)

    def _learned(self, wanted: Callable[[Dream], bool]) -> Learned:
        found = learned(self.every, wanted)
        found.asks = [msgspec.structs.replace(ask, evidence=()) for ask in self.needs]
        found.problems = [*self.problems]
        return found

    def place(self, path: str) -> str:
        """Return a path as people write it: from their home folder."""
        return f"~{path[len(self.home) :]}" if self.home and path.startswith(f"{self.home}/") else path

    @property
    def needs(self) -> list[Ask]:
        """What is worth a person's time."""
        return [ask for ask in self.asks if ask.is_worth_it]


NOTHING_KNOWN = Known()


def known_of(
    folders: Sequence[MemoryFolder],
    settings: ConsolidationSettings,
    now: datetime,
    environ: Mapping[str, str],
    redact: Callable[[str], str],
) -> Known:
    """Return what memory folders hold, and where it was said, without what ``redact`` takes out; problems are told."""
    every, problems = remembered(folders)
    readable = [one.folder for one in every]
    asks, more = asked(readable, settings, now, environ)
    since = iso(now - LATELY)
    lately = learned(every, lambda dream: dream.at >= since and not dream.is_undone)
    sources = _sources(every, asks, lately, redact)
    return Known(every, asks, lately, sources, [*problems, *more], str(home_folder(environ)))


def _sources(
    every: Sequence[Remembered], asks: Sequence[Ask], lately: Learned, redact: Callable[[str], str]
) -> dict[tuple[str, str], Sequence[Source]]:
    """Return the sources of what is shown first; what cannot be looked up stands with its recorded words."""
    projects = {one.folder.project: one for one in every}
    # much of what waits comes from one long message, and to look for secrets in it takes longest
    clean = cache(redact)
    wanted = {(ask.project, ask.id): ask.evidence for ask in asks[:MOST_ASKS] if ask.is_worth_it}
    for change in lately.changes[:MOST_CHANGES]:
        if memory := projects[change.project].book.memories.get(change.memory):
            wanted[change.project, change.memory] = memory.evidence
    found: dict[tuple[str, str], Sequence[Source]] = {}
    for (project, name), evidence in wanted.items():
        try:
            found[project, name] = sources_of(evidence, projects[project].folder.transcripts, MOST_SOURCES, clean)
        except (SlowwaveError, OSError):
            found[project, name] = [
                Source(clean(piece.quote), "", "", piece.path, "lost") for piece in evidence[:MOST_SOURCES]
            ]
    return found


def memories_html(known: Known) -> str:
    """Return the parts of the page about memories, in the order in which they are read."""
    if not known.every:
        return ""
    names = short_names(one.folder.project for one in known.every)
    return "".join([_lately(known, names), _inbox(known, names), _all(known, names)])


def _lately(known: Known, names: Mapping[str, str]) -> str:
    found = known.lately
    says = f"In the last {LATELY.days} days: {found}." if found.changes else f"Nothing new in {LATELY.days} days."
    shown = {id(change) for change in found.changes[:MOST_CHANGES]}
    parts: list[str] = []
    for project, changes in found.by_project():
        rows = [_change(known, change) for change in changes if id(change) in shown]
        if rows:
            heading = f"{names[project]}: {in_words(Counter(c.kind for c in changes))}"
            parts.append(f"<h3>{_text(heading)}</h3>{''.join(rows)}")
    more = len(found.changes) - len(shown)
    left = f"<p>and {more} more: <code>slowwave nights</code> lists them</p>" if more > 0 else ""
    return _part("learned", "What your agents learned", says, "".join(parts) + left)


def _change(known: Known, change: Change) -> str:
    known_from = [counted("sessions", change.sessions)] if change.sessions else []
    before = f"<p class='was'>before: {_words(change.before)}</p>" if change.before else ""
    why = f"<p class='was'>why: {_text(change.why)}</p>" if change.why else ""
    tag = "" if change.kind == "new" else f"<b class='tag {change.kind}'>{change.kind}</b> "
    inside = _said(known, known.sources.get((change.project, change.memory), ()))
    more = f"<p class='how'>{_text(', '.join([change.category, *known_from]).strip(', '))}"
    more += f" · <code>slowwave memory why {_text(change.memory)}</code></p>"
    return f"<details><summary>{tag}{_words(change.text)}</summary>{before}{why}{inside}{more}</details>"


def _said(known: Known, sources: Iterable[Source]) -> str:
    """Return where something was said: the words themselves stand out in what was said around them."""
    parts: list[str] = []
    for source in sources:
        around, quote = source.around or source.quote, source.quote.strip()
        at = around.find(quote) if quote else -1
        if at < 0:
            words = _text(around)
        else:
            words = f"{_text(around[:at])}<mark>{_text(quote)}</mark>{_text(around[at + len(quote) :])}"
        gone = "" if source.finding in ("ok", "moved") else f" ({source.finding})"
        before = f"<span class='agent'>the agent: {_text(source.before)}</span>" if source.before else ""
        parts.append(f"<blockquote>{before}{words}<cite>{_text(known.place(source.path) + gone)}</cite></blockquote>")
    return "".join(parts) or "<p class='how'>No source is kept with it.</p>"


def _inbox(known: Known, names: Mapping[str, str]) -> str:
    needs, others = known.needs, len(known.asks) - len(known.needs)
    waiting = ""
    if others:
        waiting = f" {in_wait(others, 0)}."
    said = f"<p class='done' role='status'>{_text(known.said)}</p>" if known.said else ""
    if known.undo:
        said += _form(known, {"id": known.undo}, '<button name="do" value="undo">Undo</button>')
    if not needs:
        return _part("inbox", "Waiting for you", f"Nothing.{waiting}", said)
    how = "" if known.token else " slowwave review asks you one by one; slowwave serve gives this page buttons."
    rows = ""
    for why, alike in by_reason(needs[:MOST_ASKS]).items():
        rows += f"<p class='how'>{_text(why)}:</p>" if why else ""
        rows += "".join(_ask(known, ask, names, "" if why else f": {ask.why}") for ask in alike)
    more = len(needs) - MOST_ASKS
    left = f"<p>and {more} more, which follow when these are decided</p>" if more > 0 else ""
    things = "1 thing" if len(needs) == 1 else f"{len(needs)} things"
    says = f"{things}, the likeliest to be worth keeping first.{waiting}{how}"
    return _part("inbox", "Waiting for you", says, said + rows + left)


def _ask(known: Known, ask: Ask, names: Mapping[str, str], why: str) -> str:
    source = _said(known, known.sources.get((ask.project, ask.id), ())) if ask.kind != "dream" else ""
    about = " · ".join(filter(None, (names[ask.project], ask.category)))
    head = f"<summary>{_words(ask.text)}<small>{_text(about + why)}</small></summary>"
    return f"<details class='ask'>{head}{source}{_buttons(known, ask) if known.token else _commands(ask)}</details>"


def _commands(ask: Ask) -> str:
    verbs = ("accept", "reject") if ask.kind in ("dream", "line") else ("accept", "edit", "reject")
    lines = [f"slowwave review {verb} {ask.id}{' TEXT' if verb == 'edit' else ''}" for verb in verbs]
    return f"<p class='how'>{'<br>'.join(f'<code>{_text(line)}</code>' for line in lines)}</p>"


def _buttons(known: Known, ask: Ask) -> str:
    yes = '<button name="do" value="accept" class="yes">Accept</button><button name="do" value="reject">Reject</button>'
    if ask.kind == "fact" and (number := sum(one.message == ask.message != "" for one in known.asks)) > 1:
        yes += f'<button name="do" value="message">Reject all {number} of this message</button>'
    if ask.kind in ("fact", "everywhere"):
        words = f'<textarea name="text" rows="2">{_text(ask.text)}</textarea>'
        yes += f'<label>In your words {words}</label><button name="do" value="edit">Keep my words</button>'
    return _form(known, {"id": ask.id, "project": ask.project}, yes)


def _form(known: Known, given: Mapping[str, str], inside: str) -> str:
    hidden = "".join(
        f'<input type="hidden" name="{name}" value="{_text(value)}">'
        for name, value in {"form": known.token, **given}.items()
    )
    return f'<form method="post" action="decide">{hidden}{inside}</form>'


def _instead(memory: Path) -> str:
    """Return what there is of a project of which nothing is remembered."""
    try:
        return noted_of(memory).told
    except SlowwaveError as error:
        return str(error)


def _all(known: Known, names: Mapping[str, str]) -> str:
    folders = sorted(known.every, key=lambda one: (-len(one.book.active), one.folder.project))
    folders = [one for one in folders if one.book.active]
    number = sum(len(one.book.active) for one in folders)
    if not number:
        told = [f"{names[one.folder.project]}: {_instead(one.folder.path)}" for one in known.every[:MOST_PROJECTS]]
        rows = "".join(f"<p>{_text(line)}</p>" for line in told)
        return _part("all", "Everything remembered", "Nothing yet.", rows)
    rows = "".join(_project(known, one, names) for one in folders[:MOST_PROJECTS])
    more = len(folders) - MOST_PROJECTS
    left = f"<p>and {more} more projects: <code>slowwave memory list</code></p>" if more > 0 else ""
    memories = f"{number:,} {'memory' if number == 1 else 'memories'}"
    says = f"{memories} in {counted('projects', len(folders))}; a click on a project opens it."
    return _part("all", "Everything remembered", says, rows + left)


def _project(known: Known, one: Remembered, names: Mapping[str, str]) -> str:
    active = sorted(one.book.active, key=lambda memory: (-memory.confidence, memory.id))
    rows = "".join(_memory(memory) for memory in active[:MOST_MEMORIES])
    more = len(active) - MOST_MEMORIES
    left = f"<li>and {more} more: <code>slowwave memory list</code></li>" if more > 0 else ""
    head = (
        f"{_text(names[one.folder.project])} <small>{len(active)} · {_text(known.place(str(one.folder.path)))}</small>"
    )
    return f"<details class='project'><summary>{head}</summary><ul>{rows}{left}</ul></details>"


def _memory(memory: Memory) -> str:
    quotes = list(dict.fromkeys(piece.quote.strip() for piece in memory.evidence if piece.quote.strip()))
    said = "".join(f"<blockquote>{_text(quote)}</blockquote>" for quote in quotes[:MOST_SOURCES])
    about = f"{memory.category}, {counted('sessions', number_of_sessions(memory.sightings))}"
    since = f", since {memory.valid_from[:10]}" if memory.valid_from else ""
    how = f"<p class='how'>{_text(about + since)} · <code>slowwave memory why {_text(memory.id)}</code></p>"
    return f"<li><details><summary>{_words(memory.text)}</summary>{said}{how}</details></li>"


def _part(name: str, title: str, says: str, inside: str) -> str:
    return (
        f'<section class="memories" aria-labelledby="{name}"><h2 id="{name}">{_text(title)}</h2>'
        f"<p>{_text(says)}</p>{inside}</section>\n"
    )


def _words(text: str) -> str:
    """Return what is remembered, commands in it set apart."""
    return _COMMAND.sub(r"<code>\1</code>", _text(text))


def _text(text: str) -> str:
    return escape(plain(text))
