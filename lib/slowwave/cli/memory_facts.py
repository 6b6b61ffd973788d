"""``slowwave memory list|show|why|verify``: memories, and their evidence."""

import argparse
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from slowwave.cli.terminal import (
    bold,
    carried,
    dim,
    harmless,
    say,
    say_json,
    screen_width,
    settings_of,
    short_time,
    wrapped,
)
from slowwave.consolidation.gates import noted_of
from slowwave.context import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED, NotFoundError, UnreadableError, several
from slowwave.files import archive_folder
from slowwave.formats.database import names_row
from slowwave.jobs.run import memory_folders
from slowwave.memory import Candidate, Evidence, iso
from slowwave.memory.authors import Authors, read_writes
from slowwave.memory.book import Book, Memory, Standing, read_book, replay, standing_of
from slowwave.memory.candidates import FILE, read_candidates
from slowwave.memory.evidence import Checked, check_all, given_back_at, said_at, said_before, totals, verify
from slowwave.memory.folder import INDEX, NAME, OWN_FOLDER, MemoryFolder, named, read_texts
from slowwave.memory.index import by_heading
from slowwave.memory.ledger import REVIEW, Event, read_ledger, speaker
from slowwave.memory.provenance import ForeignLine, has_gaps, known_lines, read_foreign
from slowwave.memory.transaction import recover
from slowwave.observability.lessons import dreams_of
from slowwave.quantities import counted, in_hundred, moment
from slowwave.secrets import Redactor, redactor_of
from slowwave.stores.projects import short_names

# what becomes of a memory, as every other screen calls it
_NAMES = {"held": "true", "candidates": "noted as", "successor": "replaced by"}
_STATUS = {
    "active": "believed",
    "superseded": "replaced",
    "removed-by-person": "dropped by you",
    "edited-by-person": "reworded by you",
}
# what happened to a memory, by the event of the ledger
_DID = {
    "add": "new",
    "adopt": "taken over as it stood",
    "merge": "seen again",
    "revise": "dated anew",
    "supersede": "replaced",
    "join": "says the same as another one",
    "update": "changed",
    "move": "moved",
    "dispute": "contradicts your words, you are asked",
    "drop": "dropped",
    "rewritten": "reworded by who wrote it",
    "edited-by-person": "reworded by you",
    "removed-by-person": "dropped by you",
    "unindexed-by-person": "taken out of the index by you",
    "share": "shared, or that taken back",
    "reject": "rejected by you",
}
_LIKELY = ((0.9, "almost surely"), (0.6, "probably"), (0.4, "perhaps"), (0.0, "hardly"))
_MOST_LINES = 6
# why there are no words where evidence was
_NO_WORDS = {"changed": "other words stand there now", "lost": "its transcript is gone"}
_INSIDE = f"{'':11}"  # of what stands at a place
_COMMAND = re.compile(r"`([^`]+)`")
# how what a command of evidence shows ends where it failed
_FAILED = re.compile(r"` (?:failed|was run in a line that failed)\b")
_HOW = "slowwave memory why ID{0} tells where one comes from; slowwave memory drop ID{0} drops one"


def show_list(args: argparse.Namespace) -> int:
    """Print every memory by project; ``--json`` prints the same ones, one object a line."""
    at = iso(moment("--at", args.at, SystemClock().now())) if args.at is not None else ""
    names = short_names(folder.project for folder in args.folders)
    every: list[list[str]] = []
    taken_back, is_undone = list[str](), False
    for folder in args.folders:
        book = read_book(folder.path)
        is_undone |= bool(book.undone_dreams)
        memories = [m for m in book.memories.values() if _is_listed(m, args, at)]
        notes = notes_of(folder, book, args)
        if args.json:
            standing = standing_of(book, settings_of(args).consolidation.half_lives)
            say_json(row_of(folder, memory, at, standing) | _by_hand(memory, notes) for memory in memories)
            say_json(foreign_rows(folder) if args.foreign else ())
        else:
            foreign = foreign_of(folder) if args.foreign else []
            every.append(list(_lines_of(names[folder.project], by_heading(memories, book), foreign, notes)))
            if book.undone_dreams and not at:
                taken_back += _taken_back(folder, book, names[folder.project], args)
    if not args.json:
        _say_listed([lines for lines in every if lines], taken_back, args, at, is_undone=is_undone)
    return DONE


def _say_listed(
    every: Sequence[Sequence[str]], taken_back: Sequence[str], args: argparse.Namespace, at: str, *, is_undone: bool
) -> None:
    """Print the memories of each project, what was taken back, and what can be done about one."""
    options = carried(args, with_memory=True)
    is_asked = args.project or len(args.folders) == 1
    pages = [folder.path / INDEX for folder in args.folders] if every and is_asked else []
    where = [f"It stands in {page}" for page in pages if page.exists() or len(pages) == 1]
    parts = [*every, where, [line for told in taken_back for line in wrapped(told, rest="  ", width=screen_width())]]
    parts.append(list(wrapped(_HOW.format(options), rest="  ", width=screen_width(), draw=dim)) if every else [])
    for number, lines in enumerate(filter(None, parts)):
        for line in ["", *lines] if number else lines:
            say(line)
    if any(parts):
        return
    if at:
        say(f"Nothing that is remembered held at {at}.")
    elif is_undone:
        say(
            "Nothing is remembered: a dream was taken back, and what it did is not done again; "
            f"slowwave memory list --foreign{options} shows the lines that stand there."
        )
    else:
        for line in _nothing_in(args.folders, carried(args)):
            say(line)


def _nothing_in(folders: Sequence[MemoryFolder], options: str) -> Iterator[str]:
    """Yield why nothing is remembered, and what can be done about it where anything can."""
    names = short_names(folder.project for folder in folders)
    by_project = {names[f.project]: noted_of(f.path) for f in folders if not f.is_global}
    reasons: dict[str, list[str]] = {}
    for name, noted in by_project.items():
        reasons.setdefault(noted.told, []).append(name)
    yield "Nothing is remembered yet" + ("." if not reasons else ":")
    for reason, projects in reasons.items():
        yield from wrapped(f"{', '.join(projects)}: {reason}", first="  ", rest="    ", width=screen_width())
    every = by_project.values()
    if not every or not all(noted.sessions or noted.facts for noted in every):
        yield f"slowwave run nightly{options} reads a session once it has come to rest."
    if any(noted.backlog for noted in every):
        yield f"slowwave status{options} says when a dream comes; slowwave run nightly --force{options} makes one now."
    if any(noted.undecided and not noted.backlog for noted in every):
        yield f"slowwave review{options} asks you about what waits for you."


def _taken_back(folder: MemoryFolder, book: Book, name: str, args: argparse.Namespace) -> Iterator[str]:
    """Yield what is not remembered any more since somebody took dreams back, and how to have it again."""
    there = {m.text for m in book.active}
    for dream in dreams_of(folder, read_ledger(folder.path)):
        gone = [change for change in dream.changes if change.kind in ("new", "replaced") and change.text not in there]
        if dream.is_undone and gone:
            how = (
                f"it waits in slowwave review{carried(args, with_memory=True)} again"
                if dream.is_by_person
                else "what a session says again, or you write into MEMORY.md, is remembered again"
            )
            much = counted(len(gone), "memory", "memories")
            yield f"{name}: you took {much} back (slowwave nights show {dream.id}{carried(args)}); {how}"


def notes_of(folder: MemoryFolder, book: Book, args: argparse.Namespace) -> dict[str, str]:
    """Return, by memory, what somebody did to its line since the last dream."""
    if not has_gaps(read_texts(folder.path), book):
        return {}
    from slowwave.consolidation.snapshot import changed_by_hand  # noqa: PLC0415 - only where a line is gone

    return changed_by_hand(folder.path, book, settings_of(args).consolidation.max_loss)


def _by_hand(memory: Memory, notes: Mapping[str, str]) -> dict[str, str]:
    return {"by_hand": notes[memory.id]} if memory.id in notes else {}


def _lines_of(
    name: str,
    memories: Mapping[str, Sequence[Memory]],
    foreign: Sequence[tuple[ForeignLine, str]],
    notes: Mapping[str, str],
) -> Iterator[str]:
    """Yield the memories of a project as its pages have them, and the lines of others.

    At a terminal none is longer than it is wide.
    """
    number = sum(map(len, memories.values()))
    if not number and not foreign:
        return
    others = f", {counted(len(foreign), 'line')} of others" if foreign else ""
    yield bold(f"{name}: {counted(number, 'memory', 'memories')}{others}")
    rows = {
        heading: [(memory.id, f"{harmless(memory.text)}{_mark(memory, notes)}") for memory in some]
        for heading, some in memories.items()
    }
    if foreign:
        rows["Lines of others"] = [
            (f"{writer:<12}", f"{harmless(line.text)} [{line.file}]") for line, writer in foreign
        ]
    for heading, some in rows.items():
        yield from [f"  {heading}"] if heading else []
        for about, text in some:
            first = f"    {about}  "
            yield from wrapped(text, first=first, rest=" " * len(first), width=screen_width(), draw=dim)


def foreign_of(folder: MemoryFolder) -> list[tuple[ForeignLine, str]]:
    """Return the lines of a memory folder that are no entries, and who wrote them; unknown ones are a person's."""
    authors = _authors(folder)
    return [(line, authors.of_line(line)) for line, _ in known_lines(folder.path)]


def _authors(folder: MemoryFolder) -> Authors:
    book = read_book(folder.path)
    moved = {name: book.moved_lines(name) for name in book.sections}
    return Authors(writes=read_writes(folder.path), words=read_foreign(folder.path).lines, moved=moved)


def foreign_rows(folder: MemoryFolder) -> Iterator[dict[str, Any]]:
    """Yield the lines that slowwave did not write as rows like those of memories, with status ``foreign``."""
    authors = _authors(folder)
    for line, known in known_lines(folder.path):
        source = known.first[1] if known else None
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
            "written_by": authors.of_line(line),
            "source": msgspec.to_builtins(source) if source else None,
        }


def _is_listed(memory: Memory, args: argparse.Namespace, at: str) -> bool:
    if memory.is_retraction:
        return bool(args.all)
    return memory.held_at(at) if at else memory.status == "active" or args.all


def show_one(args: argparse.Namespace) -> int:
    """Print all that is known about one memory."""
    folder, memory = _found(args, args.id)
    row = row_of(folder, memory) | _by_hand(memory, notes_of(folder, read_book(folder.path), args)) | _details(memory)
    if args.json:
        say_json([row])
        return DONE
    row["held"] = _held(memory)
    if memory.status != "active":
        del row["file"]  # its line is in none
    del row["confidence"]
    row["candidates"] = ", ".join(memory.candidates)
    for name, value in row.items():
        if value and name not in {"evidence", "sightings", "valid_from", "valid_to"}:
            what = _NAMES.get(name, name.replace("_", " "))
            say(f"{what:<12} {_STATUS.get(value, value) if name == 'status' else value}")
    say(worth_keeping(memory.confidence))
    pieces, options = _pieces(memory), carried(args, with_memory=True)
    places = sum(1 for _ in _with_ends(map(msgspec.to_builtins, pieces)))
    known = counted(places, "place") + (", a command with what it printed being one" if places < len(pieces) else "")
    say(f"{'evidence':<12} {known}; slowwave memory why {memory.id}{options} shows them")
    if memory.status == "active":
        say(f"{'drop':<12} slowwave memory drop {memory.id}{options} drops it")
    return DONE


def show_why(args: argparse.Namespace) -> int:
    """Print why things are remembered: evidence, sessions, events; ``--json`` prints one object a line."""
    redact = redactor_of(settings_of(args), os.environ, create=False)
    for number, (folder, memory) in enumerate([_found(args, name, gone=True) for name in args.id]):
        if number and not args.json:
            say("")
        _show_why(folder, memory, args, redact)
    return DONE


def _show_why(folder: MemoryFolder, memory: Memory, args: argparse.Namespace, redact: Redactor) -> None:
    commands = _COMMAND.findall(memory.text)
    evidence = [_evidence(c, redact, commands) for c in check_all(_pieces(memory), folder.transcripts)]
    events = history(memory, read_ledger(folder.path))
    book = read_book(folder.path)
    is_gone = memory.id not in book.memories
    if args.json:
        row = row_of(folder, memory) | _details(memory) | ({"status": "taken-back"} if is_gone else {})
        say_json([row | {"evidence": evidence, "events": [msgspec.to_builtins(e) for e, _ in events]}])
        return
    candidates = [one for one in read_candidates(folder.path)[0] if one.id in memory.candidates]
    for line in _why(memory, evidence, notes_of(folder, book, args), candidates, is_gone=is_gone):
        say(line)
    for event, what in events:
        # what it says itself stands above already
        why = event.reason.removesuffix(memory.text).rstrip(": ") if event.successor == memory.id else event.reason
        told = what + (f": {why}" if why else "")
        for line in wrapped(told, first=f"  {short_time(event.at)}  ", rest=" " * 20, width=screen_width()):
            say(line)
    if memory.status == "active" and not is_gone:
        say(f"slowwave memory drop {memory.id}{carried(args, with_memory=True)} drops it")


def _pieces(memory: Memory) -> list[Evidence]:
    """Return the evidence, each piece once: rules that read a session again tell more of the same bytes."""
    return [*{(e.path, e.record, e.offset, e.quote): e for e in memory.evidence}.values()]


def history(memory: Memory, events: Iterable[Event]) -> list[tuple[Event, str]]:
    """Return in order all that happened to a memory, with what it was in words: also what took that back, and again."""
    found: list[tuple[Event, str]] = []
    own = set(memory.candidates)
    by_person: set[str] = set()  # the dreams that were a person's decision
    # the dreams that it comes from or that changed it; of what took some back or brought them back, which these were
    concern: dict[str, list[str]] = {}
    is_back: dict[str, bool] = {}  # whether they stand since
    said: dict[str, str] = {}  # by memory, what it said last
    for event in events:
        if event.event == "dream" and event.run == REVIEW:
            by_person.add(event.dream)
        is_rejection = event.event == "reject" and bool(own & set(event.candidates))
        if memory.id in (event.memory, event.successor) or is_rejection:
            concern.setdefault(event.dream, [event.dream])
            is_other = memory.id == event.successor and memory.id != event.memory
            replaced = f"takes the place of {event.memory}, which said: {said.get(event.memory, '')}"
            what = replaced if is_other else _DID.get(event.event, event.event)
            whose = ", you decided" if event.dream in by_person and "you" not in what else ""
            found.append((event, f"{what} ({event.dream}{whose})"))
        elif told := [one for name in event.undone for one in concern.get(name, ())]:
            concern[event.dream] = told
            is_back[event.dream] = event.undone[0] in is_back and not is_back[event.undone[0]]
            what = "brought back" if is_back[event.dream] else "taken back"
            found.append((event, f"{what} ({', '.join(told)})"))
        if event.memory and event.text:
            said[event.memory] = event.text
    return found


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
        for line in _verified(numbers, carried(args, with_memory=True)):
            say(line)
        for problem in problems:
            say(f"  {problem['id']}  {problem['finding']}: {problem['path']}  {problem['text']}")
    return PARTLY_FAILED if problems else DONE


def _verified(numbers: Mapping[str, int], options: str) -> Iterator[str]:
    """Yield how many memories and how many pieces of evidence were looked at, what became of them, and what to do."""
    short = numbers["unproven"]
    whole = "each with all of its evidence" if not short else f"{short:,} of them without all of their evidence"
    yield f"Memories: {numbers['memories']:,}" + (f", {whole}" if numbers["memories"] else "")
    archived = f" ({numbers['archived']:,} in the archive)" if numbers["archived"] else ""
    parts = [
        f"{numbers['ok']:,} as they were",
        f"{numbers['moved']:,} found at another place{archived}" if numbers["moved"] else "",
        f"{numbers['changed']:,} changed since" if numbers["changed"] else "",
        f"{numbers['lost']:,} lost with their transcript" if numbers["lost"] else "",
    ]
    said = f": {', '.join(filter(None, parts))}" if numbers["checked"] else ""
    yield f"Pieces of evidence: {numbers['checked']:,}{said}"
    if short:
        yield from wrapped(
            "What is remembered stays; slowwave sessions restore ID brings back a transcript that is in the trash or"
            f" archived, and slowwave memory drop ID{options} drops a memory that you trust no more:",
            rest="  ",
            width=screen_width(),
        )


def _found(args: argparse.Namespace, name: str, *, gone: bool = False) -> tuple[MemoryFolder, Memory]:
    """Return the one memory that is called so, with its folder; ``gone``: also one of a dream that was taken back.

    Raises:
        NotFoundError: none is, or several are.
    """
    every: list[tuple[MemoryFolder, Memory]] = []
    for folder in args.folders:
        memories = read_book(folder.path).memories
        every += ((folder, one) for one in ((_as_if_standing(folder) if gone else {}) | memories).values())
    like = [one for one in every if name and one[1].id.startswith(name)]
    found = [one for one in like if one[1].id == name] or like
    if len({memory.id for _, memory in found}) > 1:
        raise NotFoundError(several(name, {memory.id: memory.text for _, memory in found}))
    if not found:
        raise NotFoundError(f"no memory {name} in {named(args.folders)}; slowwave memory list shows what is there")
    return found[0]


def _as_if_standing(folder: MemoryFolder) -> dict[str, Memory]:
    """Return the memories that there would be if nothing had been taken back."""
    return replay(event for event in read_ledger(folder.path) if event.event != "undo").memories


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


def _evidence(checked: Checked, redact: Redactor, commands: Sequence[str]) -> dict[str, Any]:
    evidence = checked.evidence
    return {
        **msgspec.to_builtins(evidence),
        "finding": checked.finding,
        "archived": checked.is_archived,
        "found": checked.path,
        "offset_found": checked.offset if checked.offset >= 0 else evidence.offset,
        "said": said_at(checked, redact, commands),
        "given_back": given_back_at(checked, redact),
        "before": said_before(checked, redact),
    }


def worth_keeping(confidence: float) -> str:
    """Say how likely it is that something is worth keeping: in a word, with the number behind it and whose it is."""
    word = next(word for least, word in _LIKELY if confidence >= least)
    alike = "those with the same score by the rules, judged by people who read them"
    return f"{word} worth keeping ({in_hundred(confidence)} are: {alike})"


def _held(memory: Memory) -> str:
    return ", ".join(f"from {begin or 'ever'} to {end or 'now'}" for begin, end in memory.held)


def _why(
    memory: Memory,
    evidence: list[dict[str, Any]],
    notes: Mapping[str, str],
    candidates: Sequence[Candidate],
    *,
    is_gone: bool,
) -> Iterator[str]:
    first = f"{memory.id}  {memory.category:<10}  "
    text = f"{harmless(memory.text)}{'' if is_gone else _mark(memory, notes)}"
    yield from wrapped(text, first=first, rest=" " * len(first), width=screen_width())
    status = "taken back" if is_gone else _STATUS.get(memory.status, memory.status)
    for told in (f"{status}, true {_held(memory)}", worth_keeping(memory.confidence)):
        yield from wrapped(told, first="  ", rest="    ", width=screen_width())
    from slowwave.consolidation.facts import independent  # noqa: PLC0415 - other commands need none of it

    sessions, apart = len({(s.dialect, s.session) for s in memory.sightings}), len(independent(memory.sightings))
    copies = f", {sessions - apart} more only {'repeats' if sessions - apart == 1 else 'repeat'} it (a copy or a fork)"
    yield f"Seen in {counted(apart, 'session')}{copies if sessions > apart else ''}:"
    for sighting in memory.sightings:
        who = speaker(sighting, candidates)
        yield f"  {sighting.observed_at}  {sighting.dialect} {sighting.session}  {who}"
    places = [*_with_ends(evidence)]
    yield f"Evidence at {counted(len(places), 'place')}, read again just now:"
    yield from _places(places)
    yield "What happened to it:"


def _places(places: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> Iterator[str]:
    """Yield where it was said or shown, file by file; the words of no place are told twice."""
    above, told = ("", "", ""), set[str]()
    for item, ended in places:
        finding = f"{item['finding']}, archived" if item["archived"] else item["finding"]
        place = f"row {item['record']}" if names_row(item["record"]) else f"at byte {item['offset_found']}"
        file = (finding, item["found"], item.get("quote", ""))
        shows, is_first = item.get("shows", ""), file != above
        above = file
        if is_first:
            yield f"  {finding:<8} {item['found']}" + ("" if shows else f" {place}")
        if shows:
            said = f"{place}: {'' if is_first else 'then '}{shows}"
            yield from wrapped(said, first=_INSIDE, rest=f"{_INSIDE}  ", width=screen_width())
            # of what failed the quote is what it complained of
            quote = file[2] if _FAILED.search(shows) else ""
            yield from _words(ended | {"said": "", "complained": quote}, set() if quote else told)
            continue
        if is_first:
            yield f'{_INSIDE}"{harmless(file[2])}"'
        lines = [*_said_before(item, told), *_words(item, told)]
        if not is_first:
            yield f"{_INSIDE}{place}" + ("" if lines else ": nothing that does not stand above")
        yield from lines


def _with_ends(evidence: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each place; a call that tells what became of it with the last of what it gave back behind it is one."""
    call: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for item in evidence:
        is_alike = bool(call) and (item["path"], item.get("quote")) == (call["path"], call.get("quote"))
        is_answer = is_alike and not item.get("shows")
        if call and not is_answer:
            yield call, last
            call = {}
        if item.get("shows"):
            call = last = item
        elif is_answer:
            last = item
        else:
            yield item, item
    if call:
        yield call, last


def _said_before(item: Mapping[str, Any], told: set[str]) -> Iterator[str]:
    if item["before"] and item["before"] not in told:
        told.add(item["before"])
        before = f"before that the agent said: {item['before']}"
        yield from wrapped(before, first=_INSIDE, rest=f"{_INSIDE}  ", width=screen_width())


def _words(item: Mapping[str, Any], told: set[str]) -> Iterator[str]:
    """Yield the words of a piece of evidence, of what was only printed the end, where they were not told before."""
    gone = _NO_WORDS.get(item["finding"])
    words = gone or item.get("complained") or item["said"] or item["given_back"]
    if not words or words in told:
        return
    told.add(words)
    lines = [line for line in words.splitlines() if line.strip()]
    what = ""
    if not gone and item.get("complained"):
        what = "it printed: "
    elif not gone and item["said"]:
        what = "it says there: "
    elif not gone:
        what, lines = "it printed, at the end: ", lines[-1:]
    shown = lines[: _MOST_LINES if screen_width() else None]
    for number, line in enumerate(shown):
        yield f"{_INSIDE}{'  ' if number else what}{harmless(line)}"
    if len(lines) > len(shown):
        yield f"{_INSIDE}  (and {counted(len(lines) - len(shown), 'more line')})"


def _mark(memory: Memory, notes: Mapping[str, str]) -> str:
    """Return what is told of a memory that is over, that slowwave did not write, or whose line somebody changed."""
    whose = f" [{memory.writer}, {memory.file}]" if memory.stands else ""
    whose += f" [{notes[memory.id]}]" if memory.id in notes else ""
    return whose + ("" if memory.status == "active" else f" [{_STATUS.get(memory.status, memory.status)}]")


T = TypeVar("T")


def chosen(args: argparse.Namespace) -> list[MemoryFolder]:
    """Return the memory folders that ``--memory``, ``--store`` and ``--project`` choose and that exist.

    What a killed run left behind in them is settled first.
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
    """Return the folder that has something, and what it has."""
    for folder in folders:
        found = has(folder)
        if found:
            return folder, found
    raise NotFoundError(f"no {name} in {named(folders)}; slowwave memory list shows what is there")
