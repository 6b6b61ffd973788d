"""What a job says it did, as data: the form behind ``slowwave run JOB --json`` and every artifact."""

from collections.abc import Iterable
from typing import Any

import msgspec

# How the reason of a project's "skip" begins when what its other items name was not done but waits for a person.
PARKED_FOR_REVIEW = "parked for review"
# Why a dream waits that nothing is wrong with; any other reason is that it would lose too much.
BY_SETTING = "consolidation.mode is review"
# The gate that stops what only somebody who names a number lets through.
UNCONFIRMED = "confirm"


class Gate(msgspec.Struct, frozen=True):
    """A gate's decision, with its reason, whichever way it went."""

    gate: str
    project: str
    passed: bool
    reason: str


class Item(msgspec.Struct, frozen=True):
    """One thing that a job did, would do, or refused to do, and why.

    Attributes:
        target: a session, a memory or a file, named so that a person finds it.
        action: what was done, one word: candidate, add, merge, supersede, keep, drop, wait, skip, failed.
        reason: why.
        project: key of the project.
        text: the words of the candidate or memory, "" for other targets.
        category: its category, or "".
        confidence: its confidence, 0.0 to 1.0, or None.
    """

    target: str
    action: str
    reason: str
    project: str = ""
    text: str = ""
    category: str = ""
    confidence: float | None = None


class RetainItem(Item, frozen=True):
    """A session that retention removes, would remove, or keeps although a rule says that it goes.

    Attributes:
        rule: the setting that decided.
        guard: what keeps it, one word or two, or "".
        bytes: of all that goes with it.
        at: when something last happened in it, as ISO time in the zone of this machine.
        age_days: how long ago that was.
        limit: the setting as it is written: ``retention.classes[0].max_age = 30d``.
        due: from when on ``max_age`` lets it go, as ``at``; "" when no age does.
    """

    rule: str = ""
    guard: str = ""
    bytes: int = 0
    at: str = ""
    age_days: float = 0
    limit: str = ""
    due: str = ""


class Phases(msgspec.Struct, frozen=True):
    """What the four phases of a dream saw and did, in numbers.

    Attributes:
        lines: what it was oriented on, by who wrote it; what nobody knows of is a person's.
        gathered: candidates that no dream had dealt with.
        consolidated: memories and candidates that were added, merged, updated or superseded.
        pruned: lines that went, or left the index for a topic file.
    """

    lines: dict[str, int]
    gathered: int
    consolidated: int
    pruned: int

    @property
    def seen(self) -> str:
        """What it was oriented on, in words."""
        of = ", ".join(f"{number} of {writer}" for writer, number in sorted(self.lines.items()))
        writers = f"{len(self.lines)} writer{'' if len(self.lines) == 1 else 's'}"
        return f"{sum(self.lines.values())} lines of {writers}" + (f" ({of})" if of else "")

    def told(self) -> tuple[str, str, str, str]:
        """Say it in a line for each phase."""
        return (
            f"orient: {self.seen}",
            f"gather: {self.gathered} candidates that no dream had dealt with",
            f"consolidate: {self.consolidated} memories and candidates added, merged, updated or superseded",
            f"prune: {self.pruned} lines that went, or left the index for a topic file",
        )

    def __str__(self) -> str:
        """Say it in one line."""
        done = f"gathered {self.gathered}, consolidated {self.consolidated}, pruned {self.pruned}"
        return f"oriented on {self.seen}, {done}"


class Span(msgspec.Struct, frozen=True):
    """How long one step took over one project.

    Attributes:
        step: name of the step.
        project: key of the project; "" for a step about all of them together.
        begin: when it began, in seconds since 1970.
        seconds: how long it took.
    """

    step: str
    project: str
    begin: float
    seconds: float


class Report(msgspec.Struct):
    """The outcome of one job; reports of projects add up to the report of a night.

    Attributes:
        job: name of the job.
        run_id: id of this run.
        dream_ids: dreams that were committed.
        gates: every gate asked, in order.
        counts: numbers by name, for example ``sessions``, ``candidates``, ``kept``.
        items: what was done or refused, with reasons.
        warnings: problems that stopped nothing.
        failures: contained failures; the run ends with exit code 6 when there are any.
        parked: dreams waiting for review; exit code 5 when nothing failed.
        memories: memory folder of each project that was worked on, by project key.
        unknown_types: records by a type that this version does not know, by ``dialect type``.
        phases: what each dream saw and did, by project key.
        spans: what took how long; no part of what a job says it did, and not of its JSON.
    """

    job: str
    run_id: str = ""
    dream_ids: list[str] = []
    gates: list[Gate] = []
    counts: dict[str, int] = {}
    items: list[Item] = []
    warnings: list[str] = []
    failures: list[str] = []
    parked: list[str] = []
    memories: dict[str, str] = {}
    unknown_types: dict[str, int] = {}
    phases: dict[str, Phases] = {}
    spans: list[Span] = []

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        self.counts[name] = self.counts.get(name, 0) + number

    def count_answer(self, prompt_tokens: int, completion_tokens: int, usd: float) -> None:
        """Count one answer of a language model and what it cost."""
        self.count("model_answers")
        self.count("model_prompt_tokens", prompt_tokens)
        self.count("model_completion_tokens", completion_tokens)
        if usd:
            self.count("model_micro_usd", round(usd * 1e6))

    def absorb(self, other: "Report") -> None:
        """Add another report to this one."""
        self.dream_ids += other.dream_ids
        self.gates += other.gates
        self.items += other.items
        self.warnings += other.warnings
        self.failures += other.failures
        self.parked += other.parked
        self.memories |= other.memories
        self.spans += other.spans
        self.phases |= other.phases
        for kind, number in other.unknown_types.items():
            self.unknown_types[kind] = self.unknown_types.get(kind, 0) + number
        for name, number in other.counts.items():
            self.count(name, number)

    def to_builtins(self) -> dict[str, Any]:
        """Return plain JSON-ready data, the same for the same work however long it took."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        del data["spans"]
        return data

    @classmethod
    def total(cls, job: str, run_id: str, parts: Iterable["Report"]) -> "Report":
        """Return the sum of reports."""
        whole = cls(job, run_id)
        for part in parts:
            whole.absorb(part)
        return whole

    def parked_projects(self) -> frozenset[str]:
        """Return the projects whose dream waits for review: what their items name was planned, not done."""
        return frozenset(
            item.project for item in self.items if item.action == "skip" and item.reason.startswith(PARKED_FOR_REVIEW)
        )
