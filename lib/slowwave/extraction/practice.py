"""What commands proved: how a project is tested, checked and built, and what cured a failure.

A routine is a command of the project's own that worked, without what picks a file or a case. A cure is a failure and
the first thing after it that made the same work, while no file was changed between: another call for the same purpose,
the same call in another environment or without the word that the program refused, or exactly one step before the same
call. A failing run proves nothing but a failure, and a check that found something works: what it found was mended.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rapidfuzz.fuzz import token_set_ratio

from slowwave.extraction.candidates import Note
from slowwave.reading.items import Edited, Ran, Reading, Said
from slowwave.shell.commands import Proven, Purpose, complaint_in, setup_error
from slowwave.shell.purposes import variant_of

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
# programs that only look: that they find nothing, or something, proves nothing
_LOOKING = frozenset({"ls", "cat", "find", "grep", "rg", "head", "tail", "stat", "wc", "which", "test", "sed", "awk",
                      "tree", "du", "diff", "type", "ps", "cd", "echo", "git", "curl", "jq", "sleep",
                      "kill"})  # fmt: skip
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
_FETCHING = frozenset({"curl", "wget", "git", "brew", "apt", "apt-get", "npx", "uvx", "bunx", "gh", "docker"})
_MOST_WORDS = 5
_MOST_LINE = 110
_MOST_CAUSE_WORDS = 8
# of a cause: the class or code of an error, options, names in quotes
_NAMED = re.compile(
    r"\b\w*(?:Error|Exception|Failure)\b|\bE[A-Z]{3,}\b|\b[A-Z]+\d{2,}\b|(?<!\S)--?[\w-]+|'[^\s']{1,60}'"
)
_MOST_NAMED = 3
_MOST_SHOWN = 6
_LOOK_AHEAD = 8
_ALIKE = 60
# How likely each kind is worth loading (docs/decisions/0030): of routines of one session readers wanted 3 in 14, so
# they wait until several sessions show the same; checks before a commit and cures 4 in 7.
_GATE, _OWN, _COMMON, _CURE = 0.66, 0.4, 0.3, 0.66


def practice(reading: Reading) -> Iterator[Note]:
    """Yield the routines and the cures of a session."""
    gate = _gate(reading)
    yield from gate
    if not gate:
        yield from _routines([item for item in reading.items if isinstance(item, Ran)])
    yield from _cures(reading)


def _gate(reading: Reading) -> list[Note]:
    """Return the checks that came between the last change and a commit, where several of them passed.

    Where that is so, the others that were run are told as well, if only a filter hides how they ended: a gate without
    one of its checks is another one.
    """
    since: dict[str, Ran] = {}
    passed: set[str] = set()
    gates: list[dict[str, Ran]] = []
    for item in reading.items:
        if isinstance(item, Edited):
            since, passed = {}, set()
        elif isinstance(item, Ran):
            _take_checks(item, since, passed)
            is_done = any(c.text.startswith("git commit") and c.outcome == "succeeded" for c in item.run.commands)
            if is_done and len(passed) > 1:
                gates.append(since)
                since, passed = {}, set()
    if not gates:
        return []
    gate = max(gates, key=len)
    line = f"Before a commit: {', '.join(f'`{text}`' for text in gate)}"
    shown = tuple(dict.fromkeys(gate.values()))[:_MOST_SHOWN]
    quote = "; ".join(gate)
    return [Note("gate", "pattern", line, _GATE, "command_outcome", shown, quote, "cmd:commit", quote)]


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
        yield Note("routine", "pattern", line, confidence, "command_outcome", evidence, text, f"cmd:{text}", purpose)


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


def _cures(reading: Reading) -> Iterator[Note]:
    told: set[str] = set()
    for failed in reading.items:
        if not isinstance(failed, Ran) or failed.run.ok or not failed.cause or failed.line in told:
            continue
        tried = next((c for c in failed.run.commands if c.outcome == "failed"), None)
        if tried is None or len(_typed(tried)) > _MOST_LINE or _ONE_OFF.search(tried.text):
            continue
        told.add(failed.line)
        yield from _cure(failed, tried, reading)


def _cure(failed: Ran, tried: Proven, reading: Reading) -> Iterator[Note]:
    """Yield what made a failed command work, if one thing did and nothing else was changed meanwhile."""
    between: list[tuple[Ran, Proven]] = []
    is_alone = True
    later = reading.items[failed.order + 1 :]
    for item in [one for one in later if isinstance(one, Ran | Edited | Said)][:_LOOK_AHEAD]:
        if isinstance(item, Edited):
            return
        if isinstance(item, Said):
            # whoever was asked may have done it
            is_alone = is_alone and item.speaker != "person"
            continue
        for command in item.run.commands:
            if command.outcome == "succeeded" and _typed(command) == _typed(tried):
                if len(between) == 1 and is_alone and _is_step(between[0][1], failed, tried, reading):
                    ran, step = between[0]
                    what = f"`{_typed(tried)}` fails{_told(failed.cause)} until `{_typed(step)}` was run"
                    yield _note(what, (failed, ran, item), failed.cause, step)
                return
            if command.outcome == "succeeded" and _is_other_way(tried, command, failed.cause):
                # after a step nobody knows which of the two it was
                if not between and _is_broken(failed, tried, item, command, reading):
                    what = f"`{_typed(tried)}` fails{_told(failed.cause)}; `{_typed(command)}` works"
                    yield _note(what, (failed, item), failed.cause, command)
                return
            if command.outcome != "failed" and _may_change(command):
                between.append((item, command))
        is_alone = is_alone and not _WRITES.search(item.line)


def _may_change(command: Proven) -> bool:
    """Say whether a command may have changed something, as far as its words tell."""
    words = command.text.split()
    if command.program == "git":
        return not _LOOKS_OF_GIT.intersection(words[1:])
    if command.program in _CHANGES:
        return any(word.startswith(_CHANGES[command.program]) for word in words[1:])
    return command.program == "kill" or command.program not in _LOOKING


def _is_step(step: Proven, failed: Ran, tried: Proven, reading: Reading) -> bool:
    """Say whether the one step before a call that works was what it lacked when it failed."""
    call = _typed(step)
    if step.outcome != "succeeded" or {step.program, tried.program} & _LOOKING:
        return False
    if len(call) > _MOST_LINE or _ONE_OFF.search(step.text):
        return False
    if _has_findings(failed, tried) and step.purpose in {tried.purpose, "lint", "format"}:
        return False  # it mended what was found
    before = [c for one in reading.items[: failed.order] if isinstance(one, Ran) for c in one.run.commands]
    return not any(c.outcome == "succeeded" and _typed(c) == call for c in before)


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
    if tried.purpose not in _WHAT or failed.run.code in _CANNOT_RUN:
        return False
    return _PLACE.match(failed.cause) is not None or not setup_error(failed.cause)


def _typed(command: Proven) -> str:
    """Return a command with the environment that it was given."""
    return f"{command.setting} {command.text}".strip()


def _is_other_way(tried: Proven, works: Proven, cause: str) -> bool:
    """Say whether a command does what another one was to do, called in another way."""
    if len(_typed(works)) > _MOST_LINE or tried.purpose != works.purpose:
        return False  # that the linter passes says nothing about a build that failed
    if tried.program == works.program and (tried.text == works.text or _is_without(tried, works, cause)):
        return True
    is_work = bool(tried.purpose) and tried.program not in _LOOKING and works.program not in _LOOKING
    before = tried.text.split()
    if any(_picks(word) and word not in before for word in works.text.split()):
        return False  # less was done
    return is_work and token_set_ratio(tried.text, works.text) >= _ALIKE


def _is_without(tried: Proven, works: Proven, cause: str) -> bool:
    """Say whether a command does the same without the option that the program refused by name."""
    action = tried.text.split()[:2]
    refused = {word for word in tried.text.split() if word[0] == "-"} & {w.strip("'\"`.,:;()") for w in cause.split()}
    return bool(refused - {*works.text.split()}) and works.text.split()[:2] == action


def _note(text: str, shown: tuple[Ran, ...], cause: str, cure: Proven) -> Note:
    fetches = cure.purpose == "install" or cure.program in _FETCHING
    doubt = "its cure installs or fetches something" if fetches else ""
    return Note("cure", "pattern", text, _CURE, "command_outcome", shown, cause, doubt=doubt)


def _told(cause: str) -> str:
    """Return what a memory says of a cause: a program prints whatever it likes, and a sentence would be an order.

    The complaint about a call is told in its own words where it is short; of the rest what it names is enough.
    """
    if len(cause.split()) <= _MOST_CAUSE_WORDS and complaint_in(cause):
        return f" ({cause})"
    named = list(dict.fromkeys(_NAMED.findall(cause)))[:_MOST_NAMED]
    return f" ({', '.join(named)})" if named else ""
