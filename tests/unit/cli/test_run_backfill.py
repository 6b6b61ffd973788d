"""``slowwave run backfill``: its options, what it prints, and what does not go together."""

import json
import os
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from slowwave.cli import main, screen
from slowwave.cli.screen import lines_of_backfill as lines
from slowwave.errors import DONE, PARTLY_FAILED, UNREADABLE, USAGE
from slowwave.jobs.backfill import plan
from slowwave.jobs.backfill.folder import Folder
from slowwave.jobs.backfill.plan import TO_READ, Kind
from slowwave.jobs.backfill.shard import Reader
from slowwave.observability.progress import begun, end_note, write_note
from tests.unit.extraction.talk import Talk
from tests.unit.jobs.backfill.rig import World, filled


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = filled(tmp_path, sessions=4, projects=1)
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    assert "SLOWWAVE_CONFIG" not in os.environ
    return made


def run(world: World, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    code = main(["run", "backfill", "--direct", "--store", str(world.store), *more])
    out = capsys.readouterr()
    return code, out.out, out.err


def report(world: World, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    code, out, _ = run(world, capsys, "--json", *more)
    assert code == DONE
    return json.loads(out)


def test_a_preview_a_run_its_coverage_and_its_rollback(world: World, capsys: pytest.CaptureFixture[str]):
    planned = report(world, capsys, "--dry-run")
    assert (planned["counts"]["sessions"], planned["counts"]["bytes"] > 10_000) == (4, True)
    assert planned["counts"]["cpu_seconds_foreseen_low"] <= planned["counts"]["cpu_seconds_foreseen"]
    assert world.memories() == {}
    done = report(world, capsys)
    assert (done["job"], done["counts"]["extracted"]) == ("backfill", 4)
    _, words, _ = run(world, capsys, "--coverage")
    assert "100 % of 4 sessions" in words
    _, words, _ = run(world, capsys, "--rollback", done["run_id"])
    assert "1  project from which it was taken back" in words
    assert re.search(r"rolled-back  code-p0: \d+ facts", words)
    assert "piece" not in words
    assert world.memories() == {}


def test_where_all_was_read_the_screen_leads_on_and_what_is_not_there_is_not_resumed(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = report(world, capsys)
    code, words, _ = run(world, capsys)
    assert (code, "nothing of the range is left to read" in words) == (DONE, True)
    assert (
        f"  read       4 sessions by backfill {done['run_id']}\n  again      --force reads all of it again (" in words
    )
    monkeypatch.setattr(screen, "screen_width", lambda: 80)
    assert all(len(line) <= 80 for line in lines(report(world, capsys)))
    for action, what in (("--resume", "unfinished"), ("--pause", "at work")):
        code, _, error = run(world, capsys, action)
        assert (code, error) == (UNREADABLE, f"slowwave: no backfill is {what}\n")


def test_a_run_that_is_taken_up_still_knows_the_store_that_it_was_begun_with(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("slowwave.jobs.backfill._land", stop)
        assert main(["run", "backfill", "--direct", "--store", str(world.store)]) != DONE
    (name,) = re.findall(r"--resume (\S+)", capsys.readouterr().err)
    assert main(["run", "backfill", "--direct", "--resume", name]) == DONE
    assert f"slowwave run consolidate --force --store {world.store}\n" in capsys.readouterr().out


def test_the_words_name_the_way_back(world: World, capsys: pytest.CaptureFixture[str]):
    code, out, _ = run(world, capsys, "--since", "2026-01-01", "--limit", "2")
    assert code == DONE
    assert "take it back with --rollback" in out
    assert "2  are beyond the limit" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--pause", "a", "--resume", "a"], "do not go together"),
        (["--resume", "a", "--limit", "3"], "takes the range of its run"),
        (["--coverage", "--dry-run"], "leave --coverage out"),
        (["--resume", "a", "--dry-run"], "leave --resume out"),
        (["--rollback", "a", "--set", "extraction.idle=1h"], "leave 'Settings for this run' out"),
        (["--pause", "a", "--project", "p0"], "leave 'One project' out"),
        (["--dialect", "klaude"], "'klaude' is no client: write one of cersei, claude"),
        (["--rollback", "../b1"], "'../b1': String should match"),
        (["--person", "Ann"], "are for erase"),
        (["--since", "yesterday-ish"], "2026-11-20"),
        (["--since", "2026-03-02", "--until", "2026-03-01"], "before it begins"),
    ],
)
def test_what_does_not_go_together_is_refused(
    world: World, capsys: pytest.CaptureFixture[str], options: list[str], words: str
):
    code, _, err = run(world, capsys, *options)
    assert (code, words in err) == (USAGE, True)


def test_an_unknown_run_is_named(world: World, capsys: pytest.CaptureFixture[str]):
    code, _, err = run(world, capsys, "--pause", "b9")
    assert (code, "no backfill 'b9'" in err) == (UNREADABLE, True)


@pytest.mark.parametrize("option", ["--since=2026-01-01", "--upgrade", "--limit=3", "--coverage"])
def test_its_options_belong_to_it(capsys: pytest.CaptureFixture[str], option: str):
    assert main(["run", "extract", "--direct", option]) == USAGE
    assert "is for backfill" in capsys.readouterr().err


@pytest.mark.parametrize("rate", ["0", "-1", "fast", "inf"])
def test_a_pace_is_a_number_above_nothing(capsys: pytest.CaptureFixture[str], rate: str):
    with pytest.raises(SystemExit):
        main(["run", "backfill", f"--mb-per-second={rate}"])
    assert "not a number above 0" in capsys.readouterr().err


def test_whatever_is_not_read_of_a_range_is_shown():
    counts = dict.fromkeys((f"not_{kind}" if kind in TO_READ else kind for kind in get_args(Kind)), 7)
    counts |= {"unreadable": 7, "beyond_limit": 7}
    report: dict[str, Any] = {"run_id": "b1", "items": [], "counts": counts, "failures": [], "warnings": []}
    assert sum(line.split()[0] == "7" for line in list(lines(report))[1:]) == len(counts)


def test_the_numbers_of_a_resumed_run_add_up_to_its_range(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    world.write(Talk(id="short").person("hi"), project="p0", days_ago=0)
    world.write(Talk(id="brief").person("hi"), project="p1", days_ago=0)
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 2, "enough_bytes": 1 << 30})

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Reader, "tell", stop)
        assert (
            main(["run", "backfill", "--direct", "--store", str(world.store), "--set", "extraction.ended_after=900d"])
            != 0
        )
    (name,) = re.findall(r"--resume (\S+)", capsys.readouterr().err)
    folder = Folder(world.root / "state" / "slowwave" / "backfills" / name)
    Reader(folder.path, 0, world.environ).read(0)
    assert main(["run", "backfill", "--direct", "--resume", name]) == DONE
    shown = capsys.readouterr().out
    assert "piece" not in shown
    numbers = [(int(n), told) for n, told in re.findall(r"^ +(\d+)  (\S.*)$", shown, re.MULTILINE)]
    whole, shares = numbers[0], [one for one in numbers[1:] if "fact" not in one[1]]
    assert whole == (6, "sessions are in the range")
    assert sum(number for number, _ in shares) == 6
    assert shares == [(4, "of them were read: 2 now, 2 before"), (2, "are not ready yet: a night reads them later")]


def test_what_is_so_of_many_projects_is_told_once():
    items = [{"target": f"/m{n}", "action": "rolled-back", "reason": "1 fact", "project": f"/m{n}"} for n in range(20)]
    report: dict[str, Any] = {"run_id": "b1", "items": items, "counts": {}, "failures": [], "warnings": []}
    assert list(lines(report))[1:] == ["  rolled-back  1 fact in each of 20 projects"]


def test_the_status_of_one_that_is_taken_back_in_part(world: World, capsys: pytest.CaptureFixture[str]):
    done = report(world, capsys)
    path = world.memory("p0") / ".slowwave" / "candidates.jsonl"
    path.write_bytes(path.read_bytes().replace(b"pnpm", b"****"))
    (code, _, err), run_id = run(world, capsys, "--rollback", done["run_id"]), done["run_id"]
    assert (code, "was changed within" in err) == (PARTLY_FAILED, True)
    (world.root / "state" / "slowwave" / "backfills" / run_id / "rolling-back").write_bytes(b"")
    main(["status", "--store", str(world.store)])
    out = capsys.readouterr().out
    assert f"Backfill {run_id} is being taken back: a part of what it added is taken back, a part still stands" in out


def test_one_that_was_interrupted_is_told_of_once_with_the_command_that_goes_on(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def stays(_: Folder) -> None:
        """A run that was interrupted has its work left."""

    monkeypatch.setattr(Folder, "drop_work", stays)
    run_id = report(world, capsys)["run_id"]
    (world.root / "state" / "slowwave" / "backfills" / run_id / "done").unlink()
    note = write_note(world.environ, begun("backfill", run_id, "2026-03-01T03:30:00+00:00"))
    end_note(note, "somebody interrupted it")
    main(["status", "--store", str(world.store)])
    out = capsys.readouterr().out
    assert out.count(f"slowwave run backfill --resume {run_id}") == 1
    assert "somebody interrupted it" not in out
    main(["nights", "--store", str(world.store)])
    assert "backfill, completed" in (nights := capsys.readouterr().out)
    assert "facts noted, nothing remembered yet" in nights
    assert "memory undo" not in nights  # there is nothing to undo
