"""What commands proved: how a project is tested, checked and built, and what made a failed one work.

A routine is a command of the project's own that worked, without what picks a file or a case; a gate the checks that ran
before a commit, or all of the project's own that a session ran. A cure is a failure and the first thing after it that
did the same work, while no file was changed between: another call for the same purpose, the same call in another
environment or in another folder, the same without the option that the program refused, or exactly one step before the
same call. A failing run proves nothing but a failure, and a check that found something works: what it found was mended.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rapidfuzz.fuzz import token_set_ratio

from slowwave.extraction.candidates import Note
from slowwave.reading import Edited, Item, Ran, Reading, Said
from slowwave.shell import folder_of
from slowwave.shell.commands import CHECKS, Proven, Purpose, complaint_in, setup_error, tool_of, variant_of

_WHAT = {
    "test": ("Tests", "are run"),
    "lint": ("Linting", "is done"),
    "format": ("Code", "is formatted"),
    "typecheck": ("Types", "are checked"),
    "check": ("Changes", "are checked"),
    "build": ("Builds", "are made"),
}
# what a project names itself; the rest any agent tries without being told
_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun", "make", "just", "task", "mise", "tox", "nox", "rake", "composer",
                      "poe", "invoke", "hatch", "pdm", "uv", "docker", "poetry"})  # fmt: skip
_PICKS = ("-k", "-run", "--run", "-t", "--filter", "--grep", "-c", "-e", "-o", "--help", "--version", "-h")
_MOST_WORDS = 5
# a longer command is for one occasion
_MOST_LINE = 110
_MOST_NAMED = 3
_MOST_SHOWN = 6
# checks for one purpose are a routine; of those that any agent tries untold so many together are how a project works
_PURPOSES, _PROGRAMS = 2, 3
# How likely each kind is worth loading (docs/decisions/0030): of routines of one session readers wanted 3 in 14, so
# they wait until several sessions show the same, and of checks without a commit none of 3; checks before one 4 in 7.
_GATE, _TOGETHER, _OWN, _COMMON = 0.66, 0.5, 0.4, 0.3


def practice(reading: Reading) -> Iterator[Note]:
    """Yield the gate of a session, or else its routines, and its cures."""
    runs = [item for item in reading.items if isinstance(item, Ran)]
    yield from _gate(reading) or _together(runs) or _routines(runs)
    yield from _stays(runs)
    yield from _cures(reading)


def _gate(reading: Reading) -> list[Note]:
    """Return the checks that came between the last change and a commit, where several of them passed; it is shown, too.

    Where that is so, the others that were run are told as well, if only a filter hides how they ended: a gate without
    one of its checks is another one.
    """
    since: dict[str, Ran] = {}
    passed: set[str] = set()
    gates: list[tuple[dict[str, Ran], Ran, str]] = []
    for item in reading.items:
        if isinstance(item, Edited):
            since, passed = {}, set()
        elif isinstance(item, Ran):
            _take_checks(item, since, passed)
            done = [c.text for c in item.run.commands if c.text.startswith("git commit") and c.outcome == "succeeded"]
            if done and len(passed) > 1:
                gates.append((since, item, done[0]))
                since, passed = {}, set()
    if not gates:
        return []
    gate, committed, commit = max(gates, key=lambda one: len(one[0]))
    line = f"Before a commit: {', '.join(f'`{text}`' for text in gate)}"
    shown = tuple(dict.fromkeys((*tuple(dict.fromkeys(gate.values()))[:_MOST_SHOWN], committed)))
    quote, about = "; ".join(gate), frozenset((*gate, commit))
    return [Note("gate", "pattern", line, _GATE, "command_outcome", shown, quote, "cmd:commit", quote, "", about)]


def _together(runs: Sequence[Ran]) -> list[Note]:
    """Return the checks that passed in a session: the project's own for two purposes, or else three of any kind."""
    every: dict[Purpose, dict[str, Ran]] = {}
    for ran in runs:
        for command in ran.run.commands:
            is_check = command.purpose in _WHAT and command.purpose != "build" and command.outcome == "succeeded"
            if is_check and is_general(command):
                every.setdefault(command.purpose, {}).setdefault(command.text, ran)
    own = {purpose: {text: ran for text, ran in of.items() if _is_own(text)} for purpose, of in every.items()}
    proven = {purpose: of for purpose, of in own.items() if of}
    if len(proven) < _PURPOSES:
        proven = every
        programs = {text.split()[0] for of in proven.values() for text in of}
        if len(proven) < _PURPOSES or len(programs) < _PROGRAMS:
            return []
    calls = {text: ran for of in proven.values() for text, ran in of.items()}
    shown = tuple(sorted(calls.values(), key=lambda ran: ran.order))[:_MOST_SHOWN]
    quote = "; ".join(calls)
    line = f"Changes are checked with {', '.join(f'`{text}`' for text in calls)}"
    about = frozenset(calls)
    return [Note("checks", "pattern", line, _TOGETHER, "command_outcome", shown, quote, "cmd:checks", quote, "", about)]


def _take_checks(item: Ran, since: dict[str, Ran], passed: set[str]) -> None:
    """Add the checks of a line to those that ran since the last change; what fails is none of them."""
    for command in item.run.commands:
        if command.purpose not in _WHAT or not is_general(command):
            continue
        if command.outcome == "succeeded":
            passed.add(command.text)
            since[command.text] = item  # in its old place: the order is that of the first run
        elif command.outcome == "failed":
            passed.discard(command.text)
            since.pop(command.text, None)
        elif item.run.ok:
            since.setdefault(command.text, item)


def _routines(runs: Sequence[Ran]) -> Iterator[Note]:
    """Yield one routine for each runner and purpose, which names its variants; without a general one each by itself."""
    proven: dict[tuple[Purpose, str], list[Ran]] = {}
    for ran in runs:
        for command in ran.run.commands:
            if command.outcome == "succeeded" and command.purpose in _WHAT and is_general(command):
                proven.setdefault((command.purpose, command.text), []).append(ran)
    runners = Counter(text.split()[0] for _, text in proven)
    # one runner for several purposes is the project's own, also where each was needed just once
    worth = {
        (purpose, text): (shown, variant_of(text.split(), purpose))
        for (purpose, text), shown in proven.items()
        if len(shown) > 1 or (_is_own(text) and runners[text.split()[0]] > 1)
    }
    general = {(purpose, text.split()[0]) for (purpose, text), (_, variant) in worth.items() if not variant}
    for (purpose, text), (shown, variant) in worth.items():
        place = (purpose, text.split()[0])
        if variant and place in general:
            continue  # the line of the general one names it
        others = {
            f"{also}: `{other}`": ran[0]
            for (of, other), (ran, also) in worth.items()
            if also and not variant and (of, other.split()[0]) == place
        }
        what, done = _WHAT[purpose]
        beside = f" ({', '.join(list(others)[:_MOST_NAMED])})" if others else ""
        line = f"{what}{f' ({variant})' if variant else ''} {done} with `{text}`{beside}"
        confidence = _OWN if _is_own(text) else _COMMON
        cited = {ran.order: ran for ran in (*shown[:_MOST_SHOWN], *list(others.values())[:_MOST_NAMED])}
        evidence = tuple(cited[order] for order in sorted(cited))
        key, about = f"cmd:{text}", frozenset((text, *(other for _, other in worth)))
        yield Note("routine", "pattern", line, confidence, "command_outcome", evidence, text, key, purpose, "", about)


def _is_own(text: str) -> bool:
    return text.split(maxsplit=1)[0] in _RUNNERS or text.startswith("./")


def is_general(command: Proven) -> bool:
    """Say whether a command picks no file, folder or case, and fits any day."""
    words = command.text.split()
    return 0 < len(words) <= _MOST_WORDS and len(command.text) <= _MOST_LINE and not any(map(_picks, words[1:]))


def _picks(word: str) -> bool:
    if word in ("./...", "."):
        return False
    return (
        word.split("=", maxsplit=1)[0] in _PICKS
        or "/" in word
        or "::" in word
        or not word.isascii()
        or word[0] in "~'\"$<["
    )


# What made a failed command work.

# programs that only look: that they find nothing, or something, proves nothing
_LOOKING = frozenset({"ls", "cat", "find", "grep", "rg", "head", "tail", "stat", "wc", "which", "test", "sed", "awk",
                      "tree", "du", "diff", "type", "ps", "cd", "echo", "git", "curl", "jq", "sleep", "date", "env",
                      "pwd", "file", "sort", "kill"})  # fmt: skip
# of these what changes something: it is no cure that anybody could be told, and may be one all the same
_LOOKS_OF_GIT = frozenset({"status", "log", "diff", "show", "branch", "rev-parse", "ls-files", "blame", "grep",
                           "describe", "remote", "reflog", "config", "shortlog"})  # fmt: skip
_CHANGES = {"sed": ("-i", "--in-place"), "curl": ("-X", "-d", "--data", "--request"), "find": ("-delete", "-exec")}
_WRITES = re.compile(r"(?<![\d&=<-])>>?\s*(?![&>\s]|/dev/)|\btee\b|(?:^|[;&|]\s*)sleep\b")
# what is there today only; given as a setting, a temporary folder is one that any day has
_ONE_OFF = re.compile(r"(?<![\w.])/(?:private/)?(?:tmp|var/(?:tmp|folders))/|\bworktrees?/|\$\{?TMPDIR\b")
# a checker that names a place ran, and found something there
_PLACE = re.compile(r"^\S+?[:(]\d+\b")
_CANNOT_RUN = (126, 127)
_NO_FOLDER = re.compile(r"\bcd: .*(?:No such file|does not exist)|\bcannot find (?:the )?path\b", re.IGNORECASE)
# zsh runs nothing where a pattern fits no file
_NO_MATCH = re.compile(r"^(?:zsh|\(eval\)):(?:\d+:)? no matches found: (\S+)")
# how shells name a program that they do not find
_MISSING = re.compile(r"(?:^|: )([A-Za-z][\w.+-]*): command not found$|: command not found: ([A-Za-z][\w.+-]*)$")
_WORD = re.compile(r"[\w.+-]+")
_PARTS = re.compile(r"[^a-z]+")
# what projects call a script that mends what their checks find
_MENDS = frozenset({"fix", "autofix", "write", "format", "fmt"})
_FETCHING = frozenset({"curl", "wget", "git", "brew", "apt", "apt-get", "npx", "uvx", "bunx", "gh", "docker"})
# of docker what runs something in a container that the project has
_RUNS_THERE = re.compile(r"^docker (?:exec|compose (?:-f \S+ )*(?:run|exec))\b")
_MOST_CAUSE_WORDS = 8
# of a cause: the class or code of an error, options, names in quotes
_NAMED = re.compile(
    r"\b\w*(?:Error|Exception|Failure)\b|\bE(?!RROR\b)[A-Z]{3,}\b|\b[A-Z]+\d{2,}\b|(?<!\S)--?[\w-]+|'[^\s']{1,60}'"
)
# so many items are looked through behind a failure, and so many things tried: later ones have another reason
_LOOK_AHEAD, _MOST_TRIED = 40, 8
_ALIKE = 60
# how likely a cure is worth loading (docs/decisions/0030)
_CURE, _LACKING = 0.66, 0.5


def _cures(reading: Reading) -> Iterator[Note]:
    """Yield the cures of a session."""
    told: set[str] = set()
    for failed in reading.items:
        if not isinstance(failed, Ran) or failed.run.ok or not failed.cause or failed.line in told:
            continue
        told.add(failed.line)
        if found := _lacking(failed, reading) or _in_folder(failed, reading) or _unquoted(failed, reading):
            yield found
            continue
        tried = next((c for c in failed.run.commands if c.outcome == "failed"), None)
        if tried is not None and not _ONE_OFF.search(tried.text):
            yield from _cure(failed, tried, reading)


def _lacking(failed: Ran, reading: Reading) -> Note | None:
    """Return that a program is not installed: the shell did not find it by its bare name, and it never ran otherwise.

    One session may have needed it once: it is worth telling where another one misses it, too.
    """
    found = _MISSING.search(failed.cause)
    name = found[1] or found[2] if found else ""
    if not name or all(c.program != name for c in failed.run.commands):
        return None
    calls = (c for one in reading.items if isinstance(one, Ran) for c in one.run.commands)
    if any(c.outcome == "succeeded" and name in c.text.split() for c in calls):
        return None
    line = f"`{name}` is not installed here"
    about, cause = frozenset(c.text for c in failed.run.commands if c.program == name), failed.cause
    key = f"cmd:{name}"
    return Note("cure", "pattern", line, _LACKING, "command_outcome", (failed,), cause, key, "missing", "", about)


def _stays(runs: Sequence[Ran]) -> Iterator[Note]:
    """Yield that calls begin in the folder where the one before ended: a way that had worked does not exist from there.

    Clients differ in that, and an agent that does not know it runs things in the wrong place without a word.
    """
    gone: dict[str, Ran] = {}
    for ran in runs:
        folder = folder_of(ran.line)
        if not folder or folder[0] in "/~":
            continue
        if ran.run.ok:
            gone.setdefault(folder, ran)
        elif folder in gone and _NO_FOLDER.search(ran.cause):
            line = f"The shell stays in the folder of the call before: `cd {folder}` works once; use absolute paths"
            shown = (gone[folder], ran)
            about = frozenset((f"cd {folder}",))
            yield Note(
                "cure", "pattern", line, _CURE, "command_outcome", shown, ran.cause, "cmd:cd", "stays", "", about
            )
            return


def _unquoted(failed: Ran, reading: Reading) -> Note | None:
    """Return that the shell refuses patterns that no file matches, where the same word in quotes worked later."""
    found = _NO_MATCH.search(failed.cause)
    if not found or found[1] not in failed.line:
        return None
    quoted = f"'{found[1]}'", f'"{found[1]}"'
    for item in _behind(failed, reading):
        if isinstance(item, Ran) and item.run.ok and any(word in item.line for word in quoted):
            line = "The shell is zsh: a word with `?`, `*` or `[` that no file matches has to be quoted"
            shown, cause = (failed, item), failed.cause
            about = frozenset(c.text for ran in shown for c in ran.run.commands if found[1] in c.text)
            return Note("cure", "pattern", line, _CURE, "command_outcome", shown, cause, "cmd:zsh", "zsh", "", about)
    return None


def _cure(failed: Ran, tried: Proven, reading: Reading) -> Iterator[Note]:
    """Yield what made a failed command work, if one thing did and nothing else was changed meanwhile."""
    between: list[tuple[Ran, Proven]] = []
    is_alone = True
    for item in _behind(failed, reading):
        if isinstance(item, Said):
            # whoever was asked may have done it
            is_alone = is_alone and item.speaker != "person"
            continue
        for command in item.run.commands:
            if _works(command) and _typed(command) == _typed(tried):
                if len(between) == 1 and is_alone and _is_step(between[0][1], failed, tried, reading):
                    ran, step = between[0]
                    folder = folder_of(ran.line) if folder_of(ran.line) not in ("", folder_of(item.line)) else ""
                    where = f" in `{folder}`" if folder else ""
                    if _mends(step, tried, failed):
                        what = f"`{_typed(step)}`{where} mends what `{_typed(tried)}` finds"
                    else:
                        needs = "needs a fresh build: it " if step.purpose == "build" else ""
                        cause = _told(failed)
                        what = f"`{_typed(tried)}` {needs}fails{cause} until `{_typed(step)}` was run{where}"
                    yield _note(what, (failed, ran, item), failed.cause, step, tried)
                return
            is_other = command.outcome == "succeeded" and not _mends(command, tried, failed)
            if is_other and _is_other_way(tried, command, failed.cause):
                # after a step nobody knows which of the two it was
                if not between and _is_broken(failed, tried, item, command, reading):
                    yield _note(_other_way(tried, command, failed), (failed, item), failed.cause, command, tried)
                return
            if command.outcome != "failed" and _may_change(command):
                between.append((item, command))
        is_alone = is_alone and not _WRITES.search(item.line)


def _behind(failed: Ran, reading: Reading) -> Iterator[Ran | Said]:
    """Yield what was run and said behind a failure, up to a change of a file or too many things tried."""
    tried = 0
    for item in reading.items[failed.order + 1 :][:_LOOK_AHEAD]:
        if isinstance(item, Edited) or tried > _MOST_TRIED:
            return
        if isinstance(item, Ran | Said):
            yield item
        tried += isinstance(item, Ran) and any(map(_may_change, item.run.commands))


def _in_folder(failed: Ran, reading: Reading) -> Note | None:
    """Return that a command has to be run in a folder, where it is set up to work: it did there, and not elsewhere."""
    first = next(iter(failed.run.commands), None)
    if first is None or first.outcome == "succeeded" or first.program in _LOOKING or not setup_error(failed.cause):
        return None
    for item in _behind(failed, reading):
        if isinstance(item, Said):
            continue
        if any(_typed(c) == _typed(first) and c.outcome == "succeeded" for c in item.run.commands):
            folder = folder_of(item.line)
            if (
                not folder
                or folder == folder_of(failed.line)
                or _ONE_OFF.search(folder)
                or len(_typed(first)) > _MOST_LINE
            ):
                return None
            what = f"`{_typed(first)}` fails{_told(failed)}; in `{folder}` it works"
            return _note(what, (failed, item), failed.cause, first, first)
        if any(map(_may_change, item.run.commands)):
            return None
    return None


def _may_change(command: Proven) -> bool:
    """Say whether a command may have changed something, as far as its words tell."""
    words = command.text.split()
    if command.program == "git":
        return not _LOOKS_OF_GIT.intersection(words[1:])
    if command.program == "find" and "-exec" in words[:-1]:
        return words[words.index("-exec") + 1] not in _LOOKING
    if command.program in _CHANGES:
        return any(word.startswith(_CHANGES[command.program]) for word in words[1:])
    return command.program == "kill" or command.program not in _LOOKING


def _is_step(step: Proven, failed: Ran, tried: Proven, reading: Reading) -> bool:
    """Say whether the one step before a call that works was what it lacked when it failed."""
    call = _typed(step)
    if step.outcome != "succeeded" or {step.program, tried.program} & _LOOKING:
        return False
    if max(len(call), len(_typed(tried))) > _MOST_LINE or _ONE_OFF.search(step.text):
        return False
    if _has_findings(failed, tried) and step.purpose in {tried.purpose, "lint", "format"}:
        return _mends(step, tried, failed)
    return not _was_done(step, reading.items[: failed.order])


def _mends(step: Proven, tried: Proven, failed: Ran) -> bool:
    """Say whether a step is the project's own way to mend what a check of it found; other ones any agent tries."""
    if step.purpose not in ("lint", "format") or not _is_own(step.text) or not is_general(step):
        return False
    return bool(_MENDS.intersection(_PARTS.split(step.text))) and _has_findings(failed, tried)


def _was_done(step: Proven, before: Sequence[Item]) -> bool:
    """Say whether a step had been done before; what was built grows stale with what it is built from."""
    for one in reversed(before):
        commands = one.run.commands if isinstance(one, Ran) else ()
        if any(c.outcome == "succeeded" and _typed(c) == _typed(step) for c in commands):
            return True
        if step.purpose == "build" and (isinstance(one, Edited) or any(map(_moves_sources, commands))):
            return False
    return False


def _moves_sources(command: Proven) -> bool:
    return command.program == "git" and _may_change(command) and "commit" not in command.text.split()[:2]


def _is_broken(failed: Ran, tried: Proven, item: Ran, works: Proven, reading: Reading) -> bool:
    """Say whether a call does not work at all, so that another one has to be made in its place."""
    if _ONE_OFF.search(works.text) or (tried.text != works.text and _has_findings(failed, tried)):
        return False
    call, other = _typed(tried), _typed(works)
    later = [one.run.commands for one in reading.items[item.order + 1 :] if isinstance(one, Ran)]
    return not any(
        any(c.outcome == "succeeded" and _typed(c) == call for c in commands)
        and not any(_typed(c) == other for c in commands)
        for commands in later
    )


def _has_findings(failed: Ran, tried: Proven) -> bool:
    """Say whether a check failed by what it found, and not because it could not run."""
    if tried.purpose not in CHECKS or failed.run.code in _CANNOT_RUN:
        return False
    return _PLACE.match(failed.cause) is not None or not setup_error(failed.cause)


def _works(command: Proven) -> bool:
    """Say whether a call that had failed works now: behind a pager only the end of the old complaint shows it."""
    return command.outcome == "succeeded" or command.seems_well


def _typed(command: Proven) -> str:
    """Return a command with the environment that it was given."""
    return f"{command.setting} {command.text}".strip()


def _is_other_way(tried: Proven, works: Proven, cause: str) -> bool:
    """Say whether a command does what another one was to do, called in another way."""
    if tried.purpose != works.purpose:
        return False  # that the linter passes says nothing about a build that failed
    if tried.program == works.program and _refused(tried, works, cause):
        return True
    if max(len(_typed(works)), len(_typed(tried))) > _MOST_LINE:
        return False
    if tried.program == works.program and tried.text == works.text:
        return True
    is_work = bool(tried.purpose) and tried.program not in _LOOKING and works.program not in _LOOKING
    before = tried.text.split()
    if any(_picks(word) and word not in before for word in works.text.split()):
        return False  # less was done
    return is_work and token_set_ratio(tried.text, works.text) >= _ALIKE


def _refused(tried: Proven, works: Proven, cause: str) -> set[str]:
    """Return the options that the program refused by name, where a command does the same without them."""
    refused = {word for word in tried.text.split() if word[0] == "-"} & {w.strip("'\"`.,:;()") for w in cause.split()}
    return refused - {*works.text.split()} if _action(tried) == _action(works) else set()


def _other_way(tried: Proven, works: Proven, failed: Ran) -> str:
    """Return which call works in place of another; of long ones what they are for, and what was refused."""
    if max(len(_typed(works)), len(_typed(tried))) <= _MOST_LINE:
        return f"`{_typed(tried)}` fails{_told(failed)}; `{_typed(works)}` works"
    action = _action(tried)
    refused = " ".join(sorted(_refused(tried, works, failed.cause)))
    return f"`{action} {refused}` fails{_told(failed)}; `{action}` works"


def _action(command: Proven) -> str:
    """Return a command up to what it was told to do, without options and operands: ``uv run pytest``, ``bd create``."""
    words = command.text.split()
    _, rest = tool_of(words)
    is_told = bool(rest) and not _picks(rest[0]) and not rest[0].startswith("-")
    return " ".join(words[: len(words) - len(rest) + is_told])


def _note(text: str, shown: tuple[Ran, ...], cause: str, cure: Proven, tried: Proven) -> Note:
    runs_there = _RUNS_THERE.search(cure.text) is not None
    fetches = cure.purpose == "install" or (cure.program in _FETCHING and not runs_there)
    doubt = "its cure installs or fetches something" if fetches else ""
    about = frozenset((tried.text, cure.text))
    return Note("cure", "pattern", text, _CURE, "command_outcome", shown, cause, doubt=doubt, commands=about)


def _told(failed: Ran) -> str:
    """Return what a memory says of a cause: a program prints whatever it likes, and a sentence would be an order.

    The complaint about a call is told in its own words where it is short; of the rest what it names is enough. Files
    are called as in the project.
    """
    cause = failed.cause.replace(f"{failed.cwd}/", "") if failed.cwd else failed.cause
    if len(cause.split()) <= _MOST_CAUSE_WORDS and complaint_in(cause):
        return f" ({cause})"
    named = list(dict.fromkeys(_NAMED.findall(cause)))[:_MOST_NAMED]
    return f" ({', '.join(named)})" if named else ""
