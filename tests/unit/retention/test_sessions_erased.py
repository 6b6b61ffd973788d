"""A whole session leaves with all that is kept of it; what it alone showed goes, and what is held stays."""

import json
import os
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.errors import UNREADABLE
from slowwave.files import ASKS, state_folder
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates
from slowwave.memory.evidence import totals, verify
from slowwave.retention.holds import read_holds
from tests.unit.extraction.talk import CWD, RULES, Talk
from tests.unit.formats import opencode_files
from tests.unit.retention.planted import OLD, aged
from tests.unit.retention.test_subjects_erased import GATES, erase
from tests.unit.stores import families

FIRST, SECOND = "aaaaaaaa-1111-4222-8333-444444444444", "bbbbbbbb-1111-4222-8333-444444444444"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with two sessions that say something each, and something both."""
    home = tmp_path / "home"
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    place = home / ".claude" / "projects" / CWD.replace("/", "-")
    for session, own in ((FIRST, RULES[1]), (SECOND, RULES[2])):
        talk = Talk(session).person("go on").assistant("Done.").person(RULES[0]).assistant("ok")
        talk.person(own).assistant("ok")
        for number in range(8):
            talk.bash("make test", "ok").person(f"go on with part {number}").assistant("Done.")
        talk.write(place)
    side = place / FIRST / "tool-results"
    side.mkdir(parents=True)
    (side / "b1.txt").write_text("a long result\n")
    lines = [json.dumps({"display": "hi", "sessionId": one}) for one in (FIRST, SECOND)]
    (home / ".claude" / "history.jsonl").write_text("\n".join(lines) + "\n")
    aged(home)
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    return place


def texts(folder: Path) -> set[str]:
    """Return what the memories of a project say."""
    return {memory.text for memory in read_book(folder / "memory").active}


def test_what_only_the_session_showed_goes_and_the_rest_is_derived_anew(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = (folder / f"{SECOND}.jsonl").read_bytes()
    assert len(texts(folder)) >= 3
    # as a night left it where the fact had not been accepted yet
    (state_folder(os.environ) / ASKS).write_text(json.dumps({"as it was": [{"text": RULES[1]}]}))
    planned = erase(capsys, "--session", FIRST)
    # in its place, and in the archive, since its client deletes it soon
    assert planned["counts"]["sessions_found"] == 2
    assert (folder / f"{FIRST}.jsonl").exists()
    done = erase(capsys, "--session", FIRST, "--apply")
    assert done["counts"]["sessions_erased"] == 2
    assert not (folder / f"{FIRST}.jsonl").exists()
    assert not (folder / FIRST).exists()
    assert (folder / f"{SECOND}.jsonl").read_bytes() == kept
    home = folder.parents[2]
    assert FIRST not in (home / ".claude" / "history.jsonl").read_text()
    assert SECOND in (home / ".claude" / "history.jsonl").read_text()
    assert not [path for path in home.rglob("*") if path.is_file() and RULES[1].encode() in path.read_bytes()]
    assert all(c.session.id == SECOND for c in read_candidates(folder / "memory")[0])
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    left = texts(folder)
    assert RULES[1] not in left
    assert {RULES[0], RULES[2]} <= left
    (shared,) = (m for m in read_book(folder / "memory").active if m.text == RULES[0])
    assert {s.session for s in shared.sightings} == {SECOND}
    checked = totals(verify(read_book(folder / "memory").memories.values(), [folder]))
    assert checked["changed"] == checked["lost"] == 0 < checked["ok"]
    capsys.readouterr()
    again = erase(capsys, "--session", FIRST, "--apply")
    assert not {"replaced", "sessions_erased", "memories_rederived", "memories_erased"} & set(again["counts"])


def test_a_session_that_comes_back_teaches_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / f"{FIRST}.jsonl"
    copy = path.read_bytes()
    erase(capsys, "--session", FIRST, "--apply")
    path.write_bytes(copy)
    os.utime(path, (OLD, OLD))
    capsys.readouterr()
    assert main(["run", "nightly", "--direct", "--json", *GATES]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["erased_sessions"] == 1
    assert not any(RULES[1] in text for text in texts(folder))


def test_a_session_that_comes_back_is_shown_with_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / f"{FIRST}.jsonl"
    copy = path.read_bytes()
    erase(capsys, "--session", FIRST, "--apply")
    path.write_bytes(copy)
    for name, is_told in ((FIRST, True), (str(path), True), (SECOND, False)):
        capsys.readouterr()
        main(["sessions", "show", name])
        assert ("erased on request" in capsys.readouterr().err) == is_told, name


def test_without_its_key_nothing_that_was_erased_comes_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / f"{FIRST}.jsonl"
    copy = path.read_bytes()
    erase(capsys, "--session", FIRST, "--apply")
    path.write_bytes(copy)
    os.utime(path, (OLD, OLD))
    (key,) = folder.parents[2].rglob("fingerprint.key")
    key.unlink()
    for command in (["sessions", "list"], ["run", "nightly", "--direct", *GATES]):
        capsys.readouterr()
        assert main(command) == UNREADABLE
        assert str(key) in capsys.readouterr().err
    assert not key.exists()
    assert not any(RULES[1] in text for text in texts(folder))


def test_a_session_that_comes_back_is_counted_and_neither_listed_nor_searched_nor_worked_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, path = folder.parents[2], folder / f"{FIRST}.jsonl"
    agent = folder / FIRST / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir()
    agent.write_bytes(path.read_bytes().replace(b'"isSidechain":false', b'"isSidechain":true'))
    aged(home)
    backup = {one: one.read_bytes() for one in (path, agent)}
    erase(capsys, "--session", FIRST, "--apply")
    for one, data in backup.items():
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_bytes(data)
    aged(home)
    for _ in range(2):  # the second time nothing is new
        capsys.readouterr()
        assert main(["sessions", "list", "--json"]) == 0
        out, told = capsys.readouterr()
        assert [json.loads(line)["id"] for line in out.splitlines()] == [SECOND]
        assert "2 blocked" in told
        assert "erased on request" in told
        assert main(["sessions", "search", "snake_case", "--json"]) == 0
        out, told = capsys.readouterr()
        assert out == ""
        assert "2 sessions blocked" in told
    assert main(["run", "nightly", "--direct", "--json", *GATES, "--set", "retention.enforce=true"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["erased_sessions"] == 2
    assert main(["run", "backfill", "--direct", "--json", "--session", FIRST]) != 0  # nobody knows it
    learnt = {str(one) for one in home.rglob("*") if one.is_file() and RULES[1].encode() in one.read_bytes()}
    assert learnt == set(map(str, backup))
    capsys.readouterr()
    done = erase(capsys, "--session", FIRST, "--apply")
    assert done["counts"]["sessions_erased"] == 1
    assert not any(one.exists() for one in backup)


def test_a_title_that_comes_back_shows_no_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / f"{FIRST}.jsonl"
    title = {"type": "custom-title", "customTitle": "never push with Ottilie Kreuzbaum", "sessionId": FIRST}
    copy = path.read_bytes() + json.dumps(title).encode() + b"\n"
    path.write_bytes(copy.replace(RULES[1].encode(), b"always ask Ottilie Kreuzbaum"))
    copy = path.read_bytes()
    aged(folder)
    erase(capsys, "--person", "Ottilie Kreuzbaum", "--apply")
    path.write_bytes(copy)
    aged(folder)
    for _ in range(2):  # the second time from what was kept
        with path.open("ab") as file:
            file.write(b"\n")
        capsys.readouterr()
        assert main(["sessions", "list", "--json"]) == 0
        assert {row["title"] for row in map(json.loads, capsys.readouterr().out.splitlines())} == {"[erased]", ""}
        for words, number in (("Ottilie Kreuzbaum", 0), ("staging database", 2)):
            assert main(["sessions", "search", words, "--json"]) == 0
            assert len(capsys.readouterr().out.splitlines()) == number
    state = folder.parents[2] / ".local" / "state"
    assert not [p for p in state.rglob("*") if p.is_file() and b"kreuzbaum" in p.read_bytes().lower()]


def test_what_is_held_is_refused_and_remembered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / f"{FIRST}.jsonl"
    before, known = path.read_bytes(), texts(folder)
    assert main(["retain", "hold", "--session", FIRST, "--reason", "a dispute"]) == 0
    for options in (["--session", FIRST], ["--topic", "tables and columns"]):
        done = erase(capsys, *options, "--apply")
        # in its place, and in the archive where it may be named alone
        refused = [item for item in done["items"] if item["action"] == "refused" and item["target"] == FIRST]
        assert refused
        assert all("held" in item["reason"] for item in refused)
        assert path.read_bytes() == before
    assert texts(folder) | {RULES[1]} == known | {RULES[1]}


def test_what_is_held_beside_it_is_no_matter_of_a_session_that_goes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", "rm", FIRST]) == 0
    assert main(["retain", "hold", "--session", FIRST, "--reason", "a dispute"]) == 0
    held = folder / f"{FORK}.jsonl"
    held.write_bytes((folder / f"{SECOND}.jsonl").read_bytes().replace(b"bbbbbbbb", b"cccccccc"))
    aged(folder)
    assert main(["retain", "hold", "--session", FORK, "--reason", "another one"]) == 0
    done = erase(capsys, "--session", SECOND, "--apply")
    assert not [item for item in done["items"] if item["action"] == "refused"]
    assert not (folder / f"{SECOND}.jsonl").exists()
    assert held.exists()


FORK, COPY = "cccccccc-1111-4222-8333-444444444444", "dddddddd-1111-4222-8333-444444444444"


def with_copies(folder: Path) -> dict[str, Path]:
    """Write a fork of the first session, a copy under a new id in another project, and a backup beside it."""
    first = folder / f"{FIRST}.jsonl"
    # ids as long as the client's
    first.write_bytes(first.read_bytes().replace(b'"aaaaaaaa-0', b'"aaaaaaaa-0000-4000-8000-0'))
    lines = first.read_bytes().splitlines(keepends=True)
    more = json.loads(lines[-1]) | {"uuid": "ffffffff-0000-4000-8000-000000000000", "timestamp": "2026-11-21T10:00:00Z"}
    other = folder.parent / "-home-ada-code-other"
    other.mkdir()
    paths = {FORK: folder / f"{FORK}.jsonl", COPY: other / f"{COPY}.jsonl", "old": folder / "old.jsonl"}
    paths[FORK].write_bytes(
        b"".join([*lines, json.dumps(more).encode() + b"\n"]).replace(FIRST.encode(), FORK.encode())
    )
    copy = b"".join(lines).replace(FIRST.encode(), COPY.encode())
    paths[COPY].write_bytes(copy.replace(CWD.encode(), b"/home/ada/code/other"))
    paths["old"].write_bytes(b"".join(lines[: len(lines) // 2]))
    aged(folder.parents[2])
    return paths


def test_forks_and_copies_are_named_and_go_along(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = with_copies(folder)
    kept = (folder / f"{SECOND}.jsonl").read_bytes()
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    planned = erase(capsys, "--session", FIRST)
    # the night has archived what its client deletes soon: that copy goes, too
    found = [(item["target"], item["reason"]) for item in planned["items"] if item["action"] == "goes"]
    archived = {name for name, reason in found if reason == "its copy in the archive"}
    whole = {name: reason for name, reason in found if reason != "its copy in the archive"}
    assert archived == whole.keys() == {FIRST, FORK, COPY, "old"}
    for name in paths:
        assert FIRST in whole[name]
        assert "it goes too" in whole[name]
    done = erase(capsys, "--session", FIRST, "--apply")
    assert done["counts"]["sessions_erased"] == planned["counts"]["sessions_found"] == 8
    assert not any(path.exists() for path in paths.values())
    assert (folder / f"{SECOND}.jsonl").read_bytes() == kept
    home = folder.parents[2]
    assert not [path for path in home.rglob("*") if path.is_file() and RULES[1].encode() in path.read_bytes()]


def test_what_lies_in_another_project_or_is_held_is_left_by_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = with_copies(folder)
    assert main(["retain", "hold", "--session", FORK, "--reason", "a dispute"]) == 0
    done = erase(capsys, "--session", FIRST, f"--project={folder.name}", "--apply")
    refused = {item["target"]: item["reason"] for item in done["items"] if item["action"] == "refused"}
    assert refused.keys() >= {FORK, COPY}
    assert "held" in refused[FORK]
    assert "lies in another project" in refused[COPY]
    assert [name for name, path in paths.items() if path.exists()] == [FORK, COPY]
    assert main(["run", "nightly", "--direct", *GATES, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["counts"]["about_erased"] > 0
    assert not any(RULES[1] in text for text in (*texts(folder), *texts(paths[COPY].parent)))


@pytest.mark.parametrize("is_held", [False, True])
def test_a_copy_that_lies_in_the_archive_alone_goes_along(
    folder: Path, capsys: pytest.CaptureFixture[str], *, is_held: bool
) -> None:
    paths = with_copies(folder)
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    for path in paths.values():
        path.unlink()  # its client has cleaned up
    if is_held:
        assert main(["retain", "hold", "--session", COPY, "--reason", "a dispute"]) == 0
    planned = erase(capsys, "--session", FIRST)
    why = {item["target"]: item["reason"] for item in planned["items"] if item["action"] in ("goes", "refused")}
    assert why.keys() == {FIRST, *paths}
    for name in {*paths} - ({COPY} if is_held else set()):
        assert f"records from session {FIRST}" in why[name]
    done = erase(capsys, "--session", FIRST, "--apply")
    assert done["counts"]["sessions_erased"] == planned["counts"]["sessions_found"]
    assert main(["sessions", "list", "--json", "--all"]) == 0
    left = {json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()}
    assert left == {SECOND, COPY} if is_held else {SECOND}


def test_a_fork_of_opencode_is_told_by_the_times_that_it_keeps(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client's own fork (``run --fork``): new ids for every record, the same times and words."""
    main_one, fork, other = (opencode_files.Session(f"ses_{name}") for name in ("main", "fork", "other"))
    fork.info["title"] = "a person gave it another name"
    for session in (main_one, fork):
        session.user("my sister Ada moves to Lyon")
        session.answer(opencode_files.words("I wish her well."))
    other.user("another matter")
    root = own_home / "data" / "opencode"
    root.mkdir(parents=True)
    opencode_files.database(root, main_one, fork, other)
    aged(own_home)
    done = erase(capsys, "--session", "ses_main", "--apply")
    refused = {item["target"]: item["reason"] for item in done["items"] if item["action"] == "refused"}
    assert refused.keys() == {"ses_main", "ses_fork"}
    assert "2 of its 2 records from session ses_main" in refused["ses_fork"]


def test_a_fork_of_opencode_teaches_nothing_once_its_origin_was_to_go(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = own_home / "data" / "opencode"
    root.mkdir(parents=True)

    def store(*names: str) -> None:
        made = [opencode_files.Session(f"ses_{name}", directory=str(own_home / "shop")) for name in names]
        for session in made:
            for number, rule in enumerate((RULES[1], RULES[2])):
                session.user(rule if session.info["id"] != "ses_other" or number else RULES[0])
                session.answer(opencode_files.words("ok"))
            for number in range(8):
                session.user(f"go on with part {number}")
                session.answer(opencode_files.words("Done."))
        for old in root.glob("opencode.db*"):
            old.unlink()
        opencode_files.database(root, *made)
        aged(own_home)

    store("main")
    erase(capsys, "--session", "ses_main", "--apply")
    store("fork", "other")  # its client deleted the one, and had made a fork before
    assert main(["run", "extract", "--direct", *GATES]) == 0
    written = [path.read_text() for path in (own_home / "data" / "slowwave").rglob("*") if path.is_file()]
    assert any(RULES[0] in text for text in written)
    assert not any(RULES[1] in text for text in written)


def test_copies_of_crabtalk_go_along_whatever_became_of_their_header(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = own_home / ".crabtalk" / "sessions"
    place.mkdir(parents=True)
    hello = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi there"},
    ]
    long = [
        {"role": "user", "content": "my sister Ada moves to Lyon"},
        {"role": "assistant", "content": f"I know {'that it is a long way from here, and ' * 6}wish her well."},
    ]

    def write(number: int, messages: list[dict[str, str]], title: str = "", uptime: int = 0) -> Path:
        head = {"agent": "crab", "created_by": "user", "created_at": f"2026-11-0{number}T10:00:00Z"}
        path = place / f"crab_user_{number}.jsonl"
        lines = [json.dumps(line) for line in ({**head, "title": title, "uptime_secs": uptime}, *messages)]
        path.write_text("\n".join(lines) + "\n")
        return path

    write(1, [*hello, *long])
    write(2, hello)  # two conversations may begin alike
    write(3, [*hello, *long, {"role": "user", "content": "and now?"}], "a title", 7)
    write(4, hello)  # the last number of its sender stays with its session
    aged(own_home)
    done = erase(capsys, "--session", "crab_user_1", "--apply")
    assert {item["target"] for item in done["items"] if item["action"] == "erased"} == {"crab_user_1", "crab_user_3"}
    assert {path.name for path in place.iterdir()} == {"crab_user_2.jsonl", "crab_user_4.jsonl"}


@pytest.mark.parametrize("place", ["here", "trash"])
def test_a_copy_under_a_new_id_teaches_nothing_later(
    folder: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    path = folder / f"{FIRST}.jsonl"
    data = path.read_bytes()
    if place == "trash":
        assert main(["sessions", "rm", FIRST]) == 0
    erase(capsys, "--session", FIRST, "--apply")
    again = folder / f"{COPY}.jsonl"
    again.write_bytes(data.replace(FIRST.encode(), COPY.encode()))
    os.utime(again, (OLD, OLD))
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    assert RULES[1] not in texts(folder)
    assert RULES[2] in texts(folder)


def test_a_fork_of_pi_goes_before_what_it_came_from(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    family = families.pi(own_home)
    aged(own_home)
    (fork,) = (name for name in family.known if name != family.main)
    planned = erase(capsys, "--session", family.main)
    assert planned["counts"]["sessions_found"] == 2
    assert main(["retain", "hold", "--session", fork, "--reason", "a dispute"]) == 0
    for more in ([], ["--apply"]):
        done = erase(capsys, "--session", family.main, *more)
        assert {item["target"] for item in done["items"] if item["action"] == "refused"} == {family.main, fork}
    (hold,) = read_holds(os.environ)
    assert main(["retain", "release", hold.id]) == 0
    done = erase(capsys, "--session", family.main, "--apply")
    assert [item["target"] for item in done["items"] if item["action"] == "erased"] == [fork, family.main]


def test_what_rests_on_a_held_session_is_neither_erased_nor_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["retain", "hold", "--session", FIRST, "--reason", "a dispute"]) == 0
    memory = folder / "memory"
    before = {c.id: c for c in read_candidates(memory)[0] if c.session.id == FIRST}
    done = erase(capsys, "--topic", "tables and columns", "--topic", "feature flags", "--apply")
    assert any("rest on sessions that are held" in item["reason"] for item in done["items"])
    left = {c.id: c for c in read_candidates(memory)[0]}
    assert {name: left[name] for name in before} == before
    assert RULES[1] in texts(folder)
    assert RULES[2] not in texts(folder)
    assert [path.name for path in memory.glob("*.md") if b"tables and columns" in path.read_bytes()]
    assert not [path.name for path in memory.rglob("*") if path.is_file() and b"feature flags" in path.read_bytes()]
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    assert RULES[1] in texts(folder)


def test_a_copy_in_the_trash_goes_with_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "rm", FIRST]) == 0
    erase(capsys, "--session", FIRST, "--apply")
    home = folder.parents[2]
    assert not [path for path in home.rglob("*") if path.is_file() and RULES[1].encode() in path.read_bytes()]


def test_a_held_copy_in_the_trash_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "rm", FIRST]) == 0
    assert main(["retain", "hold", "--session", FIRST, "--reason", "a dispute"]) == 0
    done = erase(capsys, "--session", FIRST, "--apply")
    assert any(item["action"] == "refused" and item["target"] == FIRST for item in done["items"])
    assert any(RULES[1] in text for text in texts(folder))
    erase(capsys, "--topic", "tables and columns", "--apply")
    assert main(["sessions", "restore", FIRST]) == 0
    assert RULES[1].encode() in (folder / f"{FIRST}.jsonl").read_bytes()
    assert (folder / f"{FIRST}.jsonl").is_file()
