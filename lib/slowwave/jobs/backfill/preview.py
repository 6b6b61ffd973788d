"""What a backfill would read and cost, before anything is read for good: some sessions are read, and it is counted up.

Bytes and sessions are those of the plan. Processor time and tokens come from a sample that is read as the run would
read it, with the meter that extraction itself uses; a model is not asked. What its answers come to, and how long they
take, is taken from earlier backfills with the same model, and is a wide guess before the first one.
"""

import os
import time
from collections.abc import Mapping, Sequence

import msgspec

from slowwave.extraction.job import ask_model, extract_one
from slowwave.extraction.model.summary import USUAL_ANSWER
from slowwave.jobs.backfill.collected import Collected
from slowwave.jobs.backfill.estimate import Estimate, estimated, groups_of, sample_order
from slowwave.jobs.backfill.forecast import Foreseen, note_forecast
from slowwave.jobs.backfill.history import past_runs
from slowwave.jobs.backfill.model import Pace, Piece, Plan, Shard
from slowwave.jobs.backfill.parameters import BackfillParameters
from slowwave.jobs.backfill.planning import plan_backfill
from slowwave.jobs.backfill.story import first_words, wanted_of
from slowwave.jobs.backfill.upgrades import note_versions
from slowwave.jobs.parameters import run_of
from slowwave.jobs.workers import PAYS_FROM_BYTES
from slowwave.places import home_folder
from slowwave.report import Report
from slowwave.secrets.key import redactor_of
from slowwave.secrets.redactor import Redactor
from slowwave.stores.model import StoredSession

MOST_SESSIONS = 240
# processor time that a preview may take; with less than this many sessions read, it goes on all the same
MOST_CPU_S = 20.0
LEAST_SESSIONS = 40
# what is imported, compiled and looked up once is no part of a session's time
WARMING_UP = 4


class Measured(msgspec.Struct, frozen=True):
    """What reading one session came to: seconds of the processor and of the clock, questions and their tokens."""

    size: int
    cpu: float
    wall: float
    questions: int
    prompt_tokens: int


def preview(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    """Return the report of what a backfill would do; nothing is changed, and no model is asked.

    Raises:
        SlowwaveError: as the run itself would.
    """
    run = run_of(given, environ)
    plan, shards = plan_backfill(run, wanted_of(given), Pace(given.sessions_per_second, given.mb_per_second))
    report = first_words(plan)
    report.count("sessions", plan.sessions)
    report.count("bytes", plan.bytes)
    note_versions(report, shards)
    if plan.sessions:
        past = [one for one in past_runs(environ) if one.model and one.model == plan.settings.model.label]
        note_forecast(report, plan, _foreseen(plan, shards, environ), past)
    return report


def _foreseen(plan: Plan, shards: Sequence[Shard], environ: Mapping[str, str]) -> Foreseen:
    """Read a sample and return what it says about the whole."""
    every = [(piece, session) for shard in shards for piece in shard.pieces for session in piece.sessions]
    groups = groups_of(every, lambda one: one[1].size)
    sampled: list[list[Measured]] = [[] for _ in groups]
    redact = redactor_of(plan.settings, environ, create=False)
    chosen = sample_order(groups, MOST_SESSIONS)
    for _, (piece, session) in chosen[:WARMING_UP]:
        _measured(plan, piece, session, environ, redact)
    begun = time.process_time()
    number = 0
    for group, (piece, session) in chosen:
        if number >= LEAST_SESSIONS and time.process_time() - begun > MOST_CPU_S:
            break
        sampled[group].append(_measured(plan, piece, session, environ, redact))
        number += 1
    sizes = [[session.size for _, session in group] for group in groups]

    def whole(value: str) -> Estimate:
        return estimated(sizes, [[(one.size, getattr(one, value)) for one in of_group] for of_group in sampled])

    return Foreseen(
        sampled=number,
        cpu=whole("cpu"),
        wall=whole("wall"),
        questions=whole("questions"),
        prompt_tokens=whole("prompt_tokens"),
        workers=min(os.cpu_count() or 1, plan.pieces) if plan.bytes >= PAYS_FROM_BYTES else 1,
    )


def _measured(
    plan: Plan, piece: Piece, session: StoredSession, environ: Mapping[str, str], redact: Redactor
) -> Measured:
    wall, cpu = time.monotonic(), time.process_time()
    batch = Collected(plan.projects[piece.project], plan, piece.seed, home_folder(environ), redact)
    if not batch.carried_over(session):
        extract_one(session, batch)
    settings = plan.settings.model
    if settings.is_set:
        ask_model([session], batch, None)
    seconds, cpu_seconds = time.monotonic() - wall, time.process_time() - cpu
    questions = batch.report.counts.get("model_questions", 0)
    usual = questions * min(USUAL_ANSWER, settings.max_output_tokens)
    prompt = batch.report.counts.get("model_tokens_foreseen", 0) - usual
    return Measured(session.size, cpu_seconds, seconds, questions, max(0, prompt))
