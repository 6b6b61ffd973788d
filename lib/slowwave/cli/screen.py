"""The report of a run for a person: what was asked, found, kept and refused, and where everything lies."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from slowwave.cli.output import say
from slowwave.cli.screen_erase import erased
from slowwave.cli.screen_retain import MOST_ROWS as MOST_SESSIONS
from slowwave.cli.screen_retain import retained
from slowwave.report import PARKED_FOR_REVIEW, Phases

MOST_ROWS = 8
WIDTH = 108
TEXT_WIDTH = 66
MOST_INDEX_LINES = 24
# counters of what a run did, or would do, besides candidates and dreams
_DEEDS = (
    "found",
    "replaced",
    "sessions_found",
    "sessions_erased",
    "memories_erased",
    "memories_rederived",
    "candidates_erased",
    "compacted",
    "pruned",
    "planned",
    "removed",
    "would_remove",
    "freed",
    "would_free",
    "rescued",
    "would_rescue",
    "purged",
    "would_purge",
    "openclaw_entries",
    "taken_back",
    "delivered",
    "model_answers",
    "model_batch_questions",
    "model_questions",
)


def lines(report: dict[str, Any], *, dry_run: bool, whole: bool = False) -> Iterator[str]:
    """Yield the lines of the report; ``whole`` with every session that retention looked at."""
    changed = bool(report["dream_ids"] or report["counts"].get("candidates"))
    yield f"{report['job']} {report['run_id']}" + ("  (dry run: nothing was changed)" if dry_run else "")
    yield from _gates(report["gates"])
    yield from _candidates(report["items"])
    yield from _left_out(report["counts"])
    yield from _model(report["items"])
    if report["job"] == "erase":
        yield from _problems(report)  # what would go wrong is read before a long list
        yield from erased(report["items"], dry_run=dry_run)
    else:
        yield from _operations([item for item in report["items"] if "rule" not in item], dry_run=dry_run)
        yield from retained(report["items"], None if whole else MOST_SESSIONS)
    yield from _compactions(report["items"], dry_run=dry_run)
    if report["job"] != "erase":
        yield from _problems(report)
    yield from _phases(report.get("phases", {}))
    yield from _numbers(report["counts"])
    if changed and not dry_run:
        yield from _index(report)
    elif not (changed or report["parked"] or any(report["counts"].get(name) for name in _DEEDS)):
        yield ""
        is_left = report["failures"] or (report["job"] == "erase" and report["counts"].get("refused"))
        yield "Nothing was done." if is_left else "Nothing to do."


def show(report: dict[str, Any], *, dry_run: bool, whole: bool = False) -> None:
    """Print the report; ``whole`` with every session that retention looked at."""
    for line in lines(report, dry_run=dry_run, whole=whole):
        say(line)


def _gates(gates: list[dict[str, Any]]) -> Iterator[str]:
    """Gates that refused, with the reason; equal ones are counted together."""
    yield ""
    passed = sum(g["passed"] for g in gates)
    yield f"Gates: {passed} passed, {len(gates) - passed} refused"
    grouped = Counter((g["project"], g["gate"], g["passed"], g["reason"]) for g in gates)
    shown = [row for row in grouped.items() if not row[0][2] or row[1] == 1][:MOST_ROWS]
    for (project, gate, ok, reason), number in shown:
        times = f" ({number} times)" if number > 1 else ""
        yield _cut(f"  {'pass' if ok else 'stop'}  {project}  {gate}: {reason}{times}")
    if len(grouped) > len(shown):
        yield f"  and {len(grouped) - len(shown)} more (--json shows all)"


def _candidates(items: Iterable[dict[str, Any]]) -> Iterator[str]:
    rows = [i for i in items if i["action"] == "candidate"]
    if not rows:
        return
    yield ""
    yield f"Candidates found: {len(rows)}"
    rows.sort(key=lambda i: -(i["confidence"] or 0))
    for item in rows[:MOST_ROWS]:
        yield _cut(f"  {_percent(item['confidence'])}  {item['category']:<10}  {item['text']}")
    yield from _more(rows)


# Why something never became a candidate, by the counter that extraction keeps of it.
_LEFT_OUT = {
    "skipped_by_gate": "sessions that a gate above stopped",
    "subagents": "sessions of sub-agents, where nobody typed",
    "backups": "copies that a client made of its sessions",
    "untyped": "sessions that a schedule or a hook began, where nobody typed",
    "abandoned": "messages on branches that were left behind",
    "sidechain": "messages of sub-agents inside main sessions",
    "about_erased": "facts about something that was erased (slowwave run erase)",
    "erased_sessions": "sessions that were erased and are there again",
    "redacted": "places where a secret stood, replaced by a fingerprint",
    "refused_hostile": "texts that give orders to the agent behind the user's back",
    "quarantined": "messages that try to steer an agent (slowwave memory quarantine)",
    "words_of_others": "statements that were taken for somebody else's words (slowwave memory quarantine)",
    "too_weak": "candidates below extraction.min_confidence",
}


def _left_out(counts: dict[str, int]) -> Iterator[str]:
    rows = [(counts[name], why) for name, why in _LEFT_OUT.items() if counts.get(name)]
    if rows:
        yield ""
        yield "Refused on the way:"
        yield from (f"  {number:>4}  {why}" for number, why in rows)


def _model(items: Iterable[dict[str, Any]]) -> Iterator[str]:
    """What the language model was asked, or in a dry run would be, in full: it costs money."""
    rows = [i for i in items if i["action"] in ("model", "forecast")]
    if rows:
        yield ""
        yield "Language model:"
        yield from (f"  {item['project'] or item['target']}: {item['reason']}" for item in rows[:MOST_ROWS])
        yield from _more(rows)


def _operations(items: Iterable[dict[str, Any]], *, dry_run: bool) -> Iterator[str]:
    """What the dreams did with each fact, grouped by what was done; then what parked ones and a dry run would do."""
    every = list(items)
    parked = {i["project"] for i in every if i["action"] == "skip" and i["reason"].startswith(PARKED_FOR_REVIEW)}
    planned = [dry_run or i["project"] in parked for i in every]
    yield from _grouped([i for i, only in zip(every, planned, strict=True) if not only], _DONE)
    yield from _grouped([i for i, only in zip(every, planned, strict=True) if only], _PLANNED)


def _compactions(items: Iterable[dict[str, Any]], *, dry_run: bool) -> Iterator[str]:
    """The plan of every compaction, in full: it is what a dry run is for."""
    every = list(items)
    back = "(slowwave sessions uncompact ID takes it back)"
    titles = {
        "compact": "Would be compacted" if dry_run else f"Compacted {back}",
        "prune": "Old outputs of tools would be cleared" if dry_run else f"Old outputs of tools cleared {back}",
    }
    for action, title in titles.items():
        rows = [i for i in every if i["action"] == action]
        if not rows:
            continue
        yield ""
        yield f"{title}: {len(rows)}"
        for item in rows:
            yield f"  {item['target']}"
            yield f"    {item['reason']}"


def _grouped(items: list[dict[str, Any]], titles: dict[str, str]) -> Iterator[str]:
    for action, title in titles.items():
        rows = [i for i in items if i["action"] == action]
        if not rows:
            continue
        yield ""
        yield f"{title}: {len(rows)}"
        for item in rows[:MOST_ROWS]:
            text = _cut(item["text"] or item["target"], TEXT_WIDTH)
            yield _cut(f"  {text:<{TEXT_WIDTH}}  {item['reason']}")
        yield from _more(rows)


# What a dream or an extraction can do to a fact, in the order that a reader cares about; what is kept needs no words.
_DONE = {
    "add": "Kept as new memories",
    "merge": "Merged into a memory",
    "update": "Agents' lines, brought up to date",
    "move": "Agents' lines, moved out of the full index",
    "phrase": "Said in one line by the model",
    "supersede": "Superseded by something newer",
    "wait": "Waiting for more evidence",
    "drop": "Refused or dropped",
    "refused": "Left alone",
}
_PLANNED = {
    "add": "Would be kept as new memories",
    "merge": "Would be merged into a memory",
    "update": "Agents' lines that would be brought up to date",
    "move": "Agents' lines that would move out of the full index",
    "phrase": "Would be said in one line by the model",
    "supersede": "Would be superseded by something newer",
    "wait": "Waiting for more evidence",
    "drop": "Would be refused or dropped",
    "refused": "Would be left alone",
}


def _problems(report: dict[str, Any]) -> Iterator[str]:
    if report["failures"]:
        yield ""
        yield f"Failed: {len(report['failures'])} (each on standard error, with its reason)"
    for title, rows in (
        ("Parked for review (slowwave memory review)", report["parked"]),
        ("Warnings", report["warnings"]),
    ):
        if rows:
            yield ""
            yield f"{title}: {len(rows)}"
            yield from (_cut(f"  {row}") for row in rows[:MOST_ROWS])
            yield from _more(rows)


def _phases(phases: dict[str, Any]) -> Iterator[str]:
    """What each dream was oriented on, gathered, consolidated and pruned."""
    if phases:
        yield ""
    for project, numbers in list(phases.items())[:MOST_ROWS]:
        yield _cut(f"  {project}: {msgspec.convert(numbers, Phases)}")
    yield from _more(list(phases))


def _numbers(counts: dict[str, int]) -> Iterator[str]:
    yield ""
    yield "Counts: " + ", ".join(f"{name} {number:,}" for name, number in sorted(counts.items()))


def _index(report: dict[str, Any]) -> Iterator[str]:
    """The resulting index of each project, where it lies, and how to go back."""
    for _, name in sorted(report["memories"].items()):
        folder = Path(name)
        index = folder / "MEMORY.md"
        if not index.is_file():
            continue
        shown = index.read_text(encoding="utf-8", errors="replace").splitlines()
        yield ""
        yield f"{index}"
        yield from (_cut(f"  | {line}") for line in shown[:MOST_INDEX_LINES])
        if len(shown) > MOST_INDEX_LINES:
            yield f"  | and {len(shown) - MOST_INDEX_LINES} more lines"
        yield f"  Why each is believed: slowwave memory list --memory {folder}"
        for dream in report["dream_ids"]:
            if (folder / ".slowwave" / "undo" / dream).is_dir():
                yield f"  Undo this dream:      slowwave memory undo {dream} --memory {folder}"


def _more(rows: list[Any]) -> Iterator[str]:
    if len(rows) > MOST_ROWS:
        yield f"  and {len(rows) - MOST_ROWS} more (--json shows all)"


def _percent(confidence: float | None) -> str:
    return "    " if confidence is None else f"{confidence:>4.0%}"


def _cut(line: str, width: int = WIDTH) -> str:
    flat = " ".join(line.split("\n"))
    return flat if len(flat) <= width else flat[: width - 3] + "..."
