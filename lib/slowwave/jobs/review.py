"""The desk of a person who looks through what waits: one home for every way to decide, in a terminal or on a page.

Everything that a person decides is a transaction of its own with an id, and each can be taken back by it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from slowwave.consolidation.inbox import (
    Parked,
    Waiting,
    accept,
    accept_fact,
    drop_memories,
    inbox,
    parked_dreams,
    reject,
    reject_facts,
)
from slowwave.consolidation.lock import held
from slowwave.context import Clock
from slowwave.errors import NotFoundError, UsageError, several
from slowwave.locks import beside_jobs
from slowwave.memory import Candidate
from slowwave.memory.book import Book, Memory, read_book
from slowwave.memory.candidates import read_candidates
from slowwave.memory.delivery import REFUSED
from slowwave.memory.delivery.files import refresh
from slowwave.memory.evidence import Source, first_line, sources_of
from slowwave.memory.folder import MemoryFolder, named
from slowwave.memory.ledger import read_ledger, undone_in
from slowwave.memory.undo import undo
from slowwave.observability.lessons import Ask, Dream, Remembered, ask_of, ask_of_dream, in_words, remembered, urgency
from slowwave.secrets import Redactor, redactor_of
from slowwave.settings import Settings

Verb = Literal["accept", "edit", "reject"]
VERBS: tuple[Verb, ...] = ("accept", "edit", "reject")
_DONE = {"line": "Ended", "dream": "Applied"}


@dataclass(frozen=True, slots=True)
class Waits:
    """One thing that waits: what a person is asked, and what it is about."""

    ask: Ask
    folder: MemoryFolder
    about: Waiting | Parked

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """What can be done with it: a dream, or a line of a person, is not reworded here."""
        return VERBS if self.ask.kind in ("fact", "everywhere") else ("accept", "reject")

    def is_called(self, name: str) -> bool:
        """Say whether it is meant: by its id or that of one of its candidates, or by the beginning of one."""
        names = (self.about.id,) if isinstance(self.about, Parked) else self.about.names
        return any(one.startswith(name) for one in names)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a person decided, and how to take it back."""

    verb: Verb  # what was decided
    id: str  # what ``slowwave review undo`` takes: a dream, or a rejection
    asked: str  # id of what was decided about
    project: str  # key of the project
    candidates: tuple[str, ...] = ()  # notes that are not taken any more
    text: str = ""  # what became of it, in a sentence
    words: str = ""  # what was decided about says, in one line; of what was edited, what it says now
    warnings: tuple[str, ...] = ()  # files of agents that could not be brought up to date


class TakenBack(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken back: a decision or a dream, and later ones that rested on it."""

    id: str  # of the undo itself
    dreams: tuple[str, ...]  # what was taken back, newest first
    files: tuple[str, ...]  # files that were restored
    edited: tuple[str, ...]  # files with later changes by people, which are kept beside
    memory: str  # the memory folder
    text: str  # all that in a sentence or two
    what: tuple[tuple[str, str], ...] = ()  # each thing that was taken back, or stands again: its id, and what it was
    anew: str = "have it again"  # what one does who has that again
    warnings: tuple[str, ...] = ()  # files of agents that could not be brought up to date


class Meant(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody means who names something that is to be taken back, or to be had again."""

    names: tuple[str, ...]  # dreams and decisions, one of each project
    beyond: tuple[tuple[str, str], ...] = ()  # what else goes with them, oldest first: its id, and what it was
    instead: str = ""  # how a person has what they dropped without all that, or ""

    def refusal(self, name: str) -> str:
        """Say that what somebody named does not go because more goes with it."""
        ids = ", ".join(dict.fromkeys(one for one, _ in self.beyond))
        return f"{name} would not go alone, with it {'go' if ',' in ids else 'goes'} {ids}: nothing was taken back"


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """Memories of one project that a person dropped."""

    id: str  # of the dream that did it; ``slowwave memory undo`` takes it
    project: str  # key of the project
    memories: tuple[str, ...]  # their ids
    texts: tuple[str, ...]  # what they said
    warnings: tuple[str, ...] = ()  # files of agents that could not be brought up to date


@dataclass(frozen=True, slots=True)
class Desk:
    """What waits in some memory folders, and what can be done about it."""

    folders: Sequence[MemoryFolder]  # the memory folders
    settings: Settings  # thresholds, limits and where memories are delivered to
    environ: Mapping[str, str]  # the environment
    clock: Clock  # what time it is

    def waiting(self, *, every: bool = True) -> list[Waits]:
        """Return all that waits, what is worth a person's time first; without ``every`` only that.

        Raises CorruptStateError: a ledger or a parked dream is damaged; UnreadableError: a file cannot be read.
        """
        limits, now = self.settings.consolidation, self.clock.now()
        all_of_it = msgspec.structs.replace(limits, review_confidence=0.0)
        found: list[Waits] = []
        for folder in self.folders:
            found += (Waits(ask_of_dream(folder, parked), folder, parked) for parked in parked_dreams(folder.path))
            for one in inbox(folder.path, folder.transcripts, all_of_it, now, is_global=folder.is_global):
                found.append(Waits(ask_of(folder, one, limits), folder, one))
        return sorted((w for w in found if every or w.ask.is_worth_it), key=lambda w: urgency(w.ask))

    def is_shown(self, waits: Waits) -> bool:
        """Say whether a person who asks for more than waits for them is led through it: not what is all too unsure."""
        if isinstance(waits.about, Parked) or waits.ask.is_worth_it:
            return True
        is_in_doubt = any(c.doubt for c in waits.about.fact.candidates)
        return is_in_doubt or waits.ask.confidence >= self.settings.consolidation.review_confidence

    def find(self, name: str, project: str = "") -> Waits:
        """Return what is called so. Raises NotFoundError: nothing is, or several things are."""
        found = [w for w in self.waiting() if name and w.is_called(name) and project in ("", w.folder.project)]
        found = [w for w in found if w.ask.id == name] or found
        if len(found) > 1:
            raise NotFoundError(several(name, {w.ask.id: w.ask.text for w in found}))
        if not found:
            told = f"nothing called {name!r} waits for you; slowwave review lists what waits"
            raise NotFoundError(self._as_memory(name) or self._as_note(name) or told)
        return found[0]

    def of_message(self, waits: Waits) -> list[Waits]:
        """Return all that waits and came from the one message that something came from, itself first; [] for none."""
        if not waits.ask.message:
            return []
        others = [w for w in self.waiting() if w.ask.message == waits.ask.message and w.ask.id != waits.ask.id]
        return [waits, *others]

    def first_words(self, waits: Waits) -> str:
        """Return the first line of the message that something came from, "" when that is gone."""
        return first_line(waits.ask.evidence[0], waits.folder.transcripts, self.redact) if waits.ask.evidence else ""

    def sources(self, waits: Waits, most: int = 3) -> list[Source]:
        """Return where it was said, with what stands around it."""
        return sources_of(waits.ask.evidence, waits.folder.transcripts, most, self.redact)

    @property
    def redact(self) -> Redactor:
        """What takes secrets, and what was erased, out of what is shown."""
        return redactor_of(self.settings, self.environ, create=False)

    def decide(self, waits: Waits, verb: Verb, text: str = "", *, of_message: bool = False) -> Decision:
        """Carry a person's word out.

        ``waits``: what it is about. ``verb``: accept, reject, or edit: accept it in other words. ``text``: edit: what
        it shall say. ``of_message``: reject: also all else that came from the same message, by one decision. Raises
        UsageError: it cannot be reworded, or no words were given; LockHeldError: a dream is running; MovedError:
        something changed since it was looked at.
        """
        if verb not in waits.verbs:
            raise UsageError(f"{waits.ask.id} is accepted or rejected as a whole; there are no words of it to edit")
        if verb == "edit" and not text.strip():
            raise UsageError("write what it shall say: slowwave review edit ID TEXT")
        if of_message and verb != "reject":
            raise UsageError(f"a whole message is rejected; {verb} what it says one by one")
        memory, now, asked = waits.folder.path, self.clock.now(), waits.ask
        refused, words = tuple[str, ...](), ""
        with beside_jobs(self.environ):
            if verb == "reject":
                before = set(read_book(memory).refusals)
                together = (self.of_message(waits) if of_message else []) or [waits]
                refused = self._reject(together, now)
                (name,) = set(read_book(memory).refusals) - before
                notes = "1 note is" if len(refused) == 1 else f"{len(refused)} notes are"
                all_of_it = f" all {len(together)} of one message," if len(together) > 1 else ""
                said = f"Rejected:{all_of_it} {notes} never taken again, not in other words either."
            else:
                words = redactor_of(self.settings, self.environ)(text) if verb == "edit" else ""
                name = self._accept(waits, words, now)
                said = f"{_DONE.get(asked.kind, 'Remembered')} by dream {name}."
        warnings = tuple(self._bring(waits.folder))
        now_said = words if verb == "edit" else asked.text
        return Decision(
            verb=verb, id=name, asked=asked.id, project=asked.project, candidates=refused, text=said,
            words=" ".join(now_said.split()), warnings=warnings,
        )  # fmt: skip

    def _accept(self, waits: Waits, words: str, now: datetime) -> str:
        limits, memory = self.settings.consolidation, waits.folder.path
        if isinstance(waits.about, Parked):
            return accept(memory, waits.about.id, limits, now).id
        return accept_fact(memory, waits.about, limits, now, words).id

    def _reject(self, together: Sequence[Waits], now: datetime) -> tuple[str, ...]:
        memory, about = together[0].folder.path, together[0].about
        if isinstance(about, Parked):
            return reject(memory, about.id, now)
        return reject_facts(memory, [w.about for w in together if isinstance(w.about, Waiting)], now)

    def drop(self, names: Sequence[str]) -> list[Dropped]:
        """Drop memories at once, each project's by a dream of its own; they never come back in any words.

        ``names``: their ids, or the beginnings of these. Raises NotFoundError: no memory, or none that still holds, is
        called so, or several are; nothing was changed; LockHeldError: a dream is running; MovedError: somebody wrote
        one's line anew.
        """
        chosen: dict[Path, dict[str, Memory]] = {}
        of = {folder.path: folder for folder in self.folders}
        for name in names:
            memory, one = self._memory(name)
            chosen.setdefault(memory, {})[one.id] = one
        done: list[Dropped] = []
        for memory, those in chosen.items():
            with beside_jobs(self.environ):
                plan = drop_memories(memory, those, self.settings.consolidation, self.clock.now())
            done.append(
                Dropped(
                    id=plan.id,
                    project=of[memory].project,
                    memories=tuple(those),
                    texts=tuple(one.text for one in those.values()),
                    warnings=tuple(self._bring(of[memory])),
                )
            )
        return done

    def _memory(self, name: str) -> tuple[Path, Memory]:
        """Return the one memory that holds and is called so, with its folder."""
        every = [(f.path, m) for f in self.folders for m in read_book(f.path).memories.values()]
        found = [one for one in every if name and one[1].id.startswith(name)]
        if over := [m for _, m in found if m.status != "active"]:
            found = [one for one in found if one[1].status == "active"]
            if not found:
                name = over[0].id
                raise NotFoundError(f"memory {name} is over already; slowwave memory why {name} tells since when")
        if len(found) != 1:
            none = f"no memory is called {name!r}; slowwave memory list shows them with their ids"
            told = several(name, {one.id: one.text for _, one in found}) if found else none
            raise NotFoundError(f"nothing was dropped: {told}")
        return found[0]

    def _as_memory(self, name: str) -> str:
        """Say what drops a memory, if it is the id of one; else ""."""
        try:
            _, memory = self._memory(name)
        except NotFoundError:
            return ""
        return f"{name} is a memory: slowwave memory drop {memory.id} drops it"

    def _as_note(self, name: str) -> str:
        """Say what became of a note that nobody is asked about, if ids of such begin like that; else ""."""
        found: dict[str, str] = {}
        for folder in self.folders:
            book = read_book(folder.path)
            for note in read_candidates(folder.path)[0]:
                if name and note.id.startswith(name):
                    found[note.id] = f"{self._became(book, note)}: {self.redact(note.text)}"
        if len(found) > 1:
            return f"none of them waits for you: {several(name, found)}"
        return "".join(f"{one} is a note that does not wait for you, it {told}" for one, told in found.items())

    def _became(self, book: Book, note: Candidate) -> str:
        if note.id in book.rejected:
            return "was rejected"
        if memory := next((m for m in book.memories.values() if note.id in m.candidates), None):
            return f"belongs to memory {memory.id}"
        if note.id in book.undone:
            return f"was taken back with dream {book.undone[note.id]}"
        if note.id in book.done:
            return "was dealt with"
        return "waits for more sessions"

    def meant(self, name: str, *, again: bool = False) -> Meant:
        """Return what is taken back by the id of a dream, a decision, a night or a memory, and what else goes with it.

        Of a night it is the oldest dream of each project, of a memory the last decision about it. With ``again`` it is
        what was taken back, all of which goes and comes together. Raises NotFoundError: several memories are called so.
        """
        every, _ = remembered(self.folders)
        of_run = [[d for d in one.dreams if d.run == name and d.is_undone == again] for one in every]
        names = tuple(dreams[0].id for dreams in of_run if dreams and not dreams[0].is_by_person)
        with_it: list[tuple[str, str]] = []
        instead = ""
        if not names:
            memory, decision = _last_decision(every, name, again=again)
            names = (decision.id if decision else name,)
            with_it = (
                [(c.memory, f"{c.kind}: {c.text}") for c in decision.changes if c.memory != memory] if decision else []
            )
        if again:
            return Meant(names=names)
        for standing in ([dream for dream in one.dreams if not dream.is_undone] for one in every):
            after = next((at for at, dream in enumerate(standing) if dream.id in names), len(standing))
            if any(d.is_by_person and any(c.kind == "dropped" for c in d.changes) for d in standing[after : after + 1]):
                instead = "To have its words back and nothing else undone, write them into MEMORY.md: your lines stay."
            with_it += (line for d in standing[after + 1 :] if d.run != name for line in _lines_of(d, 1))
        return Meant(names=names, beyond=tuple(with_it), instead=instead)

    def taken_back_at(self, name: str) -> str:
        """Return when a dream, a decision or the last dream of a run was taken back, ISO; "" where it was not."""
        gone = {dream: at for folder in self.folders for dream, at in undone_in(read_ledger(folder.path)).items()}
        every, _ = remembered(self.folders)
        of_run = (dream.undone_at for one in every for dream in one.dreams if dream.run == name)
        return max((gone.get(name, ""), *of_run))

    def take_back(self, name: str, *, force: bool = False, again: bool = False) -> TakenBack:
        """Take a decision back, or a dream with all later ones, by its id; what was decided in review waits again.

        ``name``: the id. ``force``: also where people have changed a file since; their version is kept aside.
        ``again``: have it again instead, with all that was taken back together with it. Raises NotFoundError: there is
        nothing of that id, or it was taken back before; ``again``: or it was not; RefusedError: people have changed a
        file since, or what was taken back has something resting on it; LockHeldError: a dream is running.
        """
        if not again and (at := self.taken_back_at(name)):
            raise NotFoundError(
                f"{name} was taken back already, {at[:16].replace('T', ' ')}; "
                f"to have it again: slowwave memory undo {name} --again"
            )
        folder = next((folder for folder in self.folders if _has(folder, name)), None)
        if folder is None:
            told = f"no dream {name} in {named(self.folders)}; slowwave nights lists what was dreamt and decided"
            raise NotFoundError(self._undecided(name) or told)
        told = [dream for one in remembered([folder])[0] for dream in one.dreams]
        with beside_jobs(self.environ), held(folder.path, self.settings.consolidation.lock_stale):
            undone = undo(folder.path, name, self.clock.now(), force=force, again=again)
        others = ", ".join(dream for dream in undone.dreams if dream != name)
        later = f", and with it {'' if again else 'the later '}{others}" if others else ""
        text = f"{'There again' if again else 'Taken back'}: {name}{later}."
        if undone.files:
            seen = ", ".join(file for file in undone.files if not file.startswith("."))
            text += f" {folder.path} is as it was before{' that' if again else ''}{f': {seen}' if seen else ''}."
        if undone.edited:
            text += f"\nYour version of {', '.join(undone.edited)}: {folder.path}/.slowwave/undo/{undone.id}/edited/"
        if not again and any(not dream.is_by_person for dream in told if dream.id in undone.dreams):
            text += "\nThe sessions that it read are not learned from again; what a later session says is."
        text += "".join(f"\nYou dropped it since, and it stays dropped: {one.text}" for one in undone.refused)
        text += "".join(
            f"\nYou dropped it since, and it is there again: {one.text} (slowwave memory drop {one.id})"
            for one in undone.back
        )
        return TakenBack(
            id=undone.id,
            dreams=undone.dreams,
            files=undone.files,
            edited=undone.edited,
            memory=str(folder.path),
            text=text,
            what=self._what(folder, told, undone.dreams),
            anew=_anew([dream for dream in told if dream.id in undone.dreams]),
            warnings=tuple(self._bring(folder)),
        )

    def _what(self, folder: MemoryFolder, every: Sequence[Dream], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Return what dreams and decisions did, each in a line or a few, newest first."""
        lines = [line for name in names for dream in every if dream.id == name for line in _lines_of(dream, _MOST_TOLD)]
        notes = {one.id: one for one in read_candidates(folder.path)[0]} if not lines else {}
        rejected = [event for event in read_ledger(folder.path) if event.event == "reject" and event.dream in names]
        for event in rejected:
            texts = dict.fromkeys(self.redact(notes[one].text) for one in event.candidates if one in notes)
            lines += ((event.dream, f"you rejected: {text}") for text in texts)
        return tuple(lines)

    def _undecided(self, name: str) -> str:
        """Say how a memory goes about which nothing was decided, if it is the id of one; else ""."""
        if not (told := self._as_memory(name)):
            return ""
        brought = [
            dream.id
            for one in remembered(self.folders)[0]
            for dream in one.dreams
            if not dream.is_undone and any(change.memory.startswith(name) for change in dream.changes)
        ]
        whole = f"; slowwave memory undo {brought[-1]} takes back the whole dream that it is of" if brought else ""
        return f"{told}, and you decided nothing about it that could be taken back{whole}"

    def _bring(self, folder: MemoryFolder) -> list[str]:
        """Let the files that agents read say what the memory folder says now; return which of them cannot."""
        return [
            f"not delivered: {item.target}: {item.reason}"
            for item in refresh(folder.path, self.settings, self.environ)
            if item.action == REFUSED
        ]


def _has(folder: MemoryFolder, name: str) -> bool:
    book = read_book(folder.path)
    return name in book.refusals or name in book.dreams or name in undone_in(read_ledger(folder.path))


# so many changes of one dream are told where it is taken back
_MOST_TOLD = 5


def _last_decision(every: Sequence[Remembered], name: str, *, again: bool) -> tuple[str, Dream | None]:
    """Return the memory that is called so, by its id or the beginning of one, and the last decision about it, if any.

    Raises NotFoundError: several memories are called so.
    """
    dreams = sorted((dream for one in every for dream in one.dreams), key=lambda dream: dream.at)
    about = {c.memory: c.text for d in dreams for c in d.changes if name and c.memory.startswith(name)}
    if len(about) > 1 and name not in about:
        raise NotFoundError(several(name, about))
    memory = name if name in about else next(iter(about), "")
    decisions = [
        dream
        for dream in dreams
        if dream.is_by_person and dream.is_undone == again and any(c.memory == memory for c in dream.changes)
    ]
    return memory, decisions[-1] if memory and decisions else None


def _anew(dreams: Sequence[Dream]) -> str:
    """Return what one does who has again what was taken back; what was no dream is a rejection."""
    words = {dream.anew for dream in dreams} or {"reject it again"}
    return words.pop() if len(words) == 1 else "have it again"


def _lines_of(dream: Dream, most: int) -> Iterator[tuple[str, str]]:
    """Yield what a dream or a decision did: its id and how much, then up to so many changes, each by its memory."""
    who = "you decided" if dream.is_by_person else "a dream"
    if len(dream.changes) == 1:
        (one,) = dream.changes
        yield dream.id, f"{who}: {one.kind} {one.memory}: {one.text}"
        return
    yield dream.id, f"{who}: {in_words(Counter(change.kind for change in dream.changes))}"
    told = dream.changes if len(dream.changes) <= most else dream.changes[: most - 1] if most > 1 else []
    yield from ((change.memory, f"{change.kind}: {change.text}") for change in told)
    if told and len(told) < len(dream.changes):
        yield "", f"and {len(dream.changes) - len(told):,} more: slowwave nights show {dream.id}"
