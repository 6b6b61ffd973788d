"""Questions at a batch price: asked one night, answered another, whatever happens in between."""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slowwave import files
from slowwave.models.base import (
    Answer,
    AnswerPendingError,
    Ask,
    BudgetSpentError,
    ContextOverflowError,
    MalformedAnswerError,
    Meter,
    ModelRefusedError,
    ModelUnavailableError,
)
from slowwave.models.batch import (
    FORGOTTEN,
    KEPT,
    MOST_FAILURES,
    BatchModel,
    Fetched,
    Handed,
    Parcel,
    Provider,
    Spool,
    fetch,
    hand_over,
    question_of,
)
from slowwave.models.client import Exchange
from slowwave.settings import ModelSettings
from tests.unit.models import batch_server
from tests.unit.models.batch_server import batch_server as serving

NOW = datetime(2026, 3, 1, 3, 30, tzinfo=UTC)
SCHEMA = {"type": "object", "properties": {"facts": {"type": "array"}}, "required": ["facts"]}
GOOD = {"facts": ["pnpm"]}


class Live:
    """A model that answers at once, and remembers what it was asked."""

    name = "served-model"

    def __init__(self) -> None:
        self.asked: list[Ask] = []

    def answer(self, ask: Ask) -> Answer:
        self.asked.append(ask)
        raise AssertionError("asked at once")


class Night:
    """One machine with its spool, and the server that it talks to."""

    def __init__(self, folder: Path, server: batch_server.Provider, **settings: Any) -> None:
        self.folder = folder / "batches"
        self.server = server
        self.settings = ModelSettings(base_url=server.url, name="served-model", batch=True, **settings)
        self.meter = Meter(self.settings)
        self.live = Live()
        self.provider = Provider(Exchange(self.settings, {}))

    @property
    def spool(self) -> Spool:
        return Spool(self.folder)

    def ask(self, user: str, purpose: str = "extract") -> Answer:
        model = BatchModel(self.live, self.server.url, self.spool, self.meter)
        return model.answer(Ask(purpose, "be brief", user, SCHEMA, "facts", 200))

    def wait_for(self, *users: str) -> None:
        for user in users:
            with pytest.raises(AnswerPendingError):
                self.ask(user)

    def fetch(self, now: datetime = NOW) -> Fetched:
        return fetch(self.spool, self.provider, self.server.url, now)

    def hand_over(self) -> Handed:
        return hand_over(self.spool, self.provider, self.server.url, NOW)

    def ids(self, batch: str = "batch-0") -> dict[str, str]:
        """Return the question ids of a batch by what was asked."""
        return {q["body"]["messages"][1]["content"]: q["custom_id"] for q in self.server.questions(batch)}


@pytest.fixture
def server() -> Iterator[batch_server.Provider]:
    with serving() as provider:
        yield provider


@pytest.fixture
def night(tmp_path: Path, server: batch_server.Provider) -> Night:
    return Night(tmp_path, server)


def test_a_question_is_answered_by_the_night_after_its_batch_is_over(
    night: Night, server: batch_server.Provider
) -> None:
    night.wait_for("one", "two")
    assert night.hand_over().questions == 2
    assert night.fetch() == Fetched(waiting=2)
    ids = night.ids()
    server.finish("batch-0", {ids["one"]: GOOD, ids["two"]: {"facts": []}})
    assert night.fetch() == Fetched(answers=2, tokens=240)
    first = night.ask("one")
    assert (first.data, first.form, first.model) == (GOOD, "schema", "served-model")
    assert night.ask("two").data == {"facts": []}


def test_a_question_is_sent_once_however_often_it_is_asked(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one", "one")
    night.hand_over()
    night.wait_for("one")
    assert night.hand_over().questions == 0
    assert len(server.batches) == 1
    assert len(server.questions("batch-0")) == 1


def test_the_request_is_a_chat_completion_with_a_strict_schema(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one")
    night.hand_over()
    line = server.questions("batch-0")[0]
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert line["body"]["model"] == "served-model"
    assert line["body"]["max_completion_tokens"] == 200
    assert line["body"]["response_format"]["json_schema"] == {"name": "facts", "strict": True, "schema": SCHEMA}
    assert server.batches["batch-0"]["completion_window"] == "24h"


def test_what_cannot_wait_is_asked_at_once(night: Night) -> None:
    with pytest.raises(AssertionError, match="asked at once"):
        night.ask("one", purpose="consolidation")


def test_an_expired_batch_gives_what_it_has_and_the_rest_is_asked_again(
    night: Night, server: batch_server.Provider
) -> None:
    night.wait_for("one", "two")
    night.hand_over()
    ids = night.ids()
    late = {"code": "batch_expired", "message": "not executed before the completion window expired"}
    server.finish("batch-0", {ids["one"]: GOOD}, errors={ids["two"]: late}, status="expired")
    fetched = night.fetch()
    assert (fetched.answers, fetched.failed) == (1, 1)
    assert "expired" in fetched.problems[0]
    assert night.ask("one").data == GOOD
    night.wait_for("two")
    assert night.hand_over().questions == 1
    assert list(night.ids("batch-1")) == ["two"]


def test_a_batch_that_is_refused_as_a_whole_says_why(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one")
    night.hand_over()
    server.fail("batch-0", "token_limit_exceeded", "enqueued token limit reached")
    assert "enqueued token limit reached" in night.fetch().problems[0]
    night.wait_for("one")
    assert night.hand_over().questions == 1


def test_a_question_without_any_line_of_its_own_is_asked_again(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one", "two")
    night.hand_over()
    server.finish("batch-0", {night.ids()["one"]: GOOD})
    assert night.fetch().failed == 1
    night.wait_for("two")


def test_a_question_is_given_up_after_several_batches(night: Night, server: batch_server.Provider) -> None:
    for number in range(MOST_FAILURES):
        night.wait_for("one")
        night.hand_over()
        batch = f"batch-{number}"
        server.finish(batch, {}, errors={night.ids(batch)["one"]: {"code": "server_error", "message": "broke"}})
        night.fetch()
    with pytest.raises(MalformedAnswerError, match=f"{MOST_FAILURES} batches.*broke"):
        night.ask("one")
    assert night.hand_over().questions == 0


@pytest.mark.parametrize(
    ("code", "error"),
    [("context_length_exceeded", ContextOverflowError), ("content_filter", ModelRefusedError)],
)
def test_a_refused_question_is_not_asked_again(
    code: str, error: type[Exception], night: Night, server: batch_server.Provider
) -> None:
    night.wait_for("one")
    night.hand_over()
    body = {"error": {"code": code, "message": "no"}}
    line = {"custom_id": night.ids()["one"], "response": {"status_code": 400, "body": body}, "error": None}
    server.finish("batch-0", {})
    server.batches["batch-0"]["error_file_id"] = server.add("errors.jsonl", json.dumps(line).encode())
    night.fetch()
    with pytest.raises(error):
        night.ask("one")


@pytest.mark.parametrize("answer", ["no JSON", '{"other": 1}', ""])
def test_an_answer_that_is_none_is_malformed(answer: str, night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one")
    night.hand_over()
    server.finish("batch-0", {night.ids()["one"]: answer})
    night.fetch()
    with pytest.raises(MalformedAnswerError):
        night.ask("one")


def test_what_it_may_cost_is_charged_by_the_run_that_asks_at_half_the_price(
    tmp_path: Path, server: batch_server.Provider
) -> None:
    night = Night(tmp_path, server, budget_usd=0.0005, price_input=1.0, price_output=4.0)
    night.wait_for("one")
    held = night.meter.spent()
    assert held.held_usd == pytest.approx((held.held_tokens - 200 + 4 * 200) / 1e6 / 2)
    with pytest.raises(BudgetSpentError):
        night.ask("two")
    night.wait_for("one")
    assert night.meter.spent() == held
    assert night.hand_over().questions == 1


def test_a_server_that_is_away_costs_a_night_and_nothing_else(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one")
    server.broken = {"/v1/"}
    handed = night.hand_over()
    assert (handed.questions, len(handed.problems)) == (0, 1)
    assert "waits for another night" in handed.problems[0]
    server.broken = set()
    assert night.hand_over().questions == 1
    server.finish("batch-0", {night.ids()["one"]: GOOD})
    server.broken = {"/v1/files"}
    assert night.fetch().waiting == 1
    server.broken = set()
    assert night.fetch().answers == 1


@pytest.mark.parametrize("lost", ["POST /v1/files", "POST /v1/batches"])
def test_work_whose_answer_got_lost_is_found_and_not_done_twice(
    lost: str, night: Night, server: batch_server.Provider
) -> None:
    night.wait_for("one")
    server.lost = {lost}
    assert night.hand_over().questions == 0
    server.lost = set()
    assert night.hand_over().questions == 1
    assert (len(server.names), len(server.batches)) == (1, 1)
    server.finish("batch-0", {night.ids()["one"]: GOOD})
    assert night.fetch().answers == 1


def test_files_of_a_collected_batch_leave_the_server(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one")
    night.hand_over()
    server.finish("batch-0", {night.ids()["one"]: GOOD})
    night.fetch()
    assert server.files == {}


def test_a_batch_at_another_address_is_left_alone_and_told(night: Night, server: batch_server.Provider) -> None:
    night.spool.ask(question_of("http://127.0.0.1:9/v1", {"model": "m"}))
    night.spool.pack("http://127.0.0.1:9/v1")
    assert "which is not model.base_url any more" in night.fetch().problems[0]
    assert night.hand_over() == Handed()
    assert server.calls == []


def test_answers_that_nobody_asks_for_are_swept(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one")
    night.hand_over()
    server.finish("batch-0", {night.ids()["one"]: GOOD})
    night.fetch()
    night.fetch(datetime.now(UTC) + KEPT + timedelta(days=1))
    night.wait_for("one")


class Killed(BaseException):
    """Stands for a kill: nothing of slowwave catches it."""


@contextmanager
def killed_at(number: int, monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """Kill at the fault point of this number; the list says which points were passed."""
    passed: list[str] = []

    def hook(event: str, path: str) -> None:
        passed.append(f"{event} {Path(path).name}")
        if len(passed) == number + 1:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(files, "fault_hook", hook)
        yield passed


def test_a_kill_at_any_write_loses_no_question_and_sends_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = 0
    for number in range(200):
        with serving() as server:
            night = Night(tmp_path / str(number), server)
            with killed_at(number, monkeypatch) as passed:
                try:
                    _to_the_end(night, server)
                except Killed:
                    pass
                else:
                    points = len(passed)
            _to_the_end(night, server)
            assert sorted(q["custom_id"] for b in server.batches for q in server.questions(b)) == sorted(
                night.ids().values()
            )
            assert [night.ask(user).data for user in ("one", "two")] == [GOOD, GOOD]
        if points:
            break
    assert points > 10, points


def _to_the_end(night: Night, server: batch_server.Provider) -> None:
    """Ask, hand over, answer and fetch, from wherever an earlier attempt came to."""
    for user in ("one", "two"):
        try:
            night.ask(user)
        except AnswerPendingError:
            continue
    night.hand_over()
    for batch, about in server.batches.items():
        if about["status"] == "in_progress":
            server.finish(batch, {q["custom_id"]: GOOD for q in server.questions(batch)})
    night.fetch()


def test_one_run_at_a_time_hands_over_and_collects(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one")
    with night.spool.alone() as is_alone:
        assert is_alone
        assert "another run" in night.hand_over().problems[0]
        assert "another run" in night.fetch().problems[0]
    assert server.calls == []
    assert night.hand_over().questions == 1


def test_a_parcel_says_what_is_in_it_and_survives_its_encoding(night: Night) -> None:
    night.wait_for("one")
    night.spool.pack(night.server.url)
    parcel = night.spool.parcels()[0]
    lines = night.spool.input_of(parcel).read_bytes().splitlines()
    assert parcel == Parcel(parcel.id, night.server.url, tuple(json.loads(line)["custom_id"] for line in lines))


def test_a_batch_that_its_server_has_forgotten_is_asked_again(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one")
    night.hand_over()
    del server.batches["batch-0"]
    fetched = night.fetch(NOW + timedelta(days=1))
    assert (fetched.waiting, fetched.failed) == (1, 0)
    fetched = night.fetch(NOW + FORGOTTEN + timedelta(minutes=1))
    assert (fetched.waiting, fetched.failed) == (0, 1)
    assert "the server lost it" in fetched.problems[0]
    night.wait_for("one")
    assert night.hand_over().questions == 1


def test_batches_that_fail_as_a_whole_never_give_a_question_up(night: Night, server: batch_server.Provider) -> None:
    for number in range(MOST_FAILURES + 1):
        night.wait_for("one")
        assert night.hand_over().questions == 1
        server.fail(f"batch-{number}", "token_limit_exceeded", "enqueued token limit reached")
        night.fetch()
    night.wait_for("one")


@pytest.mark.parametrize("garbage", [b"<html>hello</html>", b"[]", b'"x"', b"{}", b"null", b"7", b""])
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_a_server_that_speaks_something_else_costs_a_night_and_nothing_else(
    garbage: bytes, kind: str, night: Night, server: batch_server.Provider
) -> None:
    night.wait_for("one")
    server.garbage = garbage, kind
    handed = night.hand_over()
    assert (handed.questions, len(handed.problems)) == (0, 1)
    server.garbage = None
    assert night.hand_over().questions == 1
    server.finish("batch-0", {night.ids()["one"]: GOOD})
    server.garbage = garbage, kind
    assert night.fetch().waiting == 1
    server.garbage = None
    assert night.fetch().answers == 1
    assert night.ask("one").data == GOOD


def test_an_upload_that_the_server_dropped_is_made_again(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one")
    server.broken = {"/v1/batches"}
    night.hand_over()
    server.files.clear()
    server.broken = set()
    night.hand_over()
    assert night.hand_over().questions + len(server.batches) == 1


def test_files_that_could_not_be_deleted_are_deleted_by_the_next_night(
    night: Night, server: batch_server.Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    night.wait_for("one")
    night.hand_over()
    server.finish("batch-0", {night.ids()["one"]: GOOD})

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Provider, "clear", killed)
        with pytest.raises(Killed):
            night.fetch()
    assert server.files
    assert night.fetch() == Fetched()
    assert server.files == {}
    assert night.ask("one").data == GOOD
    assert night.spool.parcels() == []


def test_a_damaged_answer_stops_the_questions_and_names_its_file(night: Night, server: batch_server.Provider) -> None:
    night.wait_for("one")
    night.hand_over()
    server.finish("batch-0", {night.ids()["one"]: GOOD})
    night.fetch()
    (path,) = (night.folder / "answers").glob("*.json")
    path.write_bytes(b"{")
    with pytest.raises(ModelUnavailableError, match="delete it: it is asked again") as caught:
        night.ask("one")
    assert caught.value.is_general
