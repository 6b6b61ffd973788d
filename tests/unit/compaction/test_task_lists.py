"""Lists of tasks as the clients keep them: where every task stood last."""

from slowwave.compaction.calls import exchanges, tasks_of
from tests.unit.compaction.sessions import Talk


def tasks(talk: Talk) -> list[tuple[str, str]]:
    return [(task.text, task.status) for task in tasks_of(exchanges(talk.messages))]


def todo(content: str, status: str) -> dict[str, object]:
    return {"content": content, "status": status}


def test_the_last_list_counts_and_what_an_earlier_one_had_done_stays_done() -> None:
    talk = Talk().call("TodoWrite", todos=[todo("A", "completed"), todo("B", "in_progress"), todo("X", "pending")])
    talk.call("todowrite", todos=[todo("B", "completed"), todo("C", "pending")])
    assert tasks(talk) == [("A", "completed"), ("B", "completed"), ("C", "pending")]


def test_plans_of_codex() -> None:
    talk = Talk().call("update_plan", plan=[{"step": "A", "status": "completed"}, {"step": "B", "status": "pending"}])
    assert tasks(talk) == [("A", "completed"), ("B", "pending")]


def test_single_tasks_follow_their_numbers() -> None:
    talk = Talk()
    for number, name in enumerate("ABC", 1):
        talk.call("TaskCreate", f"Task #{number} created successfully: {name}", subject=name)
    talk.call("TaskUpdate", taskId="1", status="completed").call("TaskUpdate", taskId="2", status="in_progress")
    talk.call("TaskUpdate", taskId="3", status="deleted").call("TaskUpdate", taskId="9", status="completed")
    assert tasks(talk) == [("A", "completed"), ("B", "in_progress")]


def test_a_list_that_was_refused_and_nonsense_change_nothing() -> None:
    talk = Talk().call("TodoWrite", todos=[todo("A", "pending")])
    talk.call("TodoWrite", "error", error=True, todos=[]).call("TodoWrite", todos="none")
    assert tasks(talk) == [("A", "pending")]
    assert tasks(talk.call("TodoWrite", todos=[1])) == []
