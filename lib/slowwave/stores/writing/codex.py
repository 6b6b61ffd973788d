"""Writing Codex rollouts: items, compactions with their replacement history, names in the index.

A session is begun by Codex alone: its header holds the instructions of that version of the client. A fork names a byte
of its parent's file. Rollouts know no tombstones (``thread_rolled_back`` takes back whole turns),
no labels and no branches: lines follow each other. What a tool returned is cleared by a history that replaces itself.
"""

import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from slowwave.errors import UsageError
from slowwave.files import atomic_write, private_folder
from slowwave.formats.append import append_record, append_records
from slowwave.formats.codex import encode
from slowwave.formats.codex.dialect import CODEX, CodexTranscript
from slowwave.formats.codex.home import home_of, thread_in_name
from slowwave.formats.model import SessionFiles
from slowwave.formats.times import millisecond_time
from slowwave.stores.writing.base import Compaction, Draft, Target, Writer
from slowwave.stores.writing.codex_fork import end_of, forkable, header, ordered_id, place
from slowwave.stores.writing.codex_history import Item, cleared, is_rolled_back, replacement, window_after
from slowwave.stores.writing.codex_lock import writer_lock
from slowwave.stores.writing.lookup import first_record, records_backward

INDEX = "session_index.jsonl"
_COMPRESSED = ".zst"


class CodexWriter(Writer):
    """Lines in the form of the rollout that they are added to."""

    dialect: ClassVar[str] = "codex"

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Hold Codex's own writer lock."""
        with writer_lock(target.path, target.id):
            yield

    def message(self, target: Target, draft: Draft) -> str:
        """Append what somebody said, and calls, each as an item; return the id of the first one.

        Raises:
            UsageError: it is to follow an older message: lines of a rollout follow each other.
        """
        if draft.parent is not None:
            raise UsageError(f"{target.id}: a rollout of codex has no branches; a message follows the last one")
        uuid = self.means.ids()
        items = _items(draft, uuid)

        def lines(form: encode.Form, ordinal: int | None) -> list[bytes]:
            at = self.means.clock.now()
            numbers = [None if ordinal is None else ordinal + i for i in range(len(items))]
            return [
                encode.item_line(item, form=form, ordinal=number, at=at)
                for item, number in zip(items, numbers, strict=True)
            ]

        self._append(target, lines)
        return str(items[0].get("id") or "")

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a compaction with its whole replacement history; return the id of the summary's item.

        As in the client, the user's messages before it stay, newest first up to 20,000 tokens; the summary follows
        them, and what is to stay as it is follows the summary.

        Raises:
            NotFoundError: no item that would be sent has the id of the first one that is to stay.
            UsageError: the rollout is of a version that knew no compactions.
        """
        uuid = self.means.ids()
        summary = encode.summary_item(compaction.summary, uuid=uuid)

        def history(whole: CodexTranscript) -> list[Item]:
            return replacement(whole, summary, compaction.keep_from)

        self._replace(target, uuid, compaction.summary, history)
        return f"msg_{uuid}"

    def clear(self, target: Target, calls: Collection[str], text: str) -> None:
        """Append a replacement history that is the history itself, without what these calls returned.

        Raises:
            UsageError: the rollout is of a version that knew no compactions.
        """
        self._replace(target, self.means.ids(), None, lambda whole: cleared(whole, calls, text))

    def _replace(
        self, target: Target, uuid: str, summary: str | None, history: Callable[[CodexTranscript], list[Item]]
    ) -> None:
        """Append a history in the place of all before it, in a turn of its own where a rollback would reach it."""

        def lines(form: encode.Form, ordinal: int | None) -> list[bytes]:
            if form == "bare":
                raise UsageError(f"{target.id}: a rollout of before version 0.34 takes no compactions")
            whole = CODEX.read(SessionFiles(target.id, target.files))
            items = history(whole)
            window = window_after(whole, self.means.ids())
            at = self.means.clock.now()
            in_turn = is_rolled_back(whole)
            numbers = [None if ordinal is None else ordinal + i for i in range(3)]
            own = numbers[1] if in_turn else numbers[0]
            line = encode.compacted_line(summary, items, window=window, ordinal=own, at=at)
            if not in_turn:
                return [line]
            start, end = encode.turn_lines(uuid, ordinals=(numbers[0], numbers[2]), at=at)
            return [start, line, end]

        self._append(target, lines)

    def name(self, target: Target, name: str) -> None:
        """Append the name to the index of the home and make it durable, as the client does; the last line counts.

        Raises:
            UsageError: the rollout lies in no Codex home, or the name is empty.
        """
        home, thread = home_of(target.path), self._thread(target)
        if home is None or not thread:
            raise UsageError(f"{target.id}: lies in no Codex home, where names are kept ({INDEX})")
        if not name.strip():
            raise UsageError(f"{target.id}: codex keeps a name once it has one; give it another one")
        line = encode.name_line(thread, name.strip(), at=self.means.clock.now())
        append_record(home / INDEX, line.rstrip(b"\n"), fsync=True)

    def new_id(self, folder: Path, origin: Target | None = None) -> str:
        """Return the id of a thread."""
        del folder, origin
        return ordered_id(self.means.ids(), self.means.clock.now())

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Begin a thread that refers to this one, whole or up to a message; nothing is copied.

        Raises:
            NotFoundError: there is no such message.
            UsageError: its client has no such fork of it; the message says why.
        """
        del folder
        meta, now = forkable(target.path, target.id), self.means.clock.now()
        end = end_of(target.path, target.id, at)
        home = home_of(target.path)
        if not isinstance(meta.get("id"), str) or home is None:
            self._refuse(target.id, "forks of a rollout without an id")
        path = place(home, new_id, now)
        payload = header(meta, new_id, ordered_id(self.means.ids(), now), end, millisecond_time(now))
        private_folder(path.parent)
        atomic_write(path, encode.header_line(payload, ordinal=end.ordinal, at=now))
        return [path]

    @staticmethod
    def _thread(target: Target) -> str:
        named = thread_in_name(target.path)
        if named or not target.files:
            return named
        payload: object = first_record(target.path).get("payload")
        found = payload.get("id") if isinstance(payload, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return found if isinstance(found, str) else ""

    def _append(self, target: Target, lines: Callable[[encode.Form, int | None], list[bytes]]) -> None:
        if not target.files:
            self._refuse(target.id, "sessions that slowwave begins; begin it in its client")
        if target.path.suffix == _COMPRESSED:
            raise UsageError(f"{os.fspath(target.path)}: is compressed; codex unpacks it when it resumes the session")

        def made() -> list[bytes]:
            form, ordinal = _form(target.path)
            return [line.rstrip(b"\n") for line in lines(form, ordinal)]

        append_records(target.path, made, fsync=self.means.fsync, announce=self.means.announce)


def _items(draft: Draft, uuid: str) -> Sequence[Mapping[str, object]]:
    if draft.role != "tool":
        return encode.message_items(draft.role, draft.content, uuid=uuid)
    if not isinstance(draft.content, str):
        raise UsageError("the result of a tool is text in codex")
    return [encode.output_item(draft.call_id, draft.content, uuid=uuid)]


def _form(path: Path) -> tuple[encode.Form, int | None]:
    """Return the form of a rollout and, where its lines are numbered, the number of the next one."""
    header = first_record(path)
    if "payload" not in header:
        return "bare", None
    if _ordinal(header) is None:
        return "wrapped", None
    return "paginated", 1 + next((n for record in records_backward(path) if (n := _ordinal(record)) is not None), 0)


def _ordinal(record: dict[str, Any]) -> int | None:
    value: object = record.get("ordinal")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


WRITER = CodexWriter
