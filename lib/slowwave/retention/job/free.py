"""Freeing what has lain in the trash for longer than its grace period, unless it must stay now."""

from datetime import datetime

from slowwave.report import RetainItem
from slowwave.retention.facts import facts_of_item
from slowwave.retention.holds import held_by, read_holds
from slowwave.retention.job.context import Context
from slowwave.retention.job.failing import is_of_machine, note_failure, reason_of
from slowwave.retention.job.traces import BY_RUN, Told, of_item
from slowwave.stores.freeing import free
from slowwave.stores.trash import TrashItem, trash_items


class Freer:
    """Frees items of the trash."""

    def __init__(self, run: Context) -> None:
        self._run = run

    def free(self, said: Told) -> None:
        """Free what an earlier run found in the trash and whose grace period is over.

        Raises:
            CorruptStateError: a manifest of the trash is damaged.
        """
        begun = False
        pause = self._run.rules.pause
        for item in trash_items(self._run.trash):
            by = said.run_of("trash", item.id, item.session)
            if by is None or by == self._run.report.run_id or not self._is_due(item) or not self._is_chosen(item):
                continue
            if begun and pause and not self._run.dry_run:
                self._run.rest(pause.total_seconds())
            begun = True
            try:
                self._one(item, said)
            except Exception as error:  # noqa: BLE001 - counted, told, and no other item's matter
                if not is_of_machine(error):
                    self._refuse(item, f"unreadable: {reason_of(error)}")
                note_failure(self._run.report, f"trash: session {item.session}", error, self._run.trash)

    def _is_due(self, item: TrashItem) -> bool:
        return datetime.fromisoformat(item.at).timestamp() < self._run.rules.grace.start(self._run.now)

    def _is_chosen(self, item: TrashItem) -> bool:
        """Say whether an item is of a project in which something may go; only the archive knows that for sure."""
        known = self._run.archive.about(item.session)
        return self._run.may_touch(known.project if known else "")

    def _one(self, item: TrashItem, said: Told) -> None:
        if guard := self._guard(item):
            self._refuse(item, guard)
            return
        size = sum(file.size for file in item.files)
        report, dry_run = self._run.report, self._run.dry_run
        if not dry_run:
            # the log comes first: what a killed process freed in part is finished by the next run without a second line
            if said.run_of("free", item.id, item.session) is None:
                self._run.log.append([of_item("free", item, report.run_id)], self._run.now)
            free(item, self._run.trash)
        report.count("would_free" if dry_run else "freed")
        report.count("would_reclaim_bytes" if dry_run else "reclaimed_bytes", size)
        self._note(item, "free" if dry_run else "freed", "retention.grace is over")

    def _guard(self, item: TrashItem) -> str:
        # somebody may have set one while others were freed
        self._run.guards.holds = read_holds(self._run.environ)
        facts = facts_of_item(item, self._run.trash, self._run.archive.about(item.session))
        if held := held_by(self._run.guards.holds, facts):
            return f"held: {held}"
        by_run = item.reason.startswith(BY_RUN)
        cited = self._run.guards.cited_among(file.path for file in item.files)
        if not (cited or (by_run and self._run.rules.require_archive)) or self._run.archive.holds_item(
            item, self._run.trash
        ):
            return ""
        if by_run and self._run.rules.require_archive:
            return "only copy: the archive no longer holds it"
        return f"cited: memory {cited} rests on it, and no archive holds it"

    def _refuse(self, item: TrashItem, guard: str) -> None:
        name, _, why = guard.partition(": ")
        self._run.report.count("refused")
        self._run.report.count(f"refused_{name.replace(' ', '_')}")
        self._note(item, "refused", f"{name}: {why} (retention.grace is over)", name)

    def _note(self, item: TrashItem, action: str, reason: str, guard: str = "") -> None:
        known = self._run.archive.about(item.session)
        size = sum(file.size for file in item.files)
        project = known.project if known else ""
        self._run.report.items.append(
            RetainItem(item.session, action, reason, project, rule="grace", guard=guard, bytes=size)
        )
