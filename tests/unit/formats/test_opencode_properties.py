"""opencode sessions with any bytes changed: nothing raises, and what is read has a place."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from slowwave.formats.opencode.dialect import OPENCODE
from tests.unit.formats.opencode_files import Session, done, read, words

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "type", "state", "text"]), inner)
    ),
    max_leaves=8,
)


def example() -> Session:
    session = Session(revert={"messageID": "x"})
    session.user("naïve 🙂")
    session.answer(words("ok"), done("x", time={"compacted": 1}), finish="stop")
    session.compact("sum", tail="y")
    return session


@given(st.integers(0, 4_000), st.binary(min_size=1, max_size=4))
def test_changed_bytes_raise_nothing(at: int, junk: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = example().export(Path(folder))
        data = path.read_bytes()
        at %= len(data)
        path.write_bytes(data[:at] + junk + data[at + len(junk) :])
        transcript = read(path)
        for messages in (transcript.messages, OPENCODE.context(transcript)):
            for found in messages:
                assert len(found.blocks) == len(found.sources)


@given(JSON, JSON, JSON)
def test_fields_of_any_type_raise_nothing(info: object, part: object, session: object) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "export.json")
        messages = [{"info": info, "parts": [part, part]}, {"info": {"role": "assistant"}, "parts": [part]}]
        path.write_text(json.dumps({"info": session, "messages": messages}), encoding="utf-8")
        transcript = read(path)
        assert len(OPENCODE.context(transcript)) <= 2 * len(transcript.messages)
