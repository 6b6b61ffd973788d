"""How fast earlier backfills were, and what their questions to a model came to: what a preview goes by."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from slowwave.errors import CorruptStateError
from slowwave.extraction.taking import EXTRACTOR
from slowwave.files import atomic_write, file_bytes
from slowwave.jobs.backfill.folder import Folder, backfills_folder
from slowwave.jobs.backfill.model import Plan

MOST = 50


class Past(msgspec.Struct, frozen=True, omit_defaults=True):
    """One backfill that came to its end.

    Attributes:
        run_id: its id.
        extractor: version of the miners.
        model: name of the model, or "".
        sessions: how many were read.
        bytes: in them.
        cpu_seconds: of the processor.
        prompt_tokens: as the server counted them.
        foreseen_prompt_tokens: as they were estimated before.
        completion_tokens: of the answers.
        answers: how many.
        model_seconds: of answers, added up.
    """

    run_id: str
    extractor: str
    model: str
    sessions: int
    bytes: int
    cpu_seconds: float
    prompt_tokens: int = 0
    foreseen_prompt_tokens: int = 0
    completion_tokens: int = 0
    answers: int = 0
    model_seconds: float = 0.0


def note_speed(run: Folder, plan: Plan, environ: Mapping[str, str]) -> None:
    """Note what a run came to, once; its pieces are still there.

    Raises:
        CorruptStateError: the run's files are damaged.
        OSError: the state folder cannot be written.
    """
    past = past_runs(environ)
    if any(one.run_id == plan.run_id for one in past):
        return
    results = [run.result(piece.number) for number in range(plan.shards) for piece in run.shard(number).pieces]
    counts = [result.counts for result in results]
    new = Past(
        run_id=plan.run_id,
        extractor=EXTRACTOR,
        model=plan.settings.model.label,
        sessions=plan.sessions,
        bytes=plan.bytes,
        cpu_seconds=round(sum(result.cpu_seconds for result in results), 3),
        prompt_tokens=sum(one.get("model_prompt_tokens", 0) for one in counts),
        foreseen_prompt_tokens=sum(result.asked.prompt_tokens for result in results),
        completion_tokens=sum(one.get("model_completion_tokens", 0) for one in counts),
        answers=sum(result.asked.answers for result in results),
        model_seconds=round(sum(result.asked.seconds for result in results), 3),
    )
    atomic_write(_path(environ), msgspec.json.encode([*past, new][-MOST:]))


def past_runs(environ: Mapping[str, str]) -> list[Past]:
    """Return the backfills that came to their end, oldest first.

    Raises:
        CorruptStateError: the file is damaged.
    """
    path = _path(environ)
    try:
        return msgspec.json.decode(file_bytes(path), type=list[Past])
    except FileNotFoundError:
        return []
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        remedy = "delete it: it only helps previews"
        raise CorruptStateError(path, f"is not a list of past runs ({error})", remedy) from error


def _path(environ: Mapping[str, str]) -> Path:
    return backfills_folder(environ) / "past.json"
