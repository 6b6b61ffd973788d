"""``slowwave install``, ``uninstall`` and ``mcp``: memory where each client looks for it, or asks for it."""

import argparse
import os
from collections.abc import Sequence
from contextlib import nullcontext

from slowwave.cli.terminal import (
    add_json_option,
    add_project_option,
    add_settings_options,
    harmless,
    say,
    say_json,
    settings_of,
)
from slowwave.errors import DONE, PARTLY_FAILED, UsageError
from slowwave.locks import beside_jobs
from slowwave.memory import name_to_json
from slowwave.memory.delivery import ABSENT, CLIENTS, REFUSED, Rule
from slowwave.memory.delivery.files import bring_commands, install
from slowwave.report import Item
from slowwave.stores.projects import chosen_by, short_names

_WORDS = {"needless": "no need"}
_MOST_NAMES = 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave install``."""
    configure_uninstall(parser)
    parser.add_argument("--tracked", action="store_true", help="write also into files that git tracks")
    parser.add_argument("--no-hooks", action="store_true", help="no line before a call that memory knows about")
    parser.add_argument("--visible", action="store_true", help="let git show new files: no entry in .git/info/exclude")


def configure_uninstall(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave uninstall``."""
    add_settings_options(parser)
    add_project_option(parser)
    parser.add_argument("--client", choices=CLIENTS, default="", help="this client alone, instead of every one")
    parser.add_argument("--overwrite", action="store_true", help="also sections that somebody changed by hand")
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, change nothing")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Bring memories to the clients from now on; code 6 when one that could be brought was not."""
    return _run(args, on=True, tracked=args.tracked, visible=args.visible, hooks=not args.no_hooks)


def run_uninstall(args: argparse.Namespace) -> int:
    """Take them out again; code 6 when a section has to stay."""
    return _run(args, on=False)


def _run(
    args: argparse.Namespace, *, on: bool, tracked: bool = False, visible: bool = False, hooks: bool = False
) -> int:
    from slowwave.consolidation.effect.demands import write_points  # noqa: PLC0415 - --help stays fast
    from slowwave.stores.discovery import known_projects  # noqa: PLC0415 - as above

    settings = settings_of(args)
    with nullcontext() if args.dry_run else beside_jobs(os.environ):
        projects = known_projects(settings, os.environ).projects
        chosen = chosen_by(args.project, projects, lambda p: (p.key, p.root))
        roots = [name_to_json(p.root) for p in chosen if p.root] if args.project else [""]
        rules = [Rule(on, args.client, root, tracked, visible, hooks) for root in roots]
        how = {"dry_run": args.dry_run, "overwrite": args.overwrite}
        items = install(chosen, rules, settings, os.environ, **how)
        clients = {session.dialect for project in projects for session in project.sessions}
        items += bring_commands(clients, os.environ, rules, take_out=True, **how)
        if not args.dry_run:
            write_points(projects, settings, os.environ, is_all=True)
    if args.json:
        say_json(items)
    else:
        for line in lines(items):
            say(line)
        say(_conclusion(args, items, on=on))
    is_refused = any(item.action == REFUSED for item in items) and not args.dry_run
    return PARTLY_FAILED if is_refused else DONE


def lines(items: Sequence[Item]) -> list[str]:
    """Return what was done or refused, for a person."""
    names = short_names(item.project for item in items)
    found: list[str] = []
    for item in items:
        if item.action != ABSENT:
            of = f"  [{names[item.project]}]" if item.project and item.project not in item.target else ""
            found.append(f"{_WORDS.get(item.action, item.action):<8}  {harmless(f'{item.target}  {item.reason}{of}')}")
    absent = [names[item.project] for item in items if item.action == ABSENT]
    if absent:
        more = f" and {len(absent) - _MOST_NAMES} more" if len(absent) > _MOST_NAMES else ""
        what = "1 project whose folder is" if len(absent) == 1 else f"{len(absent)} projects whose folders are"
        found.append(harmless(f"left out  {what} not on this machine: {', '.join(absent[:_MOST_NAMES])}{more}"))
    return found


def _conclusion(args: argparse.Namespace, items: Sequence[Item], *, on: bool) -> str:
    if args.dry_run:
        return "Nothing was changed: this is what would be done."
    number = sum(item.action in ("write", "renew", "remove") for item in items)
    files = f"{number} file{'' if number == 1 else 's'}"
    if not on:
        return f"Taken out of {files}."
    return f"{files} written. Every night keeps them current; slowwave uninstall takes it all back."


def configure_mcp(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave mcp``."""
    add_settings_options(parser)


def run_mcp(args: argparse.Namespace) -> int:
    """Answer until the client goes away."""
    settings = settings_of(args)
    try:
        from slowwave.mcp import serve  # noqa: PLC0415 - --help stays fast
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise UsageError("slowwave mcp needs a package that is not installed: pip install 'slowwave[mcp]'") from error
    serve(settings, os.environ)
    return DONE
