"""``slowwave memory quarantine``: what was refused since it steers an agent, and lines that tools brought."""

import argparse

import msgspec

from slowwave.cli.memory_folders import MemoryFolder
from slowwave.cli.output import harmless, say, say_json, tell_damage
from slowwave.errors import DONE
from slowwave.extraction.quarantine import MAX_TEXT, read_quarantine
from slowwave.extraction.taint import one_line
from slowwave.memory.foreign import known_lines
from slowwave.secrets.redactor import NAMELESS


def show_quarantine(args: argparse.Namespace) -> int:
    """Print what was refused, why and where, and what tools brought into the files, of every memory folder."""
    number = 0
    for folder in args.folders:
        refused, problems = read_quarantine(folder.path)
        tell_damage(problems)
        number += len(refused)
        for one in refused:
            if args.json:
                say_json([{**msgspec.to_builtins(one), "project": folder.project}])
            else:
                say(f"{one.at or 'no time'}  {folder.project}  session {one.session.id}  {one.reason}")
                say(f"  {harmless(one.text)}")
        number += _show_foreign(args, folder)
    if not number and not args.json:
        say("Nothing was refused, and no line of the memory files came from a tool.")
    return DONE


def _show_foreign(args: argparse.Namespace, folder: MemoryFolder) -> int:
    """Print the lines that stand in memory files since a tool's output said so; return how many there are."""
    number = 0
    for line, known in known_lines(folder.path):
        writer, source = known.first if known else ("person", None)
        if writer != "tool" or source is None:
            continue
        number += 1
        reason = f"stood in {source.by} before it stood in {line.file}, which slowwave did not write"
        text = one_line(NAMELESS(line.text))[:MAX_TEXT]
        session = {"dialect": source.dialect, "id": source.session, "path": source.path}
        if args.json:
            row = {"session": session, "record": source.record, "at": source.at, "reason": reason, "text": text}
            say_json([row | {"file": str(folder.path / line.file), "written_by": writer, "project": folder.project}])
        else:
            say(f"{source.at[:19]}Z  {folder.project}  session {source.session}  {reason}")
            say(f"  {harmless(text)}")
    return number
