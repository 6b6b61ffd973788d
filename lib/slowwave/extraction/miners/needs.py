"""What a command needs: the same line fails, one thing is done, and the line works."""

import re
from collections.abc import Iterator, Sequence

from slowwave.extraction.events import Command, Edit, Events
from slowwave.extraction.found import Found

NAME = "outcome"
_LOOK_AHEAD = 8
_MAX_LINE = 110
_MAX_ERROR = 90
# errors of what a command stands on, never of the code that it checks
_NEED = re.compile(
    r"connection refused|ECONNREFUSED|could not connect|connection to .{0,60} failed|cannot connect to"
    r"|no such table|relation .{1,60} does not exist|(?:database|role|table|schema) .{1,60} does(?:n't| not) exist"
    r"|unknown database|pending migration|cannot find module|no module named|ModuleNotFoundError|not installed"
    r"|please (?:run|install)|authentication required|not authenticated|not logged in"
    r"|(?:not set|not configured|must be set|not provided|unset|missing|required|KeyError|unbound|parameter not set)\b",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|environment variable|KeyError")
# what prepares the ground: services, databases, packages, settings, log-ins
_PREPARES = re.compile(
    r"\b(?:up|start|serve|restart|install|ci|sync|restore|migrate|seed|setup|set-up|bootstrap|init|create"
    r"|createdb|login"
    r"|auth|generate|codegen|prepare|provision|link|pull|load|apply|upgrade|push|add)\b|\bcp \S*\.env\S* \S*\.env",
    re.IGNORECASE,
)
_SETTINGS = re.compile(r"(?:^|/)\.?env(?:rc)?(?:\.\w+)*$|(?:^|/)\.env\S*$")
# how output is shown says nothing about the command, and the same command shall read the same in every session
_REST = re.compile(r"\s*2>&1|\s*\|\s*(?:tail|head|cat|less)\b[^|;&]*")
# looking at something changes nothing, and not finding it says nothing about how a project works
# fmt: off
LOOKING = frozenset({
    "ls", "cat", "find", "grep", "rg", "head", "tail", "stat", "file", "wc", "which", "test", "sed", "awk", "cd", "rm",
    "cp", "mv", "tree", "du", "diff", "type",
})
# fmt: on
_LOOKS = re.compile(
    r"^(?:git (?:status|log|diff|show|branch|blame)|docker (?:compose )?(?:ps|logs|images|inspect)|(?:kubectl"
    r"|gh) (?:get|describe"
    r"|logs|view|list)|(?:ls|cat|find|grep|rg|head|tail|stat|file|wc|which|type|tree|du|diff|ps|lsof|nc|ping"
    r"|env|printenv"
    r"|pg_isready|test)\b)"
)


def mine_needs(events: Events) -> Iterator[Found]:
    """Yield what made a failing line work, where exactly one thing was done in between."""
    done: list[Command | Edit] = sorted([*events.commands, *events.edits], key=lambda event: event.order)
    failing: set[str] = set()
    for index, event in enumerate(done):
        if isinstance(event, Edit):
            continue
        if event.ok:
            failing.discard(event.line)
        elif event.line not in failing:
            # what was done since the first failure counts, not just since the last
            failing.add(event.line)
            found = _need(event, done[index + 1 :])
            if found:
                yield found


def _need(failed: Command, later: Sequence[Command | Edit]) -> Found | None:
    if not _NEED.search(failed.setup_error) or not shown(failed.line):
        return None
    between, works = _until_it_works(failed, later)
    what = _what(between[0], failed) if works and len(between) == 1 else ""
    if not works or not what:
        return None
    text = f"`{shown(failed.line)}` fails ({told(failed.setup_error)}) until {what}"
    return Found(NAME, "pattern", text, 0.65, "command_outcome", (failed, between[0], works), failed.setup_error)


def _until_it_works(failed: Command, later: Sequence[Command | Edit]) -> tuple[list[Command | Edit], Command | None]:
    """Return what was changed before the same line ran well, and that run; None when it never did soon after."""
    between: list[Command | Edit] = []
    for event in later[:_LOOK_AHEAD]:
        if isinstance(event, Command) and event.line == failed.line:
            if event.ok:
                return between, event
        elif isinstance(event, Edit) or _changes(event):
            between.append(event)
    return between, None


def _changes(command: Command) -> bool:
    """Say whether a command may have changed anything; one that failed may have as well."""
    return any(not _LOOKS.match(step.text) for step in command.steps)


def _what(event: Command | Edit, failed: Command) -> str:
    """Say what was done, or "" when it does not fit the error."""
    if isinstance(event, Edit):
        name = event.path.replace("\\", "/").rsplit("/", 1)[-1]
        fits = _SETTINGS.search(name) and _VARIABLE.search(failed.setup_error)
        return f"it is set in `{name}`" if fits else ""
    fits = event.ok and _PREPARES.search(event.line) and shown(event.line)
    return f"`{shown(event.line)}` was run" if fits else ""


def told(error: str) -> str:
    """Return an error as a memory tells it, cut between words."""
    return error if len(error) <= _MAX_ERROR else error[:_MAX_ERROR].rpartition(" ")[0] + "…"


def shown(line: str) -> str:
    """Return a command as a memory tells it, "" when it is too long to be told whole."""
    flat = " ".join(_REST.sub("", line).split())
    return flat if len(flat) <= _MAX_LINE and "\n" not in line.strip() else ""
