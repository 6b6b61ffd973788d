"""Records of a trail as the items of a plan, by the rules of the client that wrote them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from slowwave.compaction.claude_items import claude_items
from slowwave.compaction.codex_items import codex_items
from slowwave.compaction.estimates import rule_of
from slowwave.compaction.items import Item, items_of
from slowwave.compaction.live.linear import CERSEI_ENTRIES
from slowwave.compaction.pi_entries import pi_items
from slowwave.dialects.cersei.records import CerseiMessage
from slowwave.dialects.claude.context import sent
from slowwave.dialects.claude.records import DECODER as CLAUDE_RECORDS
from slowwave.dialects.claude.records import Node
from slowwave.dialects.codex.records import DECODER as CODEX_LINES
from slowwave.dialects.codex.records import line_of
from slowwave.dialects.codex.replay import repaired, replay
from slowwave.dialects.crabtalk.records import DECODER as CRABTALK_LINES
from slowwave.dialects.crabtalk.records import CrabtalkMessage
from slowwave.dialects.pi.load import Loaded
from slowwave.dialects.pi.records import DECODER as PI_ENTRIES
from slowwave.dialects.pi.records import entry_of
from slowwave.dialects.ulid.records import DECODER as ULID_RECORDS
from slowwave.dialects.ulid.records import UlidMessage
from slowwave.records.model import Span

Records = Sequence[tuple[Span, Any]]


class About(NamedTuple):
    """What the whole of a session says about each of its records.

    Attributes:
        cwd: the working folder of the session.
        version: of the client (Claude Code).
    """

    cwd: str = ""
    version: tuple[int, int] = (2, 1)


class Kind(NamedTuple):
    """How the records of a dialect are decoded and become items.

    Attributes:
        decoder: of one record.
        items: makes items of records that stand by themselves; the flag says that nothing follows them.
    """

    decoder: msgspec.json.Decoder[Any]
    items: Callable[[Records, About, bool], list[Item]]


def _cersei(records: Records, _about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001 - one of a table
    return items_of([CerseiMessage(entry, span) for span, entry in records], rule_of("cersei"))


def _crabtalk(records: Records, _about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001
    return items_of([CrabtalkMessage(line, span) for span, line in records], rule_of("crabtalk"))


def _ulid(records: Records, _about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001
    return items_of([UlidMessage(record, span) for span, record in records], rule_of("ulid"))


def _pi(records: Records, about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001
    entries = [entry_of(env, span) for span, env in records]
    return pi_items(entries, Loaded(entries, 3), about.cwd)


def _claude(records: Records, about: About, is_end: bool) -> list[Item]:  # noqa: FBT001
    nodes = [Node(env, span, index) for index, (span, env) in enumerate(records)]
    return claude_items(sent(nodes, about.version, is_end=is_end))


def _codex(records: Records, _about: About, _is_end: bool) -> list[Item]:  # noqa: FBT001
    return codex_items(repaired(replay([line_of(span, env) for span, env in records], is_parsed=True)))


KINDS = {
    "cersei": Kind(CERSEI_ENTRIES, _cersei),
    "crabtalk": Kind(CRABTALK_LINES, _crabtalk),
    "ulid": Kind(ULID_RECORDS, _ulid),
    "pi": Kind(PI_ENTRIES, _pi),
    "openclaw": Kind(PI_ENTRIES, _pi),
    "claude": Kind(CLAUDE_RECORDS, _claude),
    "codex": Kind(CODEX_LINES, _codex),
}
