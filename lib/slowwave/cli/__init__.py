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
from slowwave.cli.terminal import Parser, declared
from slowwave.errors import INTERRUPTED, REMEDIES, UNREADABLE, SlowwaveError, told

# command -> (module with ``configure(parser)`` and ``run(args) -> int``, help line); where a module has several
# commands, they are ``configure_NAME`` and ``run_NAME``
COMMANDS = {
    "run": ("slowwave.cli.run", "run a job now: nightly, extract, consolidate, compact, retain, erase or backfill"),
    "status": ("slowwave.cli.status", "what is waiting, what ran last, what is due and why not yet"),
    "nights": ("slowwave.cli.nights", "the last nights and dreams, and what each of them learned"),
    "review": ("slowwave.cli.review", "what waits for you, one by one: accept, edit, reject, later; and undo"),
    "memory": ("slowwave.cli.memory", "list, search, explain, verify, share, export and undo memories"),
    "sessions": (
        "slowwave.cli.sessions",
        "list, search, show, resume, write, fork, compact, remove and restore sessions",
    ),
    "retain": ("slowwave.cli.retain", "which sessions go and which stay: plan, holds, trash and audit log"),
    "install": ("slowwave.cli.install", "bring memories into the files that each client reads, every night"),
    "uninstall": ("slowwave.cli.install", "take them out again: every file as it was before"),
    "mcp": ("slowwave.cli.install", "answer an agent's questions about its project (Model Context Protocol, stdio)"),
    "serve": ("slowwave.cli.service", "run every schedule from this process, and show the report and Prefect's pages"),
    "deploy": ("slowwave.cli.service", "register the deployments of prefect.yaml with a Prefect server"),
    "doctor": ("slowwave.cli.status", "check this installation and say how to mend it"),
    "completion": ("slowwave.cli.completion", "print what completes commands and options in bash, zsh or fish"),
    "help": ("", "show the help of a command: slowwave help run nightly"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (see :mod:`slowwave.errors`)."""
    # also what others make for us is for this person alone: Prefect's database, its journals, results and logs
    before = os.umask(0o077)
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED)
    finally:
        os.umask(before)


def _main(arguments: list[str]) -> int:
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    args, rest = command_line(arguments).parse_known_args(arguments)
    if rest:
        _take_rest(args, rest)
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


def _take_rest(args: argparse.Namespace, rest: list[str]) -> None:
    """Give words behind an option to the list that they belong to: argparse takes that as ended before the option."""
    name = getattr(args, "list_of_words", "")
    if not name or any(word.startswith("-") for word in rest):
        args.parser.error(f"too many words: {' '.join(rest)}")
    getattr(args, name).extend(rest)


def _failed(message: str, code: int) -> int:
    from slowwave.cli.terminal import warn  # noqa: PLC0415 - --help stays fast
    from slowwave.secrets import NAMELESS  # noqa: PLC0415 - as above

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


def command_line(arguments: Sequence[str]) -> Parser:
    """Return the parser of a command line; of its commands the one that the arguments name is declared as a whole."""
    parser = Parser(prog="slowwave", description="Nightly memory for coding agents.")
    parser.epilog = "slowwave help COMMAND tells more about one of them."
    parser.add_argument("--version", action=_Release, nargs=0, help="show version and commit, and exit")
    commands = parser.add_actions(dest="command")
    asked = next((a for a in arguments if not a.startswith("-")), "")
    for name in declared(COMMANDS, arguments):
        module_name, summary = COMMANDS[name]
        sub = commands.add_parser(name, help=summary, description=summary)
        if name == asked and module_name:
            sub.behind = arguments[1:] if arguments[0] == name else ()
            module = importlib.import_module(module_name)
            of = f"_{name}" if hasattr(module, f"run_{name}") else ""
            getattr(module, f"configure{of}")(sub)
            sub.set_defaults(run=getattr(module, f"run{of}"))
    return parser
