"""Writing pi's sessions, and Clawdbot's, which are the same: a header, then entries, each under the one before it.

Any line that is appended becomes the leaf, a label too, so every entry is put under the leaf of that moment. A
session exists on disk only once it has an answer of the assistant: before that pi keeps everything in memory, and it
would write a file without an answer a second time (formats.md 6.9, defect 9).
"""

from collections.abc import Callable, Container, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from uuid import UUID

from slowwave.errors import LockHeldError, UsageError
from slowwave.formats.append import append_records
from slowwave.formats.append import session_id as id_in_name
from slowwave.formats.model import SessionFiles
from slowwave.formats.pi import encode
from slowwave.formats.pi.dialect import PI
from slowwave.formats.times import millisecond_time
from slowwave.stores.forking import write_session
from slowwave.stores.ids import base_path, checked_id
from slowwave.stores.openclaw import store as clawdbot
from slowwave.stores.openclaw.lock import held_lock, holder, lock_path
from slowwave.stores.walk import SUFFIX
from slowwave.stores.writing.base import Compaction, Draft, Means, Target, Writer
from slowwave.stores.writing.lookup import unknown
from slowwave.stores.writing.pi_copy import copied, extracted
from slowwave.stores.writing.pi_tail import PiTail, on_disk, waiting

BRANCH = "slowwave.branch"
# Another writer of ours lets go of a lock at once, a client only when the agent has finished.
_PATIENCE_S = 0.5


class PiWriter(Writer):
    """Entries of version 3. A file of version 1 has no ids and is refused: pi migrates it when it opens it."""

    dialect: ClassVar[str] = "pi"

    def __init__(self, means: Means) -> None:
        """Begin without anything that waits for an answer."""
        super().__init__(means)
        self._waiting: dict[Path, list[bytes]] = {}

    def path(self, folder: Path, session_id: str) -> Path:
        """Return ``<time>_<ID>.jsonl``."""
        stamp = millisecond_time(self.means.clock.now()).replace(":", "-").replace(".", "-")
        return base_path(folder, f"{stamp}_{checked_id(session_id)}")

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Hold Clawdbot's lock where it keeps the session; pi itself locks nothing, and a lock there is only obeyed.

        Raises:
            LockHeldError: a running client holds the lock.
        """
        if not target.files:
            yield
        elif (target.path.parent / clawdbot.NAME).exists():
            with held_lock(target.path, timeout_s=_PATIENCE_S):
                yield
        else:
            who = holder(target.path)
            if who:
                raise LockHeldError(f"{lock_path(target.path)}: held by {who}; close the session there first")
            yield

    def message(self, target: Target, draft: Draft) -> str:
        """Append a message under the leaf or under an older entry; before the first answer it waits in memory."""

        def line(tail: PiTail, place: encode.Place) -> bytes:
            return encode.message_line(self._message(tail, draft, place), place=place)

        return self._append(target, line, under=draft.parent, answers=draft.role == "assistant")

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a compaction; without a first kept entry it names itself, and pi keeps nothing before it.

        Raises:
            NotFoundError: the entry that is to stay first is not on the way to the leaf: pi would keep nothing.
        """
        if not target.files:
            raise UsageError(f"{target.id}: holds no answer to summarise yet; nothing was written")

        def line(_tail: PiTail, place: encode.Place) -> bytes:
            first = compaction.keep_from
            if first is not None and all(e.id != first for e in PI.read(SessionFiles(target.id, target.files)).path):
                raise unknown(first, target.id)
            return encode.compaction_line(
                compaction.summary,
                place=place,
                first_kept=first or place.id,
                tokens_before=compaction.tokens_before,
                read_files=compaction.read_files,
                modified_files=compaction.modified_files,
                remarks=compaction.remarks,
            )

        return self._append(target, line)

    def branch(self, target: Target, message_id: str | None, summary: str | None) -> str:
        """Append a branch summary under an older entry, or without a summary an entry that only moves the leaf."""

        def line(_tail: PiTail, place: encode.Place) -> bytes:
            if summary is None:
                return encode.custom_line(BRANCH, place=place)
            return encode.branch_summary_line(summary, place=place, branch_from=message_id)

        return self._append(target, line, under=message_id, from_root=message_id is None)

    def label(self, target: Target, message_id: str, label: str | None) -> str:
        """Append a label of an entry.

        Raises:
            NotFoundError: there is no such entry.
        """

        def line(tail: PiTail, place: encode.Place) -> bytes:
            if not tail.has(message_id):
                raise unknown(message_id, target.id)
            return encode.label_line(message_id, label, place=place)

        return self._append(target, line)

    def name(self, target: Target, name: str) -> None:
        """Append the name of the session; an empty one clears it."""
        self._append(target, lambda _tail, place: encode.name_line(name, place=place))

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy all entries (``forkFrom``), or the path to one (``createBranchedSession``), under a new header.

        Entries of older versions are migrated first.
        """
        files = SessionFiles(target.id, target.files)
        header = encode.header_line(
            new_id,
            cwd=str(PI.read(files).header.get("cwd") or target.cwd),
            at=self.means.clock.now(),
            parent_session=str(target.path.absolute()),
        )
        entries = copied(files) if at is None else extracted(files, at, self._fresh)
        return write_session(iter([header.rstrip(b"\n"), *entries]), self._copy_path(target, folder, new_id), None)

    def _copy_path(self, target: Target, folder: Path, new_id: str) -> Path:
        """Return the file of a copy, named in the way of the original."""
        timed = id_in_name(target.path.name) != target.path.name.removesuffix(SUFFIX)
        return self.path(folder, new_id) if timed else base_path(folder, new_id)

    def _append(
        self,
        target: Target,
        line: Callable[[PiTail, encode.Place], bytes],
        *,
        under: str | None = None,
        from_root: bool = False,
        answers: bool = False,
    ) -> str:
        """Append one entry under the leaf, or under another entry, and return its id."""
        made = ""

        def lines(tail: PiTail) -> list[bytes]:
            nonlocal made
            if under is not None and not tail.has(under):
                raise unknown(under, target.id)
            made = self._fresh(tail)
            parent = None if from_root else under or tail.leaf()
            place = encode.Place(made, parent, self.means.clock.now())
            return [line(tail, place).rstrip(b"\n")]

        if target.files or target.path.exists():
            append_records(
                target.path, lambda: lines(on_disk(target.path)), fsync=self.means.fsync, announce=self.means.announce
            )
            return made
        entries = self._waiting.setdefault(target.path, [])
        entries += lines(waiting(entries))
        if answers:
            header = encode.header_line(target.id, cwd=target.cwd, at=self.means.clock.now())
            write_session(iter([header.rstrip(b"\n"), *entries]), target.path, None)
            del self._waiting[target.path]
        return made

    def _fresh(self, taken: Container[str]) -> str:
        return encode.fresh_id(taken, lambda: UUID(self.means.ids()))

    def _message(self, tail: PiTail, draft: Draft, place: encode.Place) -> dict[str, object]:
        if draft.role == "assistant":
            model = tail.model(place.parent)
            return encode.assistant_message(
                draft.content, at=place.at, api=model.api, provider=model.provider, model=model.name
            )
        if draft.role == "tool":
            return encode.result_message(
                draft.content, at=place.at, call_id=draft.call_id, tool=draft.tool, is_error=draft.is_error
            )
        return encode.user_message(draft.content, at=place.at)


WRITER = PiWriter
