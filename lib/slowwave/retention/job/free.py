"""Freeing what has lain in the trash for longer than its grace period, unless it must stay now."""

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path

import zstandard

from slowwave.clock import Clock
from slowwave.errors import SlowwaveError, told
from slowwave.report import Report, RetainItem
from slowwave.retention.audit import AuditLog
from slowwave.retention.guards import Guards, texts_in, times_of
from slowwave.retention.holds import Facts, held_by
from slowwave.retention.job.packing import Archive
from slowwave.retention.job.traces import BY_RUN, Told, of_item
from slowwave.settings import RetentionSettings
from slowwave.stores.freeing import free
from slowwave.stores.trash import TrashedFile, TrashItem, trash_items

_BLOCK = 16 << 20
_PACKED = ".zst"


class Freer:
    """Frees items of the trash."""

    def __init__(
        self,
        trash: Path,
        rules: RetentionSettings,
        clock: Clock,
        guards: Guards,
        archive: Archive,
        log: AuditLog,
        report: Report,
        rest: Callable[[float], None],
    ) -> None:
        self._trash = trash
        self._rules = rules
        self._clock = clock
        self._guards = guards
        self._archive = archive
        self._log = log
        self._report = report
        self._rest = rest

    def free(self, said: Told, *, dry_run: bool) -> None:
        """Free what an earlier run found in the trash and whose grace period is over.

        Raises:
            CorruptStateError: a manifest of the trash is damaged.
        """
        begun = False
        for item in trash_items(self._trash):
            line = said.find("trash", item.id, item.session)
            if line is None or line.run == self._report.run_id or not self._is_due(item):
                continue
            if begun and self._rules.pause and not dry_run:
                self._rest(self._rules.pause.total_seconds())
            begun = True
            try:
                self._one(item, said, dry_run=dry_run)
            except SlowwaveError as error:
                self._refuse(item, f"unreadable: {error}")
            except OSError as error:
                self._report.failures.append(f"trash: session {item.session}: {told(error, self._trash)}")

    def _is_due(self, item: TrashItem) -> bool:
        return datetime.fromisoformat(item.at).timestamp() < self._rules.grace.start(self._clock.now())

    def _one(self, item: TrashItem, said: Told, *, dry_run: bool) -> None:
        if guard := self._guard(item):
            self._refuse(item, guard)
            return
        size = sum(file.size for file in item.files)
        if not dry_run:
            # the log comes first: what a killed process freed in part is finished by the next run without a second line
            if said.find("free", item.id, item.session) is None:
                self._log.append([of_item("free", item, self._report.run_id)], self._clock.now())
            free(item, self._trash)
        self._report.count("would_free" if dry_run else "freed")
        self._report.count("would_reclaim_bytes" if dry_run else "reclaimed_bytes", size)
        self._note(item, "free" if dry_run else "freed", "retention.grace is over")

    def _guard(self, item: TrashItem) -> str:
        if held := held_by(self._guards.holds, self._facts(item)):
            return f"held: {held}"
        by_run = item.reason.startswith(BY_RUN)
        cited = self._guards.cited_among(file.path for file in item.files)
        if not (cited or (by_run and self._rules.require_archive)) or self._archive.holds_item(item, self._trash):
            return ""
        if by_run and self._rules.require_archive:
            return "only copy: the archive no longer holds it"
        return f"cited: memory {cited} rests on it, and no archive holds it"

    def _facts(self, item: TrashItem) -> Facts:
        stored = [(file, self._trash / item.id / file.stored) for file in item.files if file.kind == "file"]
        return Facts(item.session, self._places(item), lambda: _times(stored), lambda: _texts(stored))

    def _places(self, item: TrashItem) -> list[str] | None:
        """Return what names the project of an item; only the archive knows that for sure."""
        known = self._archive.about(item.session)
        if known is None:
            return None
        return [known.project, known.root, *dict.fromkeys(os.path.dirname(file.path) for file in item.files)]  # noqa: PTH120

    def _refuse(self, item: TrashItem, guard: str) -> None:
        name, _, why = guard.partition(": ")
        self._report.count("refused")
        self._report.count(f"refused_{name.replace(' ', '_')}")
        self._note(item, "refused", f"{name}: {why} (retention.grace is over)", name)

    def _note(self, item: TrashItem, action: str, reason: str, guard: str = "") -> None:
        known = self._archive.about(item.session)
        size = sum(file.size for file in item.files)
        project = known.project if known else ""
        self._report.items.append(
            RetainItem(item.session, action, reason, project, rule="grace", guard=guard, bytes=size)
        )


def _times(stored: Iterable[tuple[TrashedFile, Path]]) -> tuple[float, float] | None:
    every = list(stored)
    found = times_of(path for _, path in every)
    newest = max((file.mtime_ns for file, _ in every), default=0) / 1e9
    return (found[0], max(found[1], newest)) if found else None


def _texts(stored: Iterable[tuple[TrashedFile, Path]]) -> Iterator[bytes]:
    for file, path in stored:
        yield os.fsencode(file.path)
        if not file.path.endswith(_PACKED):
            yield from texts_in([path])
            continue
        with path.open("rb") as packed:
            try:
                yield zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read()
            except zstandard.ZstdError:
                yield from texts_in([path])  # it only has the name of a packed one
