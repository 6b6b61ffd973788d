"""``slowwave memory``: what is remembered, why, whether its evidence still stands, and how to take a dream back."""

import argparse
import importlib
import os
from collections.abc import Callable
from pathlib import Path

from slowwave.cli.terminal import (
    Parser,
    add_json_option,
    add_project_option,
    add_settings_options,
    declared,
    is_attended,
    positive,
)

# action -> (what it does, module, function); only the module of the chosen action is imported
_ACTIONS = {
    "list": ("all memories, by project", "memory_facts", "show_list"),
    "search": ("the memories that fit some words best", "memory_exchange", "find"),
    "show": ("one memory with everything that is known about it", "memory_facts", "show_one"),
    "why": ("the evidence of a memory, in its own words, and what happened to it", "memory_facts", "show_why"),
    "verify": ("read the evidence of every memory again", "memory_facts", "show_verified"),
    "effect": ("what sessions made of the memories delivered to them", "memory_exchange", "show_effect"),
    "drop": ("drop memories at once: no later night brings them back, only undo does", "memory_exchange", "drop"),
    "diff": ("what a dream changed", "memory_exchange", "show_diff"),
    "undo": ("take a decision, a dream or a whole night back, byte for byte", "memory_exchange", "take_back"),
    "export": ("one project's memory as JSON, or as a section of AGENTS.md", "memory_exchange", "show_export"),
    "context": (
        "the most useful memories within a number of tokens, for an agent to load",
        "memory_exchange",
        "show_context",
    ),
    "quarantine": (
        "what was kept out because it steers an agent or is somebody else's words, and lines that tools brought",
        "memory_exchange",
        "show_quarantine",
    ),
    "review": ("what waits for you, the same as slowwave review", "review", "review"),
    "share": ("what a team shares in its repository; with IDs, share these", "memory_exchange", "show_shared"),
    "remember": ("for agents: ask that words of this session be remembered", "memory_exchange", "ask_remember"),
    "forget": ("for agents: ask a person to drop what some words name", "memory_exchange", "ask_forget"),
}
# of these, those that may write, and those that need no memory folder
_WRITING = ("drop", "export", "share", "undo")
_ASKING = ("remember", "forget")
# what people say for an action
_SAME = {"remove": "drop", "delete": "drop", "rm": "drop"}


def configure(parser: Parser) -> None:
    """Declare the options of ``slowwave memory``."""
    actions = parser.add_actions()
    behind = [_SAME.get(word, word) for word in parser.behind]
    for name in declared(_ACTIONS, behind):
        summary = _ACTIONS[name][0]
        word = parser.behind[0] if behind[:1] == [name] else name
        action = actions.add_parser(word, help=summary, description=summary)
        add_settings_options(action)
        add_project_option(action)
        action.add_argument("--memory", type=Path, metavar="DIR", help="this memory folder, instead of a store's")
        add_json_option(action)
        if name == "show":
            action.add_argument("id", metavar="ID", help="id of a memory, or its beginning")
        if name in {"diff", "undo"}:
            told = "id of a dream, of a night (then of every project), or of a memory (the last decision about it)"
            action.add_argument("dream", metavar="ID", help="id of a dream" if name == "diff" else told)
        if name == "quarantine":
            action.add_argument(
                "--limit", type=positive, default=50, metavar="N", help="at most this many, the newest (50)"
            )
        if name == "context":
            action.add_argument("--tokens", type=positive, default=2_000, metavar="N", help="at most this many (2000)")
        if name == "search":
            action.add_argument("query", nargs="+", metavar="QUERY", help='words, "a phrase", or pre* for a beginning')
            action.set_defaults(list_of_words="query")
            action.add_argument("--limit", type=positive, default=10, metavar="N", help="at most this many (10)")
        if name == "undo":
            action.add_argument("--force", action="store_true", help="also files changed since; your version is kept")
            action.add_argument("--yes", action="store_true", help="later ones, which rest on it, may go, too")
            action.add_argument("--again", action="store_true", help="have what was taken back again")
        if name == "review":
            from slowwave.cli.review import add_words  # noqa: PLC0415 - only where it is asked for

            add_words(action)
        if name in _OPTIONS:
            _OPTIONS[name](action)


def _configure_list(action: argparse.ArgumentParser) -> None:
    action.add_argument("--all", action="store_true", help="also what was replaced, dropped or taken over")
    action.add_argument(
        "--foreign", action="store_true", help="also the lines of memory files that others wrote, and who"
    )
    action.add_argument("--at", metavar="DATE", help='what held then: 2026-03-01, 2026-03-01T14:30 or "1 March 2026"')


def _configure_ids(action: argparse.ArgumentParser) -> None:
    action.add_argument("id", nargs="+", metavar="ID", help="id of a memory, or its beginning")
    action.set_defaults(list_of_words="id")


def _configure_export(action: argparse.ArgumentParser) -> None:
    action.add_argument("--format", choices=("agents", "json"), default="agents", help="agents: a section")
    action.add_argument("--into", type=Path, metavar="FILE", help="put the section into this file, and no more")
    action.add_argument("--all", action="store_true", help="json: also what does not hold any more")


def _configure_share(action: argparse.ArgumentParser) -> None:
    action.add_argument("id", nargs="*", metavar="ID", help="id of a memory, or its beginning")
    action.add_argument("--withdraw", action="store_true", help="take it back: for the others it is over")


def _configure_asking(action: argparse.ArgumentParser) -> None:
    action.add_argument("words", nargs="+", metavar="WORDS", help="the fact, or what names the one that is to go")
    action.set_defaults(list_of_words="words")


# what has more options than a line or two
_OPTIONS = {
    "list": _configure_list,
    "drop": _configure_ids,
    "why": _configure_ids,
    "export": _configure_export,
    "share": _configure_share,
    **dict.fromkeys(_ASKING, _configure_asking),
}


def run(args: argparse.Namespace) -> int:
    """Do what was asked and return the exit code."""
    word: str = args.action
    args.action = _SAME.get(word, word)
    _, module, name = _ACTIONS[args.action]
    function = getattr(importlib.import_module(f"slowwave.cli.{module}"), name)
    if asks_first(args) or (args.action not in _WRITING and not _decides(args)):
        return _done(args, function)
    from slowwave.locks import beside_jobs  # noqa: PLC0415 - only what writes

    with beside_jobs(os.environ):
        return _done(args, function)


def asks_first(args: argparse.Namespace) -> bool:
    """Say whether a person is asked before it is done; the command holds nobody up while they think."""
    return args.action == "undo" and not (args.yes or args.again or args.json) and is_attended()


def _done(args: argparse.Namespace, function: Callable[[argparse.Namespace], int]) -> int:
    from slowwave.cli.memory_facts import chosen  # noqa: PLC0415 - --help stays fast

    args.folders = [] if args.action in _ASKING else chosen(args)
    return int(function(args))


def _decides(args: argparse.Namespace) -> bool:
    if args.action != "review":
        return False
    from slowwave.cli.review import decides  # noqa: PLC0415 - only where it is asked for

    return decides(args)
