"""What a report amounts to, in the order in which bad news outweighs good."""

from slowwave.jobs.outcome import outcome_of
from slowwave.report import Gate, Item, Report


def report(**fields: object) -> Report:
    return Report("nightly", "r1", **fields)  # pyright: ignore[reportArgumentType]


def closed(project: str, gate: str = "time", reason: str = "2.0 of 24.0 hours passed") -> Gate:
    return Gate(gate, project, passed=False, reason=reason)


def test_a_night_that_left_something_is_completed() -> None:
    outcome = outcome_of(report(dream_ids=["d1"], counts={"projects": 1, "candidates": 3}))
    assert (outcome.name, outcome.message) == ("Completed", "1 project, 3 facts noted")


def test_closed_gates_are_skipped_with_their_reasons_counted() -> None:
    outcome = outcome_of(report(gates=[closed("a"), closed("b"), closed("a", "lock", "held by 7")]))
    assert outcome.name == "Skipped"
    assert outcome.message == "time: 2.0 of 24.0 hours passed (2 times); lock: held by 7"


def test_no_gate_and_no_work_is_skipped_as_well() -> None:
    assert outcome_of(report()).message == "there was nothing new"


def test_sessions_that_were_read_and_gave_nothing_are_work_all_the_same() -> None:
    assert outcome_of(report(counts={"extracted": 2})).name == "Completed"


def test_a_dry_run_is_planned() -> None:
    assert outcome_of(report(counts={"candidates": 2}), dry_run=True).name == "Planned"


def test_a_parked_dream_outweighs_a_closed_gate() -> None:
    outcome = outcome_of(report(parked=["a: would lose 40 %"], gates=[closed("b")]))
    assert (outcome.name, outcome.message) == ("Parked", "waiting for review: a: would lose 40 %")


def test_one_broken_project_of_ten_is_named_and_does_not_fail_the_night() -> None:
    failures = ["a: extract: disk", "a: consolidate: disk"]
    assert outcome_of(report(failures=failures, counts={"projects": 10}, dream_ids=["d"])).name == "PartlyFailed"


def test_more_than_a_tenth_fails_the_night() -> None:
    failures = ["a: extract: disk", "b: extract: disk"]
    outcome = outcome_of(report(failures=failures, counts={"projects": 10}, parked=["c: loss"]))
    assert (outcome.name, outcome.message) == ("Failed", "a: extract: disk; b: extract: disk")


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
    assert outcome.message.endswith("p4: broke; and 4 more")
