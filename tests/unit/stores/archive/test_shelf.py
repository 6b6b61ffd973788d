"""The shelf: finding, restoring and taking out, whatever is killed, damaged or in the way."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave import files
from slowwave.errors import CorruptStateError, RefusedError
from slowwave.stores.archive import shelf as shelf_module
from slowwave.stores.archive.pack import Pack, PackedSession, Table, Wanted, table_of, write_pack
from slowwave.stores.archive.shelf import Shelf
from tests.unit.stores.archive.shelves import Tree, tree


class _KilledError(BaseException):
    """Stands for the end of the process."""


def line(number: int, words: str = "please look at it") -> bytes:
    text = b'{"type":"user","uuid":"%032x","message":{"role":"user","content":"%s %d"}}\n'
    return text % (number, words.encode(), number)


def packed(name: str, *paths: Path, at: str = "2026-11-22T03:30:00+00:00", **fields: object) -> Wanted:
    return Wanted(PackedSession(name, "claude", "app", "/home/app", at, 1.5, (), **fields), paths)  # type: ignore[arg-type]


def store(folder: Path, chance: random.Random, sessions: int = 4) -> dict[str, list[Path]]:
    """Make sessions with side folders, odd names, modes, times, links and empty files."""
    found: dict[str, list[Path]] = {}
    names = ["a", "b c", os.fsdecode(b"\xff\xfe"), "é\n", "x" * 200]
    for number in range(sessions):
        name = f"s{number}"
        main = folder / f"{name}.jsonl"
        main.parent.mkdir(parents=True, exist_ok=True)
        main.write_bytes(b"".join(line(n, chance.choice(["one", "two"])) for n in range(chance.randrange(60))))
        paths = [main]
        if chance.random() < 0.6:
            side = folder / name / "subagents" / "deep"
            side.mkdir(parents=True)
            for one in chance.sample(names, 3):
                path = side.parent / one if chance.random() < 0.5 else side / one
                if chance.random() < 0.2:
                    path.symlink_to(chance.choice(["../nowhere", "/etc/hostname", main]))
                else:
                    path.write_bytes(chance.randbytes(chance.randrange(300)))
                    path.chmod(chance.choice([0o600, 0o644, 0o400, 0o755]))
                os.utime(path, ns=(1, chance.randrange(10**18)), follow_symlinks=False)
            side.chmod(chance.choice([0o700, 0o755, 0o711]))
            os.utime(side, ns=(1, chance.randrange(10**18)))
            paths.insert(0, folder / name)
        main.chmod(chance.choice([0o600, 0o640]))
        os.utime(main, ns=(1, chance.randrange(10**18)))
        found[name] = paths
    return found


def clear(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def times(folder: Path) -> dict[str, int]:
    """Return the times of folders in which nothing else lies."""
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("deep")}


def shelf_of(tmp_path: Path, seed: int = 1) -> tuple[Shelf, Path, Tree]:
    home = tmp_path / "home"
    sessions = store(home, random.Random(seed))
    write_pack(tmp_path / "archive" / "p.swpack", [packed(name, *paths) for name, paths in sessions.items()])
    return Shelf(tmp_path / "archive"), home, tree(home)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_any_store_comes_back_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    tmp_path = tmp_path_factory.mktemp("any")
    shelf, home, before = shelf_of(tmp_path, seed)
    folders = times(home)
    clear(home)
    every = list(shelf.sessions())
    random.Random(seed).shuffle(every)
    for one in every:
        assert shelf.restore(one) == []
    assert tree(home) == before
    assert times(home) == folders
    assert shelf.check() == []


def nothing(_event: str, _path: str) -> None:
    pass


def faults_of(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> int:
    """Run something and return how many points it passed at which a process may die."""
    seen: list[str] = []

    def hook(event: str, _path: str) -> None:
        seen.append(event)

    monkeypatch.setattr(files, "fault_hook", hook)
    work()
    return len(seen)


def dies_at(monkeypatch: pytest.MonkeyPatch, step: int, error: BaseException) -> None:
    passed = [0]

    def hook(_event: str, _path: str) -> None:
        passed[0] += 1
        if passed[0] == step:
            raise error

    monkeypatch.setattr(files, "fault_hook", hook)


@pytest.mark.parametrize("error", [_KilledError(), OSError(28, "No space left on device")])
def test_a_restore_that_ends_anywhere_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    shelf, home, before = shelf_of(tmp_path, 5)
    one = max(shelf.sessions(), key=lambda one: len(one.session.files))
    own = {name: entry for name, entry in before.items() if name.partition("/")[0].partition(".")[0] == one.session.id}
    assert len(own) > 4
    clear(home)
    steps = faults_of(monkeypatch, lambda: shelf.restore(one))
    assert tree(home) == own
    assert steps > 15
    for step in range(1, steps + 1):
        clear(home)
        dies_at(monkeypatch, step, error)
        with pytest.raises(type(error)):
            shelf.restore(one)
        # what is there is whole, and under its own name
        there = {name: entry for name, entry in tree(home).items() if files.TEMP_PREFIX not in name}
        assert all(own[name] == entry for name, entry in there.items() if not entry[0].startswith("d")), step
        monkeypatch.setattr(files, "fault_hook", nothing)
        shelf.restore(one)
        assert tree(home) == own, step


def test_what_is_in_the_way_is_left_and_nothing_is_written(tmp_path: Path) -> None:
    shelf, home, before = shelf_of(tmp_path)
    every = list(shelf.sessions())
    for one in every:
        for file in one.session.files:
            path = Path(file.path)
            clear(home)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"mine")
            now = tree(home)
            with pytest.raises(RefusedError, match="move it away"):
                shelf.restore(one)
            assert tree(home) == now
    clear(home)
    for one in every:
        shelf.restore(one)
    # what is in its place already is told and left alone
    assert all("is there already" in told for told in shelf.restore(every[0]))
    assert tree(home) == before


def test_a_damaged_session_is_not_restored_in_part(tmp_path: Path) -> None:
    shelf, home, _ = shelf_of(tmp_path)
    clear(home)
    pack = shelf.packs()[0]
    data = bytearray(pack.read_bytes())
    one = next(one for one in shelf.sessions() if one.session.size > 100)
    last = one.session.files[-1]
    data[last.start + 12] ^= 255
    pack.write_bytes(bytes(data))
    (problem,) = shelf.check()
    assert (problem.kind, problem.path) == ("damaged", str(pack))
    assert one.session.id in problem.detail
    with pytest.raises(CorruptStateError):
        shelf.restore(one)
    assert list(home.iterdir()) == []


def small(folder: Path, number: int, secret: str = "") -> Wanted:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"t{number}.jsonl"
    path.write_bytes(line(number, f"please look at {secret}") + line(number * 7))
    return packed(f"t{number}", path)


def bytes_of(folder: Path) -> bytes:
    """Return everything that lies in an archive, as it is and decompressed."""
    found = b""
    for path in folder.iterdir():
        found += path.read_bytes()
        if path.suffix == ".swpack":
            with Pack(path) as pack:
                found += b"".join(pack.read(f) for s in pack.table.sessions for f in s.files if f.kind == "file")
                found += b"".join(s.id.encode() for s in pack.table.sessions)
                found += pack.dictionary() if pack.table.dictionary[1] else b""
    return found


def test_what_is_taken_out_is_nowhere_also_not_in_the_dictionary(tmp_path: Path) -> None:
    secret = "Josephine-Baker-of-Saint-Louis"
    every = [small(tmp_path / "home", n, secret if n < 300 else "it") for n in range(1500)]
    write_pack(tmp_path / "archive" / "p.swpack", every)
    shelf = Shelf(tmp_path / "archive")
    with Pack(shelf.packs()[0]) as pack:
        assert secret.encode() in pack.dictionary()  # what the test is about
    shelf.without({f"t{n}" for n in range(300)})
    assert secret.encode() not in bytes_of(shelf.folder)
    left = list(shelf.sessions())
    assert {one.session.id for one in left} == {f"t{n}" for n in range(300, 1500)}
    assert shelf.check() == []
    with Pack(left[0].pack) as pack:
        assert pack.table.dictionary[1]
        for one in left[::97]:
            assert pack.read(one.session.files[0]) == Path(one.session.files[0].path).read_bytes()
    shelf.without({one.session.id for one in left})
    assert shelf.packs() == []


def test_a_sub_agent_goes_alone_and_frames_stay_as_they_are(tmp_path: Path) -> None:
    home = tmp_path / "home"
    agent = home / "s1" / "subagents" / "agent-a.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(line(1, "of the agent") * 9)
    (home / "s1.jsonl").write_bytes(line(2) * 9)
    inside = ({"id": "agent-a", "path": str(agent)},)
    write_pack(tmp_path / "archive" / "p.swpack", [packed("s1", home / "s1", home / "s1.jsonl", inside=inside)])
    shelf = Shelf(tmp_path / "archive")
    assert [one.session.id for one in shelf.find("agent-a")] == ["s1"]
    shelf.without({"agent-a"})
    (left,) = shelf.sessions()
    assert [Path(file.path).name for file in left.session.files] == ["s1", "subagents", "s1.jsonl"]
    assert left.session.inside == ()
    assert b"of the agent" not in bytes_of(shelf.folder)
    assert shelf.check() == []


@pytest.mark.parametrize("error", [_KilledError(), OSError(28, "No space left on device")])
def test_a_removal_that_ends_anywhere_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    shelf, _, _ = shelf_of(tmp_path / "made", 3)
    write_pack(shelf.folder / "q.swpack", [small(tmp_path / "home", 1)])
    write_pack(shelf.folder / "r.swpack", [small(tmp_path / "home", n) for n in (2, 3)])
    gone, ids = {"s1", "s3", "t1", "t2"}, {"s0", "s1", "s2", "s3", "t1", "t2", "t3"}
    whole = shelf.folder.rename(tmp_path / "whole")

    def again() -> Shelf:
        shutil.rmtree(tmp_path / "archive", ignore_errors=True)
        shutil.copytree(whole, tmp_path / "archive")
        return Shelf(tmp_path / "archive")

    untouched = {path.name: path.read_bytes() for path in whole.glob("*.swpack")}
    steps = faults_of(monkeypatch, lambda: again().without(gone))
    wanted = {path.name: path.read_bytes() for path in (tmp_path / "archive").glob("*.swpack")}
    assert steps > 8
    assert sorted(wanted) == ["p.swpack", "r.swpack"]
    for step in range(1, steps + 1):
        one = again()
        dies_at(monkeypatch, step, error)
        with pytest.raises(type(error)):
            one.without(gone)
        for path in one.packs():
            assert path.read_bytes() in (untouched[path.name], wanted.get(path.name)), step
        monkeypatch.setattr(files, "fault_hook", nothing)
        assert {s.session.id for s in one.sessions()} >= ids - gone
        one.without(gone)
        assert {path.name: path.read_bytes() for path in one.folder.glob("*.swpack")} == wanted, step
        assert one.check() == []


def test_what_a_killed_writer_left_goes_with_the_next_removal(tmp_path: Path) -> None:
    shelf, _, _ = shelf_of(tmp_path)
    left = shelf.folder / f"{files.TEMP_PREFIX}999999999-aa"
    left.write_bytes(b"secret")
    mine = shelf.folder / f"{files.TEMP_PREFIX}{os.getpid()}-bb"
    mine.touch()
    shelf.without({"nobody"})
    assert not left.exists()
    assert mine.exists()


def test_a_damaged_pack_stops_nothing(tmp_path: Path) -> None:
    shelf, _, _ = shelf_of(tmp_path)
    write_pack(shelf.folder / "a.swpack", [small(tmp_path / "more", 1)])
    (shelf.folder / "b.swpack").write_bytes(b"no pack")
    assert len(list(shelf.sessions())) == 5
    assert [(p.kind, Path(p.path).name) for p in shelf.problems] == [("damaged", "b.swpack")]
    assert [Path(problem.path).name for problem in shelf.check()] == ["b.swpack"]
    assert len(list(shelf.sessions())) == 5


def test_the_last_archive_of_a_session_counts(tmp_path: Path) -> None:
    path = tmp_path / "home" / "s.jsonl"
    path.parent.mkdir()
    for number, at in enumerate(("2026-01-02T00:00:00+00:00", "2026-01-01T00:00:00+00:00")):
        path.write_bytes(line(number))
        write_pack(tmp_path / "archive" / f"{number}.swpack", [packed("s", path, at=at)])
    shelf = Shelf(tmp_path / "archive")
    assert [one.pack.stem for one in shelf.find("s")] == ["0", "1"]
    assert [one.pack.stem for one in shelf.latest()] == ["0"]


def test_no_folder_is_an_empty_shelf(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "nothing")
    shelf.without({"a"})
    assert (list(shelf.sessions()), shelf.check(), shelf.find("a"), shelf.problems) == ([], [], [], [])
    assert not shelf.folder.exists()


def tables_read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return a list that grows by every pack of which a shelf decodes the table."""
    read: list[Path] = []

    def counted(path: Path, data: bytes) -> Table:
        read.append(path)
        return table_of(path, data)

    monkeypatch.setattr(shelf_module, "table_of", counted)
    return read


def test_a_table_is_read_once_as_long_as_its_pack_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "archive"
    for name in ("s1", "s2"):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"{}\n")
        write_pack(folder / f"{name}.swpack", [Wanted(PackedSession(name, "claude", "app", "", "", 1.5, ()), [path])])
    opened = tables_read(monkeypatch)
    for _ in range(3):
        assert [one.session.id for one in Shelf(folder).sessions()] == ["s1", "s2"]
    assert [path.name for path in opened] == ["s1.swpack", "s2.swpack"]
    Shelf(folder).without(["s1"])
    assert [one.session.id for one in Shelf(folder).sessions()] == ["s2"]


@pytest.mark.parametrize("name", ["s1", 'a "b"\\', "é\n", os.fsdecode(b"\xff\xfe"), "agent-7f"])
def test_one_session_is_found_and_the_tables_of_other_packs_are_left_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    main = tmp_path / "main.jsonl"
    main.write_bytes(line(1))
    row = {"dialect": "claude", "id": name, "path": str(main)}
    own = packed("s0", main, inside=(row,)) if name == "agent-7f" else packed(name, main)
    for number, wanted in enumerate([packed("other", main), own, packed("another", main)]):
        write_pack(tmp_path / "archive" / f"{number}.swpack", [wanted])
    read = tables_read(monkeypatch)
    pack = tmp_path / "archive" / "1.swpack"
    shelf = Shelf(pack.parent)
    assert [one.pack for one in shelf.find(name)] == [pack]
    assert read == [pack]
    # who asks again reads the others once, and then no more
    assert [one.pack for _ in range(3) for one in shelf.find(name)] == [pack] * 3
    assert sorted(read) == shelf.packs()
    assert not shelf.problems
