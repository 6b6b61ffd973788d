"""What a job says it did, as data: the form behind ``slowwave run JOB --json`` and every artifact."""

from collections.abc import Iterable
from typing import Any

import msgspec

from slowwave.quantities import counted as number_of

# How the reason of a project's "skip" begins when what its other items name was not done but waits for a person.
PARKED_FOR_REVIEW = "parked for review"
# How the reason of a project begins over which a dream went and found nothing.
NOTHING_TO_DO = "nothing to do: "
# Why a dream waits that nothing is wrong with; any other reason is that it would lose too much.
BY_SETTING = "consolidation.mode is review"
# The gate that stops what only somebody who names a number lets through.
UNCONFIRMED = "confirm"
# What an item says of a place that an erasure within some projects leaves out.
NOT_SEARCHED = "not searched"


# What each counter says to a person, one and several; nothing else of it reaches a screen. "" stands for what another
# counter or another part of the screen says already.
COUNTERS: dict[str, tuple[str, str]] = {
    name: (one, several or one)
    for name, one, several in (
        ("projects", "project", "projects"),
        ("sessions", "session", "sessions"),
        ("extracted", "session read", "sessions read"),
        ("bytes_read", "of transcripts", ""),
        ("unchanged", "session had nothing new", "sessions had nothing new"),
        ("candidates", "fact noted", "facts noted"),
        ("model_candidates", "of them by the language model", ""),
        ("for_you", "fact waits for you", "facts wait for you"),
        ("waiting", "fact waits for more sessions", "facts wait for more sessions"),
        ("added", "new memory", "new memories"),
        ("merged", "memory shown again", "memories shown again"),
        ("updated", "line brought up to date", "lines brought up to date"),
        ("moved", "line moved from the index to a page", "lines moved from the index to pages"),
        ("arranged", "line of the index put in order", "lines of the index put in order"),
        ("superseded", "memory replaced by something newer", "memories replaced by something newer"),
        ("phrased", "line put into other words by the model", "lines put into other words by the model"),
        ("disputed", "contradiction put before you by the model", "contradictions put before you by the model"),
        ("kept", "memory stays as it is", "memories stay as they are"),
        ("dropped", "note or memory dropped", "notes or memories dropped"),
        ("parked", "step of a dream that waits for you", "steps of a dream that waits for you"),
        ("proposed_global", "fact proposed for all projects", "facts proposed for all projects"),
        ("delivered", "file of an agent brought up to date", "files of agents brought up to date"),
        ("foreign_lines_of_tools", "line that a tool brought", "lines that tools brought"),
        ("skipped_by_gate", "session that is still in use or too short", "sessions that are still in use or too short"),
        ("subagents", "session of a sub-agent, where nobody typed", "sessions of sub-agents, where nobody typed"),
        ("backups", "copy that a client made of a session", "copies that a client made of its sessions"),
        ("untyped", "session that a schedule or a hook began", "sessions that a schedule or a hook began"),
        ("abandoned", "message on a branch that was left behind", "messages on branches that were left behind"),
        ("sidechain", "message of a sub-agent", "messages of sub-agents inside main sessions"),
        ("about_erased", "fact about something that was erased", "facts about something that was erased"),
        ("erased_sessions", "session that was erased and is there again", "sessions that were erased and are back"),
        (
            "redacted",
            "secret in a message or command, of which only a mark is kept",
            "secrets in messages and commands, of which only marks are kept",
        ),
        ("quarantined", "message that tries to steer an agent", "messages that try to steer an agent"),
        ("words_of_others", "statement in somebody else's words", "statements in somebody else's words"),
        ("too_unsure", "remark too unsure to be noted, kept nowhere", "remarks too unsure to be noted, kept nowhere"),
        ("bad_lines", "damaged line of a transcript", "damaged lines of transcripts"),
        ("failed", "session could not be read", "sessions could not be read"),
        ("archived", "session archived", "sessions archived"),
        ("removed", "session moved into the trash", "sessions moved into the trash"),
        ("removed_bytes", "moved into the trash", ""),
        ("would_remove", "session would move into the trash", "sessions would move into the trash"),
        ("would_remove_bytes", "would move into the trash", ""),
        ("freed", "item freed from the trash", "items freed from the trash"),
        ("freed_bytes", "freed", ""),
        ("would_free", "item would be freed from the trash", "items would be freed from the trash"),
        ("would_reclaim_bytes", "would be freed", ""),
        ("not_due", "session stays: nothing asks for it to go", "sessions stay: nothing asks for them to go"),
        (
            "rescued",
            "session archived before its client deletes it",
            "sessions archived before their client deletes them",
        ),
        ("rescued_bytes", "of archive for these", ""),
        ("would_rescue", "session would be archived", "sessions would be archived"),
        ("rescue_left_out", "session found no room in the archive", "sessions found no room in the archive"),
        (
            "already_gone",
            "session was deleted before it was archived",
            "sessions were deleted before they were archived",
        ),
        ("purged", "session freed of what was hidden in it", "sessions freed of what was hidden in them"),
        ("purged_records", "hidden record taken out", "hidden records taken out"),
        ("purged_bytes", "of hidden records taken out", ""),
        ("would_purge", "session holds hidden records", "sessions hold hidden records"),
        ("would_purge_records", "hidden record would be taken out", "hidden records would be taken out"),
        ("would_purge_bytes", "of hidden records would be taken out", ""),
        (
            "purge_refused",
            "session could not be freed of hidden records",
            "sessions could not be freed of hidden records",
        ),
        ("openclaw_entries", "entry of OpenClaw's index tidied", "entries of OpenClaw's index tidied"),
        ("openclaw_refused", "entry of OpenClaw's index left alone", "entries of OpenClaw's index left alone"),
        ("taken_back", "session brought back", "sessions brought back"),
        ("compacted", "session compacted", "sessions compacted"),
        ("pruned", "session cleared of old tool outputs", "sessions cleared of old tool outputs"),
        ("planned", "session would be compacted", "sessions would be compacted"),
        ("flushed", "session read before it was compacted", "sessions read before they were compacted"),
        ("small", "session small enough as it is", "sessions small enough as they are"),
        ("near", "session close to its limit", "sessions close to their limit"),
        ("paused", "session left alone after failures", "sessions left alone after failures"),
        ("shortfalls", "session freed less than was planned", "sessions freed less than was planned"),
        ("tokens_before", "tokens before", ""),
        ("tokens_after", "tokens after", ""),
        ("found", "place found", "places found"),
        ("replaced", "place taken out", "places taken out"),
        ("sessions_found", "session would be erased", "sessions would be erased"),
        ("sessions_erased", "session erased", "sessions erased"),
        ("memories_erased", "memory erased", "memories erased"),
        ("memories_rederived", "memory built anew", "memories built anew"),
        ("candidates_erased", "note erased", "notes erased"),
        ("refused", "left alone", ""),
        ("in_paths", "place in a name of a file or folder", "places in names of files or folders"),
        ("not_searched", "place not searched", "places not searched"),
        ("searched_files", "file searched", "files searched"),
        ("unexpected", "unexpected end of a step", "unexpected ends of steps"),
        ("model_answers", "answer of the language model", "answers of the language model"),
        ("model_questions", "question to the language model", "questions to the language model"),
        (
            "model_batch_questions",
            "question handed over at the batch price",
            "questions handed over at the batch price",
        ),
        ("model_prompt_tokens", "token asked", "tokens asked"),
        ("model_completion_tokens", "token answered", "tokens answered"),
        ("model_charged_tokens", "token charged", "tokens charged"),
        ("model_micro_usd", "paid to the language model", ""),
        ("model_postponed", "question waits for the next run", "questions wait for the next run"),
        ("model_pending", "question waits for its answer", "questions wait for their answers"),
        ("model_given_up", "session left to the rules", "sessions left to the rules"),
        ("model_judgements", "judgement of the language model", "judgements of the language model"),
        ("model_unjudged", "note that no model judged", "notes that no model judged"),
        ("model_followed", "proposal of the model followed", "proposals of the model followed"),
        ("model_refused", "proposal of the model refused", "proposals of the model refused"),
        ("model_sessions", "session for the language model", "sessions for the language model"),
        ("model_tokens_foreseen", "token foreseen", "tokens foreseen"),
        ("questions_foreseen", "question foreseen", "questions foreseen"),
        ("model_micro_usd_foreseen", "foreseen for the language model", ""),
        ("dropped_by_model", "note that the model dropped", "notes that the model dropped"),
        ("old_run_files", "file of an old run removed", "files of old runs removed"),
        ("read_again", "session read again by a newer version", "sessions read again by a newer version"),
        ("forced", "session read before, and again", "sessions read before, and again"),
        ("rolled_back", "project from which it was taken back", "projects from which it was taken back"),
        ("resumed", "run resumed", "runs resumed"),
        ("skipped", "session passed over", "sessions passed over"),
        ("left", "session left", "sessions left"),
        ("not_added", "session read and not added yet", "sessions read and not added yet"),
        ("would_wait", "session would wait", "sessions would wait"),
        ("read_meanwhile", "session read by another run meanwhile", "sessions read by another run meanwhile"),
        ("beyond_limit", "session beyond the limit", "sessions beyond the limit"),
        ("covered", "session covered", "sessions covered"),
        ("in_range", "session in the range", "sessions in the range"),
    )
}
# of these, what leaves something behind
_LEFT_BEHIND = (
    *("candidates", "extracted", "replaced", "compacted", "removed", "freed", "rescued", "purged", "openclaw_entries"),
    *("taken_back", "pruned", "model_answers", "model_batch_questions", "carried_over", "rolled_back"),
)
# and what was seen and left out on purpose
LEFT_OUT = (
    *("skipped_by_gate", "subagents", "backups", "untyped", "abandoned", "sidechain"),
    *("about_erased", "erased_sessions"),
    *("redacted", "quarantined", "words_of_others", "too_unsure", "bad_lines"),
)


def counted(name: str, number: int) -> str:
    """Return a counter in words: ``3 sessions read``, ``562 kB read``."""
    words = COUNTERS.get(name, ("", ""))[number != 1] or name.replace("_", " ")
    if name.endswith("_usd") or "_usd_" in name:
        return f"{number / 1e6:.4f} USD {words}"
    if name == "bytes_read" or name.endswith("_bytes"):
        return f"{readable(number)} {words}"
    return f"{number:,} {words}"


def in_wait(number: int, for_you: int | None = None) -> str:
    """Return how many facts wait and for whom, as every screen says it; ``None`` where only a dream would tell."""
    if for_you is None:
        return f"{number_of(number, 'fact waits', 'facts wait')} for more sessions or for you"
    if not 0 < for_you < number:
        return counted("for_you" if for_you else "waiting", number)
    return f"{number:,} facts wait: {for_you:,} for you, {number - for_you:,} for more sessions"


def readable(number: float) -> str:
    """Return a number of bytes in the largest decimal unit that leaves a digit before the point."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:  # noqa: PLR2004 - what would be rounded up to 1000
            return f"{number:.0f} {unit}" if unit == "B" or number >= 10 else f"{number:.1f} {unit}"  # noqa: PLR2004
        number /= 1000
    return f"{number:.1f} TB"


def number(value: float) -> str:
    """Return a number for people: thousands apart, and no more digits than tell something."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if value >= 1 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Return a time that something took."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min"


def plain(text: str) -> str:
    """Return text without what no page may hold: control characters, turns of direction, halves of pairs as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


# what a forced run does not ask: the gates of a dream, and those of a session that is short or goes on
_FORCED = ("time", "sessions", "messages", "tool_calls", "open_call")


class Gate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A gate's decision, with its reason, whichever way it went."""

    gate: str
    project: str
    passed: bool
    reason: str
    nothing_waits: bool = False  # shut, and nothing that was noted waits behind it

    @property
    def is_told(self) -> bool:
        """Whether a person is told that it is shut: sessions are only counted, but one that is given up is named."""
        return not self.passed and (self.gate == "breaker" or not self.reason.startswith("session "))

    @property
    def is_worth_forcing(self) -> bool:
        """Whether it is shut, a forced run passes it, and something waits behind it."""
        return not self.passed and not self.nothing_waits and self.gate in _FORCED


class Item(msgspec.Struct, frozen=True):
    """One thing that a job did, would do, or refused to do, and why."""

    target: str  # a session, a memory or a file, named so that a person finds it
    action: str  # what was done, one word: candidate, add, merge, supersede, keep, drop, wait, skip, failed
    reason: str  # why
    project: str = ""  # key of the project
    text: str = ""  # the words of the candidate or memory, "" for other targets
    category: str = ""  # its category, or ""
    confidence: float | None = None  # its confidence, 0.0 to 1.0, or None


class RetainItem(Item, frozen=True):
    """A session that retention removes, would remove, or keeps although a rule says that it goes."""

    rule: str = ""  # the setting that decided
    guard: str = ""  # what keeps it, one word or two, or ""
    bytes: int = 0  # of all that goes with it
    at: str = ""  # when something last happened in it, as ISO time in the zone of this machine
    age_days: float = 0  # how long ago that was
    limit: str = ""  # the setting as it is written: ``retention.classes[0].max_age = 30d``
    due: str = ""  # from when on ``max_age`` lets it go, as ``at``; "" when no age does


class Phases(msgspec.Struct, frozen=True):
    """What the four phases of a dream saw and did, in numbers."""

    lines: dict[str, int]  # what it was oriented on, by who wrote it; what nobody knows of is a person's
    gathered: int  # facts that no dream had dealt with
    consolidated: int  # memories and candidates that were added, merged, updated, superseded or put in order
    pruned: int  # lines removed, or moved from the index to a topic file

    @property
    def seen(self) -> str:
        """What it was oriented on, in words."""
        of = ", ".join(f"{number} of {writer}" for writer, number in sorted(self.lines.items()))
        writers = number_of(len(self.lines), "writer")
        return f"{number_of(sum(self.lines.values()), 'line')} of {writers}" + (f" ({of})" if of else "")

    def __str__(self) -> str:
        """Say it in one line."""
        gathered, pruned = number_of(self.gathered, "waiting fact"), number_of(self.pruned, "line")
        done = f"gathered {gathered}, consolidated {self.consolidated}, pruned {pruned}"
        return f"oriented on {self.seen}, {done}"


class Span(msgspec.Struct, frozen=True):
    """How long one step took over one project."""

    step: str  # name of the step
    project: str  # key of the project; "" for a step about all of them together
    begin: float  # when it began, in seconds since 1970
    seconds: float  # how long it took


class Report(msgspec.Struct):
    """The outcome of one job; reports of projects add up to the report of a night."""

    job: str  # name of the job
    run_id: str = ""  # id of this run
    dream_ids: list[str] = []  # dreams that were committed
    gates: list[Gate] = []  # every gate asked, in order
    counts: dict[str, int] = {}  # numbers by name, for example ``sessions``, ``candidates``, ``kept``
    # of a backfill that was taken up again, what of the numbers stood before; ``counts`` are those of all its parts
    before: dict[str, int] = {}
    items: list[Item] = []  # what was done or refused, with reasons
    warnings: list[str] = []  # problems that stopped nothing
    failures: list[str] = []  # contained failures; the run ends with exit code 6 when there are any
    parked: list[str] = []  # dreams waiting for review; exit code 5 when nothing failed
    memories: dict[str, str] = {}  # memory folder of each project that was worked on, by project key
    unknown_types: dict[str, int] = {}  # records by a type that this version does not know, by ``dialect type``
    phases: dict[str, Phases] = {}  # what each dream saw and did, by project key
    # what changed in the memories and what waits for a person (:mod:`slowwave.observability.lessons`)
    learned: dict[str, Any] = {}
    # what each dream of a dry run would write: project key, memory folder, events; no part of its JSON
    dreamt: list[tuple[str, str, list[Any]]] = []
    asks: list[Any] = []  # what would wait for a person after a dry run, as ``dreamt``
    spans: list[Span] = []  # what took how long; no part of what a job says it did, and not of its JSON

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
        self.dreamt += other.dreamt
        self.asks += other.asks
        self.spans += other.spans
        self.phases |= other.phases
        for kind, number in other.unknown_types.items():
            self.unknown_types[kind] = self.unknown_types.get(kind, 0) + number
        for name, number in other.counts.items():
            self.count(name, number)

    def to_builtins(self) -> dict[str, Any]:
        """Return plain JSON-ready data, the same for the same work however long it took."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        del data["spans"], data["dreamt"], data["asks"]
        return data

    @classmethod
    def total(cls, job: str, run_id: str, parts: Iterable["Report"]) -> "Report":
        """Return the sum of reports."""
        whole = cls(job, run_id)
        for part in parts:
            whole.absorb(part)
        return whole

    @property
    def now(self) -> dict[str, int]:
        """The numbers of this part alone."""
        return {name: number - self.before.get(name, 0) for name, number in self.counts.items()}

    @property
    def did_something(self) -> bool:
        """Whether it left anything behind."""
        return bool(self.dream_ids or any(self.now.get(name) for name in _LEFT_BEHIND))

    def quiet_projects(self) -> list[str]:
        """Return the projects over which a dream went without anything to write."""
        nothing = {i.project for i in self.items if i.action == "keep" and i.reason.startswith(NOTHING_TO_DO)}
        return [project for project in self.phases if project in nothing]

    def parked_projects(self) -> frozenset[str]:
        """Return the projects whose dream waits for review: what their items name was planned, not done."""
        return frozenset(
            item.project for item in self.items if item.action == "skip" and item.reason.startswith(PARKED_FOR_REVIEW)
        )
