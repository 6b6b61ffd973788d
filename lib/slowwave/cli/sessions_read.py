"""``slowwave sessions list`` and ``show``."""

import argparse
import os
from collections import Counter
from collections.abc import Callable, Sequence

from slowwave.cli.options import settings_of
from slowwave.cli.output import bold, counted, say, say_json, tell_damage, warn
from slowwave.cli.sessions_target import chosen_session, opened
from slowwave.cli.sessions_wanted import wanted_by
from slowwave.dialects.model import Message, Transcript
from slowwave.dialects.normal import normal_form
from slowwave.errors import DONE
from slowwave.jobs.choice import chosen_by
from slowwave.stores.catalogue import Catalogue, catalogue_path
from slowwave.stores.listing import Listing, list_sessions
from slowwave.stores.rows import SessionRow, ShownRow

_MOST_PROBLEMS = 5
_WIDTH = 100


def list_all(args: argparse.Namespace) -> int:
    """Print every session under the stores."""
    wanted = wanted_by(args, text=args.text)
    with Catalogue(catalogue_path(os.environ)) as catalogue:
        listing = list_sessions(settings_of(args), os.environ, catalogue)
        for warning in catalogue.warnings:
            warn(warning)
    rows = chosen_by(args.project, listing.rows, lambda row: (row.project, row.cwd))
    rows = wanted.of(rows)
    everything = args.json or args.all or args.kind == "subagent"
    shown = rows if everything else [row for row in rows if row.kind != "subagent"]
    shown, more = shown[: args.limit], len(shown)
    if args.json:
        say_json(map(ShownRow.of, shown))
    else:
        _print_rows(shown, more - len(shown), len(rows) - more)
    _tell_problems(listing)
    return DONE


def _print_rows(rows: Sequence[SessionRow], older: int, hidden: int) -> None:
    project = ""
    for row in sorted(rows, key=lambda row: row.project):
        if row.project != project:
            project = row.project
            say(bold(project))
        parts = f", {row.parts} parts" if row.parts > 1 else ""
        bad = f", {row.bad_lines} bad lines" if row.bad_lines else ""
        kind = "" if row.kind == "main" else f" {row.kind}"
        size = f"{row.messages} messages, {_size(row.bytes)}{parts}{bad}"
        say(f"  {row.id}  {row.last_activity[:16].replace('T', ' ')}  {row.dialect}{kind}  {size}")
        if row.title or row.first_prompt:
            say(f"      {(row.title or row.first_prompt)[:_WIDTH]}")
    more = f", and {older} older (--limit)" if older else ""
    more += f", and {hidden} of sub-agents (--all shows them)" if hidden else ""
    say(f"{counted(len(rows), 'session')}{more}")


def _tell_problems(listing: Listing) -> None:
    if listing.problems:
        counts = Counter(problem.kind for problem in listing.problems)
        warn("left out: " + ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())))
        for problem in listing.problems[:_MOST_PROBLEMS]:
            warn(f"  {problem}")
        if len(listing.problems) > _MOST_PROBLEMS:
            warn(f"  and {len(listing.problems) - _MOST_PROBLEMS} more")


def show(args: argparse.Namespace) -> int:
    """Print the messages of one session."""
    dialect, files = opened(chosen_session(args, args.id), args.mode)
    transcript = dialect.read(files)
    messages = [m for m in transcript.messages if args.all or (m.active and _is_own(m, transcript))]
    if args.json:
        say_json([_session_form(transcript, messages)])
        return DONE
    say(bold(f"{transcript.dialect} {files.id}" + (f": {transcript.title}" if transcript.title else "")))
    for path in files.paths:
        say(f"  {path}")
    for message in messages:
        _print_message(message)
    tell_damage(transcript.problems)
    return DONE


def _is_own(message: Message, transcript: Transcript) -> bool:
    return not message.sidechain or transcript.kind == "subagent"


def _print_message(message: Message) -> None:
    stamp = message.timestamp.strftime("%Y-%m-%d %H:%M") if message.timestamp else ""
    marks = " ".join(
        mark for mark, is_set in (("abandoned", not message.active), ("sub-agent", message.sidechain)) if is_set
    )
    say(
        bold(
            " ".join(
                part for part in ("\n" + message.role, f"({message.origin})", stamp, marks, message.id or "") if part
            )
        )
    )
    for form in normal_form([message]):
        if "text" in form:
            say(str(form["text"]))
    for call in message.calls:
        say(f"  -> {call.name} {str(call.args)[:_WIDTH]}")
    for result in message.results:
        say(f"  <- {'error: ' if result.is_error else ''}{' '.join(result.text.split())[:_WIDTH]}")


def _session_form(transcript: Transcript, messages: Sequence[Message]) -> dict[str, object]:
    forms: list[dict[str, object]] = []
    for message in messages:
        form: dict[str, object] = {"role": message.role}
        for normal in normal_form([message]):
            form |= normal
        form |= {"origin": message.origin, "id": message.id, "active": message.active, "sidechain": message.sidechain}
        form["timestamp"] = message.timestamp.isoformat() if message.timestamp else None
        forms.append(form)
    return {
        "dialect": transcript.dialect,
        "session": transcript.files.id,
        "kind": transcript.kind,
        "title": transcript.title,
        "paths": [os.fspath(path) for path in transcript.files.paths],
        "records": transcript.records,
        "messages": forms,
        "unknown_types": transcript.unknown_types,
        "problems": [str(problem) for problem in transcript.problems],
    }


def _size(number: int) -> str:
    size = float(number)
    for unit in ("B", "kB", "MB"):
        if size < 1000:  # noqa: PLR2004 - decimal units
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"list": list_all, "show": show}
