"""What commands proved: how a project is tested, checked and built, and what cured a failure.

A routine is a command of the project's own that worked, without what picks a file or a case. A cure is a failure and
the first thing after it that made the same work, while no file was changed between: another call for the same purpose,
the same call in another environment or without the word that the program refused, or exactly one step before the same
call. A failing run proves nothing but a failure.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rapidfuzz.fuzz import token_set_ratio

from slowwave.extraction.notes import Note
from slowwave.reading.items import Edited, Ran, Reading
from slowwave.shell.commands import Proven
from slowwave.shell.reports import complaint_in

_WHAT = {
    "test": "Tests are run",
    "lint": "Linting is done",
    "format": "Code is formatted",
    "typecheck": "Types are checked",
    "check": "Changes are checked",
    "build": "Builds are made",
}
# what a project names itself; the rest any agent tries without being told
_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun", "make", "just", "task", "mise", "tox", "nox", "rake", "composer",
                      "poe", "invoke", "hatch", "pdm", "uv", "docker", "poetry"})  # fmt: skip
_PICKS = ("-k", "-run", "--run", "-t", "--filter", "--grep", "-c", "-e", "-o", "--help", "--version", "-h")
# programs that only look: that they find nothing, or something, proves nothing
_LOOKING = frozenset({"ls", "cat", "find", "grep", "rg", "head", "tail", "stat", "wc", "which", "test", "sed", "awk",
                      "tree", "du", "diff", "type", "ps", "cd", "echo", "git", "curl", "jq", "sleep",
                      "kill"})  # fmt: skip
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
    """Return the checks that came between the last change and a commit, where there were several."""
    since: dict[str, Ran] = {}
    gates: list[dict[str, Ran]] = []
    for item in reading.items:
        if isinstance(item, Edited):
            since = {}
        elif isinstance(item, Ran):
            done = [command for command in item.run.commands if command.outcome == "succeeded"]
            since |= {c.text: item for c in done if c.purpose in _WHAT and is_general(c)}
            if any(c.text.startswith("git commit") for c in done) and len(since) > 1:
                gates.append(since)
                since = {}
    if not gates:
        return []
    gate = max(gates, key=len)
    line = f"Before a commit: {', '.join(f'`{text}`' for text in gate)}"
    shown = tuple(dict.fromkeys(gate.values()))[:_MOST_SHOWN]
    quote = "; ".join(gate)
    return [Note("gate", "pattern", line, _GATE, "command_outcome", shown, quote, "cmd:commit", quote)]


def _routines(runs: Sequence[Ran]) -> Iterator[Note]:
    proven: dict[tuple[str, str], list[Ran]] = {}
    for ran in runs:
        for command in ran.run.commands:
            if command.outcome == "succeeded" and command.purpose in _WHAT and is_general(command):
                proven.setdefault((command.purpose, command.text), []).append(ran)
    runners = Counter(text.split()[0] for _, text in proven)
    for (purpose, text), shown in proven.items():
        is_own = text.split()[0] in _RUNNERS or text.startswith("./")
        # one runner for several purposes is the project's own, also where each was needed just once
        if len(shown) > 1 or (is_own and runners[text.split()[0]] > 1):
            confidence = _OWN if is_own else _COMMON
            line = f"{_WHAT[purpose]} with `{text}`"
            evidence = tuple(shown[:_MOST_SHOWN])
            yield Note(
                "routine", "pattern", line, confidence, "command_outcome", evidence, text, f"cmd:{text}", purpose
            )


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
        if tried is None or len(_typed(tried)) > _MOST_LINE:
            continue
        told.add(failed.line)
        yield from _cure(failed, tried, reading)


def _cure(failed: Ran, tried: Proven, reading: Reading) -> Iterator[Note]:
    """Yield what made a failed command work, if one thing did and no file was changed meanwhile."""
    between: list[tuple[Ran, Proven]] = []
    later = reading.items[failed.order + 1 :]
    for item in [one for one in later if isinstance(one, Ran | Edited)][:_LOOK_AHEAD]:
        if isinstance(item, Edited):
            return
        for command in item.run.commands:
            if command.outcome != "succeeded":
                continue
            if _typed(command) == _typed(tried):
                if len(between) == 1 and tried.program not in _LOOKING:
                    ran, step = between[0]
                    what = f"`{_typed(tried)}` fails{_told(failed.cause)} until `{_typed(step)}` was run"
                    yield _note(what, (failed, ran, item), failed.cause, step)
                return
            if _is_other_way(tried, command, failed.cause):
                if not between:  # after a step nobody knows which of the two it was
                    what = f"`{_typed(tried)}` fails{_told(failed.cause)}; `{_typed(command)}` works"
                    yield _note(what, (failed, item), failed.cause, command)
                return
            if command.program not in _LOOKING and len(_typed(command)) <= _MOST_LINE:
                between.append((item, command))


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
