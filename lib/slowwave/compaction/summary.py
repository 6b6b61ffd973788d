"""The summary that is appended: the ledger of what goes away, proven, in the form that its client gives summaries.

A client that hides every message before a compaction would forget what was said a minute ago; there the newest
messages, up to what other clients would keep, stand in the summary word for word. The next compaction takes them out
again, since it gets the ledger of everything that they said.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, cast

from slowwave.compaction.files import NO_FILES, FileOperations, without_tags
from slowwave.compaction.items import Item
from slowwave.compaction.plan import Budget, Plan, cleared, cut_points, find_cut, prune
from slowwave.compaction.proof import THRESHOLD, checked, probes_of, verdict
from slowwave.compaction.reading import Reading
from slowwave.compaction.requests import (
    PI_SEPARATOR,
    ULID_SEPARATOR,
    Part,
    Request,
    flat,
    joined,
    prose_requests,
    requests,
    round_requests,
    wrapped_summary,
)
from slowwave.formats.model import Message
from slowwave.formats.registry import client_of
from slowwave.models.base import Ask, ContextOverflowError, LanguageModel, MalformedAnswerError, ModelError, Usage

if TYPE_CHECKING:
    from slowwave.compaction.entries import Ledger
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
    """What a summary stands for."""

    reading: Reading  # the session
    plan: Plan  # what goes away of it
    budget: Budget  # the room for an answer, and the tokens that are kept
    redact: Redact  # takes secrets out

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
        return ULID_SEPARATOR if self.reading.rules.as_ulid else PI_SEPARATOR


class Summary(NamedTuple):
    """What stands in the place of what goes away."""

    text: str  # the summary with its lists of files
    files: FileOperations  # all files, also those that the text has no room for
    loss: "Loss | None" = None  # what the proof found; None where nothing was proven
    source: str = "ledger"  # ``ledger``, or ``model`` where a model told the narrative
    notes: tuple[str, ...] = ()  # why the model's own words are not in it, and what there was no room for


Summarise = Callable[[Gone], Summary]


def summary_of(reading: Reading, plan: Plan, budget: Budget, summarise: Summarise, redact: Redact) -> Summary:
    """Return the summary of a plan in the form of its client."""
    made = summarise(Gone(reading, plan, budget, redact))
    text = made.text
    if made.source == "ledger" and (turn := _turn_context(plan)):
        text = _before_tags(text, turn)
    if not plan.kept and (recent := _recent(plan, budget)):
        text = _before_tags(text, recent)
    text = _sound(redact(text))
    # as its own client gives one to the model
    return made._replace(text=wrapped_summary(text) if reading.rules.is_wrapped else text)


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
    from slowwave.compaction.entries import LedgerSettings  # noqa: PLC0415 - few sessions of a night are due
    from slowwave.compaction.ledger import ledger_of  # noqa: PLC0415 - few sessions of a night are due

    settings = LedgerSettings(most_bytes=min(LedgerSettings().most_bytes, gone.most_bytes))
    return ledger_of(
        gone.messages, gone.previous, gone.reading.cwd, files=gone.files, redact=gone.redact, settings=settings
    )


def probes_for(gone: Gone) -> "list[Probe]":
    """Return the questions that a summary has to answer."""
    return probes_of(gone.messages, gone.reading.cwd, redact=gone.redact)


def proven(
    gone: Gone, ledger: "Ledger", probes: "Sequence[Probe]", narrative: str = "", *, has_sections: bool = True
) -> Summary:
    """Return a ledger as a summary, with a narrative where there is one, and what it lost.

    ``gone``: what goes away. ``ledger``: what is surely told. ``probes``: what the summary is asked. ``narrative``:
    what a model told. ``has_sections``: it stands in the ledger's sections; other text stands before the ledger.
    """
    from slowwave.compaction.ledger import render  # noqa: PLC0415 - as above

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
    items = [item for item in plan.gone if item.message is not None]
    most = budget.keep_recent_tokens // _RECENT_SHARE
    at = find_cut(items, most).first_kept
    if at == 0:
        return ""  # a summary that repeats all of it would be longer than what it stands for
    text = flat(item.message for item in items[at:] if item.message is not None)
    return f"\n\n<recent-messages>\n{text}\n</recent-messages>" if text.strip() else ""


def _sound(text: str) -> str:
    """Return text that can be written: half a surrogate pair, as damaged files have them, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


# A model's narrative above the ledger: it has to pass the same proof, or the ledger stands alone.
#
# What is too long for the model is asked again without its oldest half; a model that does not answer, or whose words
# keep less than the ledger does, costs the session nothing.

# how often the oldest half is left out before the model is done without
_TRIES = 4
_SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
# a small reserve must not cut every answer off
_LEAST_ANSWER = 512
_LINE_FORM = "Write the summary itself and nothing else."
Paid = Callable[[Usage], None]


def by_model(
    model: LanguageModel, threshold: float = THRESHOLD, paid: Paid = lambda _usage: None, focus: str = ""
) -> Summarise:
    """Return a maker of summaries that asks a model for the narrative.

    ``model``: who is asked. ``threshold``: share of the probes that a summary has to answer. ``paid``: is told what
    each answer cost. ``focus``: what a person asked to look at above all.
    """

    def summarise(gone: Gone) -> Summary:
        ledger, probes = ledger_for(gone), probes_for(gone)
        alone = proven(gone, ledger, probes)
        try:
            told, notes = _told(gone, model, paid, focus)
        except ModelError as error:
            return alone._replace(notes=(*alone.notes, f"no narrative: {error}"))
        whole = proven(gone, ledger, probes, told, has_sections=telling_of(gone.reading.dialect).has_sections)
        whole = whole._replace(notes=(*whole.notes, *notes))
        if whole.loss is None or alone.loss is None:
            return alone
        decision = verdict(whole.loss, threshold)
        reason = decision.reason if not decision.passes else ""
        if not reason and whole.loss.score < alone.loss.score:
            reason = f"it keeps {whole.loss.score:.0%}, the ledger alone {alone.loss.score:.0%}"
        return alone._replace(notes=(*alone.notes, f"the model's summary was not taken: {reason}")) if reason else whole

    return summarise


def _told(gone: Gone, model: LanguageModel, paid: Paid, focus: str) -> tuple[str, list[str]]:
    """Return what the model tells, and what it was not shown.

    Raises ModelError: it does not answer, or what goes away is too long however much is left out.
    """
    telling = telling_of(gone.reading.dialect)
    plan, cleared = shown(gone)
    answers: list[tuple[Part, str]] = []
    left_out = 0
    for request in telling.ask(plan, gone.budget, focus, gone.separator):
        answer, missing = _answered(request, gone, model, paid)
        answers.append((request.part, answer))
        left_out += missing
    notes = [f"{cleared} old outputs of tools were cleared from what the model read"] if cleared else []
    notes += [f"the oldest {left_out} messages were too long for the model, only the ledger covers them"] * (
        left_out > 0
    )
    return telling.join(plan, answers), notes


def _answered(request: Request, gone: Gone, model: LanguageModel, paid: Paid) -> tuple[str, int]:
    """Return the answer, and how many messages had to be left out of the question, the oldest first."""
    whole = len(request.items)
    for _ in range(_TRIES):
        try:
            return _asked(request, gone, model, paid), whole - len(request.items)
        except ContextOverflowError:
            later = _later_half(request.items)
            if later is None:
                raise
            request = request._replace(items=later)
    raise ContextOverflowError(f"still too long after the oldest part was left out {_TRIES} times")


def _asked(request: Request, gone: Gone, model: LanguageModel, paid: Paid) -> str:
    answer = model.answer(_ask(request, gone))
    paid(answer.usage)
    given: object = answer.data
    fields = cast("dict[str, object]", given) if isinstance(given, dict) else {"summary": answer.text}
    data = fields.get("summary")
    if not isinstance(data, str) or not data.strip():
        raise MalformedAnswerError("the answer holds no summary")
    return data.strip()


def _ask(request: Request, gone: Gone) -> Ask:
    return Ask(
        "compaction",
        request.system,
        gone.redact(request.prompt),
        _SCHEMA,
        "summary",
        max(request.max_tokens, _LEAST_ANSWER),
        _LINE_FORM,
        _has_headings if telling_of(gone.reading.dialect).has_sections else None,
    )


def _has_headings(text: str) -> bool:
    """Say whether plain text is a summary in sections and no remark about it."""
    return any(line.startswith("## ") for line in text.splitlines())


def _later_half(items: Sequence[Item]) -> tuple[Item, ...] | None:
    """Return the newer half, cut where no call is parted from its result; None where nothing can be left out."""
    at = next((point for point in cut_points(items) if point >= max(1, len(items) // 2)), None)
    return None if at is None else tuple(items[at:])


# How the summaries of each client are told by a model: what is asked, and how the answers become a narrative.
#
# The seeds' sections are the rule (pi, OpenClaw, Claude Code, Codex and the ULID specification); Cersei summarises by
# rounds, crabtalk in dense prose. Old outputs of tools are cleared from what the model reads first, as opencode does:
# nothing in a transcript changes by that.

Answers = Sequence[tuple[Part, str]]


class Telling(NamedTuple):
    """The form of one client's summaries."""

    ask: Callable[[Plan, Budget, str, str], list[Request]]  # returns the questions, by the focus and the separator
    join: Callable[[Plan, Answers], str]  # returns the narrative
    has_sections: bool = True  # the answers stand in the sections of the ledger; other text stands before all of them


def telling_of(dialect: str) -> Telling:
    """Return the form of a client's summaries."""
    return _TELLINGS[client_of(dialect).compacting.telling]


def shown(gone: Gone) -> tuple[Plan, int]:
    """Return the plan as a model sees it, with the summary before it, and how many old outputs were cleared for it."""
    plan = gone.plan
    items = [*plan.history, *plan.prefix, *plan.kept]
    pruning = prune(items)
    start, stop = len(plan.history), len(plan.history) + len(plan.prefix)
    left = cleared(items, pruning)
    plan = replace(
        plan,
        history=tuple(left[:start]),
        prefix=tuple(left[start:stop]),
        previous_summary=gone.previous,
        files=NO_FILES,
    )
    return plan, sum(output.at < stop for output in pruning.outputs)


def _join_sections(plan: Plan, answers: Answers) -> str:
    return joined(plan, dict(answers))


def _join_all(_plan: Plan, answers: Answers) -> str:
    return "\n\n".join(text for _, text in answers)


_TELLINGS: Mapping[str, Telling] = {
    "sections": Telling(requests, _join_sections),
    "rounds": Telling(round_requests, _join_all, has_sections=False),
    "prose": Telling(prose_requests, _join_all, has_sections=False),
}
