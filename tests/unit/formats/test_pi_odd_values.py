"""What pi sends of values that it did not write: tried on pi 0.73.1, images also on the pi 0.49 in Clawdbot."""

from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.messages import normal_form
from slowwave.formats.openclaw.dialect import OPENCLAW
from tests.unit.formats.pi_files import Session

IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
CALL: dict[str, Any] = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}}


@pytest.mark.parametrize(("fields", "shown"), [({}, "undefined"), ({"summary": None}, "null"), ({"summary": 7}, "7")])
def test_a_compaction_without_a_summary_says_so_as_javascript_does(tmp_path: Path, fields: dict[str, Any], shown: str):
    session = Session()
    session.user("hello")
    session.model("hi")
    session.add("compaction", firstKeptEntryId="gone", tokensBefore=9, **fields)
    assert session.context(tmp_path)[0]["text"].endswith(f"<summary>\n{shown}\n</summary>")


def test_half_a_surrogate_pair_is_left_out_and_a_whole_one_is_kept(tmp_path: Path):
    session = Session()
    session.user("hello")
    session.lines[-1] = session.lines[-1].replace(b"hello", rb"a\ud800b \ud83d\ude42 c\\ud800")
    assert session.context(tmp_path) == [{"role": "user", "text": "ab \U0001f642 c\\ud800"}]


def test_a_bare_string_among_the_parts_of_a_result_is_no_text(tmp_path: Path):
    session = Session()
    session.user("hello")
    session.model(CALL, stopReason="toolUse")
    session.result("c1", {"type": "text", "text": 1}, {"type": "text"})
    session.lines[-1] = session.lines[-1].replace(b'"content": [', b'"content": ["bare", ')
    assert session.context(tmp_path)[-1]["results"] == [{"id": "c1", "text": "1"}]


def test_a_model_named_claude_of_an_unknown_provider_gets_results_as_the_user(tmp_path: Path):
    session = Session()
    session.user("hello")
    session.model(CALL, stopReason="toolUse")
    session.result("c1", "out")
    session.add("model_change", provider="mine", modelId="my-claude")
    assert [m["role"] for m in session.context(tmp_path)] == ["user", "assistant", "user"]


def test_clawdbot_leaves_images_out_that_its_model_cannot_see(tmp_path: Path):
    session = Session()
    session.user([{"type": "text", "text": "look"}, IMAGE])
    session.user([IMAGE])
    session.model(CALL, stopReason="toolUse")
    session.result("c1", IMAGE)
    path = tmp_path / "s1.jsonl"
    path.write_bytes(session.data())
    sent = normal_form(OPENCLAW.context(OPENCLAW.read(SessionFiles("s1", (path,)))))
    assert sent[0] == {"role": "user", "text": "look"}
    assert [m["role"] for m in sent] == ["user", "assistant", "tool"]
    assert sent[-1]["results"] == [{"id": "c1", "text": "(see attached image)"}]


def test_clawdbot_sends_the_texts_of_an_answer_one_by_one(tmp_path: Path):
    session = Session()
    session.user("hello")
    session.model(" ", "a ", "b")
    path = tmp_path / "s1.jsonl"
    path.write_bytes(session.data())
    sent = normal_form(OPENCLAW.context(OPENCLAW.read(SessionFiles("s1", (path,)))))
    assert (sent[-1]["text"], session.context(tmp_path)[-1]["text"]) == ("a\nb", "a b")
