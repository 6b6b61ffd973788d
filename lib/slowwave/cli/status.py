"""``slowwave status`` and ``doctor``: what ran last, what is due and why not yet, what waits; what is wrong."""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.cli.terminal import (
    add_json_option,
    add_project_option,
    add_settings_options,
    bad,
    bold,
    carried,
    dim,
    good,
    open_to,
    say,
    say_json,
    screen_height,
    screen_width,
    settings_of,
    short_time,
    wrapped,
)
from slowwave.context import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED, NotFoundError, SettingsError
from slowwave.files import REPORT, state_folder
from slowwave.memory.folder import INDEX
from slowwave.quantities import OFF, counted
from slowwave.report import in_wait, readable

if TYPE_CHECKING:
    from slowwave.jobs.status import Budget, Kept, Lately, Morning, Standing, Unfinished
    from slowwave.service.checks import Check


# of so many projects everything is told, of more a line each
_FEW = 3
_MOST_PROBLEMS = 10
_DAY = 24
_AGAIN = "what it learned comes back only when a later session says it"
_HOW = {"rolling-back": "being taken back"}
_ASK = "slowwave doctor --model asks whether it is there"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave status``."""
    add_settings_options(parser)
    add_project_option(parser)
    parser.add_argument("--all", action="store_true", help="everything about every project, however many there are")
    parser.add_argument("--html", action="store_true", help="write the report again, and print where it is")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print how every project stands; code 6 when one could not be looked at."""
    if args.html:
        return _write_report(args)
    from slowwave.jobs.status import kept_by, lately, morning, standings, unfinished  # noqa: PLC0415 - --help stays fast

    settings, clock = settings_of(args), SystemClock()
    rows, problems = standings(settings, os.environ, clock, project=args.project)
    kept, past = kept_by(settings.retention, os.environ), lately(settings.model, os.environ, clock.now())
    backfills, broken = unfinished(os.environ)
    learned = morning(settings, os.environ, clock.now(), project=args.project)
    if args.json:
        open_backfills = {"unfinished": backfills, "problems": broken}
        say_json(
            [
                {
                    "projects": rows,
                    "problems": problems,
                    "retention": kept,
                    "lately": past,
                    "backfills": open_backfills,
                    "learned": learned,
                }
            ]
        )
    else:
        named = {one.run_id for one in backfills}  # these are told with the command that goes on with them
        past.stopped = [night for night in past.stopped if night.run_id not in named]
        around = [*_left_out(problems), *retention_lines(kept), *of_nights(past), *of_backfills(backfills, broken)]
        page = state_folder(os.environ) / REPORT
        around += ["", f"The report, for a browser: {page}"] if page.exists() else []
        first = list(of_morning(learned, carried(args)))
        # the prompt stands below what is shown, and a line is kept for what is not
        room = max(screen_height() - len(first) - len(around) - 4, 5) if screen_height() else None
        of_projects = every(rows) if args.all or len(rows) <= _FEW else short(rows, room)
        for line in (*first, _summary(rows), *of_projects, *around):
            say(line)
    is_unknown = kept.problem or past.problems or broken or any(row.problem for row in rows)
    return PARTLY_FAILED if is_unknown else DONE


def _write_report(args: argparse.Namespace) -> int:
    """Write the report anew and print its path."""
    from slowwave.jobs.conclusion import view_now  # noqa: PLC0415 - --help stays fast
    from slowwave.locks import beside_jobs  # noqa: PLC0415 - as above
    from slowwave.observability.page import write_page  # noqa: PLC0415 - as above

    with beside_jobs(os.environ):
        view = view_now(settings_of(args), os.environ, SystemClock().now())
        if view is None:
            raise NotFoundError("no night was recorded yet; slowwave run nightly records one")
        say(str(write_page(os.environ, view)))
    return PARTLY_FAILED if view.problems else DONE


def _summary(rows: "list[Standing]") -> str:
    """Say how many projects there are and what of them waits."""
    due = sum(row.due and not row.taken_back for row in rows)
    back = sum(bool(row.taken_back) for row in rows)
    taken = f", {back} taken back" if back else ""
    # after an undo the clock of dreams stands as before, but what waited then was looked at
    backlog = sum(row.backlog for row in rows if not row.taken_back)
    looked_at = [(row, seen) for row in rows if (seen := row.waiting - (0 if row.taken_back else row.backlog)) > 0]
    asked = [row.for_you for row, _ in looked_at]
    waits = in_wait(sum(seen for _, seen in looked_at), None if None in asked else sum(one or 0 for one in asked))
    new = f"{counted(backlog, 'fact')} not looked at yet" if backlog else ""
    waits = "; ".join(filter(None, (waits if looked_at or not new else "", new)))
    return bold(f"{counted(len(rows), 'project')}, {due} due for a dream{taken}, {waits}")


def every(rows: "list[Standing]") -> Iterator[str]:
    """Yield everything about each project."""
    from slowwave.stores.projects import short_names  # noqa: PLC0415 - --help stays fast

    names = short_names(row.project for row in rows)
    for row in rows:
        yield ""
        yield from _project(row, names[row.project])


def short(rows: "list[Standing]", room: int | None) -> list[str]:
    """Return a line about each project, first those that need somebody, then those that are due.

    ``room`` is how many lines there are at most (None: no limit); projects of which nothing is said are counted.
    """
    from slowwave.stores.projects import short_names  # noqa: PLC0415 - --help stays fast

    names = short_names(row.project for row in rows)
    wide = min(max(len(name) for name in names.values()), 28)
    found = [""]
    rule = _rule(rows)
    last = wrapped(rule, first="  projects with too few sessions: ", rest=" " * 6, width=screen_width()) if rule else []
    room = None if room is None else room - len(last)
    ordered = sorted(rows, key=lambda row: (not _needs(row), not row.due, bool(row.taken_back), row.due_at or "9"))
    for number, row in enumerate(ordered):
        needs = _needs(row)
        first = f"  {names[row.project]:<{wide}}  "
        draw = bad if row.problem else open_to if needs else good if row.due else str
        lines = wrapped(needs or _otherwise(row), first=first, rest=" " * 6, width=screen_width(), draw=draw)
        if room is not None and len(found) + len(lines) > room:
            more = f"  and {len(ordered) - number} more  (--all tells everything, --project NAME of one)"
            return [*found, *last, more]
        found += lines
    return [*found, *last, dim("  --all tells everything about each of them, --project NAME about one")]


def _needs(row: "Standing") -> str:
    """Return what of a project needs somebody, "" for nothing."""
    if row.problem:
        return f"problem: {row.problem}"
    parts = [f"{counted(len(row.parked), 'dream')} waiting for you (slowwave review)"] if row.parked else []
    parts += [f"compaction of {counted(len(row.stopped), 'session')} stopped"] if row.stopped else []
    parts += [f"{counted(row.failing, 'session')} could not be read"] if row.failing else []
    return "; ".join(parts)


def _otherwise(row: "Standing") -> str:
    """Return how a project stands that needs nobody."""
    size = f"{counted(row.sessions, 'session')}, {counted(row.memories, 'memory', 'memories')}"
    if row.taken_back:
        return f"last dream taken back {short_time(row.taken_back)}: it learns again from new sessions ({size})"
    closed = next((gate.reason for gate in row.gates if not gate.passed), "")
    closed = _nothing_waits(row) or ("too few sessions for a dream yet" if closed and closed == _few(row) else closed)
    when = (
        "due for a dream"
        if row.due
        else f"next dream {_from_when(row)}"
        if row.due_at and not _nothing_waits(row)
        else closed
    )
    new = f"; {counted(row.backlog, 'fact')} not looked at yet" if row.backlog else ""
    return f"{when or 'nothing to dream of'}{new} ({size})"


def _from_when(row: "Standing") -> str:
    """Return from when on a project dreams that the time gate stops now, and whether that is all that stops it."""
    return f"from {short_time(row.due_at)} on" + (", with more sessions" if _few(row) else "")


def _few(row: "Standing") -> str:
    """Return why a project has too few sessions for a dream, "" where it has enough or nothing to dream of."""
    return next(
        (gate.reason for gate in row.gates if gate.gate == "sessions" and not (gate.passed or gate.nothing_waits)), ""
    )


def _nothing_waits(row: "Standing") -> str:
    """Return why no dream is to come of what there is now, "" where one is."""
    return next((gate.reason for gate in row.gates if gate.gate == "sessions" and gate.nothing_waits), "")


def _rule(rows: "list[Standing]") -> str:
    """Return how many sessions are enough, in the words of the gates that say so; "" where all have enough."""
    said = sorted({_few(row).partition(": ")[2].partition(" (")[0] for row in rows if _few(row)})
    heads = " and ".join(dict.fromkeys(one.partition(", or ")[0] for one in said))
    tails = dict.fromkeys(filter(None, (one.partition(", or ")[2] for one in said)))
    return ", or ".join(filter(None, [heads, *tails]))


def _dreamt(row: "Standing") -> Iterator[str]:
    """Yield when a project dreamt last, and what became of that."""
    if row.taken_back:
        before = f"; the one before: {short_time(row.last_dream)}" if row.last_dream else ""
        yield f"  last dream taken back {short_time(row.taken_back)}; {_AGAIN}{before}"
        yield "  next       nothing is due: a night looks at it again, and learns only from later sessions"
        return
    parts = [short_time(row.last_dream or "") or ("none that stands" if row.undone_dream else "never")]
    parts += ["by no run in the history: Cersei keeps the same clock"] if row.is_of_others else []
    parts += [f"looked at again {short_time(row.looked_at)}, nothing new"] if row.looked_at else []
    parts += [f"that of {short_time(row.undone_dream)} was taken back"] if row.undone_dream else []
    parts += [f"the last that changed anything: {row.last_change}"] if row.last_change else []
    yield f"  last dream {'; '.join(parts)}"


def _project(row: "Standing", name: str) -> Iterator[str]:
    """Yield everything about one project."""
    size = f"{counted(row.sessions, 'session')}, {counted(row.memories, 'memory', 'memories')}"
    yield f"{bold(name)}  ({f'{row.project}; ' if name != row.project else ''}{size})"
    if row.problem:
        yield f"  {bad('problem')}    {row.problem}"
        return
    yield from _dreamt(row)
    if row.due_at and not _nothing_waits(row):
        yield f"  next due   {_from_when(row)}"
    # that gates are open would look as if what was taken back were about to come again
    for gate in row.gates if not row.taken_back else [gate for gate in row.gates if not gate.passed]:
        yield f"  {good('pass') if gate.passed else open_to('stop')}       {gate.gate}: {gate.reason}"
    if row.waiting:
        since = f", the oldest since {short_time(row.oldest_waiting)}" if row.oldest_waiting else ""
        others = ", which that dream had not taken" if row.taken_back else ""
        yield f"  waiting    {in_wait(row.waiting, row.for_you)}{others}{since}"
    if row.backlog and not row.taken_back:
        since = f" since {short_time(row.backlog_since)}" if row.backlog_since else ""
        yield f"  backlog    {counted(row.backlog, 'fact')} for the next dream{since}"
    if row.failing:
        failing = counted(row.failing, "session")
        yield f"  {bad('failing')}    {failing} could not be read (slowwave run extract --json says why)"
    if tools := row.foreign.get("tool", 0):
        lines = counted(tools, "line of a memory file", "lines of memory files")
        yield f"  foreign    {lines} came from tools (slowwave memory quarantine shows where from)"
    yield f"  memory     {Path(row.memory) / INDEX}{'' if (Path(row.memory) / INDEX).exists() else ' (not there yet)'}"
    yield from (f"  {name:<9}  {how}" for name, how in {"folder": row.folder, **row.reaches}.items() if how)
    yield from (f"  hooks      {said}" for said in [row.spoken] if said)
    for stopped in row.stopped:
        yield f"  {bad('stopped')}    compaction of {stopped} (slowwave sessions compact tries again)"
    for dream in row.parked:
        yield f"  {open_to('review')}     {dream} waits for you: slowwave review"


def _left_out(problems: list[str]) -> Iterator[str]:
    if problems:
        yield ""
        yield f"Left out of the stores: {len(problems)}"
        yield from (f"  {problem}" for problem in problems[:_MOST_PROBLEMS])
        if len(problems) > _MOST_PROBLEMS:
            yield f"  and {len(problems) - _MOST_PROBLEMS} more (--json shows all)"


def retention_lines(kept: "Kept") -> Iterator[str]:
    """Yield what retention holds on to: the trash, holds, and what was archived before its client deletes it."""
    yield ""
    last = f"; last entry in the audit log {short_time(kept.last)}" if kept.last else ""
    trash = f"{counted(kept.trash, 'item')} in the trash ({readable(kept.trash_bytes)})"
    holds = f", {counted(kept.holds, 'hold')} that keep sessions" if kept.holds else ""
    yield f"Retention: {trash}{holds}{last}"
    if kept.rescue == OFF:
        yield "  rescue     off (retention.rescue): what clients delete is lost"
    else:
        most = (
            f", at most {readable(kept.rescue_max_bytes)} (retention.rescue_max_bytes)" if kept.rescue_max_bytes else ""
        )
        so_far = f"{readable(kept.rescued_bytes)} so far" if kept.rescued else "nothing yet"
        what = f"what Claude Code or OpenClaw would delete within {kept.rescue} is archived first: {so_far}{most}"
        yield from wrapped(what, first="  rescue     ", rest=" " * 13, width=screen_width())
    if kept.problem:
        yield f"  {bad('problem')}    {kept.problem}"


def of_backfills(backfills: "list[Unfinished]", problems: list[str]) -> Iterator[str]:
    """Yield the backfills that wait for a person, with the command that goes on with them."""
    if backfills or problems:
        yield ""
    for one in backfills:
        why = f"; {one.why}" if one.why else ""
        yield f"Backfill {one.run_id} is {_HOW.get(one.how, one.how)}: {_how_far(one)}{why}"
        yield f"  continue: {one.command}"
    yield from (f"  {bad('problem')}    {problem}" for problem in problems)


def _how_far(one: "Unfinished") -> str:
    if one.how == "rolling-back":
        return "a part of what it added is taken back, a part still stands"
    return f"{one.read:,} of {counted(one.sessions, 'session')} read"


def of_morning(found: "Morning", options: str = "") -> Iterator[str]:
    """Yield what was learned last, and what needs a person: the first that somebody wants to know who comes back."""
    if found.run:
        yield f"Learned {short_time(found.at)}: {found.told}  (slowwave nights show {found.run}{options})"
    if found.needs:
        yield (
            open_to(f"Waiting for you: {found.needs}{' or more' * found.needs_more}") + f"  (slowwave review{options})"
        )
    if found.run or found.needs:
        yield ""


def of_nights(past: "Lately") -> Iterator[str]:
    """Yield what the history says: the last night, what it raised, and what a model may cost."""
    from slowwave.observability.night import state  # noqa: PLC0415 - --help stays fast

    if past.last is None and not (past.problems or past.at_work or past.stopped):
        return
    yield ""
    for note in past.at_work:
        who = f"process {note.owner.pid} on {note.owner.host}"
        yield f"At work: {note.job} since {short_time(note.at)}, {note.where} ({who})"
    if past.last is not None:
        night = past.last
        last_good = f"the last without a failure began {short_time(past.last_good)}"
        how = "" if not night.failed else f"; {last_good if past.last_good else 'every run so far had failures'}"
        when = f"{short_time(night.at)}, {_ago(past.hours or 0)}"
        yield f"Last run: {night.job} of {when}: {(bad if night.failed else good)(state(night))}{how}"
        if (since := past.since) is not None:
            yield f"Since then: {since.job} of {short_time(since.at)}: {(bad if since.failed else good)(state(since))}"
        if unanswered := night.counted("model_postponed"):
            what = counted(unanswered, "question")
            yield f"  model      {what} got no answer and wait for the next run; {_ASK}"
        if past.ahead:
            yield f"  clock      {past.ahead}"
    for night in past.stopped:
        mark, why = ("ended  ", night.ended) if night.ended else (bad("stopped"), night.failures[0])
        yield f"  {mark}    {short_time(night.at)}: {why}"
    yield from (f"  {bad('alarm')}      {alarm.name}: {alarm.summary}" for alarm in past.alarms)
    yield from _budget(past.budget)
    yield from (f"  {bad('problem')}    {problem}" for problem in past.problems)


def _budget(budget: "Budget") -> Iterator[str]:
    if not (budget.tokens or budget.usd or budget.spent_tokens):
        return
    of_tokens = f" of {budget.tokens:,}" if budget.tokens else ""
    of_money = f" of {budget.usd:g}" if budget.usd else ""
    spent = f"{budget.spent_tokens:,}{of_tokens} tokens, {budget.spent_usd:.4f}{of_money} USD"
    yield f"  budget     the last run spent {spent}"


def _ago(hours: float) -> str:
    if hours < 0:
        return f"in {-hours:.1f} h by this clock"
    if hours < 1:
        return f"{max(round(hours * 60), 1)} min ago"
    return f"{hours:.1f} h ago" if hours < 2 * _DAY else f"{hours / _DAY:.0f} days ago"


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave doctor``."""
    add_settings_options(parser)
    parser.add_argument("--model", action="store_true", help="ask the language model one tiny question")
    parser.add_argument("--archive", action="store_true", help="read every byte of the archive back")
    add_json_option(parser)


def run_doctor(args: argparse.Namespace) -> int:
    """Print every check; return 0 when all is well, else 6."""
    is_well = True
    for check in _checks(args):
        is_well = is_well and check.ok
        if args.json:
            say_json([check])
            continue
        mark = bad("WRONG") if not check.ok else open_to("note ") if check.fix else good("ok   ")
        say(f"{mark}  {check.name:<12} {check.seen}")
        if check.fix:
            say(f"       {'':<12} fix: {check.fix}")
    return DONE if is_well else PARTLY_FAILED


def _checks(args: argparse.Namespace) -> "Iterator[Check]":
    from slowwave.service.checks import Check, checks  # noqa: PLC0415 - --help stays fast

    try:
        settings = settings_of(args)
    except SettingsError as error:
        # whoever asks what is wrong gets it as an answer; without settings nothing else can be looked at
        where = error.source or "the place that names it"
        yield Check("settings", ok=False, seen=str(error), fix=f"correct {error.key} in {where}")
        return
    yield from checks(settings, os.environ, SystemClock(), ask_model=args.model, read_archive=args.archive)
