"""What is written to sessions of crabtalk and with ULIDs is read back, whoever writes and in whichever order."""

import json
import multiprocessing
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.context import FixedClock
from slowwave.formats import Block, SessionFiles, Text
from slowwave.formats.crabtalk.dialect import CRABTALK
from slowwave.formats.crabtalk.write import CrabtalkWriter, file_of
from slowwave.formats.ulid.dialect import ULID
from slowwave.formats.ulid.write import UlidWriter
from slowwave.formats.writing import Compaction, Draft, Means, Target
from tests.properties.said import CALLS, TEXTS, Said, answer, result, user

NOW = datetime(2025, 2, 11, 10, tzinfo=UTC)
ID = "01JKQ5W8ZP3V9YB2C4D6E8F0GH"
FORK = multiprocessing.get_context("fork")

OF_CRABTALK = (
    st.builds(user, TEXTS)
    | st.builds(answer, TEXTS, st.lists(CALLS, max_size=2), st.just("") | TEXTS)
    | st.builds(result, TEXTS, TEXTS)
    | TEXTS.map(Compaction)
)
OF_ULID = (
    st.builds(user, TEXTS)
    | st.builds(answer, TEXTS, st.lists(CALLS, max_size=2))
    | st.builds(result, TEXTS, TEXTS, is_error=st.booleans())
    | TEXTS.map(Compaction)
)


@contextmanager
def crabtalk() -> Generator[tuple[CrabtalkWriter, Target]]:
    with tempfile.TemporaryDirectory() as folder:
        writer = CrabtalkWriter(Means(FixedClock(NOW), Path(folder, "home")))
        path = writer.begin(Path(folder), "crab", "user")
        yield writer, Target("crab_user_1", path, (path,))


@contextmanager
def ulid() -> Generator[tuple[UlidWriter, Target]]:
    with tempfile.TemporaryDirectory() as folder:
        writer = UlidWriter(Means(FixedClock(NOW), Path(folder, "home")))
        path = writer.begin(Path(folder, "sessions"), ID)
        yield writer, Target(ID, path, (path,))


def write(writer: CrabtalkWriter | UlidWriter, target: Target, one: Said | Compaction) -> None:
    if isinstance(one, Compaction):
        writer.compaction(target, one)
    else:
        writer.message(target, one.draft)


def expected(all_of_it: list[Said | Compaction], summary: Callable[[str], str]) -> list[tuple[Block, ...]]:
    return [(Text(summary(o.summary)),) if isinstance(o, Compaction) else o.blocks for o in all_of_it]


def wrapped(summary: str) -> str:
    before = "The conversation history before this point was compacted into the following summary:"
    return f"{before}\n\n<summary>\n{summary}\n</summary>"


@settings(max_examples=30)
@given(st.lists(OF_CRABTALK, max_size=6))
def test_what_is_written_to_crabtalk_is_read_back(all_of_it: list[Said | Compaction]) -> None:
    with crabtalk() as (writer, target):
        for one in all_of_it:
            write(writer, target, one)
        transcript = CRABTALK.read(SessionFiles("s", (target.path,)))
        assert [m.blocks for m in transcript.messages] == expected(all_of_it, str)
        assert (transcript.problems, transcript.unknown_types, transcript.records) == ([], {}, len(all_of_it) + 1)
        last = max((i for i, one in enumerate(all_of_it) if isinstance(one, Compaction)), default=0)
        assert [m.blocks for m in CRABTALK.context(transcript)] == expected(all_of_it[last:], str)


@settings(max_examples=30)
@given(st.lists(OF_ULID, max_size=6))
def test_what_is_written_with_a_ulid_is_read_back(all_of_it: list[Said | Compaction]) -> None:
    with ulid() as (writer, target):
        for one in all_of_it:
            write(writer, target, one)
        transcript = ULID.read(SessionFiles("s", (target.path,)))
        assert [m.blocks for m in transcript.messages] == expected(all_of_it, wrapped)
        assert [m.id for m in transcript.messages] == [str(n) for n in range(1, len(all_of_it) + 1)]
        assert (transcript.problems, transcript.unknown_types) == ([], {})
        last = max((i for i, one in enumerate(all_of_it) if isinstance(one, Compaction)), default=0)
        assert [m.blocks for m in ULID.context(transcript)] == expected(all_of_it[last:], wrapped)


def assert_ulid_agrees(target: Target, messages: int) -> None:
    """The log is numbered without a gap, and the metadata say what it says."""
    records = [json.loads(line) for line in target.path.read_bytes().splitlines() if line.endswith(b"}")]
    whole = [r for r in records if "timestamp" in r]
    assert [r["seq"] for r in whole] == list(range(1, len(whole) + 1))
    metadata = json.loads((target.path.parent / "metadata.json").read_bytes())
    assert metadata["messageCount"] == messages == sum(r["recordType"] == "message" for r in whole)


ULID_STEPS = st.lists(
    st.sampled_from(["message", "message", "compaction", "name", "torn", "lost", "garbled", "fork"]), max_size=14
)


@settings(max_examples=30)
@given(ULID_STEPS)
def test_logs_and_metadata_with_ulids_agree_after_any_steps(steps: list[str]) -> None:
    with ulid() as (writer, target):
        messages = 0
        for number, step in enumerate(steps):
            before = target.path.read_bytes()
            if step == "message":
                writer.message(target, Draft("user", str(number)))
                messages += 1
            elif step == "compaction":
                keep = str(messages and _any_message(target)) if messages and number % 2 else None
                writer.compaction(target, Compaction(str(number), keep))
            elif step == "name":
                writer.name(target, str(number))
            elif step == "torn" and before.endswith(b"\n"):
                target.path.write_bytes(before + b'{"recordType":"mess')
            elif step == "lost":
                (target.path.parent / "metadata.json").unlink(missing_ok=True)
            elif step == "garbled":
                (target.path.parent / "metadata.json").write_bytes(b"{")
            elif step == "fork":
                folder = target.path.parent.parent
                (copy,) = writer.fork(target, folder, writer.new_id(folder))
                assert_ulid_agrees(Target(copy.parent.name, copy), messages)
            assert target.path.read_bytes().startswith(before)
        writer.refresh(target)
        assert_ulid_agrees(target, messages)
        assert len(ULID.read(SessionFiles("s", (target.path,))).messages) == messages + steps.count("compaction")


def _any_message(target: Target) -> int:
    transcript = ULID.read(SessionFiles("s", (target.path,)))
    return next(int(m.id) for m in transcript.messages if m.origin != "summary" and m.id)


CRABTALK_STEPS = st.lists(st.sampled_from(["message", "message", "compaction", "name", "torn", "fork"]), max_size=14)


@settings(max_examples=30)
@given(CRABTALK_STEPS)
def test_crabtalk_keeps_every_line_and_number_after_any_steps(steps: list[str]) -> None:
    with crabtalk() as (writer, target):
        folder = target.path.parent
        said: list[str] = []
        numbers = {1}
        for number, step in enumerate(steps):
            path = file_of(folder, target.id)
            if step == "message":
                writer.message(target, Draft("user", f"m{number}"))
                said.append(f"m{number}")
            elif step == "compaction":
                writer.compaction(target, Compaction(f"c{number}"))
                said.append(f"c{number}")
            elif step == "name":
                writer.name(target, f"title {number}")
            elif step == "torn":
                path.write_bytes(path.read_bytes() + b'{"role":"us')
            elif step == "fork":
                new_id = writer.new_id(folder, target)
                (copy,) = writer.fork(target, folder, new_id)
                assert int(new_id.rpartition("_")[2]) == max(numbers) + 1
                numbers.add(max(numbers) + 1)
                assert _texts(copy) == said
            assert _texts(file_of(folder, target.id)) == said
        assert len(list(folder.iterdir())) == len(numbers)


def _texts(path: Path) -> list[str]:
    return [m.text for m in CRABTALK.read(SessionFiles("s", (path,))).messages]


TWO_WRITERS = st.tuples(*(st.lists(st.sampled_from(["message", "compaction", "name"]), max_size=12),) * 2)


@settings(max_examples=8)
@given(TWO_WRITERS)
def test_two_processes_with_a_ulid_keep_every_invariant(plans: tuple[list[str], list[str]]) -> None:
    with ulid() as (writer, target):
        _run_together(writer, target, plans)
        assert_ulid_agrees(target, sum(plan.count("message") for plan in plans))
        _assert_in_order([m.text for m in ULID.read(SessionFiles("s", (target.path,))).messages], plans)


@settings(max_examples=8)
@given(TWO_WRITERS)
def test_two_processes_with_crabtalk_keep_every_line(plans: tuple[list[str], list[str]]) -> None:
    with crabtalk() as (writer, target):
        _run_together(writer, target, ([s for s in plans[0] if s != "name"], plans[1][:6]))
        _assert_in_order(_texts(file_of(target.path.parent, target.id)), (plans[0], plans[1][:6]))


def _run_together(writer: CrabtalkWriter | UlidWriter, target: Target, plans: tuple[list[str], list[str]]) -> None:
    def run(who: int) -> None:
        for number, step in enumerate(plans[who]):
            text = f"{who}.{step}.{number:02d}"
            if step == "message":
                writer.message(target, Draft("user", text))
            elif step == "compaction":
                writer.compaction(target, Compaction(text))
            else:
                writer.name(target, text)

    processes = [FORK.Process(target=run, args=(who,)) for who in (0, 1)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]


def _assert_in_order(texts: list[str], plans: tuple[list[str], list[str]]) -> None:
    """Everything that a process said is there once, in its order."""
    for who, plan in enumerate(plans):
        kinds = [step for step in plan if step != "name"]
        own: list[Any] = [t.split(f"{who}.", 1)[1][:-3] for t in _own(texts, who)]
        assert own == kinds


def _own(texts: list[str], who: int) -> Iterator[str]:
    for text in texts:
        line = next(line for line in text.splitlines() if line[:2] in ("0.", "1."))
        if line.startswith(f"{who}."):
            yield line
