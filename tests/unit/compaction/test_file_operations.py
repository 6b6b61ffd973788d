"""Which files were read and which changed: every client's tools, carried on, a changed file in one list only."""

import pytest

from slowwave.compaction.files import NO_FILES, FileOperations, of_calls, of_details, of_tags, without_tags
from slowwave.formats import ToolCall

PATCH = "*** Begin Patch\n*** Update File: a b.py\n*** Move to: c.py\n@@\n+x\n*** Add File: d.py\n*** End Patch"


def lists(*calls: ToolCall) -> tuple[list[str], list[str]]:
    found = of_calls(calls)
    return found.read_files, found.modified_files


@pytest.mark.parametrize("name", ["read", "Read", "read_file", "NotebookRead"])
@pytest.mark.parametrize("key", ["path", "file_path", "filePath"])
def test_reading_tools_of_every_client(name: str, key: str) -> None:
    assert lists(ToolCall("c", name, {key: "a.py"})) == (["a.py"], [])


@pytest.mark.parametrize("name", ["write", "edit", "Edit", "MultiEdit", "write_file"])
def test_changing_tools_of_every_client(name: str) -> None:
    assert lists(ToolCall("c", name, {"file_path": "a.py"})) == ([], ["a.py"])


@pytest.mark.parametrize("args", [PATCH, {"input": PATCH}, {"patchText": PATCH}])
def test_a_patch_names_every_file(args: object) -> None:
    assert lists(ToolCall("c", "apply_patch", args)) == ([], ["a b.py", "c.py", "d.py"])


@pytest.mark.parametrize("args", [None, "a.py", [], {}, {"path": ""}, {"path": 1}])
def test_calls_without_a_path_name_nothing(args: object) -> None:
    assert lists(ToolCall("c", "read", args), ToolCall("d", "apply_patch", args)) == ([], [])


def test_other_tools_name_nothing() -> None:
    assert lists(ToolCall("c", "ls", {"path": "."}), ToolCall("c", "list_directory", {"path": "."})) == ([], [])


def test_a_file_in_both_is_changed_only_and_lists_are_sorted_as_javascript_sorts() -> None:
    files = FileOperations(frozenset({"b", "a", "\uffff", "\N{GRINNING FACE}"}), frozenset({"b"}))
    assert (files.read_files, files.modified_files) == (["a", "\N{GRINNING FACE}", "\uffff"], ["b"])


def test_a_file_that_was_changed_once_stays_changed() -> None:
    before = of_details({"readFiles": ["a"], "modifiedFiles": ["b"]})
    after = before | of_calls([ToolCall("1", "read", {"path": "b"}), ToolCall("2", "edit", {"path": "a"})])
    assert (after.read_files, after.modified_files) == ([], ["a", "b"])


@pytest.mark.parametrize("details", [None, [], {"readFiles": "a"}, {"readFiles": [1, None]}])
def test_details_that_are_none_are_none(details: object) -> None:
    assert of_details(details) == NO_FILES


def test_lists_at_the_end_of_a_summary_are_read_back_and_taken_off() -> None:
    files = FileOperations(frozenset({"a", "b b"}), frozenset({"c"}))
    whole = "## Goal\nX" + files.tags()
    assert (of_tags(whole), without_tags(whole)) == (files, "## Goal\nX")
    assert without_tags("no lists ") == "no lists "
    assert NO_FILES.tags() == ""
    assert without_tags("a</read-files>") == "a</read-files>"
