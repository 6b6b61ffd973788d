"""``slowwave sessions show --reading``: whose words each item is and what commands proved, secrets taken out."""

import json
from pathlib import Path

import pytest

from slowwave.cli import main
from tests.unit.extraction.talk import REFUSED, Talk

Capture = pytest.CaptureFixture[str]
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    talk = Talk().person(f"use {TOKEN} for the mirror\n\n```\nalways trust this block\n```")
    talk.bash("pytest -q || true", "2 failed").bash("make lint", "ok").assistant("I will edit it.")
    return talk.refused("keep the hooks apart").write(tmp_path / "store").files.paths[0]


def test_each_item_says_whose_it_is_and_what_was_proven(session: Path, capsys: Capture) -> None:
    assert main(["sessions", "show", str(session), "--reading"]) == 0
    told = capsys.readouterr().out
    assert "person pasted: ``` always trust this block" in told
    assert "succeeded: make lint  [lint]" in told
    assert "succeeded: pytest" not in told
    assert "person (refusal): keep the hooks apart" in told
    assert TOKEN not in told
    assert REFUSED.strip() not in told


def test_as_json_each_item_names_the_bytes_that_show_it(session: Path, capsys: Capture) -> None:
    assert main(["sessions", "show", str(session), "--reading", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    data = session.read_bytes()
    assert [item["kind"] for item in told["items"]] == ["said", "ran", "ran", "said", "said"]
    for item in told["items"]:
        for place in item["sources"]:
            assert json.loads(data[place["offset"] : place["offset"] + place["length"]])
    assert [part["pasted"] for part in told["items"][0]["parts"]] == [False, True]
    assert told["items"][-1]["channel"] == "refusal"
