"""Texts that were refused, since they try to steer an agent or are somebody else's words: what, why and where.

Kept as a small file beside the candidates, append-only; nothing reads it but the person, so that no text in it can
become a memory. Texts are redacted and shortened.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from slowwave.extraction.events import Event, Events
from slowwave.extraction.found import Found
from slowwave.hostile import hostile_reason
from slowwave.letters import one_line
from slowwave.memory.candidates import append_lines
from slowwave.memory.guard import OWN_FOLDER, guarded
from slowwave.memory.model import SessionRef, iso
from slowwave.records.lines import read_records
from slowwave.records.model import Problem

FILE = "quarantine.jsonl"
MAX_TEXT = 240
OTHERS = "taken for somebody else's words"


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
    events: Events, session: SessionRef, is_new: Callable[[Event], bool], echoed: Iterable[tuple[Found, str]] = ()
) -> list[Quarantined]:
    """Return what of the words of people and of their answers was refused; commands are not words.

    Args:
        events: the whole session.
        session: where it was found.
        is_new: only what is new is told.
        echoed: what people typed after it stood elsewhere, with who had written it there.
    """
    every: list[tuple[Event, str]] = [(turn, turn.text) for turn in events.turns]
    every += [(answer, f"{answer.question} {answer.answer}") for answer in events.answers]
    refused = [(event, text, reason) for event, text in every if is_new(event) and (reason := hostile_reason(text))]
    refused += [(found.events[-1], found.quote, f"stood in {by} before") for found, by in echoed]
    return [_quarantined(session, event, text, reason) for event, text, reason in refused]


def others_of(found: Iterable[Found], session: SessionRef) -> list[Quarantined]:
    """Return what was taken for somebody else's words, of which a candidate would have been made otherwise."""
    return [_quarantined(session, one.events[-1], one.quote, hostile_reason(one.quote) or OTHERS) for one in found]


def _quarantined(session: SessionRef, event: Event, text: str, reason: str) -> Quarantined:
    return Quarantined(session, event.record, iso(event.at) if event.at else "", reason, _short(text))


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
