"""``slowwave memory share``: what a team shares in a repository, and a person's word on what goes there.

Also ``slowwave memory remember|forget``, by which an agent asks for something in a person's place, and writes nothing.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from slowwave.cli.memory_folders import MemoryFolder, the_one
from slowwave.cli.options import settings_of
from slowwave.cli.output import dim, harmless, say, say_json, screen_width, wrapped
from slowwave.clock import SystemClock
from slowwave.consolidation.team import accept_for_team, share, team_of
from slowwave.errors import DONE, NotFoundError, RefusedError, UsageError
from slowwave.memory.book import read_book
from slowwave.memory.ledger import read_ledger
from slowwave.memory.shared import OtherLine, mine_of, read_others
from slowwave.places import agent_around
from slowwave.secrets.key import redactor_of
from slowwave.settings import Settings
from slowwave.stores.discovery import known_projects


def show_shared(args: argparse.Namespace) -> int:
    """List what is shared, by whom, and what of others' is held back; or accept memories for the team."""
    settings = settings_of(args)
    if not settings.memory.shared:
        raise UsageError("nothing is shared: set memory.shared to a folder of the repository (docs/team.md)")
    if args.id:
        return _accept(args, settings)
    rows = [row for folder in args.folders for row in _rows(folder, settings)]
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
        root = _root(folder, settings)
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


def _root(folder: MemoryFolder, settings: Settings) -> str:
    projects = known_projects(settings, os.environ).projects
    return next((p.root for p in projects if p.memory.resolve() == folder.path), "")


def _rows(folder: MemoryFolder, settings: Settings) -> Iterator[dict[str, str]]:
    team = team_of(_root(folder, settings), settings.memory.shared, os.environ)
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
    """Say that the next night finds the request in the transcript: this call stands there, and is all that is needed.

    Raises:
        UsageError: no agent runs this, so that no transcript will show it.
    """
    words = redactor_of(settings_of(args), os.environ, create=False)(" ".join(args.words))
    if not agent_around(os.environ):
        raise UsageError(
            f"memory {args.action} is for an agent's session, where the next night reads it; what you want remembered"
            " you can write into MEMORY.md yourself"
        )
    told = (
        f"The next night {does} this if the person typed it in this session; else it waits until they accept it"
        " (slowwave review)."
    )
    if args.json:
        say_json([{"asked": args.action, "words": words}])
    else:
        say(told)
    return DONE
