"""The page ``docs/scale.md``, written from the record of ``make scale``: figures are measured or simulated."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from tests.benchmarks.scale_fit import farthest, fitted
from tests.benchmarks.scale_night import (
    DEATHS_SHARE,
    MEDIAN_BYTES,
    NOTICED_S,
    READERS_A_HOST,
    SLOW,
    SLOW_SHARE,
    Cost,
    Night,
    World,
    night,
    world,
)

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
RECORD = Path(__file__).with_name("scale_record.json")
SESSIONS = 1_000_000
HOSTS = (10, 25, 100, 400)
NIGHT_S = 8 * 3600
WIDTH = 118
STEPS = {
    "read": "read a shard: decode, gates, miners, redaction (worker)",
    "land": "land a shard in the memory folders (leader)",
    "dream": "dream over the projects",
    "plan": "plan a compaction of every session (dry run)",
    "decode": "beside it: decode every line by orjson",
}
# of earlier measurements on PostgreSQL 15 and Redis 7, 10,000 task runs, two API servers and one of services
RECORDED_A_SECOND, ROWS_BYTES, EVENTS = 150, (15_000, 25_000), 3


def page_of(record: Mapping[str, Any]) -> str:
    """Return the page as it should stand for what was measured."""
    shapes: list[dict[str, Any]] = record["shapes"]
    costs = {step: fitted(shapes, step) for step in STEPS}
    there = world(SESSIONS)
    nights = {hosts: night(there, hosts, costs) for hosts in HOSTS}
    parts = (_head(), *_measured(record["rounds"], shapes), *_fits(shapes, costs), *_plan(there, nights))
    return "\n".join((*parts, *_limits(there, nights[100], costs), ""))


def _head() -> str:
    return "# Past one machine\n\n" + _wrapped(
        "Written by `make scale RECORD=1` from `tests/benchmarks/scale_record.json`; a test holds that both agree."
        " No language model is asked in any of it: where one is, its answers are what a night waits for."
    )


def _wrapped(text: str, number: int = 0) -> str:
    """Return a paragraph in lines of the page's width, as item of a list where it has a number."""
    first = f"{number}. " if number else ""
    return fill(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False)


def _measured(rounds: int, shapes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "\n## Measured on one machine\n"
    times = "once" if rounds == 1 else f"the median of {rounds} rounds"
    yield _wrapped(
        f"Processor seconds of one process on a busy machine with two cores, from nothing, {times}. Each session holds"
        " one wish of a person; those that are too short for the gates, and may go on, are refused, as in any night."
    )
    yield ""
    yield "| sessions | MB | of them read | " + " | ".join(STEPS) + " |"
    yield "|" + "---|" * (3 + len(STEPS))
    for one in shapes:
        seconds = " | ".join(f"{one['seconds'][step]:.2f}" for step in STEPS)
        yield f"| {one['sessions']} | {one['bytes'] / 1e6:.0f} | {one['extracted']} | {seconds} |"


def _fits(shapes: Sequence[Mapping[str, Any]], costs: Mapping[str, Cost]) -> Iterator[str]:
    yield "\nFitted to `a * sessions + b * bytes`:\n"
    yield "| step | ms a session | s a GB | worst shape off by |"
    yield "|---|---|---|---|"
    for step, about in STEPS.items():
        cost = costs[step]
        off = farthest(shapes, step, cost)
        yield f"| {step}: {about} | {cost.session * 1e3:.2f} | {cost.byte * 1e9:.1f} | {off:.0%} |"
    times = costs["read"].byte / costs["decode"].byte
    yield ""
    yield _wrapped(
        f"Reading a session for what is worth remembering costs {times:.0f} times its decoding, byte for byte. Where"
        " the worst shape is off by half, its times are hundredths of a second: such a cost is an order of magnitude."
    )


def _plan(there: World, nights: Mapping[int, Night]) -> Iterator[str]:
    largest = max(there.projects)[0]
    yield "\n## Simulated: a million sessions a night\n"
    yield _wrapped(
        f"{there.sessions / 1e6:.0f} million sessions, {there.bytes / 1e9:.0f} GB (log-normal, median"
        f" {MEDIAN_BYTES / 1e3:.0f} kB), in {len(there.projects):,} projects, the largest with {largest:,}. One"
        f" `backfill` on Dask or Ray cuts them into {len(there.shards)} shards of 256 MB or 5,000 sessions."
        f" {READERS_A_HOST} readers a host take the next shard; {SLOW_SHARE:.0%} of the hosts are {SLOW:.0f} times"
        f" slower, {DEATHS_SHARE:.0%} die while they read, which is noticed after {NOTICED_S:.0f} s (three of Prefect's"
        " heartbeats); pieces that were read are not read again. The leader lets shards land in the order of the plan."
        " Then every host has a `consolidate` and a `compact` of its own for the projects that it is given (`project`),"
        " a project being one piece of work."
    )
    yield ""
    yield "| hosts | read | if all were equal | landed | dreamt | planned | shards begun twice | read from storage |"
    yield "|---|---|---|---|---|---|---|---|"
    for hosts, one in nights.items():
        times = " | ".join(_minutes(t) for t in (one.read, one.read_evenly, one.landed, one.dreamt, one.planned))
        yield f"| {hosts} | {times} | {one.repeated} | {one.reading_rate / 1e6:.0f} MB/s |"
    yield "\nMinutes after the beginning. The same figures come out of the same record on every machine."


def _limits(there: World, one: Night, costs: Mapping[str, Cost]) -> Iterator[str]:
    each = one.landing / there.sessions
    rate = one.task_runs / one.planned
    low, high = (size * one.task_runs / 1e6 for size in ROWS_BYTES)
    yield "\n## What breaks first\n"
    yield _wrapped(
        f"**The leader.** Landing is one process, {each * 1e3:.2f} ms a session, {_minutes(one.landing)} minutes of"
        f" this night however many hosts read. It ends at {NIGHT_S / each / 1e6:.0f} million sessions in eight hours."
        " Past that: one backfill for each group of projects (`projects`), each with a leader of its own; nothing of"
        " one project's landing depends on another's.",
        1,
    )
    yield _wrapped(
        f"**Stragglers and dead hosts.** On 100 hosts reading takes {one.read / one.read_evenly:.1f} times what it"
        " would if all were equal: a shard is not cut smaller when it turns out to be slow, and a dead host is known"
        " after three heartbeats.",
        2,
    )
    yield _wrapped(
        "**Shared storage.** Sessions and the run's folder must be seen by all workers: the last column above is what"
        " it must give. Only a local disk was measured. Memory folders need renames that are atomic across hosts; what"
        " guards them is the content, not the clock ([decision 39](decisions/0039-several-hosts.md)). A dream that was"
        " overtaken is planned anew, which doubles the cost of that project and of no other.",
        3,
    )
    yield _wrapped(
        f"**Prefect.** {one.task_runs:,} task runs, {rate:.1f} a second; one recorder on PostgreSQL and Redis took"
        f" {RECORDED_A_SECOND} a second. The database grows by {low:.0f} to {high:.0f} MB a night. Its events come to"
        f" {EVENTS * one.task_runs / there.sessions:.3f} a session; `make bench` holds the calls of its client to 0.1."
        " A server without Redis forgets task runs when about 3,000 come at once, which these do not.",
        4,
    )
    yield _wrapped(
        f"**The processors.** {one.busy / 3600:.1f} hours of one core in all, or"
        f" {one.busy / READERS_A_HOST / 3600:.1f} hours on a single host of {READERS_A_HOST} cores: a million sessions"
        f" without a model do not need 100 hosts. {costs['read'].of(there.sessions, there.bytes) / one.busy:.0%} of it"
        " is reading.",
        5,
    )
    yield ""
    yield _wrapped(
        "Not measured, and not in the simulation: real networks and their failures, storage that is slow for many at"
        " once, one project with more sessions than the measured ones (the fit goes on in a straight line), a model's"
        " answers."
    )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f}"
