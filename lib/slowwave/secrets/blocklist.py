"""What was erased and must not come back: known again by keyed fingerprints of its words, from which no way leads back.

A text is cut into words; a phrase is blocked when the fingerprint of as many words in a row is one of those kept. Only
words that begin a blocked phrase cost more than a look into a table.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from unicodedata import normalize

import msgspec

from slowwave.errors import CorruptStateError
from slowwave.files import atomic_write, data_folder, file_bytes, private_folder

FILE = "erased.json"
ERASED = "[erased]"
_VERSION = 1
_WORD = re.compile(r"[^\W_]+")
_MOST_KNOWN = 200_000
# so many digits of a record's fingerprint: there are many records, and two alike by chance would cost one its memory
_SHORT = 16
_REMEDY = "put it back from a copy; without it, what was erased could be learned again"


class Phrase(msgspec.Struct, frozen=True, order=True):
    """A blocked phrase: how many words it has, and the fingerprints of the first one and of all."""

    words: int
    first: str
    all: str


class Kept(msgspec.Struct, frozen=True):
    """The file: blocked phrases, and the fingerprints of ids of erased sessions and of the names of their records."""

    v: int = _VERSION
    phrases: tuple[Phrase, ...] = ()
    sessions: tuple[str, ...] = ()
    records: tuple[str, ...] = ()


class Blocked:
    """What is blocked, for one key."""

    def __init__(self, key: bytes, kept: Kept) -> None:
        self._key = key
        self._sessions = frozenset(kept.sessions)
        self._records = frozenset(kept.records)
        self._lengths: dict[str, set[int]] = {}
        for phrase in kept.phrases:
            self._lengths.setdefault(phrase.first, set()).add(phrase.words)
        self._all = {(phrase.words, phrase.all) for phrase in kept.phrases}
        self._phrases = frozenset(kept.phrases)
        self._known: dict[str, str] = {}

    @property
    def has_phrases(self) -> bool:
        """Whether any phrase is blocked."""
        return bool(self._lengths)

    def has_session(self, name: str) -> bool:
        """Say whether a session was erased."""
        return bool(self._sessions) and fingerprint(self._key, name) in self._sessions

    def has_phrase(self, text: str) -> bool:
        """Say whether a text is blocked itself, not only something in it."""
        return bool(self._phrases) and phrase_of(self._key, text) in self._phrases

    @property
    def has_records(self) -> bool:
        """Whether any record is blocked."""
        return bool(self._records)

    def has_record(self, name: str) -> bool:
        """Say whether a record of this name (:func:`record_name`) was erased with a session."""
        return bool(name) and fingerprint(self._key, name)[:_SHORT] in self._records

    def masked(self, text: str) -> tuple[str, int]:
        """Return a text with every blocked phrase replaced, and how many there were."""
        if not self._lengths:
            return text, 0
        # an accent by itself parts no word
        given, text = text, normalize("NFC", text)
        out: list[str] = []
        at = number = 0
        for start, stop in self._spans(text):
            if start >= at:
                out += [text[at:start], ERASED]
                at = stop
                number += 1
        return ("".join([*out, text[at:]]), number) if number else (given, 0)

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        words = list(_WORD.finditer(text))
        for number, word in enumerate(words):
            for length in sorted(self._lengths.get(self._first(word[0]), ()), reverse=True):
                row = words[number : number + length]
                if len(row) == length and (length, _of_words(self._key, [w[0] for w in row])) in self._all:
                    yield word.start(), row[-1].end()
                    break

    def _first(self, word: str) -> str:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[word] = _of_words(self._key, [word])
        return known


def phrase_of(key: bytes, text: str) -> Phrase | None:
    """Return what is kept of a phrase, or None when it has no words."""
    words = _WORD.findall(normalize("NFC", text))
    return Phrase(len(words), _of_words(key, words[:1]), _of_words(key, words)) if words else None


def fingerprint(key: bytes, text: str) -> str:
    """Return the keyed fingerprint of a text as it is."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key[:64], digest_size=16).hexdigest()


def read_blocked(environ: Mapping[str, str]) -> Kept:
    """Return what is blocked; nothing when nothing was erased.

    Raises CorruptStateError: the file does not parse; it never counts as empty.
    """
    path = _path(environ)
    try:
        kept = msgspec.json.decode(file_bytes(path), type=Kept)
    except FileNotFoundError:
        return Kept()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptStateError(path, f"does not parse: {error}", _REMEDY) from error
    if kept.v != _VERSION:
        raise CorruptStateError(path, f"has the form {kept.v}, which a newer version wrote", "use that version")
    return kept


def any_blocked(environ: Mapping[str, str]) -> bool:
    """Say whether anything was ever erased, without reading it."""
    return _path(environ).exists()


def block(
    environ: Mapping[str, str], key: bytes, phrases: Iterable[str], sessions: Iterable[str], records: Iterable[str] = ()
) -> None:
    """Add phrases, sessions and records by their names to what is blocked; what is there already changes nothing.

    Raises CorruptStateError: the file does not parse; OSError: the data folder cannot be written.
    """
    kept = read_blocked(environ)
    more = {one for text in phrases if (one := phrase_of(key, text)) is not None}
    new = Kept(
        phrases=tuple(sorted({*kept.phrases, *more})),
        sessions=tuple(sorted({*kept.sessions, *(fingerprint(key, one) for one in sessions)})),
        records=tuple(sorted({*kept.records, *(fingerprint(key, one)[:_SHORT] for one in records)})),
    )
    if new != kept:
        path = _path(environ)
        private_folder(path.parent)
        atomic_write(path, msgspec.json.encode(new), mode=0o600)


def _of_words(key: bytes, words: Iterable[str]) -> str:
    return fingerprint(key, " ".join(word.casefold() for word in words))


def _path(environ: Mapping[str, str]) -> Path:
    return Path(os.fspath(data_folder(environ)), FILE)


# What tells a record of a session from every other one, whichever file a copy or a fork of it lies in.

# shorter ids are not unique among all sessions of a person
_UNIQUE = 16


class _Ids(msgspec.Struct, gc=False):
    session: object = msgspec.field(default=None, name="sessionId")
    session_id: object = None
    of: object = msgspec.field(default=None, name="sessionID")
    uuid: object = None
    id: object = None
    timestamp: object = None
    created_at: object = None
    time: object = None


_decoder = msgspec.json.Decoder(_Ids)


def record_name(raw: bytes) -> str:
    """Return the name of a record: its client's id, or its hash when it says when it was; "" for what many may share.

    A fork keeps the ids of the records that it begins with, a copy every byte but the session's id.
    """
    raw = raw.strip(b" \t\r\n\0")
    try:
        ids = _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    for name in (ids.uuid, ids.id):
        if isinstance(name, str) and len(name) >= _UNIQUE:
            return name
    if not (ids.timestamp or ids.created_at or ids.time):
        return ""
    for session in (ids.session, ids.session_id, ids.of):
        if isinstance(session, str) and session:
            raw = raw.replace(session.encode("utf-8", "surrogatepass"), b"")
    return sha256(raw).hexdigest()


def moment_name(role: str, at: datetime | None, text: str) -> str:
    """Return the name of a message by its time and words, which a fork of opencode keeps under new ids; "" without."""
    words = f"{role} {at.timestamp()} {text}" if at is not None else ""
    return sha256(words.encode("utf-8", "surrogatepass")).hexdigest() if words else ""


def record_names(texts: Iterable[bytes]) -> Iterator[str]:
    """Yield the names of the records that lie in texts line by line."""
    for text in texts:
        yield from filter(None, map(record_name, text.split(b"\n")))
