"""Files that change together: edited in the same turns again and again (after ROSE, Zimmermann et al., ICSE 2004)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from slowwave.extraction.events import Edit, Events
from slowwave.extraction.found import Found

NAME = "coedit"
_SUPPORT = 3
_CONFIDENCE = 0.75
# a turn that changes more files than this is a sweep over all of them
_MOST_FILES = 12


def mine_coedits(events: Events) -> Iterator[Found]:
    """Yield pairs of files that were changed in at least three turns together, and hardly ever alone."""
    turns = _by_turn(events)
    alone: Counter[str] = Counter(path for files in turns for path in files)
    pairs: Counter[tuple[str, str]] = Counter(
        pair for files in turns if len(files) <= _MOST_FILES for pair in combinations(sorted(files), 2)
    )
    told: set[str] = set()
    for (one, other), together in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        if together >= _SUPPORT and together >= _CONFIDENCE * max(alone[one], alone[other]) and not {one, other} & told:
            told |= {one, other}  # of a group that changes together its strongest pair is enough
            yield _found(one, other, [files for files in turns if one in files and other in files])


def _by_turn(events: Events) -> list[dict[str, Edit]]:
    """Return the files that were changed between two turns of the person, with their last edits."""
    starts = [turn.order for turn in events.turns]
    turns: list[dict[str, Edit]] = []
    number = -1
    for edit in events.edits:
        index = sum(start < edit.order for start in starts)
        if index != number:
            turns.append({})
            number = index
        turns[-1][edit.path] = edit
    return turns


def _found(one: str, other: str, turns: Sequence[dict[str, Edit]]) -> Found:
    shown = tuple(files[path] for files in turns[:_SUPPORT] for path in (one, other))
    text = f"`{one}` and `{other}` change together ({len(turns)} times)"
    return Found(NAME, "pattern", text, 0.15, "command_outcome", tuple(sorted(shown, key=lambda e: e.order)), one)
