"""The client and a whole night against llama.cpp's own server: the protocol, never the sense."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from slowwave.models.base import Ask, ContextOverflowError, MalformedAnswerError, Meter, ModelUnavailableError
from slowwave.models.client import OpenAIModel
from slowwave.quantities import parse_duration
from slowwave.settings import ModelSettings
from tests.model_server.llama import llama_server
from tests.model_server.nights import memory, night, offline, talk
from tests.unit.extraction.talk import RULES

# a machine with other work on both processors takes ten times as long
pytestmark = pytest.mark.timeout(240)

# whole numbers and lengths are held to; ranges of other numbers are not
SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["fact", "rule"]},
        "score": {"type": "integer", "minimum": 0, "maximum": 100},
        "words": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "maxLength": 20}},
    },
    "required": ["kind", "score", "words"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def base_url() -> Generator[str]:
    with llama_server() as url:
        yield url


def model(base_url: str, **settings: Any) -> tuple[OpenAIModel, Meter]:
    chosen: dict[str, Any] = {"retries": 0, **settings}
    given = ModelSettings(base_url=base_url, name="local", **chosen)
    meter = Meter(given)
    return OpenAIModel(given, {}, meter, sleep=lambda _: None), meter


def ask(user: str = "Remember: we use tabs.", most: int = 200) -> Ask:
    return Ask("test", "You note facts.", user, SCHEMA, "facts", most, "Answer with one line: MEMORY: fact | 5 | words")


def test_an_answer_has_the_form_of_the_schema_and_is_counted(base_url: str):
    asked, meter = model(base_url)
    answer = asked.answer(ask())
    assert answer.form == "schema"
    assert answer.data["kind"] in ("fact", "rule")
    assert isinstance(answer.data["score"], int)
    assert 0 <= answer.data["score"] <= 100
    assert 1 <= len(answer.data["words"]) <= 2
    assert answer.usage.prompt_tokens > 10
    assert answer.usage.completion_tokens > 5
    assert meter.spent().completion_tokens == answer.usage.completion_tokens


def test_the_same_question_gets_the_same_answer(base_url: str):
    asked, _ = model(base_url)
    assert asked.answer(ask()).text == asked.answer(ask()).text


def test_a_question_beyond_its_context_is_told_apart(base_url: str):
    asked, meter = model(base_url)
    with pytest.raises(ContextOverflowError):
        asked.answer(ask("word " * 20_000))
    assert meter.spent().calls == 0


def test_an_answer_that_does_not_fit_its_limit_is_malformed(base_url: str):
    asked, _ = model(base_url)
    asked.answer(ask())
    with pytest.raises(MalformedAnswerError, match="max_output_tokens"):
        asked.answer(ask(most=3))


def test_a_time_limit_is_kept(base_url: str):
    asked, _ = model(base_url, timeout=parse_duration("1s") / 100)
    with pytest.raises(ModelUnavailableError, match="no whole answer within"):
        asked.answer(ask("Tell me everything about tabs."))


def test_a_schema_that_is_none_is_refused_and_the_ladder_goes_on(base_url: str):
    asked, _ = model(base_url)
    odd = Ask("test", "You answer.", "Yes?", {"type": "nonsense"}, "odd", 8)
    with pytest.raises((MalformedAnswerError, ModelUnavailableError)):
        asked.answer(odd)


def test_a_night_with_it_ends_within_its_budget_and_says_what_waits(tmp_path: Path, base_url: str):
    session = talk(facts=1).write(tmp_path / "store")
    limits: dict[str, Any] = {"name": "local", "max_output_tokens": 64, "budget_tokens": 1500}
    report = night(tmp_path, [session], base_url, **limits)
    assert report.failures == []
    assert RULES[0] in {c.text for c in offline(tmp_path)}
    assert report.counts.get("model_answers", 0) + report.counts.get("model_postponed", 0) == 1
    assert (memory(tmp_path) / "extracted.md").is_file()
