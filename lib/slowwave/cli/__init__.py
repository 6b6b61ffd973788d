"""The ``slowwave`` command: parse, call the library, print; one line and an exit code for every expected error.

``--help``, ``status``, ``sessions`` and ``memory`` never import Prefect, and a command module is only imported when
it is asked for, so that they answer at once.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from slowwave import release
from slowwave.cli.parser import Parser, declared
from slowwave.cli.quick import import_pathlib

import_pathlib()

# ruff: noqa: E402 - pathlib has to be there before whatever imports it
from slowwave.errors import REMEDIES, UNREADABLE, SlowwaveError, told

# command -> (module with ``configure(parser)`` and ``run(args) -> int``, help line)
COMMANDS = {
    "run": ("slowwave.cli.run", "run a job now: nightly, extract, consolidate, compact, retain, erase or backfill"),
    "status": ("slowwave.cli.status", "what is waiting, what ran last, what is due and why not yet"),
    "nights": ("slowwave.cli.nights", "the last nights and dreams, and what each of them learned"),
    "review": ("slowwave.cli.review", "what waits for you, one by one: accept, edit, reject, later; and undo"),
    "doctor": ("slowwave.cli.doctor", "check this installation and say how to mend it"),
    "serve": ("slowwave.cli.serve", "schedule everything from this process"),
    "deploy": ("slowwave.cli.deploy", "register the deployments of prefect.yaml with a Prefect server"),
    "sessions": ("slowwave.cli.sessions", "list, show, resume, write, fork, remove and restore sessions"),
    "retain": ("slowwave.cli.retain", "what goes and what stays: plan, holds, trash and audit log"),
    "memory": ("slowwave.cli.memory", "list, explain, verify, diff, review and undo memories"),
    "mcp": ("slowwave.cli.mcp", "answer an agent's questions about its project (Model Context Protocol, stdio)"),
    "install": ("slowwave.cli.install", "bring memories into the files that each client reads, every night"),
    "uninstall": ("slowwave.cli.uninstall", "take them out again: every file as it was before"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (see :mod:`slowwave.errors`)."""
    # also what others make for us is for this person alone: Prefect's database, its journals, results and logs
    before = os.umask(0o077)
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    finally:
        os.umask(before)


def _main(arguments: list[str]) -> int:
    parser = _parser(arguments)
    args, rest = parser.parse_known_args(arguments)
    if rest:
        _take_rest(parser, args, rest)
    try:
        code = int(args.run(args))
        if sys.stdout:
            sys.stdout.flush()
    except SlowwaveError as error:
        return _failed(str(error), error.exit_code)
    except BrokenPipeError:
        # the reader of a pipe (head, less) went away: not an error, but nothing more can be printed
        _print_no_more()
        return 0
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        if not error.filename:
            _print_no_more()
        return _failed(told(error, "the output"), UNREADABLE)
    return code


def _take_rest(parser: argparse.ArgumentParser, args: argparse.Namespace, rest: list[str]) -> None:
    """Give words behind an option to the list that they belong to: argparse takes that as ended before the option."""
    name = getattr(args, "list_of_words", "")
    if not name or any(word.startswith("-") for word in rest):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    getattr(args, name).extend(rest)


def _failed(message: str, code: int) -> int:
    from slowwave.cli.output import warn  # noqa: PLC0415 - --help stays fast
    from slowwave.secrets.redactor import NAMELESS  # noqa: PLC0415 - as above

    warn(NAMELESS(message))  # settings and files that an error quotes may hold secrets
    return code


def _print_no_more() -> None:
    """Let what still waits to be printed go nowhere, so that closing the output cannot fail."""
    if sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Release(argparse.Action):
    """Tells the version; git is asked only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"slowwave {release()}")  # noqa: T201 - the answer
        parser.exit()


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = Parser(prog="slowwave", description="Nightly memory for coding agents.")
    parser.add_argument("--version", action=_Release, nargs=0, help="show version and commit, and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    asked = next((a for a in arguments if not a.startswith("-")), "")
    for name in declared(COMMANDS, arguments):
        module_name, summary = COMMANDS[name]
        sub = commands.add_parser(name, help=summary, description=summary)
        if name == asked:
            sub.behind = arguments[1:] if arguments[0] == name else ()
            module = importlib.import_module(module_name)
            module.configure(sub)
            sub.set_defaults(run=module.run)
    return parser
