"""What Codex would send: rollbacks, compactions, forks by reference, repairs of damaged files."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats.codex.dialect import CODEX, History
from slowwave.formats.codex.records import SUMMARY_PREFIX, middle_cut, tokens_of
from tests.unit.formats.codex_files import (
    ENVIRONMENT,
    THREAD,
    Line,
    call,
    compacted,
    compressed,
    context,
    event,
    item,
    line,
    message,
    meta,
    output,
    read,
    rollout,
    said,
    spoken,
    turn,
)

PARENT = "01a1ffe2-0000-7cb3-ab90-7e7c940d626d"
GRAND = "01a1ffe2-1111-7cb3-ab90-7e7c940d626d"


def test_developer_messages_are_left_to_the_client(tmp_path: Path) -> None:
    path = rollout(tmp_path, meta(), said("developer", "rules"), said("user", ENVIRONMENT), said("user", "hi"))
    assert spoken(path) == [f"u:{ENVIRONMENT}", "u:hi"]


def test_results_stand_as_they_are(tmp_path: Path) -> None:
    path = rollout(tmp_path, meta(), call(), output())
    assert context(path) == [
        {"role": "assistant", "calls": [{"id": "c1", "name": "exec_command", "args": '{"cmd": "ls"}'}]},
        {"role": "tool", "results": [{"id": "c1", "text": "a.txt\n"}]},
    ]


@pytest.mark.parametrize(
    "opening",
    [
        call(),
        item("custom_tool_call", name="p", input="x", call_id="c1"),
        item("local_shell_call", status="completed", action={"type": "exec", "command": ["ls"]}, call_id="c1"),
    ],
)
def test_a_call_without_output_was_aborted(tmp_path: Path, opening: Line) -> None:
    sent = context(rollout(tmp_path, meta(), opening, said("assistant", "gone on")))
    assert sent[-2:] == [
        {"role": "tool", "results": [{"id": "c1", "text": "aborted"}]},
        {"role": "assistant", "text": "gone on"},
    ]


@pytest.mark.parametrize(
    "orphan",
    [output(), item("custom_tool_call_output", call_id="c1", output="x")],
)
def test_an_output_without_its_call_is_dropped(tmp_path: Path, orphan: Line) -> None:
    other = item("tool_search_call", call_id="c1", execution="client", arguments={})
    sent = context(rollout(tmp_path, meta(), other, orphan, said("user", "hi")))
    assert sent == [{"role": "tool", "results": [{"id": "c1", "text": ""}]}, {"role": "user", "text": "hi"}]


def test_unknown_items_and_snapshots_are_not_sent_and_doubles_are(tmp_path: Path) -> None:
    snapshot, riddle = item("ghost_snapshot"), item("riddle")
    path = rollout(tmp_path, meta(), snapshot, riddle, said("user", "hi"), said("user", "hi"))
    assert len(CODEX.context(read(path))) == 2


def test_rollbacks_take_turns_back_with_the_context_before_them(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        meta(),
        said("user", ENVIRONMENT),
        *turn("one", "1"),
        event("task_started", turn_id="t2"),
        said("developer", "note"),
        said("user", "<turn_aborted>x</turn_aborted>"),
        said("user", "two"),
        said("assistant", "2"),
        event("thread_rolled_back", num_turns=1),
        *turn("three", "3"),
    )
    assert spoken(path) == [f"u:{ENVIRONMENT}", "u:one", "a:1", "u:three", "a:3"]


@pytest.mark.parametrize(("turns", "left"), [(0, 4), (1, 2), (2, 0), (99, 0)])
def test_a_rollback_of_more_turns_than_there_are_leaves_what_stood_before(
    tmp_path: Path, turns: int, left: int
) -> None:
    rows = [*turn("one", "1"), *turn("two", "2"), event("thread_rolled_back", num_turns=turns)]
    assert len(spoken(rollout(tmp_path, meta(), said("user", ENVIRONMENT), *rows))) == left + 1


def test_many_rollbacks_are_fast() -> None:
    history = History[Any]()
    for _ in range(200_000):
        history.roll_back(1)
    assert history.messages == []


def test_the_newest_replacement_is_the_base(tmp_path: Path) -> None:
    old = compacted("s1", message("user", "one"), message("user", f"{SUMMARY_PREFIX}\ns1"))
    new = compacted("s2", message("user", "two"), message("user", f"{SUMMARY_PREFIX}\ns2"))
    path = rollout(tmp_path, meta(), *turn("one", "1"), old, *turn("two", "2"), new, *turn("three", "3"))
    assert spoken(path) == ["u:two", f"u:{SUMMARY_PREFIX}\ns2", "u:three", "a:3"]
    assert [m.origin for m in CODEX.context(read(path))] == ["typed", "summary", "typed", "model"]


def test_a_replacement_in_a_turn_that_was_taken_back_does_not_count(tmp_path: Path) -> None:
    old = compacted("s1", message("user", f"{SUMMARY_PREFIX}\ns1"))
    new = compacted("s2", message("user", f"{SUMMARY_PREFIX}\ns2"))
    rows = [*turn("one", "1"), old, *turn("two", "2"), *turn("three", "3"), new]
    path = rollout(tmp_path, meta(), *rows, event("thread_rolled_back", num_turns=1))
    assert spoken(path) == [f"u:{SUMMARY_PREFIX}\ns1", "u:two", "a:2"]


def test_a_compaction_without_replacement_keeps_what_the_user_said(tmp_path: Path) -> None:
    rows = [said("user", ENVIRONMENT), *turn("one", "1"), call(), output(), *turn("two", "2"), *turn("three", "3")]
    path = rollout(tmp_path, meta(), *rows, compacted("We did it"))
    assert spoken(path) == ["u:one", "u:two", "u:three", "u:We did it"]
    rollout(tmp_path, meta(), *rows, compacted(f"{SUMMARY_PREFIX}\nfirst"), *turn("four", "4"), compacted("last"))
    assert spoken(path) == ["u:one", "u:two", "u:three", "u:four", "u:last"]


def test_a_compaction_without_replacement_and_without_words_says_so(tmp_path: Path) -> None:
    assert spoken(rollout(tmp_path, meta(), *turn("one", "1"), compacted(""))) == ["u:one", "u:(no summary available)"]


def test_the_oldest_prompt_that_does_not_fit_loses_its_middle(tmp_path: Path) -> None:
    rows = [*turn("gone", "0"), *turn("x" * 60_000, "1"), *turn("y" * 40_000, "2")]
    first, second, third = spoken(rollout(tmp_path, meta(), *rows, compacted("s")))
    assert first == "u:" + "x" * 20_000 + "…5000 tokens truncated…" + "x" * 20_000
    assert (second, third) == ("u:" + "y" * 40_000, "u:s")


def test_tokens_are_quarters_of_bytes() -> None:
    assert [tokens_of(t) for t in ("", "a", "abcd", "abcde", "ö" * 3)] == [0, 1, 1, 2, 2]
    assert middle_cut("öööö", 1) == "ö…1 tokens truncated…ö"
    assert middle_cut("abcd", 1) == "abcd"


def fork(folder: Path, parent: Path, lines: int, *rows: Line, thread: str = THREAD, of: str = PARENT) -> Path:
    """Fork behind the first ``lines`` lines of ``parent``."""
    end = sum(len(row) for row in parent.read_bytes().splitlines(keepends=True)[:lines])
    base = {"thread_id": of, "end_ordinal_exclusive": lines, "end_byte_offset": end}
    return rollout(folder, meta(thread, forked_from_id=of, history_base=base), *rows, thread=thread)


def parent_of(folder: Path, **beside: Any) -> Path:
    rows = [meta(PARENT), said("user", "one"), said("assistant", "1"), said("user", "two"), said("assistant", "2")]
    return rollout(folder, *({**row, "ordinal": n, **beside} for n, row in enumerate(rows)), thread=PARENT)


@pytest.mark.parametrize("place", ["", "sessions/2026/11/20", "archived_sessions"])
def test_a_fork_by_reference_begins_with_its_parent_s_turns(tmp_path: Path, place: str) -> None:
    own = tmp_path / "sessions" / "2026" / "11" / "21"
    parent = parent_of(tmp_path / place if place else own)
    path = fork(own, parent, 3, said("user", "other"))
    assert spoken(path) == ["u:one", "a:1", "u:other"]
    transcript = read(path)
    assert [m.text for m in transcript.messages] == ["other"]
    assert (transcript.kind, transcript.problems) == ("fork", [])
    assert CODEX.context(transcript)[0].sources[0].part == 1


def test_a_fork_of_a_fork_follows_the_line(tmp_path: Path) -> None:
    middle = fork(tmp_path, parent_of(tmp_path), 3, said("user", "m"), said("assistant", "n"), thread=GRAND)
    path = fork(tmp_path, middle, 2, said("user", "other"), of=GRAND)
    assert spoken(path) == ["u:one", "a:1", "u:m", "u:other"]


def test_a_parent_that_grew_or_shrank_is_cut_as_the_client_cuts_it(tmp_path: Path) -> None:
    parent = parent_of(tmp_path)
    path = fork(tmp_path, parent, 3, said("user", "other"))
    parent.write_bytes(parent.read_bytes().replace(b'"one"', b'"one and more"'))
    assert spoken(path) == ["u:one and more", "u:other"]
    # So much shorter that a line from behind the fork lies before its offset: then the ordinals tell.
    small = [{**said("user", "o"), "ordinal": n} for n in range(5)]
    rollout(tmp_path, *small, thread=PARENT)
    assert spoken(path) == ["u:o", "u:o", "u:o", "u:other"]


def test_a_missing_parent_is_reported(tmp_path: Path) -> None:
    parent = parent_of(tmp_path)
    path = fork(tmp_path, parent, 3, said("user", "other"))
    parent.unlink()
    assert spoken(path) == ["u:other"]
    assert [p.kind for p in read(path).problems] == ["gap"]


@pytest.mark.parametrize("thread", ["../../x", "", "*", THREAD, "a/b"])
def test_no_reference_leads_out_or_round_in_circles(tmp_path: Path, thread: str) -> None:
    base = {"thread_id": thread, "end_byte_offset": 10_000}
    path = rollout(tmp_path, meta(history_base=base), said("user", "hi"))
    assert spoken(path)[-1] == "u:hi"
    assert [p.kind for p in read(path).problems] == ["gap"]


@pytest.mark.parametrize("place", ["sessions/2025/01/02", "archived_sessions"])
def test_a_parent_is_read_plain_and_else_compressed_wherever_it_lies(tmp_path: Path, place: str) -> None:
    path = fork(tmp_path / "sessions/2026/11/21", parent := parent_of(tmp_path / place), 3, said("user", "other"))
    compressed(parent)
    assert spoken(path) == ["u:one", "a:1", "u:other"]
    parent.with_name(parent.name + ".zst").write_bytes(b"\x28\xb5\x2f\xfd")
    assert spoken(path) == ["u:one", "a:1", "u:other"]
    parent.unlink()
    assert [p.kind for p in read(path).problems] == ["torn"]
    parent_of(tmp_path / place)
    compressed(parent).with_suffix("").unlink()
    assert (spoken(path), read(path).problems) == (["u:one", "a:1", "u:other"], [])


def test_a_reused_ordinal_does_not_move_the_place_of_a_fork(tmp_path: Path) -> None:
    parent = parent_of(tmp_path)
    path = fork(tmp_path, parent, 3, said("user", "other"))
    with parent.open("ab") as file:
        file.write(json.dumps({**said("user", "two again"), "ordinal": 2}).encode() + b"\n")
    assert spoken(path) == ["u:one", "a:1", "u:other"]


def conversation() -> list[Line]:
    rows = [meta(), said("user", ENVIRONMENT), *turn("one", "1"), said("user", "two"), call(), output()]
    rows += [said("assistant", "2"), line("token_usage_record", {})]
    return [{**row, "ordinal": n} for n, row in enumerate(rows)]


WHOLE = [f"u:{ENVIRONMENT}", "u:one", "a:1", "u:two", "a:", "t:", "a:2"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("unmodified", WHOLE),
        ("last line cut in half", WHOLE),
        ("last message cut in half", WHOLE[:-1]),
        ("no newline at the end", WHOLE),
        ("garbage line", WHOLE),
        ("NUL line", WHOLE),
        ("unknown types", WHOLE),
        ("call removed", [*WHOLE[:4], "a:2"]),
        ("result removed", WHOLE),
        ("duplicate", [*WHOLE, "a:2"]),
        ("blank lines and CRLF", WHOLE),
        ("BOM", WHOLE),
        ("without ordinals", WHOLE),
        ("without events", WHOLE),
        ("header gone", WHOLE),
    ],
)
def test_damage_costs_what_it_costs_the_client(tmp_path: Path, name: str, expected: list[str]) -> None:
    path = rollout(tmp_path, *conversation())
    rows = path.read_bytes().splitlines()
    (said_two,) = (i for i, row in enumerate(rows) if b'"text": "2"' in row)
    damaged = {
        "last line cut in half": [*rows[:-1], rows[-1][:40]],
        "last message cut in half": [*rows[:said_two], rows[said_two][:90]],
        "no newline at the end": rows,
        "garbage line": [*rows[:3], b"{garbage", *rows[3:], b""],
        "NUL line": [*rows[:3], bytes(50), *rows[3:], b""],
        "unknown types": [*rows, b'{"type": "novelty"}', b'{"type": "response_item", "payload": {"type": "x"}}'],
        "call removed": [row for row in rows if b'"function_call"' not in row],
        "result removed": [row for row in rows if b"function_call_output" not in row],
        "duplicate": [*rows, rows[said_two]],
        "blank lines and CRLF": [part for row in rows for part in (row + b"\r", b"\r")],
        "BOM": [b"\xef\xbb\xbf" + rows[0], *rows[1:]],
        "without ordinals": [row.partition(b', "ordinal"')[0] + b"}" for row in rows],
        "without events": [row for row in rows if b"event_msg" not in row],
        "header gone": rows[1:],
    }
    path.write_bytes(b"\n".join(damaged.get(name, [*rows, b""])))
    assert spoken(path) == expected
