"""Settings are checked at once, and an error names key, value, place and remedy."""

from datetime import timedelta
from pathlib import Path

import pytest

from slowwave.errors import USAGE, SettingsError
from slowwave.quantities import parse_duration
from slowwave.settings import load_settings


def test_defaults_hold_without_any_source(tmp_path: Path):
    settings = load_settings({}, cwd=tmp_path)
    assert settings.extraction.min_messages == 20
    assert settings.consolidation.min_hours == 24
    assert settings.consolidation.lock_stale == timedelta(hours=1)


def test_the_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path):
    file = tmp_path / "slowwave.toml"
    file.write_text("[extraction]\nmin_messages = 1\nmin_tool_calls = 2\nidle = '1h'\n")
    environ = {"SLOWWAVE_EXTRACTION__MIN_TOOL_CALLS": "7", "SLOWWAVE_EXTRACTION__IDLE": "2h"}
    settings = load_settings(environ, cwd=tmp_path, overrides=["extraction.idle=3h"])
    assert settings.extraction.min_messages == 1
    assert settings.extraction.min_tool_calls == 7
    assert settings.extraction.idle == timedelta(hours=3)


def test_a_file_is_found_through_the_variable_before_the_folder(tmp_path: Path):
    (tmp_path / "slowwave.toml").write_text("[extraction]\nmin_messages = 1\n")
    other = tmp_path / "other.toml"
    other.write_text("[extraction]\nmin_messages = 2\n")
    assert load_settings({"SLOWWAVE_CONFIG": str(other)}, cwd=tmp_path).extraction.min_messages == 2


@pytest.mark.parametrize(
    ("override", "key", "remedy"),
    [
        ("extraction.idel=30m", "extraction.idel", "there is no such setting; did you mean extraction.idle?"),
        ("extrcation.idle=30m", "extrcation.idle", "did you mean extraction.idle?"),
        ("silent_nights=3", "silent_nights", "did you mean alarms.silent_nights?"),
        (
            "extraction.zzz=3",
            "extraction.zzz",
            "there is no such setting; extraction has extraction.min_messages",
        ),
        ("nothing.at_all=1", "nothing.at_all", "there is no such setting; there are sections store, extraction"),
        ("extraction=3", "extraction", "is a section; write for example extraction.min_messages"),
        ("extraction.idle=5", "extraction.idle", "for example 30m"),
        ("extraction.idle=5 fortnights", "extraction.idle", "unknown unit"),
        ("extraction.min_messages=many", "extraction.min_messages", "write a whole number of messages, 0 or more"),
        ("extraction.min_messages=-1", "extraction.min_messages", "write a whole number of messages, 0 or more"),
        (
            "consolidation.min_hours=long",
            "consolidation.min_hours",
            "write a number of hours, 0 or more, for example 24",
        ),
        ("model.retries=100", "model.retries", "write a whole number from 0 to 20, for example 4"),
        ("compaction.threshold=0", "compaction.threshold", "write a number above 0 and up to 1, for example 0.9"),
        ("store.fsync=maybe", "store.fsync", "write true or false"),
        ("compaction.windows=3", "compaction.windows", "write a table"),
        ("consolidation.mode=later", "consolidation.mode", "write auto or review"),
        ("extraction.idle", "extraction.idle", "section.key=value"),
    ],
)
def test_a_wrong_setting_is_named_with_its_remedy(tmp_path: Path, override: str, key: str, remedy: str):
    with pytest.raises(SettingsError) as caught:
        load_settings({}, cwd=tmp_path, overrides=[override])
    assert caught.value.key == key
    assert remedy in str(caught.value)
    assert "--set" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == USAGE


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('[extraction]\n# rest\nidel = "30m"\n', 3, "extraction.idel"),
        ('\n[extractoin]\nidle = "30m"\n', 2, "did you mean extraction"),
        ('\nextraction.min_messages = "many"\n', 2, "a whole number of messages"),
        ('[store]\nroots = [\n  "/a",\n]\n[ "consolidation" ]\n  "min_hours"=[]\n', 6, "a number of hours"),
        ('[extraction]\nidle = "5 fortnights"\n', 2, "unknown unit"),
        (
            '[[retention.classes]]\nmax_age = "1d"\n\n[[retention.classes]]\nmax_cuont = 3\n',
            5,
            "did you mean max_count?",
        ),
        ('[retention]\nclasses = [{ max_age = "6m" }]\n', 2, "minutes or months"),
        ('[compaction.windows]\n"a.model" = 3\nother = "x"\n', 1, "write a whole number"),
    ],
)
def test_a_wrong_line_of_a_file_is_named_by_its_number(tmp_path: Path, text: str, line: int, says: str):
    file = tmp_path / "slowwave.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings({}, cwd=tmp_path)
    assert f"(in {file}, line {line}): " in str(caught.value)
    assert says in str(caught.value)


def test_a_wrong_value_in_the_environment_names_the_variable(tmp_path: Path):
    with pytest.raises(SettingsError, match="SLOWWAVE_EXTRACTION__IDLE"):
        load_settings({"SLOWWAVE_EXTRACTION__IDLE": "soon"}, cwd=tmp_path)


@pytest.mark.parametrize("content", [b"not toml at all", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_an_error(tmp_path: Path, content: bytes):
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match=r"is not TOML"):
        load_settings({}, config=file, cwd=tmp_path)


def test_a_named_file_that_is_missing_is_an_error_and_never_the_defaults(tmp_path: Path):
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings({}, config=tmp_path / "gone.toml", cwd=tmp_path)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30m", 1800), ("12h", 43200), ("7d", 604800), ("2 weeks", 1209600), ("1h 30m", 5400), ("0s", 0), ("1.5h", 5400)],
)
def test_durations_read_as_people_write_them(text: str, seconds: int):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "h", "5 h!", "-3h", "5x", "1h2", "50ms"])
def test_what_is_no_duration_is_refused(text: str):
    with pytest.raises(ValueError, match="write for example"):
        parse_duration(text)
