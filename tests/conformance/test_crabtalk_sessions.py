"""crabtalk's own tests of sessions (RFC 0064), by their names, as far as they are about reading and names.

Where its behaviour is a defect that slowwave does not repeat, the test's name says so.
"""

import json
from pathlib import Path

import pytest

from slowwave.dialects.crabtalk.dialect import CRABTALK, CrabtalkTranscript
from slowwave.dialects.crabtalk.names import latest_session, sender_slug, sequence_of
from slowwave.dialects.crabtalk.records import Meta
from slowwave.dialects.model import SessionFiles
from slowwave.dialects.normal import normal_form
from slowwave.errors import UnreadableError

META = {"agent": "crab", "created_by": "user", "created_at": "2026-02-25T10:00:00+00:00", "title": "", "uptime_secs": 0}
USER = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "hi there"}


def read(folder: Path, *lines: object) -> CrabtalkTranscript:
    path = folder / "crab_user_1.jsonl"
    rows = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(row + b"\n" for row in rows))
    return CRABTALK.read(SessionFiles("crab_user_1", (path,)))


def texts(transcript: CrabtalkTranscript) -> list[str]:
    return [f"{m['role']}: {m['text']}" for m in normal_form(CRABTALK.context(transcript))]


@pytest.mark.parametrize(
    ("sender", "slug"),
    [("user", "user"), ("TG:user-123", "tg-user-123"), ("a::b", "a-b"), ("", ""), (":::", ""), ("Åke É", "Åke-É")],
)
def test_sender_slug(sender: str, slug: str) -> None:
    assert sender_slug(sender) == slug


def test_one_meta_line_with_agent_and_creator(tmp_path: Path) -> None:
    transcript = read(tmp_path, META | {"title": "My chat"})
    assert transcript.meta == Meta("crab", "user", "2026-02-25T10:00:00+00:00", "My chat", 0)
    assert (transcript.records, transcript.title, transcript.messages) == (1, "My chat", [])


def test_meta_and_two_messages_are_three_records(tmp_path: Path) -> None:
    transcript = read(tmp_path, META, USER, ANSWER)
    assert (transcript.records, len(transcript.messages), transcript.problems) == (3, 2, [])


def test_load_context_round_trip(tmp_path: Path) -> None:
    assert texts(read(tmp_path, META, USER, ANSWER)) == ["user: hello", "assistant: hi there"]


def test_load_context_after_compact_is_the_summary_and_what_is_new(tmp_path: Path) -> None:
    transcript = read(tmp_path, META, USER, ANSWER, {"compact": "first"}, USER, {"compact": "second"}, ANSWER)
    assert texts(transcript) == ["user: second", "assistant: hi there"]
    assert [m.origin for m in transcript.messages] == ["typed", "model", "summary", "typed", "summary", "model"]


@pytest.mark.parametrize("lines", [[], [USER], [b"not json"], [{"agent": 5, "created_by": "user"}]])
def test_empty_file_and_bad_meta_are_errors_of_the_context(tmp_path: Path, lines: list[object]) -> None:
    transcript = read(tmp_path, *lines)
    with pytest.raises(UnreadableError, match="metadata"):
        CRABTALK.context(transcript)


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        CRABTALK.read(SessionFiles("x", (tmp_path / "missing.jsonl",)))


def test_bad_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    transcript = read(tmp_path, META, b"garbage", b"", USER, b"   ", {"role": "robot", "content": "x"}, ANSWER)
    assert texts(transcript) == ["user: hello", "assistant: hi there"]
    assert transcript.unknown_types == {"role robot": 1}


def test_a_line_with_two_messages_is_skipped_by_the_client_but_read(tmp_path: Path) -> None:
    glued = json.dumps(USER).encode() + json.dumps({"compact": "lost"}).encode()
    transcript = read(tmp_path, META, ANSWER, glued)
    assert texts(transcript) == ["assistant: hi there"]
    assert len(transcript.messages) == 3


def test_a_line_that_is_not_utf8_is_read_where_the_client_gives_up(tmp_path: Path) -> None:
    transcript = read(tmp_path, META, USER, b'{"role":"assistant","content":"a\xffb"}')
    assert texts(transcript) == ["user: hello", "assistant: a\ufffdb"]


def meta(agent: str = "crab", sender: str = "user") -> Meta:
    return Meta(agent, sender)


def test_find_latest_session_takes_the_highest_number() -> None:
    names = ["crab_user_1.jsonl", "crab_user_10_my-chat.jsonl", "crab_user_2.jsonl", "crab_bob_20.jsonl"]
    assert latest_session([(n, meta()) for n in names], "crab", "user") == "crab_user_10_my-chat.jsonl"


def test_find_latest_session_of_no_files_or_no_match() -> None:
    assert latest_session([], "crab", "user") is None
    assert latest_session([("crab_bob_1.jsonl", meta(sender="bob"))], "crab", "user") is None


def test_one_odd_name_does_not_hide_all_sessions_as_in_the_client() -> None:
    odd = ("crab_user_x_9.jsonl", meta(agent="crab_user", sender="x"))
    other = ("crab_user_7.jsonl", meta(agent="crab", sender="other"))
    files = [("crab_user_2.jsonl", meta()), odd, other, ("crab_user_.jsonl", None), ("crab_user_\uff13.jsonl", None)]
    assert latest_session(files, "crab", "user") == "crab_user_2.jsonl"
    assert latest_session(files, "crab_user", "x") == "crab_user_x_9.jsonl"


def test_sequence_of_a_name() -> None:
    assert sequence_of("crab_tg-1_12_title_again.jsonl", "crab", "TG:1") == 12
    assert sequence_of("crab_tg-1_12.json", "crab", "TG:1") is None
