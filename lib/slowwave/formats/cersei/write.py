"""Writing Cersei's sessions: entries in part files, tombstones and summaries."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from slowwave.errors import UsageError
from slowwave.files import private_folder
from slowwave.formats import SessionFiles, offset_time
from slowwave.formats.cersei.dialect import CERSEI, CerseiMessage
from slowwave.formats.changes import append_forking
from slowwave.formats.claude.write import ClaimedWriter, Content, blocks_of, last_record, place_of, said
from slowwave.formats.lines import read_records
from slowwave.formats.sessions import SUFFIX, base_path, numbered_parts, session_stem
from slowwave.formats.writing import (
    LINES,
    Compaction,
    CopiedLine,
    Draft,
    Target,
    Where,
    json_line,
    marked,
    record_with,
    unknown,
    with_value,
    write_fork,
)

# Lines as Cersei writes them, for appending: one JSON object with its newline, nothing decided here.
#
# Names and order of the fields are those of Cersei's ``TranscriptEntry``: only assistant entries name a parent, and
# ``bare_line`` is a line of its bare-message file.


def entry_line(
    kind: str, content: Content, *, uuid: str, session: str, cwd: str, at: datetime, parent: str | None = None
) -> bytes:
    """Return an entry of the user, the assistant or the system; without a parent the field is left out."""
    record: dict[str, object] = {"type": kind, "uuid": uuid}
    if parent is not None:
        record["parent_uuid"] = parent
    body = {"role": kind, "content": content if isinstance(content, str) else blocks_of(content)}
    place = {"timestamp": offset_time(at), "session_id": session, "cwd": cwd}
    return json_line({**record, **place, "message": body, "is_sidechain": False})


def summary_line(summary: str, *, uuid: str, session: str, compacted: int, at: datetime) -> bytes:
    """Return a summary of the ``compacted`` oldest messages."""
    head = {"type": "summary", "uuid": uuid, "timestamp": offset_time(at), "session_id": session}
    return json_line({**head, "summary": summary, "messages_compacted": compacted})


def tombstone_line(deleted: str, *, at: datetime) -> bytes:
    """Return the entry that hides the entry with the uuid ``deleted``, in whichever part it lies."""
    return json_line({"type": "tombstone", "deleted_uuid": deleted, "timestamp": offset_time(at)})


def bare_line(role: str, content: Content) -> bytes:
    """Return a line of the bare-message file."""
    return json_line({"role": role, "content": content if isinstance(content, str) else blocks_of(content)})


class CerseiWriter(ClaimedWriter):
    """Cersei's ``write_user_message``, ``write_assistant_message``, ``tombstone`` and ``write_summary``."""

    dialect: ClassVar[str] = "cersei"

    def message(self, target: Target, draft: Draft) -> str:
        """Append an entry; results are blocks of a user entry.

        Raises NotFoundError: the parent is not there; UsageError: a user's entry is to have a parent: only those of the
        assistant name one.
        """
        if draft.parent is not None:
            if draft.role != "assistant":
                raise UsageError(f"{target.id}: an entry of a user names no parent in cersei; leave the parent out")
            if record_with(_parts(target), draft.parent, lambda entry: entry.get("uuid") == draft.parent) is None:
                raise unknown(draft.parent, target.id)
        made = self.means.ids()
        cwd = last_record(target.session).cwd or target.cwd
        kind, at = "assistant" if draft.role == "assistant" else "user", self.means.clock.now()
        line = entry_line(kind, said(draft), uuid=made, session=target.id, cwd=cwd, at=at, parent=draft.parent)
        self._append(target, lambda: line)
        return made

    def tombstone(self, target: Target, message_id: str) -> None:
        """Append the entry that hides a message in every part; it may come before the message."""
        line = tombstone_line(message_id, at=self.means.clock.now())
        self._append(target, lambda: line)

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a summary of the oldest messages that were not hidden yet, up to the first one that stays.

        Raises NotFoundError: the first message that is to stay is not among those that are still sent.
        """
        made = self.means.ids()

        def line() -> bytes:
            count = compaction.messages
            if count is None:
                count = _messages_before(SessionFiles(target.id, _parts(target)), compaction.keep_from)
            at = self.means.clock.now()
            return summary_line(compaction.summary, uuid=made, session=target.id, compacted=count, at=at)

        self._append(target, line)
        return made

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy all entries, or those up to a message; tombstones and summaries belong to what they concern."""
        files = target.session
        only = None if at is None else cersei_path(files, at)

        def copied(raw: bytes, line: CopiedLine) -> bytes:
            renamed = with_value(raw, "session_id", line.session_id, new_id)
            return marked(renamed, {"forked_from": files.id}) if line.uuid else renamed

        return write_fork(files, base_path(folder, new_id), copied, only, self.means.part_bytes)

    def _append(self, target: Target, line: Callable[[], bytes]) -> None:
        private_folder(target.path.parent)
        append_forking(
            _base(target),
            lambda: line().removesuffix(b"\n"),
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

    Raises NotFoundError: it is not among them.
    """
    sent = [m.id for m in CERSEI.context(CERSEI.read(files)) if isinstance(m, CerseiMessage)]  # not the summary before
    if keep_from is None:
        return len(sent)
    if keep_from not in sent:
        raise unknown(keep_from, files.id)
    return sent.index(keep_from)


def cersei_path(files: SessionFiles, message_id: str) -> set[Where]:
    """Return the places of the entries up to a message, and of the tombstones that concern them, wherever they lie.

    Raises NotFoundError: no message that counts has this id.
    """
    shown = {m.id for m in CERSEI.read(files).messages}
    if message_id not in shown:
        raise unknown(message_id, files.id)
    entries = [
        (span, line) for part, path in enumerate(files.paths) for span, line in read_records(path, LINES, [], part=part)
    ]
    end = next(i for i, (_, line) in enumerate(entries) if line.uuid == message_id)
    taken = {line.uuid for _, line in entries[: end + 1]}
    return {place_of(span) for i, (span, line) in enumerate(entries) if i <= end or line.deleted_uuid in taken - {None}}


# Writing the bare-message files of Cersei: a role and content, and nothing else.


class BareWriter(ClaimedWriter):
    """Messages only: the form has no ids, so nothing can refer to another message."""

    dialect: ClassVar[str] = "cersei-bare"

    def message(self, target: Target, draft: Draft) -> str:
        """Append a message; it gets no id.

        Raises UsageError: it is to follow an older message: without ids it can only follow the last one.
        """
        if draft.parent is not None:
            raise UsageError(f"{target.id}: messages of {self.dialect} have no ids, so each follows the last one")
        private_folder(target.path.parent)
        line = bare_line("user" if draft.role == "tool" else draft.role, said(draft))
        self._add(target.path, lambda: [line], create=True)
        return ""

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy all messages. Raises UsageError: only a path is wanted: messages without ids name none."""
        if at is not None:
            raise UsageError(f"{target.id}: messages of {self.dialect} have no ids, so a fork copies all of them")
        return write_fork(target.session, base_path(folder, new_id), lambda raw, _: raw)
