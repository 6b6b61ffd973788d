"""Where a message goes on, after ``auto-reply/reply/session.test.ts`` of Clawdbot 2026.1.27.

The client decides when a message arrives; here the same rules say what became of a session that rests.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from slowwave.formats.model import SessionFiles
from slowwave.formats.openclaw.dialect import OPENCLAW
from slowwave.stores.openclaw.facts import facts_beside
from slowwave.stores.openclaw.reset import asks_for_reset, freshness, reset_policy, reset_type

ZONE = ZoneInfo("Europe/Brussels")


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 1, day, hour, minute, tzinfo=ZONE)


def is_fresh(
    session: dict[str, Any], key: str, updated: datetime, now: datetime, *, is_thread: bool = False, channel: str = ""
) -> bool:
    policy = reset_policy(session, reset_type(key, is_thread=is_thread), channel)
    return freshness(updated.timestamp() * 1000, policy, now).fresh


def test_forks_a_new_session_from_the_parent_session_file(tmp_path: Path) -> None:
    header = {"type": "session", "version": 3, "id": "child", "timestamp": "2026-01-18T10:00:00.000Z", "cwd": "/w"}
    header["parentSession"] = str(tmp_path / "parent.jsonl")
    message = {"role": "user", "content": "Parent prompt"}
    entry = {"type": "message", "id": "m1", "parentId": None, "timestamp": header["timestamp"], "message": message}
    path = tmp_path / "child.jsonl"
    path.write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n", encoding="utf-8")
    found = OPENCLAW.read(SessionFiles("child", (path,)))
    assert (found.kind, found.header["parentSession"], len(found.messages)) == ("fork", header["parentSession"], 1)


def test_records_topic_specific_session_files_when_message_thread_id_is_present(tmp_path: Path) -> None:
    key = "agent:main:telegram:group:123:topic:456"
    entry = {"sessionId": "sess-1", "sessionFile": str(tmp_path / "sess-1-topic-456.jsonl"), "displayName": "Topic"}
    (tmp_path / "sessions.json").write_text(json.dumps({key: entry}), encoding="utf-8")
    assert facts_beside(str(tmp_path)).by_stem["sess-1-topic-456"].title == "Topic"


def test_defaults_to_daily_reset_at_4am_local_time() -> None:
    assert not is_fresh({}, "agent:main:whatsapp:dm:s1", at(18, 3), at(18, 5))
    assert is_fresh({}, "agent:main:whatsapp:dm:s1", at(18, 4), at(18, 5))


def test_treats_sessions_as_stale_before_the_daily_reset_when_updated_before_yesterdays_boundary() -> None:
    assert not is_fresh({}, "agent:main:whatsapp:dm:s-edge", at(17, 3, 30), at(18, 3))
    assert is_fresh({}, "agent:main:whatsapp:dm:s-edge", at(17, 4, 30), at(18, 3))


def test_expires_sessions_when_idle_timeout_wins_over_daily_reset() -> None:
    session = {"reset": {"mode": "daily", "atHour": 4, "idleMinutes": 30}}
    assert not is_fresh(session, "agent:main:whatsapp:dm:s2", at(18, 4, 45), at(18, 5, 30))
    assert is_fresh(session, "agent:main:whatsapp:dm:s2", at(18, 5, 1), at(18, 5, 30))


def test_uses_per_type_overrides_for_thread_sessions() -> None:
    session = {
        "reset": {"mode": "daily", "atHour": 4},
        "resetByType": {"thread": {"mode": "idle", "idleMinutes": 180}},
    }
    assert is_fresh(session, "agent:main:slack:channel:c1:thread:123", at(18, 3), at(18, 5))
    assert not is_fresh(session, "agent:main:slack:channel:c1", at(18, 3), at(18, 5))


def test_detects_thread_sessions_without_thread_key_suffix() -> None:
    session = {"resetByType": {"thread": {"mode": "idle", "idleMinutes": 180}}}
    assert is_fresh(session, "agent:main:discord:channel:c1", at(18, 3), at(18, 5), is_thread=True)


def test_defaults_to_daily_resets_when_only_reset_by_type_is_configured() -> None:
    session = {"resetByType": {"thread": {"mode": "idle", "idleMinutes": 60}}}
    assert not is_fresh(session, "agent:main:whatsapp:dm:s4", at(18, 3), at(18, 5))


def test_keeps_legacy_idle_minutes_behavior_without_reset_config() -> None:
    assert is_fresh({"idleMinutes": 240}, "agent:main:whatsapp:dm:s3", at(18, 3, 30), at(18, 5))
    assert not is_fresh({"idleMinutes": 60}, "agent:main:whatsapp:dm:s3", at(18, 3, 30), at(18, 5))


def test_uses_channel_specific_reset_policy_when_configured() -> None:
    session = {
        "idleMinutes": 60,
        "resetByType": {"dm": {"mode": "idle", "idleMinutes": 10}},
        "resetByChannel": {"discord": {"mode": "idle", "idleMinutes": 10080}},
    }
    assert is_fresh(session, "agent:main:discord:dm:123", at(11, 5, 1), at(18, 5), channel="Discord")
    assert not is_fresh(session, "agent:main:discord:dm:123", at(11, 5, 1), at(18, 5), channel="slack")


def test_the_hour_is_one_of_the_wall_clock_also_on_the_day_that_it_changes() -> None:
    now = datetime(2026, 3, 29, 12, tzinfo=ZONE)  # at 02:00 it became 03:00
    policy = reset_policy({}, "dm")
    reset_at = freshness(0, policy, now).reset_at
    assert reset_at == datetime(2026, 3, 29, 4, tzinfo=ZONE).timestamp() * 1000


@pytest.mark.parametrize(
    ("rules", "hour", "minutes"),
    [({"atHour": 30}, 23, None), ({"atHour": -2}, 0, None), ({"idleMinutes": 0}, 4, 1), ({"atHour": "x"}, 4, None)],
)
def test_values_outside_of_their_range_are_brought_into_it(rules: dict[str, Any], hour: int, minutes: int) -> None:
    policy = reset_policy({"reset": rules}, "dm")
    assert (policy.mode, policy.hour, policy.idle_minutes) == ("daily", hour, minutes)


def test_idle_mode_without_a_number_is_an_hour() -> None:
    assert reset_policy({"reset": {"mode": "idle"}}, "dm").idle_minutes == 60


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/new", (True, "")),
        ("/RESET", (True, "")),
        ("/NEW KeepThisCase", (True, "KeepThisCase")),
        ("/newer", (False, "/newer")),
        ("hello /new", (False, "hello /new")),
    ],
)
def test_reset_triggers_match_in_any_case_and_keep_the_casing_of_the_rest(
    text: str, expected: tuple[bool, str]
) -> None:
    assert asks_for_reset(text) == expected
