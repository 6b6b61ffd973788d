"""What a session made of the demands of memories, by its commands and edits alone.

A breach outweighs what was kept. What a person asked for in so many words is no breach; what they refused to let an
agent do is one.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Any, cast

from slowwave.consolidation.effect.calls import LOOKS, MANAGERS, Act, Call, Demand, acts_of
from slowwave.consolidation.effect.demands import demand_of
from slowwave.consolidation.likeness import words_of
from slowwave.errors import SlowwaveError
from slowwave.extraction.candidates import relative_paths
from slowwave.extraction.model.operations import form_of, list_of
from slowwave.extraction.model.quotations import stands_in
from slowwave.extraction.practice import is_general
from slowwave.formats.registry import by_name, latest_version
from slowwave.formats.sessions import StoredSession
from slowwave.memory import iso, name_to_json
from slowwave.memory.book import Book, Memory, replay
from slowwave.memory.delivery import Register, loads_itself, placed_of, told_as
from slowwave.memory.effects import Breach, Watched
from slowwave.memory.folder import INDEX
from slowwave.memory.ledger import Event, read_ledger
from slowwave.models.base import estimated_tokens
from slowwave.reading import Edited, Item, Ran, Reading, Said
from slowwave.reading.session import read
from slowwave.shell import Word
from slowwave.shell.commands import Proven, purpose_of
from slowwave.shell.mentioned import Heard
from slowwave.stores.projects import Project

# of a command, for who it is known by
_MOST_WORDS = 7
_WAIVES = re.compile(
    r"\b(?:skip|without|no need|don'?t (?:bother|need)|leave out|ohne|sans|sin|senza|sem|lass)\b", re.IGNORECASE
)
# programs whose every work is known: they show things, move and change files, or speak to git
_PLAIN = LOOKS | set("git apply_patch pwd mkdir cp mv rm touch which sort uniq sleep export jq test".split())  # noqa: SIM905
# programs that do many things that have nothing to do with each other
_WIDE = (
    *("git", "gh", "npm", "pnpm", "yarn", "bun", "docker", "make", "just", "task", "kubectl", "python", "python3"),
    *("cargo", "go", "uv", "poetry", "mvn"),
)
_SENTENCE = re.compile(r"[.!?\n]+(?:\s|$)|\n")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a session made of one memory."""

    is_kept: bool | None  # whether it was followed; None where there was an occasion, and nobody can tell
    item: Item  # what shows it


def verdicts(reading: Reading, demands: Mapping[str, Demand]) -> dict[str, Verdict]:
    """Return what a session made of memories, by their ids; nothing of those that had no occasion.

    Args:
        reading: the session.
        demands: by memory, what it demands; all that the session was told.
    """
    acts = list(acts_of(reading))
    others = {name: [c for n, d in demands.items() if n != name for c in d.wanted] for name in demands}
    found: dict[str, Verdict] = {}
    for name, demand in demands.items():
        every = list(_JUDGES[demand.kind](demand, acts, reading, others[name]))
        if demand.kind in ("gate", "after", "purpose"):
            every = [one for one in every if one.is_kept or not _is_waived(demand, one.item, reading)]
        if demand.is_scoped:
            # what was done otherwise leaves it open, whatever else was done
            every = [replace(one, is_kept=None) for one in every if one.is_kept is False] or every
        if not every:
            every = list(_near(demand, acts, reading))
        if every:
            found[name] = min(every, key=lambda one: _WEIGHT[one.is_kept])
    return found


# a breach outweighs what was kept
_WEIGHT = {False: 0, True: 1, None: 2}


def heard_in(reading: Reading) -> set[tuple[str, ...]]:
    """Return what a session ran, by the first words of each command: as a program, and as what is asked of it."""
    runs = (item.run for item in reading.items if isinstance(item, Ran))
    words = (command.text.split()[:_MOST_WORDS] for run in runs for command in run.commands)
    return {tuple(one[:count]) for one in words for count in range(1, len(one) + 1) if len(one[0]) > 1}


def _choice(demand: Demand, acts: Sequence[Act], reading: Reading, _: Sequence[Call]) -> Iterator[Verdict]:
    for one in _chosen(demand, acts, reading):
        yield replace(one, is_kept=None) if demand.is_implied and not one.is_kept else one


def _chosen(demand: Demand, acts: Sequence[Act], reading: Reading) -> Iterator[Verdict]:
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
                # or on something else: "git push origin main"
                bare += [Call(call.words[:2]) for call in demand.refused if call.words[:2] == ("git", "push")]
                if wanted or any(call.fits(command) for call in bare):
                    yield Verdict(is_kept=True, item=act.item)


def _near(demand: Demand, acts: Sequence[Act], reading: Reading) -> Iterator[Verdict]:
    """Yield that nobody can tell, where something was done or spoken of that may be what a rule is about."""
    calls = (*demand.refused, *demand.wanted, *demand.behind)
    heads = {call.words[: 1 + (call.words[0] in _WIDE)] for call in calls if call.words}
    names = {call.words[-1] for call in calls if call.words}
    names |= {PurePosixPath(path).stem for path in demand.paths}
    for act in acts:
        words = tuple(act.command.text.split()) if act.command else ()
        is_alike = act.command and (may_be(act.command, calls) or {words[:1], words[:2]} & heads)
        if is_alike or (demand.paths and act.path) or any(_is_named(one, act.added) for one in names):
            yield Verdict(is_kept=None, item=act.item)
    for said in reading.items:
        if isinstance(said, Said) and any(len(one) > 2 and _is_named(one, said.own) for one in names):  # noqa: PLR2004
            yield Verdict(is_kept=None, item=said)


def may_be(command: Proven, calls: Sequence[Call]) -> bool:
    """Say whether a command may do what calls do, by another name: it is for the same, or nobody knows what for."""
    if command.program in _PLAIN:
        return False
    purposes = {purpose_of([Word(one) for one in call.words]) for call in calls}
    purposes |= {"install"} if any(call.words[:1] and call.words[0] in MANAGERS for call in calls) else set()
    return command.purpose in ("", "check", "run") or command.purpose in purposes


def _is_named(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE) is not None


def _changed(demand: Demand, act: Act, reading: Reading) -> Iterator[Verdict]:
    if touched := [one for one in demand.paths if is_within(act.path, one)]:
        # elsewhere a file of the same name may be another one
        is_sure = any("/" in one or is_rooted(act.path, one) for one in touched)
        if not _is_said(reading, act.item, PurePosixPath(act.path).name):
            yield Verdict(False if is_sure else None, act.item)
    elif any(is_within(act.path, one) for one in demand.instead):
        yield Verdict(is_kept=True, item=act.item)


def _other_way(demand: Demand, acts: Sequence[Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
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


def _step(demand: Demand, acts: Sequence[Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
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


def _purpose(demand: Demand, acts: Sequence[Act], _: Reading, others: Sequence[Call]) -> Iterator[Verdict]:
    """Yield what was run for a purpose; where one of the calls that are wanted was, others beside it break nothing."""
    purpose = Call((), topic=demand.purpose)
    commands = [(act, act.command) for act in acts if act.command is not None]
    # an option alone has to stand in what is for the purpose
    own = [
        act
        for act, command in commands
        if any(call.fits(command) and (call.words or purpose.fits(command)) for call in demand.wanted)
    ]
    if own:
        yield Verdict(is_kept=True, item=own[0].item)
        return
    if not any(call.words for call in demand.wanted):
        return
    for act, command in commands:
        # another memory may ask for what was run
        if any(call.fits(command) for call in others):
            continue
        is_short = any(call.fits(command, launched=False) for call in demand.refused)
        if is_short or (purpose.fits(command) and is_general(command)):
            yield Verdict(is_kept=False, item=act.item)


def _gate(demand: Demand, acts: Sequence[Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
    """Yield whether each end came behind all that is wanted; a change asks for checks again, for no other call."""
    end = demand.until
    assert end is not None
    is_handed_on = end.words[0] in ("git", "gh")
    passed: set[Call] = set()
    written: set[str] = set()
    is_changed = True
    is_open = not demand.wanted or any(not call.words for call in demand.wanted)
    is_vague = is_open
    for act in acts:
        if act.command is None:
            if any(is_within(act.path, one) for one in demand.instead):
                written.add(act.path)
            elif is_handed_on:
                passed, is_changed, is_vague = set[Call](), True, is_open
        elif end.fits(act.command) and not any(call.fits(act.command) for call in demand.wanted):
            if is_changed or passed:
                is_kept = passed >= set(demand.wanted) and (not demand.instead or bool(written))
                yield Verdict(is_kept or (None if is_vague else False), act.item)
                is_changed = False
        elif found := {call for call in demand.wanted if call.fits(act.command)}:
            passed |= found if act.command.outcome != "failed" else set[Call]()
            is_vague = is_open = True  # what changed since may not ask for it again
        else:
            is_vague = is_vague or may_be(act.command, demand.wanted)


def _after(demand: Demand, acts: Sequence[Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
    open_since: Act | None = None
    is_vague = not demand.wanted
    for act in acts:
        command = act.command
        if command is None:
            if any(is_within(act.path, one) for one in demand.paths):
                open_since = act
            elif open_since and any(is_within(act.path, one) for one in demand.instead):
                yield Verdict(is_kept=True, item=act.item)
                open_since = None
        elif open_since and any(call.fits(command) for call in demand.wanted):
            yield Verdict(is_kept=True, item=act.item)
            open_since = None
        elif any(call.fits(command) for call in demand.behind):
            open_since = act
        else:
            is_vague = is_vague or may_be(command, demand.wanted)
    if open_since is not None:
        yield Verdict(None if is_vague else False, open_since.item)


_Judge = Callable[[Demand, Sequence[Act], Reading, Sequence[Call]], Iterator[Verdict]]
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


def is_rooted(path: str, pattern: str) -> bool:
    """Say whether a file is what a pattern names where the project begins, or lies in it there."""
    return fnmatch(PurePosixPath(path).parts[0], pattern)


def _width(calls: Sequence[Call]) -> int:
    return max((call.width for call in calls), default=-1)


def _is_wished(call: Call, item: Item, reading: Reading) -> bool:
    """Say whether a person asked for a call before it was made: by its words, or the last of them and its options."""
    *_, last = call.words or (call.topic,)
    names = [option.lstrip("-") for option in call.options]
    whole = " ".join((*call.words, *sorted(call.options))) or last
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
    """What sessions made of the memories of a project."""

    project: Project  # the project
    register: Register  # what stands in the files of clients
    problems: list[str] = field(default_factory=list[str])  # sessions that could not be read, one line each
    _events: Sequence[Event] = ()
    _is_read: bool = False
    _books: dict[int, Book] = field(default_factory=dict[int, Book])

    def over(self, sessions: Iterable[StoredSession]) -> list[Watched]:
        """Return what sessions made of what they were told; nothing of those that were told nothing.

        Raises:
            CorruptStateError: the ledger is damaged.
            UnreadableError: it cannot be opened.
        """
        return [told.row for session in sessions if (told := self.told_to(session, str))]

    def told_to(self, session: StoredSession, redact: Callable[[str], str]) -> "Told | None":
        """Return what a session was told and what rules say of it, None where it was told nothing.

        Args:
            session: the session; one that cannot be read is named in ``problems``.
            redact: takes secrets out of what it did.

        Raises:
            CorruptStateError: the ledger is damaged.
            UnreadableError: it cannot be opened.
        """
        if not self._is_read:
            self._events, self._is_read = read_ledger(self.project.memory), True
        first = min((event.at for event in self._events if event.event in ("add", "adopt")), default="")
        if not first or session.kind != "main" or session.origin in _UNTYPED or session.source == "backup":
            return None
        if iso(datetime.fromtimestamp(session.mtime_ns / 1e9, UTC)) <= first:
            return None  # it was over before there was anything to tell
        try:
            return self._told(session, redact)
        except SlowwaveError as error:
            self.problems.append(str(error))
            return None

    def _told(self, session: StoredSession, redact: Callable[[str], str]) -> "Told | None":
        transcript = by_name(session.dialect).read(session.files)
        times = (message.timestamp for message in transcript.messages if message.timestamp)
        began = next(times, None)
        if began is None or transcript.kind == "subagent":
            return None
        told = self.told(session, iso(began))
        if not told:
            return None
        reading = read(transcript.messages, redact)
        row = self._row(session, iso(began), told, reading)
        open_ = [memory for memory in told if memory.id in row.told]
        return Told(row, open_, reading, redact)

    def _row(self, session: StoredSession, began: str, told: Sequence[Memory], reading: Reading) -> Watched:
        demands = demands_of(told, heard_in(reading))
        given = verdicts(reading, demands)
        quiet = {name for name in demands.keys() - given.keys() if demands[name].shows}
        return Watched(
            dialect=session.dialect,
            session=name_to_json(session.id),
            began=began,
            followed=tuple(sorted(name for name, one in given.items() if one.is_kept)),
            broken=tuple(Breach(name, one.item.record) for name, one in sorted(given.items()) if one.is_kept is False),
            idle=tuple(sorted(name for name in quiet if demands[name].can_be_followed)),
            silent=tuple(sorted(name for name in quiet if not demands[name].can_be_followed)),
            told=tuple(
                sorted({m.id for m in told} - {n for n, one in given.items() if one.is_kept is not None} - quiet)
            ),
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
        return session.dialect == "claude" and loads_itself(latest_version([session], "claude"), self.project)

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


# What rules do not tell of a session, the model may that reads it for its facts anyway.
#
# It names the memories that something in the session is about; what it does not name had no occasion. A verdict needs
# words that stand in the session: in what was run and written, or in what a person or the assistant said; the output of
# a tool and pasted text show nothing, for anybody may have written them.

ASKED = """Memories with a * had been told to the agent before this session began, as were:
{gone}"effects": of each * memory that anything in the session is about, whether it was followed or broken, with "words"
copied letter for letter from one passage or act that shows it; open where it is about it and shows neither ("words" is
""). What was done shows it, and what the person had to correct; what somebody only says of it does not. What the person
asked for themselves breaks nothing. Leave out every memory that nothing in the session is about: it had no occasion.
What the agent did, beside what the passages show:
{acts}"""
_TEXT = {"type": "string"}
_SAID_FIRST = ("broken", "followed", "open")
ANSWERED = list_of(form_of(memory=_TEXT, verdict={"type": "string", "enum": list(_SAID_FIRST)}, words=_TEXT))
# of each so much is shown, and of all of them so many tokens
_ACT_CHARS, _ACTS_TOKENS = 240, 1_500
_MOST_SAID = 200


@dataclass(slots=True)
class Told:
    """What a session was told, what rules say of it, and what a model says that reads it."""

    row: Watched  # what rules say
    memories: Sequence[Memory]  # those of which they say nothing, in the words of that time
    reading: Reading  # the session
    redact: Callable[[str], str]  # takes secrets out
    _shown: list[tuple[str, Item]] = field(default_factory=list[tuple[str, Item]])
    _names: Mapping[str, str] = field(default_factory=dict[str, str])
    _said: dict[str, list[tuple[str, str]]] = field(default_factory=dict[str, list[tuple[str, str]]])

    @property
    def schema(self) -> Mapping[str, object]:
        """The form of what a model says of them."""
        return ANSWERED

    @property
    def texts(self) -> Mapping[str, str]:
        """The memories that a model is asked about: their words at the time, by id."""
        return {memory.id: memory.text for memory in self.memories}

    def asked(self, names: Mapping[str, str], marked: Container[str]) -> str:
        """Return what a model is told about the question.

        Args:
            names: the name of each memory, by its id; those without one are not asked about.
            marked: the ids of those that stand with their mark among what is remembered.
        """
        self.memories = [memory for memory in self.memories if memory.id in names]
        self._names = {names[memory.id]: memory.id for memory in self.memories}
        gone = [f"{names[m.id]}* ({m.category}): {m.text}\n" for m in self.memories if m.id not in marked]
        self._shown = self._fitting()
        acts = "\n".join(f"- {text}" for text, _ in self._shown)
        return ASKED.format(gone=self.redact("".join(gone)) or "none\n", acts=acts or "none")

    def _fitting(self) -> list[tuple[str, Item]]:
        """Return what was done, as it is shown: first what shares words with a memory, as far as there is room."""
        about = {stem for memory in self.memories for stem in words_of(memory.text).stems}
        shown: dict[str, Item] = {}
        for item in self.reading.items:
            if isinstance(item, Ran | Edited):
                shown.setdefault(_shown(item, self.redact), item)
        room, fits = _ACTS_TOKENS, set[str]()
        for text in sorted(shown, key=lambda text: about.isdisjoint(words_of(text).stems)):
            room -= estimated_tokens(text)
            if room < 0:
                break
            fits.add(text)
        return [(text, item) for text, item in shown.items() if text in fits]

    def hear(self, data: object, passages: Sequence[tuple[str, Item]]) -> None:
        """Note what a model says, as far as it is about what it was shown and its words stand there.

        Args:
            data: its answer; anything.
            passages: what it was shown of the session that may show something, each with what it was made of.
        """
        answer = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        every: object = answer.get("effects")
        sources = [*passages, *self._shown]
        for one in cast("list[Any]", every)[:_MOST_SAID] if isinstance(every, list) else ():
            fields = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
            name, verdict, words = (fields.get(key) for key in ("memory", "verdict", "words"))
            memory = self._names.get(name.rstrip("*")) if isinstance(name, str) else None
            if memory is None or not isinstance(words, str) or verdict not in _SAID_FIRST:
                continue
            item = next((item for text, item in sources if words and stands_in(words, text)), None)
            said = verdict if item is not None else "open"
            self._said.setdefault(memory, []).append((said, item.record if item and said == "broken" else ""))

    def judged(self, by: str, earlier: Watched | None, *, is_whole: bool) -> Watched | None:
        """Return what the model says of the session, None where it says nothing.

        Args:
            by: its name.
            earlier: what it said of the session before it went on.
            is_whole: whether it has read all of the rest: only then what it did not name had no occasion.
        """
        of = {memory: min(said, key=lambda one: _SAID_FIRST.index(one[0])) for memory, said in self._said.items()}
        kinds = {kind: tuple(sorted(m for m, (said, _) in of.items() if said == kind)) for kind in ("followed", "open")}
        row = Watched(
            dialect=self.row.dialect,
            session=self.row.session,
            began=self.row.began,
            followed=kinds["followed"],
            broken=tuple(Breach(m, record) for m, (said, record) in sorted(of.items()) if said == "broken"),
            idle=tuple(sorted(self.texts.keys() - of.keys())) if is_whole else (),
            told=kinds["open"],
            by=by,
        ).after(earlier)
        return row if row.followed or row.broken or row.idle or row.told else None


def _shown(item: Ran | Edited, redact: Callable[[str], str]) -> str:
    """Return what was run or changed as a model sees it, on one line."""
    if isinstance(item, Ran):
        told = f"ran `{item.line}`{'' if item.run.ok else ' (failed)'}"
    else:
        changed = f" + {item.added}" if item.added else f" - {item.removed}" if item.removed else ""
        told = f"{'wrote' if item.is_whole else 'changed'} {item.path}{changed}"
    return relative_paths(redact(" ".join(told.split())), item.cwd)[:_ACT_CHARS]
