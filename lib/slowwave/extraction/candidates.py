"""From a note to a candidate: one line, absolute, redacted, with evidence that re-reads; or to the quarantine."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowwave.formats import Problem, RowSpan, Span
from slowwave.hostile import hostile_reason, is_hostile, one_line
from slowwave.memory import (
    Candidate,
    CandidateOrigin,
    Category,
    Evidence,
    SessionRef,
    candidate_id,
    iso,
    name_to_json,
)
from slowwave.memory.dates import dated
from slowwave.memory.folder import Notes
from slowwave.reading import Chosen, Meaning, Ran, Reading
from slowwave.secrets import Redactor
from slowwave.shell import folder_of
from slowwave.shell.commands import CHECKS

# A note: something that a session says, on its way to be a candidate.


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a session says."""

    source: str  # how it was found
    category: Category  # one of the five
    text: str  # words that stand alone
    confidence: float  # how likely it is worth loading, 0 to 1
    origin: CandidateOrigin  # who stands behind it
    items: tuple[Meaning, ...]  # what shows it, in order; their records become the evidence
    quote: str  # the words that matter
    key: str = ""  # typed key, where there is one
    value: str = ""  # the value for it
    doubt: str = ""  # why only a person can say whether it is theirs, or ""
    commands: frozenset[str] = frozenset()  # those of the lines that were run that it is about


MOST_CHARS = 300
MOST_QUOTE = 160
_MOST_COMMAND = 80
_NAMED = re.compile(r"`([^`]+)`")


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
    # of a question and its answer the answer is what stands there as it was given
    quote = _cut(one_line(redact(item.answer if isinstance(item, Chosen) else note.quote)), MOST_QUOTE)
    spans = dict.fromkeys(span for one in note.items for span in one.sources)
    # where it was asked stands what the chosen option was said to mean
    meanings = [option.description for option in item.chosen] if isinstance(item, Chosen) else []
    asked = _cut(one_line(redact(" ".join(filter(None, meanings)))), MOST_QUOTE)
    told = {item.sources[0]: asked} if asked and len(item.sources) > 1 else {}
    became: dict[Span, list[str]] = {}
    for one in note.items:
        if isinstance(one, Ran):
            became.setdefault(one.sources[0], []).extend(_became(one, note))
    shown = {span: redact(", ".join(dict.fromkeys(words))) for span, words in became.items()}
    evidence = tuple(_evidence(span, paths, told.get(span, quote), shown.get(span, "")) for span in spans)
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


def _became(ran: Ran, note: Note) -> Iterator[str]:
    """Yield what became of commands of a line, in words, with the folder that the line went to for them."""
    named = {word for command in _NAMED.findall(note.text) for word in command.split()}
    went = f"cd {folder_of(ran.line)}"
    if went in note.commands:
        yield f"`{_shortened(went, named)}` {'worked' if ran.run.ok else 'failed'}"
    for command in ran.run.commands:
        if command.text not in note.commands:
            continue
        # a message behind git's own words is anybody's
        text = " ".join(command.text.split()[:2]) if command.program == "git" else command.text
        ended = "passed" if command.purpose in CHECKS else "worked"
        if command.outcome == "failed":
            ended = "failed"
        elif not (command.outcome == "succeeded" or command.seems_well):
            ended = f"was run in a line that {'worked' if ran.run.ok else 'failed'}"
        folder = relative_paths(folder_of(ran.line, command.text), ran.cwd)
        where = f" in `{_cut(one_line(folder), _MOST_COMMAND)}`" if folder not in ("", ".") else ""
        yield f"`{_shortened(f'{command.setting} {text}'.strip(), named)}`{where} {ended}"


def _shortened(command: str, named: set[str]) -> str:
    """Return a command, a long one cut, and behind that the words of it that a memory names."""
    line = one_line(command)
    cut = _cut(line, _MOST_COMMAND)
    rest = line[len(cut) - 1 :].split() if cut != line else []
    kept = [word for word in dict.fromkeys(rest) if word in named and word not in cut.split()]
    return f"{cut} {' … '.join(kept)} …" if kept else cut


def _evidence(span: Span, paths: Sequence[Path], quote: str, shows: str) -> Evidence:
    digest = hashlib.sha256(span.raw).hexdigest()
    path = name_to_json(paths[span.part])
    if isinstance(span, RowSpan):
        return Evidence(path, span.record, 0, len(span.raw), digest, quote, shows)
    return Evidence(path, _record_id(span.raw), span.offset, len(span.raw), digest, quote, shows)


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


# Texts that were refused, since they try to steer an agent or are somebody else's words: what, why and where.
#
# Kept as a small file beside the candidates, append-only; nothing reads it but the person, so that no text in it can
# become a memory. Texts are redacted and shortened.

QUARANTINE_FILE = "quarantine.jsonl"
MAX_TEXT = 320


class Quarantined(msgspec.Struct, frozen=True):
    """A text that was refused."""

    session: SessionRef  # where it stood
    record: str  # the client's id of the record, or ""
    at: str  # when it was said, ISO, or ""
    reason: str  # why it was refused
    text: str  # its beginning, in one visible line, without secrets

    @property
    def is_of_others(self) -> bool:
        """Whether it was refused for being somebody else's words, and not for what it says."""
        return self.reason.startswith(_STOOD)


# how the reason begins of what a person typed after it stood elsewhere
_STOOD = "stood in "


def quarantine_of(
    reading: Reading,
    session: SessionRef,
    is_new: Callable[[Meaning], bool],
    hostile: Iterable[Note] = (),
    echoed: Iterable[tuple[Note, str]] = (),
) -> list[Quarantined]:
    """Return what was refused of the words of people and of their answers, and what was refused of others, each once.

    Args:
        reading: the whole session.
        session: where it was found.
        is_new: only what is new is told.
        hostile: notes that were refused because they try to steer an agent; of a message that is told they are a part.
        echoed: what people typed after it stood elsewhere, with who had written it there.
    """
    every: list[tuple[Meaning, str]] = [(said, said.own) for said in reading.said("person")]
    chosen = (item for item in reading.items if isinstance(item, Chosen))
    every += [(item, f"{item.question} {item.answer}") for item in chosen]
    refused = [(item, text, reason) for item, text in every if is_new(item) and (reason := hostile_reason(text))]
    told = {item.order for item, _, _ in refused}
    for note in hostile:
        text, item = (note.quote if is_hostile(note.quote) else note.text), note.items[-1]
        if item.order not in told:
            told.add(item.order)
            refused.append((item, text, hostile_reason(text)))
    refused += [(note.items[-1], note.quote, f"{_STOOD}{by} before somebody typed it") for note, by in echoed]
    return list(dict.fromkeys(_quarantined(session, item, text, reason) for item, text, reason in refused))


def _quarantined(session: SessionRef, item: Meaning, text: str, reason: str) -> Quarantined:
    return Quarantined(session, item.record, iso(item.at) if item.at else "", reason, _short(text))


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= MAX_TEXT else f"{line[: MAX_TEXT - 1]}…"


QUARANTINE = Notes(Quarantined, QUARANTINE_FILE)


def read_quarantine(memory: Path) -> tuple[list[Quarantined], list[Problem]]:
    """Return what was refused so far, oldest first, each once, and what could not be read."""
    every, problems = QUARANTINE.read(memory)
    return list(dict.fromkeys(every)), problems
