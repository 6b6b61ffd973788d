"""Commands that fail and then succeed: the same thing done in a way that works here, with what changed."""

import re
from collections.abc import Iterator, Sequence

from slowwave.extraction.events import Command, Events
from slowwave.extraction.found import Found

NAME = "outcome"
_LOOK_AHEAD = 8
_SIMILAR = 0.5
_MAX_LINE = 110
_CD = re.compile(r"(?:^|&&|;)\s*cd\s+(\S+)")
_WORD = re.compile(r"[\w@./:+-]+")
_MISSING = re.compile(
    r"command not found: (?P<last>[A-Za-z][\w.+-]*)|(?P<first>[A-Za-z][\w.+-]*): (?:command )?not found\b"
    r"|'(?P<quoted>[A-Za-z][\w.+-]*)' is not recognized",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(r"no such file|cannot find module|ENOENT|could not find|not found|can't read", re.IGNORECASE)
# how output is shown says nothing about the command, and the same command shall read the same in every session
_REST = re.compile(r"\s*2>&1|\s*\|\s*(?:tail|head|cat|less)\b[^|;&]*")
_ONE_CASE = re.compile(r"\s--?run[ =]|::|\s-k\s|--(?:filter|grep|testNamePattern)\b|\s-t\s")
_MAX_COMMAND = 220
_OWN = re.compile(r"\bextracted\.md\b|\.slowwave\b|\bMEMORY\.md\b|\bslowwave\b")
# looking for something and not finding it says nothing about how this project works
_LOOKING = frozenset(
    {
        "ls",
        "cat",
        "find",
        "grep",
        "rg",
        "head",
        "tail",
        "stat",
        "file",
        "wc",
        "which",
        "test",
        "sed",
        "awk",
        "cd",
        "rm",
        "cp",
        "mv",
        "tree",
        "du",
        "diff",
        "type",
    }
)


def mine_outcomes(events: Events) -> Iterator[Found]:
    """Yield each failed command with the one that worked, and programs that are not there."""
    fixed_lines: set[str] = set()
    missing: set[str] = set()
    for index, failed in enumerate(events.commands):
        if failed.ok or not failed.setup_error or _OWN.search(failed.line):
            continue
        works = _fix(failed, events.commands[index + 1 : index + 1 + _LOOK_AHEAD])
        if works and works.line not in fixed_lines:
            fixed_lines.add(works.line)
            yield _pair(failed, works)
            continue
        program = _missing(failed)
        if program and not works and program not in missing and not _works_later(program, events.commands[index + 1 :]):
            missing.add(program)
            text = f"`{program}` is not available in the shell here ({failed.setup_error[:100]})"
            yield Found(NAME, "project", text, 0.5, "command_outcome", (failed,), failed.setup_error)


def _fix(failed: Command, later: Sequence[Command]) -> Command | None:
    """Return the next command that does the same in another way and succeeds."""
    for command in later:
        if command.line == failed.line:
            return None
        if command.ok and command.steps and not _OWN.search(command.line) and _does_the_same(failed, command):
            return command
    return None


def _does_the_same(failed: Command, works: Command) -> bool:
    if not failed.steps or _is_script(failed) or _is_script(works) or works.steps[-1].program in _LOOKING:
        return False
    before, after = _words(failed), _words(works)
    shared = len(before & after) / max(1, min(len(before), len(after)))
    purposes = {s.purpose for s in failed.steps if s.purpose} & {s.purpose for s in works.steps if s.purpose}
    same_program = {s.program for s in failed.steps} & {s.program for s in works.steps}
    if _NOT_FOUND.search(failed.setup_error) and not _MISSING.search(failed.setup_error):
        # a path that was mistyped teaches nothing; where a check has to be run from does
        return shared >= _SIMILAR and bool(purposes) and _folder(failed) != _folder(works)
    return shared >= _SIMILAR and bool(purposes or same_program or shared > _SIMILAR)


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


def _pair(failed: Command, works: Command) -> Found:
    confidence = 0.65 if failed.error and failed.order < works.order else 0.5
    text = f"`{_short(failed.line)}` fails ({failed.setup_error[:90]}); `{_short(works.line)}` works"
    return Found(NAME, "pattern", text, confidence, "command_outcome", (failed, works), failed.setup_error)


def _short(line: str) -> str:
    flat = " ".join(_REST.sub("", line).split())
    return flat if len(flat) <= _MAX_LINE else flat[: _MAX_LINE - 1] + "…"


def _missing(failed: Command) -> str:
    match = _MISSING.search(failed.setup_error)
    return next((group for group in match.groups() if group), "") if match else ""


def _works_later(program: str, later: Sequence[Command]) -> bool:
    return any(command.ok and any(step.program == program for step in command.steps) for command in later)
