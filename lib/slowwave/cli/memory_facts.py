"""``slowwave memory list|show|why|verify|effect|drop|diff|undo``: memories, their evidence, what dreams changed."""

import argparse
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from slowwave.cli.output import bad, bold, counted, dim, good, harmless, say, say_json, screen_width, warn, wrapped
from slowwave.cli.parser import settings_of
from slowwave.clock import SystemClock
from slowwave.consolidation.orient import changed_by_hand
from slowwave.errors import DONE, PARTLY_FAILED, NotFoundError, RefusedError, UnreadableError
from slowwave.formats.rows import names_row
from slowwave.jobs.choice import memory_folders
from slowwave.memory.book import Book, Memory, read_book
from slowwave.memory.candidates import FILE
from slowwave.memory.everywhere import NAME
from slowwave.memory.evidence import Checked, check_all
from slowwave.memory.folder import MemoryFolder, named
from slowwave.memory.foreign import ForeignLine, Source, known_lines
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.ledger import Writer, read_ledger
from slowwave.memory.model import iso
from slowwave.memory.said import said_at
from slowwave.memory.standing import Standing, standing_of
from slowwave.memory.transaction import recover
from slowwave.memory.verify import totals, verify
from slowwave.moments import moment
from slowwave.observability.learned import short_names
from slowwave.places import agent_around, archive_folder
from slowwave.secrets.key import redactor_of
from slowwave.secrets.redactor import Redactor

# what becomes of a memory, as every other screen calls it
_STATUS = {"superseded": "replaced", "removed-by-person": "you took it out", "edited-by-person": "you reworded it"}
_HOW = "slowwave memory why ID tells where one comes from; slowwave memory drop ID takes one out"
NOBODY: tuple[Writer, Source | None] = ("person", None)


def show_list(args: argparse.Namespace) -> int:
    """Print every memory by project; ``--json`` prints one object a line, also for those that no longer hold."""
    at = iso(moment("--at", args.at, SystemClock().now())) if args.at is not None else ""
    names = short_names(folder.project for folder in args.folders)
    every: list[list[str]] = []
    for folder in args.folders:
        book = read_book(folder.path)
        memories = [m for m in book.memories.values() if _is_listed(m, args, at)]
        notes = _notes(folder, book, args)
        if args.json:
            standing = standing_of(book, settings_of(args).consolidation.half_lives)
            say_json(row_of(folder, memory, at, standing) | _by_hand(memory, notes) for memory in memories)
            say_json(foreign_rows(folder) if args.foreign else ())
        else:
            foreign = foreign_of(folder) if args.foreign else []
            every.append(_lines_of(names[folder.project], memories, foreign, notes))
    if args.json:
        return DONE
    for number, lines in enumerate(filter(None, every)):
        for line in ["", *lines] if number else lines:
            say(line)
    if any(every):
        say("")
        for line in wrapped(_HOW, rest="  ", width=screen_width(), draw=dim):
            say(line)
    else:
        nothing = "Nothing is remembered yet: slowwave run nightly --force makes a first dream."
        say(f"Nothing that is remembered held at {at}." if at else nothing)
    return DONE


def _notes(folder: MemoryFolder, book: Book, args: argparse.Namespace) -> dict[str, str]:
    return changed_by_hand(folder.path, book, settings_of(args).consolidation.max_loss)


def _by_hand(memory: Memory, notes: Mapping[str, str]) -> dict[str, str]:
    return {"by_hand": notes[memory.id]} if memory.id in notes else {}


def _lines_of(
    name: str, memories: Sequence[Memory], foreign: Sequence[tuple[ForeignLine, str]], notes: Mapping[str, str]
) -> list[str]:
    """Return the memories of a project and the lines of others; at a terminal none is longer than it is wide."""
    if not memories and not foreign:
        return []
    others = f", {counted(len(foreign), 'line')} of others" if foreign else ""
    rows = [(_about(memory), f"{harmless(memory.text)}{_mark(memory, notes)}") for memory in memories]
    rows += [(f"{'-':<12}   --  {writer:<10}  ", f"{harmless(line.text)} [{line.file}]") for line, writer in foreign]
    found = [bold(f"{name}: {counted(len(memories), 'memory', 'memories')}{others}")]
    for about, text in rows:
        first = f"  {about}"
        found += wrapped(text, first=first, rest=" " * len(first), width=screen_width(), draw=dim)
    return found


def foreign_of(folder: MemoryFolder) -> list[tuple[ForeignLine, str]]:
    """Return the lines of a memory folder that are no entries, and who wrote them; unknown ones are a person's."""
    return [(line, _writer(*known.first) if known else "unknown") for line, known in known_lines(folder.path)]


def _writer(writer: Writer, source: Source | None) -> str:
    return writer if source else "unknown"


def foreign_rows(folder: MemoryFolder) -> Iterator[dict[str, Any]]:
    """Yield the lines that slowwave did not write as rows like those of memories, with status ``foreign``."""
    for line, known in known_lines(folder.path):
        writer, source = known.first if known else NOBODY
        yield {
            "id": f"f{line.key[:11]}",
            "category": None,
            "text": line.text,
            "confidence": None,
            "file": str(folder.path / line.file),
            "status": "foreign",
            "valid_from": known.noticed if known else None,
            "valid_to": None,
            "evidence": [],
            "project": folder.project,
            "written_by": _writer(writer, source),
            "source": msgspec.to_builtins(source) if source else None,
        }


def _is_listed(memory: Memory, args: argparse.Namespace, at: str) -> bool:
    if memory.is_retraction:
        return bool(args.all)
    return memory.held_at(at) if at else memory.status == "active" or args.all or args.json


def show_one(args: argparse.Namespace) -> int:
    """Print all that is known about one memory."""
    folder, memory = _found(args)
    row = row_of(folder, memory) | _by_hand(memory, _notes(folder, read_book(folder.path), args)) | _details(memory)
    if args.json:
        say_json([row])
        return DONE
    row["held"] = _held(memory)
    if memory.status != "active":
        del row["file"]  # its line is in none
    for name, value in row.items():
        if value and name not in {"evidence", "sightings"}:
            say(f"{name.replace('_', ' '):<12} {_STATUS.get(value, value) if name == 'status' else value}")
    say(f"{'evidence':<12} {len(memory.evidence)} pieces; slowwave memory why {memory.id} shows them")
    if memory.status == "active":
        say(f"{'drop':<12} slowwave memory drop {memory.id} takes it out")
    return DONE


def show_why(args: argparse.Namespace) -> int:
    """Print why something is remembered: evidence, sessions, events."""
    folder, memory = _found(args)
    redact = redactor_of(settings_of(args), os.environ, create=False)
    evidence = [_evidence(c, redact) for c in check_all(memory.evidence, folder.transcripts)]
    events = [e for e in read_ledger(folder.path) if memory.id in {e.memory, e.successor}]
    if args.json:
        row = row_of(folder, memory) | _details(memory)
        say_json([row | {"evidence": evidence, "events": [msgspec.to_builtins(e) for e in events]}])
        return DONE
    for line in _why(memory, evidence, _notes(folder, read_book(folder.path), args)):
        say(line)
    for event in events:
        what = event.event if event.memory == memory.id else f"takes the place of {event.memory}"
        say(f"  {event.at}  {what}  dream {event.dream}  {event.reason}".rstrip())
    if memory.status == "active":
        say(f"slowwave memory drop {memory.id} takes it out")
    return DONE


def show_verified(args: argparse.Namespace) -> int:
    """Read the evidence of every memory again; code 6 when some no longer proves its memory."""
    results = [(f, v) for f in args.folders for v in verify(read_book(f.path).active, f.transcripts)]
    numbers = totals(v for _, v in results)
    problems = [
        {"id": v.memory.id, "text": v.memory.text, "finding": c.finding, "path": c.path}
        for _, v in results
        for c in v.evidence
        if c.finding in {"changed", "lost"}
    ]
    if args.json:
        say_json([{**numbers, "problems": problems}])
    else:
        say(", ".join(f"{name} {number}" for name, number in numbers.items()))
        for problem in problems:
            say(f"  {problem['id']}  {problem['finding']}: {problem['path']}  {problem['text']}")
    return PARTLY_FAILED if problems else DONE


def _found(args: argparse.Namespace) -> tuple[MemoryFolder, Memory]:
    def has(folder: MemoryFolder) -> Memory | None:
        memories = read_book(folder.path).memories
        if args.id in memories:
            return memories[args.id]
        like = [m for i, m in memories.items() if args.id and i.startswith(args.id)]
        return like[0] if len(like) == 1 else None

    return the_one(args.folders, f"memory {args.id}", has)


def row_of(folder: MemoryFolder, memory: Memory, at: str = "", standing: Standing | None = None) -> dict[str, Any]:
    """Return the fields that other programs rely on, and more.

    ``valid_from`` and ``valid_to`` are those of the last interval in which it held, or of the one that ``at`` lies in;
    ``held`` has all of them. ``standing`` adds what is left of the confidence today.
    """
    begin, end = next((s for s in memory.held if at and s[0] <= at and (not s[1] or at < s[1])), memory.held[-1])
    more = {"confidence_today": standing.confidence(memory)} if standing else {}
    return {
        "id": memory.id,
        "category": memory.category,
        "text": memory.text,
        "confidence": memory.confidence,
        "file": str(folder.path / memory.place),
        "status": memory.status,
        "valid_from": begin or None,
        "valid_to": end or None,
        "evidence": [msgspec.to_builtins(e) for e in memory.evidence],
        "project": folder.project,
        "written_by": memory.writer,
        "held": [{"from": begin or None, "to": end or None} for begin, end in memory.held],
        **more,
    }


def _details(memory: Memory) -> dict[str, Any]:
    return {
        "key": memory.key,
        "value": memory.value,
        "successor": memory.successor,
        "candidates": list(memory.candidates),
        "sightings": [msgspec.to_builtins(s) for s in memory.sightings],
    }


def _evidence(checked: Checked, redact: Redactor) -> dict[str, Any]:
    evidence = checked.evidence
    return {
        **msgspec.to_builtins(evidence),
        "finding": checked.finding,
        "archived": checked.is_archived,
        "found": checked.path,
        "offset_found": checked.offset if checked.offset >= 0 else evidence.offset,
        "said": said_at(checked, redact),
    }


def _held(memory: Memory) -> str:
    return ", ".join(f"{begin or 'ever'} to {end or 'now'}" for begin, end in memory.held)


def _why(memory: Memory, evidence: list[dict[str, Any]], notes: Mapping[str, str]) -> Iterator[str]:
    first = _about(memory)
    text = f"{harmless(memory.text)}{_mark(memory, notes)}"
    yield from wrapped(text, first=first, rest=" " * len(first), width=screen_width())
    yield f"  {_STATUS.get(memory.status, memory.status)}, true from {_held(memory)}"
    yield f"Said in {counted(len({(s.dialect, s.session) for s in memory.sightings}), 'session')}:"
    for sighting in memory.sightings:
        yield f"  {sighting.observed_at}  {sighting.dialect} {sighting.session}  {sighting.origin}"
    yield "Evidence:"
    for item in evidence:
        place = f"row {item['record']}" if names_row(item["record"]) else f"at byte {item['offset_found']}"
        finding = f"{item['finding']}, archived" if item["archived"] else item["finding"]
        yield f"  {finding:<8} {item['found']} {place}"
        yield f'           "{harmless(item.get("quote", ""))}"'
        for line in item["said"].splitlines():
            yield f"           > {harmless(line)}"
    yield "Events:"


def _about(memory: Memory) -> str:
    return f"{memory.id}  {memory.confidence:>4.0%}  {memory.category:<10}  "


def _mark(memory: Memory, notes: Mapping[str, str]) -> str:
    """Return what is told of a memory that is over, that slowwave did not write, or whose line somebody changed."""
    whose = f" [{memory.writer}, {memory.file}]" if memory.stands else ""
    whose += f" [{notes[memory.id]}]" if memory.id in notes else ""
    return whose + ("" if memory.status == "active" else f" [{_STATUS.get(memory.status, memory.status)}]")


if TYPE_CHECKING:
    from slowwave.memory.effects import Case, Effect

T = TypeVar("T")


def chosen(args: argparse.Namespace) -> list[MemoryFolder]:
    """Return the memory folders that ``--memory``, ``--store`` and ``--project`` choose and that exist.

    What a killed run left behind in them is settled first.

    Raises:
        UnreadableError: the folder is missing or a store cannot be read.
        NotFoundError: no project matches.
    """
    folders = [_given(args.memory)] if args.memory else memory_folders(settings_of(args), os.environ, args.project)
    for folder in folders:
        recover(folder.path)
    return folders


def _given(path: Path) -> MemoryFolder:
    path = path.expanduser().resolve()
    if path.name != "memory" and (path / "memory").is_dir():
        path = path / "memory"
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise UnreadableError(path, what, "name a memory folder, the one with MEMORY.md in it")
    is_global = (path / OWN_FOLDER / FILE).is_file() and path.name == NAME
    archive = archive_folder(os.environ)
    return MemoryFolder(NAME if is_global else path.parent.name, path, (path.parent, archive), is_global=is_global)


def the_one(
    folders: Sequence[MemoryFolder], name: str, has: Callable[[MemoryFolder], T | None]
) -> tuple[MemoryFolder, T]:
    """Return the folder that has something, and what it has.

    Raises:
        NotFoundError: none has it; ``name`` says what was looked for.
    """
    for folder in folders:
        found = has(folder)
        if found:
            return folder, found
    raise NotFoundError(f"no {name} in {named(folders)}; slowwave memory list shows what is there")


_ORDER = ("broken", "followed", "no occasion", "told")


def show_effect(args: argparse.Namespace) -> int:
    """Print what became of each memory since it was delivered, what was broken first, and where."""
    from slowwave.memory.effects import effects_of  # noqa: PLC0415 - a list needs none of it

    total: Counter[str] = Counter()
    names = short_names(folder.project for folder in args.folders)
    for folder in args.folders:
        book = read_book(folder.path)
        effects = effects_of(book.memories.values(), book.watched)
        for name in sorted(effects, key=lambda n: (_ORDER.index(effects[n].verdict), -effects[n].sessions, n)):
            effect, memory = effects[name], book.memories[name]
            total[effect.verdict] += 1
            if args.json:
                say_json([_row_of_effect(effect) | row_of(folder, memory)])
            elif effect.verdict != "told":
                first, text = f"{memory.id}  {effect.verdict:<11}  ", f"{memory.text} [{names[folder.project]}]"
                draw = bad if effect.verdict == "broken" else good if effect.verdict == "followed" else dim
                for line in wrapped(text, first=first, rest=" " * len(first), width=screen_width(), draw=draw):
                    say(line)
                for line in _lines_of_effect(effect):
                    say(f"              {line}")
    if not args.json:
        say(
            f"Since they were delivered: {total['followed']} followed, {total['broken']} broken, "
            f"{total['no occasion']} without an occasion; {total['told']} more show in no command and no edit"
        )
    return DONE


def _row_of_effect(effect: "Effect") -> dict[str, Any]:
    return {
        "verdict": effect.verdict,
        "delivered_to": effect.sessions,
        "followed": [_case(case) for case in effect.followed],
        "broken": [_case(case) for case in effect.broken],
        "idle": effect.idle,
        "idle_since": effect.since,
    }


def _case(case: "Case") -> dict[str, Any]:
    of = case.session
    said = {"said_again": True} if case.is_said_again else {}
    return {"dialect": of.dialect, "session": of.session, "began": of.began, "record": case.record} | said


def _lines_of_effect(effect: "Effect") -> list[str]:
    """Return what is told of one memory beside its verdict, in lines."""
    lines = [f"delivered to {counted(effect.sessions, 'session')}, followed in {len(effect.followed)}"]
    for case in effect.broken:
        where = f", record {harmless(case.record)}" if case.record else ""
        again = ": had to be said again" if case.is_said_again else ""
        lines.append(
            f"broken in {case.session.dialect} {harmless(case.session.session)}, {case.session.began}{where}{again}"
        )
    return lines


def show_diff(args: argparse.Namespace) -> int:
    """Print what a dream changed, file by file."""
    from slowwave.memory.difference import difference  # noqa: PLC0415 - a list needs none of it
    from slowwave.memory.stage import read_manifest  # noqa: PLC0415 - as above

    folder, manifest = the_one(args.folders, f"dream {args.dream}", lambda f: read_manifest(f.path, args.dream))
    text = difference(folder.path, args.dream)
    if args.json:
        files = {name: {"before": was, "after": now} for name, (was, now) in manifest.files.items()}
        say_json([{"dream": args.dream, "memory": str(folder.path), "files": files, "diff": text}])
    else:
        say(text.removesuffix("\n"))
    return DONE


def take_back(args: argparse.Namespace) -> int:
    """Undo a dream and all later ones, or what was decided in review."""
    from slowwave.jobs.review import Desk  # noqa: PLC0415 - a list needs none of it

    undone = Desk(args.folders, settings_of(args), os.environ, SystemClock()).take_back(args.dream, force=args.force)
    for warning in undone.warnings:
        warn(warning)
    if args.json:
        say_json([undone])
    else:
        say(undone.text)
    return DONE


def drop(args: argparse.Namespace) -> int:
    """Take memories out at once, for good."""
    from slowwave.jobs.review import Desk  # noqa: PLC0415 - a list needs none of it

    if agent := agent_around(os.environ):
        raise RefusedError(f"slowwave memory drop: a person decides, and {agent} runs this; use a terminal of your own")
    done = Desk(args.folders, settings_of(args), os.environ, SystemClock()).drop(args.id)
    for warning in (warning for one in done for warning in one.warnings):
        warn(warning)
    if args.json:
        say_json(msgspec.to_builtins(one) for one in done)
        return DONE
    for one in done:
        for text in one.texts:
            for line in wrapped(f"Taken out: {text}", rest="  ", width=screen_width()):
                say(line)
    say("No agent is given this any more, and no session brings it back. To have it again:")
    for one in done:
        say(f"  slowwave memory undo {one.id}")
    return DONE
