"""What a report amounts to, in the order in which bad news outweighs good."""

from datetime import UTC, datetime
from pathlib import Path

from slowwave.jobs.conclusion import MOST_TITLE, outcome_of, title_of
from slowwave.report import Gate, Item, Phases, Report
from slowwave.stores.projects import Project


def report(**fields: object) -> Report:
    return Report("nightly", "r1", **fields)  # pyright: ignore[reportArgumentType]


def closed(project: str, gate: str = "time", reason: str = "2.0 of 24.0 hours passed") -> Gate:
    return Gate(gate, project, passed=False, reason=reason)


def test_a_night_that_left_something_is_completed() -> None:
    outcome = outcome_of(report(dream_ids=["d1"], counts={"projects": 1, "candidates": 3, "sessions": 9}))
    assert (outcome.name, outcome.message) == (
        "Completed",
        "nightly r1 noted 3 facts, in 9 sessions of 1 project.",
    )


def test_closed_gates_are_skipped_with_their_reasons_and_for_whom() -> None:
    outcome = outcome_of(report(gates=[closed("a"), closed("b"), closed("a", "lock", "held by 7")]))
    assert outcome.name == "Skipped"
    assert outcome.message == "nightly r1 did nothing: a, b: 2.0 of 24.0 hours passed; a: held by 7."


def test_what_nothing_held_back_is_completed_also_where_nothing_was_new() -> None:
    outcome = outcome_of(report())
    told = "nightly r1 looked at everything and found nothing new."
    assert (outcome.name, outcome.message) == ("Completed", told)


def dreamt(*projects: str, **fields: object) -> Report:
    return report(phases={project: Phases({}, 0, 0, 0) for project in projects}, **fields)


def test_a_dream_that_had_nothing_to_write_is_completed_and_says_over_what_it_went() -> None:
    outcome = outcome_of(dreamt("a", "b", counts={"skipped_by_gate": 1, "unchanged": 9}))
    told = "nightly r1 dreamt over 2 projects: nothing new to write; left for later: 1 session that is still in use"
    assert (outcome.name, outcome.message) == ("Completed", f"{told} or too short.")
    outcome = outcome_of(dreamt("a", gates=[closed("b", "lock", "held by 7")]))
    told = "nightly r1 dreamt over 1 project: nothing new to write; not now: b: held by 7."
    assert (outcome.name, outcome.message) == ("Completed", told)


def test_a_session_that_waits_is_no_reason_why_a_project_did_not_dream() -> None:
    outcome = outcome_of(report(gates=[closed("a")], counts={"skipped_by_gate": 1}))
    told = "nightly r1 did nothing: a: 2.0 of 24.0 hours passed; left for later: 1 session that is still in use or"
    assert (outcome.name, outcome.message) == ("Skipped", f"{told} too short.")
    outcome = outcome_of(report(counts={"skipped_by_gate": 1, "unchanged": 3}))
    assert (outcome.name, outcome.message.partition(" left for later")[0]) == (
        "Completed",
        "nightly r1 looked at everything and found nothing new;",
    )
    outcome = outcome_of(report(counts={"skipped_by_gate": 1}))
    told = "nightly r1 did nothing: 1 session that is still in use or too short."
    assert (outcome.name, outcome.message) == ("Skipped", told)


def test_sessions_that_were_read_and_gave_nothing_are_work_all_the_same() -> None:
    assert outcome_of(report(counts={"extracted": 2})).name == "Completed"


def test_a_dry_run_is_planned() -> None:
    assert outcome_of(report(counts={"candidates": 2}), dry_run=True).name == "Planned"


def test_a_parked_dream_outweighs_a_closed_gate() -> None:
    outcome = outcome_of(report(parked=["a: would lose 40 %"], gates=[closed("b")]))
    assert (outcome.name, outcome.message) == ("Parked", "nightly r1 waits for review: a: would lose 40 %.")


def test_one_broken_project_of_ten_is_named_and_does_not_fail_the_night() -> None:
    failures = ["a: extract: disk", "a: consolidate: disk"]
    assert outcome_of(report(failures=failures, counts={"projects": 10}, dream_ids=["d"])).name == "PartlyFailed"


def test_more_than_a_tenth_fails_the_night() -> None:
    failures = ["a: extract: disk", "b: extract: disk"]
    outcome = outcome_of(report(failures=failures, counts={"projects": 10}, parked=["c: loss"]))
    assert (outcome.name, outcome.message) == (
        "Failed",
        "nightly r1 met 2 failures: a: extract: disk; b: extract: disk.",
    )


def test_one_odd_session_of_many_does_not_fail_the_night() -> None:
    failures = ["a: session s1: UnreadableError: no"]
    few = report(failures=failures, counts={"projects": 1, "sessions": 9})
    many = report(failures=failures, counts={"projects": 1, "sessions": 10})
    assert (outcome_of(few).name, outcome_of(many).name) == ("Failed", "PartlyFailed")


def test_a_failure_without_projects_fails() -> None:
    assert outcome_of(report(failures=["extract_batch 0: MemoryError"])).name == "Failed"


def test_long_lists_of_reasons_are_cut_and_counted() -> None:
    items = [Item("t", "failed", "x")]
    outcome = outcome_of(report(failures=[f"p{i}: broke" for i in range(9)], items=items, counts={"projects": 9}))
    assert outcome.message.endswith("p4: broke; and 4 more.")


def test_what_a_night_did_is_a_sentence_with_the_id_of_its_run() -> None:
    counts = {"projects": 2, "sessions": 19, "extracted": 16, "added": 27, "merged": 1, "bad_lines": 2}
    did = "kept 27 new memories, merged 1 fact into memories and read 16 sessions, in 19 sessions of 2 projects."
    assert outcome_of(report(counts=counts)).message == f"nightly r1 {did}"
    dry = outcome_of(report(counts={"sessions": 1, "projects": 1}), dry_run=True).message
    assert dry == "nightly r1 was a dry run and changed nothing: it found nothing to keep, in 1 session of 1 project."


def test_a_run_is_called_by_its_job_its_day_and_minute_and_its_projects_in_few_characters() -> None:
    at = datetime(2026, 11, 23, 12, tzinfo=UTC)
    when = f"{at.astimezone():%Y-%m-%d %H:%M}"

    def of(*names: str) -> list[Project]:
        return [Project(f"-home-ana-{name}", f"/home/ana/{name}", (), Path("/m"), ()) for name in names]

    assert title_of("nightly", at, of("tern", "quill")) == f"nightly {when} tern, quill"
    assert title_of("extract", at, [], what="dry run") == f"extract {when} (dry run)"
    many = [Project(f"p{number}", "", (), Path("/m"), ()) for number in range(15)]
    assert title_of("retain", at, many) == f"retain {when} 15 projects"
    long = ("context-evaluator", "language-server")
    assert title_of("nightly", at, of(*long)) == f"nightly {when} 2 projects"
    assert title_of("nightly", at, of(long[0])) == f"nightly {when} context-evalua…"
    assert title_of("consolidate", at, of(*long), what="dry run") == f"consolidate {when} (dry run)"
    jobs = ("nightly", "backfill", "consolidate")
    assert all(len(title_of(job, at, of(*long))) <= MOST_TITLE for job in jobs)
