"""Packs give back every byte, show every damage, and are there whole or not at all."""

import os
import random
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowwave import files
from slowwave.errors import CorruptStateError, MovedError, RefusedError, UnreadableError
from slowwave.stores.archive import pack
from slowwave.stores.archive.pack import Pack, PackedSession, Wanted, write_pack


class _KilledError(BaseException):
    """Stands for the end of the process."""


def wanted(name: str, *paths: Path) -> Wanted:
    return Wanted(PackedSession(name, "claude", "app", "/home/app", "2026-11-22T03:30:00+00:00", 1.5, ()), paths)


def session(folder: Path, name: str, data: bytes) -> Wanted:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_bytes(data)
    return wanted(name, path)


def nothing(_event: str, _path: str) -> None:
    pass


def line(number: int) -> bytes:
    text = b'{"type":"user","uuid":"%032x","message":{"role":"user","content":"please look at %d"}}\n'
    return text % (number, number)


def test_everything_of_a_session_comes_back(tmp_path: Path) -> None:
    side = tmp_path / "s1" / "subagents"
    side.mkdir(parents=True)
    (side / "a.jsonl").write_bytes(line(1))
    (side / "empty").write_bytes(b"")
    (side / "link").symlink_to("a.jsonl")
    name = os.fsdecode(b"not-utf8-\xff.txt")
    (side / name).write_bytes(b"\0\xff" * 50)
    main = session(tmp_path, "s1", line(2) * 1000)
    main.paths[0].chmod(0o640)
    os.utime(main.paths[0], ns=(5, 1_700_000_000_123_456_789))
    table = write_pack(tmp_path / "p.swpack", [wanted("s1", tmp_path / "s1", *main.paths)])
    with Pack(tmp_path / "p.swpack") as pack:
        assert pack.table == table
        (found,) = pack.table.sessions
        assert [(Path(f.path).name, f.kind) for f in found.files] == [
            ("s1", "folder"), ("subagents", "folder"), ("a.jsonl", "file"), ("empty", "file"), ("link", "link"),
            (name, "file"), ("s1.jsonl", "file"),
        ]  # fmt: skip
        for file in found.files:
            if file.kind == "file":
                assert pack.read(file) == Path(file.path).read_bytes()
        assert (found.files[-1].mode, found.files[-1].mtime_ns) == (0o640, 1_700_000_000_123_456_789)
        assert found.files[4].hash == "a.jsonl"
        assert found.size == sum(p.stat().st_size for p in [*side.iterdir(), *main.paths] if not p.is_symlink())
        pack.check(found)
    assert stat.S_IMODE((tmp_path / "p.swpack").stat().st_mode) == 0o600


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), chunk=st.sampled_from([1, 7, 64, 4096]))
def test_any_range_of_any_file_is_read_alone(tmp_path_factory: pytest.TempPathFactory, seed: int, chunk: int) -> None:
    chance = random.Random(seed)
    folder = tmp_path_factory.mktemp("packs")
    datas = [chance.randbytes(chance.randrange(200)) for _ in range(chance.randrange(5))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slowwave.stores.archive.pack.CHUNK", chunk)
        write_pack(folder / "p.swpack", [session(folder, str(n), data) for n, data in enumerate(datas)])
    with Pack(folder / "p.swpack") as pack:
        for found, data in zip(pack.table.sessions, datas, strict=True):
            start, size = chance.randrange(210), chance.randrange(210)
            assert pack.read(found.files[0], start, size) == data[start : start + size]
            assert pack.read(found.files[0], start) == data[start:]


def test_small_files_share_a_dictionary_and_are_twice_as_small(tmp_path: Path) -> None:
    small = [session(tmp_path / "small", f"s{n}", line(n) + line(n * 7)) for n in range(900)]
    table = write_pack(tmp_path / "with.swpack", small)
    assert table.dictionary[1]
    assert all(file.shared for one in table.sessions for file in one.files)
    with Pack(tmp_path / "with.swpack") as pack:
        for one in pack.table.sessions:
            pack.check(one)
        assert pack.read(pack.table.sessions[7].files[0]) == small[7].paths[0].read_bytes()
    alone = write_pack(tmp_path / "alone.swpack", small[:50])
    assert alone.dictionary == (0, 0)
    assert sum(map(packed, table.sessions[:50])) < sum(map(packed, alone.sessions)) / 2


def packed(one: PackedSession) -> int:
    return sum(size for file in one.files for size, _ in file.chunks)


def test_every_damage_shows(tmp_path: Path) -> None:
    write_pack(tmp_path / "p.swpack", [session(tmp_path, f"s{n}", line(n) * 30) for n in range(3)])
    data = (tmp_path / "p.swpack").read_bytes()
    contents_before = contents(tmp_path / "p.swpack")
    chance = random.Random(1)
    changed = [data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :] for at in chance.sample(range(len(data)), 150)]
    for broken in [*changed, *(data[: chance.randrange(len(data))] for _ in range(30)), b"", data + b"x"]:
        (tmp_path / "p.swpack").write_bytes(broken)
        try:
            found = contents(tmp_path / "p.swpack")
        except CorruptStateError:
            continue
        assert found == contents_before  # a bit of a frame's head that means nothing


def contents(path: Path) -> list[bytes]:
    with Pack(path) as pack:
        for one in pack.table.sessions:
            pack.check(one)
        return [pack.read(file) for one in pack.table.sessions for file in one.files]


def test_a_newer_form_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pack(tmp_path / "p.swpack", [session(tmp_path, "s", b"x")])
    monkeypatch.setattr(pack, "VERSION", 0)
    with pytest.raises(UnreadableError, match="newer version"):
        Pack(tmp_path / "p.swpack")


def test_a_file_that_grows_meanwhile_is_not_archived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = session(tmp_path, "s", line(1))

    from slowwave.stores.archive import pack  # noqa: PLC0415 - its reader is wrapped

    read = pack._read  # pyright: ignore[reportPrivateUsage]

    def read_and_grow(fd: int, into: memoryview) -> int:
        number = read(fd, into)
        if number:
            with one.paths[0].open("ab") as file:
                file.write(line(2))
        return number

    monkeypatch.setattr(pack, "_read", read_and_grow)
    with pytest.raises(MovedError, match="while it was archived"):
        write_pack(tmp_path / "p.swpack", [one])
    assert not list(tmp_path.glob("p.swpack*"))


def test_a_pipe_is_refused_and_a_pack_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RefusedError, match="neither a file"):
        write_pack(tmp_path / "p.swpack", [wanted("s", tmp_path / "pipe")])
    write_pack(tmp_path / "p.swpack", [session(tmp_path, "s", b"1")])
    with pytest.raises(RefusedError, match="exists already"):
        write_pack(tmp_path / "p.swpack", [session(tmp_path, "s", b"2")])


def test_a_kill_at_any_step_leaves_no_pack_or_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = session(tmp_path, "s", line(1) * 100)
    seen: list[str] = []

    def count(event: str, _path: str) -> None:
        seen.append(event)

    monkeypatch.setattr(files, "fault_hook", count)
    write_pack(tmp_path / "counted" / "p.swpack", [one])
    for stop in range(1, len(seen) + 1):
        left = stop

        def kill(_event: str, _path: str) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise _KilledError

        monkeypatch.setattr(files, "fault_hook", kill)
        path = tmp_path / str(stop) / "p.swpack"
        with pytest.raises(_KilledError):
            write_pack(path, [one])
        monkeypatch.setattr(files, "fault_hook", nothing)
        if path.exists():
            with Pack(path) as pack:
                pack.check(pack.table.sessions[0])


@pytest.mark.parametrize("claimed", [-1, 1])
def test_a_frame_of_another_length_than_the_table_says_is_no_chunk(tmp_path: Path, claimed: int) -> None:
    write_pack(tmp_path / "p.swpack", [session(tmp_path, "s", line(1) * 40)])
    with Pack(tmp_path / "p.swpack") as pack:
        (file,) = pack.table.sessions[0].files
        (chunk,) = file.chunks
        other = replace(file, chunks=((chunk[0], chunk[1] + claimed),))
        with pytest.raises(CorruptStateError, match="is not what was packed"):
            list(pack.fill(other, bytearray(chunk[1] + 1)))


def test_a_frame_with_a_changed_byte_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "p.swpack"
    write_pack(path, [session(tmp_path, "s", line(1) * 40)])
    with Pack(path) as pack:
        (file,) = pack.table.sessions[0].files
        with path.open("r+b") as behind:
            behind.seek(file.start + file.chunks[0][0] - 1)  # its checksum
            last = behind.read(1)
            behind.seek(-1, os.SEEK_CUR)
            behind.write(bytes([last[0] ^ 1]))
        with pytest.raises(CorruptStateError, match="is damaged"):
            list(pack.fill(file, bytearray(file.size)))
