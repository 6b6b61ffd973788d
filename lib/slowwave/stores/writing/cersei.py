"""Writing Cersei's sessions: entries in part files, tombstones and summaries."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from slowwave.errors import UsageError
from slowwave.files import private_folder
from slowwave.formats.append import SUFFIX, append_forking, numbered_parts, session_stem
from slowwave.formats.cersei import encode
from slowwave.formats.cersei.dialect import CERSEI
from slowwave.formats.cersei.records import CerseiMessage
from slowwave.formats.claude.encode import result_block
from slowwave.formats.model import SessionFiles
from slowwave.stores.forking import write_fork
from slowwave.stores.ids import base_path
from slowwave.stores.last import last_record
from slowwave.stores.writing.base import Compaction, Content, Draft, Target
from slowwave.stores.writing.claimed import ClaimedWriter
from slowwave.stores.writing.extract import cersei_path
from slowwave.stores.writing.lookup import record_with, unknown


class CerseiWriter(ClaimedWriter):
    """Cersei's ``write_user_message``, ``write_assistant_message``, ``tombstone`` and ``write_summary``."""

    dialect: ClassVar[str] = "cersei"

    def message(self, target: Target, draft: Draft) -> str:
        """Append an entry; results are blocks of a user entry.

        Raises:
            NotFoundError: the parent is not there.
            UsageError: a user's entry is to have a parent: only those of the assistant name one.
        """
        if draft.parent is not None:
            if draft.role != "assistant":
                raise UsageError(f"{target.id}: an entry of a user names no parent in cersei; leave the parent out")
            if record_with(_parts(target), draft.parent, lambda entry: entry.get("uuid") == draft.parent) is None:
                raise unknown(draft.parent, target.id)
        made = self.means.ids()
        cwd = last_record(SessionFiles(target.id, target.files)).cwd or target.cwd
        at = self.means.clock.now()
        if draft.role == "assistant":
            line = encode.assistant_line(
                draft.content, uuid=made, parent=draft.parent, session=target.id, cwd=cwd, at=at
            )
        else:
            line = encode.user_line(said(draft), uuid=made, session=target.id, cwd=cwd, at=at)
        self._append(target, lambda: line)
        return made

    def tombstone(self, target: Target, message_id: str) -> None:
        """Append the entry that hides a message in every part; it may come before the message."""
        line = encode.tombstone_line(message_id, at=self.means.clock.now())
        self._append(target, lambda: line)

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a summary of the oldest messages that were not hidden yet, up to the first one that stays.

        Raises:
            NotFoundError: the first message that is to stay is not among those that are still sent.
        """
        made = self.means.ids()

        def line() -> bytes:
            count = compaction.messages
            if count is None:
                count = _messages_before(SessionFiles(target.id, _parts(target)), compaction.keep_from)
            at = self.means.clock.now()
            return encode.summary_line(compaction.summary, uuid=made, session=target.id, compacted=count, at=at)

        self._append(target, line)
        return made

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy all entries, or those up to a message; tombstones and summaries belong to what they concern."""
        files = SessionFiles(target.id, target.files)
        only = None if at is None else cersei_path(files, at)
        return write_fork(files, self.dialect, base_path(folder, new_id), new_id, self.means.part_bytes, only)

    def _append(self, target: Target, line: Callable[[], bytes]) -> None:
        private_folder(target.path.parent)
        append_forking(
            _base(target),
            lambda: line().rstrip(b"\n"),
            self.means.part_bytes,
            fsync=self.means.fsync,
            announce=self.means.announce,
        )


def _base(target: Target) -> Path:
    """Return the first part, also where it is missing."""
    return target.path.with_name(session_stem(target.path.name)[0] + SUFFIX)


def _parts(target: Target) -> tuple[Path, ...]:
    """Return all parts as they lie there now: another writer may have begun one since the session was found."""
    names = numbered_parts(_base(target))
    return tuple(target.path.with_name(names[number]) for number in sorted(names))


def _messages_before(files: SessionFiles, keep_from: str | None) -> int:
    """Return how many of the messages that are still sent stand before one of them; all for None.

    Raises:
        NotFoundError: it is not among them.
    """
    sent = [m.id for m in CERSEI.context(CERSEI.read(files)) if isinstance(m, CerseiMessage)]  # not the summary before
    if keep_from is None:
        return len(sent)
    if keep_from not in sent:
        raise unknown(keep_from, files.id)
    return sent.index(keep_from)


def said(draft: Draft) -> Content:
    """Return what a user entry holds: the words, or the result of a tool as a block."""
    if draft.role != "tool":
        return draft.content
    return [result_block(draft.call_id, draft.content, is_error=draft.is_error)]


WRITER = CerseiWriter
