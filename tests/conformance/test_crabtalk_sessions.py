"""crabtalk's own tests of sessions (``crates/core/tests/session.rs`` at RFC 0064), all twenty, by their names.

Where its behaviour is a defect that slowwave does not repeat, the test's name says so; such tests stand behind its own.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.context import FixedClock
from slowwave.errors import UnreadableError
from slowwave.formats import Message, Origin, SessionFiles, Text
from slowwave.formats.crabtalk import write as crabtalk
from slowwave.formats.crabtalk.dialect import (
    CRABTALK,
    CrabtalkTranscript,
    Meta,
    latest_session,
    sender_slug,
    sequence_of,
    session_id,
)
from slowwave.formats.crabtalk.write import CrabtalkWriter, latest_file
from slowwave.formats.messages import PlainMessage, normal_form
from slowwave.formats.writing import Compaction, Draft, Means, Target

NOW = datetime(2026, 2, 25, 10, tzinfo=UTC)
META = {"agent": "crab", "created_by": "user", "created_at": "2026-02-25T10:00:00+00:00", "title": "", "uptime_secs": 0}
USER = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "hi there"}


@pytest.fixture
def writer(tmp_path: Path) -> CrabtalkWriter:
    return CrabtalkWriter(Means(FixedClock(NOW), tmp_path / "home"))


def begun(writer: CrabtalkWriter, folder: Path, sender: str = "user") -> Target:
    path = writer.begin(folder, "crab", sender)
    return Target(path.stem, path, (path,))


def say(writer: CrabtalkWriter, target: Target, *texts: str) -> None:
    for number, text in enumerate(texts):
        writer.message(target, Draft("assistant" if number % 2 else "user", text))


def load(path: Path) -> CrabtalkTranscript:
    return CRABTALK.read(SessionFiles(path.stem, (path,)))


def read(folder: Path, *lines: object) -> CrabtalkTranscript:
    path = folder / "crab_user_1.jsonl"
    rows = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(row + b"\n" for row in rows))
    return load(path)


def texts(transcript: CrabtalkTranscript) -> list[str]:
    return [f"{m['role']}: {m['text']}" for m in normal_form(CRABTALK.context(transcript))]


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def meta_file(folder: Path, name: str, agent: str = "crab", sender: str = "user") -> Path:
    path = folder / name
    meta = {"agent": agent, "created_by": sender, "created_at": "2024-01-01T00:00:00Z"}
    path.write_bytes(json.dumps(meta).encode() + b"\n")
    return path


def test_sender_slug_basic() -> None:
    assert sender_slug("hello") == "hello"


def test_sender_slug_special_chars() -> None:
    assert sender_slug("TG:user-123") == "tg-user-123"


def test_sender_slug_collapses_dashes() -> None:
    assert sender_slug("a::b") == "a-b"


def test_sender_slug_empty() -> None:
    assert sender_slug("") == ""


def test_sender_slug_all_special() -> None:
    assert sender_slug(":::") == ""


def test_init_file_creates_jsonl(writer: CrabtalkWriter, tmp_path: Path) -> None:
    path = begun(writer, tmp_path / "sessions").path
    assert path.is_file()
    assert path.name == "crab_user_1.jsonl"


def test_init_file_meta_line(writer: CrabtalkWriter, tmp_path: Path) -> None:
    path = begun(writer, tmp_path).path
    (line,) = lines(path)
    assert json.loads(line) == META | {"created_at": "2026-02-25T10:00:00.000000+00:00"}
    assert load(path).meta == Meta("crab", "user", "2026-02-25T10:00:00.000000+00:00", "", 0)


def test_append_messages_persists(writer: CrabtalkWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    say(writer, target, "hello", "hi")
    assert len(lines(target.path)) == 3
    transcript = load(target.path)
    assert (transcript.records, len(transcript.messages), transcript.problems) == (3, 2, [])


def test_append_skips_auto_injected() -> None:
    def message(text: str, origin: Origin) -> Message:
        return PlainMessage("user", (Text(text),), (), origin)

    assert crabtalk.line_of(message("injected", "injected")) is None
    assert crabtalk.line_of(message("real", "typed")) == b'{"role":"user","content":"real"}\n'


def test_load_context_roundtrip(writer: CrabtalkWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path, "tester")
    say(writer, target, "hello", "world")
    transcript = load(target.path)
    assert transcript.meta is not None
    assert (transcript.meta.agent, transcript.meta.created_by) == ("crab", "tester")
    assert texts(transcript) == ["user: hello", "assistant: world"]


def test_load_context_after_compact(writer: CrabtalkWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    say(writer, target, "old", "old reply")
    writer.compaction(target, Compaction("summary of conversation"))
    say(writer, target, "new")
    assert texts(load(target.path)) == ["user: summary of conversation", "user: new"]
    assert len(load(target.path).messages) == 4  # nothing is deleted


def test_set_title_renames_file(writer: CrabtalkWriter, tmp_path: Path) -> None:
    target = begun(writer, tmp_path)
    writer.name(target, "My Chat")
    assert not target.path.exists()
    assert load(tmp_path / "crab_user_1_my-chat.jsonl").title == "My Chat"


def test_find_latest_session_picks_highest_seq(tmp_path: Path) -> None:
    for seq in (1, 3, 2):
        meta_file(tmp_path, f"crab_user_{seq}.jsonl")
    assert latest_file(tmp_path, "crab", "user") == tmp_path / "crab_user_3.jsonl"


def test_load_context_empty_file(tmp_path: Path) -> None:
    transcript = read(tmp_path)
    with pytest.raises(UnreadableError, match="metadata"):
        CRABTALK.context(transcript)


@pytest.mark.parametrize("line", [USER, b"not valid json", {"agent": 5, "created_by": "user"}])
def test_load_context_invalid_meta(tmp_path: Path, line: object) -> None:
    transcript = read(tmp_path, line)
    with pytest.raises(UnreadableError, match="metadata"):
        CRABTALK.context(transcript)


def test_load_context_skips_invalid_message_lines(tmp_path: Path) -> None:
    transcript = read(tmp_path, META, b"{this is not valid json}", b"", USER, b"   ", {"role": "robot"}, ANSWER)
    assert texts(transcript) == ["user: hello", "assistant: hi there"]
    assert transcript.unknown_types == {"role robot": 1}


def test_load_context_nonexistent_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        load(tmp_path / "missing.jsonl")


def test_find_latest_session_empty_dir(tmp_path: Path) -> None:
    assert latest_file(tmp_path, "crab", "user") is None
    assert latest_file(tmp_path / "missing", "crab", "user") is None


def test_find_latest_session_no_match(tmp_path: Path) -> None:
    meta_file(tmp_path, "other_agent_user_1.jsonl", agent="other_agent")
    assert latest_file(tmp_path, "crab", "user") is None


def test_seq_increments_across_init_file_calls(writer: CrabtalkWriter, tmp_path: Path) -> None:
    names = [begun(writer, tmp_path, sender).path.name for sender in ("user", "user", "TG:1", "user")]
    assert names == ["crab_user_1.jsonl", "crab_user_2.jsonl", "crab_tg-1_1.jsonl", "crab_user_3.jsonl"]


# What crabtalk does not test, or gets wrong.


def test_only_the_last_marker_counts(tmp_path: Path) -> None:
    transcript = read(tmp_path, META, USER, ANSWER, {"compact": "first"}, USER, {"compact": "second"}, ANSWER)
    assert texts(transcript) == ["user: second", "assistant: hi there"]
    assert [m.origin for m in transcript.messages] == ["typed", "model", "summary", "typed", "summary", "model"]


def test_a_marker_without_a_text_is_none(tmp_path: Path) -> None:
    transcript = read(tmp_path, META, USER, {"compact": 5}, {"compact": None, "role": "user", "content": "more"})
    assert texts(transcript) == ["user: hello", "user: more"]
    assert transcript.unknown_types == {"no role": 1}


@pytest.mark.parametrize("first", [b"", b"garbage", b"\xef\xbb\xbf" + json.dumps(META).encode() + b" {}"])
def test_metadata_that_do_not_stand_alone_on_the_first_line_are_refused(tmp_path: Path, first: bytes) -> None:
    transcript = read(tmp_path, first, META, USER)
    assert [m.text for m in transcript.messages] == ["hello"]
    with pytest.raises(UnreadableError, match="metadata"):
        CRABTALK.context(transcript)


def test_a_line_with_two_messages_is_skipped_by_the_client_but_read(tmp_path: Path) -> None:
    glued = json.dumps(USER).encode() + json.dumps({"compact": "lost"}).encode()
    transcript = read(tmp_path, META, ANSWER, glued)
    assert texts(transcript) == ["assistant: hi there"]
    assert len(transcript.messages) == 3


def test_half_a_character_makes_the_client_skip_a_line(tmp_path: Path) -> None:
    transcript = read(tmp_path, META, ANSWER, b'{"compact":"a\\ud800"}', USER)
    assert texts(transcript) == ["assistant: hi there", "user: hello"]
    assert len(transcript.messages) == 3


def test_a_line_that_is_not_utf8_is_read_where_the_client_gives_up(tmp_path: Path) -> None:
    transcript = read(tmp_path, META, USER, b'{"role":"assistant","content":"a\xffb"}')
    assert texts(transcript) == ["user: hello", "assistant: a\ufffdb"]


def test_letters_of_every_script_stay_in_a_slug() -> None:
    assert sender_slug("Åke É") == "Åke-É"


def meta(agent: str = "crab", sender: str = "user") -> Meta:
    return Meta(agent, sender)


def test_find_latest_session_counts_numbers_as_numbers_and_looks_past_titles() -> None:
    names = ["crab_user_1.jsonl", "crab_user_10_my-chat.jsonl", "crab_user_2.jsonl", "crab_bob_20.jsonl"]
    assert latest_session([(n, meta()) for n in names], "crab", "user") == "crab_user_10_my-chat.jsonl"


def test_one_odd_name_does_not_hide_all_sessions_as_in_the_client(tmp_path: Path) -> None:
    meta_file(tmp_path, "crab_user_2.jsonl")
    meta_file(tmp_path, "crab_user_x_9.jsonl", agent="crab_user", sender="x")
    meta_file(tmp_path, "crab_user_7.jsonl", sender="other")
    (tmp_path / "crab_user_.jsonl").write_bytes(b"")
    (tmp_path / "crab_user_\uff13.jsonl").write_bytes(b"")
    assert latest_file(tmp_path, "crab", "user") == tmp_path / "crab_user_2.jsonl"
    assert latest_file(tmp_path, "crab_user", "x") == tmp_path / "crab_user_x_9.jsonl"


def test_an_agent_whose_name_ends_like_a_sender_is_told_by_the_metadata(tmp_path: Path) -> None:
    meta_file(tmp_path, "crab_user_7_2.jsonl", agent="crab_user", sender="7")
    assert latest_file(tmp_path, "crab", "user") is None
    assert latest_file(tmp_path, "crab_user", "7") == tmp_path / "crab_user_7_2.jsonl"


def test_a_sender_of_a_script_that_crabtalk_slugs_otherwise_is_found_by_the_metadata(tmp_path: Path) -> None:
    sender = "\u0939\u093f\u0928"  # with a vowel sign, which Rust counts among the letters
    path = meta_file(tmp_path, f"crab_{sender}_4.jsonl", sender=sender)
    assert latest_file(tmp_path, "crab", sender) == path


def test_sequence_and_id_of_a_name() -> None:
    assert sequence_of("crab_tg-1_12_title_again.jsonl", "crab", "TG:1") == 12
    assert sequence_of("crab_tg-1_12.json", "crab", "TG:1") is None
    assert session_id("crab", "TG:1", 12) == "crab_tg-1_12"
