"""``slowwave memory quarantine``: the texts that were refused because they try to steer an agent."""

import argparse

import msgspec

from slowwave.cli.output import harmless, say, say_json, tell_damage
from slowwave.errors import DONE
from slowwave.extraction.quarantine import read_quarantine


def show_quarantine(args: argparse.Namespace) -> int:
    """Print what was refused, why and where, of every memory folder."""
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
    if not number and not args.json:
        say("Nothing was refused.")
    return DONE
