"""Probes, what a summary answers of them, and the verdict."""

import json

import pytest

from slowwave.compaction.ledger import ledger_of, rendered
from slowwave.compaction.proof import Loss, Probe, checked, probes_of, verdict
from tests.unit.compaction.sessions import CWD, Talk

TALK = (
    Talk()
    .typed("Build an importer for the old shop, see PROJ-42. It must never delete rows of the customer table.")
    .call("read", path="docs/shop.md")
    .call("edit", path="/repo/src/importer.py")
    .run("pytest -q tests", "E   ValueError: bad row 17 in table", 1)
    .said("I'll use one transaction per row rather than one for all because the table is huge.")
    .call("TodoWrite", todos=[{"content": "Write the changelog entry", "status": "pending"}])
    .run("git commit -m importer", "[main 1a2b3c4] importer\n 1 file changed")
)


def kinds(probes: list[Probe]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for probe in probes:
        found.setdefault(probe.kind, []).append(probe.text)
    return found


def lost(summary: str) -> dict[str, list[str]]:
    return kinds(list(checked(probes_of(TALK.messages, CWD), summary).lost))


def test_probes_ask_for_everything_that_must_not_be_lost() -> None:
    assert kinds(probes_of(TALK.messages, CWD)) == {
        "modified": ["/repo/src/importer.py"],
        "read": ["docs/shop.md"],
        "error": ["E ValueError: bad row 17 in table"],
        "command": ["pytest -q tests", "git commit -m importer"],
        "task": ["Write the changelog entry"],
        "ask": ["Build an importer for the old shop, see PROJ-42. It must never delete rows of the customer table."],
        "constraint": ["It must never delete rows of the customer table."],
        "decision": ["I'll use one transaction per row rather than one for all because the table is huge."],
        "identifier": ["PROJ-42", "1a2b3c4"],
    }


def test_the_ledger_answers_all_of_them() -> None:
    assert lost(rendered(ledger_of(TALK.messages, cwd=CWD))) == {}


def test_an_empty_summary_answers_none() -> None:
    loss = checked(probes_of(TALK.messages, CWD), "")
    assert loss.score == 0
    assert len(loss.lost) == len(probes_of(TALK.messages, CWD))


@pytest.mark.parametrize(
    ("summary", "kind"),
    [
        ("Changed src/importer.py", "modified"),
        ("Read `docs\\shop.md`.", "read"),
        ("it said: ValueError: bad row 17 in table", "error"),
        ("pytest -q tests: failed\ngit commit -m importer", "command"),
        ("- changelog entry still to write", "task"),
        ("Rows of the customer table must never be deleted", "constraint"),
        ("huge table, so use one transaction per row rather than one for all", "decision"),
        ("PROJ-42, 1a2b3c4", "identifier"),
    ],
)
def test_other_words_count_as_far_as_they_tell_the_same(summary: str, kind: str) -> None:
    assert kind not in lost(summary)


@pytest.mark.parametrize(
    ("summary", "kind"),
    [
        ("Changed old_src/importer.py2", "modified"),
        ("Changed importer.py", "modified"),
        ("pytest -q tests\ngit commit -m importer", "command"),
        ("PROJ-421 and a1a2b3c4", "identifier"),
        ("The table is large.", "decision"),
        ("bad rows", "error"),
    ],
)
def test_half_of_it_is_lost(summary: str, kind: str) -> None:
    assert kind in lost(summary)


def test_what_was_injected_or_summarised_before_is_not_asked_for() -> None:
    talk = Talk().injected("You must never use tabs in files").summary("Fix PROJ-1 in a.py. It must always build.")
    assert probes_of(talk.messages) == []


def test_a_loss_tells_where_to_find_what_is_lost() -> None:
    loss = checked(probes_of(TALK.messages, CWD), "Changed src/importer.py")
    report = json.loads(json.dumps(loss.as_fields()))
    assert report["kinds"]["modified"] == {"kept": 1, "total": 1}
    assert report["kinds"]["error"] == {"kept": 0, "total": 1}
    read = next(probe for probe in report["lost"] if probe["kind"] == "read")
    assert read["ranges"] == [{"part": 0, "offset": 100, "length": 90}, {"part": 0, "offset": 200, "length": 90}]
    assert all(probe["ranges"] for probe in report["lost"])


def test_a_verdict_needs_every_changed_file_and_error_and_the_threshold() -> None:
    probes = [Probe("modified", "a.py"), Probe("ask", "x"), Probe("ask", "y")]
    assert verdict(Loss({"modified": 1}, (probes[0],)), 0.1).reason == "1 of 1 changed files are not told"
    half = Loss({"modified": 1, "ask": 2}, (probes[1],))
    assert half.score == pytest.approx(0.8)
    assert verdict(half, 0.8).passes
    assert verdict(half, 0.81).reason == "it keeps 80% of what was asked for, 81% needed"
    assert verdict(Loss({"modified": 1}, (probes[0],)), 0).passes
    assert verdict(Loss({}, ())).passes


def test_nothing_secret_is_asked_for() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    talk = Talk().typed(f"Use the token {secret} for the release of the shop").run("gh release", f"error {secret}", 1)
    assert secret not in str(probes_of(talk.messages))
