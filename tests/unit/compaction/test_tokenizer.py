"""Exact counts of tokens: for which models, of what, and that nothing is counted where the extra is not installed."""

import sys
from types import ModuleType

import pytest

from slowwave.compaction import tokens
from slowwave.compaction.items import Reading, items_of
from slowwave.compaction.plan import due
from slowwave.compaction.tokens import CODEX, PACKAGE, exact_tokens, vocabulary_of
from slowwave.settings import CompactionSettings
from tests.unit.compaction.messages import answer, result, user


@pytest.fixture(name="counted")
def _counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put a tokenizer in the place of the real one that takes every character for a token."""
    seen: list[str] = []

    def batch_count(texts: list[str], encoding: str) -> list[int]:
        seen.extend([encoding, *texts])
        return [len(text) for text in texts]

    module = ModuleType(PACKAGE)
    module.__dict__.update(batch_count=batch_count, __spec__=object())
    monkeypatch.setitem(sys.modules, PACKAGE, module)
    return seen


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-5.1-codex", "o200k_base"),
        ("openai/gpt-4o-mini", "o200k_base"),
        ("GPT-4.1", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-oss-120b", "o200k_harmony"),
        ("o3-mini", "o200k_base"),
        ("claude-opus-4-5", ""),
        ("gemini-2.5-pro", ""),
        ("", ""),
    ],
)
def test_only_models_with_a_published_vocabulary_are_counted(model: str, vocabulary: str):
    assert vocabulary_of(model) == vocabulary


def test_every_text_of_every_block_is_counted(counted: list[str]):
    messages = [user("four"), answer("hi", "c1:read:a"), result("c1", "seen \ud800")]
    assert exact_tokens(messages, "gpt-5") == sum(map(len, counted[1:]))
    assert counted == ["o200k_base", "four", "hi", "read", '{"path":"a"}', "seen ?"]
    assert exact_tokens(messages, "claude-opus-4-5") is None


def test_without_the_extra_nothing_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tokens, "PACKAGE", "no_package_of_this_name")
    assert exact_tokens([user("four")], "gpt-5") is None


def reading(characters: int) -> Reading:
    return Reading("codex", items_of([user("x" * characters)], CODEX), CODEX, model="gpt-4o", window=100_000)


def test_near_its_limit_a_session_is_due_by_the_exact_count(counted: list[str]):
    # sixty thousand tokens by the client's guess, and by the tokenizer 240,000
    found = due(reading(240_000), CompactionSettings(), soft=0)
    assert (found.is_due, found.tokens) == (True, 240_000)
    assert "counted by the tokenizer" in found.reason
    counted.clear()
    assert "estimated" in due(reading(100_000), CompactionSettings(), soft=0).reason
    assert counted == []


def test_the_real_one_agrees_with_known_counts():
    pytest.importorskip(PACKAGE, reason="the extra tokens is not installed")
    assert exact_tokens([user("hello world")], "gpt-5") == 2
