"""What a statement shows: names that say nothing of one project, and the same ones whatever the order of sets."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from slowwave.extraction.classifier import Surroundings, pieces_of, words_of
from slowwave.reading import Speaker, statements
from tests.unit.extraction.talk import RULES, Talk
from tests.unit.reading.clients import of_talk

WEEK = """
import hashlib, sys
from datetime import UTC, datetime
from pathlib import Path
from slowwave.context import FixedClock
from slowwave.jobs.run import Run
from slowwave.jobs.story import run_job
from slowwave.samples import build
from slowwave.settings import load_settings
home, now = Path(sys.argv[1]), datetime(2026, 11, 20, 22, 0, tzinfo=UTC)
build(home, now)
# marks of secrets are made with it; by itself each home draws its own
key = home / ".config" / "slowwave" / "fingerprint.key"
key.parent.mkdir(parents=True, exist_ok=True)
key.write_text("5a" * 32)
key.chmod(0o600)
environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "data")}
settings = load_settings(environ, cwd=home).with_roots([home])
report = run_job("extract", Run("r1", settings, FixedClock(now), environ))
assert report.counts["candidates"], report
for path in sorted(home.rglob("memory/.slowwave/candidates.jsonl")):
    print(path.relative_to(home), hashlib.sha256(path.read_bytes().replace(bytes(home), b"HOME")).hexdigest())
"""


def features(folder: Path, talk: Talk, speaker: Speaker = "person") -> set[str]:
    """Return the features of the last statement of a speaker."""
    reading = of_talk(folder, talk)
    last = list(reading.said(speaker))[-1]
    return Surroundings(reading).features(statements(last)[-1])


def test_code_paths_addresses_and_numbers_are_told_by_their_kind() -> None:
    assert words_of("Run `make` in `src/a.py`, see https://x.test/a for 3.11!") == (
        "run", "<code>", "in", "<path>", "see", "<url>", "for", "<n>", "!",
    )  # fmt: skip
    assert words_of("不要改迁移") == ("不要", "要改", "改迁", "迁移")


def test_a_name_in_code_changes_no_feature(tmp_path: Path) -> None:
    one, other = (features(tmp_path, Talk().person(f"always call `{name}` first")) for name in ("alpha", "beta"))
    assert one == other


def test_who_said_it_and_where_it_stood_are_features(tmp_path: Path) -> None:
    begins = features(tmp_path, Talk().person(RULES[0]))
    later = features(tmp_path, Talk().person("go on").bash("make test").assistant("Shall I?").person(RULES[0]))
    assert {"p|r:begins", "p|w:staging", "*|w:staging"} <= begins
    assert {"p|r:was asked", "p|w:staging"} <= later
    assert begins - later
    told = features(tmp_path, Talk().person("go on").assistant(RULES[0]), "assistant")
    assert {"a|w:staging", "*|w:staging"} <= told
    assert not any(name.startswith("p|") for name in told)


def test_what_takes_up_words_of_the_other_one_shows_it(tmp_path: Path) -> None:
    recap = features(tmp_path, Talk().person(RULES[0]).assistant(RULES[0]), "assistant")
    fresh = features(tmp_path, Talk().person("go on").assistant(RULES[0]), "assistant")
    assert ("a|x:typed=4" in recap, "a|x:typed=4" in fresh) == (True, False)


def test_what_comes_later_changes_no_words_of_a_statement(tmp_path: Path) -> None:
    talk = Talk().person("go on").assistant("Done.").person(RULES[0])
    before = {name for name in features(tmp_path, talk) if "|w:" in name or "|b:" in name}
    reading = of_talk(tmp_path, talk.assistant("Fine.").person("thanks"))
    said = list(reading.said("person"))[1]
    assert before <= Surroundings(reading).features(statements(said)[0])


def test_a_whole_extraction_gives_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    told: set[str] = set()
    for seed in ("0", "1", "4242"):
        environ = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        home = tmp_path / "home"  # one place for all: candidates name their files
        shutil.rmtree(home, ignore_errors=True)
        command = [sys.executable, "-c", WEEK, str(home)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        told.add(done.stdout)
    assert len(told) == 1
    assert told.pop().count("candidates.jsonl") >= 2


def test_the_fingerprint_of_a_secret_tells_nothing() -> None:
    one, other = (
        "log in with [secret:password:3f9a0c2b] first".replace("3f9a0c2b", digits)
        for digits in ("3f9a0c2b", "00ffee11")
    )
    assert words_of(one) == words_of(other)
    assert pieces_of(one) == pieces_of(other)
