"""Backfills that wait for a person: paused, failed, killed, or taken back in part; what ``status`` says of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from slowwave.errors import SlowwaveError
from slowwave.memory.model import iso
from slowwave.places import state_folder

if TYPE_CHECKING:
    from slowwave.jobs.backfill.folder import Folder

How = Literal["paused", "failed", "unfinished", "rolling-back"]


class Unfinished(msgspec.Struct, frozen=True):
    """One of them.

    Attributes:
        run_id: its id.
        how: paused; failed, with ``why``; unfinished: its process is gone; rolling-back: a part of it is taken back.
        began: what time it was for the run, ISO time.
        sessions: that it is about.
        pieces: that were read, of so many.
        of: see ``pieces``.
        why: the first failure, or "".
        command: what goes on with it.
    """

    run_id: str
    how: How
    began: str
    sessions: int
    pieces: int
    of: int
    why: str
    command: str


def unfinished(environ: Mapping[str, str]) -> tuple[list[Unfinished], list[str]]:
    """Return the backfills that nobody is at and that are not done, and what could not be looked at."""
    found: list[Unfinished] = []
    problems: list[str] = []
    plans = sorted(state_folder(environ).glob("backfills/*/plan.json"))
    if not plans:
        return found, problems
    from slowwave.jobs.backfill.folder import Folder  # noqa: PLC0415 - loads what reads sessions; few have a backfill

    for path in plans:
        folder = Folder(path.parent)
        try:
            # one that is at work says so by a note of its own
            if folder.standing not in ("done", "rolled-back") and not folder.is_led():
                found.append(_look_at(folder))
        except (SlowwaveError, OSError) as error:
            problems.append(f"backfill {path.parent.name}: {error}")
    return found, problems


def _look_at(folder: "Folder") -> Unfinished:
    plan, standing = folder.plan(), folder.standing
    how: How = "rolling-back" if standing == "rolling-back" else "unfinished"
    if how == "unfinished" and (folder.is_paused or standing == "failed"):
        how = "paused" if folder.is_paused else "failed"
    action = "rollback" if how == "rolling-back" else "resume"
    return Unfinished(
        run_id=plan.run_id,
        how=how,
        began=iso(plan.now),
        sessions=plan.sessions,
        pieces=sum(folder.has(number) for number in range(plan.pieces)),
        of=plan.pieces,
        why=folder.said("failed") if how == "failed" else "",
        command=f"slowwave run backfill --{action} {plan.run_id}",
    )
