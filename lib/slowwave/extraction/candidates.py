"""From a note to a candidate: one line, absolute, redacted, with evidence that re-reads."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from slowwave.extraction.notes import Note
from slowwave.formats.model import RowSpan, Span
from slowwave.letters import one_line
from slowwave.memory.dates import dated
from slowwave.memory.model import Candidate, Evidence, SessionRef, candidate_id, iso, name_to_json
from slowwave.secrets.redactor import Redactor

MOST_CHARS = 300
MOST_QUOTE = 160


class _Ids(msgspec.Struct):
    uuid: str | None = None
    id: str | None = None


_ids = msgspec.json.Decoder(_Ids)


def candidate_of(
    note: Note,
    session: SessionRef,
    paths: Sequence[Path],
    redact: Redactor,
    extractor: str,
    most_chars: int = MOST_CHARS,
) -> Candidate:
    """Return the candidate of a note.

    Args:
        note: the note.
        session: where it was found.
        paths: the session's files in reading order.
        redact: takes secrets out of every text once more.
        extractor: name and version of what found it.
        most_chars: longer texts are cut.
    """
    item = note.items[-1]
    words = relative_paths(one_line(redact(note.text)), item.cwd)
    text = _cut(_unended(dated(words, item.at)), most_chars)
    quote = _cut(one_line(redact(note.quote)), MOST_QUOTE)
    spans = dict.fromkeys(span for one in note.items for span in one.sources)
    evidence = tuple(_evidence(span, paths, quote) for span in spans)
    return Candidate(
        candidate_id(session, note.category, text, evidence),
        note.category,
        text,
        round(note.confidence, 2),
        note.origin,
        extractor,
        session,
        evidence,
        iso(item.at) if item.at else "",
        note.key,
        note.value,
        note.doubt,
    )


def relative_paths(text: str, cwd: str) -> str:
    """Return ``text`` with paths below the working folder written from there, so that they hold in any checkout."""
    folder = cwd.rstrip("/\\")
    parts = re.split(r"[/\\]", folder)
    on_drive = len(parts) == 2 and parts[0].endswith(":") and parts[1].lower() != "users"  # noqa: PLR2004
    if len(parts) < 3 and not on_drive:  # noqa: PLR2004 - never a root or a home folder's parent
        return text
    # a Windows folder as the shells there spell it
    drive = re.match(r"([A-Za-z]):[/\\]+(.+)", folder)
    rest = drive[2].replace("\\", "/") if drive else ""
    spelled = [folder, *(f"{mount}/{drive[1].lower()}/{rest}" for mount in ("", "/mnt", "/cygdrive") if drive)]
    below = re.compile(
        rf"(?<![\w./\\-])(?:{'|'.join(map(re.escape, spelled))})(?:[/\\]+(?=[\w.@-])|(?![\w.-]))",
        re.IGNORECASE if "\\" in cwd else 0,
    )
    return below.sub(lambda m: "" if m[0][-1:] in "/\\" else ".", text)


def _evidence(span: Span, paths: Sequence[Path], quote: str) -> Evidence:
    digest = hashlib.sha256(span.raw).hexdigest()
    path = name_to_json(paths[span.part])
    if isinstance(span, RowSpan):
        return Evidence(path, span.record, 0, len(span.raw), digest, quote)
    return Evidence(path, _record_id(span.raw), span.offset, len(span.raw), digest, quote)


def _record_id(raw: bytes) -> str:
    try:
        ids = _ids.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return ids.uuid or ids.id or ""


def _unended(text: str) -> str:
    """Drop the full stop, so that the same words read the same."""
    return text if text.endswith("..") else text.removesuffix(".")


def _cut(text: str, most: int) -> str:
    """Cut at a word, never inside a mark of a secret."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    if "[secret:" in cut[-48:] and "]" not in cut[cut.rfind("[secret:") :]:
        cut = cut[: cut.rfind("[secret:")]
    return (cut.rsplit(" ", 1)[0] if " " in cut[most // 2 :] else cut).rstrip(" ,;:") + "…"
