"""``slowwave memory quarantine``: what was refused, why and where, and lines of memory files that tools brought."""

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from slowwave.cli.memory_folders import MemoryFolder
from slowwave.cli.output import dim, open_to, say, say_json, screen_width, tell_damage, warn, wrapped
from slowwave.errors import DONE
from slowwave.extraction.quarantine import MAX_TEXT, read_quarantine
from slowwave.letters import one_line
from slowwave.memory.foreign import known_lines
from slowwave.secrets.redactor import NAMELESS


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
        for row in rows:
            at = f"{row['at'][:19]}Z" if row["at"] else "no time"
            say(f"{dim(at)}  {row['project']}  session {row['session']['id']}  {open_to(row['reason'])}")
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
