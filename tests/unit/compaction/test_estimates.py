"""How many tokens a message takes to each client, and JSON as JavaScript writes it."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from slowwave.compaction.items import message_tokens, read_usage
from slowwave.compaction.tokens import CODEX, CRABTALK, OPENCODE, PI, cut, rule_of, stringify, units
from slowwave.formats import Other, Thinking, ToolCall
from tests.unit.compaction.messages import message, result, user

VALUES: list[Any] = [
    None, True, "a\u2028b", '\u0007\b\f\n\r\t"\\/', "é\N{GRINNING FACE}", "\ud800", 0, -0.0, 1.0, 0.1, 1e21, 1.5e300,
    1e20, 12345678901234567890, 2**53 + 1, 1e-6, 1.5e-7, 0.00001234, -1e-5, 5e-324, 123456789.125,
    [], {}, [1, [None]], {"b": 1, "10": 2, "9": 3, "01": 4, "a": {"x": []}},
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"role": "user", "content": "12345"}, 2),
        ({"role": "user", "content": [{"type": "text", "text": "123"}, {"type": "text", "text": "45"}]}, 2),
        ({"role": "user", "content": [{"type": "image", "data": "x" * 9999}]}, 1200),
        ({"role": "toolResult", "content": [{"type": "image"}, {"type": "text", "text": "1"}]}, 1201),
        (
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "1234"},
                    {"type": "text", "text": "1234"},
                    {"type": "toolCall", "name": "read", "arguments": {"n": 1.0, "é": "x"}},
                ],
            },
            7,
        ),
        ({"role": "bashExecution", "command": "1234", "output": "12345"}, 3),
        ({"role": "compaction", "summary": "12345678"}, 2),
        ({"role": "user", "content": "\N{GRINNING FACE}" * 2}, 1),
        ({"role": "user"}, 0),
    ],
)
def test_estimates_messages_of_pi_as_pi_does(body: dict[str, Any], tokens: int) -> None:
    assert message_tokens(body["role"], body) == tokens


def test_every_client_rounds_and_counts_in_its_own_way() -> None:
    sample = user("é" * 5)
    assert [r.of_message(sample) for r in (PI, CRABTALK, CODEX, OPENCODE)] == [2, 2, 3, 1]
    assert [OPENCODE.of_text("x" * n) for n in (1, 2, 5, 6)] == [0, 1, 1, 2]
    assert rule_of("crabtalk") is CRABTALK
    assert rule_of("openclaw") == PI


def test_counts_every_block() -> None:
    blocks = (Thinking("1234"), ToolCall("c", "read", {"a": 1}), ToolCall("d", "x", '{"a": 1}'), Other("input_image"))
    assert PI.of_message(message("assistant", *blocks)) == (4 + 4 + 7 + 1 + 8 + 4800) // 4
    assert PI.of_message(result("c", "12345678")) == 2


def test_writes_json_as_javascript_does() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: JSON is compared with the one of JavaScript itself")
    script = "for (const v of JSON.parse(require('fs').readFileSync(0))) console.log(JSON.stringify(JSON.stringify(v)))"
    run = subprocess.run([node, "-e", script], input=json.dumps(VALUES), capture_output=True, text=True, check=True)
    theirs = [json.loads(line) for line in run.stdout.split("\n")[:-1]]
    assert [stringify(value) for value in VALUES] == theirs


def test_cuts_at_units_and_halves_no_character() -> None:
    assert (cut("abc", 2), cut("é\N{GRINNING FACE}x", 2), cut("é\N{GRINNING FACE}x", 3)) == (
        "ab",
        "é",
        "é\N{GRINNING FACE}",
    )
    assert cut("\ud83dx", 1) == "\ud83d"
    assert units("\N{GRINNING FACE}é") == 3


def test_deep_and_endless_values_are_counted() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [{"a": deep}]
    assert len(stringify(deep)) == 900 * 8 + 1
    assert PI.of_message(message("assistant", ToolCall("c", "x", deep))) > 1800
    assert read_usage({"input": float("inf"), "output": float("nan"), "totalTokens": True}) == (0, 0, 0, 0, 1)
