"""Texts that were refused, since they try to steer an agent or are somebody else's words: what, why and where.

Kept as a small file beside the candidates, append-only; nothing reads it but the person, so that no text in it can
become a memory. Texts are redacted and shortened.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from slowwave.extraction.notes import Note
from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem
from slowwave.hostile import hostile_reason
from slowwave.letters import one_line
from slowwave.memory.candidates import append_lines
from slowwave.memory.guard import OWN_FOLDER, guarded
from slowwave.memory.model import SessionRef, iso
from slowwave.reading.items import Chosen, Meaning, Reading

FILE = "quarantine.jsonl"
MAX_TEXT = 240


class Quarantined(msgspec.Struct, frozen=True):
    """A text that was refused.

    Attributes:
        session: where it stood.
        record: the client's id of the record, or "".
        at: when it was said, ISO, or "".
        reason: why it was refused.
        text: its beginning, in one visible line, without secrets.
    """

    session: SessionRef
    record: str
    at: str
    reason: str
    text: str


def quarantine_of(
    reading: Reading, session: SessionRef, is_new: Callable[[Meaning], bool], echoed: Iterable[tuple[Note, str]] = ()
) -> list[Quarantined]:
    """Return what of the words of people and of their answers was refused; commands are not words.

    Args:
        reading: the whole session.
        session: where it was found.
        is_new: only what is new is told.
        echoed: what people typed after it stood elsewhere, with who had written it there.
    """
    every: list[tuple[Meaning, str]] = [(said, said.own) for said in reading.said("person")]
    chosen = (item for item in reading.items if isinstance(item, Chosen))
    every += [(item, f"{item.question} {item.answer}") for item in chosen]
    refused = [(item, text, reason) for item, text in every if is_new(item) and (reason := hostile_reason(text))]
    refused += [(note.items[-1], note.quote, f"stood in {by} before") for note, by in echoed]
    return [_quarantined(session, item, text, reason) for item, text, reason in refused]


def _quarantined(session: SessionRef, item: Meaning, text: str, reason: str) -> Quarantined:
    return Quarantined(session, item.record, iso(item.at) if item.at else "", reason, _short(text))


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= MAX_TEXT else f"{line[: MAX_TEXT - 1]}…"


def read_quarantine(memory: Path) -> tuple[list[Quarantined], list[Problem]]:
    """Return what was refused so far, oldest first, each once, and what could not be read.

    Raises:
        UnreadableError: the file exists and cannot be opened.
    """
    path = memory / OWN_FOLDER / FILE
    problems: list[Problem] = []
    if not path.exists():
        return [], problems
    return list(dict.fromkeys(one for _, one in read_records(path, _decoder, problems))), problems


def append_quarantine(memory: Path, refused: Iterable[Quarantined]) -> None:
    """Add what was refused and is not there yet.

    Raises:
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the folder cannot be written.
    """
    wanted = list(dict.fromkeys(refused))
    if not wanted:
        return
    with guarded(memory):
        new = list(_unknown(wanted, read_quarantine(memory)[0]))
        if new:
            append_lines(memory / OWN_FOLDER / FILE, [_encode(one) for one in new])


def _unknown(wanted: Sequence[Quarantined], known: Sequence[Quarantined]) -> Iterator[Quarantined]:
    present = set(known)
    yield from (one for one in wanted if one not in present)


_decoder = msgspec.json.Decoder(Quarantined)
_encode = msgspec.json.Encoder().encode
