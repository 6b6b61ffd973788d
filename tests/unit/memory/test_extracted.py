"""``extracted.md``: Cersei's form to the byte, other people's lines untouched, and repaired after a kill."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave import files
from slowwave.memory import Candidate, ExtractedRange, SessionRef
from slowwave.memory.candidates import (
    Batch,
    add_lines,
    append_candidates,
    candidate_line,
    candidates_path,
    extracted_path,
    fact_line,
    reconcile,
    remove_lines,
    write_extraction,
)

AT = datetime(2026, 11, 3, 3, 30, tzinfo=UTC)
SESSION = SessionRef("claude", "s1", "/store/s1.jsonl")
RANGE = ExtractedRange(SESSION, 0, 90, "ab" * 32, "offline/1", "2026-11-03T03:30:00Z")
A, B, C = (fact_line("pattern", word, 0.9) for word in ("alpha", "beta", "gamma"))


def candidate(name: str) -> Candidate:
    return Candidate(name, "preference", f"use {name}", 0.9, "user_explicit", "offline/1:x", SESSION, ())


def test_a_new_file_has_the_section_the_day_and_the_facts():
    assert add_lines("", [fact_line("preference", "Use pnpm", 0.9)], "2026-11-03") == (
        "## Auto-extracted memories\n\n### Session memories — 2026-11-03\n"
        "- **[preference]** Use pnpm *(confidence: 90%)*\n"
    )


def test_the_newest_day_stands_first_and_the_newest_batch_right_under_its_day():
    text = add_lines("", [A], "2026-11-03")
    text = add_lines(text, [B], "2026-11-03")
    text = add_lines(text, [C], "2026-11-04")
    kept = [line for line in text.split("\n") if line.startswith(("-", "###"))]
    assert kept == ["### Session memories — 2026-11-04", C, "### Session memories — 2026-11-03", B, A]


def test_lines_around_stay_as_they_are():
    text = "# Mine\r\nkeep me\n\n## Auto-extracted memories\n\nnote\n\n## After\n- **[pattern]** other\n"
    changed = add_lines(text, [A], "2026-11-03")
    assert changed == text.replace("memories\n", f"memories\n\n### Session memories — 2026-11-03\n{A}\n", 1)


def test_a_day_header_in_another_section_is_not_used():
    text = "## Auto-extracted memories\n\n## Other\n### Session memories — 2026-11-03\n- mine\n"
    changed = add_lines(text, [A], "2026-11-03")
    assert changed.index(A) < changed.index("## Other")
    assert changed.endswith("## Other\n### Session memories — 2026-11-03\n- mine\n")


def test_the_same_fact_is_not_shown_twice_on_a_day():
    text = add_lines("", [A, A], "2026-11-03")
    assert text.count(A) == 1
    assert add_lines(text, [A], "2026-11-03") == text


def test_a_file_without_a_final_newline_keeps_its_last_line():
    assert add_lines("last words", [A], "2026-11-03").startswith("last words\n\n## Auto-extracted memories\n")


facts = st.lists(st.sampled_from([A, B, C]), min_size=1, max_size=3, unique=True)


@given(facts, facts, st.sampled_from(["2026-11-03", "2026-11-04"]))
def test_removing_what_was_added_restores_the_text(first: list[str], second: list[str], day: str):
    text = add_lines("# Mine\n\nwords\n", first, "2026-11-03")
    fresh = [f for f in second if f not in first]
    assert remove_lines(add_lines(text, fresh, day), fresh) == text


def test_removing_leaves_equal_lines_outside_of_the_section():
    text = f"{A}\n" + add_lines("", [A], "2026-11-03")
    assert remove_lines(text, [A]) == f"{A}\n## Auto-extracted memories\n"


def test_an_extraction_shows_its_new_candidates(tmp_path: Path):
    write_extraction(tmp_path, [([candidate("pnpm")], [RANGE])], AT)
    assert candidate_line(candidate("pnpm")) in extracted_path(tmp_path).read_text()


def test_an_extraction_that_gave_nothing_makes_no_file(tmp_path: Path):
    write_extraction(tmp_path, [([], [RANGE])], AT)
    assert not extracted_path(tmp_path).exists()


def test_a_kill_between_the_two_writes_is_repaired_to_the_same_bytes(tmp_path: Path):
    write_extraction(tmp_path / "whole", [([candidate("pnpm"), candidate("uv")], [RANGE])], AT)
    append_candidates(tmp_path / "killed", [candidate("pnpm"), candidate("uv")], [RANGE])
    assert reconcile(tmp_path / "killed", ())
    assert extracted_path(tmp_path / "killed").read_bytes() == extracted_path(tmp_path / "whole").read_bytes()


def test_candidates_that_were_dealt_with_are_no_longer_shown(tmp_path: Path):
    write_extraction(tmp_path, [([candidate("pnpm"), candidate("uv")], [RANGE])], AT)
    assert reconcile(tmp_path, {"pnpm"}) == ""
    text = extracted_path(tmp_path).read_text()
    assert candidate_line(candidate("pnpm")) not in text
    assert candidate_line(candidate("uv")) in text


def test_repairing_twice_changes_nothing(tmp_path: Path):
    write_extraction(tmp_path, [([candidate("pnpm")], [RANGE])], AT)
    before = extracted_path(tmp_path).stat().st_mtime_ns
    assert not reconcile(tmp_path, ())
    assert extracted_path(tmp_path).stat().st_mtime_ns == before


def test_lines_that_people_wrote_among_ours_survive_a_repair(tmp_path: Path):
    write_extraction(tmp_path, [([candidate("pnpm")], [RANGE])], AT)
    path = extracted_path(tmp_path)
    path.write_text(path.read_text() + "- **[project]** said by hand\n")
    reconcile(tmp_path, {"pnpm"})
    assert "said by hand" in path.read_text()


def test_sessions_written_together_and_one_by_one_leave_the_same_bytes(tmp_path: Path):
    batches: list[Batch] = [
        ([candidate("pnpm")], [RANGE]),
        ([], [RANGE]),
        ([candidate("uv"), candidate("pnpm")], [RANGE]),
    ]
    write_extraction(tmp_path / "together", batches, AT)
    for batch in batches:
        write_extraction(tmp_path / "single", [batch], AT)
    for path in (extracted_path, candidates_path):
        assert path(tmp_path / "together").read_bytes() == path(tmp_path / "single").read_bytes()


def lines(memory: Path) -> list[str]:
    return [line for line in extracted_path(memory).read_text().splitlines() if line.startswith("- ")]


def weighed(name: str, confidence: float, text: str = "use pnpm") -> Candidate:
    return Candidate(name, "pattern", text, confidence, "command_outcome", "offline/1:x", SESSION, ())


def test_one_fact_has_one_line_the_stronger(tmp_path: Path):
    write_extraction(tmp_path, [([weighed("a", 0.55)], [RANGE])], AT)
    write_extraction(tmp_path, [([weighed("b", 0.75), weighed("c", 0.55)], [RANGE])], AT)
    assert lines(tmp_path) == [fact_line("pattern", "use pnpm", 0.75)]
    assert not reconcile(tmp_path, ())
    reconcile(tmp_path, {"b"})
    assert lines(tmp_path) == [fact_line("pattern", "use pnpm", 0.55)]


def take_out(memory: Path, line: str, instead: str = "") -> None:
    path = extracted_path(memory)
    path.write_text(path.read_text().replace(f"{line}\n", instead))


def test_a_line_that_a_person_took_out_stays_out(tmp_path: Path):
    write_extraction(tmp_path, [([candidate("pnpm"), candidate("uv")], [RANGE])], AT)
    take_out(tmp_path, candidate_line(candidate("pnpm")))
    assert not reconcile(tmp_path, ())
    write_extraction(tmp_path, [([candidate("make")], [RANGE])], AT)
    assert lines(tmp_path) == [candidate_line(candidate("make")), candidate_line(candidate("uv"))]


def test_a_stronger_candidate_does_not_bring_a_removed_line_back(tmp_path: Path):
    write_extraction(tmp_path, [([weighed("a", 0.55), candidate("uv")], [RANGE])], AT)
    take_out(tmp_path, candidate_line(weighed("a", 0.55)))
    write_extraction(tmp_path, [([weighed("b", 0.75)], [RANGE])], AT)
    assert lines(tmp_path) == [candidate_line(candidate("uv"))]


def test_a_line_that_a_person_reworded_stays_as_they_left_it(tmp_path: Path):
    write_extraction(tmp_path, [([candidate("pnpm"), candidate("uv")], [RANGE])], AT)
    take_out(tmp_path, candidate_line(candidate("pnpm")), "- use pnpm, never npm\n")
    reconcile(tmp_path, ())
    assert lines(tmp_path) == ["- use pnpm, never npm", candidate_line(candidate("uv"))]


def test_a_file_that_is_gone_as_a_whole_is_made_again(tmp_path: Path):
    write_extraction(tmp_path, [([candidate("pnpm")], [RANGE])], AT)
    before = extracted_path(tmp_path).read_bytes()
    extracted_path(tmp_path).unlink()
    assert reconcile(tmp_path, ())
    assert extracted_path(tmp_path).read_bytes() == before


def test_a_kill_at_any_write_leaves_no_line_that_seems_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_extraction(tmp_path / "whole", [([candidate("pnpm")], [RANGE])], AT)
    write_extraction(tmp_path / "whole", [([candidate("uv")], [RANGE])], AT)
    for moment in range(1, 12):
        memory = tmp_path / str(moment)
        write_extraction(memory, [([candidate("pnpm")], [RANGE])], AT)
        left = iter(range(moment))

        def stop(_event: str, _path: str, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
            patch.setattr(files, "fault_hook", stop)
            write_extraction(memory, [([candidate("uv")], [RANGE])], AT)
        if "uv" in candidates_path(memory).read_text():
            reconcile(memory, ())
            assert lines(memory) == lines(tmp_path / "whole")


def test_ten_thousand_sessions_of_a_day_are_added_in_one_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    passes: list[str] = []

    def counted(text: str, facts: list[str], day: str) -> str:
        passes.append(day)
        return add_lines(text, facts, day)

    monkeypatch.setattr("slowwave.memory.candidates.add_lines", counted)
    batches: list[Batch] = [([candidate(f"{number:04x}")], [RANGE]) for number in range(100)]
    write_extraction(tmp_path, batches, AT)
    assert passes == ["2026-11-03"]
    shown = [line for line in extracted_path(tmp_path).read_text().splitlines() if line.startswith("- ")]
    assert shown == [candidate_line(c) for (c,), _ in reversed(batches)]
    write_extraction(tmp_path, batches, AT)
    assert passes == ["2026-11-03"]


def test_lines_are_removed_without_looking_through_all_of_them(monkeypatch: pytest.MonkeyPatch):
    facts = [fact_line("pattern", f"word {number}", 0.9) for number in range(300)]
    text = add_lines("# Mine\n", facts, "2026-11-03")
    bared: list[str] = []

    def counted(line: str) -> str:
        bared.append(line)
        return line.rstrip()

    monkeypatch.setattr("slowwave.memory.candidates._bare", counted)
    assert remove_lines(text, facts[1:]) == add_lines("# Mine\n", facts[:1], "2026-11-03")
    assert remove_lines(text, facts) == "# Mine\n\n## Auto-extracted memories\n"
    assert len(bared) < 10 * len(facts)
