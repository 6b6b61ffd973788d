"""Writing Claude Code's sessions: records chained by ``parentUuid``, compactions, titles, forks."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, cast

from slowwave.errors import UsageError
from slowwave.files import private_folder
from slowwave.formats.append import append_record, append_records
from slowwave.formats.claude import encode
from slowwave.formats.claude.dialect import CLAUDE
from slowwave.formats.claude.resume import FIRST_THAT_KEEPS, resumed, version_of
from slowwave.formats.model import SessionFiles
from slowwave.stores.roots import base_path
from slowwave.stores.writing.base import ClaimedWriter, Compaction, Draft, Target, record_with, unknown
from slowwave.stores.writing.cersei import LastRecord, claude_path, leaf_record, said
from slowwave.stores.writing.fork import write_fork


class ClaudeWriter(ClaimedWriter):
    """Records as client 2.1 writes them; what it goes on from is looked up under the lock.

    It knows no tombstones, no labels and no branch summaries. A message under an older one is a rewind.
    """

    dialect: ClassVar[str] = "claude"

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Look whether the client notes the session as open; one of a sub-agent is refused.

        Raises:
            UsageError: the session is a sub-agent's, which nobody resumes by itself.
        """
        if target.side:
            raise UsageError(f"{target.id}: a sub-agent's session belongs to the session it works for; write there")
        with super().alone(target):
            yield

    def message(self, target: Target, draft: Draft) -> str:
        """Append a record under the last one, or under an older one; then the client is told where it goes on.

        Client 2.1 goes on below the record that its last ``last-prompt`` names, so a new branch needs a new note.
        """
        made = self.means.ids()

        def lines() -> list[bytes]:
            last = self._leaf(target)
            known = draft.parent in (None, last.uuid)
            parent = last.uuid if known else self._uuid(target, str(draft.parent))
            found = [self._line(target, draft, made, parent, last)]
            if parent != last.uuid:
                prompt = draft.content if isinstance(draft.content, str) and draft.role == "user" else ""
                found.append(encode.prompt_line(prompt, leaf=made, session=target.id))
            return found

        self._append(target, lines)
        return made

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a boundary and a summary in one write; what stays is named by its records.

        Raises:
            NotFoundError: the client would not send the message that is to stay first.
            UsageError: messages are to stay, and the session is one of a client that would drop them (before 2.1).
        """
        boundary, made = self.means.ids(), self.means.ids()

        def lines() -> list[bytes]:
            last = self._leaf(target)
            if last.uuid is None:
                raise UsageError(f"{target.id}: holds no message to summarise; nothing was written")
            kept = () if compaction.keep_from is None else self._kept(target, compaction.keep_from)
            return list(
                encode.compaction_lines(
                    compaction.summary,
                    boundary=boundary,
                    uuid=made,
                    logical_parent=last.uuid,
                    session=target.id,
                    cwd=last.cwd or target.cwd,
                    at=self._at(last),
                    trigger=compaction.trigger,
                    tokens=compaction.tokens_before,
                    kept=kept,
                    branch=last.branch,
                    version=last.version or encode.VERSION,
                    remarks=compaction.remarks,
                )
            )

        self._append(target, lines)
        return made

    def name(self, target: Target, name: str) -> None:
        """Append the title that a person gave; the last one counts.

        Raises:
            UsageError: the name is empty: the client takes no title away.
        """
        if not name.strip():
            raise UsageError(f"{target.id}: claude keeps a title once it has one; give it another one")
        line = encode.title_line(name.strip(), session=target.id)
        append_record(target.path, line.rstrip(b"\n"), fsync=self.means.fsync)

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy all message lines, as ``--fork-session`` does, or those on the way to one message; uuids stay."""
        files = SessionFiles(target.id, target.files)
        only = None if at is None else claude_path(files, at)
        return write_fork(files, self.dialect, base_path(folder, new_id), new_id, self.means.part_bytes, only)

    def _leaf(self, target: Target) -> LastRecord:
        # also of a new session: another writer may have begun it meanwhile
        return leaf_record(SessionFiles(target.id, target.files or (target.path,)))

    def _line(self, target: Target, draft: Draft, made: str, parent: str | None, last: LastRecord) -> bytes:
        at = self._at(last)
        cwd, version = last.cwd or target.cwd, last.version or encode.VERSION
        if draft.role == "assistant":
            return encode.assistant_line(
                draft.content,
                uuid=made,
                parent=parent,
                session=target.id,
                cwd=cwd,
                at=at,
                message_id=f"msg_{made.replace('-', '')}",
                branch=last.branch,
                version=version,
            )
        return encode.user_line(
            said(draft),
            uuid=made,
            parent=parent,
            session=target.id,
            cwd=cwd,
            at=at,
            branch=last.branch,
            version=version,
        )

    def _at(self, last: LastRecord) -> datetime:
        """Return the time of the next record: clients before 2.1 go on from the newest one, of two the first."""
        now = self.means.clock.now()
        return now if last.newest is None else max(now, last.newest + encode.TICK)

    def _uuid(self, target: Target, message_id: str) -> str:
        """Return the uuid of a record, given by that or by the API's id of its message (then its last piece).

        Raises:
            NotFoundError: no record has this id.
            UsageError: a compaction came after it: the client would go on from somewhere else.
        """
        files = target.files or (target.path,)
        found = record_with(files, message_id, lambda record: _is(record, message_id))
        if found is None:
            raise unknown(message_id, target.id)
        boundary = record_with(files, "compact_boundary", lambda record: record.get("subtype") == "compact_boundary")
        if boundary is not None and boundary.offset > found.offset:
            raise UsageError(
                f"{target.id}: {message_id} lies before the last compaction, and claude continues after that;"
                " nothing was written, fork the session at it"
            )
        return str(found.record["uuid"])

    def _kept(self, target: Target, message_id: str) -> Sequence[str]:
        """Return the uuids of all live records from a message on, oldest first."""
        tree = CLAUDE.read(SessionFiles(target.id, target.files)).tree
        if version_of(tree) < FIRST_THAT_KEEPS:
            raise UsageError(f"{target.id}: claude before version 2.1 keeps no message before a compaction; keep none")
        nodes = resumed(tree)
        live = [(n.env.uuid or "", n.env.message.id if n.env.message else None) for n in nodes]
        first = next((i for i, ids in enumerate(live) if message_id in ids), None)
        if first is None:
            raise unknown(message_id, target.id)
        return [uuid for uuid, _ in live[first:]]

    def _append(self, target: Target, lines: Callable[[], list[bytes]]) -> None:
        private_folder(target.path.parent)
        append_records(
            target.path,
            lambda: [line.rstrip(b"\n") for line in lines()],
            create=True,
            fsync=self.means.fsync,
            announce=self.means.announce,
        )


def _is(record: dict[str, Any], message_id: str) -> bool:
    message = record.get("message")
    own = cast("dict[str, Any]", message).get("id") if isinstance(message, dict) else None
    return isinstance(record.get("uuid"), str) and message_id in (record["uuid"], own)


WRITER = ClaudeWriter
