"""``slowwave memory search|export|context|share|...``: memories found, given out, taken in, kept out, taken back.

What became of them since they were delivered (``effect``, ``diff``), and how a person drops or takes them back.
"""

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from slowwave.cli.memory_facts import MemoryFolder, notes_of, row_of, the_one
from slowwave.cli.review import require_alone, told_back
from slowwave.cli.terminal import (
    answer,
    bad,
    carried,
    dim,
    good,
    harmless,
    open_to,
    say,
    say_json,
    screen_width,
    settings_of,
    tell_damage,
    warn,
    wrapped,
)
from slowwave.consolidation.facts import doubts_of
from slowwave.consolidation.snapshot import still_told
from slowwave.consolidation.team import accept_for_team, share, team_of
from slowwave.context import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED, NotFoundError, RefusedError, SlowwaveError, UnreadableError, UsageError
from slowwave.extraction.candidates import MAX_TEXT, read_quarantine
from slowwave.files import agent_around, atomic_write
from slowwave.hostile import one_line
from slowwave.jobs.review import Desk, TakenBack
from slowwave.memory.book import Book, Memory, read_book, standing_of
from slowwave.memory.delivery.sections import section_of, with_section
from slowwave.memory.effects import Case, Effect, effects_of
from slowwave.memory.folder import read_or_none
from slowwave.memory.index import best_lines
from slowwave.memory.ledger import read_ledger
from slowwave.memory.pages import target_of
from slowwave.memory.provenance import known_lines, warning
from slowwave.memory.search import Line, lines_of_others, search_memories
from slowwave.memory.team import OtherLine, mine_of, read_others
from slowwave.memory.transaction import read_manifest
from slowwave.memory.undo import difference, pages_difference
from slowwave.models.base import bytes_of
from slowwave.quantities import counted
from slowwave.secrets import NAMELESS, redactor_of
from slowwave.settings import Settings
from slowwave.stores.discovery import known_projects
from slowwave.stores.projects import MOST_NAMES, short_names

VERSION = 1
BESIDE = "check this: a tool's output brought the same into"


def show_export(args: argparse.Namespace) -> int:
    """Print one project's memory as JSON or as a section of Markdown, or put that section into a file."""
    folder = _the_only(args)
    book = read_book(folder.path)
    standing = standing_of(book, settings_of(args).consolidation.half_lives)
    doubts = doubts_of(folder.path)
    warned = {m.id: f"{BESIDE} {line.file}" for m in book.memories.values() if (line := doubts.has(m.text))}
    if doubts.number:
        warn(f"{folder.project}: {warning(doubts.number)}; none of them is exported")
    if args.format == "json":
        if args.into:
            raise UsageError("--into takes a section: use it with --format agents")
        rows = [
            row_of(folder, m, standing=standing) | ({"warning": warned[m.id]} if m.id in warned else {})
            for m in book.memories.values()
            if args.all or (m.status == "active" and not m.is_retraction)
        ]
        # one object, unlike the list: what is exported is read as a whole
        say_json([{"version": VERSION, "project": folder.project, "memory": str(folder.path), "memories": rows}])
        return DONE
    by_hand = notes_of(folder, book, args)
    own = [m for m in book.own if m.id not in by_hand]
    lines = section_of(own, standing, warned)
    if not args.into:
        say("\n".join(lines))
        return DONE
    changed = _put(args.into, lines)
    say(f"{args.into}: {'updated' if changed else 'is up to date'}, {len(own)} memories.")
    return DONE


def show_context(args: argparse.Namespace) -> int:
    """Print what is worth most of one project's memory, whoever wrote it, within a number of tokens."""
    folder = _the_only(args)
    book = read_book(folder.path)
    doubts = doubts_of(folder.path)
    by_hand = notes_of(folder, book, args)
    memories = [
        m
        for m in book.active
        if not (m.stands and target_of(m.line)) and not doubts.has(m.text) and m.id not in by_hand
    ]
    standing = standing_of(book, settings_of(args).consolidation.half_lives)
    lines = best_lines(memories, standing, bytes_of(args.tokens))
    shown = sum(not line.startswith("#") for line in lines)
    told = {"project": folder.project, "lines": lines, "shown": shown, "memories": len(memories)}
    return answer(args, told, "\n".join(lines) or "Nothing is remembered that fits.")


def _the_only(args: argparse.Namespace) -> MemoryFolder:
    """Return the memory folder that is meant: of the project that was named, else of the one that we are in."""
    own: list[MemoryFolder] = [folder for folder in args.folders if not folder.is_global]
    if not own:
        raise NotFoundError("no memory folder; slowwave run nightly makes one")
    if len(own) > 1 and not args.project and (here := _around(own, settings_of(args))):
        return here
    if len(own) > 1:
        known = sorted(short_names(folder.project for folder in own).values())
        more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
        which = "match" if args.project else "have a memory, and this folder is in none of them"
        raise UsageError(
            f"{len(own)} projects {which}; choose one with --project: {', '.join(known[:MOST_NAMES])}{more}"
        )
    return own[0]


def _around(own: list[MemoryFolder], settings: Settings) -> MemoryFolder | None:
    """Return the memory folder of the project whose folder we are in, the innermost one."""
    here = Path.cwd()
    around = [p for p in known_projects(settings, os.environ).projects if p.root and here.is_relative_to(p.root)]
    for project in sorted(around, key=lambda p: -len(p.root)):
        for folder in own:
            if folder.path == project.memory.resolve():
                return folder
    return None


def _put(path: Path, lines: list[str]) -> bool:
    """Put the section into a file; return whether that changed it. A link is followed, what it points at is changed."""
    target = path.expanduser().resolve()
    if not target.parent.is_dir():
        raise UnreadableError(target.parent, "does not exist", "name a file in a folder that does")
    old = read_or_none(target)
    new = with_section(old or b"", lines, target)
    if new == old:
        return False
    # a file of its own is for everybody who works in the repository, as one that an editor makes
    atomic_write(target, new, mode=None if old is not None else 0o644)
    return True


def show_shared(args: argparse.Namespace) -> int:
    """List what is shared, by whom, and what of others' is held back; or accept memories for the team."""
    settings = settings_of(args)
    if not settings.memory.shared:
        raise UsageError("nothing is shared: set memory.shared to a folder of the repository (docs/team.md)")
    if args.id:
        return _accept(args, settings)
    rows = [row for folder in args.folders for row in _rows_shared(folder, settings)]
    if args.json:
        say_json(rows)
        return DONE
    for row in rows:
        held = f" held back: {row['held']}" if row["held"] else ""
        first = harmless(f"{row['name']}  {row['category']:<10}  ")
        text = f"{row['text']} ({row['who']}){held} [{row['project']}]"
        for line in wrapped(text, first=first, rest=" " * len(first), width=screen_width(), draw=dim):
            say(line)
    if not rows:
        say("Nothing is shared yet: slowwave memory share ID accepts a memory for everybody who works here.")
    return DONE


def _accept(args: argparse.Namespace, settings: Settings) -> int:
    """Accept memories for the team, or take that back, and write what that changes."""
    if agent := agent_around(os.environ):
        raise RefusedError(f"memory share ID: a person decides, and {agent} runs this; use a terminal of your own")
    now = SystemClock().now()
    for name in args.id:

        def has(folder: MemoryFolder, name: str = name) -> bool:
            return not folder.is_global and any(m.id.startswith(name) for m in read_book(folder.path).active)

        folder, _ = the_one(args.folders, f"memory {name}", has)
        root = _root_of(folder, settings)
        team = team_of(root, settings.memory.shared, os.environ)
        if team is None:
            where = Path(root or folder.project) / settings.memory.shared
            raise NotFoundError(f"{where} is not there: make the folder, and commit a file in it for the others")
        one = accept_for_team(folder.path, name, now, withdraw=args.withdraw)
        items = share(folder.path, team, redactor_of(settings, os.environ))
        if args.json:
            say_json([{"id": one.id, "text": one.text, "items": [msgspec.to_builtins(item) for item in items]}])
            continue
        say(f"{'Taken back' if args.withdraw else 'Accepted'}: {harmless(one.text)}")
        for item in items:
            say(f"  {item.action:<8}  {harmless(f'{item.target}  {item.reason}')}")
    return DONE


def _root_of(folder: MemoryFolder, settings: Settings) -> str:
    projects = known_projects(settings, os.environ).projects
    return next((p.root for p in projects if p.memory.resolve() == folder.path), "")


def _rows_shared(folder: MemoryFolder, settings: Settings) -> Iterator[dict[str, str]]:
    team = team_of(_root_of(folder, settings), settings.memory.shared, os.environ)
    if team is None or folder.is_global:
        return
    for name, (one, _) in mine_of(read_ledger(folder.path), team.author).accepted.items():
        mine = OtherLine(name, one.author, one.category or "project", one.text, one.since)
        yield msgspec.to_builtins(mine) | {"held": "", "who": "you", "project": folder.project}
    for line in read_others(folder.path):
        yield msgspec.to_builtins(line) | {"held": line.held, "who": line.who, "project": folder.project}


def ask_remember(args: argparse.Namespace) -> int:
    """Tell an agent what becomes of words that it asks to be remembered; nothing is written."""
    return _tell_agent(args, "remembers")


def ask_forget(args: argparse.Namespace) -> int:
    """Tell an agent what becomes of what it asks to be forgotten; nothing is written."""
    return _tell_agent(args, "forgets")


def _tell_agent(args: argparse.Namespace, does: str) -> int:
    """Say that the next night finds the request in the transcript, where this call stands: that is all it needs."""
    words = redactor_of(settings_of(args), os.environ, create=False)(" ".join(args.words))
    if not agent_around(os.environ):
        yours = {
            "remember": "what you want remembered you can write into MEMORY.md yourself",
            "forget": "slowwave memory drop ID drops a memory at once (slowwave memory search WORDS finds its ID)",
        }
        raise UsageError(
            f"memory {args.action} is for an agent's session, where the next night reads it; {yours[args.action]}"
        )
    told = (
        f"The next night {does} this if the person typed it in this session; else it waits until they accept it"
        " (slowwave review)."
    )
    return answer(args, {"asked": args.action, "words": words}, told)


def show_quarantine(args: argparse.Namespace) -> int:
    """Print what was refused and what tools brought, of every memory folder; of more than the limit the newest."""
    every = [row for folder in args.folders for row in (*_refused(folder), *_foreign(folder))]
    every.sort(key=lambda row: row["at"])
    rows = every[-args.limit :]
    if args.json:
        say_json(rows)
    elif not rows:
        say("Nothing was refused, and no line of the memory files came from a tool.")
    else:
        names = short_names(row["project"] for row in rows)
        for row in rows:
            at = f"{row['at'][:19]}Z" if row["at"] else "no time"
            say(f"{dim(at)}  {names[row['project']]}  session {row['session']['id']}  {open_to(row['reason'])}")
            for line in wrapped(row["text"], first="  ", rest="  ", width=screen_width()):
                say(line)
        _say_numbers(every)
    if len(every) > len(rows):
        warn(f"the newest {len(rows)} of {len(every)}: --limit {len(every)} shows all")
    return DONE


def _say_numbers(every: list[dict[str, Any]]) -> None:
    """Print how many there are for each reason, whatever of them was shown."""
    reasons = Counter("came from tools" if "file" in row else row["reason"] for row in every)
    say("")
    for reason, number in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        say(f"{number:>5}  {reason}")


def _refused(folder: MemoryFolder) -> Iterator[dict[str, Any]]:
    refused, problems = read_quarantine(folder.path)
    tell_damage(problems)
    for one in refused:
        yield msgspec.to_builtins(one) | {"project": folder.project}


def _foreign(folder: MemoryFolder) -> Iterator[dict[str, Any]]:
    """Yield the lines that stand in memory files since a tool's output said so."""
    for line, known in known_lines(folder.path):
        writer, source = known.first if known else ("person", None)
        if writer != "tool" or source is None:
            continue
        yield {
            "session": {"dialect": source.dialect, "id": source.session, "path": source.path},
            "record": source.record,
            "at": source.at,
            "reason": f"stood in {source.by} before it stood in {line.file}, which slowwave did not write",
            "text": one_line(NAMELESS(line.text))[:MAX_TEXT],
            "file": str(folder.path / line.file),
            "written_by": writer,
            "project": folder.project,
        }


def find(args: argparse.Namespace) -> int:
    """Print what fits the words best, the best first; of a line of others whose it is."""
    settings = settings_of(args)
    redact = redactor_of(settings, os.environ, create=False)
    every: list[tuple[Memory | Line, tuple[MemoryFolder, Book]]] = []
    for folder in args.folders:
        book = read_book(folder.path)
        told = still_told(folder.path, book, settings.consolidation.max_loss)
        every += [(memory, (folder, book)) for memory in told]
        every += [(line, (folder, book)) for line in lines_of_others(folder.path, redact)]
    found = search_memories(every, " ".join(args.query), args.limit)
    if args.json:
        for one in found:
            (folder, book), what = one.of, one.what
            standing = standing_of(book, settings.consolidation.half_lives)
            row = _row_of_line(folder, what) if isinstance(what, Line) else row_of(folder, what, standing=standing)
            say_json([{"score": float(f"{one.score:.6g}"), **row}])
        return DONE
    names = short_names(folder.project for folder in args.folders)
    for one in found:
        first = f"{one.score:6.2f}  {_facts(one.what)}  "
        text = f"{one.what.text} [{names[one.of[0].project]}]"
        for shown in wrapped(text, first=first, rest=" " * len(first), width=screen_width(), draw=dim):
            say(shown)
    lines = sum(isinstance(what, Line) for what, _ in every)
    among = counted(len(every) - lines, "memory", "memories")
    if lines:
        among = f"{len(every)}: {among} and {counted(lines, 'line')} of others"
    say(f"{len(found)} of {among}")
    return DONE


def _facts(what: Memory | Line) -> str:
    if isinstance(what, Line):
        return f"{what.id}  {harmless(what.whose):<10}"
    return f"{what.id}  {what.category:<10}"


def _row_of_line(folder: MemoryFolder, line: Line) -> dict[str, Any]:
    """Return a line of others as a row like those of memories, as ``memory list --foreign`` has them."""
    return {
        "id": line.id,
        "category": None,
        "text": line.text,
        "confidence": None,
        "file": str(folder.path / line.file) if line.file else None,
        "status": "foreign" if line.file else "shared",
        "project": folder.project,
        "written_by": line.whose,
        "source": msgspec.to_builtins(line.source) if line.source else None,
    }


def show_diff(args: argparse.Namespace) -> int:
    """Print what a dream changed in the pages that agents read; ``--json`` has every file."""
    folder, manifest = the_one(args.folders, f"dream {args.dream}", lambda f: read_manifest(f.path, args.dream))
    text = difference(folder.path, args.dream)
    files = {name: {"before": was, "after": now} for name, (was, now) in manifest.files.items()}
    told = {"dream": args.dream, "memory": str(folder.path), "files": files, "diff": text}
    return answer(args, told, pages_difference(folder.path, args.dream).removesuffix("\n"))


def take_back(args: argparse.Namespace) -> int:
    """Undo a dream and all later ones, all dreams of a night, or what was decided in review; or have it again."""
    desk = Desk(args.folders, settings_of(args), os.environ, SystemClock())
    done: list[TakenBack] = []
    refused: list[SlowwaveError] = []
    meant = desk.meant(args.dream, again=args.again)
    require_alone(args, args.dream, meant)
    for dream in meant.names:
        try:
            done.append(desk.take_back(dream, force=args.force, again=args.again))
        except SlowwaveError as error:  # of a night, the other projects are taken back all the same
            refused.append(error)
    if refused and not done:
        raise refused[0]
    for line in (*(text for one in done for text in one.warnings), *map(str, refused)):
        warn(line)
    if args.json:
        say_json(done)
    else:
        for line in told_back(done, args.dream, args, again=args.again):
            say(line)
    return PARTLY_FAILED if refused else DONE


def drop(args: argparse.Namespace) -> int:
    """Drop memories at once; no session brings them back."""
    if agent := agent_around(os.environ):
        raise RefusedError(f"slowwave memory drop: a person decides, and {agent} runs this; use a terminal of your own")
    done = Desk(args.folders, settings_of(args), os.environ, SystemClock()).drop(args.id)
    for line in (text for one in done for text in one.warnings):
        warn(line)
    if args.json:
        say_json(msgspec.to_builtins(one) for one in done)
        return DONE
    for one in done:
        for text in one.texts:
            for line in wrapped(f"Dropped: {text}", rest="  ", width=screen_width()):
                say(line)
    say("No agent is given this any more, and no session brings it back. To remember it again:")
    for one in done:
        say(f"  slowwave memory undo {one.id}{carried(args, with_memory=True)}")
    return DONE


_ORDER = ("broken", "followed", "no occasion", "told")


def show_effect(args: argparse.Namespace) -> int:
    """Print what became of each memory since it was delivered, what was broken first, and where."""
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


def _row_of_effect(effect: Effect) -> dict[str, Any]:
    return {
        "verdict": effect.verdict,
        "delivered_to": effect.sessions,
        "followed": [_case(case) for case in effect.followed],
        "broken": [_case(case) for case in effect.broken],
        "idle": effect.idle,
        "idle_since": effect.since,
    } | ({"idle_by_model": effect.idle_by_model} if effect.idle_by_model else {})


def _case(case: Case) -> dict[str, Any]:
    of = case.session
    said: dict[str, Any] = {"said_again": True} if case.is_said_again else {}
    said |= {"by": case.by} if case.by else {}
    return {"dialect": of.dialect, "session": of.session, "began": of.began, "record": case.record} | said


def _lines_of_effect(effect: Effect) -> list[str]:
    """Return what is told of one memory beside its verdict, in lines."""
    read = sum(bool(case.by) for case in effect.followed)
    by = f", in {read} of them as a model read" if read else ""
    lines = [f"delivered to {counted(effect.sessions, 'session')}, followed in {len(effect.followed)}{by}"]
    if effect.idle_by_model:
        lines.append(f"no occasion in {effect.idle} in a row, in {effect.idle_by_model} of them as a model read")
    for case in effect.broken:
        where = f", record {harmless(case.record)}" if case.record else ""
        again = ": had to be said again" if case.is_said_again else ", as a model read" if case.by else ""
        lines.append(
            f"broken in {case.session.dialect} {harmless(case.session.session)}, {case.session.began}{where}{again}"
        )
    return lines
