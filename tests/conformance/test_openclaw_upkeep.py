"""What OpenClaw's session maintenance removes, after its own tests of mid-2026: ``store.pruning.test.ts``,
``store-maintenance.test.ts`` and ``disk-budget.test.ts``.
"""

from typing import Any

import pytest

from slowwave.stores.upkeep import (
    Beside,
    Goes,
    Kept,
    UpkeepRules,
    acts_from,
    byte_size,
    is_protected,
    is_synthetic,
    upkeep,
    upkeep_rules,
)

DAY = 86_400_000.0
NOW = 1_000 * DAY
NOTHING = UpkeepRules()


def entry(key: str, days: float | None = 0, *names: str, **fields: Any) -> Kept:
    return Kept(key, None if days is None else NOW - days * DAY, names, **fields)


def gone(goes: list[Goes]) -> list[str]:
    return [one.key or one.names[0] for one in goes]


def run(
    entries: list[Kept], files: list[Beside] | None = None, *, active: tuple[str, ...] = (), **rules: Any
) -> list[Goes]:
    return upkeep(entries, files or [], NOTHING._replace(**rules), NOW, active)


def chats(count: int, *, first_day: float = 0) -> list[Kept]:
    return [entry(f"agent:main:telegram:dm:{number}", first_day + number / 1000) for number in range(count)]


def test_removes_entries_older_than_max_age_days() -> None:
    entries = [entry("old", 31), entry("fresh", 1)]
    assert gone(run(entries, prune_after_ms=30 * DAY)) == ["old"]


def test_an_entry_of_exactly_that_age_stays() -> None:
    assert run([entry("old", 30)], prune_after_ms=30 * DAY) == []


def test_keeps_entries_without_updated_at() -> None:
    assert run([entry("never", None)], prune_after_ms=30 * DAY) == []


@pytest.mark.parametrize(
    "key",
    [
        "global",
        "agent:main:main",
        "agent:main:telegram:group:-100",
        "agent:main:discord:channel:123",
        "agent:main:slack:channel:c1:thread:170.1",
        "agent:main:telegram:group:-100:topic:99",
        "agent:work:telegram:direct:7:topic:8",
    ],
)
def test_protected_keys_survive_every_step(key: str) -> None:
    entries = [entry(key, 400, "s.jsonl")]
    files = [Beside("s.jsonl", 10_000, 0)]
    assert run(entries, files, prune_after_ms=DAY, max_entries=1, max_bytes=1, high_water=1) == []
    assert is_protected(entries[0])


@pytest.mark.parametrize("chat_type", ["group", "channel", "thread", "Group"])
def test_group_channel_and_thread_chats_are_protected_by_what_their_entry_says(chat_type: str) -> None:
    assert is_protected(entry("agent:main:whatsapp:120363", 400, chat_type=chat_type))
    assert not is_protected(entry("agent:main:whatsapp:120363", 400, chat_type="direct"))


@pytest.mark.parametrize(
    "key",
    [
        "agent:main:subagent:1f",
        "agent:main:acp:2",
        "agent:main:cron:job:run:1",
        "cron:job",
        "hook:gmail:1",
        "agent:main:node:abc",
        "agent:main:node-abc",
        "agent:main:heartbeat",
        "agent:main:telegram:dm:7:heartbeat",
        "agent:main:cron:job:telegram:group:7",
    ],
)
def test_synthetic_sessions_are_not_protected(key: str) -> None:
    assert is_synthetic(key)
    assert not is_protected(entry(key, 1, chat_type="group"))
    assert gone(run([entry(key, 31)], prune_after_ms=30 * DAY)) == [key]


def test_what_somebody_pinned_or_archived_stays_also_of_a_job() -> None:
    assert run([entry("cron:job", 400, is_kept=True)], prune_after_ms=DAY) == []


def test_active_sessions_stay_whatever_case_their_key_has() -> None:
    entries = [entry("agent:main:old", 400), entry("agent:main:Work", 400)]
    assert gone(run(entries, prune_after_ms=DAY, active=("AGENT:MAIN:WORK",))) == ["agent:main:old"]


@pytest.mark.parametrize(
    ("most", "count"), [(1, 2), (49, 50), (50, 75), (250, 275), (251, 277), (500, 550), (5000, 5500)]
)
def test_batches_normal_entry_maintenance_for_production_sized_caps(most: int, count: int) -> None:
    assert acts_from(most) == count
    assert run(chats(count - 1), max_entries=most) == []
    assert len(run(chats(count), max_entries=most)) == count - most


def test_over_limit_keeps_the_newest_and_removes_the_rest() -> None:
    entries = [entry(f"k{days}", days) for days in (5, 1, 3, 2, 4)]
    assert gone(run(entries, max_entries=2)) == ["k5", "k4", "k3"]


def test_entries_without_updated_at_are_removed_first_when_over_limit() -> None:
    entries = [entry("never", None), entry("old", 9), entry("new", 1)]
    assert gone(run(entries, max_entries=2)) == ["never"]


def test_synthetic_sessions_go_before_older_chats() -> None:
    entries = [entry("agent:main:old", 20), entry("agent:main:cron:a", 1), entry("agent:main:cron:b", 2)]
    assert gone(run(entries, max_entries=1)) == ["agent:main:cron:b", "agent:main:cron:a"]


def test_protected_rows_count_toward_the_cap_but_are_never_removed() -> None:
    entries = [entry("agent:main:main", 99), entry("agent:main:telegram:group:1", 98), entry("agent:main:x", 1)]
    assert gone(run(entries, max_entries=1)) == ["agent:main:x"]


def test_stale_entries_are_pruned_before_the_cap_counts() -> None:
    entries = [entry("stale", 40), entry("a", 3), entry("b", 2)]
    assert [(one.step, one.key) for one in run(entries, prune_after_ms=30 * DAY, max_entries=2)] == [
        ("pruneAfter", "stale")
    ]


def test_removes_true_archived_transcript_artifacts_while_preserving_referenced_primary_transcripts() -> None:
    files = [
        Beside("sessions.json", 40, NOW),
        Beside("keep.jsonl", 80, 0),
        Beside("old-session.jsonl.deleted.2026-01-24T10-00-00.000Z", 260, NOW - DAY),
    ]
    goes = run([entry("agent:main:main", 0, "keep.jsonl")], files, max_bytes=300, high_water=220)
    assert goes == [Goes("maxDiskBytes", "", (files[2].name,), 260)]


def test_does_not_treat_referenced_transcripts_with_marker_like_session_ids_as_archived_artifacts() -> None:
    files = [Beside("keep.deleted.keep.jsonl", 256, 0)]
    assert run([entry("agent:main:main", 0, files[0].name)], files, max_bytes=150, high_water=100) == []


def test_a_folder_of_exactly_its_budget_is_left_alone() -> None:
    files = [Beside("gone.jsonl", 300, 0)]
    assert run([], files, max_bytes=300, high_water=1) == []
    assert gone(run([], files, max_bytes=299, high_water=1)) == ["gone.jsonl"]


def test_the_budget_ends_at_high_water() -> None:
    files = [Beside(f"orphan{number}.jsonl", 100, number) for number in range(10)]
    goes = run([], files, max_bytes=900, high_water=720)
    assert gone(goes) == ["orphan0.jsonl", "orphan1.jsonl", "orphan2.jsonl"]


def test_removes_unreferenced_compaction_checkpoint_artifacts_under_pressure() -> None:
    loose, named = (f"keep.checkpoint.{n * 8}-{n * 4}-4{n * 3}-8{n * 3}-{n * 12}.jsonl" for n in ("1", "2"))
    files = [Beside("keep.jsonl", 80, 0), Beside(loose, 5000, 1), Beside(named, 260, 0), Beside("after.jsonl", 260, 0)]
    entries = [entry("agent:main:main", 0, "keep.jsonl", refers=(named, "after.jsonl"))]
    assert gone(run(entries, files, max_bytes=4000, high_water=3000)) == [loose]


def test_removes_unreferenced_trajectory_sidecars_while_preserving_referenced_ones() -> None:
    own = ("keep.jsonl", "keep.trajectory.jsonl", "keep.trajectory-path.json")
    loose = ("old.trajectory.jsonl", "old.trajectory-path.json")
    files = [*(Beside(name, 80, 0) for name in own), *(Beside(name, 5000, 0) for name in loose)]
    goes = run([entry("agent:main:main", 0, *own)], files, max_bytes=7000, high_water=2000)
    assert sorted(gone(goes)) == sorted(loose)


def test_the_store_its_locks_and_what_is_being_written_are_never_artifacts() -> None:
    names = ("sessions.json", "sessions.json.lock", "s.jsonl.lock", "sessions.json.1.tmp", "notes.txt")
    assert run([], [Beside(name, 1000, 0) for name in names], max_bytes=10, high_water=8) == []


def test_artifacts_go_before_sessions_and_sessions_oldest_first_down_to_high_water() -> None:
    names = ["cron.jsonl", "old.jsonl", "new.jsonl"]
    files = [*(Beside(name, 100, 0) for name in names), Beside("x.jsonl.reset.2026-01-24T10-00-00.000Z", 100, NOW)]
    entries = [
        entry("agent:main:new", 1, "new.jsonl"),
        entry("agent:main:old", 9, "old.jsonl"),
        entry("agent:main:cron:1", 2, "cron.jsonl"),
    ]
    assert gone(run(entries, files, max_bytes=399, high_water=100)) == [
        files[3].name,
        "agent:main:cron:1",
        "agent:main:old",
    ]
    assert run(entries, files, max_bytes=399, high_water=399)[0].names == (files[3].name,)


def test_a_transcript_of_two_keys_goes_with_the_last_of_them() -> None:
    files = [Beside("s.jsonl", 100, 0)]
    entries = [entry("agent:main:a", 40, "s.jsonl"), entry("agent:main:b", 1, "s.jsonl")]
    assert run(entries, files, prune_after_ms=30 * DAY) == [Goes("pruneAfter", "agent:main:a", (), 0)]


def test_reset_archives_stay_unless_a_retention_is_set() -> None:
    files = [Beside("x.jsonl.reset.2026-01-24T10-00-00.000Z", 100, NOW - 40 * DAY)]
    assert run([], files, prune_after_ms=30 * DAY) == []
    assert gone(run([], files, archive_ms=30 * DAY)) == [files[0].name]


def test_the_defaults_of_the_json_store() -> None:
    assert upkeep_rules({}) == UpkeepRules(enforces=True, prune_after_ms=30 * DAY, max_entries=500)


def test_high_water_is_80_percent_of_the_budget_and_never_above_it() -> None:
    assert upkeep_rules({"maintenance": {"maxDiskBytes": "500mb"}}).high_water == 419_430_400
    rules = upkeep_rules({"maintenance": {"maxDiskBytes": 1000, "highWaterBytes": "2kb"}})
    assert (rules.max_bytes, rules.high_water) == (1000, 1000)


@pytest.mark.parametrize(
    ("name", "value", "off"),
    [
        ("pruneAfter", "soon", "prune_after_ms"),
        ("pruneAfter", [], "prune_after_ms"),
        ("maxEntries", 0, "max_entries"),
        ("maxEntries", -5, "max_entries"),
        ("maxEntries", "many", "max_entries"),
        ("maxEntries", True, "max_entries"),
        ("maxDiskBytes", "a lot", "max_bytes"),
        ("maxDiskBytes", -1, "max_bytes"),
        ("resetArchiveRetention", "later", "archive_ms"),
    ],
)
def test_a_malformed_value_disables_its_step_and_no_default_takes_its_place(name: str, value: object, off: str) -> None:
    rules = upkeep_rules({"maintenance": {name: value}})
    assert getattr(rules, off) is None
    [problem] = rules.problems
    assert problem.startswith(f"session.maintenance.{name}:")


def test_a_malformed_high_water_disables_the_budget() -> None:
    rules = upkeep_rules({"maintenance": {"maxDiskBytes": "1gb", "highWaterBytes": "most"}})
    assert (rules.max_bytes, rules.high_water) == (None, None)


@pytest.mark.parametrize("value", [False, None])
def test_false_and_null_turn_a_step_off_without_a_word(value: object) -> None:
    rules = upkeep_rules({"maintenance": {"maxDiskBytes": value, "resetArchiveRetention": value, "pruneAfter": value}})
    assert rules._replace(max_entries=None) == UpkeepRules()


@pytest.mark.parametrize("mode", ["off", 1, None])
def test_an_unknown_mode_removes_nothing(mode: object) -> None:
    assert not upkeep_rules({"maintenance": {"mode": mode}}).enforces
    assert not upkeep_rules({"maintenance": "enforce"}).enforces
    assert not upkeep_rules({"maintenance": {"mode": "warn"}}).enforces


@pytest.mark.parametrize(("text", "size"), [("1kb", 1024), ("1.5 MB", 1_572_864), (7, 7), ("2G", 2 << 30)])
def test_sizes_count_by_1024(text: object, size: int) -> None:
    assert byte_size(text) == size


def test_bare_numbers_are_days() -> None:
    assert upkeep_rules({"maintenance": {"pruneAfter": 7}}).prune_after_ms == 7 * DAY
    assert upkeep_rules({"maintenance": {"pruneAfter": "12h"}}).prune_after_ms == DAY / 2
