"""The sessions around one: the files of its sub-agents, and the sessions in its folder that share its beginning."""

import os
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from slowwave.dialects import by_name
from slowwave.dialects.model import SessionFiles, Transcript
from slowwave.dialects.registry import sniff
from slowwave.errors import UnreadableError
from slowwave.records.lines import read_records
from slowwave.records.model import REFUSALS, Problem
from slowwave.records.parts import session_id
from slowwave.records.values import clean
from slowwave.stores.walk import MAX_DEPTH, SIDE_FOLDER, SIDE_PREFIX, SUFFIX

# Where the first message of a session stands; copies of requests may come before it.
_MOST_RECORDS = 60


class Agent(NamedTuple):
    """A sub-agent that has a file of its own.

    Attributes:
        name: which agent it is, as its client calls it; else the name of the file.
        task: what it was asked to do, or "".
        path: its file.
        call: id of the tool call that started it, or "".
        messages: how many messages it has.
        began: when it began, ISO 8601, or "".
    """

    name: str
    task: str
    path: str
    call: str
    messages: int
    began: str


class Fork(NamedTuple):
    """A session that shares the beginning of another one.

    Attributes:
        session: its id.
        path: its file.
        message: id of the last message that both have.
        relation: "fork" when it says that it was copied from this one, "forked from" when this one says so of it,
            else "shares history".
    """

    session: str
    path: str
    message: str
    relation: str


class _Meta(msgspec.Struct):
    agentType: str = ""  # noqa: N815 - the client's spelling, here and below
    description: str = ""
    toolUseId: str = ""  # noqa: N815


class _Start(msgspec.Struct, gc=False):
    """What the first records of a file say about where it belongs."""

    type: object = None
    uuid: object = None
    id: object = None
    sessionId: object = None  # noqa: N815
    message: msgspec.Raw = msgspec.Raw()
    forkedFrom: object = None  # noqa: N815
    forked_from: object = None
    parentSession: object = None  # noqa: N815


_starts = msgspec.json.Decoder(_Start)
_metas = msgspec.json.Decoder(_Meta)


def agents_of(files: SessionFiles, problems: list[Problem]) -> list[Agent]:
    """Return the sub-agents of a session of Claude Code: in its side folder, or beside it with its id in them."""
    folder = files.paths[0].parent
    found = [_agent(path, problems) for path in _side_files(folder / files.id / SIDE_FOLDER)]
    beside = (path for path in sorted(folder.glob(f"{SIDE_PREFIX}*{SUFFIX}")) if path not in files.paths)
    found += [_agent(p, problems) for p in beside if any(s.sessionId == files.id for s in _beginning(p, problems))]
    return sorted(found, key=lambda agent: agent.began)


def _side_files(folder: Path) -> Iterator[Path]:
    for inside, folders, names in os.walk(folder):
        if len(Path(inside).relative_to(folder).parts) >= MAX_DEPTH:
            folders.clear()
        yield from (Path(inside, n) for n in sorted(names) if n.startswith(SIDE_PREFIX) and n.endswith(SUFFIX))


def _agent(path: Path, problems: list[Problem]) -> Agent:
    meta = _Meta()
    beside = path.with_name(path.name.removesuffix(SUFFIX) + ".meta.json")
    try:
        meta = _metas.decode(clean(beside.read_bytes()))
    except FileNotFoundError:
        pass  # older clients write none
    except (OSError, *REFUSALS) as error:
        problems.append(Problem("unreadable", beside, 1, 0, 0, str(error)))
    try:
        messages = by_name("claude").read(SessionFiles(path.stem, (path,))).messages
    except UnreadableError as error:
        problems.append(Problem("unreadable", path, 1, 0, 0, error.reason))
        messages = []
    began = next((m.timestamp.isoformat() for m in messages if m.timestamp), "")
    name = meta.agentType or path.name.removesuffix(SUFFIX)
    return Agent(name, meta.description, os.fspath(path), meta.toolUseId, len(messages), began)


def _beginning(path: Path, problems: list[Problem]) -> list[_Start]:
    try:
        return [start for _, start in islice(read_records(path, _starts, []), _MOST_RECORDS)]
    except UnreadableError as error:
        problems.append(Problem("unreadable", path, 1, 0, 0, error.reason))
        return []


def forks_of(transcript: Transcript, problems: list[Problem]) -> list[Fork]:
    """Return the sessions in the same folder that share messages with this one, each with the last of them.

    A fork keeps the ids of what it copied, so one look at the first message of each file tells.
    """
    own = {message.id for message in transcript.messages if message.id}
    paths = transcript.files.paths
    found: list[Fork] = []
    for path in sorted(paths[0].parent.glob(f"*{SUFFIX}")) if own else []:
        if path in paths or path.name.startswith(SIDE_PREFIX):
            continue
        starts = _beginning(path, problems)
        if any(_id_of(start) in own for start in starts) and (fork := _fork(path, starts, transcript, own, problems)):
            found.append(fork)
    return found


def _id_of(start: _Start) -> object:
    return start.uuid if start.uuid is not None else start.id


def _fork(
    path: Path, starts: Sequence[_Start], transcript: Transcript, own: Container[str | None], problems: list[Problem]
) -> Fork | None:
    name = session_id(path.name)
    try:
        if sniff(path) != transcript.dialect:
            return None
        other = by_name(transcript.dialect).read(SessionFiles(name, (path,)))
    except UnreadableError as error:
        problems.append(Problem("unreadable", path, 1, 0, 0, error.reason))
        return None
    shared = [message.id for message in other.messages if message.id in own]
    if not shared or shared[-1] is None:
        return None
    mine = transcript.files
    relation = "shares history"
    if mine.id in _origins(starts):
        relation = "fork"
    elif name in _origins(_beginning(mine.paths[0], problems)):
        relation = "forked from"
    return Fork(name, os.fspath(path), shared[-1], relation)


def _origins(starts: Sequence[_Start]) -> set[str]:
    """Return the ids of the sessions that records say they were copied from."""
    found: set[str] = set()
    for start in starts:
        copied: object = start.forkedFrom
        if isinstance(copied, dict):
            found.add(str(cast("dict[str, object]", copied).get("sessionId")))
        elif isinstance(start.forked_from, str):
            found.add(start.forked_from)
        elif isinstance(start.parentSession, str):
            # pi names the file
            found.add(session_id(os.path.basename(start.parentSession)))  # noqa: PTH119 - of any system
    return found
