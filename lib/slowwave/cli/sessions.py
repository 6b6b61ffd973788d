"""``slowwave sessions``: list, show and resume sessions; write, fork, remove and restore them."""

import argparse
import importlib
import os
from collections.abc import Callable
from pathlib import Path

from slowwave.cli.terminal import (
    Parser,
    Undeclared,
    add_json_option,
    add_project_option,
    add_settings_options,
    declared,
    positive,
)

_Command = Callable[[str, str], argparse.ArgumentParser]
# action -> (module, function); only the module of the chosen action is imported
_MODULES = {
    "list": ("sessions_find", "list_all"),
    "search": ("sessions_find", "find"),
    "text": ("sessions_find", "text"),
    "show": ("sessions_show", "show"),
    "diff": ("sessions_show", "diff"),
    **{name: ("sessions_context", name) for name in ("context", "resume", "export")},
    **{name: ("sessions_write", name) for name in ("append", "new", "tombstone", "branch", "label", "name", "fork")},
    **{name: ("sessions_write", name) for name in ("compact", "prune", "uncompact", "rm", "restore")},
}
# a search keeps what was said in its index, an export in its file
_READING = ("list", "show", "context", "text", "diff", "resume")
KINDS = ("main", "subagent", "fork")
_HERE = "without ID: the most recent one of the current folder"
# what is done to one session, which is always named
_OF_ONE = ("tombstone", "compact", "prune", "uncompact", "branch", "label", "name", "fork", "export", "diff")
_ID = "a session id, its unique beginning, or the path of one of its files"


def configure(parser: Parser) -> None:
    """Declare the subcommands; none of their code is imported before one is chosen."""
    commands = parser.add_actions()
    wanted = declared(_MODULES, parser.behind)

    def command(name: str, summary: str) -> argparse.ArgumentParser:
        if name not in wanted:
            return Undeclared()
        added = commands.add_parser(name, help=summary, description=summary)
        add_settings_options(added)
        add_json_option(added)
        if name in _OF_ONE:
            added.add_argument("id", metavar="ID", help=_ID)
        return added

    _reading(command)
    _writing(command)
    _exporting(command)
    _removing(command)


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand and return its exit code."""
    module, name = _MODULES[args.action]
    function = getattr(importlib.import_module(f"slowwave.cli.{module}"), name)
    if args.action in _READING:
        return int(function(args))
    from slowwave.locks import beside_jobs  # noqa: PLC0415 - only what writes

    with beside_jobs(os.environ):
        return int(function(args))


def _reading(command: _Command) -> None:
    listing = command("list", "every session, newest first (--json: one object a line)")
    _filters(listing)
    listing.add_argument("--text", default="", metavar="TEXT", help="only where title or first prompt contain this")
    listing.add_argument("--limit", type=positive, metavar="N", help="at most this many, the newest")
    listing.add_argument("--all", action="store_true", help="show sub-agents too (--json always does)")
    search = command("search", "the sessions that fit some words best; sub-agents only with --all")
    search.add_argument("query", nargs="+", metavar="QUERY", help='words; "two words" in quotes, or the beginning*')
    _filters(search)
    search.add_argument("--limit", type=positive, default=10, metavar="N", help="at most this many (10)")
    search.add_argument("--all", action="store_true", help="also what sub-agents said")
    show = command("show", "the messages of one session; without ID of the most recent one")
    show.add_argument("id", nargs="?", default="", metavar="ID|FILE", help=_ID)
    show.add_argument("--here", action="store_true", help=_HERE)
    show.add_argument("--all", action="store_true", help="also abandoned branches and sub-agents inside the file")
    show.add_argument("--tree", action="store_true", help="draw branches, forks, sub-agents, compactions and labels")
    show.add_argument(
        "--reading",
        action="store_true",
        help="what is read in it: whose words, choices, refusals, what commands proved",
    )
    show.add_argument(
        "--compactions", action="store_true", help="explain every compaction: sizes, what stayed, where the rest stands"
    )
    show.add_argument("--mode", choices=("seed", "code"), default="seed", help="Cersei: how summaries are read")
    context = command(
        "context",
        "what the client would send if the session were resumed now; of a compacted session only the end is read"
        " and checked, where that is enough",
    )
    context.add_argument("id", nargs="?", default="", metavar="FILE|ID", help=f"{_ID}; without it the most recent one")
    context.add_argument("--here", action="store_true", help=_HERE)
    context.add_argument(
        "--session", default="", metavar="ID", help="the session to take from a file that holds several"
    )
    context.add_argument("--mode", choices=("seed", "code"), default="seed", help="Cersei: how summaries are read")
    resume = command("resume", "the command that resumes a session in its own client (by default the most recent one)")
    resume.add_argument("id", nargs="?", default="", metavar="ID|FILE", help=_ID)
    resume.add_argument("--here", action="store_true", help=_HERE)
    diff = command("diff", "how a session differs from its copy in the trash or the archive, or from another session")
    diff.add_argument("other", nargs="?", default="", metavar="OTHER", help="the other session; without it the copy")
    text = command("text", "the words of every message of many sessions, without tools and thinking, for other tools")
    text.add_argument("path", nargs="+", metavar="PATH", help="transcripts, or folders of them")


def _filters(parser: argparse.ArgumentParser) -> None:
    add_project_option(parser)
    # --help imports no client
    parser.add_argument(
        "--dialect",
        default="",
        metavar="NAME",
        help="only sessions of this client's form (claude, pi, ...; ? names all)",
    )
    parser.add_argument("--kind", default="", choices=KINDS, help="only main sessions, sub-agents or forks")
    when = "a date (2026-11-20), or how long ago (7d)"
    parser.add_argument("--since", metavar="WHEN", help=f"only what was worked in since then: {when}")
    parser.add_argument("--until", metavar="WHEN", help="only what had begun by then (a date is its whole day)")


def _writing(command: _Command) -> None:
    append = command(
        "append",
        "add a message at the end, in the form of the session's own client; prints its id. A session that a running"
        " client has open, or that lives in a database, is refused",
    )
    append.add_argument(
        "id", metavar="ID", help="a whole session id, or the path of one of its files; a new id begins a new session"
    )
    append.add_argument("--role", choices=("user", "assistant", "tool"), required=True, help="who says it")
    append.add_argument("text", metavar="TEXT", help="the message; - reads it from standard input")
    append.add_argument("--answer", metavar="TEXT", help="the assistant's answer, added after it")
    append.add_argument(
        "--parent",
        metavar="MESSAGE",
        help="go on from this older message, by default from the last (claude, pi); what an answer answers (cersei)",
    )
    append.add_argument("--call", metavar="CALL", help="the tool call that a result answers")
    append.add_argument("--tool", default="", metavar="NAME", help="the tool that answers")
    append.add_argument(
        "--dialect",
        default="cersei",
        metavar="NAME",
        help="of a new session (cersei; or claude, pi, crabtalk, ulid); an old one keeps its own. pi needs --answer: it"
        " keeps no session without one",
    )
    append.add_argument("--cwd", type=Path, default=None, metavar="DIR", help="working folder of a new session")
    new = command(
        "new", "begin a session without messages, and print its id (ulid: a new ULID; crabtalk: the next number)"
    )
    new.add_argument("id", nargs="?", default="", metavar="ID", help="crabtalk: AGENT_SENDER; ulid: a ULID, else made")
    new.add_argument("--dialect", choices=("ulid", "crabtalk"), default="ulid", help="of the session (ulid)")
    new.add_argument("--name", default="", metavar="NAME", help="its name (ulid)")
    new.add_argument("--model", default="", metavar="MODEL", help="the model that answers (ulid)")
    new.add_argument("--cron-job", default="", metavar="JOB", help="the job that begins it: its source is cron (ulid)")
    new.add_argument("--prompt", default="", metavar="TEXT", help="instructions for this session only (ulid)")
    tombstone = command("tombstone", "hide one message of a Cersei session; its bytes stay in the file")
    tombstone.add_argument("uuid", metavar="MESSAGE", help="the message to hide")
    compact = command(
        "compact",
        "add a compaction: the client sends its summary in the place of what came before; nothing is rewritten. Without"
        " --summary it is planned like those of a night, also where the session is not large",
    )
    compact.add_argument(
        "--summary",
        metavar="TEXT",
        help="a summary of your own; - reads it from standard input. Without it one is made",
    )
    compact.add_argument(
        "--keep-from", metavar="MESSAGE", help="with --summary: the first message that stays; without it none does"
    )
    compact.add_argument(
        "--dry-run", action="store_true", help="without --summary: show plan and summary, write nothing"
    )
    compact.add_argument(
        "--focus", default="", metavar="TEXT", help="without --summary: what a model's summary pays most attention to"
    )
    prune = command(
        "prune",
        "clear old outputs of tools from what the client sends, and keep every word; nothing is rewritten (Codex; other"
        " clients have no record for it)",
    )
    prune.add_argument("--dry-run", action="store_true", help="show what would be cleared, write nothing")
    command("uncompact", "take back slowwave's last compaction or pruning, as long as nothing was appended after it")
    branch = command("branch", "go on from an older message, and keep what came after it as a branch (pi)")
    branch.add_argument("--from", required=True, dest="from_message", metavar="MESSAGE", help="the older message")
    branch.add_argument("--summary", metavar="TEXT", help="what is left behind; - reads it from standard input")
    branch.add_argument(
        "--summarise",
        action="store_true",
        help="summarise what is left behind, by the model if one is set, else without it",
    )
    label = command("label", "give a message a label, or take it away with an empty one (pi)")
    label.add_argument("message", metavar="MESSAGE", help="the message")
    label.add_argument("label", metavar="LABEL", help="the label")
    name = command("name", "give a session the name that its client shows (claude, codex, crabtalk, pi, ulid)")
    name.add_argument("name", metavar="NAME", help="the name")
    fork = command(
        "fork", "copy a session under a new id, which is printed (codex: a reference, its client's own form)"
    )
    fork.add_argument("--at", metavar="MESSAGE", help="only the path to this message (claude, cersei, pi, codex)")


def _exporting(command: _Command) -> None:
    export = command("export", "write a session of opencode as a file for `opencode import`, with more at its end")
    export.add_argument(
        "--into", type=Path, required=True, metavar="FILE", help="the file to write; one that is there is replaced"
    )
    export.add_argument("--say", default="", metavar="TEXT", help="what the person says next")
    export.add_argument("--answer", default="", metavar="TEXT", help="the assistant's answer to it")


def _removing(command: _Command) -> None:
    remove = command("rm", "move sessions with all parts and side folders into the trash")
    remove.add_argument("ids", nargs="+", metavar="ID", help=_ID)
    remove.add_argument("--dry-run", action="store_true", help="say what would go, move nothing")
    restore = command("restore", "bring sessions back from the trash or the archive; without ID, list the trash")
    restore.add_argument("ids", nargs="*", metavar="ID", help="a session id or a trash id")
    restore.add_argument("--all", action="store_true", help="everything in the trash")
    restore.add_argument(
        "--as", dest="new_id", default="", metavar="NEW-ID",
        help="restore the transcript alone, as a session of this id, beside what its client has since made in its"
        " place; the copy stays where it is (not codex)",
    )  # fmt: skip
