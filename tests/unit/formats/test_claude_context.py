"""What Claude Code sends next, rule by rule; each expectation was seen with the real client of that version."""

from pathlib import Path
from typing import Any

import pytest

from slowwave.formats.claude.dialect import CLAUDE
from tests.unit.formats.claude_files import Session, call, shape

OLDER = pytest.mark.parametrize("version", ["2.0.76", "1.0.128"])


def begun(version: str = "2.1.330") -> Session:
    session = Session(version)
    session.user("first")
    session.says("m1", "one")
    return session


def test_pieces_of_one_message_are_joined(tmp_path: Path) -> None:
    session = begun()
    session.user("go")
    session.says("m2", {"type": "thinking", "thinking": "hm"})
    session.says("m2", "looking")
    session.says("m2", call("t1"))
    session.result("t1", "out")
    session.says("m3", "done")
    assert shape(session.context(tmp_path))[2:] == ["U go", "A+t1 looking", "U=t1", "A done"]


def test_a_message_is_typed_when_a_person_typed_all_of_it(tmp_path: Path) -> None:
    session = begun()
    session.user("<system-reminder>soon</system-reminder>", isMeta=True)
    session.says("m2", call("t1"))
    session.result("t1", "out")
    session.says("m3", "done")
    session.user("go")
    session.user("on")
    session.says("m4", "gone")
    session.user("<system-reminder>late</system-reminder>", isMeta=True)
    session.user("and on")
    session.says("m5", "on")
    origins = [m.origin for m in CLAUDE.context(session.read(tmp_path)) if m.role == "user"]
    assert origins == ["typed", "injected", "tool", "typed", "injected"]


def parallel(version: str) -> Session:
    session = begun(version)
    session.user("go")
    first = session.says("m2", call("t1"))
    second = session.says("m2", call("t2"))
    session.result("t1", "one", parent=first)
    session.result("t2", "two", parent=second)
    session.says("m3", "done")
    return session


def test_results_of_parallel_calls_are_found_beside_the_chain(tmp_path: Path) -> None:
    assert shape(parallel("2.1.330").context(tmp_path))[3:] == ["A+t1+t2", "U=t1=t2", "A done"]


@OLDER
def test_older_clients_lose_parallel_calls(tmp_path: Path, version: str) -> None:
    assert shape(parallel(version).context(tmp_path))[3:] == ["A+t2", "U=t2", "A done"]


def test_the_last_prompt_record_decides_between_branches(tmp_path: Path) -> None:
    session = begun()
    prompt = session.user("old way")
    old = session.says("m2", "old answer")
    session.user("new way", parent="u2")
    new = session.says("m3", "new answer")
    assert shape(session.context(tmp_path))[-2:] == ["U new way", "A new answer"]
    session.bare("last-prompt", lastPrompt="old way", leafUuid=old)
    assert shape(session.context(tmp_path))[-2:] == ["U old way", "A old answer"]
    session.bare("last-prompt", lastPrompt="new way", leafUuid=new)
    assert shape(session.context(tmp_path))[-2:] == ["U new way", "A new answer"]
    session.bare("last-prompt", lastPrompt="old way", leafUuid=prompt, explicit=True)
    assert shape(session.context(tmp_path))[-2:] == ["U old way", "A No response requested."]


@OLDER
def test_older_clients_take_the_newest_timestamp(tmp_path: Path, version: str) -> None:
    session = begun(version)
    session.user("newer", timestamp="2030-01-01T00:00:00.000Z")
    session.user("later in the file", parent="u2")
    assert shape(session.context(tmp_path))[-2:] == ["U newer", "A No response requested."]


def test_a_compaction_starts_over_with_its_summary(tmp_path: Path) -> None:
    session = begun()
    session.boundary(trigger="manual")
    session.summary("SUMMARY")
    session.user("next")
    session.says("m2", "answer")
    assert shape(session.context(tmp_path)) == ["U SUMMARY\nnext", "A answer"]


def test_a_boundary_without_a_summary_hides_nothing(tmp_path: Path) -> None:
    session = begun()
    session.boundary(trigger="manual")
    assert shape(session.context(tmp_path)) == ["U first", "A one"]


PRESERVED: dict[str, dict[str, Any]] = {
    "segment": {"preservedSegment": {"headUuid": "u3", "anchorUuid": "u6", "tailUuid": "u4"}},
    "list": {"preservedMessages": {"anchorUuid": "u6", "uuids": ["u3", "u4"], "allUuids": ["u3", "u4"]}},
}


@pytest.mark.parametrize("form", PRESERVED)
def test_preserved_messages_move_behind_the_summary(tmp_path: Path, form: str) -> None:
    session = begun()
    session.user("kept")
    session.says("m2", "kept answer")
    session.boundary(trigger="auto", **PRESERVED[form])
    session.summary("SUMMARY")
    assert shape(session.context(tmp_path)) == ["U SUMMARY\nkept", "A kept answer"]
    session.user("next")
    session.says("m3", "answer")
    assert shape(session.context(tmp_path)) == ["U SUMMARY\nkept", "A kept answer", "U next", "A answer"]


def test_a_lost_preserved_message_preserves_nothing(tmp_path: Path) -> None:
    session = begun()
    session.user("kept")
    session.says("m2", "kept answer")
    session.boundary(preservedMessages={"anchorUuid": "u6", "uuids": ["lost", "u4"]})
    session.summary("SUMMARY")
    assert shape(session.context(tmp_path)) == ["U SUMMARY", "A No response requested."]


@OLDER
def test_older_clients_preserve_nothing(tmp_path: Path, version: str) -> None:
    session = begun(version)
    session.user("kept")
    session.says("m2", "kept answer")
    session.boundary(**PRESERVED["list"])
    session.summary("SUMMARY")
    assert shape(session.context(tmp_path)) == ["U SUMMARY", "A No response requested."]


def killed(version: str) -> Session:
    session = begun(version)
    session.user("go")
    session.says("m2", "starting")
    session.says("m2", call("t1"))
    return session


def test_a_call_that_was_cut_off_is_answered_as_interrupted(tmp_path: Path) -> None:
    context = killed("2.1.330").context(tmp_path)
    assert shape(context)[3:] == ["A+t1 starting", "U=t1", "A No response requested."]
    assert "[Tool call interrupted: the session ended" in str(context[-2])


@OLDER
def test_older_clients_drop_a_call_that_was_cut_off(tmp_path: Path, version: str) -> None:
    assert shape(killed(version).context(tmp_path))[3:] == ["A starting"]


def test_an_unanswered_call_in_the_middle_is_dropped(tmp_path: Path) -> None:
    session = killed("2.1.330")
    session.user("go on")
    session.says("m3", "fine")
    assert shape(session.context(tmp_path))[3:] == ["A starting", "U go on", "A fine"]


@pytest.mark.parametrize(
    ("content", "shown"), [([{"type": "text", "text": " "}], ["U (no content)"]), ([], []), ("", [])]
)
def test_a_prompt_without_words_says_so_only_where_it_has_blocks(
    tmp_path: Path, content: object, shown: list[str]
) -> None:
    session = begun()
    session.user(content)
    session.says("m2", "fine")
    sent = [line for line in shape(session.context(tmp_path))[2:] if line.strip() != "U"]
    assert sent == [*shown, "A fine"]


@pytest.mark.parametrize(
    ("version", "sent"),
    [("2.1.330", ["U q / z", "A fine"]), ("2.0.76", ["U q", "U z", "A fine"]), ("1.0.128", ["U q", "U z", "A fine"])],
)
def test_prompts_around_an_answer_without_words_are_joined_by_the_newest_version_only(
    tmp_path: Path, version: str, sent: list[str]
) -> None:
    session = begun(version)
    session.user("q")
    session.says("m2", "  ")
    session.user("z")
    session.says("m3", "fine")
    assert [line.replace("\n", " / ") for line in shape(session.context(tmp_path))[2:]] == sent


@pytest.mark.parametrize(("version", "is_filled"), [("2.1.330", True), ("2.0.76", False), ("1.0.128", False)])
def test_a_note_of_the_system_behind_a_prompt_stands_for_its_answer_before_2_1(
    tmp_path: Path, version: str, *, is_filled: bool
) -> None:
    session = begun(version)
    session.user("q")
    session.add("system", subtype="informational", content="i", level="info")
    filler = ["A No response requested."] if is_filled else []
    assert shape(session.context(tmp_path))[2:] == ["U q", *filler]


def test_a_result_without_its_call_becomes_no_content(tmp_path: Path) -> None:
    session = begun()
    session.result("lost", "out")
    session.says("m2", "fine")
    assert shape(session.context(tmp_path))[2:] == ["U (no content)", "A fine"]


@OLDER
def test_older_clients_send_a_result_without_its_call(tmp_path: Path, version: str) -> None:
    session = begun(version)
    session.result("lost", "out")
    session.says("m2", "fine")
    assert shape(session.context(tmp_path))[2:] == ["U=lost", "A fine"]


def test_a_lost_record_is_bridged_when_the_one_before_is_near_in_time(tmp_path: Path) -> None:
    session = begun()
    session.user("after the hole", parent="lost", timestamp="2026-03-02T09:02:05.000Z")
    session.says("m2", "fine")
    assert shape(session.context(tmp_path))[0] == "U first"
    session = begun()
    session.user("after the hole", parent="lost", timestamp="2026-03-02T09:02:05.001Z")
    session.says("m2", "fine")
    assert shape(session.context(tmp_path)) == ["U after the hole", "A fine"]


def test_circles_and_repeated_ids_end(tmp_path: Path) -> None:
    session = Session()
    session.user("first", parent="u2")
    session.says("m1", "one", parent="u1")
    assert shape(session.context(tmp_path)) == ["U first", "A one"]
    session.user("changed", parent=None, uuid="u1")
    assert shape(session.context(tmp_path)) == ["U changed", "A No response requested."]


def test_what_the_model_never_saw_is_left_out(tmp_path: Path) -> None:
    session = begun()
    session.user("go")
    error = {"id": "e", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}
    session.add("assistant", message=error, isApiErrorMessage=True)
    session.add("system", subtype="informational", content="note")
    session.add("progress", data={"type": "bash_progress"})
    session.add(
        "attachment", attachment={"type": "date"}, rendered=[{"content": "<system-reminder>x</system-reminder>"}]
    )
    session.user("again")
    session.says("m2", {"type": "thinking", "thinking": "only"})
    session.says("m3", "fine")
    assert shape(session.context(tmp_path))[2:] == ["U go\nagain", "A fine"]


@pytest.mark.parametrize(("version", "is_sent"), [("1.0.128", True), ("2.0.76", False), ("2.1.330", False)])
def test_only_version_1_sends_what_it_showed_of_an_api_error(tmp_path: Path, version: str, *, is_sent: bool) -> None:
    session = Session(version)
    session.user("go")
    error = {"id": "e", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}
    session.add("assistant", message=error, isApiErrorMessage=True)
    session.user("again")
    session.says("m2", "fine")
    wanted = ["U go", "A API Error", "U again"] if is_sent else ["U go\nagain"]
    assert shape(session.context(tmp_path)) == [*wanted, "A fine"]


def test_output_of_local_commands_is_sent_and_needs_no_answer(tmp_path: Path) -> None:
    session = begun()
    session.user("<local-command-caveat>note</local-command-caveat>", isMeta=True)
    session.user("<command-name>/model</command-name>")
    session.user("<local-command-stdout>set</local-command-stdout>")
    texts = shape(session.context(tmp_path))
    assert texts[-1].startswith("U <local-command-caveat>")
    assert texts[-1].endswith("<local-command-stdout>set</local-command-stdout>")


def test_notes_about_background_tasks_are_reminders(tmp_path: Path) -> None:
    session = begun()
    session.user("<task-notification>x</task-notification>", origin={"kind": "task-notification"})
    session.says("m2", "noted")
    assert shape(session.context(tmp_path)) == ["U first", "A one", "A noted"]


def test_sub_agents_are_contexts_of_their_own(tmp_path: Path) -> None:
    session = begun("2.0.76")
    session.sidechain = True
    session.user("count the files", parent=None)
    session.says("ms", "two")
    assert shape(session.context(tmp_path)) == ["U first", "A one"]
    alone = Session("2.0.76", sidechain=True)
    alone.user("count the files")
    alone.says("ms", "two")
    assert shape(alone.context(tmp_path)) == ["U count the files", "A two"]


def test_pieces_are_joined_over_results_since_2_0(tmp_path: Path) -> None:
    for version, expected in (("2.0.76", ["A+a+b", "U=a=b"]), ("1.0.128", ["A+a", "U=a", "A+b", "U=b"])):
        session = begun(version)
        session.user("go")
        session.says("m2", call("a"))
        session.result("a", "1")
        session.says("m2", call("b"))
        session.result("b", "2")
        session.says("m3", "fine")
        assert shape(session.context(tmp_path))[3:] == [*expected, "A fine"]


@pytest.mark.parametrize(
    ("version", "error", "sent"),
    [("2.1.330", True, "one\n\ntwo"), ("2.1.330", False, "one\n[image]\ntwo"), ("2.0.76", True, "one\n[image]\ntwo")],
)
def test_a_failed_call_is_answered_by_words_alone(tmp_path: Path, version: str, sent: str, *, error: bool) -> None:
    session = begun(version)
    session.user("go")
    session.says("m2", call("t1"))
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    session.result("t1", [{"type": "text", "text": "one"}, picture, {"type": "text", "text": "two"}], error=error)
    session.says("m3", "done")
    assert session.context(tmp_path)[-2]["results"] == [{"id": "t1", "text": sent}]


@pytest.mark.parametrize(("version", "name"), [("2.1.330", "Agent"), ("2.0.76", "Task")])
def test_a_call_is_sent_under_the_present_name_of_its_tool(tmp_path: Path, version: str, name: str) -> None:
    session = begun(version)
    session.user("go")
    session.says("m2", call("t1", "Task"))
    session.result("t1", "out")
    session.says("m3", "done")
    calls = [c for m in CLAUDE.context(session.read(tmp_path)) for c in m.calls]
    assert [c.name for c in calls] == [name]
