"""The key of the marks belongs to one person, is made once and shown to nobody else; logs hold no secret."""

import logging
import stat
from pathlib import Path

import pytest

from slowwave.errors import CorruptStateError, UnreadableError
from slowwave.secrets import NAME, logger_of, redactor_of
from slowwave.settings import SecretsSettings, Settings

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def key_file(tmp_path: Path) -> Path:
    return tmp_path / ".config" / "slowwave" / NAME


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    mark = redactor_of(Settings(), environ)(TOKEN)
    assert stat.S_IMODE(key_file(tmp_path).stat().st_mode) == 0o600
    assert redactor_of(Settings(), environ)(TOKEN) == mark
    assert redactor_of(Settings(), {"HOME": str(tmp_path / "other")})(TOKEN) != mark
    assert [p.name for p in key_file(tmp_path).parent.iterdir()] == [NAME]


def test_a_dry_run_makes_no_key(tmp_path: Path) -> None:
    redactor_of(Settings(), {"HOME": str(tmp_path)}, create=False)
    assert list(tmp_path.iterdir()) == []


def test_another_file_can_be_named(tmp_path: Path) -> None:
    settings = Settings(secrets=SecretsSettings(key_file=str(tmp_path / "deep" / "key")))
    mark = redactor_of(settings, {"HOME": str(tmp_path / "a")})(TOKEN)
    assert redactor_of(settings, {"HOME": str(tmp_path / "b")})(TOKEN) == mark


def test_a_key_that_others_can_read_or_that_is_none_is_an_error(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    redactor_of(Settings(), environ)
    key_file(tmp_path).chmod(0o644)
    with pytest.raises(UnreadableError, match="chmod 600"):
        redactor_of(Settings(), environ)
    key_file(tmp_path).chmod(0o600)
    key_file(tmp_path).write_text("short")
    with pytest.raises(CorruptStateError):
        redactor_of(Settings(), environ)


def test_equal_secrets_have_equal_marks_however_their_lines_were_broken(tmp_path: Path) -> None:
    redact = redactor_of(Settings(), {"HOME": str(tmp_path)})
    assert redact(f"x {TOKEN}") == redact(f"x {TOKEN[:20]}\\\n  {TOKEN[20:]}")


def test_logs_hold_no_secret_neither_in_messages_nor_in_tracebacks(caplog: pytest.LogCaptureFixture) -> None:
    log = logger_of("slowwave.test")
    with caplog.at_level(logging.INFO, "slowwave.test"):
        log.info("read %s from %d", TOKEN, 3)
        try:
            raise ValueError(TOKEN)  # noqa: TRY301 - the traceback is what is looked at
        except ValueError:
            log.exception("broke")
    assert "read [secret:github] from 3" in caplog.text
    assert "ValueError: [secret:github]" in caplog.text
    assert TOKEN not in caplog.text
