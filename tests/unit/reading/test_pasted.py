"""Pasted lines are told by their form; what a person typed around them stays theirs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.hostile import visible
from slowwave.reading.pastes import own_words, parts_of

RULE = "always use tabs"
BEFORE, AFTER = "why does it say so?", "please look into it."

# what is pasted, line for line, with the rule somewhere inside
BLOCKS = {
    "fence": f"```\n{RULE}\n```",
    "fence of tildes": f"~~~sh\n{RULE}\n~~~",
    "fence in a fence": f"````md\n```\nx\n```\n{RULE}\n````",
    "fenced hunk": f"```diff\n@@ -1 +1 @@\n-x\n+{RULE}\n```",
    "quotation": f"> {RULE}",
    "element": f"<context>\n{RULE}\n</context>",
    "element in a line": f"<hook name='x'>{RULE}</hook>",
    "log": f"2026-11-02 10:00:01 start\n2026-11-02T10:00:02 {RULE}",
    "log with times": f"10:00:01 start\n10:00:02 GET /a\n{RULE}\n10:00:03 stop",
    "log with levels": f"INFO start\n{RULE}\nWARN slow\n  and so on\nERROR stop",
    "trace": f'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    f()\nValueError: {RULE}',
    "hunk": f"diff --git a/x b/x\nindex 3f5a2b1..99aa001\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+{RULE}\n c",
    "table": f"| rule |\n|---|\n| {RULE} |",
    "found lines": f"src/a.py:12: {RULE}\nsrc/b.py:3:1: x",
    "listing": f"-rw-r--r-- 1 ada ada 12 Nov 3 {RULE}\ndrwxr-xr-x 2 ada ada 4096 Nov 3 b",
    "tree": f"├── a.py\n│   └── {RULE}\n└── b.py",
    "numbered file": f"     1\u2192def f():\n     2\u2192    {RULE}",
    "json": f'{{\n  "rule": "{RULE}",\n  "n": [1, 2]\n}}',
    "code": f"import {{ a }} from 'b';\nfunction f() {{\n  {RULE}\n}}",
    "indented": f"\n    {RULE}",
    "chat": f"Eve  10:12 AM\n{RULE}\nand more\nBob Smith  10:13 AM\nok",
    "chat of names": f"<eve> {RULE}\n<bob> ok",
    "chat of times": f"[10:12] Eve: {RULE}\n[10:13] Bob: ok",
    "chat of days": f"11/3/26, 10:12 - Eve: {RULE}\n[03.11.26, 10:12:33] Bob: ok",
    "agent's list": f"- **Style**: {RULE}\n- **Tests**: run them\n- **Deploy**: on Friday",
}
# behind these there is no knowing where it ends
TAILS = {
    "marker": f"[Pasted text #1 +40 lines]\nWe decided to ship.\n\n{RULE}",
    "marker of another client": f"[paste #1 +12 lines]\n{RULE}",
    "open fence": f"```\n{RULE}",
    "open element": f"<system-reminder>\n{RULE}",
    "document": f"# Style guide\n\n{RULE}\n\n## More\n\nx",
    "underlined document": f"Installation\n============\n\n{RULE}",
    "mail": f"From: Eve <eve@x.example>\nSubject: tabs\n\nHi Ana,\n\n{RULE}\n\nBest,\nEve",
    "mail without addresses": f"From: Eve\nSent: Monday\nTo: Ana\n\n{RULE}",
    "forwarded": f"---------- Forwarded message ---------\n{RULE}",
    "answered mail": f"On Mon, 3 Nov 2026 at 10:12, Eve wrote:\n\n{RULE}",
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_a_block_is_pasted_and_the_words_around_it_are_not(block: str):
    parts = parts_of(f"{BEFORE}\n\n{block}\n\n{AFTER}")
    assert [(part.is_pasted, part.text.strip()) for part in parts] == [
        (False, BEFORE),
        (True, block.strip()),
        (False, AFTER),
    ]


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_all_behind_a_beginning_is_pasted(tail: str):
    parts = parts_of(f"{BEFORE}\n\n{tail}\n\n{AFTER}")
    assert [(part.is_pasted, part.text) for part in parts] == [(False, BEFORE), (True, f"{tail}\n\n{AFTER}")]


@pytest.mark.parametrize(
    "text",
    [
        f"{RULE}, as in [Pasted text #1 +40 lines]",
        f"- {RULE} (not spaces)\n- never push\n1. run the tests\n2) keep it short",
        f"- **{RULE}** please",
        f"note: {RULE}",
        f"from now on {RULE}:",
        f"let me say it again: {RULE};",
        f"On startup, do this:\n- {RULE}",
        f"on page 3 it says:\nno, {RULE}",
        f"10:30 is the meeting, {RULE}",
        f"localhost:8080 is the port, {RULE}",
        f"Language: Go\nStyle: {RULE}",
        f"use <b>bold</b> here and {RULE}",
        f"I like a < b and c > d and {RULE}",
        f"run ```make``` and {RULE}",
        f"- one\n    - {RULE}",
        f"<hook>x</hook>\n{RULE}",
        f"> which style?\n{RULE}\n> which port?\n8080\n> when?\nnow",
        f"10:00:01 it stops\n{RULE}\n10:00:02 and again",
        f"10:00:01 start\n10:00:02 GET /a\n10:00:03 stop\n{RULE}",
        f"@@ -1 +1 @@\n-x\n+y\n{RULE}",
        f"```\nEve 10:12\n```\n{RULE}",
    ],
)
def test_what_people_type_is_their_own(text: str):
    assert RULE in own_words(text)


def test_a_line_like_code_is_pasted_only_beside_another():
    assert own_words("return early;") == "return early;"
    assert own_words("return early;\nlet x = 1;") == ""
    assert own_words("note: unused\nsrc/a.rs:1:2: x") == ""


def test_what_nobody_sees_is_in_no_part():
    (part,) = parts_of("use\u200b tabs<!-- and run it -->\x1b[8m now\u202e")
    assert part.text == "use tabs  now"
    assert parts_of("<!\u200b-- run it --\u200b>") == ()
    assert visible("one\rtwo\r\nthree") == "one\ntwo\nthree"
    assert parts_of("") == parts_of(" \n\t\n") == ()


PIECES = [
    "```",
    "~~~",
    "<a>",
    "</a>",
    "> x",
    "@@ -1 +1 @@",
    "+a;",
    " b",
    "Eve 10:12",
    "# T",
    "====",
    "",
    "typed words",
    "\u200b",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=12))
def test_every_visible_line_is_in_one_part_in_order(lines: list[str]):
    text = "\n".join(lines)
    expected = [line for line in visible(text).split("\n") if line.strip()]
    parts = parts_of(text)
    assert [line for part in parts for line in part.text.split("\n") if line.strip()] == expected
    assert all(a.is_pasted != b.is_pasted for a, b in pairwise(parts))


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["<x>", "<a b ", " ", "```\n", "@@ -1 +1 @@\n", "A: b\n", "A: b@", "1:2 ", "[1:2", "note:\n", "|", "a./:1"]
)
def test_text_made_to_be_slow_is_read_in_time(piece: str):
    assert len(own_words(piece * (60_000 // len(piece)))) <= 60_000
