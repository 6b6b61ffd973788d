"""The folder of a backfill: its plan, its shards, what came of each piece, what landed, and whether it shall pause.

It lies under the state folder, or wherever ``backfills`` there is a link to: with workers on several hosts, on storage
that all of them see. Every file in it is written whole and renamed, so a kill leaves what was there before.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from slowwave.errors import CorruptStateError, LockHeldError, NotFoundError
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.jobs.backfill.model import VERSION, Plan, Result, Shard
from slowwave.jobs.batches import packed, unpacked
from slowwave.places import state_folder

T = TypeVar("T")

Standing = Literal["rolled-back", "rolling-back", "done", "failed"]
# the first that is noted counts
STANDINGS: tuple[Standing, ...] = ("rolled-back", "rolling-back", "done", "failed")


def backfills_folder(environ: Mapping[str, str]) -> Path:
    """Return where the backfills of this user are."""
    return state_folder(environ) / "backfills"


class Folder:
    """One backfill on disk.

    Args:
        path: its folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, run_id: str, environ: Mapping[str, str]) -> "Folder":
        """Return the folder of a run that is there.

        Raises:
            NotFoundError: there is none.
        """
        folder = cls(backfills_folder(environ) / run_id)
        if not run_id or not (folder.path / "plan.json").is_file():
            there = sorted(p.parent.name for p in backfills_folder(environ).glob("*/plan.json"))
            raise NotFoundError(f"no backfill {run_id!r}; there are: {', '.join(there[-8:]) or 'none'}")
        return folder

    def write(self, plan: Plan, shards: list[Shard]) -> None:
        """Write a new run; the plan comes last, so that a run without it is none.

        Raises:
            OSError: the state folder cannot be written.
        """
        for name in ("shards", "pieces", "landed"):
            private_folder(self.path / name)
        for shard in shards:
            atomic_write(self._shard(shard.number), packed(shard))
        atomic_write(self.path / "plan.json", packed(plan))

    def plan(self) -> Plan:
        """Return the plan.

        Raises:
            CorruptStateError: it does not parse, or a newer version wrote it.
        """
        return _parsed(self.path / "plan.json", Plan)

    def shard(self, number: int) -> Shard:
        """Return a shard.

        Raises:
            CorruptStateError: it does not parse.
        """
        return _parsed(self._shard(number), Shard)

    def has(self, piece: int) -> bool:
        """Say whether a piece was read."""
        return self._piece(piece).exists()

    def write_result(self, piece: int, result: Result) -> None:
        """Note what came of a piece."""
        atomic_write(self._piece(piece), msgspec.json.encode(result))

    def result(self, piece: int) -> Result:
        """Return what came of a piece.

        Raises:
            CorruptStateError: its file is damaged.
        """
        path = self._piece(piece)
        try:
            return msgspec.json.decode(file_bytes(path), type=Result)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            remedy = "delete it and resume the backfill: it is read again"
            raise CorruptStateError(path, f"is not the result of a piece ({error})", remedy) from error

    def answers(self, piece: int) -> Path:
        """Return where the answers of a model about a piece are kept until the piece is written."""
        return self.path / "pieces" / f"{piece:07}.answers.jsonl"

    def deaths(self, piece: int) -> Path:
        """Return where it is noted what killed the processes that read a piece."""
        return self.path / "pieces" / f"{piece:07}.deaths"

    def landed(self, name: str) -> Path:
        """Return where it is noted what a landing wrote."""
        return self.path / "landed" / name

    def pause(self) -> None:
        """Let every worker stop after the session that it reads."""
        atomic_write(self.path / "pause", b"paused\n")

    def unpause(self) -> None:
        """Let workers go on."""
        (self.path / "pause").unlink(missing_ok=True)

    @property
    def is_paused(self) -> bool:
        """Whether somebody asked for a pause; anybody may put a file of that name there."""
        return (self.path / "pause").exists()

    @property
    def standing(self) -> str:
        """What became of the run: rolled-back, rolling-back (a part is taken back), done, failed, or ""."""
        return next((name for name in STANDINGS if (self.path / name).exists()), "")

    def note(self, standing: Standing, data: bytes = b"\n") -> None:
        """Note what became of the run."""
        atomic_write(self.path / standing, data)

    def forget(self, standing: Standing) -> None:
        """Remove what was noted before."""
        (self.path / standing).unlink(missing_ok=True)

    def said(self, standing: Standing) -> str:
        """Return the words that were noted with a standing."""
        return file_bytes(self.path / standing).decode("utf-8").strip()

    def drop_work(self) -> None:
        """Remove shards and results of a run that nobody will resume."""
        for name in ("shards", "pieces"):
            shutil.rmtree(self.path / name, ignore_errors=True)

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep a second process from leading the same run; workers need no lock.

        Raises:
            LockHeldError: one leads it already.
        """
        fd = os.open(self.path / "lead.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LockHeldError(
                    f"backfill {self.path.name}: another process is working on it; pause it first"
                ) from error
            yield
        finally:
            os.close(fd)

    def is_led(self) -> bool:
        """Say whether a process leads the run now."""
        path = self.path / "lead.lock"
        if not path.exists():
            return False
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def _shard(self, number: int) -> Path:
        return self.path / "shards" / f"{number:05}.json"

    def _piece(self, number: int) -> Path:
        return self.path / "pieces" / f"{number:07}.json"


def _parsed(path: Path, kind: type[T]) -> T:
    try:
        tree = json.loads(file_bytes(path))
        if (form := tree.get("v", VERSION)) > VERSION:
            raise CorruptStateError(path, f"was written by a newer slowwave (form {form})", "use that one")
        return unpacked(tree, kind)
    except (OSError, ValueError, AttributeError) as error:
        raise CorruptStateError(path, f"is not part of a backfill ({error})", "start a new backfill") from error
