"""The ledger of a memory folder: every event of every memory, append-only, one JSON object a line.

It is the only proof of which lines in a memory file are slowwave's own: a line is, if the ledger holds the sha256 of
exactly that line. The file is only ever replaced together with the whole folder, so it cannot be torn; a line that
does not parse is damage, and damage is an error and never "no memories".
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from slowwave.errors import CorruptStateError, UnreadableError
from slowwave.files import file_bytes
from slowwave.memory import BY_PERSON, PASTED, QUOTED, Candidate, CandidateOrigin, Category, Evidence
from slowwave.memory.folder import OWN_FOLDER

FILE = "ledger.jsonl"
PATH = f"{OWN_FOLDER}/{FILE}"
VERSION = 1
# what a person decides while they look through what waits is a dream of its own; its run has this name
REVIEW = "review"
# why a line that an agent wrote stands on a page, or somewhere else in the index, now
FULL = "the index is full"
ARRANGED = "its part of the index was put in order"

# who saw what the rules do not see: they do not decide it anew
BY_MODEL, BY_JUDGE = "model", "judge"

EventKind = Literal[
    "dream",  # a dream was committed; the events with its id belong to it
    "add",  # a memory came into being from candidates
    "adopt",  # a line that an agent or a tool wrote takes part from now on; it stands where it was written
    "merge",  # more evidence for a memory, perhaps better words; it may hold again
    "revise",  # only when it held is known better now
    "supersede",  # something newer took its place
    "join",  # another line says the same: what showed it counts for that one now
    "update",  # its line was brought up to date where it stands
    "phrase",  # one line says several memories, or one in other words; it holds as long as they do
    "move",  # its line left the place where its writer had put it
    # a heading went to the page ``file`` with all that stood below it, or is gone since nothing did; the first of its
    # entries is the heading
    "section",
    "dispute",  # a model found that it, or a candidate, contradicts a person's words: they are asked
    "drop",  # it left without a successor
    "rewritten",  # whoever wrote its line wrote it anew
    "refuse",  # a candidate was not taken, for good
    "edited-by-person",  # somebody reworded its line: the line is theirs now
    "removed-by-person",  # somebody deleted its line: it never comes back
    "unindexed-by-person",  # somebody took its line out of the index
    "use",  # sessions read a memory file
    "index",  # the lines of the index as rendered
    "share",  # a person accepted a memory for everybody who works in the repository; without a text, took that back
    "reject",  # a person rejected a fact or a parked dream
    "undo",  # dreams or rejections were undone
    "erase",  # secrets were taken out of transcripts and memories, and hashes renewed
]

Writer = Literal[
    "person",  # typed in a session before anybody else said it, or edited outside of any session
    "agent",  # an agent wrote it; usual for clients whose agents keep notes
    "tool",  # it stood in the output of a tool, in a page or in a file before anybody said it
    "slowwave",
]


class Sighting(msgspec.Struct, frozen=True):
    """One session that showed a fact: independent sessions make it more certain.

    ``records`` tells which records showed it (:func:`slowwave.memory.seen_in`): copies and forks of a session
    share them.
    """

    dialect: str
    session: str
    path: str
    origin: CandidateOrigin
    confidence: float
    observed_at: str
    records: tuple[str, ...] = ()


class IndexEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the index: a memory's id or a file's name, and the hash of the line as rendered."""

    ref: str
    sha256: str
    under: str = ""  # the hash of the heading of somebody else's below which it stands, "" among our own lines


class Event(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A line of the ledger; fields that an event has no use for are left out."""

    v: int
    event: EventKind
    dream: str
    at: str
    memory: str = ""
    category: Category | Literal[""] = ""
    text: str = ""
    key: str = ""
    value: str = ""
    confidence: float = 0.0
    valid_from: str = ""
    valid_to: str = ""
    successor: str = ""
    candidates: tuple[str, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    file: str = ""
    line: str = ""
    sha256: str = ""
    writer: Writer = "slowwave"
    section: str = ""
    stands: bool = False  # of a moved line: it stands on a page now as its writer put it, with its section
    number: int = 0  # of a section, how many lines stood below its heading
    entries: tuple[IndexEntry, ...] = ()
    spans: tuple[tuple[str, str], ...] = ()
    undone: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    reason: str = ""
    run: str = ""
    by: str = ""


class _Version(msgspec.Struct):
    v: int


_decode = msgspec.json.Decoder(Event).decode
_version = msgspec.json.Decoder(_Version).decode
_encode = msgspec.json.Encoder().encode


def line_hash(line: bytes | str) -> str:
    """Return the hash by which a line is known as ours; a carriage return at its end does not count."""
    raw = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
    return hashlib.sha256(raw.removesuffix(b"\r")).hexdigest()


def encode_events(events: Iterable[Event]) -> bytes:
    """Return the lines of the ledger for these events."""
    return b"".join(_encode(event) + b"\n" for event in events)


def parse_ledger(data: bytes, path: Path) -> list[Event]:
    """Return the events in ``data``; ``path`` is named in errors.

    Raises CorruptStateError: a line is no event, or comes from a newer version.
    """
    events: list[Event] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            if _version(line).v > VERSION:
                raise CorruptStateError(path, f"line {number} was written by a newer slowwave", "update slowwave")
            events.append(_decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise CorruptStateError(
                path, f"line {number} is not a ledger event ({error})", "restore the file from a backup"
            ) from error
    return events


def undone_in(events: Sequence[Event]) -> dict[str, str]:
    """Return what was undone and stays so, by its id, with the time; an undo that was undone itself does not count."""
    gone: dict[str, str] = {}
    for event in reversed(events):
        if event.dream not in gone:
            gone |= dict.fromkeys(event.undone, event.at)
    return gone


def read_ledger(memory: Path) -> Sequence[Event]:
    """Return all events of a memory folder; none when it has no ledger.

    Raises CorruptStateError: the ledger is damaged; UnreadableError: the ledger cannot be opened.
    """
    path = memory / PATH
    try:
        data = file_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    return parse_ledger(data, path)


# Whose words were seen, for a person.

# whose words a note is, for a person, where nothing says how they said them
_SPEAKERS = {
    "user_explicit": "typed, pasted or chosen in the session",
    "user_correction": "typed as a correction",
    "command_outcome": "commands showed it",
    "assistant": "an agent said it",
}
# how a person said it, by what found it: what stands behind the extractor's name
_WAYS = {
    "said": "typed in the session",
    "command": "typed behind /slowwave-remember or /slowwave-forget",
    "choice": "chosen in a dialog of the session",
    "recap": "said in a discussion of the session",
}
_DOUBTED = {PASTED: "pasted in the session, as it seems", QUOTED: "typed in the session, perhaps from somebody else"}


def speaker(sighting: Sighting, candidates: Iterable[Candidate]) -> str:
    """Say whose words showed something in a session, and how they were said where the candidates from there know it.

    A session can show the same in several ways, which are all told; what a model found, tells of none.
    """
    plain = _SPEAKERS.get(sighting.origin, sighting.origin)
    if sighting.origin != "user_explicit":
        return plain
    said = (sighting.dialect, sighting.session, sighting.origin, sighting.observed_at)
    ways = {
        _DOUBTED.get(one.doubt, "") or _WAYS.get(one.extractor.rpartition(":")[2], plain)
        for one in candidates
        if (one.session.dialect, one.session.id, one.origin, one.observed_at) == said and one.extractor != BY_PERSON
    }
    return " and ".join(sorted(ways)) or plain
