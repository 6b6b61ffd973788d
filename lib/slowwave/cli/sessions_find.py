"""``slowwave sessions list|search|text``: which sessions there are, and what was said in them."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import to_builtins

from slowwave.cli.terminal import (
    bold,
    dim,
    say,
    say_json,
    screen_width,
    settings_of,
    short_time,
    shortened,
    tell_damage,
    warn,
    wrapped,
)
from slowwave.context import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED, UnreadableError, UsageError
from slowwave.files import archive_folder
from slowwave.formats import Problem
from slowwave.formats.registry import NAMES
from slowwave.quantities import counted, moment
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.discovery import Listing, Wanted, list_sessions
from slowwave.stores.projects import chosen_by, short_names
from slowwave.stores.roots import ClientFacts
from slowwave.stores.summary import SessionRow, ShownRow

if TYPE_CHECKING:
    from slowwave.formats.messages import Words
    from slowwave.stores.archive.shelf import Shelved
    from slowwave.stores.search import Hit


_MOST_PROBLEMS = 5


def list_all(args: argparse.Namespace) -> int:
    """Print every session under the stores."""
    wanted = _wanted_by(args, text=args.text)
    settings = settings_of(args)
    with own_catalogue(settings, os.environ) as catalogue:
        listing = list_sessions(settings, os.environ, catalogue)
        for warning in catalogue.warnings:
            warn(warning)
    rows = chosen_by(args.project, listing.rows, lambda row: (row.project, row.cwd))
    rows = wanted.of(rows)
    everything = args.json or args.all or args.kind == "subagent"
    shown = rows if everything else [row for row in rows if row.kind != "subagent"]
    shown, more = shown[: args.limit], len(shown)
    if args.json:
        say_json(_forms(shown))
    else:
        _print_rows(shown, more - len(shown), len(rows) - more)
    _tell_problems(listing)
    return DONE


def _forms(rows: Sequence[SessionRow]) -> Iterator[object]:
    """Yield the rows as they are printed, with what their client notes of them where it notes something."""
    facts = ClientFacts()
    for row in rows:
        told = facts.of(row.dialect, row.path, row.id)
        yield to_builtins(ShownRow.of(row)) | {"client": told} if told else ShownRow.of(row)


def _print_rows(rows: Sequence[SessionRow], older: int, hidden: int) -> None:
    names = short_names(row.project for row in rows)
    project = ""
    for row in sorted(rows, key=lambda row: row.project):
        if row.project != project:
            project = row.project
            say(bold(names[project]))
        parts = f", {row.parts} parts" if row.parts > 1 else ""
        bad = f", {counted(row.bad_lines, 'damaged line')}" if row.bad_lines else ""
        kind = "" if row.kind == "main" else f" {row.kind}"
        size = f"{counted(row.messages, 'message')}, {_size(row.bytes)}{parts}{bad}"
        say(f"  {row.id}  {short_time(row.last_activity)}  {dim(f'{row.dialect}{kind}  {size}')}")
        for line in _title_of(row, 6):
            say(line)
    more = f", and {older} older (--limit)" if older else ""
    more += f", and {hidden} of sub-agents (--all shows them)" if hidden else ""
    say(f"{counted(len(rows), 'session')}{more}")


def _title_of(row: SessionRow, indent: int) -> list[str]:
    """Return what a session is about; of a first prompt its beginning, or where a program reads, the whole of it."""
    text = row.title or row.first_prompt
    wide = screen_width()
    return [" " * indent + shortened(text, wide - indent if wide else 0)] if text else []


def _tell_problems(listing: Listing) -> None:
    if listing.problems:
        counts = Counter(problem.kind for problem in listing.problems)
        warn("left out: " + ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())))
        for problem in listing.problems[:_MOST_PROBLEMS]:
            warn(f"  {problem}")
        if len(listing.problems) > _MOST_PROBLEMS:
            warn(f"  and {len(listing.problems) - _MOST_PROBLEMS} more")


def _size(number: int) -> str:
    size = float(number)
    for unit in ("B", "kB", "MB"):
        if size < 1000:  # noqa: PLR2004 - decimal units
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _wanted_by(args: argparse.Namespace, *, text: str = "") -> Wanted:
    """Return the filters that were given, checked before anything is read."""
    if args.dialect and args.dialect not in NAMES:
        raise UsageError(f"unknown dialect {args.dialect!r}: write one of {', '.join(NAMES)}")
    now = SystemClock().now()
    since = None if args.since is None else moment("--since", args.since, now)
    until = None if args.until is None else moment("--until", args.until, now, ends=True)
    if since is not None and until is not None and since > until:
        raise UsageError(f"--since {args.since!r} is after --until {args.until!r}: nothing can be between them")
    return Wanted(args.dialect, args.kind, text, since, until)


# What is read before a search can answer; from here on the wait is worth a word.
_LONG_READ = 64 << 20


def find(args: argparse.Namespace) -> int:
    """Print the sessions that fit the words best, the best first."""
    from slowwave.stores.search import found_sessions  # noqa: PLC0415 - as above
    from slowwave.stores.search.words import MOST_WORDS, terms_of  # noqa: PLC0415 - as above

    wanted = _wanted_by(args)
    terms, cut = terms_of(" ".join(args.query))
    if cut:
        warn(f"the query is long: only its first {MOST_WORDS} words count")

    def among(rows: Sequence[SessionRow]) -> list[SessionRow]:
        asked = wanted.of(chosen_by(args.project, rows, lambda row: (row.project, row.cwd)))
        return [row for row in asked if args.all or args.kind == "subagent" or row.kind != "subagent"]

    found = found_sessions(settings_of(args), os.environ, terms, among, args.limit, everything=args.all, say=_announce)
    if found.erased:
        warn(f"{counted(found.erased, 'session')} blocked: erased on request, and there again; not searched")
    for warning in dict.fromkeys(found.warnings):
        warn(warning)
    if args.json:
        say_json(map(_form_of_hit, found.hits))
    else:
        _print_hits(found.hits, found.among)
    return DONE


def _announce(waiting: int) -> None:
    if waiting > _LONG_READ:
        warn(f"sessions of {waiting / 1e6:,.0f} MB are new or have changed, and are read first")


def _form_of_hit(hit: "Hit") -> dict[str, Any]:
    said = hit.said
    found = {
        "score": float(f"{hit.score:.6g}"),
        "snippet": hit.snippet,
        "message": said.id if said else None,
        "role": said.role if said else None,
        "time": (said.at or None) if said else None,
        "field": said.field if said else "title",
    }
    return found | msgspec.to_builtins(ShownRow.of(hit.row))


def _print_hits(hits: "Sequence[Hit]", among: int) -> None:
    for hit in hits:
        row, said = hit.row, hit.said
        say(f"{hit.score:6.2f}  {row.id}  {short_time(row.last_activity)}  {dim(f'{row.dialect}  {row.project}')}")
        for line in _title_of(row, 8):
            say(bold(line))
        where = " ".join(filter(None, (said.role, short_time(said.at), said.id))) if said else "title"
        say(dim(f"        {where}:"))
        for line in wrapped(hit.snippet, first=" " * 10, rest=" " * 10, width=screen_width()):
            say(line)
    say(f"{counted(len(hits), 'session')} of {among}")


_SUFFIX = ".jsonl"
# So many messages are printed at once: one write each would cost more than reading them.
_BATCH = 2000


def text(args: argparse.Namespace) -> int:
    """Print the words of every message in the files and folders named on the command line."""
    from slowwave.formats.messages import words_in  # noqa: PLC0415 - only here

    problems: list[Problem] = []
    failed = 0
    paths = [Path(name).expanduser() for name in args.path]
    packed = _archived_below(paths) if archive_folder(os.environ).is_dir() else {}
    for path in _files([path for path in paths if path.absolute() not in packed]):
        try:
            _print_words(path, words_in(path, problems), as_json=args.json)
        except UnreadableError as error:
            failed += 1
            warn(str(error))
    failed += _print_archived(packed, problems, as_json=args.json) if packed else 0
    tell_damage(problems)
    return PARTLY_FAILED if failed else DONE


def _archived_below(paths: list[Path]) -> "dict[Path, Shelved]":
    """Return the archived transcripts that are named, or lay in a folder that is, and are not in their place."""
    from slowwave.stores.archive.shelf import Shelf  # noqa: PLC0415 - most people archived nothing yet

    named = {os.fspath(path.absolute()) for path in paths}
    folders = tuple(f"{name}/" for name in named)
    shelf = Shelf(archive_folder(os.environ))
    found = {
        Path(file.path): one
        for one in shelf.latest()
        for file in one.session.files
        if file.kind == "file"
        and (file.path in named or (file.path.startswith(folders) and file.path.endswith(_SUFFIX)))
        and not os.path.lexists(file.path)
    }
    for problem in shelf.problems:
        warn(str(problem))
    return dict(sorted(found.items()))


def _print_archived(packed: "dict[Path, Shelved]", problems: list[Problem], *, as_json: bool) -> int:
    """Print the words of archived transcripts; return how many could not be read."""
    from slowwave.formats.messages import words_in  # noqa: PLC0415 - only here
    from slowwave.stores.archive import laid_out_file  # noqa: PLC0415 - as above

    failed = 0
    for path, one in packed.items():
        found: list[Problem] = []
        try:
            with laid_out_file(one, path, os.environ) as there:
                _print_words(path, words_in(there, found), as_json=as_json)
        except UnreadableError as error:
            failed += 1
            warn(str(error))
        problems += [msgspec.structs.replace(problem, path=path) for problem in found]
    return failed


def _files(paths: list[Path]) -> Iterator[Path]:
    """Yield the files, and of folders every transcript in them and below, by name."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders.sort()
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(_SUFFIX))


def _print_words(path: Path, words: "Iterator[Words]", *, as_json: bool) -> None:
    sys.stdout.flush()
    out = sys.stdout.buffer
    name = os.fsencode(path).decode("utf-8", "backslashreplace")
    encode = msgspec.json.Encoder().encode
    while batch := list(islice(words, _BATCH)):
        if as_json:
            lines = [encode({"path": name, "role": one.role, "text": one.text}) for one in batch]
            out.write(b"\n".join(lines) + b"\n")
        else:
            out.write("".join([f"{one.text}\n" for one in batch]).encode("utf-8", "replace"))
