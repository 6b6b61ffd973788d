"""Secrets leave transcripts and everything that slowwave wrote, and nothing else changes."""

import base64
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from slowwave import files
from slowwave.cli import main
from slowwave.errors import DONE, REFUSED, MovedError
from slowwave.memory.book import read_book
from slowwave.memory.evidence import totals, verify
from slowwave.memory.ledger import line_hash
from slowwave.retention.erase.mask import masked
from slowwave.retention.erase.subjects import Secrets
from slowwave.retention.erase.transcripts import apply_file, plan_file
from slowwave.secrets import Redactor
from slowwave.secrets.finder import find_secrets
from slowwave.secrets.rules import Finding
from tests.unit.extraction.talk import CWD, RULES, Talk

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "hunter2-Xq9!zT"
REDACT = Redactor(b"k" * 32)
OLD = 1_700_000_000


def forms(secret: str) -> list[bytes]:
    """Return how a secret could still stand in a file."""
    coded = [base64.b64encode(b"x" * shift + secret.encode())[4:-4] for shift in range(3)]
    return [secret.encode(), json.dumps(secret)[1:-1].encode(), quote(secret, safe="").encode(), *coded]


def home_with_secrets(tmp_path: Path, environ: pytest.MonkeyPatch) -> Path:
    """Build the home of a person whose agent saw two secrets in every form."""
    home = tmp_path / "home"
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        environ.delenv(name, raising=False)
    environ.setenv("HOME", str(home))
    environ.chdir(tmp_path)
    talk = Talk().person("go on").assistant("Done.").person(RULES[0]).assistant("ok")
    env = f"TOKEN={TOKEN}\nDB_PASSWORD={PASSWORD}\n"
    talk.bash("cat .env", env).bash(
        "cat .env.json", json.dumps({"inner": json.dumps({"password": PASSWORD, "t": TOKEN})})
    )
    talk.bash("base64 .env", base64.encodebytes(env.encode()).decode())
    talk.bash("curl", f"https://x.test/?access_token={quote(TOKEN)}&a=1").bash(
        "grep", f"\x1b[31mtok\x1b[0m {TOKEN[:9]}\x1b[31m{TOKEN[9:]}"
    )
    talk.person(f"we use the staging database in tests, the password is {PASSWORD}, not the real one").assistant(
        f"Noted: {TOKEN} 🐙 übrigens"
    )
    for number in range(8):
        talk.bash("make test", "ok").person(f"go on with part {number}").assistant("Done.")
    talk.write(home / ".claude" / "projects" / CWD.replace("/", "-"))
    return home


def transcript(home: Path) -> Path:
    (path,) = (home / ".claude" / "projects").rglob("*.jsonl")
    os.utime(path, (OLD, OLD))
    return path


def left_in(home: Path) -> list[str]:
    """Return the files in which a secret stands in any form."""
    every = [form for secret in (TOKEN, PASSWORD) for form in forms(secret)]
    return [str(p) for p in home.rglob("*") if p.is_file() and any(form in p.read_bytes() for form in every)]


def erase(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    code = main(["run", "erase", "--secrets", "--direct", "--json", *more])
    out = capsys.readouterr()
    stays = "--apply" in more and '"refused"' in out.out
    assert code == (REFUSED if stays else DONE), out.err
    assert not any(form.decode() in out.out for secret in (TOKEN, PASSWORD) for form in forms(secret))
    return json.loads(out.out)


def test_after_an_erasure_no_secret_is_found_anywhere_and_a_second_one_finds_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_with_secrets(tmp_path, monkeypatch)
    path = transcript(home)
    before = path.read_bytes()
    planned = erase(capsys)
    assert path.read_bytes() == before
    assert planned["counts"]["found"] >= 10
    done = erase(capsys, "--apply")
    assert done["counts"]["replaced"] == planned["counts"]["found"]
    assert left_in(home) == []
    again = erase(capsys, "--apply")
    assert not {"replaced", "found"} & set(again["counts"])


def test_what_has_no_secret_keeps_its_bytes_its_place_and_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_with_secrets(tmp_path, monkeypatch)
    path = transcript(home)
    before = path.read_bytes().split(b"\n")
    erase(capsys, "--apply")
    after = path.read_bytes().split(b"\n")
    assert path.stat().st_mtime == OLD
    assert [len(line) for line in before] == [len(line) for line in after]
    same = [a == b for a, b in zip(before, after, strict=True)]
    assert same.count(False) == 7
    for line in after[:-1]:
        json.loads(line)


def test_memories_still_prove_themselves_and_nothing_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_with_secrets(tmp_path, monkeypatch)
    path = transcript(home)
    gates = ["--set", "extraction.min_messages=0", "--set", "consolidation.min_sessions=0", "--force"]
    assert main(["run", "nightly", "--direct", *gates]) == 0
    memory = path.parent / "memory"
    assert read_book(memory).active
    capsys.readouterr()
    erase(capsys, "--apply")
    assert left_in(home) == []
    checked = totals(verify(read_book(memory).memories.values(), [path.parent]))
    assert checked["changed"] == checked["lost"] == 0 < checked["ok"]
    assert main(["run", "extract", "--direct", "--json", "--set", "extraction.min_messages=0", "--force"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert (counts.get("unchanged"), counts.get("candidates")) == (1, None)


def nothing_found(_text: str, **_how: bool) -> list[Finding]:
    return []


def test_lines_of_memory_files_stay_known_as_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_with_secrets(tmp_path, monkeypatch)
    path = transcript(home)
    # what redaction did not know then
    monkeypatch.setattr("slowwave.secrets.finder.find_secrets", nothing_found)
    gates = ["--set", "extraction.min_messages=0", "--set", "consolidation.min_sessions=0", "--force"]
    assert main(["run", "nightly", "--direct", *gates]) == 0
    memory = path.parent / "memory"
    assert any(PASSWORD in file.read_text() for file in memory.glob("*.md"))
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(home))
    capsys.readouterr()
    erase(capsys, "--apply")
    assert left_in(home) == []
    book = read_book(memory)
    for one in book.active:
        assert one.sha256 in {line_hash(line) for line in (memory / one.place).read_bytes().split(b"\n")}
    dream = book.dreams[-1]
    assert main(["memory", "undo", dream, "--memory", str(memory)]) == 0
    assert left_in(home) == []


def test_a_live_session_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_with_secrets(tmp_path, monkeypatch)
    path = transcript(home)
    os.utime(path)
    before = path.read_bytes()
    report = erase(capsys, "--apply")
    assert report["counts"]["refused"] == 1
    assert path.read_bytes() == before


def test_a_file_that_changed_since_the_plan_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"a": TOKEN}) + "\n")
    plan = plan_file(path, Secrets(REDACT))
    path.write_text(json.dumps({"a": TOKEN}) + "\n{}\n")
    with pytest.raises(MovedError):
        apply_file(plan)
    assert TOKEN in path.read_text()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"text":"データベースのパスワードは Kupfer_89x です"}', ["Kupfer_89x"]),
        ('{"t":"the password is \xe9\xe9 Kupfer_89x"}', ["Kupfer_89x"]),
        # an ellipsis is no letter, however its bytes look one by one
        ('{"t":"credentials, API tokens, cookies; they are sent verbatim, one…"}],"observed_at":"2026-08-01"}', []),
    ],
)
def test_a_line_is_read_as_the_text_that_it_is(line: str, expected: list[str]) -> None:
    data = line.encode()
    assert [data[hit.start : hit.stop].decode() for hit in Secrets(REDACT).hits(data)] == expected
    data = b"\xff\xe9 " + data
    assert [data[hit.start : hit.stop].decode() for hit in Secrets(REDACT).hits(data)] == expected


@pytest.mark.parametrize("event", ["write", "fsync", "rename"])
def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path: Path, event: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"a": TOKEN}) + "\n")
    before = path.read_bytes()

    def fault(at: str, _path: str) -> None:
        if at == event:
            raise KeyboardInterrupt

    monkeypatch.setattr(files, "fault_hook", fault)
    with pytest.raises(KeyboardInterrupt):
        apply_file(plan_file(path, Secrets(REDACT)))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "value",
    [
        f"a {TOKEN} b",
        f"ä password: {PASSWORD}ü",
        json.dumps({"k": TOKEN, "n": 3}),
        base64.b64encode(f"A=1\nTOKEN={TOKEN}\nB=2".encode()).decode(),
        f"TOKEN={TOKEN}".encode().hex(),
    ],
)
def test_a_record_keeps_its_length_and_its_shape(value: str) -> None:
    for ascii_only in (True, False):
        line = json.dumps({"type": "user", "n": [1, None, value]}, ensure_ascii=ascii_only).encode()
        new, places, _ = masked(line, Secrets(REDACT))
        assert len(new) == len(line)
        assert places
        assert json.loads(new)["n"][:2] == [1, None]
        assert find_secrets(new.decode("latin-1")) == []
        assert masked(new, Secrets(REDACT)) == (new, [], [])
