"""What a command needs: the same line fails, one thing is done, and the line works."""

import re
from collections.abc import Iterator, Sequence

from slowwave.extraction.events import Command, Edit, Events
from slowwave.extraction.found import Found
from slowwave.shell.commands import CHECKS, Proven

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
# what was built before is stale: building makes any check work that stands on it, whatever the check says
_BUILDS = re.compile(r"\b(?:build|rebuild|compile|codegen|generate|gen|bootstrap)\b(?!-)(?!\S*\.\w)", re.IGNORECASE)
# the code itself is at fault, or the network was
_IN_ITSELF = re.compile(r"timed? ?out|timeout|network|EAI_AGAIN|ECONNRESET|5\d\d\b|rate limit", re.IGNORECASE)
_ONE_CASE = re.compile(r"<<|\bcurl\b|\bsleep\b|\bgit (?:push|pull|fetch|commit|add|rebase|merge)\b")
_PUSH_REJECTED = re.compile(
    r"\[(?:remote )?rejected\]|non-fast-forward|fetch first|failed to push some refs", re.IGNORECASE
)
_PULLS = re.compile(r"^git (?:pull|rebase|fetch|merge)\b")
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
    between, works = _until_it_works(failed, later)
    if works is not None and _PUSH_REJECTED.search(failed.error):
        return _behind(failed, between, works)
    if works is None or _ONE_CASE.search(failed.line):
        return _prepared(failed, later)
    error = failed.setup_error or failed.error
    line = shown(failed.line) or _checked(failed)
    done = [event for event in between if not (isinstance(event, Command) and not event.ok)]
    what = _what(done[0], failed) if len(done) == 1 and line and error else ""
    if not what or _IN_ITSELF.search(error):
        return None
    text = f"`{line}` fails ({told(error)}) until {what}"
    return Found(NAME, "pattern", text, 0.65, "command_outcome", (failed, done[0], works), error)


def _behind(failed: Command, between: Sequence[Command | Edit], works: Command) -> Found | None:
    """Take a push that needed what others had pushed meanwhile: several people work on that branch."""
    pulls = [e for e in between if isinstance(e, Command) and e.ok and _PULLS.match(shown(e.line))]
    if not pulls or not shown(failed.line):
        return None
    text = f"`{shown(failed.line)}` fails ({told(failed.error)}) until `{shown(pulls[-1].line)}` was run"
    return Found(NAME, "pattern", text, 0.55, "command_outcome", (failed, pulls[-1], works), failed.error)


def _checked(failed: Command) -> str:
    """Return the check in a line that is too long to be told whole."""
    return next((shown(step.text) for step in failed.steps if step.purpose in CHECKS and shown(step.text)), "")


def _prepared(failed: Command, later: Sequence[Command | Edit]) -> Found | None:
    """Take "`build && run` works where `run` alone failed": what was put before it is what it needs."""
    if not failed.steps or not failed.setup_error or _ONE_CASE.search(failed.line):
        return None
    first = failed.steps[0]
    line = shown(first.text)
    for event in later[:_LOOK_AHEAD]:
        # how a chain goes on behind the step that works now says nothing about what that step needed
        if isinstance(event, Command) and (before := _before(first.text, event)):
            before = [step for step in before if _BUILDS.search(step.text) or step.purpose == "build"]
            if line and len(before) == 1 and shown(before[0].text):
                text = f"`{line}` fails ({told(failed.setup_error)}) until `{shown(before[0].text)}` was run"
                return Found(NAME, "pattern", text, 0.6, "command_outcome", (failed, event), failed.setup_error)
    return None


def _before(text: str, works: Command) -> tuple[Proven, ...]:
    """Return what ran before a command in a line in which it succeeded."""
    at = next((at for at, step in enumerate(works.steps) if (step.text, step.outcome) == (text, "succeeded")), 0)
    return works.steps[:at]


def _until_it_works(failed: Command, later: Sequence[Command | Edit]) -> tuple[list[Command | Edit], Command | None]:
    """Return what was changed before the same line ran well, and that run; None when it never did soon after."""
    between: list[Command | Edit] = []
    for event in later[:_LOOK_AHEAD]:
        if isinstance(event, Command) and event.line == failed.line:
            if event.worked:
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
    if not event.ok:
        return ""
    if _BUILDS.search(event.line) and shown(event.line):
        return f"`{shown(event.line)}` was run"
    fits = _NEED.search(failed.setup_error) and _PREPARES.search(event.line) and shown(event.line)
    return f"`{shown(event.line)}` was run" if fits else ""


def told(error: str) -> str:
    """Return an error as a memory tells it, cut between words."""
    return error if len(error) <= _MAX_ERROR else error[:_MAX_ERROR].rpartition(" ")[0] + "…"


def shown(line: str) -> str:
    """Return a command as a memory tells it, "" when it is too long to be told whole."""
    flat = " ".join(_REST.sub("", line).split())
    return flat if len(flat) <= _MAX_LINE and "\n" not in line.strip() else ""
