"""``slowwave sessions show --reading|--compactions``: how a session is read, and what each compaction of it did."""

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.cli.sessions_context import Target, opened, readable_session
from slowwave.cli.sessions_write import stored_session
from slowwave.cli.terminal import bold, harmless, say, say_json, screen_width, settings_of, tell_damage
from slowwave.compaction.append import as_it_stands, is_open
from slowwave.compaction.book import Appended, Condition, conditions, folder_of, read_book
from slowwave.compaction.items import read_session
from slowwave.compaction.plan import due
from slowwave.errors import DONE, UsageError
from slowwave.formats import Message, SessionFiles
from slowwave.formats.sessions import StoredSession
from slowwave.reading import Chosen, Edited, Failed, Meaning, Ran, Said
from slowwave.reading.session import read
from slowwave.secrets import redactor_of
from slowwave.settings import CompactionSettings

_WIDTH_OF_WORDS = 160


def reading(args: argparse.Namespace) -> int:
    """Print what slowwave reads in a session, in its order, secrets taken out."""
    with readable_session(args, args.id) as target:
        return _tell_reading(args, target)


def _tell_reading(args: argparse.Namespace, target: Target) -> int:
    dialect, files = opened(target.found, args.mode)
    transcript = dialect.read(files)
    redact = redactor_of(settings_of(args), os.environ, create=False)
    found = read(transcript.messages, redact)
    if args.json:
        say_json(
            [{"dialect": transcript.dialect, "session": transcript.files.id, "items": [*map(_form_read, found.items)]}]
        )
        return DONE
    say(bold(f"{transcript.dialect} {transcript.files.id}" + (f": {transcript.title}" if transcript.title else "")))
    for item in found.items:
        for line in _lines_read(item):
            say(harmless(line))
    tell_damage([target.told(str(problem)) for problem in transcript.problems])
    return DONE


def _form_read(item: Meaning) -> dict[str, Any]:
    places = [{"part": span.part, "offset": span.offset, "length": len(span.raw)} for span in item.sources]
    form: dict[str, Any] = {"at": item.at.isoformat() if item.at else None, "record": item.record, "sources": places}
    match item:
        case Said():
            parts = [{"text": part.text, "pasted": part.is_pasted} for part in item.parts]
            return form | {"kind": "said", "speaker": item.speaker, "channel": item.channel, "parts": parts,
                           "last": item.is_last, "refused": item.refused}  # fmt: skip
        case Chosen():
            options = [{"label": option.label, "description": option.description} for option in item.options]
            return form | {"kind": "chosen", "question": item.question, "options": options, "answer": item.answer}
        case Ran():
            proven = [{"command": c.text, "purpose": c.purpose, "outcome": c.outcome} for c in item.run.commands]
            return form | {
                "kind": "ran",
                "line": item.line,
                "code": item.run.code,
                "proven": proven,
                "cause": item.cause,
            }
        case Failed():
            return form | {"kind": "failed", "tool": item.tool, "error": item.error}
        case Edited():
            return form | {"kind": "edited", "path": item.path}


def _lines_read(item: Meaning) -> Iterator[str]:
    match item:
        case Said():
            channel = "" if item.channel == "typed" else f" ({item.channel})"
            for part in item.parts:
                yield f"{item.speaker}{channel}{' pasted' if part.is_pasted else ''}: {_short(part.text)}"
            if item.refused:
                yield f"  instead of: {_short(item.refused)}"
        case Chosen():
            yield f"person chose: {_short(item.question)} \u2192 {_short(item.answer)}"
        case Ran():
            for command in item.run.commands:
                yield f"  {command.outcome}: {_short(command.text)}" + (
                    f"  [{command.purpose}]" if command.purpose else ""
                )
            if item.cause:
                yield f"    because: {_short(item.cause)}"
        case Failed():
            yield f"  failed: {item.tool}: {_short(item.error)}"
        case Edited():
            yield f"  edited: {item.path}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _WIDTH_OF_WORDS or not screen_width() else words[: _WIDTH_OF_WORDS - 1] + "\u2026"


_MOST_LOST = 20
_MOST_RANGES = 20
_CONDITIONS: dict[Condition, str] = {
    "intact": "intact",
    "changed": "changed since or gone",
    "unknown": "not checked: no digest was noted",
}
_WIDTH = 100


class _Row(NamedTuple):
    """One summary of a session, and what slowwave knows of it; nothing of one that its client made."""

    message: Message | None
    done: Appended | None

    @property
    def offset(self) -> int:
        """Where it stands in its file."""
        if self.message is not None and self.message.sources:
            return self.message.sources[0].offset
        return self.done.before or 0 if self.done is not None else 0

    def form(self) -> dict[str, Any]:
        """Return it as JSON."""
        message, done = self
        stamp = message.timestamp if message is not None else None
        form: dict[str, Any] = {
            "message": message.id if message is not None else None,
            "by": "client" if done is None else "person" if done.source == "person" else "slowwave",
            "timestamp": stamp.isoformat() if stamp is not None else None,
            "characters": len(message.text) if message is not None else None,
        }
        return form if done is None else form | msgspec.to_builtins(done)

    def checked_form(self, paths: Sequence[Path]) -> dict[str, Any]:
        """Return it as JSON; each range of bytes tells whether what was summarised can be read back there."""
        form = self.form()
        if self.done is None:
            return form
        ranges = zip(self.done.dropped, conditions(paths, self.done.dropped), strict=True)
        return form | {"dropped": [one._asdict() | {"condition": condition} for one, condition in ranges]}


def compactions(args: argparse.Namespace) -> int:
    """Explain every compaction of a session: those that slowwave appended with all that it knows, and its client's."""
    with readable_session(args, args.id) as target:
        return _compactions(args, target)


def _compactions(args: argparse.Namespace, target: Target) -> int:
    session = stored_session(target.found)
    dialect, files = opened(target.found)
    book = read_book(folder_of(os.environ), session.id, session.dialect, Path(target.path))
    if is_open(book) and not target.base:
        as_it_stands(book, session)
    summaries = [message for message in dialect.read(files).messages if message.origin == "summary"]
    own = {done.before for done in book.compactions if done.source == "prune"}
    summaries = [m for m in summaries if m.text or not own.intersection(span.offset for span in m.sources)]
    rows = _with_prunings(_rows(summaries, book.compactions), book.compactions)
    size = _size(session, settings_of(args).compaction)
    if args.json:
        stopped = book.error if book.is_stopped else ""
        forms = [row.checked_form(files.paths) for row in rows]
        say_json([{"session": session.id, "context": size, "stopped": stopped, "compactions": forms}])
        return DONE
    say(f"now: {size}")
    for row in rows:
        for line in _lines_of(row, files):
            say(target.told(line))
    if not rows:
        say("no compactions")
    if book.is_stopped:
        again = f"`slowwave sessions compact {session.id}` tries again"
        say(f"stopped after {book.failures} failures in a row: {book.error}; {again}")
    return DONE


def _size(session: StoredSession, settings: CompactionSettings) -> str:
    """Return how large the context is now, beside its limit."""
    try:
        found = due(read_session(session.dialect, session.files), settings, soft=0)
    except UsageError as error:
        return f"its size cannot be told: {error}"
    return found.reason if found.level == "ok" else f"{found.reason} ({found.level})"


def _rows(summaries: Sequence[Message], known: Sequence[Appended]) -> list[_Row]:
    """Return every summary with what is known of it; where summaries have no ids, ours are the last ones."""
    by_id = {done.message: done for done in known if done.message}
    rows = [_Row(message, by_id.pop(message.id or "", None)) for message in summaries]
    rest = [done for done in known if done.source != "prune" and (done.message in by_id or not done.message)]
    free = [
        at for at, row in enumerate(rows) if row.done is None and row.message is not None and row.message.id is None
    ]
    for done in reversed(rest):
        if free:
            at = free.pop()
            rows[at] = rows[at]._replace(done=done)
        else:
            rows.append(_Row(None, done))
    return rows


def _with_prunings(rows: Sequence[_Row], known: Sequence[Appended]) -> list[_Row]:
    """Return summaries and prunings in the order in which they were appended; only Codex, with one file, has both."""
    prunings = [done for done in known if done.source == "prune"]
    found = list(rows)
    for done in reversed(prunings):
        before = (at for at, row in enumerate(found) if row.offset >= (done.before or 0))
        found.insert(next(before, len(found)), _Row(None, done))
    return found


def _lines_of(row: _Row, files: SessionFiles) -> Iterator[str]:
    form, done = row.form(), row.done
    if done is not None and done.source == "prune":
        yield bold("outputs of tools cleared by slowwave")
    else:
        size = f", {form['characters']:,} characters" if form["characters"] is not None else ""
        yield bold(f"{form['message'] or '(no id)'}  {form['timestamp'] or ''}  by {form['by']}{size}")
    if done is None:
        return
    yield f"  {done.id}: {done.trigger}"
    yield f"  {done.tokens_before:,} tokens before, about {done.tokens_after:,} after"
    if done.source == "prune":
        yield from (f"  {note}, all {done.kept} messages kept" for note in done.notes)
        yield from _ranges("cleared", done, files)
        return
    stays = f"{done.kept} kept from {done.keep_from}" if done.kept else "none kept"
    if done.source == "person":
        yield "  written by a person"
        return
    yield f"  {done.summarised} messages summarised by the {done.source}, {stays}"
    yield from (f"  {note}" for note in done.notes)
    yield from _proof(done.proof)
    yield from _ranges("summarised", done, files)


def _ranges(what: str, done: Appended, files: SessionFiles) -> Iterator[str]:
    """Tell where that which the client sends no more can be read, and whether it is still there."""
    found = conditions(files.paths, done.dropped)
    counts = Counter(found)
    told = ", ".join(f"{counts[condition]} {_CONDITIONS[condition]}" for condition in _CONDITIONS if counts[condition])
    yield f"  {what}: {sum(one.length for one in done.dropped):,} bytes in {len(found)} ranges: {told or 'none'}"
    shown = sorted(range(len(found)), key=lambda at: found[at] != "changed")[:_MOST_RANGES]
    for at in sorted(shown):
        part, offset, length, _ = done.dropped[at]
        path = files.paths[part] if part < len(files.paths) else f"part {part + 1}, which is gone"
        yield f"    bytes {offset:,} to {offset + length:,} of {path}: {_CONDITIONS[found[at]]}"
    if len(found) > _MOST_RANGES:
        yield f"    and {len(found) - _MOST_RANGES} more (--json shows all)"


def _proof(proof: dict[str, Any]) -> Iterator[str]:
    if not proof:
        return
    kinds = cast("dict[str, dict[str, int]]", proof["kinds"])
    told = ", ".join(f"{kind} {n['kept']} of {n['total']}" for kind, n in kinds.items())
    yield f"  the summary tells {proof['score']:.0%} of what was looked for: {told or 'there was nothing'}"
    lost = cast("list[dict[str, Any]]", proof["lost"])
    for one in lost[:_MOST_LOST]:
        places = ", ".join(f"{p['offset']}+{p['length']}" for p in one["ranges"])
        yield f"    not told: {one['kind']}: {harmless(str(one['text'])[: _WIDTH if screen_width() else None])}" + (
            f" (bytes {places})" if places else ""
        )
    if len(lost) > _MOST_LOST:
        yield f"    and {len(lost) - _MOST_LOST} more (--json shows all)"
