"""``slowwave sessions show --tree``: sub-agents, forks and origins of every client, wherever its store keeps them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from tests.unit.formats import codex_files
from tests.unit.stores.families import FAMILIES, Family, claude, codex, named, openclaw, opencode_rows, pi

Capture = pytest.CaptureFixture[str]


def shown(capsys: Capture, family: Family, session: str = "") -> dict[str, Any]:
    arguments = ["sessions", "show", "--tree", "--json", "--store", str(family.root), session or family.main]
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


def drawn(capsys: Capture, family: Family, session: str = "") -> list[str]:
    assert main(["sessions", "show", "--tree", "--store", str(family.root), session or family.main]) == 0
    return [line.partition(" 2026")[0] for line in capsys.readouterr().out.splitlines()[2:]]


@pytest.mark.parametrize("build", FAMILIES)
def test_all_sub_agents_and_forks_of_a_session_are_shown(
    tmp_path: Path, capsys: Capture, build: Callable[[Path], Family]
) -> None:
    family = build(tmp_path)
    tree = shown(capsys, family)
    of_main = {name: kind for name, (kind, parent) in family.known.items() if parent == family.main}
    assert {a["session"] for a in tree["agents"]} == {name for name, kind in of_main.items() if kind == "subagent"}
    forks = {f["session"]: f["relation"] for f in tree["forks"]}
    assert forks == {name: "fork" for name, kind in of_main.items() if kind == "fork"}


@pytest.mark.parametrize("build", FAMILIES)
def test_a_sub_agent_and_a_fork_show_where_they_come_from(
    tmp_path: Path, capsys: Capture, build: Callable[[Path], Family]
) -> None:
    family = build(tmp_path)
    for name, (kind, parent) in family.known.items():
        if parent:
            tree = shown(capsys, family, name)
            relations = {fork["session"]: fork["relation"] for fork in tree["forks"]}
            assert relations.pop(parent) == ("sub-agent of" if kind == "subagent" else "forked from")
            assert set(relations.values()) <= {"shares history"}
            assert tree["agents"] == []


def test_children_of_other_days_stand_under_the_message_that_they_left(tmp_path: Path, capsys: Capture) -> None:
    family = codex(tmp_path)
    days = family.path.parents[1]
    path = codex_files.rollout(
        family.path.parent,
        codex_files.meta(family.main),
        *codex_files.turn("mend it", "done"),
        *codex_files.turn("and more", "so"),
        thread=family.main,
    )
    copied = [codex_files.meta(named(4), forked_from_id=family.main), *codex_files.turn("mend it", "done")]
    codex_files.rollout(days / "22", *copied, *codex_files.turn("other", "well"), thread=named(4))
    # the fork by reference ends where the first turn did
    first = b"".join(path.read_bytes().splitlines(keepends=True)[:4])
    base = {"thread_id": family.main, "end_byte_offset": len(first)}
    lines = [codex_files.meta(named(5), history_base=base), *codex_files.turn("third", "well")]
    codex_files.rollout(days / "22", *lines, thread=named(5))
    agents = [line for line in drawn(capsys, family) if line.startswith("├─◇")]
    assert agents == [f"├─◇ sub-agent {named(n)}: and this (2 messages)" for n in (2, 3)]
    forks = {fork["session"]: fork["at"] for fork in shown(capsys, family)["forks"]}
    assert forks == {named(4): 1, named(5): 1}
    texts = [message["text"] for message in shown(capsys, family)["messages"]]
    assert texts[1] == "done"


def test_sessions_of_one_database_are_told_by_their_ids(tmp_path: Path, capsys: Capture) -> None:
    assert "├─◇ sub-agent ses_child: look at it (2 messages)" in drawn(capsys, opencode_rows(tmp_path))
    family = openclaw(tmp_path)
    lines = drawn(capsys, family)
    assert f"├─◇ sub-agent {named(2)}: mend it (2 messages)" in lines
    assert lines.index(f"├─⑂ fork: {named(3)}") == lines.index("● assistant") + 1


def test_a_file_in_a_folder_of_sub_agents_is_known_for_its_session(tmp_path: Path, capsys: Capture) -> None:
    family = claude(tmp_path)
    path = family.path.parent / family.main / "subagents" / "agent-a1.jsonl"
    assert main(["sessions", "show", "--tree", str(path)]) == 0
    assert f"├─⑂ sub-agent of: {family.main}" in capsys.readouterr().out


def test_a_fork_that_cannot_be_read_is_reported(tmp_path: Path, capsys: Capture) -> None:
    family = pi(tmp_path)
    assert shown(capsys, family)["forks"]
    fork = next(path for path in family.path.parent.iterdir() if path != family.path)
    fork.unlink()
    fork.symlink_to(tmp_path / "gone")
    assert main(["sessions", "show", "--tree", str(family.path)]) == 0
    captured = capsys.readouterr()
    assert "⑂" not in captured.out
    assert fork.name in captured.err


def test_a_file_of_no_store_has_only_what_lies_beside_it(tmp_path: Path, capsys: Capture) -> None:
    codex_files.rollout(tmp_path / "a", codex_files.meta(named(1)), *codex_files.turn("one", "ok"), thread=named(1))
    fork = [codex_files.meta(named(2), forked_from_id=named(1)), *codex_files.turn("one", "ok")]
    path = codex_files.rollout(tmp_path / "a", *fork, thread=named(2))
    codex_files.rollout(tmp_path / "b", *fork, thread=named(3))
    assert main(["sessions", "show", "--tree", "--json", str(path)]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert [(f["session"], f["relation"]) for f in tree["forks"]] == [(named(1), "forked from")]
