"""Alarms by webhook: what is sent, what is not, and that nobody waits for ever."""

import json
import socket
from datetime import timedelta

import pytest

from slowwave.errors import ServerError, SettingsError
from slowwave.observability.night import Alarm, Night
from slowwave.observability.telemetry import post
from slowwave.settings import AlarmSettings
from tests.unit.observability.nights import a_night
from tests.unit.observability.receiver import receiving

KEY = "sk-proj-" + "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ" * 2
TOKEN = "T0KEN-in-the-address"
NIGHT: Night = a_night(alarms=[Alarm("failures", f"1 failure in nightly, first: api_key={KEY} is wrong", 1)])


def settings(address: str, timeout: float = 5) -> AlarmSettings:
    return AlarmSettings(webhook=f"{address}/hooks/{TOKEN}", timeout=timedelta(seconds=timeout))


def test_an_alarm_is_one_json_object() -> None:
    with receiving() as receiver:
        post(NIGHT, settings(receiver.address))
    ((path, body),) = receiver.got
    told = json.loads(body)
    assert (path, receiver.types) == (f"/hooks/{TOKEN}", ["application/json"])
    assert (told["source"], told["job"], told["run_id"]) == ("slowwave", "nightly", "r0")
    assert told["host"] == socket.gethostname()
    assert [(alarm["name"], alarm["count"]) for alarm in told["alarms"]] == [("failures", 1)]
    assert told["text"].startswith("failures: 1 failure in nightly")


def test_no_secret_is_in_it() -> None:
    with receiving() as receiver:
        post(NIGHT, settings(receiver.address))
    assert KEY.encode() not in receiver.got[0][1]


@pytest.mark.parametrize("status", [404, 500])
def test_a_refusal_is_told_without_the_address(status: int) -> None:
    with receiving() as receiver:
        receiver.status = status
        with pytest.raises(ServerError, match=f"127.0.0.1 answered {status} to 1 alarms") as told:
            post(NIGHT, settings(receiver.address))
    assert TOKEN not in str(told.value)


def test_an_alarm_is_not_sent_on_to_anybody_else() -> None:
    with receiving() as receiver, receiving() as other:
        receiver.status, receiver.location = 307, other.address
        with pytest.raises(ServerError, match="answered 307"):
            post(NIGHT, settings(receiver.address))
        assert other.got == []


def test_nobody_there_is_told() -> None:
    with receiving() as receiver:
        address = receiver.address
    with pytest.raises(ServerError, match=r"127\.0\.0\.1 did not take 1 alarms") as told:
        post(NIGHT, settings(address))
    assert TOKEN not in str(told.value)


def test_a_server_that_never_answers_is_left_after_the_time_limit() -> None:
    with receiving() as receiver:
        receiver.is_slow = True
        with pytest.raises(ServerError, match=r"\(timed out\)|\(TimeoutError\)"):
            post(NIGHT, settings(receiver.address, timeout=0.05))


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/x", "file:///etc/passwd", "127.0.0.1:80", "http://[x"])
def test_an_address_of_another_kind_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(SettingsError, match=r"alarms\.webhook") as told:
        post(NIGHT, AlarmSettings(webhook=address))
    assert address not in str(told.value)


def test_a_wrong_address_is_told_on_a_night_without_alarms_too() -> None:
    with pytest.raises(SettingsError):
        post(a_night(), AlarmSettings(webhook="hooks.example"))


def test_a_night_without_alarms_sends_nothing() -> None:
    with receiving() as receiver:
        post(a_night(), settings(receiver.address))
    assert receiver.got == []


def test_an_address_with_a_line_end_is_told_without_it() -> None:
    with pytest.raises(ServerError) as told:
        post(NIGHT, AlarmSettings(webhook="http://127.0.0.1:1/a b"))
    assert "a b" not in str(told.value)
