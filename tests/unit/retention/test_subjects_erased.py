"""A person, a topic or a pattern leaves transcripts, memories and whatever slowwave wrote, and does not return."""

import base64
import json
import os
import signal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from slowwave.cli import main
from slowwave.errors import DONE, PARTLY_FAILED, REFUSED, USAGE
from slowwave.memory.book import read_book
from slowwave.memory.evidence import totals, verify
from slowwave.retention.erase import subjects
from slowwave.retention.erase.mask import masked
from slowwave.retention.erase.subjects import Asked, Subjects
from slowwave.secrets import Redactor
from tests.unit.extraction.talk import CWD, RULES, Talk
from tests.unit.retention.planted import OLD, aged, contents

NAME = "Ottilie Kreuzbaum"
REDACT = Redactor(b"k" * 32)
GATES = ["--set", "extraction.min_messages=0", "--set", "consolidation.min_sessions=0", "--force"]


def forms(phrase: str) -> list[bytes]:
    """Return how a phrase could still stand in a file."""
    coded = [base64.b64encode(b"x" * shift + phrase.encode() + b"xx")[4:-4] for shift in range(3)]
    escaped = "".join(f"\\u{ord(char):04x}" for char in phrase).encode()
    return [phrase.encode(), quote(phrase, safe="").encode(), phrase.replace(" ", "+").encode(), escaped, *coded]


def left_in(home: Path, *phrases: str) -> list[str]:
    """Return the files in which a phrase stands in any form."""
    every = [form for phrase in phrases or (NAME,) for form in forms(phrase)]
    return [str(p) for p in home.rglob("*") if p.is_file() and any(form in p.read_bytes() for form in every)]


def home_of(tmp_path: Path, environ: pytest.MonkeyPatch) -> Path:
    """Return the home of somebody whose agent heard of a person, in every form, and remembers."""
    home = tmp_path / "home"
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        environ.delenv(name, raising=False)
    environ.setenv("HOME", str(home))
    environ.chdir(tmp_path)
    talk = Talk().person("go on").assistant("Done.").person(RULES[0]).assistant("ok")
    talk.person(f"our frontend is owned by {NAME} and never pushed without a review").assistant(f"I will ask {NAME} 🐙")
    talk.bash("cat a.json", json.dumps({"inner": json.dumps({"who": NAME, "n": 1})}))
    talk.bash("base64 people.txt", base64.encodebytes(f"1 {NAME}\n2 Somebody Else\n".encode()).decode())
    talk.bash("curl", f"https://x.test/?who={quote(NAME)}&a=1")
    for number in range(8):
        talk.bash("make test", "ok").person(f"go on with part {number}").assistant("Done.")
    talk.write(home / ".claude" / "projects" / CWD.replace("/", "-"))
    aged(home / ".claude")
    return home


def erase(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """Run the job, look that it prints no name, and return its report."""
    capsys.readouterr()
    code = main(["run", "erase", "--json", *more])
    out = capsys.readouterr()
    stays = "--apply" in more and '"refused"' in out.out
    assert code == (REFUSED if stays else DONE), out.err
    assert not any(form.decode() in out.out + out.err for form in forms(NAME))
    return json.loads(out.out)


def test_a_person_is_gone_from_transcript_and_memory_and_the_rest_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    (path,) = (home / ".claude" / "projects").rglob("*.jsonl")
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    memory = path.parent / "memory"
    texts = {m.text for m in read_book(memory).active}
    assert any(NAME in text for text in texts)
    before = path.read_bytes().split(b"\n")
    planned = erase(capsys, "--person", NAME)
    assert path.read_bytes().split(b"\n") == before
    done = erase(capsys, "--person", NAME, "--apply")
    assert done["counts"]["replaced"] == planned["counts"]["found"]
    assert left_in(home) == []
    after = path.read_bytes().split(b"\n")
    assert [len(line) for line in before] == [len(line) for line in after]
    same = [a for a, b in zip(before, after, strict=True) if a == b]
    assert same == [line for line in before if not _names(line)]
    assert path.stat().st_mtime == OLD
    assert {m.text for m in read_book(memory).active} == {text for text in texts if NAME not in text}
    checked = totals(verify(read_book(memory).memories.values(), [path.parent]))
    assert checked["changed"] == checked["lost"] == 0 < checked["ok"]
    again = erase(capsys, "--person", NAME, "--apply")
    assert not {"replaced", "found", "memories_erased", "candidates_erased"} & set(again["counts"])


def _names(line: bytes) -> bool:
    return bool(Subjects(Asked(persons=(NAME,)), REDACT).hits(line))


@pytest.mark.parametrize(
    "words", [["--person", "Otillie Kreuzbaum"], ["--topic", "nosuch thing"], ["--pattern", "Otil+ie"]]
)
def test_what_is_nowhere_is_a_mistake_and_nothing_is_done(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    held = home / ".claude" / "projects" / "-live" / "s.jsonl"
    held.parent.mkdir()
    (known,) = (home / ".claude" / "projects").rglob("*.jsonl")
    held.write_bytes(known.read_bytes())  # in use, so that it is refused; who is in it is seen all the same
    before = contents(home)
    for more in ([], ["--apply"], ["--person", NAME, "--apply"]):
        capsys.readouterr()
        assert main(["run", "erase", "--json", *words, *more]) == USAGE
        said = capsys.readouterr()
        assert (said.out, f"{words[0]} {words[1]!r}: not found anywhere" in said.err) == ("", True)
    after = contents(home)
    assert {name: after.get(name) for name in before} == before
    assert not [name for name in after if "certificates" in name or "erased.json" in name or "audit" in name]


def test_a_name_in_the_names_of_folders_is_told_with_numbers_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    assert "/ada/" in CWD
    before = contents(home)
    planned = erase(capsys, "--person", "Ada")
    found, inside = planned["counts"]["found"], planned["counts"]["in_paths"]
    assert found >= inside > 10
    assert f"{inside:,} of {found:,} places stand within paths" in planned["warnings"][0]
    for confirm in ([], ["--confirm", str(found - 1)]):
        assert main(["run", "erase", "--person", "Ada", "--apply", *confirm]) == REFUSED
        said = capsys.readouterr().err
        assert f"1 of the 2 folders that somebody works in: add --confirm {found}" in said
        after = contents(home)
        assert {name: after.get(name) for name in before} == before
    done = erase(capsys, "--person", "Ada", "--apply", "--confirm", str(found))
    assert done["counts"]["replaced"] == found


@pytest.mark.parametrize(
    ("text", "is_path"),
    [
        ('{"cwd":"/home/Ottilie Kreuzbaum/x"}', True),
        ("see ~/Ottilie Kreuzbaum.txt", True),
        (r'{"p":"C:\\Users\\Ottilie Kreuzbaum"}', True),
        ("file:///home/Ottilie Kreuzbaum", True),
        ("https://x.test/Ottilie Kreuzbaum", False),
        ("https://x.test/?who=Ottilie Kreuzbaum", False),
        ("ask him and/or Ottilie Kreuzbaum", False),
        ("Ottilie Kreuzbaum", False),
    ],
)
def test_what_is_part_of_a_path(text: str, *, is_path: bool) -> None:
    (hit,) = Subjects(Asked(persons=(NAME,)), REDACT).hits(text.encode())
    assert hit.in_path == is_path


def test_what_was_erased_is_not_learnt_again_from_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    (path,) = (home / ".claude" / "projects").rglob("*.jsonl")
    copy = path.read_bytes()
    erase(capsys, "--person", NAME, "--apply")
    path.write_bytes(copy)
    os.utime(path, (OLD, OLD))
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    memory = path.parent / "memory"
    assert left_in(memory) == []
    texts = [m.text for m in read_book(memory).active]
    assert texts
    assert not any("[erased]" in text or "release" in text for text in texts)


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("name", [NAME, "Zoë Müller", "李小龙先生"])
def test_a_record_keeps_its_length_and_its_shape(name: str, ascii_only: bool) -> None:
    what = Subjects(Asked(persons=(name,)), REDACT)
    for value in (
        f"a {name} b",
        json.dumps({"k": name}),
        base64.b64encode(f"A=1\n{name}\nB=2".encode()).decode(),
        base64.encodebytes(f"{'x' * 50} {name}\nB=2".encode()).decode(),
        name.encode().hex(),
        quote(name),
    ):
        line = json.dumps({"type": "user", "n": [1, None, value]}, ensure_ascii=ascii_only).encode()
        new, places, stuck = masked(line, what)
        assert stuck == []
        assert len(new) == len(line)
        assert places
        assert json.loads(new)["n"][:2] == [1, None]
        assert not what.hits(new)
        assert masked(new, what) == (new, [], [])


def test_what_surrounds_a_name_in_base64_still_decodes() -> None:
    said = f"{'x' * 50} {NAME}\nB=2 and the rest"
    line = json.dumps({"v": base64.encodebytes(said.encode()).decode()}).encode()
    new, *_ = masked(line, Subjects(Asked(persons=(NAME,)), REDACT))
    got = base64.b64decode(json.loads(new)["v"]).decode()
    assert len(got) == len(said)
    assert got.startswith("x" * 48)
    assert got.endswith("2 and the rest")


@pytest.mark.parametrize("bad", [["--person", "Al"], ["--pattern", "("], ["--pattern", "x*"], ["--topic", "?!.,"]])
def test_what_would_be_found_everywhere_is_refused(
    bad: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home_of(tmp_path, monkeypatch)
    assert main(["run", "erase", *bad, "--apply"]) == 2
    assert bad[0] in capsys.readouterr().err


def test_a_pattern_that_would_never_end_is_stopped_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    (path,) = (home / ".claude" / "projects").rglob("*.jsonl")
    path.write_bytes(path.read_bytes() + b'{"type":"summary","summary":"' + b"a" * 64 + b'!"}\n')
    aged(home / ".claude")
    before = path.read_bytes()
    monkeypatch.setattr(subjects, "MOST_S", 0.05)
    assert main(["run", "erase", "--json", "--pattern", "(a+)+$", "--apply"]) in (REFUSED, PARTLY_FAILED)
    assert "nested repetitions" in capsys.readouterr().out
    assert path.read_bytes() == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_pattern_is_taken_out_and_what_it_met_stays_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    (path,) = (home / ".claude" / "projects").rglob("*.jsonl")
    copy = path.read_bytes()
    erase(capsys, "--pattern", r"Ottilie\s\w+", "--apply")
    assert NAME.encode() not in path.read_bytes()
    path.write_bytes(copy)
    os.utime(path, (OLD, OLD))
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    assert left_in(path.parent / "memory") == []
