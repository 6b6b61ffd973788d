"""A night on many hosts, simulated from what one host was measured to cost; the same record gives the same night.

The plan is that of a backfill: shards of 256 MB or 5,000 sessions in the order of projects, read by whoever is free,
landed by one leader in the order of the plan; then the projects are dreamt over and compactions planned on all hosts.
"""

import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from slowwave.jobs.backfill.plan import SHARD_BYTES, SHARD_SESSIONS

SEED = 7
MEDIAN_BYTES, SIGMA, MOST_BYTES = 100_000, 1.3, 200_000_000
PROJECTS_A_MILLION, ZIPF = 20_000, 0.6
READERS_A_HOST = 2
# speeds of hosts scatter, and some are a third as fast
SCATTER, SLOW_SHARE, SLOW = 0.15, 0.03, 3.0
DEATHS_SHARE = 0.03
# three heartbeats of 60 s until a dead worker is known, and what it read since its last piece is read again
NOTICED_S, PIECE_SESSIONS, PIECE_BYTES = 180.0, 100, 16_000_000
PROJECTS_A_TASK = 25


class Cost(NamedTuple):
    """Processor seconds: for each session, and for each byte of it."""

    session: float
    byte: float

    def of(self, sessions: float, size: float) -> float:
        """Return the seconds of so many sessions with so many bytes."""
        return self.session * sessions + self.byte * size


@dataclass(frozen=True, slots=True)
class World:
    """What there is to do: sessions and bytes of each shard and of each project."""

    sessions: int
    bytes: int
    shards: list[tuple[int, int]]
    projects: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Night:
    """When each part was done, in seconds after the beginning, and what it came to."""

    read: float
    read_evenly: float
    landed: float
    landing: float
    dreamt: float
    planned: float
    busy: float
    repeated: int
    task_runs: int
    reading_rate: float


def world(sessions: int) -> World:
    """Make the sessions of a night: log-normal sizes, projects of which few are large."""
    chance = random.Random(SEED)
    number = max(1, round(PROJECTS_A_MILLION * sessions / 1_000_000))
    weights = [(rank + 1) ** -ZIPF for rank in range(number)]
    each = sessions / sum(weights)
    counts = [max(1, round(weight * each)) for weight in weights]
    chance.shuffle(counts)
    shards: list[tuple[int, int]] = []
    projects: list[tuple[int, int]] = []
    held, size = 0, 0
    for count in counts:
        whole = 0
        for _ in range(count):
            one = min(MOST_BYTES, round(chance.lognormvariate(math.log(MEDIAN_BYTES), SIGMA)))
            held, size, whole = held + 1, size + one, whole + one
            if held >= SHARD_SESSIONS or size >= SHARD_BYTES:
                shards.append((held, size))
                held, size = 0, 0
        projects.append((count, whole))
    if held:
        shards.append((held, size))
    return World(sum(counts), sum(size for _, size in projects), shards, projects)


def night(what: World, hosts: int, costs: dict[str, Cost]) -> Night:
    """Simulate one night."""
    chance = random.Random(SEED + hosts)
    slowness = [math.exp(chance.gauss(0, SCATTER)) for _ in range(hosts)]
    for host in chance.sample(range(hosts), round(hosts * SLOW_SHARE)):
        slowness[host] *= SLOW
    work = [costs["read"].of(*shard) for shard in what.shards]
    evenly = sum(work) / (hosts * READERS_A_HOST)
    dies = {host: chance.uniform(0, evenly) for host in chance.sample(range(hosts), round(hosts * DEATHS_SHARE))}
    ended, repeated = _spread(work, slowness, dies, costs["read"].of(PIECE_SESSIONS, PIECE_BYTES))
    landed = 0.0
    for when, shard in zip(ended, what.shards, strict=True):
        landed = max(landed, when) + costs["land"].of(*shard)
    alive = [slow for host, slow in enumerate(slowness) if host not in dies]
    # the largest first, so that none of them is begun last
    dreams = sorted((costs["dream"].of(*project) for project in what.projects), reverse=True)
    dreamt = landed + max(_spread(dreams, alive, {}, 0)[0])
    plans = [costs["plan"].of(*shard) for shard in what.shards]
    planned = dreamt + max(_spread(plans, alive, {}, 0)[0])
    busy = sum(work) + sum(dreams) + sum(plans) + sum(costs["land"].of(*shard) for shard in what.shards)
    return Night(
        read=max(ended),
        read_evenly=evenly,
        landed=landed,
        landing=sum(costs["land"].of(*shard) for shard in what.shards),
        dreamt=dreamt,
        planned=planned,
        busy=busy,
        repeated=repeated,
        task_runs=2 * len(what.shards) + repeated + math.ceil(len(what.projects) / PROJECTS_A_TASK),
        reading_rate=what.bytes / max(ended),
    )


def _spread(
    work: Sequence[float], slowness: Sequence[float], dies: dict[int, float], lost: float
) -> tuple[list[float], int]:
    """Give work to whoever is free, in its order; return when each was done, and how many were begun twice."""
    free = [(0.0, host) for host in range(len(slowness)) for _ in range(READERS_A_HOST)]
    heapq.heapify(free)
    waiting = [(0.0, number) for number in range(len(work))]
    heapq.heapify(waiting)
    left, ended, repeated = list(work), [0.0] * len(work), 0
    while waiting:
        known, number = heapq.heappop(waiting)
        at, host = heapq.heappop(free)
        begun = max(at, known)
        over, death = begun + left[number] * slowness[host], dies.get(host, math.inf)
        if death <= begun:  # nobody is there any more
            heapq.heappush(waiting, (known, number))
            continue
        if death < over:
            # what was written stays; the piece that was at work is read again
            left[number] -= max(0.0, (death - begun) / slowness[host] - lost)
            heapq.heappush(waiting, (death + NOTICED_S, number))
            repeated += 1
            continue
        ended[number] = over
        heapq.heappush(free, (over, host))
    return ended, repeated
