"""No report that leaves the library holds a secret, whatever it quotes and whichever way it goes."""

import traceback
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowwave.cli import main
from slowwave.context import SystemClock
from slowwave.errors import CorruptStateError, UnreadableError
from slowwave.jobs import steps
from slowwave.jobs.run import discreet, discreet_error
from slowwave.jobs.story import Plan, Tally
from slowwave.report import Gate, Item, Report
from slowwave.samples import build

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def talkative() -> Report:
    """Return a report that quotes a secret in every text that it has."""
    said = f"read {TOKEN}"
    return Report(
        "extract",
        "r1",
        gates=[Gate("time", said, passed=False, reason=said)],
        items=[Item(said, "candidate", said, said, said, "decision", 0.5)],
        warnings=[said],
        failures=[said],
        parked=[said],
        memories={said: said},
    )


def test_every_text_of_a_report_is_looked_through() -> None:
    report = discreet(talkative())
    assert TOKEN not in msgspec.json.encode(report).decode()
    assert msgspec.json.encode(report).count(b"[secret:github]") == 11
    assert report.items[0].confidence == 0.5
    assert discreet(report) == report


def test_the_sum_of_a_run_and_a_portion_that_broke_are_looked_through(tmp_path: Path) -> None:
    tally = Tally(Plan("extract", dry_run=False, sessions={"p": 1}, report=Report("extract")))
    tally.add({"p": talkative()})
    tally.others.append(talkative())
    tally.lose("extract 0", ValueError(f"cannot read {TOKEN}"))
    total = tally.total({"HOME": str(tmp_path)})
    assert TOKEN not in msgspec.json.encode(total).decode()
    assert "extract 0: ValueError: cannot read [secret:github]" in total.failures


@pytest.mark.parametrize("how", ["--json", "--verbose"])
def test_a_direct_run_prints_and_logs_none(
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    how: str,
) -> None:
    build(own_home, SystemClock().now())

    def extract_sessions(project: Any, *_: Any, **__: Any) -> Report:
        if "quill" in project.key:
            raise CorruptStateError(Path("x"), f"ends in {TOKEN}")
        if "tern" in project.key:
            raise ValueError(TOKEN)
        return talkative()

    monkeypatch.setattr(steps, "extract_sessions", extract_sessions)
    code = main(["run", "extract", "--direct", how])
    out = capsys.readouterr()
    assert code == 6
    assert "[secret:github]" in out.out + out.err
    assert TOKEN not in out.out + out.err + caplog.text


class OpaqueError(Exception):
    """An error that makes its message of what it holds."""

    def __init__(self, held: bytes) -> None:
        super().__init__(held)

    def __str__(self) -> str:
        return self.args[0].decode()


def _raised(*, opaque: bool) -> BaseException:
    try:
        try:
            first = KeyError(f"no {TOKEN}")
            first.add_note(f"beside {TOKEN}")
            raise OSError(2, "gone", f"/tmp/{TOKEN}") from first  # noqa: TRY301 - a chain is what is tested
        except OSError:
            raise (OpaqueError(TOKEN.encode()) if opaque else UnreadableError(f"/p/{TOKEN}", TOKEN)) from None
    except (OpaqueError, UnreadableError) as error:
        return error


@pytest.mark.parametrize("opaque", [True, False])
def test_an_error_and_all_that_caused_it_hold_no_secret(opaque: bool):
    error = _raised(opaque=opaque)
    assert error.__context__ is not None
    clean = discreet_error(error)
    error.__suppress_context__ = False
    shown = "".join(traceback.format_exception(clean)) + "".join(traceback.format_exception(error.__context__))
    assert TOKEN not in shown
    assert shown.count("[secret:github]") >= 4


def test_an_error_keeps_its_type_so_that_its_retry_is_decided_by_it():
    assert isinstance(discreet_error(OSError(5, "input/output error", f"/p/{TOKEN}")), OSError)


def test_an_error_without_a_secret_stays_as_it_is():
    error = ValueError("nothing", 3)
    assert (discreet_error(error) is error, error.args) == (True, ("nothing", 3))
