"""Regions of real sessions that a compaction would summarise, or that a client did, with the summary that it made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowwave.compaction.items import inner_text, items_of
from slowwave.compaction.plan import KEEP_RECENT_TOKENS, find_cut
from slowwave.compaction.tokens import PI, rule_of
from slowwave.formats import Message
from slowwave.formats.registry import sniff
from tests.quality.beside import corpus_sessions
from tests.quality.reading import transcript_of

# what is shorter need not be compacted
_LEAST_TOKENS = 12_000
_LEAST_SUMMARY = 500


@dataclass(frozen=True)
class Region:
    """What goes away of a session.

    Attributes:
        name: of the session's file.
        messages: what is summarised.
        cwd: where its client ran.
        real: the summary that the client's model made of it; "" where none is known.
    """

    name: str
    messages: list[Message]
    cwd: str
    real: str = ""

    @property
    def tokens(self) -> int:
        """Estimate of its size."""
        return PI.of_messages(self.messages)


def regions() -> Iterator[Region]:
    """Yield the regions of all long sessions, copies of one session once; the client's own where it compacted."""
    met: set[tuple[str, ...]] = set()
    for path in corpus_sessions():
        own = [m for m in transcript_of(path).messages if m.active and not m.sidechain]
        # later checkpoints of a session begin with the same words as earlier ones
        begin = tuple(m.text[:300] for m in own if m.origin == "typed")[:2]
        region = _of_client(path.name, own) or _planned(path.name, own, rule=sniff(path) or "")
        if region is not None and region.tokens >= _LEAST_TOKENS and begin not in met:
            met.add(begin)
            yield region


def _of_client(name: str, own: Sequence[Message]) -> Region | None:
    at = next((i for i, m in enumerate(own) if m.origin == "summary"), None)
    if at is None or len(own[at].text) < _LEAST_SUMMARY:
        return None
    return Region(name, list(own[:at]), _folder(own), inner_text(own[at].text))


def _planned(name: str, own: Sequence[Message], rule: str) -> Region | None:
    until = next((i for i, m in enumerate(own) if m.origin == "summary"), len(own))
    items = items_of(own[:until], rule_of(rule))
    if not items:
        return None
    cut = find_cut(items, KEEP_RECENT_TOKENS)
    return Region(name, list(own[: cut.first_kept]), _folder(own))


def _folder(own: Sequence[Message]) -> str:
    return next((m.cwd for m in own if m.cwd), "")
