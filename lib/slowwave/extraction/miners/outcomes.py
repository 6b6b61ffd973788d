"""Commands that fail and then succeed: the same thing done in a way that works here, with what changed."""

import re
from collections.abc import Iterator, Sequence

from slowwave.extraction.absolute import relative_paths
from slowwave.extraction.events import Command, Events
from slowwave.extraction.found import Found
from slowwave.extraction.miners.needs import LOOKING, mine_needs, shown, told
from slowwave.shell.commands import CHECKS, Proven

NAME = "outcome"
_LOOK_AHEAD = 8
_SIMILAR = 0.5
# where the shell happened to stand at that moment says nothing about the project
_WRONG_FOLDER = re.compile(r"\bcd: .*no such file", re.IGNORECASE)
_CD = re.compile(r"(?:^|&&|;)\s*cd\s+(\S+)")
_WORD = re.compile(r"[\w@./:+-]+")
_MISSING = re.compile(
    r"command not found: (?P<last>[A-Za-z][\w.+-]*)|(?P<first>[A-Za-z][\w.+-]*): (?:command )?not found\b"
    r"|'(?P<quoted>[A-Za-z][\w.+-]*)' is not recognized",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(r"no such file|cannot find module|ENOENT|could not find|not found|can't read", re.IGNORECASE)
_NO_MODULE = re.compile(
    r"does not contain main module|cannot find main module|go\.mod file not found|not a git repository|no rule to make"
    r"|could not (?:find|read) (?:a )?(?:package\.json|cargo\.toml|pyproject\.toml)|missing script",
    re.IGNORECASE,
)
_ONE_CASE = re.compile(r"\s--?run[ =]|::|\s-k\s|--(?:filter|grep|testNamePattern)\b|\s-t\s")
_MAX_COMMAND = 220
_OWN = re.compile(r"\bextracted\.md\b|\.slowwave\b|\bMEMORY\.md\b|\bslowwave\b")


def mine_outcomes(events: Events) -> Iterator[Found]:
    """Yield each failed command with the one that worked or what it needed, and programs that are not there."""
    yield from mine_needs(events)
    fixed_lines: set[str] = set()
    missing: set[str] = set()
    for index, failed in enumerate(events.commands):
        if failed.ok or not failed.setup_error or _OWN.search(failed.line) or _WRONG_FOLDER.search(failed.setup_error):
            continue
        works = _fix(failed, events.commands[index + 1 : index + 1 + _LOOK_AHEAD])
        pair = _pair(failed, works) if works and works.line not in fixed_lines else None
        if works and pair:
            fixed_lines.add(works.line)
            yield pair
            continue
        program = _missing(failed)
        if program and not works and program not in missing and not _works_later(program, events.commands[index + 1 :]):
            missing.add(program)
            text = f"`{program}` is not available in the shell here ({told(failed.setup_error)})"
            yield Found(NAME, "project", text, 0.4, "command_outcome", (failed,), failed.setup_error)


def _fix(failed: Command, later: Sequence[Command]) -> Command | None:
    """Return the next command that does the same in another way and succeeds."""
    for command in later:
        if command.line == failed.line:
            return None
        if command.worked and not _OWN.search(command.line) and _does_the_same(failed, command):
            return command
    return None


def _does_the_same(failed: Command, works: Command) -> bool:
    if not failed.steps or _is_script(failed) or _is_script(works) or works.steps[-1].program in LOOKING:
        return False
    before, after = _words(failed), _words(works)
    shared = len(before & after) / max(1, min(len(before), len(after)))
    purposes = _purposes(failed) & _purposes(works)
    if _moved(failed, works):
        return True
    if _NOT_FOUND.search(failed.setup_error) and not _MISSING.search(failed.setup_error):
        # a path that was mistyped teaches nothing; where a check has to be run from does
        return shared >= _SIMILAR and bool(purposes) and _folder(failed) != _folder(works)
    if not purposes and _purposes(failed) and _purposes(works):
        return False  # a lint that works is no other way of the tests
    # `pnpm install` is not another way of `pnpm test`
    return shared > _SIMILAR or (shared == _SIMILAR and bool(purposes))


def _purposes(command: Command) -> set[str]:
    return {step.purpose for step in command.steps if step.purpose in CHECKS}


def _moved(failed: Command, works: Command) -> bool:
    """Say whether a script was called where it is not, and then where it is."""
    first, last = _called(failed.steps[0]), _called(works.steps[-1])
    same = failed.steps[0].program == works.steps[-1].program
    return same and first != last and first in failed.setup_error and "/" in first + last


def _called(step: Proven) -> str:
    """Return the program as it was called, with its folder."""
    return step.text.split()[0]


def _is_script(command: Command) -> bool:
    """Say whether a line is a small program of its own or runs one case: that is about its text, not the project."""
    return (
        bool(_ONE_CASE.search(command.line))
        or len(command.line) > _MAX_COMMAND
        or "\n" in command.line
        or "<<" in command.line
    )


def _folder(command: Command) -> str:
    found = _CD.search(command.line)
    return found[1] if found else ""


def _words(command: Command) -> set[str]:
    return {word for step in command.steps for word in _WORD.findall(step.text)}


def _pair(failed: Command, works: Command) -> Found | None:
    """Return what the two teach; None when their lines are too long to be given whole."""
    confidence = 0.65 if failed.error and failed.order < works.order else 0.5
    error = told(failed.setup_error)
    folder = _folder(works)
    if _NO_MODULE.search(failed.setup_error) and folder and folder != _folder(failed):
        if relative_paths(folder, works.cwd) in (".", ""):
            return None  # the shell had strayed from where the session works
        what = ", ".join(f"`{head}`" for head in dict.fromkeys(_head(step) for step in works.steps[:1]))
        text = f"{what} has to be run in `{folder}` (elsewhere: {error})"
        return Found(NAME, "pattern", text, confidence, "command_outcome", (failed, works), failed.setup_error)
    if _moved(failed, works):
        text = f"`{_called(failed.steps[0])}` is not there; `{_called(works.steps[-1])}` is where it works"
        return Found(NAME, "project", text, confidence, "command_outcome", (failed, works), failed.setup_error)
    lines = _told(failed, works)
    if lines is None:
        return None
    text = f"`{lines[0]}` fails ({error}); `{lines[1]}` works"
    return Found(NAME, "pattern", text, confidence, "command_outcome", (failed, works), failed.setup_error)


def _told(failed: Command, works: Command) -> tuple[str, str] | None:
    """Return both lines, or of long ones the steps that differ, or None when these are too long as well."""
    before, after = shown(failed.line), shown(works.line)
    if before and after:
        # what differs is only how the output was cut
        return (before, after) if before != after else None
    done = {step.text for step in works.steps}
    tried = {step.text for step in failed.steps}
    for one in failed.steps:
        for other in works.steps:
            alike = one.program == other.program or (one.purpose and one.purpose == other.purpose)
            if alike and one.text not in done and other.text not in tried and shown(one.text) and shown(other.text):
                return shown(one.text), shown(other.text)
    return None


def _head(step: Proven) -> str:
    """Return the program with its subcommand."""
    return " ".join(step.text.split()[:2])


def _missing(failed: Command) -> str:
    match = _MISSING.search(failed.setup_error)
    program = next((group for group in match.groups() if group), "") if match else ""
    # what a script or a wrapper misses is not what the line called
    return program if any(step.program == program for step in failed.steps) else ""


def _works_later(program: str, later: Sequence[Command]) -> bool:
    return any(command.ok and any(step.program == program for step in command.steps) for command in later)
