"""What the guards against attacks cost: genuine memories that are found without them and lost with them."""

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from slowwave.extraction import taint
from tests.quality.attack_frames import frames
from tests.quality.beside import CORPUS, GOLD, missing
from tests.quality.blocks import blocks
from tests.quality.gold_found import findings_of
from tests.quality.gold_labels import Place, by_session, labels, merged
from tests.quality.intervals import counted
from tests.quality.reading import extracted
from tests.quality.scores import scored
from tests.quality.table import Table
from tests.quality.typed_session import typed_session


def _is_never(_text: str) -> bool:
    return False


def _all_own(text: str) -> taint.Words:
    return taint.Words(taint.visible(text))


def _no_echoes(_sentences: object, _heard: object) -> dict[int, str]:
    return {}


# guards by name, and what stands in for them when they are off
_OFF: dict[str, Callable[..., object]] = {
    "is_hostile": _is_never,
    "own_words": taint.visible,
    "words_of": _all_own,
    "echoes": _no_echoes,
}


@dataclass(slots=True)
class Benign:
    """What was lost of what was there to be found.

    Attributes:
        total: genuine candidates on clean sessions without guards; 0 when there are no labelled sessions.
    """

    lost: int = 0
    total: int = 0
    tables: list[Table] = field(default_factory=list[Table])
    notes: list[str] = field(default_factory=list[str])
    listed: list[str] = field(default_factory=list[str])

    @property
    def loss(self) -> float:
        """The share that was lost."""
        return self.lost / self.total if self.total else 0.0


@contextmanager
def unguarded() -> Generator[int]:
    """Switch the guards off for a while; yields at how many places they were in use.

    Raises:
        RuntimeError: none is in use any more, and nothing would be measured.
    """
    kept = [
        (module, name, getattr(module, name))
        for path, module in sorted(sys.modules.items())
        for name in _OFF
        if path.startswith("slowwave.extraction") and hasattr(module, name)
    ]
    if {name for _, name, _ in kept} != set(_OFF):
        raise RuntimeError(f"guards not found: {set(_OFF)}")
    for module, name, _ in kept:
        setattr(module, name, _OFF[name])
    _forget()
    try:
        yield len(kept)
    finally:
        for module, name, guard in kept:
            setattr(module, name, guard)
        _forget()


def _forget() -> None:
    """Clear what extraction keeps of texts: it was worked out with the guards as they were."""
    for path, module in sorted(sys.modules.items()):
        for function in vars(module).values() if path.startswith("slowwave.extraction") else ():
            clear = getattr(function, "cache_clear", None)
            if callable(clear):
                clear()


def benign_table() -> Benign:
    """Return what is lost on labelled sessions, and of sentences that use the words of attacks and mean no harm."""
    result = Benign()
    rows: list[tuple[str, ...]] = []
    absent = missing(GOLD, CORPUS)
    if absent:
        result.notes.append(f"benign loss on real sessions SKIPPED: {absent}")
    else:
        _on_gold(result)
        rows.append(("genuine candidates of labelled sessions", *counted(result.lost, result.total)))
    lines = (Path(__file__).parent / "benign.txt").read_text(encoding="utf-8").splitlines()
    said = [line for line in lines if line and not line.startswith("#")]
    with_guards = _kept(said)
    with unguarded():
        without = _kept(said)
    lost = sorted(without - with_guards)
    _in_messages(result, rows)
    rows.append(("sentences with the words of attacks", *counted(len(lost), len(without))))
    header = ("", "lost", "share", "95 %")
    result.tables.append(Table("Lost by the guards, of what is found without them", header, rows))
    result.listed += [f"  lost by a guard  {line}" for line in lost]
    return result


def _in_messages(result: Benign, rows: list[tuple[str, ...]]) -> None:
    """Measure what is lost of rules that people state beside a paste, a question or an order."""
    wordings = next(lines for _, lines in blocks("attack_wordings.txt"))
    planned = [
        (f"tool{number:02}x{turn}", frame, wording)
        for number, (_, frame) in enumerate(frames("benign_messages.txt"))
        for turn, wording in enumerate(wordings)
    ]
    with typed_session([frame.replace("{}", wording.format(name)) for name, frame, wording in planned]) as path:
        texts = " \n ".join(c.text for c in extracted([path]))
    lost = [frame for name, frame, _ in planned if name not in texts]
    rows.append(("rules stated beside something else", *counted(len(lost), len(planned))))
    result.listed += [f"  lost by a guard, in a message  {frame!r}" for frame in dict.fromkeys(lost)]


def _on_gold(result: Benign) -> None:
    known = by_session(merged(labels()))
    projects: dict[Path, list[Path]] = {}
    for path in known:
        projects.setdefault(path.parent, []).append(path)

    def right() -> dict[tuple[Path, frozenset[Place]], str]:
        found = findings_of(c for paths in projects.values() for c in extracted(paths))
        judged = [scored(path, of, found) for path, of in known.items()]
        return {(s.session, f.places): f.text for s in judged for f in s.right}

    guarded = right()
    with unguarded():
        free = right()
    lost = [text for place, text in free.items() if place not in guarded]
    result.total, result.lost = len(free), len(lost)
    result.listed += [f"  lost by a guard, labelled  {text[:160]}" for text in lost]


def _kept(sentences: Sequence[str]) -> set[str]:
    """Return which sentences become candidates when a person types them."""
    with typed_session(sentences) as path:
        texts = " \n ".join(e.quote for c in extracted([path]) for e in c.evidence)
    return {sentence for sentence in sentences if sentence[:60] in texts}
