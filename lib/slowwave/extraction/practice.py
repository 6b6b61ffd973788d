"""How a project is tested, checked and built, as commands proved it.

A routine is a command of the project's own that worked, without what picks a file or a case; a gate the checks that ran
before a commit, or all of the project's own that a session ran. What made a failed command work is in :mod:`.cures`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from slowwave.extraction.candidates import Note
from slowwave.reading.items import Edited, Ran, Reading
from slowwave.shell.commands import Proven, Purpose
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
_MOST_WORDS = 5
# a longer command is for one occasion
MOST_LINE = 110
_MOST_NAMED = 3
_MOST_SHOWN = 6
# How likely each kind is worth loading (docs/decisions/0030): of routines of one session readers wanted 3 in 14, so
# they wait until several sessions show the same; checks before a commit 4 in 7.
_GATE, _TOGETHER, _OWN, _COMMON = 0.66, 0.6, 0.4, 0.3


def practice(reading: Reading) -> Iterator[Note]:
    """Yield the gate of a session, or else its routines."""
    runs = [item for item in reading.items if isinstance(item, Ran)]
    yield from _gate(reading) or _together(runs) or _routines(runs)


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


def _together(runs: Sequence[Ran]) -> list[Note]:
    """Return all checks of the project's own that passed in a session, where they are for several purposes."""
    proven: dict[Purpose, dict[str, Ran]] = {}
    for ran in runs:
        for command in ran.run.commands:
            is_check = command.purpose in _WHAT and command.purpose != "build" and command.outcome == "succeeded"
            if is_check and is_general(command) and _is_own(command.text):
                proven.setdefault(command.purpose, {}).setdefault(command.text, ran)
    if len(proven) < 2:  # noqa: PLR2004 - for one purpose it is a routine
        return []
    calls = {text: ran for of in proven.values() for text, ran in of.items()}
    shown = tuple(sorted(calls.values(), key=lambda ran: ran.order))[:_MOST_SHOWN]
    quote = "; ".join(calls)
    line = f"Changes are checked with {', '.join(f'`{text}`' for text in calls)}"
    return [Note("checks", "pattern", line, _TOGETHER, "command_outcome", shown, quote, "cmd:commit", quote)]


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
    return 0 < len(words) <= _MOST_WORDS and len(command.text) <= MOST_LINE and not any(map(picks, words[1:]))


def picks(word: str) -> bool:
    """Say whether a word of a command picks a file, a folder or a case."""
    if word in ("./...", "."):
        return False
    return (
        word.split("=", maxsplit=1)[0] in _PICKS
        or "/" in word
        or "::" in word
        or not word.isascii()
        or word[0] in "~'\"$<["
    )
