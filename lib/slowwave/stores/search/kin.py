"""The sessions around one: its sub-agents, its forks, and what it was itself started by or forked from."""

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats import REFUSALS, Message, Problem, SessionFiles, Transcript, clean, parse_time
from slowwave.formats.claude import FOLDER_OF_PROJECT, ProjectFolder
from slowwave.formats.codex.dialect import CodexTranscript
from slowwave.formats.registry import CLIENTS, by_name, client_of
from slowwave.formats.sessions import SIDE_FOLDER, SUFFIX, Place, StoreProblem, Walk
from slowwave.stores.catalogue import Catalogue, shown_of
from slowwave.stores.summary import SessionRow, StoredRow, resolve

Relation = Literal["fork", "forked from", "shares history", "sub-agent of"]


class Agent(NamedTuple):
    """A sub-agent that has a session of its own."""

    name: str  # which agent it is, as its client calls it; else the name of its file, or its id
    task: str  # what it was asked to do, or ""
    path: str  # its file, or the database that it lies in
    call: str  # id of the tool call that started it, or ""
    messages: int  # how many messages it has
    began: str  # when it began, ISO 8601, or ""
    session: str  # its id
    # the message that started it, by its number in the session: its call, else the last one before it began, else the
    # first
    at: int


class Fork(NamedTuple):
    """A session that shares the beginning of another one, or that started it."""

    session: str  # its id
    path: str  # its file, or the database that it lies in
    message: str  # id of the last message that both have, "" when that has none
    # "fork" when it was made from this one, "forked from" when this one was made from it, "shares history" when both
    # were made from a third; "sub-agent of" when it started this one
    relation: Relation
    at: int  # the same message by its number in this session


class _Meta(msgspec.Struct):
    agentType: str = ""  # noqa: N815 - the client's spelling, here and below
    description: str = ""
    toolUseId: str = ""  # noqa: N815


_metas = msgspec.json.Decoder(_Meta)


def agents_of(transcript: Transcript, rows: Iterable[SessionRow], problems: list[Problem]) -> list[Agent]:
    """Return the sub-agents that a session started, in the order in which they began."""
    own = transcript.files.id
    found = [
        _agent(row, transcript.messages, problems)
        for row in rows
        if row.kind == "subagent" and row.parent == own and row.dialect == transcript.dialect
    ]
    return sorted(found, key=lambda agent: (agent.began, agent.session))


def _agent(row: SessionRow, messages: Sequence[Message], problems: list[Problem]) -> Agent:
    path = Path(row.path)
    meta = _meta(path, problems) if client_of(row.dialect).has_agent_notes else _Meta()
    task = meta.description if client_of(row.dialect).has_agent_notes else row.title or row.first_prompt
    began = row.created or ""
    at = _caller(meta.toolUseId, messages)
    name = meta.agentType or row.id
    if at is None:
        at = _last_before(parse_time(began), messages)
    return Agent(name, task, row.path, meta.toolUseId, row.messages, began, row.id, at)


def _meta(path: Path, problems: list[Problem]) -> _Meta:
    beside = path.with_name(path.name.removesuffix(SUFFIX) + ".meta.json")
    try:
        return _metas.decode(clean(beside.read_bytes()))
    except FileNotFoundError:
        pass  # older clients write none
    except (OSError, *REFUSALS) as error:
        problems.append(Problem("unreadable", beside, 1, 0, 0, str(error)))
    return _Meta()


def _caller(call: str, messages: Sequence[Message]) -> int | None:
    if not call:
        return None
    return next((i for i, m in enumerate(messages) if any(c.id == call for c in m.calls)), None)


def _last_before(at: datetime | None, messages: Sequence[Message]) -> int:
    """Return the last message that was there at a time, the first when none or nothing is known."""
    if at is None:
        return 0
    return max((i for i, m in enumerate(messages) if m.timestamp is not None and m.timestamp <= at), default=0)


def forks_of(transcript: Transcript, rows: Sequence[SessionRow], problems: list[Problem]) -> list[Fork]:
    """Return the sessions that share the beginning of this one, and the one that started it, oldest first."""
    alike = [row for row in rows if row.dialect == transcript.dialect]
    mine = next((row for row in alike if row.id == transcript.files.id), None)
    found: list[Fork] = []
    for row in sorted(alike, key=lambda row: (row.created or "", row.id)):
        relation = _relation(row, mine) if mine is not None else None
        if relation is not None and (fork := _fork(row, relation, transcript, problems)):
            found.append(fork)
    return found


def _relation(row: SessionRow, mine: SessionRow) -> Relation | None:
    if row.id == mine.id:
        return None
    if row.kind == "fork" and row.parent == mine.id:
        return "fork"
    if row.id == mine.parent:
        return "sub-agent of" if mine.kind == "subagent" else "forked from"
    both = row.kind == mine.kind == "fork" and row.parent == mine.parent != ""
    return "shares history" if both else None


def _fork(row: SessionRow, relation: Relation, transcript: Transcript, problems: list[Problem]) -> Fork | None:
    messages = transcript.messages
    if relation == "sub-agent of" or not messages:
        return Fork(row.id, row.path, (messages[0].id or "") if messages else "", relation, 0)
    path = Path(row.path)
    try:
        other = by_name(row.dialect).read(SessionFiles(row.id, (path,)))
    except UnreadableError as error:
        problems.append(Problem("unreadable", path, 1, 0, 0, error.reason))
        return None
    at = _last_shared(transcript, other)
    if at is None:
        at = _last_before(parse_time(row.created) if row.created and relation == "fork" else None, messages)
    return Fork(row.id, row.path, messages[at].id or "", relation, at)


def _last_shared(transcript: Transcript, other: Transcript) -> int | None:
    """Return the last message that both have: by id, by what a rollout refers to, else by what was said alike."""
    theirs = {m.id for m in other.messages if m.id}
    shared = [i for i, m in enumerate(transcript.messages) if m.id in theirs]
    if shared:
        return shared[-1]
    referred = _referred(transcript, other)
    if referred is not None:
        return referred
    number = 0
    for one, another in zip(transcript.messages, other.messages, strict=False):
        if (one.role, one.text, one.calls, one.results) != (another.role, another.text, another.calls, another.results):
            break
        number += 1
    return number - 1 if number else None


def _referred(transcript: Transcript, other: Transcript) -> int | None:
    """Return the last message of a rollout that a fork by reference goes on from."""
    if not isinstance(other, CodexTranscript):
        return None
    # the lines of the rollout that a fork names have the part behind its own
    ends = [line.span.offset for line in other.inherited if line.span.part == len(other.files.paths)]
    end = max(ends, default=-1)
    before = [i for i, m in enumerate(transcript.messages) if m.sources and m.sources[-1].offset <= end]
    return before[-1] if before else None


# The rows of the sessions that lie where one lies: in its project's folder, or anywhere in its client's store.

# From a rollout to the folder of all years it is four folders, from a database to all agents three.
_MOST_ABOVE = 5


def rows_around(path: Path, dialect: str, catalogue: Catalogue, problems: list[StoreProblem]) -> list[SessionRow]:
    """Return a row for every session of the store that a file lies in; of Claude Code and Cersei, of its project.

    Only what changed since the catalogue saw it is read. A file that lies in no store has no sessions around it but
    those in its folder.
    """
    walk = Walk[StoredRow](problems)
    found: list[SessionRow] = []
    for place in _places(path, dialect):
        page = catalogue.read_place(place, walk)
        if page.is_changed:
            resolve(page.rows)
            catalogue.save(page)
        titles = CLIENTS[place.kind].titles(place)
        for row in (stored.row for stored in page.rows if not stored.problem):
            row.title = shown_of(titles.get(row.id, ""), catalogue.blocked) or row.title
            found.append(row)
    return found


def _places(path: Path, dialect: str) -> Sequence[Place]:
    kind = CLIENTS.get(dialect)
    if kind is not None and not isinstance(kind, ProjectFolder):
        for folder in path.parents[:_MOST_ABOVE]:
            places = kind.places(folder, set(os.listdir(folder)), [])  # noqa: PTH208 - names only
            if places and any(path.is_relative_to(place.path) for place in places):
                return places
    folder = path.parent
    if SIDE_FOLDER in folder.parts:
        # a sub-agent's file lies in a folder of its session, at whatever depth
        at = len(folder.parts) - 1 - folder.parts[::-1].index(SIDE_FOLDER)
        folder = Path(*folder.parts[: at - 1])
    return [Place(FOLDER_OF_PROJECT, os.fspath(folder))]
