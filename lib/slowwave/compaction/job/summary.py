"""The summary that is appended: the ledger of what goes away, proven, in the form that its client gives summaries.

A client that hides every message before a compaction would forget what was said a minute ago; there the newest
messages, up to what other clients would keep, stand in the summary word for word. The next compaction takes them out
again, since it gets the ledger of everything that they said.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from slowwave.compaction.cuts import find_cut
from slowwave.compaction.file_lists import NO_FILES, FileOperations, without_tags
from slowwave.compaction.job.reading import Reading
from slowwave.compaction.plan import Plan
from slowwave.compaction.rounds import wrapped_summary
from slowwave.compaction.serialise import PI_SEPARATOR, ULID_SEPARATOR, flat
from slowwave.compaction.triggers import Budget
from slowwave.formats.model import Message

if TYPE_CHECKING:
    from slowwave.compaction.ledger import Ledger
    from slowwave.compaction.proof import Loss, Probe

_RECENT = re.compile(r"\n*<recent-messages>\n.*?\n</recent-messages>", re.DOTALL)
_TURN = re.compile(r"\n*---\n\n\*\*Turn Context \(split turn\):\*\*\n.*?(?=\n+<(?:read|modified)-files>|\Z)", re.DOTALL)
# A request that is longer than so many characters stands in the ledger's own lines, and in the transcript.
_MOST_REQUEST = 2_000
_MOST_SAID = 500
# Of the tokens that other clients keep: here they are sent as text, without what thinking and images need.
_RECENT_SHARE = 2
# A summary takes at most this share of what it stands for, and never more than the ledger's own limit.
_SHARE = 3
_LEAST_BYTES = 1_500

Redact = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Gone:
    """What a summary stands for.

    Attributes:
        reading: the session.
        plan: what goes away of it.
        budget: the room for an answer, and the tokens that are kept.
        redact: takes secrets out.
    """

    reading: Reading
    plan: Plan
    budget: Budget
    redact: Redact

    @property
    def messages(self) -> list[Message]:
        """The messages that go away, in order."""
        return [item.message for item in self.plan.gone if item.message is not None]

    @property
    def previous(self) -> str:
        """The earlier summary, without the messages that it repeats; "" for the first one."""
        return _TURN.sub("", _RECENT.sub("", self.plan.previous_summary))

    @property
    def files(self) -> FileOperations:
        """The lists that the earlier compaction carries."""
        return next((item.files for item in reversed(self.reading.items) if item.kind == "compaction"), NO_FILES)

    @property
    def most_bytes(self) -> int:
        """About how long the summary may become."""
        return max(_LEAST_BYTES, int(self.plan.tokens_summarised * self.reading.rule.per_token / _SHARE))

    @property
    def separator(self) -> str:
        """What stands between the parts of a flat text for a model."""
        return ULID_SEPARATOR if self.reading.dialect == "ulid" else PI_SEPARATOR


class Summary(NamedTuple):
    """What stands in the place of what goes away.

    Attributes:
        text: the summary with its lists of files.
        files: all files, also those that the text has no room for.
        loss: what the proof found; None where nothing was proven.
        source: ``ledger``, or ``model`` where a model told the narrative.
        notes: why the model's own words are not in it, and what there was no room for.
    """

    text: str
    files: FileOperations
    loss: "Loss | None" = None
    source: str = "ledger"
    notes: tuple[str, ...] = ()


# What a summary takes at most, where it is not made: a dry run says what a plan comes to.
ROOM_BYTES = 16_000
ROOM = Summary("x" * ROOM_BYTES, NO_FILES)

Summarise = Callable[[Gone], Summary]


def summary_of(reading: Reading, plan: Plan, budget: Budget, summarise: Summarise, redact: Redact) -> Summary:
    """Return the summary of a plan in the form of its client."""
    made = summarise(Gone(reading, plan, budget, redact))
    text = made.text
    if made.source == "ledger" and made is not ROOM and (turn := _turn_context(plan)):
        text = _before_tags(text, turn)
    if not plan.kept and (recent := _recent(plan, budget)):
        text = _before_tags(text, recent)
    text = _sound(redact(text))
    # as its own client gives one to the model
    return made._replace(text=wrapped_summary(text) if reading.dialect == "cersei" else text)


def _before_tags(text: str, added: str) -> str:
    bare = without_tags(text)
    return bare.rstrip() + added + text[len(bare) :]


def _turn_context(plan: Plan) -> str:
    """Return what the end of a split turn needs in order to be understood: what was asked, and how far it came.

    A model is asked for it (``turnPrefixSummary`` of pi); without one it is told by what stands there.
    """
    said = [item for item in plan.prefix if item.message is not None]
    if not plan.kept or not said:
        return ""
    parts: list[str] = []
    if said[0].kind == "user" and said[0].message is not None:  # of a longer turn the beginning is told elsewhere
        parts.append(f"## Original Request\n{_shortened(said[0].message.text, _MOST_REQUEST)}")
    answers = [item.message for item in said if item.kind == "assistant" and item.message is not None]
    tools = Counter(call.name for message in answers for call in message.calls)
    lines = [f"- {number} x {name}" if number > 1 else f"- {name}" for name, number in tools.items()]
    told = next((message.text for message in reversed(answers) if message.text.strip()), "")
    lines += [f"- said last: {_shortened(told, _MOST_SAID)}"] if told else []
    if lines:
        parts.append("## Early Progress\n" + "\n".join(lines))
    return "\n\n---\n\n**Turn Context (split turn):**\n\n" + "\n\n".join(parts) if parts else ""


def _shortened(text: str, most: int) -> str:
    flat_text = " ".join(text.split())
    return flat_text if len(flat_text) <= most else f"{flat_text[:most]} [...]"


def by_ledger(gone: Gone) -> Summary:
    """Return the summary that needs no model."""
    ledger = ledger_for(gone)
    return proven(gone, ledger, probes_for(gone))


def ledger_for(gone: Gone) -> "Ledger":
    """Return the ledger of what goes away, no longer than what it stands for is worth."""
    from slowwave.compaction.ledger import LedgerSettings, ledger_of  # noqa: PLC0415 - few sessions of a night are due

    settings = LedgerSettings(most_bytes=min(LedgerSettings().most_bytes, gone.most_bytes))
    return ledger_of(
        gone.messages, gone.previous, gone.reading.cwd, files=gone.files, redact=gone.redact, settings=settings
    )


def probes_for(gone: Gone) -> "list[Probe]":
    """Return the questions that a summary has to answer."""
    from slowwave.compaction.proof import probes_of  # noqa: PLC0415 - as above

    return probes_of(gone.messages, gone.reading.cwd, redact=gone.redact)


def proven(
    gone: Gone, ledger: "Ledger", probes: "Sequence[Probe]", narrative: str = "", *, has_sections: bool = True
) -> Summary:
    """Return a ledger as a summary, with a narrative where there is one, and what it lost.

    Args:
        gone: what goes away.
        ledger: what is surely told.
        probes: what the summary is asked.
        narrative: what a model told.
        has_sections: it stands in the ledger's sections; other text stands before the ledger.
    """
    from slowwave.compaction.ledger import render  # noqa: PLC0415 - as above
    from slowwave.compaction.proof import checked  # noqa: PLC0415 - as above

    lead = "" if has_sections else without_tags(narrative).strip()
    if lead:
        lead = gone.redact(lead) + "\n\n"
        ledger = _beside(ledger, lead)
    made = render(ledger, narrative if has_sections else "", redact=gone.redact)
    text = lead + made.text
    notes = (f"no room for {len(made.dropped)} lines",) if made.dropped else ()
    if made.read_left_out:
        notes += (f"no room for {len(made.read_left_out)} files that were only read",)
    source = "model" if narrative else "ledger"
    return Summary(text, ledger.files, checked(probes, text), source, notes)


def _beside(ledger: "Ledger", lead: str) -> "Ledger":
    """Return a ledger that leaves room for a text before it, and takes at least half of the room itself."""
    most = ledger.settings.most_bytes
    left = max(most - len(lead.encode("utf-8", "surrogatepass")), most // 2)
    return replace(ledger, settings=replace(ledger.settings, most_bytes=left))


def _recent(plan: Plan, budget: Budget) -> str:
    items = [item for item in (*plan.history, *plan.prefix) if item.message is not None]
    most = budget.keep_recent_tokens // _RECENT_SHARE
    at = find_cut(items, most).first_kept
    if at == 0 and plan.earlier is None:
        return ""  # a summary that repeats all of it would be longer than what it stands for
    text = flat(item.message for item in items[at:] if item.message is not None)
    return f"\n\n<recent-messages>\n{text}\n</recent-messages>" if text.strip() else ""


def _sound(text: str) -> str:
    """Return text that can be written: half a surrogate pair, as damaged files have them, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
