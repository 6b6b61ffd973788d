"""The verdicts on what real clients do can fail; the clients themselves run with ``make conformance``."""

from typing import Any

from tests.conformance.clients.delivered import LINE, OURS, PRIVATE, told_wrong
from tests.conformance.clients.operations import COMPACTED, OPERATIONS
from tests.conformance.clients.resume import Resumed, comparable
from tests.conformance.clients.run import judged
from tests.conformance.clients.start import Started

SAID: list[dict[str, Any]] = [{"role": "user", "text": "hi"}, {"role": "assistant", "text": "hello"}]


def verdict(seen: Resumed, shows: str = "") -> str:
    return judged(seen, comparable(SAID), shows)[0]


def test_a_client_that_sends_what_is_expected_is_equal():
    assert verdict(Resumed(0, SAID, only_appended=True, bad_lines=[], error=""), "hello") == "equal"


def test_every_other_outcome_is_different():
    good = Resumed(0, SAID, only_appended=True, bad_lines=[], error="")
    assert verdict(good._replace(rc=1)) == "DIFFERENT"
    assert verdict(good._replace(context=SAID[:1])) == "DIFFERENT"
    assert verdict(good._replace(context=[SAID[0], {"role": "assistant", "text": "bye"}])) == "DIFFERENT"
    assert verdict(good._replace(only_appended=False)) == "DIFFERENT"
    assert verdict(good, "a summary that is not there") == "DIFFERENT"


def test_every_client_has_operations_and_every_operation_a_client():
    assert {client for operation in OPERATIONS for client in operation.clients} == set(COMPACTED)


def test_a_prompt_with_the_memory_once_and_nothing_else_is_right_and_every_other_is_wrong():
    good = Started(0, [f"{OURS} {LINE}", "a second request"], "")
    assert told_wrong(good, is_read=True) == ""
    for wrong in (
        good._replace(rc=1),
        good._replace(bodies=[]),
        good._replace(bodies=[OURS]),
        good._replace(bodies=[f"{OURS} {LINE} {LINE}"]),
        good._replace(bodies=[LINE]),
        *(good._replace(bodies=[f"{OURS} {LINE} {text}"]) for text in PRIVATE),
    ):
        assert told_wrong(wrong, is_read=True)
