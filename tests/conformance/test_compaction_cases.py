"""Every known way in which a client's compaction fails, and the tests that hold slowwave to do better.

The numbers are those of the reference of formats: its measured defects of pi 0.58.3 (``pi``) and its list of weaknesses
of all clients (``any``), the rows of both that a compaction could repeat. A test that is renamed or goes away breaks
its row here, so no case loses its test unseen.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DEFECTS = "conformance/test_compaction_defects.py"
TEXTS = "conformance/test_pi_compaction_text.py"
FLUSHES = "conformance/test_clawdbot_memory_flush.py"
WILD = "properties/test_compaction_wild.py::test_whatever_was_said_is_kept_or_covered"

CASES: dict[str, tuple[str, ...]] = {
    "pi 1: the next record is glued to a torn end": (
        f"{DEFECTS}::test_a_torn_end_costs_neither_the_summary_nor_a_message",
        "unit/compaction/job/test_undoing.py::test_a_torn_end_is_torn_again",
    ),
    "pi 2: a second compaction forgets what the first one kept": (
        "conformance/test_pi_compaction.py::test_a_second_compaction_on_disk_loses_neither_messages_nor_files_as_pi_does",
        "unit/compaction/test_plan.py::test_a_second_compaction_begins_at_what_the_first_one_kept",
        "properties/test_compaction_properties.py::test_no_message_is_lost_over_any_number_of_compactions",
        WILD,
    ),
    "pi 2: a split turn without history drops the summary before it": (
        f"{DEFECTS}::test_a_second_compaction_within_one_turn_carries_the_first_summary_on",
        f"{TEXTS}::test_a_split_turn_without_history_says_so_but_never_drops_an_earlier_summary_as_pi_does",
    ),
    "pi 3: a giant result at the end, and nothing is compacted": (
        f"{DEFECTS}::test_a_giant_result_at_the_end_does_not_keep_the_session_from_being_compacted",
        "unit/compaction/test_cuts.py::test_a_giant_result_at_the_end_still_gives_a_cut",
    ),
    "pi 4: a change of the model takes the turn before for a split one": (
        f"{DEFECTS}::test_a_change_of_the_model_before_a_prompt_splits_no_turn",
        "unit/compaction/test_cuts.py::test_a_setting_before_a_persons_message_stays_with_it_and_splits_no_turn",
    ),
    "pi 5: of two writers the second one's branch wins": (
        f"{DEFECTS}::test_of_two_branches_the_one_that_the_client_goes_on_from_is_compacted",
        "faults/test_compact_races.py::test_what_a_client_says_meanwhile_stays_and_is_heard",
    ),
    "pi 7: a file that is no session is overwritten": (f"{DEFECTS}::test_a_file_that_is_no_session_keeps_its_bytes",),
    "pi 10: parents in a circle are followed for ever": (f"{DEFECTS}::test_parents_in_a_circle_end",),
    "any 1: a record is written in two pieces": (
        "faults/test_compact_kill.py::test_a_killed_compaction_is_noted_by_the_next_run_or_done_by_it",
        "faults/test_compact_races.py::test_a_disk_that_refuses_at_any_moment_costs_nothing_and_is_told",
    ),
    "any 2: a record behind a torn end is lost": (
        f"{DEFECTS}::test_a_torn_end_costs_neither_the_summary_nor_a_message",
    ),
    "any 7: only text is counted": (
        "unit/compaction/test_estimates.py::test_counts_every_block",
        "conformance/test_cersei_compact.py::test_estimate_counts_calls_and_results_which_are_nothing_to_cersei",
    ),
    "any 7: a result without its call behind the cut": (
        "conformance/test_cersei_compact.py::test_snip_and_keep_index_part_no_call_from_its_result_as_cersei_does",
        "properties/test_compaction_properties.py::test_a_cut_parts_no_call_and_begins_with_no_result",
        WILD,
    ),
    "any 7: a failure costs the context without a word": (
        "unit/compaction/job/test_story.py::test_three_failures_in_a_row_stop_it_until_the_content_changes",
        "faults/test_compact_model.py::test_a_broken_model_costs_the_narrative_and_nothing_else",
    ),
    "any 10: a character is cut in two": (
        "unit/compaction/test_estimates.py::test_cuts_at_units_and_halves_no_character",
        f"{TEXTS}::test_counts_and_cuts_as_javascript_does_but_halves_no_character",
    ),
    "any 15: what was said before a compaction is not on disk yet": (
        "unit/compaction/job/test_story.py::test_a_session_that_somebody_works_in_is_left_alone",
        "faults/test_compact_races.py::test_a_session_that_somebody_opens_meanwhile_is_left",
    ),
    "any 17: what a compaction covers is deleted": (
        f"{DEFECTS}::test_what_a_compaction_hides_stays_in_the_file",
        "unit/compaction/job/test_story.py::test_what_was_summarised_can_be_read_back_by_its_bytes",
    ),
    "any 18: a file without its header is overwritten": (f"{DEFECTS}::test_a_file_that_is_no_session_keeps_its_bytes",),
    "any 19: kept messages are dropped, the summary before is lost": (
        f"{DEFECTS}::test_a_second_compaction_within_one_turn_carries_the_first_summary_on",
        WILD,
    ),
    "any 20: no cut, or one that a setting moved": (
        f"{DEFECTS}::test_a_giant_result_at_the_end_does_not_keep_the_session_from_being_compacted",
        f"{DEFECTS}::test_a_change_of_the_model_before_a_prompt_splits_no_turn",
    ),
    "any 25: the leaf of a stale writer, parents in a circle": (
        f"{DEFECTS}::test_of_two_branches_the_one_that_the_client_goes_on_from_is_compacted",
        f"{DEFECTS}::test_parents_in_a_circle_end",
    ),
    "any 29: two writers at once": (
        "faults/test_compact_races.py::test_of_two_runs_at_once_one_compacts_and_it_can_be_taken_back",
        "faults/test_compact_races.py::test_what_a_client_says_meanwhile_stays_and_is_heard",
    ),
    "any 30: history goes though the summary failed": (
        "unit/compaction/job/test_story.py::test_three_failures_in_a_row_stop_it_until_the_content_changes",
        "unit/compaction/job/test_story.py::test_what_does_not_come_out_as_planned_is_taken_away_again",
        "faults/test_compact_model.py::test_a_run_that_is_killed_while_the_model_thinks_leaves_the_session_as_it_was",
    ),
    "any 31: the size of the turn before decides": (
        f"{FLUSHES}::test_a_huge_turn_that_is_not_counted_yet_does_not_jump_over_the_threshold_as_in_clawdbot",
    ),
    "any 31: memories that fail are tried before every message": (
        f"{DEFECTS}::test_nothing_is_summarised_whose_memories_could_not_be_saved_and_it_is_not_tried_for_ever",
    ),
    "any 32: messages and results are lost on the way": (
        "faults/test_compact_races.py::test_what_a_client_says_meanwhile_stays_and_is_heard",
        "unit/compaction/job/test_story.py::test_a_session_that_moves_between_plan_and_append_is_left_as_it_moved",
        WILD,
    ),
    "any 33: a torn end and the numbers of records": (
        f"{DEFECTS}::test_numbers_of_codex_go_on_behind_a_torn_line",
        "unit/stores/writing/test_codex.py::test_a_number_is_never_given_twice_behind_a_torn_line",
    ),
}


@cache
def names_in(module: str) -> frozenset[str]:
    tree = ast.parse((TESTS / module).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_case_is_held_by_tests_that_exist(case: str) -> None:
    assert CASES[case]
    for test in CASES[case]:
        module, _, name = test.partition("::")
        assert name in names_in(module), test
