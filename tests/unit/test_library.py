"""What other programs import, and that the page which shows it runs."""

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import slowwave
from slowwave.context import FixedClock
from slowwave.errors import CorruptStateError, LockHeldError

Capture = pytest.CaptureFixture[str]
PAGE = Path(__file__).parents[2] / "docs" / "library.md"
NOW = datetime(2026, 11, 22, 3, 30, tzinfo=UTC)


def test_everything_that_is_offered_is_there():
    assert {name: getattr(slowwave, name) for name in slowwave.__all__}
    with pytest.raises(AttributeError, match="nothing_like_it"):
        getattr(slowwave, "nothing_like_it")  # noqa: B009 - a name that is not there


def test_nothing_is_loaded_before_it_is_asked_for():
    code = "import slowwave, sys; print(len([n for n in sys.modules if n.startswith('slowwave.')]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        exec(compile(example, "example", "exec"), {})
    told = capsys.readouterr().out
    assert "user fix the tests" in told
    assert "cersei" in told
    assert "sessions False" in told


def test_three_gates_and_the_state_of_a_dream(tmp_path: Path):
    conversations, memory = tmp_path / "conversations", tmp_path / "memory"
    sessions = slowwave.Sessions(conversations, clock=FixedClock(NOW - timedelta(days=2)))
    dreaming = slowwave.Dreaming(memory, conversations, clock=FixedClock(NOW))
    for number in range(5):
        assert not dreaming.should_consolidate()
        sessions.write_user_message(f"s{number}", "hello")
    assert dreaming.should_consolidate()
    with dreaming.lock():
        assert [gate.passed for gate in dreaming.gates()] == [True, True, False]
        with pytest.raises(LockHeldError), dreaming.lock():
            pass
        dreaming.update_state()
    assert not dreaming.should_consolidate()
    assert "a project dreams at most every" in dreaming.gates()[0].reason
    (memory / ".consolidation_state.json").write_text("{")
    with pytest.raises(CorruptStateError):
        dreaming.should_consolidate()
