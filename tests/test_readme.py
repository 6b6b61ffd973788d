"""The README shows what ``make run`` really prints: run this file as a script to write it anew."""

import re
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from slowwave.cli.screen import Screen, lines
from slowwave.clock import FixedClock
from slowwave.jobs.run import Run
from slowwave.jobs.story import run_job
from slowwave.samples import build
from slowwave.settings import load_settings

README = Path(__file__).parents[1] / "README.md"
NOW = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)
MARKS = {"first": "<!-- output of the first run -->", "second": "<!-- output of the second run -->"}


def outputs(home: Path) -> dict[str, str]:
    """Return what the first and the second night over the sample week print."""
    build(home, NOW)
    # as the command does with --sample
    environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "data")}
    settings = load_settings(environ, cwd=home).with_roots([home])
    shown: dict[str, str] = {}
    for name in MARKS:
        run = Run("20261120T220000Z-3f2a1c", settings, FixedClock(NOW), environ)
        report, screen = run_job("nightly", run).to_builtins(), Screen(width=100, options=" --store .sample")
        text = "\n".join(line.rstrip() for line in lines(report, dry_run=False, screen=screen))
        text = text.replace(str(home), ".sample")
        # the id of a dream ends in a hash of the folder's place
        text = re.sub(r"(d\d{8}T\d{6}Z)-[0-9a-f]+", r"\1-5c09a1e2", text)
        # and a fingerprint depends on the key of its home
        shown[name] = re.sub(r"(\[secret:[a-z-]+:)[0-9a-f]+\]", r"\g<1>1ec8bb02]", text)
    return shown


def with_outputs(readme: str, shown: dict[str, str]) -> str:
    """Return the README with the block behind each mark replaced."""
    for name, mark in MARKS.items():
        block = f"{mark}\n```\n{shown[name]}\n```\n"
        readme = re.sub(re.escape(mark) + r"\n```\n.*?\n```\n", lambda _, b=block: b, readme, flags=re.DOTALL)
    return readme


def test_the_readme_shows_what_a_run_prints(tmp_path: Path):
    readme = README.read_text(encoding="utf-8")
    for mark in MARKS.values():
        assert readme.count(mark) == 1
    assert with_outputs(readme, outputs(tmp_path / "home")) == readme


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        README.write_text(with_outputs(README.read_text(encoding="utf-8"), outputs(Path(folder))), encoding="utf-8")
    sys.exit(0)
