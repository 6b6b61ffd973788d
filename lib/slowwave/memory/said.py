"""The words of the transcript that evidence points at, as they stand there now, for a person who asks why."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import orjson

from slowwave.errors import UnreadableError
from slowwave.formats.rows import RowReader, names_row
from slowwave.letters import visible
from slowwave.memory.evidence import Checked, check_all
from slowwave.memory.lookup import PlainFiles
from slowwave.memory.model import Evidence
from slowwave.memory.names import name_from_json, printable
from slowwave.reading.dialogs import written
from slowwave.secrets.redactor import Redactor
from slowwave.stores.archive.shelf import pack_of

# what is shown around the words that matter
_AROUND = 240
_LEAST_ALIKE = 50.0
# how far before a record its agent's last words are looked for
_BEFORE = 1 << 18


class Source(msgspec.Struct, frozen=True):
    """Where a fact was said, for a person.

    Attributes:
        quote: the words that matter.
        around: what was said around them, as it stands there now; "" when it is gone.
        before: the end of what the agent had said right before, which an answer is about; "" where nobody can tell.
        path: the transcript.
        finding: ok, moved, changed or lost.
    """

    quote: str
    around: str
    before: str
    path: str
    finding: str


def sources_of(evidence: Sequence[Evidence], transcripts: Sequence[Path], most: int, redact: Redactor) -> list[Source]:
    """Return where a fact was said, the latest first, each place with what stands around it.

    Args:
        evidence: what was recorded.
        transcripts: where files that were moved are looked for.
        most: how many places are told.
        redact: takes out secrets, and what was erased.

    Raises:
        UnreadableError: a database changes all the time while it is read.
    """
    latest = {(piece.path, piece.quote): piece for piece in evidence}
    chosen = list(reversed(latest.values()))[: most * 2]
    found: dict[tuple[str, str], Source] = {}
    for checked in check_all(chosen, transcripts) if chosen else ():
        around, before = said_at(checked, redact), _said_before(checked, redact)
        source = Source(redact(checked.evidence.quote), around, before, printable(checked.path), checked.finding)
        # copies and forks of a session say the same again
        found.setdefault((source.quote, around), source)
    return list(found.values())[:most]


def said_at(checked: Checked, redact: Redactor) -> str:
    """Return what was said where evidence was found, cut around its quote, without secrets; "" when it is gone."""
    if checked.finding not in {"ok", "moved"}:
        return ""
    from rapidfuzz import fuzz  # noqa: PLC0415 - the commands that only list things need it not

    texts = list(_texts(_decoded(_bytes_of(checked))))
    quote = " ".join(checked.evidence.quote.split())
    if not texts:
        return ""

    def likeness(text: str) -> float:
        # a word of the quote is no place where all of it stands
        return fuzz.partial_ratio(quote, text[:20_000]) * min(1.0, len(text) / len(quote))

    best = max(texts, key=lambda text: (likeness(text), -len(text))) if quote else texts[0]
    if quote and likeness(best) < _LEAST_ALIKE:
        return ""
    # secrets are looked for in the whole text: a cut one would not be known as one
    return _around(_without_secrets(best, redact), quote)


def _said_before(checked: Checked, redact: Redactor) -> str:
    """Return the end of the agent's last words in the lines before evidence, without secrets."""
    if checked.finding not in {"ok", "moved"} or checked.is_archived or names_row(checked.evidence.record):
        return ""
    try:
        with Path(name_from_json(checked.path)).open("rb") as file:
            start = max(checked.offset - _BEFORE, 0)
            file.seek(start)
            lines = file.read(checked.offset - start).split(b"\n")
    except OSError:
        return ""
    for raw in reversed(lines[1 if start else 0 :]):
        record = _decoded(raw) if b"assistant" in raw else None
        message = next((m for m in _messages(record) if m.get("role") == "assistant"), None)
        if message and (words := " ".join(_without_secrets(_spoken(message.get("content")), redact).split())):
            return words if len(words) <= _AROUND else f"…{words[-_AROUND:]}"
    return ""


def _without_secrets(text: str, redact: Redactor) -> str:
    """Return a whole text as whoever read the session saw it: as one, and each answer or value in it by itself.

    A client tells an answer in a sentence or in JSON of its own, whose signs around it would hide a secret in it.
    """
    text = visible(text)
    value = _decoded(text.encode("utf-8", "replace")) if text.lstrip()[:1] in ("{", "[") else text
    if not isinstance(value, str):
        return redact(orjson.dumps(_each(value, redact)).decode())
    for words in {words for told in written(text) for words in told if words}:
        text = text.replace(words, redact(words))
    return redact(text)


def _each(value: Any, redact: Redactor) -> Any:
    """Return a value of JSON with each text in it redacted by itself."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {name: _each(item, redact) for name, item in cast("dict[str, Any]", value).items()}
    return [_each(item, redact) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _messages(record: Any) -> Iterator[dict[str, Any]]:
    """Yield what of a record may be a message: itself, or what clients wrap one in."""
    if isinstance(record, dict):
        found = cast("dict[str, Any]", record)
        yield found
        for name in ("message", "payload"):
            if isinstance(found.get(name), dict):
                yield found[name]


def _spoken(content: Any) -> str:
    """Return the text of a message's content, without thoughts, calls and results."""
    if isinstance(content, str):
        return content
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    texts = [cast("dict[str, Any]", b) for b in blocks if isinstance(b, dict)]
    return "\n".join(str(b["text"]) for b in texts if str(b.get("type")).endswith("text") and b.get("text"))


def _bytes_of(checked: Checked) -> bytes:
    path, piece = Path(name_from_json(checked.path)), checked.evidence
    try:
        if names_row(piece.record):
            with RowReader() as rows:
                return (rows.read(path, piece.record) or b"")[piece.offset : piece.offset + piece.length]
        folders = [pack_of(path).parent] if checked.is_archived else []
        with PlainFiles(folders) as files:
            file = files.open(path, most=checked.offset + piece.length)
            file.seek(checked.offset)
            return file.read(piece.length)
    except (OSError, UnreadableError):
        return b""  # it was there a moment ago, and its client goes on writing


def _decoded(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return raw.decode("utf-8", "replace")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item)


def _around(text: str, quote: str) -> str:
    """Return the part of a text around a quote."""
    from rapidfuzz import fuzz  # noqa: PLC0415 - as above

    at = fuzz.partial_ratio_alignment(quote, text) if quote else None
    begin, end = (at.dest_start, at.dest_end) if at else (0, len(quote))
    start, stop = max(begin - _AROUND, 0), end + _AROUND
    return ("…" if start else "") + text[start:stop].strip() + ("…" if stop < len(text) else "")
