"""How the summaries of each client are told by a model: what is asked, and how the answers become a narrative.

The seeds' sections are the rule (pi, OpenClaw, Claude Code, Codex and the ULID specification); Cersei summarises by
rounds, crabtalk in dense prose. Old outputs of tools are cleared from what the model reads first, as opencode does:
nothing in a transcript changes by that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from slowwave.compaction.file_lists import NO_FILES
from slowwave.compaction.job.summary import Gone
from slowwave.compaction.plan import Plan
from slowwave.compaction.prose import prose_requests
from slowwave.compaction.pruning import cleared, prune
from slowwave.compaction.requests import Part, Request, joined, requests
from slowwave.compaction.rounds import joined_rounds, round_requests

Answers = Sequence[tuple[Part, str]]


class Telling(NamedTuple):
    """The form of one client's summaries.

    Attributes:
        ask: returns the questions.
        join: returns the narrative.
        has_sections: the answers stand in the sections of the ledger; other text stands before all of them.
    """

    ask: Callable[[Gone, Plan, str], list[Request]]
    join: Callable[[Plan, Answers], str]
    has_sections: bool = True


def telling_of(dialect: str) -> Telling:
    """Return the form of a client's summaries."""
    return _TELLINGS.get(dialect, _SECTIONS)


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


def _sections(gone: Gone, plan: Plan, focus: str) -> list[Request]:
    return requests(plan, gone.budget, focus=focus, separator=gone.separator)


def _by_rounds(gone: Gone, plan: Plan, focus: str) -> list[Request]:
    return round_requests(plan, gone.budget, focus)


def _in_prose(gone: Gone, plan: Plan, focus: str) -> list[Request]:
    return prose_requests(plan, gone.budget, focus)


def _join_sections(plan: Plan, answers: Answers) -> str:
    return joined(plan, dict(answers))


def _join_all(_plan: Plan, answers: Answers) -> str:
    return joined_rounds([text for _, text in answers])


_SECTIONS = Telling(_sections, _join_sections)
_TELLINGS: Mapping[str, Telling] = {
    "cersei": Telling(_by_rounds, _join_all, has_sections=False),
    "crabtalk": Telling(_in_prose, _join_all, has_sections=False),
}
