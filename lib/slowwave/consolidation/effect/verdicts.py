"""What a session made of the demands of memories, by its commands and edits alone.

A breach outweighs what was kept. What a person asked for in so many words is no breach; what they refused to let an
agent do is one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import PurePosixPath

from slowwave.consolidation.effect.calls import Call, Demand
from slowwave.consolidation.effect.demands import demand_of
from slowwave.consolidation.likeness import words_of
from slowwave.errors import SlowwaveError
from slowwave.extraction.practice import is_general
from slowwave.formats.registry import by_name
from slowwave.formats.sessions import StoredSession
from slowwave.memory.book import Book, Memory, replay, standing_of
from slowwave.memory.delivery.register import Register, placed_of, told_as
from slowwave.memory.delivery.targets import loads_itself
from slowwave.memory.effects import Breach, Case, Effect, Watched, effects_of
from slowwave.memory.folder import INDEX
from slowwave.memory.ledger import Event, read_ledger
from slowwave.memory.model import iso, name_to_json
from slowwave.reading.items import Edited, Item, Ran, Reading, Said
from slowwave.reading.session import read
from slowwave.report import Item as ReportItem
from slowwave.settings import ConsolidationSettings
from slowwave.shell.commands import Proven, commands_of
from slowwave.shell.mentioned import Heard, names_file
from slowwave.shell.purposes import is_ask
from slowwave.shell.tree import Word
from slowwave.stores.model import Project, latest_version, version_order

# of a command, for who it is known by
_MOST_WORDS = 4
_WAIVES = re.compile(
    r"\b(?:skip|without|no need|don'?t (?:bother|need)|leave out|ohne|sans|sin|senza|sem|lass)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"[.!?\n]+(?:\s|$)|\n")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a session made of one memory.

    Attributes:
        is_kept: whether it was followed.
        item: what shows it.
    """

    is_kept: bool
    item: Item


@dataclass(frozen=True, slots=True)
class _Act:
    """A command that an agent ran, or a file that it changed."""

    item: Item
    command: Proven | None = None
    path: str = ""
    is_done: bool = True


def verdicts(reading: Reading, demands: Mapping[str, Demand]) -> dict[str, Verdict]:
    """Return what a session made of memories, by their ids; nothing of those that had no occasion.

    Args:
        reading: the session.
        demands: by memory, what it demands; all that the session was told.
    """
    acts = list(_acts(reading))
    others = {name: [c for n, d in demands.items() if n != name for c in d.wanted] for name in demands}
    found: dict[str, Verdict] = {}
    for name, demand in demands.items():
        every = list(_JUDGES[demand.kind](demand, acts, reading, others[name]))
        if demand.kind in ("gate", "after", "purpose"):
            every = [one for one in every if one.is_kept or not _is_waived(demand, one.item, reading)]
        breach = next((one for one in every if not one.is_kept), None)
        if every:
            found[name] = breach or every[0]
    return found


def heard_in(reading: Reading) -> set[tuple[str, ...]]:
    """Return what a session ran, by the first words of each command: as a program, and as what is asked of it."""
    runs = (item.run for item in reading.items if isinstance(item, Ran))
    words = (command.text.split()[:_MOST_WORDS] for run in runs for command in run.commands)
    return {tuple(one[:count]) for one in words for count in range(1, len(one) + 1) if len(one[0]) > 1}


def _acts(reading: Reading) -> Iterator[_Act]:
    for item in reading.items:
        if isinstance(item, Ran):
            for command in item.run.commands:
                yield from (_Act(item, path=path) for path in _written(command))
                if not _only_asks(command):
                    is_done = command.outcome == "succeeded" or (command.outcome == "unknown" and item.run.ok)
                    yield _Act(item, command, is_done=is_done)
        elif isinstance(item, Edited):
            yield _Act(item, path=_relative(item))
        elif isinstance(item, Said) and item.channel == "refusal":
            # the name of the tool stands before what was refused
            for command in commands_of(item.refused.partition(" ")[2]):
                yield _Act(item, command, is_done=False)


def _written(command: Proven) -> Iterator[str]:
    """Yield the files that a command changes in their place."""
    words = [word.strip("'\"") for word in command.text.split()[1:]]
    if command.program in ("sed", "perl", "gsed") and any(word.startswith(("-i", "-pi")) for word in words):
        yield from (word for word in words if not word.startswith("-") and names_file(word))


def _only_asks(command: Proven) -> bool:
    return is_ask([Word(text) for text in command.text.split()])


def _relative(item: Edited) -> str:
    path, folder = PurePosixPath(item.path), item.cwd
    return str(path.relative_to(folder)) if folder and path.is_relative_to(folder) else str(path)


def _choice(demand: Demand, acts: Sequence[_Act], reading: Reading, _: Sequence[Call]) -> Iterator[Verdict]:
    for act in acts:
        if act.path:
            yield from _changed(demand, act, reading)
        elif act.command is not None:
            command = act.command
            refused = [call for call in demand.refused if call.fits(command)]
            wanted = [call for call in demand.wanted if call.fits(command)]
            if refused and _width(refused) > _width(wanted):
                if not any(_is_wished(call, act.item, reading) for call in refused):
                    yield Verdict(is_kept=False, item=act.item)
            elif not refused or wanted:
                # the same call without the option that is refused
                bare = [Call(call.words) for call in demand.refused if call.words and call.options]
                if wanted or any(call.fits(command) for call in bare):
                    yield Verdict(is_kept=True, item=act.item)


def _changed(demand: Demand, act: _Act, reading: Reading) -> Iterator[Verdict]:
    if any(is_within(act.path, one) for one in demand.paths):
        if not _is_said(reading, act.item, PurePosixPath(act.path).name):
            yield Verdict(is_kept=False, item=act.item)
    elif any(is_within(act.path, one) for one in demand.instead):
        yield Verdict(is_kept=True, item=act.item)


def _other_way(demand: Demand, acts: Sequence[_Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
    for act in acts:
        if act.command is None:
            continue
        works = [call for call in demand.wanted if call.fits(act.command, launched=False)]
        tried = [call for call in demand.refused if call.fits(act.command, launched=False)]
        if works and _width(works) >= _width(tried):
            yield Verdict(is_kept=True, item=act.item)
        elif tried and works:
            continue
        elif tried and act.command.outcome == "failed":
            yield Verdict(is_kept=False, item=act.item)


def _step(demand: Demand, acts: Sequence[_Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
    is_prepared = False
    for act in acts:
        if act.command is None:
            continue
        if any(call.fits(act.command, launched=False) for call in demand.wanted):
            is_prepared = is_prepared or act.command.outcome != "failed"
        elif any(call.fits(act.command, launched=False) for call in demand.refused):
            if is_prepared and act.is_done:
                yield Verdict(is_kept=True, item=act.item)
            elif not is_prepared and act.command.outcome == "failed":
                yield Verdict(is_kept=False, item=act.item)


def _purpose(demand: Demand, acts: Sequence[_Act], _: Reading, others: Sequence[Call]) -> Iterator[Verdict]:
    """Yield what was run for a purpose; where one of the calls that are wanted was, others beside it break nothing."""
    purpose = Call((), topic=demand.purpose)
    commands = [(act, act.command) for act in acts if act.command is not None]
    own = [act for act, command in commands if any(call.fits(command) for call in demand.wanted)]
    if own:
        yield Verdict(is_kept=True, item=own[0].item)
        return
    for act, command in commands:
        # another memory may ask for what was run
        if any(call.fits(command) for call in others):
            continue
        is_short = any(call.fits(command, launched=False) for call in demand.refused)
        if is_short or (purpose.fits(command) and is_general(command)):
            yield Verdict(is_kept=False, item=act.item)


def _gate(demand: Demand, acts: Sequence[_Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
    """Yield whether each end came behind all that is wanted; a change asks for checks again, for no other call."""
    end = demand.until
    assert end is not None
    is_handed_on = end.topic or end.words[0] in ("git", "gh")
    passed: set[Call] = set()
    is_changed = True
    for act in acts:
        if act.command is None:
            if is_handed_on:
                passed, is_changed = set[Call](), True
        elif end.fits(act.command) and not any(call.fits(act.command) for call in demand.wanted):
            if is_changed or passed:
                yield Verdict(is_kept=passed >= set(demand.wanted), item=act.item)
                is_changed = False
        elif act.command.outcome != "failed":
            passed |= {call for call in demand.wanted if call.fits(act.command)}


def _after(demand: Demand, acts: Sequence[_Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
    open_since: _Act | None = None
    for act in acts:
        command = act.command
        if command is None:
            open_since = act if any(is_within(act.path, one) for one in demand.paths) else open_since
        elif open_since and any(call.fits(command) for call in demand.wanted):
            yield Verdict(is_kept=True, item=act.item)
            open_since = None
        elif any(call.fits(command) for call in demand.behind):
            open_since = act
    if open_since is not None:
        yield Verdict(is_kept=False, item=open_since.item)


_Judge = Callable[[Demand, Sequence[_Act], Reading, Sequence[Call]], Iterator[Verdict]]
_JUDGES: dict[str, _Judge] = {
    "choice": _choice,
    "other way": _other_way,
    "step": _step,
    "purpose": _purpose,
    "gate": _gate,
    "after": _after,
}


def is_within(path: str, pattern: str) -> bool:
    """Say whether a file is what a pattern names, or lies in it: ``src/gen``, ``*.pb.go``, ``docs/**/index.md``."""
    parts, own = PurePosixPath(path).parts, PurePosixPath(pattern).parts
    own = own[:-1] if own and own[-1] == "**" else own
    last = len(parts) - len(own)
    if any(all(map(fnmatch, parts[at : at + len(own)], own)) for at in range(last + 1)):
        return True
    return "**" in own and fnmatch(path, pattern.replace("**/", "*"))


def _width(calls: Sequence[Call]) -> int:
    return max((call.width for call in calls), default=-1)


def _is_wished(call: Call, item: Item, reading: Reading) -> bool:
    """Say whether a person asked for a call before it was made: by its words, or the last of them and its options."""
    *_, last = call.words or ("",)
    names = [option.lstrip("-") for option in call.options]
    whole = " ".join((*call.words, *sorted(call.options)))
    return _is_said(reading, item, whole) or (len(call.words) > 1 and _is_said(reading, item, last, *names))


def _is_said(reading: Reading, item: Item, *names: str) -> bool:
    """Say whether a person named all of these in one sentence before something was done, without any no."""
    wanted = [re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE) for name in names if name]
    return any(
        all(one.search(sentence) for one in wanted) and not words_of(sentence).negations
        for said in reading.said("person")
        if said.order < item.order and said.channel != "refusal"
        for sentence in _SENTENCE.split(said.own)
    )


def _is_waived(demand: Demand, item: Item, reading: Reading) -> bool:
    """Say whether a person said before that what is wanted may be left out this time."""
    names = {word for call in demand.wanted for word in (*call.words, call.topic) if len(word) > 2}  # noqa: PLR2004
    names |= {demand.purpose, "tests", "checks"} - {""}
    return any(
        not names.isdisjoint(re.findall(r"[\w./:-]+", sentence.lower()))
        for said in reading.said("person")
        if said.order < item.order
        for sentence in _SENTENCE.split(said.own)
        if _WAIVES.search(sentence)
    )


# Which memories a session was told when it began, and what it made of them.
#
# Clients that load the memory folder were told what stood in the index: the ledger knows what did at any time, in which
# words. The others were told what stood in the section of their file: the register of deliveries knows since when.

# began by nobody who types in it
_UNTYPED = ("cron", "hook", "question")


@dataclass(slots=True)
class Watch:
    """What sessions made of the memories of a project.

    Attributes:
        project: the project.
        register: what stands in the files of clients.
        problems: sessions that could not be read, one line each.
    """

    project: Project
    register: Register
    problems: list[str] = field(default_factory=list[str])
    _events: Sequence[Event] = ()
    _books: dict[int, Book] = field(default_factory=dict[int, Book])

    def over(self, sessions: Iterable[StoredSession]) -> list[Watched]:
        """Return what sessions made of what they were told; nothing of those that were told nothing.

        Raises:
            CorruptStateError: the ledger is damaged.
            UnreadableError: it cannot be opened.
        """
        self._events = read_ledger(self.project.memory)
        first = min((event.at for event in self._events if event.event in ("add", "adopt")), default="")
        found: list[Watched] = []
        for session in sessions if first else ():
            if session.kind != "main" or session.origin in _UNTYPED or session.source == "backup":
                continue
            if iso(datetime.fromtimestamp(session.mtime_ns / 1e9, UTC)) <= first:
                continue  # it was over before there was anything to tell
            try:
                row = self._row(session)
            except SlowwaveError as error:
                self.problems.append(str(error))
                continue
            found += [row] if row else []
        return found

    def _row(self, session: StoredSession) -> Watched | None:
        transcript = by_name(session.dialect).read(session.files)
        times = (message.timestamp for message in transcript.messages if message.timestamp)
        began = next(times, None)
        if began is None or transcript.kind == "subagent":
            return None
        told = self.told(session, iso(began))
        if not told:
            return None
        reading = read(transcript.messages, str)
        demands = demands_of(told, heard_in(reading))
        given = verdicts(reading, demands)
        quiet = {name for name in demands.keys() - given.keys() if demands[name].shows}
        return Watched(
            dialect=session.dialect,
            session=name_to_json(session.id),
            began=iso(began),
            followed=tuple(sorted(name for name, one in given.items() if one.is_kept)),
            broken=tuple(Breach(name, one.item.record) for name, one in sorted(given.items()) if not one.is_kept),
            idle=tuple(sorted(name for name in quiet if demands[name].can_be_followed)),
            silent=tuple(sorted(name for name in quiet if not demands[name].can_be_followed)),
            told=tuple(sorted({m.id for m in told} - given.keys() - quiet)),
        )

    def told(self, session: StoredSession, began: str) -> list[Memory]:
        """Return the memories that a session was told when it began, in the words of that time.

        Args:
            session: the session.
            began: when it began, ISO.
        """
        book = self._book(began)
        if self._loads_itself(session):
            return [memory for memory in book.active if memory.place == INDEX]
        since = self._delivered(session.dialect)
        return [m for m in book.own if (at := since.get(told_as(m.text))) and at <= began]

    def _loads_itself(self, session: StoredSession) -> bool:
        if session.dialect == "cersei":
            return True
        version = version_order(latest_version([session], "claude"))
        return session.dialect == "claude" and loads_itself(version, self.project)

    def _delivered(self, dialect: str) -> Mapping[str, str]:
        """Return since when each memory stands in a file that a client reads."""
        found: dict[str, str] = {}
        for placed in placed_of(self.project.memory, self.register).values():
            if dialect in placed.clients:
                found |= {name: min(at, found.get(name, at)) for name, at in placed.since.items()}
        return found

    def _book(self, at: str) -> Book:
        """Return what the ledger added up to at a time; what was undone later stood until then."""
        number = sum(event.at <= at for event in self._events)
        if number not in self._books:
            self._books[number] = replay(self._events[:number])
        return self._books[number]


def demands_of(memories: Iterable[Memory], heard: Heard = ()) -> dict[str, Demand]:
    """Return what memories demand, by their ids; nothing of those whose keeping shows nowhere.

    Args:
        memories: the memories.
        heard: what a session ran, by which more programs are known by name.
    """
    return {memory.id: demand for memory in memories if (demand := demand_of(memory, heard))}


# What a night's report says of the effect of memories: what was followed or broken since the last one.

# what becomes of the place of a broken memory, and of one that nobody needed
BROKEN, NEEDLESS = "broken", "needless"


@dataclass(frozen=True, slots=True)
class Changes:
    """What a night found out.

    Attributes:
        followed: memories that sessions kept, with these.
        broken: memories that sessions did not keep, with these.
        needless: memories that leave the index, since nothing asked for them for long.
    """

    followed: Sequence[tuple[Memory, Case]]
    broken: Sequence[tuple[Memory, Case]]
    needless: Sequence[Memory]

    @property
    def counts(self) -> dict[str, int]:
        """How often each happened, by the counter of the report; nothing of what did not."""
        numbers = {
            "memories_followed": len(self.followed),
            "memories_broken": len(self.broken),
            "memories_needless": len(self.needless),
        }
        return {name: number for name, number in numbers.items() if number}


def changes(before: Book, after: Book, new: Sequence[Watched], settings: ConsolidationSettings) -> Changes:
    """Return what a night found out.

    Args:
        before: the book that the night began with, with all that is noted of sessions.
        after: the book that it leaves: what a person had to correct again shows in it.
        new: what it noted of sessions.
        settings: how fast memories fade.
    """
    fresh = {row.name for row in new}
    effects = effects_of(after.memories.values(), before.watched)
    known = effects_of(before.memories.values(), [row for row in before.watched if row.name not in fresh])
    shown = {entry.ref for entry in before.index} - {entry.ref for entry in after.index}
    standing = standing_of(after, settings.half_lives) if shown else None
    return Changes(
        list(_new(after, effects, known, is_kept=True)),
        list(_new(after, effects, known, is_kept=False)),
        [m for m in after.active if standing is not None and m.id in shown and standing.is_needless(m)],
    )


def items_of(project: str, found: Changes) -> Iterator[ReportItem]:
    """Yield what the report names: every memory that was broken, and where, and every one that leaves the index."""
    for memory, case in found.broken:
        how = "a person had to say it again" if case.is_said_again else "it was not kept"
        where = f"{case.session.dialect} session {case.session.session} of {case.session.began}"
        reason = f"{how} in {where}, which it was delivered to: it stands higher from now on"
        yield ReportItem(memory.id, BROKEN, reason, project, memory.text, memory.category, memory.confidence)
    for memory in found.needless:
        reason = "no session had an occasion for it in a long time: it leaves the index for its page"
        yield ReportItem(memory.id, NEEDLESS, reason, project, memory.text, memory.category, memory.confidence)


def _new(
    book: Book, effects: Mapping[str, Effect], known: Mapping[str, Effect], *, is_kept: bool
) -> Iterator[tuple[Memory, Case]]:
    for name, effect in effects.items():
        old = known.get(name)
        seen = {case.session.name for case in _cases(old, is_kept=is_kept)} if old else set[tuple[str, str]]()
        yield from ((book.memories[name], c) for c in _cases(effect, is_kept=is_kept) if c.session.name not in seen)


def _cases(effect: Effect, *, is_kept: bool) -> Sequence[Case]:
    return effect.followed if is_kept else effect.broken
