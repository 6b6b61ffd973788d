"""Candidates, evidence and memories: what is kept about a fact, and the JSON form that other programs rely on."""

import hashlib
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from slowwave.formats.database import names_row

Category = Literal["preference", "project", "pattern", "decision", "constraint"]
CATEGORIES: tuple[Category, ...] = ("preference", "project", "pattern", "decision", "constraint")

# key of what only takes something else back; its value names that
RETRACTS = "retracts"
# key of what only takes a note out that waits; its value is the note's id
DROPS = "drops"

# why only a person can say whether words that they typed are their own
QUOTED = "perhaps copied from somebody else"
PASTED = "perhaps pasted"
OF_VOICE = (QUOTED, PASTED)

# who found what a person put into words of their own while reviewing
BY_PERSON = "review/1"

# record ids of fewer characters are numbers that every session gives anew
_UNIQUE = 8

CandidateOrigin = Literal[
    "user_explicit",  # a person asked to remember it, or stated a rule
    "user_correction",  # a person rejected what the assistant did
    "command_outcome",  # seen in what commands returned
    "assistant",  # the assistant said it (never alone a preference, decision or constraint)
]


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """Bytes on disk that show a fact."""

    path: str  # absolute path of the transcript file at the time of extraction, as :func:`name_to_json` spells it
    # the client's id of the record, or "" when it has none; of a row of a database its name
    # (:mod:`slowwave.formats.database`)
    record: str
    offset: int  # byte offset of the record in the file (of a packed file in its plain bytes), or in the row
    length: int  # length of the record in bytes
    sha256: str  # hex digest of exactly these bytes
    quote: str = ""  # the words that matter, redacted and short
    # of the call of a command what became of it, in words: "`make test` passed"; what it printed stands behind it
    shows: str = ""


class SessionRef(msgspec.Struct, frozen=True):
    """The session a candidate was read from; id and path as :func:`name_to_json` spells them."""

    dialect: str
    id: str
    path: str


class Replaces(msgspec.Struct, frozen=True):
    """What a candidate takes the place of."""

    id: str  # of the memory, or of the candidate that waits
    # whether a memory is brought up to date or is over, or a candidate is dropped for this one
    how: Literal["update", "retire", "drop"]


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fact extracted from one session; a line of ``.slowwave/candidates.jsonl``."""

    id: str  # 16 hex digits, a function of session, category, text and evidence bytes only
    category: Category  # one of Cersei's five
    text: str  # one line, redacted, dates absolute
    confidence: float  # 0.0 to 1.0
    origin: CandidateOrigin  # who stands behind it
    extractor: str  # name and version of what found it, for example ``offline/1:preference``
    session: SessionRef  # where it was found
    evidence: tuple[Evidence, ...]  # at least one item
    observed_at: str = ""  # ISO time of the message, or "" when the record has none
    # typed key; two candidates with the same key and different values contradict each other (``pref:package-manager``,
    # ``cmd:test``); "" when there is none
    key: str = ""
    value: str = ""  # the value for ``key``
    doubt: str = ""  # why only a person can say whether it is theirs; "" for none
    # whether it holds for one task, the project, or the person everywhere; "" where nobody said
    scope: Literal["", "task", "project", "person"] = ""
    replaces: tuple[Replaces, ...] = ()  # memories that it brings up to date or ends


class ExtractedRange(msgspec.Struct, frozen=True, omit_defaults=True, rename={"start": "from", "stop": "to"}):
    """A range of one file that was read, also where it gave nothing; ``to`` is exclusive.

    Of a session that is no file of lines, it is a range of what its records hold one after the other.
    """

    session: SessionRef  # the session and its file
    start: int  # first byte
    stop: int  # behind the last byte
    sha256: str  # of the bytes
    extractor: str  # name and version of what read them
    at: str = ""  # ISO time
    stamp: str = ""  # of a session that need not be looked into as long as its size and time are the same; else ""
    # where the records lie, from the first byte of the file to ``to``, that no run has taken anything from, because
    # they stood on branches that were left: begin and end of each run of them. They are read when their branch is taken
    # up again.
    abandoned: tuple[tuple[int, int], ...] = ()


def candidate_id(session: SessionRef, category: Category, text: str, evidence: tuple[Evidence, ...]) -> str:
    """Return the id of a candidate: equal input gives an equal id on every machine."""
    parts = [session.dialect, session.id, category, text, *(e.sha256 for e in evidence)]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def seen_in(evidence: tuple[Evidence, ...]) -> tuple[str, ...]:
    """Return what tells where a fact was seen, whichever file the records lie in.

    A renamed copy of a session has the same bytes, a fork the same record ids under another session id: the same
    record with the same quote is the same sighting. Ids too short to be unique do not count, nor do names of rows: a
    fork copies rows under new names.
    """
    ids = (e.sha256 if len(e.record) < _UNIQUE or names_row(e.record) else e.record for e in evidence)
    places = (f"{name}\x1f{e.quote}" for name, e in zip(ids, evidence, strict=True))
    return tuple(dict.fromkeys(hashlib.sha256(place.encode()).hexdigest()[:12] for place in places))


def iso(at: datetime) -> str:
    """Return an aware time as ISO 8601 in UTC with seconds, ``2026-11-03T09:30:00Z``."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# Names of files and sessions in JSON: a name may hold bytes that are not UTF-8, a JSON string may not.
#
# Such a byte is written as NUL and its two hex digits, for example ``x\u0000ff.jsonl``: no name holds a NUL, so the
# form is reversible, every JSON parser takes it, and all other names stay as they are.

_ESCAPED = re.compile("\0([0-9a-f]{2})")
# how Python spells a byte that is not UTF-8 in a name
_BYTE = re.compile("[\udc80-\udcff]")
# a half of a surrogate pair that stands for no byte is no part of any name on disk
_OTHER = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_BASE = 0xDC00


def name_to_json(name: str | Path) -> str:
    """Return a name or path in the form in which JSON keeps it."""
    return _OTHER.sub("\ufffd", _BYTE.sub(lambda byte: f"\0{ord(byte[0]) - _BASE:02x}", os.fspath(name)))


def name_from_json(text: str) -> str:
    """Return the name or path that :func:`name_to_json` was given."""
    return _ESCAPED.sub(lambda byte: chr(_BASE + int(byte[1], 16)), text)


def printable(text: str) -> str:
    """Return a text that may hold such names in a form that every terminal and every log takes."""
    plain = _BYTE.sub(lambda byte: f"\\x{ord(byte[0]) - _BASE:02x}", name_from_json(text))
    return _OTHER.sub("\ufffd", plain)
