"""What a person reads after a run: what was learned, what needs them, what was done besides, then the numbers.

What was learned is told by :mod:`slowwave.observability.lessons`, here as lines of a terminal: as wide as it is, and
where it is none, with everything in it. A backfill, retention and an erasure have their own parts.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from slowwave.cli.terminal import bad, bold, dim, open_to, say, screen_width, short_time, shortened, wrapped
from slowwave.files import REPORT, state_folder
from slowwave.memory.folder import INDEX
from slowwave.observability.lessons import FACTS, Ask, Change, Learned, by_reason, in_words
from slowwave.quantities import counted as number_of
from slowwave.report import LEFT_OUT, NOTHING_TO_DO, PARKED_FOR_REVIEW, Gate, in_wait, readable
from slowwave.report import counted as in_numbers
from slowwave.stores.projects import short_names

MOST_ROWS = 8
MOST_SESSIONS = 20
MOST_PROJECTS = 10
MOST_CHANGES = 5
MOST_ASKS = 3
# of so many sessions with one reason each is named, of more only their number
MOST_ALIKE = 3
# what a run counts of its reading, in the order in which it happens
_READ = ("extracted", "bytes_read", "candidates", "model_candidates", "merged", "waiting", "kept", "failed")
# counters of what a run did, or would do, besides notes and dreams
DEEDS = (
    *("found", "replaced", "sessions_found", "sessions_erased", "memories_erased", "memories_rederived"),
    *("candidates_erased", "compacted", "pruned", "planned", "removed", "would_remove", "freed", "would_free"),
    *("rescued", "would_rescue", "purged", "would_purge", "openclaw_entries", "taken_back", "delivered"),
    *("model_answers", "model_batch_questions", "model_questions"),
)


@dataclass(frozen=True, slots=True)
class Screen:
    """How something is shown."""

    width: int = 0  # most characters of a line, 0 for no limit: then nothing is left out either
    options: str = ""  # what every command that is named needs besides, for example ``--store .sample``
    page: str = ""  # where the report lies that was written for a browser, "" where there is none

    def most(self, number: int) -> int | None:
        """Return how many of a list are shown; None for all."""
        return number if self.width else None


def lines(report: dict[str, Any], *, dry_run: bool, whole: bool = False, screen: Screen | None = None) -> Iterator[str]:
    """Yield the lines of the report; ``whole`` with every session that retention looked at."""
    screen = screen or Screen()
    learned = msgspec.convert(report.get("learned") or {}, Learned)
    changed = bool(report["dream_ids"] or report["counts"].get("candidates") or report["parked"])
    changed = changed or any(report["counts"].get(name) for name in DEEDS)
    yield from _title(report, learned, dry_run=dry_run)
    yield from learned_lines(learned, screen, run=report["run_id"])
    if report["job"] == "erase":
        yield from _problems(report, screen)  # what would go wrong is read before a long list
        yield from erased(report["items"], dry_run=dry_run)
    else:
        yield from retained(report["items"], None if whole else MOST_SESSIONS)
    yield from _compactions(report["items"], dry_run=dry_run)
    yield from _model(report["items"], screen)
    if report["job"] != "erase":
        yield from _problems(report, screen)
    yield from _not_now(report["gates"], screen)
    nothing, waits = _found_nothing(report, learned)
    if changed and nothing:
        yield from ("", bold("No new memory:"), *_reasons(nothing.items(), screen))
    # the last line of a night without news says what waits
    twice = () if changed or not nothing else ("waiting", "kept")
    yield from _numbers({n: count for n, count in report["counts"].items() if n not in twice}, learned, screen)
    yield from _undo(learned, screen, run=report["run_id"])
    if screen.page and (learned.changes or learned.needs) and not dry_run:
        yield f"The report, for a browser: {screen.page}"
    if not changed:
        yield ""
        yield from _verdict(report, nothing, waits, screen)


def _verdict(
    report: dict[str, Any], nothing: Mapping[str, str], waits: Mapping[str, int], screen: Screen
) -> Iterator[str]:
    """Say that nothing was done, and in one more line where there is more to know."""
    is_left = report["failures"] or (report["job"] == "erase" and report["counts"].get("refused"))
    over = len(nothing)
    why = f": nothing new to remember in {in_numbers('projects', over)}" if over > 1 else ""
    yield ("Nothing was done" if is_left else "Nothing to do") + f"{why}."
    if not is_left and any(msgspec.convert(gate, Gate).is_worth_forcing for gate in report["gates"]):
        yield f"To run it all the same: slowwave run {report['job']} --force{screen.options}"
    elif over == 1:
        yield from _reasons(nothing.items(), screen)
    elif over:
        of_each, of = f"slowwave status{screen.options}", in_numbers("projects", len(waits))
        facts = number_of(sum(waits.values()), f"fact of {of} waits", f"facts of {of} wait")
        reason, *others = dict.fromkeys(nothing.values())
        alike = f"what there is of each: {of_each}" if others else f"each: {reason} ({of_each})"
        told = f"{facts} for more sessions ({of_each})" if waits else alike
        yield from map(dim, wrapped(told, first="  ", rest="    ", width=screen.width))


def show(report: dict[str, Any], *, dry_run: bool, whole: bool = False, options: str = "") -> None:
    """Print the report; ``whole`` with every session that retention looked at."""
    for line in lines(report, dry_run=dry_run, whole=whole, screen=Screen(screen_width(), options, _page())):
        say(line)


def _page() -> str:
    """Return where the report is, "" where it was not written yet."""
    page = state_folder(os.environ) / REPORT
    return str(page) if page.exists() else ""


def _title(report: dict[str, Any], learned: Learned, *, dry_run: bool) -> Iterator[str]:
    number = report["counts"].get("projects", 0)
    over = f" over {in_numbers('projects', number)}" if number else ""
    yield bold(f"{report['job']} {report['run_id']}{over}") + (
        "  (dry run: nothing was changed but slowwave's own cache)" if dry_run else ""
    )
    if learned.changes:
        yield f"{'Would be learned' if dry_run else 'Learned'}: {learned}"


def learned_lines(learned: Learned, screen: Screen, *, run: str = "") -> Iterator[str]:
    """Yield what was learned, project by project, and what needs a person.

    ``run`` is the id that the rest can be looked up by, "" where there is no more to see.
    """
    names = short_names([c.project for c in learned.changes] + [a.project for a in learned.asks])
    projects = list(learned.by_project())
    for project, changes in projects[: screen.most(MOST_PROJECTS)]:
        yield ""
        yield bold(f"{names[project]}: {in_words(Counter(c.kind for c in changes))}")
        shown = _some_of_each(changes, screen.most(MOST_CHANGES))
        for change in shown:
            yield from change_lines(change, screen.width)
        if len(changes) > len(shown):
            yield f"  and {len(changes) - len(shown)} more{_look_up(run, screen)}"
    if left := projects[screen.most(MOST_PROJECTS) or len(projects) :]:
        yield ""
        yield f"and {sum(len(c) for _, c in left)} more in {in_numbers('projects', len(left))}{_look_up(run, screen)}"
    yield from _needs(learned, names, screen)


def _some_of_each(changes: Sequence[Change], most: int | None) -> Sequence[Change]:
    """Return the most useful changes; what was replaced or dropped is not crowded out by what is new."""
    if most is None or len(changes) <= most:
        return changes
    others = [c for c in changes if c.kind != "new"][: most - 1]
    return [*[c for c in changes if c.kind == "new"][: most - len(others)], *others]


def change_lines(change: Change, width: int, *, is_named: bool = False) -> Iterator[str]:
    """Yield one change: what is known now, from how many sessions, and what was known before.

    ``is_named`` adds the memory's id.
    """
    known = [in_numbers("sessions", change.sessions)] if change.sessions and change.kind != "dropped" else []
    known += [change.memory] if is_named else []
    about = f"  ({', '.join(known)})" if known else ""
    indent = " " * 13
    yield from wrapped(change.text + about, first=f"  {change.kind:<9}  ", rest=indent, width=width)
    if change.before:
        yield from wrapped(change.before, first=f"{indent}before: ", rest=indent + " " * 8, width=width)
    if change.said:
        yield from wrapped(change.said, first=f"{indent}said: ", rest=indent + " " * 6, width=width)
    if change.why:
        yield from wrapped(change.why, first=f"{indent}why: ", rest=indent + " " * 5, width=width)


def ask_lines(
    asks: Sequence[Ask],
    names: dict[str, str],
    width: int,
    shown: int | None = None,
    *,
    is_named: bool = False,
    opening: Callable[[Ask], str] | None = None,
    in_all: Mapping[str, int] | None = None,
) -> Iterator[str]:
    """Yield things that wait for a person, those that wait for one reason below it.

    Of ``asks`` as many are shown as ``shown`` says, of None all; ``names`` are what people call projects, by their
    keys. With ``opening``, which returns the first line of the message of one, those of one message stand together;
    ``in_all`` says how many things that wait came from a message, where not all of them are among ``asks``.
    """
    every = by_reason(asks)
    listed = Counter(ask.message for ask in asks[:shown])
    above: Counter[str] = Counter()
    for why, alike in by_reason(asks[:shown]).items():
        if why:
            yield from wrapped(f"{why} ({len(every[why])}):", first="  ", rest="  ", width=width)
        together = Counter(ask.message for ask in alike if ask.message and opening)
        begun: set[str] = set()
        whole = {message: max(count, (in_all or {}).get(message, 0)) for message, count in together.items()}
        first = {
            ask.message: number for number, ask in reversed(list(enumerate(alike))) if whole.get(ask.message, 0) > 1
        }
        for ask in sorted(alike, key=lambda ask: first.get(ask.message, alike.index(ask))):
            of_message = ask.message in first
            if opening and of_message and ask.message not in begun:
                begun.add(ask.message)
                here, before = together[ask.message], above[ask.message]
                others = ((before, "above"), (listed[ask.message] - before - here, "further below"))
                others += ((whole[ask.message] - listed[ask.message], "with --all"),)
                more = "".join(f"; {number} more {where}" for number, where in others if number > 0)
                told = f"{here} from one message{f' ({whole[ask.message]} in all{more})' if more else ''}"
                told += f", which begins: {opening(ask)}"
                yield from wrapped(shortened(told, width - 4 if width else 0), first="    ", width=width)
            # further in, so that one sees where those of one message end
            indent = " " * (6 if of_message else 2)
            about = f"  ({ask.why})" if ask.why and not why else ""
            text = f"{names[ask.project]}: {ask.text}{about}"
            yield from wrapped(text, first=f"{indent}- ", rest=f"{indent}  ", width=width)
            if is_named:
                yield dim(f"{indent}  {ask.id}")
        above += together


def _needs(learned: Learned, names: dict[str, str], screen: Screen) -> Iterator[str]:
    needs = learned.needs
    if not needs:
        return
    yield ""
    waits = "Would wait for you" if learned.is_planned else "Waiting for you"
    yield open_to(f"{waits}: {len(needs)}, the likeliest to be worth keeping first")
    yield from ask_lines(needs, names, screen.width, MOST_ASKS)
    more = f"  and {len(needs) - MOST_ASKS} more; " if len(needs) > MOST_ASKS else "  "
    when = "after that run " if learned.is_planned else ""
    yield f"{more}{when}slowwave review{screen.options} asks you one by one"


def _look_up(run: str, screen: Screen) -> str:
    return f": slowwave nights show {run}{screen.options}" if run else ""


def _undo(learned: Learned, screen: Screen, *, run: str) -> Iterator[str]:
    """How to go back."""
    dreams = [dream for dream in learned.dreams if dream.changes and not dream.is_undone]
    if not dreams:
        return
    yield ""
    if run:
        yield f"All of it, with ids: slowwave nights show {run}{screen.options}"
    memories = {dream.project: dream.memory for dream in dreams}
    which = "each" if len(memories) > 1 else "the"
    yield f"Read it: slowwave memory list{screen.options}, or {INDEX} of {which} project"
    for project in list(memories)[: screen.most(MOST_PROJECTS)]:
        yield f"  {Path(memories[project]) / INDEX}"  # whole, so that it can be copied
    if (left := len(memories) - (screen.most(MOST_PROJECTS) or len(memories))) > 0:
        yield f"  and {in_numbers('projects', left)} more: slowwave status --all{screen.options} shows where"
    yield from _reaching(learned, list(memories), screen)
    yield f"Drop one memory: slowwave memory drop ID{screen.options}"
    what, name = ("all of it", run) if run and len(dreams) > 1 else ("it", dreams[0].id)
    yield f"Take {what} back: slowwave memory undo {name}{screen.options}"
    if learned.due:
        told = f"{'These projects dream' if len(dreams) > 1 else 'This project dreams'} again from "
        told += f"{short_time(learned.due)} UTC on: a night on a schedule that comes sooner passes over "
        yield from wrapped(told + ("them" if len(dreams) > 1 else "it"), rest="  ", width=screen.width)


def _reaching(learned: Learned, projects: Sequence[str], screen: Screen) -> Iterator[str]:
    """Who loads what was learned, and what to do where a client does not; what is so of several projects once."""
    ways = sorted(Counter(way for project in projects for way in learned.reaches.get(project, {}).items()).items())
    if ways:
        yield "How it reaches your agents:"
    for (client, how), count in ways[: screen.most(MOST_ROWS)]:
        of_how_many = f" ({in_numbers('projects', count)})" if len(projects) > 1 else ""
        yield from wrapped(how, first=f"  {client}{of_how_many}  ", rest="    ", width=screen.width)
    if screen.width and len(ways) > MOST_ROWS:
        yield f"  and {len(ways) - MOST_ROWS} more: slowwave status --all{screen.options} tells them"


def _not_now(gates: list[dict[str, Any]], screen: Screen) -> Iterator[str]:
    """What waits behind a gate, and for what; equal reasons are told once."""
    closed = [gate for gate in gates if msgspec.convert(gate, Gate).is_told and not gate.get("nothing_waits")]
    if closed:
        yield ""
        yield bold("Not now:")
        yield from _reasons([(gate["project"] or gate["gate"], gate["reason"]) for gate in closed], screen)


def _found_nothing(report: dict[str, Any], learned: Learned) -> tuple[dict[str, str], dict[str, int]]:
    """Return projects with why there is no new memory of them, and how many facts of each wait for more sessions.

    Of some there is nothing that a dream could look at, over others one went and found nothing, or only what waits.
    """
    items: list[dict[str, Any]] = report["items"]
    rows = {i["project"]: i["reason"].removeprefix(NOTHING_TO_DO) for i in items if _is_nothing(i)}
    told = {change.project for change in learned.changes}
    told |= {item["project"] for item in items if item["reason"].startswith(PARKED_FOR_REVIEW)}
    every = Counter(item["project"] for item in items if item["action"] == "wait")
    mine = Counter(ask.project for ask in learned.needs if ask.kind in FACTS)
    waits: dict[str, int] = {}
    for key in report["phases"]:
        if every[key] and key not in told:
            rows[key] = in_wait(every[key], min(mine[key], every[key]))
            waits |= {key: every[key] - mine[key]} if mine[key] < every[key] else {}
    bare = [gate for gate in report["gates"] if not gate["passed"] and gate.get("nothing_waits")]
    return rows | {gate["project"]: gate["reason"] for gate in bare}, waits


def _is_nothing(item: dict[str, Any]) -> bool:
    return item["action"] == "keep" and item["reason"].startswith(NOTHING_TO_DO)


def _reasons(rows: Iterable[tuple[str, str]], screen: Screen) -> Iterator[str]:
    """Yield reasons with the projects of each, out of projects and reasons."""
    every = list(rows)
    names = short_names(project for project, _ in every)
    grouped: dict[str, dict[str, None]] = {}
    for project, reason in every:
        grouped.setdefault(reason, {})[names[project]] = None
    for reason, projects in list(grouped.items())[: screen.most(MOST_ROWS)]:
        named = list(projects)
        most = screen.most(MOST_ROWS) or len(named)
        more = f" and {len(named) - most} more" if len(named) > most else ""
        each = ", each" if len(named) > 1 else ""
        told = f"{', '.join(named[:most])}{more}{each}: {reason}"
        yield from wrapped(told, first="  ", rest="    ", width=screen.width)
    yield from _more(list(grouped), screen)


def _model(items: Iterable[dict[str, Any]], screen: Screen) -> Iterator[str]:
    """What the language model was asked, or in a dry run would be, in full: it costs money."""
    rows = [i for i in items if i["action"] in ("model", "forecast")]
    if rows:
        yield ""
        yield bold("Language model:")
        for item in rows[: screen.most(MOST_ROWS)]:
            yield from wrapped(
                f"{item['project'] or item['target']}: {item['reason']}", first="  ", rest="    ", width=screen.width
            )
        yield from _more(rows, screen)


def _compactions(items: Iterable[dict[str, Any]], *, dry_run: bool) -> Iterator[str]:
    """The plan of every compaction, in full: it is what a dry run is for."""
    back = "(slowwave sessions uncompact ID takes it back)"
    titles = {
        "compact": "Would be compacted" if dry_run else f"Compacted {back}",
        "prune": "Old outputs of tools would be cleared" if dry_run else f"Old outputs of tools cleared {back}",
    }
    for title, rows in _grouped(items, titles):
        yield from _headed(title, rows)
        yield from _in_full(rows)


def _grouped(items: Iterable[dict[str, Any]], titles: dict[str, str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the items of each action that has a title, as far as there are any."""
    every = list(items)
    for action, title in titles.items():
        if rows := [item for item in every if item["action"] == action]:
            yield title, rows


def _headed(title: str, rows: Sequence[dict[str, Any]]) -> tuple[str, str]:
    return "", bold(f"{title}: {len(rows)}")


def _in_full(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    for item in rows:
        yield from (f"  {item['target']}", f"    {item['reason']}")


def _problems(report: dict[str, Any], screen: Screen) -> Iterator[str]:
    if report["failures"]:
        yield ""
        yield bad(f"Failed: {len(report['failures'])}") + " (each on standard error, with its reason)"
    if report["parked"]:
        yield ""
        yield open_to(f"Dreams that wait for you: {len(report['parked'])}") + f" (slowwave review{screen.options})"
        yield from (f"  {dream}" for dream in report["parked"])
    if rows := report["warnings"]:
        yield ""
        yield bold(f"Warnings: {len(rows)}")
        for row in rows[: screen.most(MOST_ROWS)]:
            yield from wrapped(row, first="  ", rest="    ", width=screen.width)
        yield from _more(rows, screen)


def _numbers(counts: dict[str, int], learned: Learned, screen: Screen) -> Iterator[str]:
    """What was read and what was left out, in words, and who the facts wait for that wait."""
    told = {name: in_numbers(name, number) for name, number in counts.items()}
    if waiting := counts.get("waiting"):
        for_you = min(sum(ask.kind in FACTS for ask in learned.needs), waiting)
        less = f" (each is less than {100 * learned.bar:.0f} % likely to be worth keeping)"
        told["waiting"] = in_wait(waiting, for_you) + (less if learned.bar and for_you < waiting else "")
    if read := [told[name] for name in _READ if counts.get(name)]:
        yield ""
        yield from wrapped("In numbers: " + ", ".join(read), rest=" " * 12, width=screen.width)
    yield from left_out(counts, screen)


def left_out(counts: Mapping[str, int], screen: Screen) -> Iterator[str]:
    """What was seen and left out, in words, and where it can be looked at as far as it is kept."""
    if left := [in_numbers(name, counts[name]) for name in LEFT_OUT if counts.get(name)]:
        yield ""
        yield from wrapped("Left out: " + ", ".join(left), rest=" " * 10, width=screen.width)
    if counts.get("quarantined") or counts.get("words_of_others"):
        yield f"{'':10}slowwave memory quarantine{screen.options} shows the messages that were kept out"


def _more(rows: Sequence[Any], screen: Screen) -> Iterator[str]:
    if screen.width and len(rows) > MOST_ROWS:
        yield f"  and {len(rows) - MOST_ROWS} more (--json shows all)"


def show_backfill(report: dict[str, Any], options: str = "") -> None:
    """Print the report; see :func:`lines_of_backfill`."""
    for line in lines_of_backfill(report, options):
        say(line)


def lines_of_backfill(report: dict[str, Any], options: str = "") -> Iterator[str]:
    """Yield the lines of the report of a backfill; ``options`` are what leads a further command to the same stores."""
    yield f"backfill {report['run_id']}"
    told = list(_of_backfill(report["items"]))
    width = screen_width()
    for action, line in told[:MOST_SESSIONS]:
        yield from wrapped(line, first=f"  {action:<9}  ", rest=" " * 13, width=width)
    if len(told) > MOST_SESSIONS:
        yield f"  and {len(told) - MOST_SESSIONS} more (--json shows all)"
    from slowwave.jobs.backfill.plan import tally_of  # noqa: PLC0415 - only the screen of a backfill waits for it

    yield from (f"  {number:>9,}  {told}" for number, told in tally_of(report["counts"], report.get("before", {})))
    if report["counts"].get("candidates"):
        if options:
            yield f"A night over your own home does not look there: slowwave run consolidate --force{options}"
        else:
            yield "Noted facts become memories in the next night; slowwave run consolidate --force does not wait for it"
    for title, rows in (("Failed", report["failures"]), ("Note", report["warnings"])):
        for row in rows[:MOST_SESSIONS]:
            yield from wrapped(row, first=f"{title}: ", rest=" " * 6, width=width)
        if len(rows) > MOST_SESSIONS:
            yield f"and {len(rows) - MOST_SESSIONS} more (--json shows all)"


def _of_backfill(items: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield what is told of each project, what is so of many of them once; and below what action each stands."""
    names = short_names(item["project"] for item in items)
    alike = Counter((item["action"], item["reason"]) for item in items)
    for item in items:
        project = f"{names[item['project']]}: " if item["project"] else ""
        same = alike.pop((item["action"], item["reason"]), 0)
        if same > MOST_ALIKE:
            yield item["action"], f"{item['reason']} in each of {same:,} projects"
        elif same:
            alike[item["action"], item["reason"]] = 1
            yield item["action"], f"{project}{item['reason']}"


_RETAINED = {
    "remove": "Would be archived and moved into the trash",
    "removed": "Archived and moved into the trash (slowwave sessions restore ID brings it back)",
    "free": "Would be freed from the trash",
    "freed": "Freed from the trash",
    "refused": "Has to stay, although a rule would let it go",
    "wait": "Goes in a later run",
    "stay": "Stays",
}
# what has no rule of the policy: OpenClaw's index, Claude Code's own clean-up, tombstones
_TIDIED = {
    "tidied": "Entries of OpenClaw without a transcript, moved into the trash",
    "rescue": "Would be archived, since their client deletes them soon",
    "rescued": "Archived, since their client deletes them soon; they stay in their place",
    "gone": "Deleted by their client before they were archived",
    "purge": "Hidden for good, and would be taken out of their files",
    "purged": "Hidden for good, and taken out of their files",
}


def retained(items: Iterable[dict[str, Any]], most: int | None = MOST_SESSIONS) -> Iterator[str]:
    """Yield what happened to sessions, grouped by it: so many of each group, or with ``None`` all of them."""
    every = list(items)
    yield from _tidied(every, most)
    every = [item for item in every if "rule" in item]
    names = short_names(item["project"] for item in every)
    for title, rows in _grouped(every, _RETAINED):
        yield ""
        yield bold(f"{title}: {len(rows)}, {readable(sum(item['bytes'] for item in rows))}")
        for (reason, limit), alike in _by_reason(rows[:most]).items():
            yield from wrapped(f"{reason}{f' ({limit})' if limit else ''}", first="  ", rest="  ", width=screen_width())
            for item in alike:
                yield from _session(item, names[item["project"]])
        if most is not None and len(rows) > most:
            yield f"  and {len(rows) - most} more (slowwave retain plan and --json show all)"


def _by_reason(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return sessions by why they go or stay, and by the limits that say so."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in rows:
        found.setdefault((item["reason"], item["limit"]), []).append(item)
    return found


def _session(item: dict[str, Any], project: str) -> list[str]:
    """Return a session with its age, and when it reaches the limit that speaks of it."""
    age = f"{item['age_days']:g} days old" if item["at"] else ""
    line = f"    {age:<14}  {item['target']}  {readable(item['bytes'])}  {project}"
    due = f", old enough at {short_time(item['due'])}" if item["due"] else ""
    last = f"last active {short_time(item['at'])}{due}" if item["at"] else ""
    if screen_width() and len(f"{line}  {last}") > screen_width():
        return [line, f"{'':<20}{last}"] if last else [line]
    return [f"{line}  {last}".rstrip()]


def _tidied(items: list[dict[str, Any]], most: int | None) -> Iterator[str]:
    for title, rows in _grouped(items, _TIDIED):
        yield from _headed(title, rows)
        alike: dict[str, list[dict[str, Any]]] = {}
        for item in rows:
            alike.setdefault(item["reason"], []).append(item)
        told: list[str] = []
        for reason, of in alike.items():
            is_short = most is None or len(of) <= MOST_ALIKE
            told += [f"{item['target']}  {reason}" for item in of] if is_short else [f"{reason}: {_by_project(of)}"]
        for line in told[:most]:
            yield from wrapped(line, first="  ", rest="    ", width=screen_width())
        if most is not None and len(told) > most:
            yield f"  and {len(told) - most} more (--json shows all)"
        if rows[0]["action"] == "rescued":
            yield from (f"  {item['target']}: {item['reason']}" for item in items if item["action"] == "rescue room")


def _by_project(items: Sequence[dict[str, Any]]) -> str:
    """Return how many sessions each project has among some, the one with most first."""
    numbers = Counter(item["project"] for item in items).most_common()
    names = short_names(project for project, _ in numbers)
    of = [f"{number:,} of {names[project]}" for project, number in numbers[:MOST_ROWS]]
    if left := numbers[MOST_ROWS:]:
        more = "1 more project" if len(left) == 1 else f"{len(left):,} more projects"
        of.append(f"{sum(number for _, number in left):,} of {more}")
    return f"{', '.join(of)} (--json names each)"


# of an erasure: what was done, what would be done, what is told in any case
_ERASED = {
    "erased": "Erased as a whole",
    "replaced": "Taken out, by line",
    "forget": "Memories that went",
    "removed": "Removed, to be rebuilt",
}
_TO_ERASE = {
    "goes": "Would be erased as a whole",
    "found": "Found, and would be taken out, by line",
    "forget": "Memories that would go",
}
_WHOLE = ("goes", "erased")
_ALWAYS = {"refused": "Left alone, and still there", "not searched": "Not searched", "certificate": "Certificate"}


def erased(items: Iterable[dict[str, Any]], *, dry_run: bool) -> Iterator[str]:
    """Yield what happened to each place, grouped by it."""
    for title, rows in _grouped(items, (_TO_ERASE if dry_run else _ERASED) | _ALWAYS):
        yield from _headed(title, rows)
        # nobody may lose a session of which they did not see the name
        most = len(rows) if rows[0]["action"] in _WHOLE else MOST_SESSIONS
        yield from _in_full(rows[:most])
        if len(rows) > most:
            yield f"  and {len(rows) - MOST_SESSIONS} more (--json shows all)"
