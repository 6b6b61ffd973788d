"""The client's own compaction settings, read where each client keeps them."""

import json
from pathlib import Path

import pytest

from slowwave.compaction.settings import Chosen, chosen_by_client
from slowwave.errors import UsageError
from slowwave.formats import claude as client
from tests.unit.compaction.job.talks import Talk, compacted, job


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_settings_of_pi_and_those_of_a_project_over_them(tmp_path: Path):
    transcript = tmp_path / "agent" / "sessions" / "--shop--" / "s.jsonl"
    assert chosen_by_client("pi", transcript, "") == Chosen()
    home = written(
        tmp_path / "agent" / "settings.json",
        '{"compaction": {"enabled": false, "reserveTokens": 30000, "keepRecentTokens": 5000}}',
    )
    assert chosen_by_client("pi", transcript, "") == Chosen(str(home), 30_000, 5_000)
    written(tmp_path / "shop" / ".pi" / "settings.json", '{"compaction": {"enabled": true, "reserveTokens": 7}}')
    assert chosen_by_client("pi", transcript, str(tmp_path / "shop")) == Chosen("", 7, 5_000)


def test_the_configuration_of_the_specification(tmp_path: Path):
    transcript = tmp_path / "sessions" / "01ARZ3NDEKTSV4RRFFQ69G5FAV" / "session.jsonl"
    config = written(
        tmp_path / "config.yaml",
        "slowwave.formats: m\ncompaction:\n  enabled: false\n  reserve_tokens: 150000\n  keep_recent_tokens: 40000\n",
    )
    assert chosen_by_client("ulid", transcript, "") == Chosen(str(config), 150_000, 40_000)


def test_the_limit_of_codex(tmp_path: Path):
    transcript = tmp_path / "sessions" / "2026" / "11" / "20" / "rollout-x.jsonl"
    written(tmp_path / "config.toml", 'model = "gpt-5"\nmodel_auto_compact_token_limit = 120000\n')
    assert chosen_by_client("codex", transcript, "").limit == 120_000


@pytest.mark.parametrize(
    ("place", "settings", "is_off"),
    [
        (".claude.json", {"autoCompactEnabled": False}, True),
        (".claude/settings.json", {"autoCompactEnabled": False}, True),
        ("shop/.claude/settings.local.json", {"autoCompactEnabled": False}, True),
        (".claude/settings.json", {"env": {"DISABLE_AUTO_COMPACT": "1"}}, True),
        (".claude/settings.json", {"env": {"DISABLE_COMPACT": "true"}}, True),
        (".claude/settings.json", {"env": {"DISABLE_AUTO_COMPACT": "0"}}, False),
        (".claude/settings.json", {"autoCompactEnabled": True}, False),
    ],
)
def test_the_switch_of_claude_code(tmp_path: Path, place: str, settings: dict[str, object], is_off: bool):
    transcript = tmp_path / ".claude" / "projects" / "-shop" / "s.jsonl"
    written(tmp_path / place, json.dumps(settings))
    found = chosen_by_client("claude", transcript, str(tmp_path / "shop"))
    assert found.off_in == (str(tmp_path / place) if is_off else "")


def test_the_nearest_switch_of_claude_code_counts(tmp_path: Path):
    transcript = tmp_path / ".claude" / "projects" / "-shop" / "s.jsonl"
    written(tmp_path / ".claude.json", '{"autoCompactEnabled": false}')
    written(tmp_path / ".claude" / "settings.json", '{"autoCompactEnabled": true, "autoCompactWindow": 150000}')
    assert chosen_by_client("claude", transcript, "") == Chosen(window=150_000)


def test_the_policy_of_a_machine_goes_over_what_a_person_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "CLAUDE_POLICY", tmp_path / "policy")
    transcript = tmp_path / ".claude" / "projects" / "-shop" / "s.jsonl"
    written(tmp_path / "shop" / ".claude" / "settings.local.json", '{"autoCompactEnabled": true}')
    managed = written(tmp_path / "policy" / "managed-settings.json", '{"autoCompactEnabled": false}')
    assert chosen_by_client("claude", transcript, str(tmp_path / "shop")).off_in == str(managed)
    written(tmp_path / "policy" / "managed-settings.d" / "20.json", '{"autoCompactEnabled": true}')
    assert not chosen_by_client("claude", transcript, str(tmp_path / "shop")).off_in


def test_a_variable_of_a_nearer_file_goes_before_and_is_no_switch_of_another_kind(tmp_path: Path):
    transcript = tmp_path / ".claude" / "projects" / "-shop" / "s.jsonl"
    home = written(tmp_path / ".claude" / "settings.json", '{"env": {"DISABLE_AUTO_COMPACT": "1"}}')
    near = tmp_path / "shop" / ".claude" / "settings.json"
    written(near, '{"autoCompactEnabled": true}')
    assert chosen_by_client("claude", transcript, str(tmp_path / "shop")).off_in == str(home)
    written(near, '{"env": {"DISABLE_AUTO_COMPACT": "0"}}')
    assert not chosen_by_client("claude", transcript, str(tmp_path / "shop")).off_in


@pytest.mark.parametrize(
    ("variables", "window", "percent"),
    [
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, 150_000, 50),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": 62.5}, 150_000, 62.5),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "101"}, 150_000, 0),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "nan"}, 150_000, 0),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "half"}, 150_000, 0),
        ({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200k"}, 200_000, 0),
        ({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "0.5M"}, 500_000, 0),
        ({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "20000"}, 100_000, 0),
        ({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "large"}, 150_000, 0),
    ],
)
def test_the_variables_that_settings_of_claude_code_set(
    tmp_path: Path, variables: dict[str, object], window: int, percent: float
):
    transcript = tmp_path / ".claude" / "projects" / "-shop" / "s.jsonl"
    written(tmp_path / ".claude" / "settings.json", json.dumps({"autoCompactWindow": 150_000, "env": variables}))
    assert chosen_by_client("claude", transcript, "") == Chosen(window=window, percent=percent)


@pytest.mark.parametrize(
    ("model", "window"), [("claude-a", 300_000), ("claude-a-20260101", 300_000), ("claude-b", 0), ("", 150_000)]
)
def test_the_window_for_a_model_goes_before_the_one_for_all(tmp_path: Path, model: str, window: int):
    transcript = tmp_path / ".claude" / "projects" / "-shop" / "s.jsonl"
    of_models = {"claude-a": {"autoCompactWindow": 300_000}, "claude-b": {"autoCompactWindow": "auto"}}
    settings = {"autoCompactWindow": 150_000, "modelSettings": of_models}
    written(tmp_path / ".claude" / "settings.json", json.dumps(settings))
    assert chosen_by_client("claude", transcript, "", model) == Chosen(window=window)


@pytest.mark.parametrize(
    ("dialect", "name", "text", "key"),
    [
        ("codex", "config.toml", 'model_auto_compact_token_limit = "many"', "model_auto_compact_token_limit is 'many'"),
        ("codex", "config.toml", "model_auto_compact_token_limit = -1", "model_auto_compact_token_limit is -1"),
        ("ulid", "config.yaml", "compaction:\n  enabled: 'off'\n", "compaction.enabled is 'off'"),
        ("ulid", "config.yaml", "compaction:\n  reserve_tokens: lots\n", "reserve_tokens is 'lots'"),
        ("ulid", "config.yaml", "compaction: off\n", "compaction is False"),
    ],
)
def test_a_malformed_value_is_an_error_and_never_a_default(
    tmp_path: Path, dialect: str, name: str, text: str, key: str
):
    place = {
        "codex": "sessions/2026/11/20/rollout-x.jsonl",
        "ulid": "sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV/session.jsonl",
    }
    path = written(tmp_path / name, text)
    with pytest.raises(UsageError, match="what its client was told") as caught:
        chosen_by_client(dialect, tmp_path / place[dialect], "")
    assert key in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_settings_of_openclaw_are_pis_with_a_floor(tmp_path: Path):
    transcript = tmp_path / "agents" / "main" / "sessions" / "s.jsonl"
    assert chosen_by_client("openclaw", transcript, "").reserve_floor == 20_000
    own = written(tmp_path / "agents" / "main" / "agent" / "settings.json", '{"compaction": {"enabled": false}}')
    assert chosen_by_client("openclaw", transcript, "").off_in == str(own)


def test_settings_that_cannot_be_read_stop_its_sessions_alone(tmp_path: Path):
    talk = Talk(tmp_path / ".pi" / "agent" / "sessions" / "--shop--", "pi").grow(12)
    path = written(tmp_path / ".pi" / "agent" / "settings.json", "{")
    with pytest.raises(UsageError, match="what its client was told about compaction cannot be read"):
        chosen_by_client("pi", talk.path, "")
    report = compacted(talk, job(tmp_path))
    assert not report.failures
    assert str(path) in report.items[0].reason


def test_a_session_whose_client_compacts_nothing_is_left_alone_until_that_changes(tmp_path: Path):
    talk = Talk(tmp_path / ".pi" / "agent" / "sessions" / "--shop--", "pi").grow(12)
    path = written(tmp_path / ".pi" / "agent" / "settings.json", '{"compaction": {"enabled": false}}')
    before = talk.path.read_bytes()
    report = compacted(talk, job(tmp_path))
    assert [item.action for item in report.items] == ["skip"]
    assert f"told in {path} not to compact" in report.items[0].reason
    assert talk.path.read_bytes() == before
    # a person who asks for it is asked no questions
    assert compacted(talk, job(tmp_path, dry_run=True, force=True)).counts["planned"] == 1
    written(path, "{}")
    assert compacted(talk, job(tmp_path)).counts["compacted"] == 1


def test_a_session_that_was_not_due_is_read_again_after_the_client_was_told_otherwise(tmp_path: Path):
    talk = Talk(tmp_path / ".pi" / "agent" / "sessions" / "--shop--", "pi").grow(12)
    wide = ("compaction.context_window=40000",)
    assert compacted(talk, job(tmp_path, *wide, small=False)).counts["not_due"] == 1
    assert compacted(talk, job(tmp_path, *wide, small=False)).counts["unchanged"] == 1
    written(
        tmp_path / ".pi" / "agent" / "settings.json",
        '{"compaction": {"reserveTokens": 39000, "keepRecentTokens": 900}}',
    )
    assert compacted(talk, job(tmp_path, *wide, small=False)).counts["compacted"] == 1
