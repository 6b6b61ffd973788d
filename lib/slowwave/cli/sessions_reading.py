"""``slowwave sessions show --reading``: a session as extraction and compaction read it, and whose words are in it."""

import argparse
import os
from collections.abc import Iterator
from typing import Any

from slowwave.cli.options import settings_of
from slowwave.cli.output import bold, harmless, say, say_json, tell_damage
from slowwave.cli.sessions_target import Target, opened, readable_session
from slowwave.errors import DONE
from slowwave.reading.items import Chosen, Edited, Failed, Meaning, Ran, Said
from slowwave.reading.session import read
from slowwave.secrets.redactor import redactor_of

_WIDTH = 160


def reading(args: argparse.Namespace) -> int:
    """Print what slowwave reads in a session, in its order, secrets taken out."""
    with readable_session(args, args.id) as target:
        return _tell(args, target)


def _tell(args: argparse.Namespace, target: Target) -> int:
    dialect, files = opened(target.found, args.mode)
    transcript = dialect.read(files)
    redact = redactor_of(settings_of(args), os.environ, create=False)
    found = read(transcript.messages, redact)
    if args.json:
        say_json([{"dialect": transcript.dialect, "session": transcript.files.id, "items": [*map(_form, found.items)]}])
        return DONE
    say(bold(f"{transcript.dialect} {transcript.files.id}" + (f": {transcript.title}" if transcript.title else "")))
    for item in found.items:
        for line in _lines(item):
            say(harmless(line))
    tell_damage([target.told(str(problem)) for problem in transcript.problems])
    return DONE


def _form(item: Meaning) -> dict[str, Any]:
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


def _lines(item: Meaning) -> Iterator[str]:
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
    return words if len(words) <= _WIDTH else words[: _WIDTH - 1] + "\u2026"
