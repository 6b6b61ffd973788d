"""Codex rollouts that nobody wrote by hand: cut anywhere, with any byte changed, with rollbacks in any order."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from slowwave.formats.codex.dialect import CODEX
from tests.unit.formats.codex_files import (
    ENVIRONMENT,
    Line,
    call,
    compacted,
    event,
    line,
    message,
    meta,
    output,
    read,
    rollout,
    said,
    turn,
)

ROWS: list[Line] = [
    meta(git={"branch": "main"}),
    said("user", ENVIRONMENT),
    *turn("naïve 🙂 \u2028", "ok"),
    call(),
    output(),
    compacted("s", message("user", "kept")),
    line("turn_context", {"cwd": "/v"}),
    *turn("two", "2"),
    event("thread_rolled_back", num_turns=1),
    said("user", "three"),
]
STEPS = st.one_of(
    st.integers(0, 9).map(lambda n: turn(f"q{n}", f"a{n}")),
    st.integers(0, 4).map(lambda n: [event("thread_rolled_back", num_turns=n)]),
    st.integers(0, 3).map(lambda n: [call(f"c{n}")]),
    st.integers(0, 3).map(lambda n: [output(f"c{n}")]),
    st.sampled_from([[compacted("s")], [compacted("s", message("user", "kept"))], [said("user", ENVIRONMENT)]]),
)


def written(data: bytes, folder: str) -> Path:
    path = Path(folder, "rollout-x.jsonl")
    path.write_bytes(data)
    return path


def test_any_prefix_loses_only_the_torn_line(tmp_path: Path) -> None:
    data = rollout(tmp_path, *ROWS).read_bytes()
    path = tmp_path / "cut.jsonl"
    # Every prefix around the ends of lines, and some in between.
    ends = {at + d for at, byte in enumerate(data) if byte == ord("\n") for d in range(-12, 6)}
    for size in sorted({*range(0, len(data), 17), *ends} & {*range(len(data) + 1)}):
        path.write_bytes(data[:size])
        transcript = read(path)
        whole = data[:size].count(b"\n")
        # A last line that is whole but for its newline is a record, too.
        assert transcript.records in (whole, whole + 1)
        assert {p.kind for p in transcript.problems} <= {"torn"}
        assert len(CODEX.context(transcript)) <= len(ROWS)


@given(st.integers(0, 3_000), st.binary(min_size=1, max_size=4))
def test_changed_bytes_raise_nothing(at: int, junk: bytes) -> None:
    with TemporaryDirectory() as folder:
        data = rollout(Path(folder), *ROWS).read_bytes()
        at %= len(data)
        transcript = read(written(data[:at] + junk + data[at + len(junk) :], folder))
        for messages in (transcript.messages, CODEX.context(transcript)):
            for found in messages:
                assert len(found.blocks) == len(found.sources)


@given(st.lists(STEPS, max_size=25))
def test_any_history_pairs_calls_with_results_and_keeps_what_counts(steps: list[list[Line]]) -> None:
    with TemporaryDirectory() as folder:
        path = rollout(Path(folder), meta(), *(row for step in steps for row in step))
        transcript = read(path)
        sent = CODEX.context(transcript)
    answered = [r.id for m in sent for r in m.results]
    assert {c.id for m in sent for c in m.calls} == set(answered)
    shown = {id(m) for m in transcript.messages}
    assert len(shown) == len(transcript.messages)
    if not any(row["type"] == "compacted" for step in steps for row in step):
        active = [m.text for m in transcript.messages if m.active and m.role in ("user", "assistant") and m.text]
        assert [m.text for m in sent if m.origin in ("typed", "model") and m.text] == active
