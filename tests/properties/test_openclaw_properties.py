"""What holds of every store and every session of OpenClaw, whatever is in them."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.errors import UnreadableError
from slowwave.formats import SessionFiles, Span
from slowwave.formats.messages import normal_form
from slowwave.formats.openclaw.dialect import OPENCLAW, OpenclawTranscript, repaired
from slowwave.formats.openclaw.sessions import artifact_of
from slowwave.formats.openclaw.store import Fields, parse_key, read_store, update_store, values_of
from slowwave.formats.pi.dialect import Said
from slowwave.formats.pi.records import DECODER, entry_of
from tests.unit.formats.openclaw_files import Agent, session
from tests.unit.formats.pi_files import call

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
# Names that no migration renames.
NAMES = st.text(max_size=8).filter(lambda name: name not in ("provider", "lastProvider", "room", "ours"))
KINDS = ("user", "model", "call", "result", "compact", "leaf", "reset", "custom")
STORES = st.dictionaries(st.text(max_size=12), st.dictionaries(NAMES, JSON, max_size=4) | JSON, max_size=4)


@settings(max_examples=40)
@given(STORES)
def test_a_field_that_comes_and_goes_leaves_every_byte_as_it_was(values: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "sessions.json")
        raw = json.dumps(values, indent=2, ensure_ascii=False).encode("utf-8", "replace")
        path.write_bytes(raw)
        keys = list(read_store(path))
        for value in (1, None):
            for key in keys:
                update_store(path, lambda s, k=key, v=value: s.put(k, s[k].patched({"ours": v})))
        assert json.loads(path.read_bytes()) == json.loads(raw)
        assert path.read_bytes() == raw


@given(STORES, st.integers(0, 200))
def test_a_store_that_was_cut_short_is_refused_and_not_written_over(values: dict[str, Any], cut: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "sessions.json")
        raw = json.dumps(values).encode()
        raw = raw[: min(cut, len(raw) - 1)]
        path.write_bytes(raw)
        try:
            update_store(path, lambda s: s.put("k", next(iter(s.values()))) if len(s) else None)
        except UnreadableError:
            pass
        else:
            raise AssertionError(f"{raw!r} was taken for a store")
        assert path.read_bytes() == raw


@given(STORES, st.sampled_from([None, 2]), st.booleans())
def test_objects_are_cut_alike_by_the_fast_way_and_the_slow_one(
    values: dict[str, Any],
    indent: int | None,
    ascii_only: bool,
) -> None:
    raw = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    # half of a character makes the fast way refuse the whole
    half = raw.removesuffix(b"}").rstrip() + (b"," if values else b"") + b'"half": "\\ud83d"}'
    fast = msgspec.json.decode(raw, type=Fields)
    slow = values_of(half)
    assert slow is not None
    assert {k: bytes(v) for k, v in slow.items() if k != "half"} == {
        k: bytes(v) for k, v in fast.items() if k != "half"
    }


@given(
    st.lists(st.sampled_from(["user", "model", "call", "result", "compact", "leaf", "reset", "custom"]), max_size=12)
)
def test_a_session_is_the_same_in_a_file_and_in_a_database(kinds: list[str]) -> None:
    made = session()
    for number, kind in enumerate(kinds):
        match kind:
            case "user":
                made.user(f"prompt {number}")
            case "model":
                made.model(f"answer {number}")
            case "call":
                made.model(call(f"c{number}"))
            case "result":
                made.result(f"c{number - 1}", "done")
            case "compact":
                made.compact(f"e{max(1, number - 3)}")
            case "leaf":
                made.add("leaf", targetId=f"e{max(1, number - 1)}")
            case "reset":
                made.add("reset", reason="new")
            case _:
                made.add("custom", customType="model-snapshot")
    with TemporaryDirectory() as folder:
        path = Path(folder, "s1.jsonl")
        path.write_bytes(made.data())
        agent = Agent(Path(folder))
        agent.add(made, packed=True)
        read = [OPENCLAW.read(SessionFiles("s1", (p,))) for p in (path, agent.path)]
    assert shown(read[0]) == shown(read[1])
    assert read[0].problems == read[1].problems == []


def shown(transcript: OpenclawTranscript) -> object:
    messages = [(m.role, m.id, m.active, m.origin, m.text) for m in transcript.messages]
    return messages, transcript.records, transcript.kind, normal_form(OPENCLAW.context(transcript))


@given(st.text() | st.lists(st.sampled_from(["agent", "main", "dm", "group", "cron", "thread", "", "x"])).map(":".join))
def test_every_key_and_every_name_says_something(text: str) -> None:
    assert parse_key(text).kind
    assert artifact_of(text).kind


def _said(role: str, calls: list[str], answers: str = "") -> Said:
    raw = b'{"type":"message","id":"a","message":{}}'
    parts: list[dict[str, Any]] = [{"type": "toolCall", "id": c, "name": "read"} for c in calls]
    return Said(role, parts, {"toolCallId": answers}, entry_of(DECODER.decode(raw), Span(0, 1, 0, raw)))


IDS = st.sampled_from(["a", "b", "c"])
TALK = st.lists(
    st.builds(_said, st.just("assistant"), st.lists(IDS, max_size=2, unique=True))
    | st.builds(_said, st.just("toolResult"), st.just(list[str]()), IDS)
    | st.builds(_said, st.just("user"), st.just(list[str]())),
    max_size=10,
)


@given(TALK)
def test_a_repaired_conversation_has_one_result_behind_each_call_and_no_other(talk: list[Said]) -> None:
    done = repaired(talk).messages
    at = 0
    while at < len(done):
        assert done[at].role != "toolResult"
        calls = [part["id"] for part in done[at].parts]
        results = [item.fields["toolCallId"] for item in done[at + 1 : at + 1 + len(calls)]]
        assert results == calls
        at += 1 + len(calls)
    assert [m for m in done if m.role == "user"] == [m for m in talk if m.role == "user"]
