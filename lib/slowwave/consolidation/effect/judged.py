"""What a session made of the demands of memories, by its commands and edits alone.

A breach outweighs what was kept. What a person asked for in so many words is no breach; what they refused to let an
agent do is one.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath

from slowwave.consolidation.effect.demands import Call, Demand
from slowwave.consolidation.likeness import words_of
from slowwave.extraction.practice import is_general
from slowwave.reading.items import Edited, Item, Ran, Reading, Said
from slowwave.shell.commands import Proven, commands_of
from slowwave.shell.purposes import is_ask
from slowwave.shell.tree import Word

_SENTENCE = re.compile(r"[.!?\n]+(?:\s|$)|\n")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a session made of one memory.

    Attributes:
        is_kept: whether it was followed.
        item: what shows it.
    """

    is_kept: bool
    item: Item


@dataclass(frozen=True, slots=True)
class _Act:
    """A command that an agent ran, or a file that it changed."""

    item: Item
    command: Proven | None = None
    path: str = ""
    is_done: bool = True


def verdicts(reading: Reading, demands: Mapping[str, Demand]) -> dict[str, Verdict]:
    """Return what a session made of memories, by their ids; nothing of those that had no occasion.

    Args:
        reading: the session.
        demands: by memory, what it demands; all that the session was told.
    """
    acts = list(_acts(reading))
    others = {name: [c for n, d in demands.items() if n != name for c in d.wanted] for name in demands}
    found: dict[str, Verdict] = {}
    for name, demand in demands.items():
        every = list(_JUDGES[demand.kind](demand, acts, reading, others[name]))
        breach = next((one for one in every if not one.is_kept), None)
        if every:
            found[name] = breach or every[0]
    return found


def _acts(reading: Reading) -> Iterator[_Act]:
    for item in reading.items:
        if isinstance(item, Ran):
            for command in item.run.commands:
                if not _only_asks(command):
                    is_done = command.outcome == "succeeded" or (command.outcome == "unknown" and item.run.ok)
                    yield _Act(item, command, is_done=is_done)
        elif isinstance(item, Edited):
            yield _Act(item, path=_relative(item))
        elif isinstance(item, Said) and item.channel == "refusal":
            # the name of the tool stands before what was refused
            for command in commands_of(item.refused.partition(" ")[2]):
                yield _Act(item, command, is_done=False)


def _only_asks(command: Proven) -> bool:
    return is_ask([Word(text) for text in command.text.split()])


def _relative(item: Edited) -> str:
    path, folder = PurePosixPath(item.path), item.cwd
    return str(path.relative_to(folder)) if folder and path.is_relative_to(folder) else str(path)


def _choice(demand: Demand, acts: Sequence[_Act], reading: Reading, _: Sequence[Call]) -> Iterator[Verdict]:
    for act in acts:
        if act.path:
            if any(is_within(act.path, one) for one in demand.paths):
                yield Verdict(is_kept=False, item=act.item)
            elif any(is_within(act.path, one) for one in demand.instead):
                yield Verdict(is_kept=True, item=act.item)
        elif act.command is not None:
            command = act.command
            refused = [call for call in demand.refused if call.fits(command)]
            wanted = [call for call in demand.wanted if call.fits(command)]
            if refused and _width(refused) > _width(wanted):
                if not any(_is_wished(call, act.item, reading) for call in refused):
                    yield Verdict(is_kept=False, item=act.item)
            elif not refused or wanted:
                # the same call without the option that is refused
                bare = [Call(call.words) for call in demand.refused if call.words and call.options]
                if wanted or any(call.fits(command) for call in bare):
                    yield Verdict(is_kept=True, item=act.item)


def _other_way(demand: Demand, acts: Sequence[_Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
    for act in acts:
        if act.command is None:
            continue
        works = [call for call in demand.wanted if call.fits(act.command, launched=False)]
        tried = [call for call in demand.refused if call.fits(act.command, launched=False)]
        if works and _width(works) >= _width(tried):
            yield Verdict(is_kept=True, item=act.item)
        elif tried and works:
            continue
        elif tried and act.command.outcome == "failed":
            yield Verdict(is_kept=False, item=act.item)


def _step(demand: Demand, acts: Sequence[_Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
    is_prepared = False
    for act in acts:
        if act.command is None:
            continue
        if any(call.fits(act.command, launched=False) for call in demand.wanted):
            is_prepared = is_prepared or act.command.outcome != "failed"
        elif any(call.fits(act.command, launched=False) for call in demand.refused):
            if is_prepared and act.is_done:
                yield Verdict(is_kept=True, item=act.item)
            elif not is_prepared and act.command.outcome == "failed":
                yield Verdict(is_kept=False, item=act.item)


def _purpose(demand: Demand, acts: Sequence[_Act], _: Reading, others: Sequence[Call]) -> Iterator[Verdict]:
    own = [act for act in acts if act.command is not None and any(call.fits(act.command) for call in demand.wanted)]
    if own:
        yield Verdict(is_kept=True, item=own[0].item)
        return
    for act in acts:
        command = act.command
        if command is None or command.purpose != demand.purpose or not is_general(command):
            continue
        # another memory may ask for what was run
        if not any(call.fits(command) for call in others):
            yield Verdict(is_kept=False, item=act.item)


def _gate(demand: Demand, acts: Sequence[_Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
    end = Call(("git", demand.until))
    passed: set[Call] = set()
    is_changed = False
    for act in acts:
        if act.command is None:
            passed, is_changed = set[Call](), True
        elif end.fits(act.command):
            if act.is_done and (is_changed or passed):
                yield Verdict(is_kept=passed >= set(demand.wanted), item=act.item)
                is_changed = False
        elif act.command.outcome != "failed":
            passed |= {call for call in demand.wanted if call.fits(act.command)}


def _after(demand: Demand, acts: Sequence[_Act], _: Reading, __: Sequence[Call]) -> Iterator[Verdict]:
    open_since: _Act | None = None
    for act in acts:
        if act.path and any(is_within(act.path, one) for one in demand.paths):
            open_since = act
        elif act.command is not None and open_since and any(call.fits(act.command) for call in demand.wanted):
            yield Verdict(is_kept=True, item=act.item)
            open_since = None
    if open_since is not None:
        yield Verdict(is_kept=False, item=open_since.item)


_Judge = Callable[[Demand, Sequence[_Act], Reading, Sequence[Call]], Iterator[Verdict]]
_JUDGES: dict[str, _Judge] = {
    "choice": _choice,
    "other way": _other_way,
    "step": _step,
    "purpose": _purpose,
    "gate": _gate,
    "after": _after,
}


def is_within(path: str, pattern: str) -> bool:
    """Say whether a file is what a pattern names, or lies in it: ``src/gen``, ``*.pb.go``, ``docs/**/index.md``."""
    parts, own = PurePosixPath(path).parts, PurePosixPath(pattern).parts
    own = own[:-1] if own and own[-1] == "**" else own
    last = len(parts) - len(own)
    if any(all(map(fnmatch, parts[at : at + len(own)], own)) for at in range(last + 1)):
        return True
    return "**" in own and fnmatch(path, pattern.replace("**/", "*"))


def _width(calls: Sequence[Call]) -> int:
    return max((call.width for call in calls), default=-1)


def _is_wished(call: Call, item: Item, reading: Reading) -> bool:
    """Say whether a person asked for a call in so many words before it was made."""
    wanted = re.compile(rf"(?<![\w-]){re.escape(' '.join((*call.words, *sorted(call.options))))}(?![\w-])")
    return any(
        wanted.search(sentence) and not words_of(sentence).negations
        for said in reading.said("person")
        if said.order < item.order and said.channel != "refusal"
        for sentence in _SENTENCE.split(said.own)
    )
