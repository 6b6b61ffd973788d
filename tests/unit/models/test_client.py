"""The client against a scripted server: every fault that a server was seen to have, without a second of sleep."""

import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from slowwave.models import model_of
from slowwave.models.base import (
    Ask,
    BudgetSpentError,
    ContextOverflowError,
    LanguageModel,
    MalformedAnswerError,
    Meter,
    ModelRefusedError,
    ModelUnavailableError,
)
from slowwave.models.client import OpenAIModel
from slowwave.quantities import parse_duration
from slowwave.settings import ModelSettings, Settings
from tests.model_server.scripted import LLAMA_OVERFLOW, OPENAI_OVERFLOW, Reply, completion, error, said, serving

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
KEY = "test-key-9f8e7d"


def ask(*, line_form: str = "Answer with one line.") -> Ask:
    return Ask("test", "You count.", "How many?", SCHEMA, "count", 50, line_form)


class Rig:
    """A model of a scripted server, with its meter and the waits it asked for."""

    def __init__(self, base_url: str, environ: Mapping[str, str] | None = None, **settings: Any) -> None:
        self.slept: list[float] = []
        self.settings = ModelSettings(base_url=base_url, name="m", **settings)
        self.meter = Meter(self.settings)
        self.model = OpenAIModel(self.settings, environ or {}, self.meter, sleep=self.slept.append, jitter=lambda: 1.0)


def test_an_answer_comes_with_its_usage_and_price():
    with serving(said({"n": 3}, usage=(1000, 200))) as server:
        rig = Rig(server.base_url, price_input=2.0, price_output=10.0)
        answer = rig.model.answer(ask())
    assert (answer.data, answer.form, answer.model) == ({"n": 3}, "schema", "scripted-1")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (1000, 200)
    assert answer.usage.usd == pytest.approx(0.004)
    account = rig.meter.spent()
    assert (account.calls, account.prompt_tokens, account.held_tokens) == (1, 1000, 0)
    assert account.usd == pytest.approx(0.004)


def test_it_asks_by_strict_schema_first():
    with serving(said({"n": 3})) as server:
        Rig(server.base_url).model.answer(ask())
    (asked,) = server.requests
    assert asked["response_format"]["json_schema"] == {"name": "count", "strict": True, "schema": SCHEMA}
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("m", 0.0, 50)


def test_the_key_comes_from_the_named_variable_and_never_into_messages():
    refused = error(401, f"Incorrect API key provided: {KEY}")
    with serving(refused) as server:
        rig = Rig(server.base_url, {"MY_KEY": f"{KEY}\n"}, api_key_env="MY_KEY")
        with pytest.raises(ModelUnavailableError) as raised:
            rig.model.answer(ask())
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(raised.value)
    assert "MY_KEY" in str(raised.value)


def test_without_a_variable_no_key_of_another_service_is_sent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(said({"n": 3})) as server:
        Rig(server.base_url, {}).model.answer(ask())
    assert KEY not in str(server.headers)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_a_busy_server_is_asked_again(status: int):
    with serving(error(status, "try later"), error(status, "try later"), said({"n": 3})) as server:
        rig = Rig(server.base_url)
        assert rig.model.answer(ask()).data == {"n": 3}
    assert rig.slept == [0.5, 1.0]
    assert rig.meter.spent().calls == 1


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"retry_after": "Sun, 22 Nov 2026 06:00:30 GMT", "date": "Sun, 22 Nov 2026 06:00:00 GMT"}, 30.0),
        ({"retry_after": "soon"}, 0.5),
        ({"retry_after": "nan"}, 0.5),
        ({"retry_after": "inf"}, 0.5),
    ],
)
def test_the_server_says_how_long_to_wait(headers: dict[str, str], wait: float):
    with serving(error(429, "slow down", **headers), said({"n": 3})) as server:
        rig = Rig(server.base_url)
        rig.model.answer(ask())
    (slept,) = rig.slept
    assert wait <= slept <= wait + 1.0


def test_a_server_that_asks_for_an_hour_is_left_for_another_night():
    with serving(error(429, "slow down", retry_after="3600")) as server:
        rig = Rig(server.base_url)
        with pytest.raises(ModelUnavailableError, match="slow down"):
            rig.model.answer(ask())
    assert rig.slept == []


def test_a_server_that_stays_busy_is_given_up_and_after_two_questions_not_asked_any_more():
    with serving(error(503, "overloaded")) as server:
        rig = Rig(server.base_url, retries=2)
        with pytest.raises(ModelUnavailableError) as first:
            rig.model.answer(ask())
        with pytest.raises(ModelUnavailableError) as second:
            rig.model.answer(ask())
        asked = len(server.requests)
        with pytest.raises(ModelUnavailableError) as third:
            rig.model.answer(ask())
    assert [e.value.is_general for e in (first, second, third)] == [False, True, True]
    assert "HTTP 503" in str(first.value)
    assert asked == len(server.requests) == 6


def test_no_server_at_all_is_said_with_its_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        rig = Rig(url, retries=1)
        with pytest.raises(ModelUnavailableError, match="/v1: "):
            rig.model.answer(ask())
    assert rig.meter.spent().prompt_tokens == 0


def test_an_answer_that_breaks_off_is_asked_for_again_and_charged():
    whole = completion('{"n": 3}')
    with serving(Reply(whole, sent=20), said({"n": 4})) as server:
        rig = Rig(server.base_url)
        assert rig.model.answer(ask()).data == {"n": 4}
    assert rig.meter.spent().calls == 2


def test_a_silent_server_is_asked_twice_and_no_more():
    with serving(Reply(b"", hangs=True)) as server:
        rig = Rig(server.base_url, timeout=parse_duration("1s") / 20)
        with pytest.raises(ModelUnavailableError, match="no whole answer within"):
            rig.model.answer(ask())
        assert len(server.requests) == 2


def test_a_body_that_drips_is_left_when_its_time_is_over():
    now = iter([0.0, *(float(second) for second in range(0, 10_000, 50))])
    with serving(Reply(completion("x" * 400_000))) as server:
        settings = ModelSettings(base_url=server.base_url, name="m", retries=0)
        model = OpenAIModel(settings, {}, Meter(settings), sleep=lambda _: None, monotonic=lambda: next(now))
        with pytest.raises(ModelUnavailableError, match="no whole answer within"):
            model.answer(ask())


@pytest.mark.parametrize(
    "reply",
    [
        said("", refusal="I cannot help with that."),
        said("half of", finish="content_filter"),
        error(400, "The response was filtered by our content management policy", "content_filter"),
    ],
)
def test_a_refusal_is_a_refusal(reply: Reply):
    with serving(reply) as server, pytest.raises(ModelRefusedError):
        Rig(server.base_url).model.answer(ask())
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [OPENAI_OVERFLOW, LLAMA_OVERFLOW, error(413, "payload too large"), error(400, "Prompt is too long: 9000 tokens")],
)
def test_a_question_that_is_too_long_is_told_apart(reply: Reply):
    with serving(reply) as server, pytest.raises(ContextOverflowError):
        Rig(server.base_url).model.answer(ask())
    assert len(server.requests) == 1


def test_a_server_without_schemas_is_asked_for_json_and_that_is_remembered():
    def script(asked: dict[str, Any]) -> Reply:
        if asked.get("response_format", {}).get("type") == "json_schema":
            return error(400, "response_format.type must be text or json_object")
        return said({"n": 3})

    with serving(script) as server:
        rig = Rig(server.base_url)
        forms = [rig.model.answer(ask()).form for _ in range(3)]
    assert forms == ["json"] * 3
    assert [r.get("response_format", {}).get("type") for r in server.requests] == ["json_schema"] + ["json_object"] * 3
    assert '"additionalProperties":false' in server.requests[1]["messages"][0]["content"]


def test_a_server_that_breaks_over_schemas_with_a_plain_500_is_asked_for_json():
    def script(asked: dict[str, Any]) -> Reply:
        return error(500, "Internal Server Error") if "json_schema" in str(asked["response_format"]) else said({"n": 3})

    with serving(script) as server:
        assert Rig(server.base_url, retries=1).model.answer(ask()).form == "json"


def test_a_server_without_any_json_is_asked_for_lines():
    def script(asked: dict[str, Any]) -> Reply:
        return error(422, "unknown field response_format") if "response_format" in asked else said("MEMORY: x")

    with serving(script) as server:
        answer = Rig(server.base_url).model.answer(ask())
    assert (answer.form, answer.data, answer.text) == ("lines", None, "MEMORY: x")
    assert server.requests[-1]["messages"][0]["content"].endswith("Answer with one line.")


def test_a_question_that_only_json_can_answer_never_comes_to_lines():
    refusing = serving(error(400, "response_format is not supported"))
    with refusing as server, pytest.raises(ModelUnavailableError, match="response_format"):
        Rig(server.base_url).model.answer(ask(line_form=""))
    assert len(server.requests) == 2


def test_a_model_that_ignores_the_schema_comes_down_the_ladder():
    with serving(said("Sure! I count three."), said("Three."), said("MEMORY: three")) as server:
        assert Rig(server.base_url).model.answer(ask()).form == "lines"


def test_one_bad_answer_does_not_cost_a_server_its_form():
    with serving(said({"n": 1}), said("oops"), said({"n": 2})) as server:
        rig = Rig(server.base_url)
        rig.model.answer(ask())
        with pytest.raises(MalformedAnswerError):
            rig.model.answer(ask())
        assert rig.model.answer(ask()).form == "schema"


@pytest.mark.parametrize(
    "text",
    ['```json\n{"n": 3}\n```', '<think>three? {"n": 9}</think>\n{"n": 3}', '  {"n": 3}\n'],
)
def test_json_is_found_in_its_wrapping(text: str):
    with serving(said(text)) as server:
        assert Rig(server.base_url).model.answer(ask()).data == {"n": 3}


@pytest.mark.parametrize(
    "text", ['{"n": 3', "[1]", '{"m": 3}', "", "null", "\ud800".encode("utf-8", "replace").decode()]
)
def test_anything_else_is_malformed(text: str):
    with serving(said({"n": 1}), said(text)) as server:
        rig = Rig(server.base_url)
        rig.model.answer(ask())
        with pytest.raises(MalformedAnswerError):
            rig.model.answer(ask())


def test_an_answer_cut_at_its_limit_is_malformed_and_paid_for():
    with serving(said({"n": 1}), said('{"n": 3}', finish="length", usage=(70, 50))) as server:
        rig = Rig(server.base_url)
        rig.model.answer(ask())
        with pytest.raises(MalformedAnswerError, match="max_output_tokens"):
            rig.model.answer(ask())
    assert rig.meter.spent().completion_tokens == 70


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"", b"{}", b'{"choices":[]}', b"[" * 100_000, b"\xff\xfe"])
def test_a_body_that_is_no_completion_is_malformed(body: bytes):
    with serving(said({"n": 1}), Reply(body)) as server:
        rig = Rig(server.base_url)
        rig.model.answer(ask())
        with pytest.raises(MalformedAnswerError):
            rig.model.answer(ask())


def test_a_server_that_wants_other_names_gets_them():
    def script(asked: dict[str, Any]) -> Reply:
        if "max_tokens" in asked:
            return error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "temperature" in asked:
            return error(400, "Unsupported value: 'temperature' does not support 0.0 with this model.")
        return said({"n": 3})

    with serving(script) as server:
        rig = Rig(server.base_url)
        rig.model.answer(ask())
        rig.model.answer(ask())
    assert len(server.requests) == 4
    assert server.requests[-1]["max_completion_tokens"] == 50


@pytest.mark.parametrize(
    "reply", [error(401, "no"), error(403, "no"), error(404, "no such model"), error(429, "pay", "insufficient_quota")]
)
def test_a_closed_door_is_not_knocked_at_again(reply: Reply):
    with serving(reply) as server:
        rig = Rig(server.base_url)
        for _ in range(3):
            with pytest.raises(ModelUnavailableError) as raised:
                rig.model.answer(ask())
            assert raised.value.is_general
    assert len(server.requests) == 1


def test_what_was_said_goes_to_no_other_server():
    with serving(said({"n": 3})) as other, serving(Reply(b"", 307, {"location": f"{other.base_url}/x"})) as server:
        with pytest.raises(ModelUnavailableError):
            Rig(server.base_url, retries=0).model.answer(ask())
        assert other.requests == []


def test_over_budget_nothing_is_asked():
    with serving(said({"n": 3}, usage=(90, 5))) as server:
        rig = Rig(server.base_url, budget_tokens=180)
        rig.model.answer(ask())
        with pytest.raises(BudgetSpentError, match="budget_tokens"):
            rig.model.answer(ask())
    assert len(server.requests) == 1
    assert rig.meter.spent().prompt_tokens + rig.meter.spent().completion_tokens <= 180


def test_without_usage_from_the_server_tokens_are_estimated():
    with serving(said({"n": 3}, usage=None)) as server:
        usage = Rig(server.base_url).model.answer(ask()).usage
    assert usage.prompt_tokens > 5
    assert usage.completion_tokens > 2


def test_without_address_and_name_there_is_no_model():
    for model in (ModelSettings(), ModelSettings(base_url="http://x"), ModelSettings(name="m")):
        assert model_of(Settings(model=model), {}, Meter(model)) is None


def test_the_protocol_is_kept():
    settings = ModelSettings(base_url="http://127.0.0.1:9/v1", name="m")
    model: LanguageModel | None = model_of(Settings(model=settings), {}, Meter(settings))
    assert model is not None
    assert model.name == "m"


# --- plain text --------------------------------------------------------------------------------------------------


def starts_with_a_mark(text: str) -> bool:
    return text.startswith("MEMORY:")


def test_whoever_asks_says_which_plain_answer_can_be_read():
    with serving(
        error(422, "unknown field response_format"), error(422, "no json_object"), said("I count 3.")
    ) as server:
        rig = Rig(server.base_url)
        assert rig.model.answer(ask()).text == "I count 3."
        marked = replace(ask(), is_in_form=starts_with_a_mark)
        with pytest.raises(MalformedAnswerError, match="no line of the form"):
            rig.model.answer(marked)
