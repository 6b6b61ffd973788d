"""pi's own tests of ``labels.test.ts``, by their names, against labels that slowwave writes."""

from pathlib import Path

import pytest

from slowwave.errors import NotFoundError
from tests.conformance.pi_manager import Manager


@pytest.fixture
def manager(tmp_path: Path) -> Manager:
    """Return a session with a question (1), an answer (2) and a question (3)."""
    made = Manager(tmp_path)
    made.user("hello")
    made.model("hi")
    made.user("followup")
    return made


def ids(manager: Manager) -> list[str]:
    return [str(m.id) for m in manager.transcript.messages]


def label(manager: Manager, target: str, text: str | None) -> str:
    return manager.sessions.label("s1", target, text)


def test_sets_and_gets_labels(manager: Manager) -> None:
    (first, *_) = ids(manager)
    assert manager.transcript.labels == {}
    made = label(manager, first, "checkpoint")
    assert manager.transcript.labels == {first: "checkpoint"}
    (entry,) = [e for e in manager.entries if e.type == "label"]
    assert entry.fields() | {"id": made, "targetId": first, "label": "checkpoint"} == entry.fields()


def test_clears_labels(manager: Manager) -> None:
    (first, *_) = ids(manager)
    label(manager, first, "checkpoint")
    label(manager, first, None)
    assert manager.transcript.labels == {}
    assert len([e for e in manager.entries if e.type == "label"]) == 2


def test_last_label_wins(manager: Manager) -> None:
    (first, *_) = ids(manager)
    for text in ("first", "second", "third"):
        label(manager, first, text)
    assert manager.transcript.labels == {first: "third"}


def test_labels_are_included_in_tree_nodes(manager: Manager) -> None:
    first, second, third = ids(manager)
    label(manager, first, "start")
    label(manager, second, "response")
    assert manager.tree() == {None: [first], first: [second], second: [third], third: []}
    assert manager.transcript.labels == {first: "start", second: "response"}


def test_labels_are_preserved_in_create_branched_session(manager: Manager) -> None:
    first, second, _ = ids(manager)
    label(manager, first, "important")
    label(manager, second, "also-important")
    times = [e.fields()["timestamp"] for e in manager.entries if e.type == "label"]
    copy = manager.branched(second)
    assert copy.transcript.labels == {first: "important", second: "also-important"}
    copied = [e for e in copy.entries if e.type == "label"]
    assert [e.fields()["timestamp"] for e in copied] == times
    assert copy.path == [first, second, *(e.id for e in copied)]


def test_labels_not_on_path_are_not_preserved_in_create_branched_session(manager: Manager) -> None:
    first, second, third = ids(manager)
    for target in (first, second, third):
        label(manager, target, "x")
    assert manager.branched(second).transcript.labels == {first: "x", second: "x"}


def test_labels_are_not_included_in_build_session_context(manager: Manager) -> None:
    before = manager.context()
    label(manager, ids(manager)[0], "checkpoint")
    assert manager.context() == before


def test_throws_when_labeling_non_existent_entry(manager: Manager) -> None:
    before = manager.ids
    with pytest.raises(NotFoundError, match="non-existent"):
        label(manager, "non-existent", "label")
    assert manager.ids == before


def test_labels_on_the_path_are_not_doubled_in_create_branched_session(manager: Manager) -> None:
    first, *_ = ids(manager)
    label(manager, first, "start")
    fourth = manager.model("goes on under the label")
    copy = manager.branched(fourth)
    assert [e.type for e in copy.entries] == ["message"] * 4 + ["label"]
    assert copy.path == copy.ids
    assert copy.transcript.labels == {first: "start"}
