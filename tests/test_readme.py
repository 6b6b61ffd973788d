"""The README shows an excerpt of what ``make run`` really prints: run this file as a script to write it anew."""

import os
import re
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from slowwave.cli.screen import Screen, lines
from slowwave.context import FixedClock, Run
from slowwave.jobs.story import run_job
from slowwave.samples import build
from slowwave.settings import load_settings

README = Path(__file__).parents[1] / "README.md"
NOW = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)
MARKS = {"first": "<!-- excerpt of the first run -->", "second": "<!-- excerpt of the second run -->"}
# what an excerpt shows: by the beginning of a paragraph, how many of its entries
ENTRIES = {
    "first": {"nightly ": 99, "tern: ": 2, "Waiting for you: ": 2},
    "second": {"nightly ": 99, "Nothing to do": 99},
}
MOST_LINES = 15
PAGE_LINES = 150


def outputs(home: Path) -> dict[str, str]:
    """Return what the first and the second night over the sample week print."""
    build(home, NOW)
    # as the command does with --sample
    environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "data")}
    settings = load_settings(environ, cwd=home).with_roots([home])
    shown: dict[str, str] = {}
    for name in MARKS:
        run = Run("20261120T220000Z-3f2a1c", settings, FixedClock(NOW), environ)
        # before its lines are broken: how long the place of this home is changes nothing
        told = orjson.dumps(run_job("nightly", run).to_builtins()).replace(os.fsencode(home), b".sample")
        screen = Screen(width=100, options=" --store .sample")
        text = "\n".join(line.rstrip() for line in lines(orjson.loads(told), dry_run=False, screen=screen))
        assert str(home) not in text
        # the id of a dream ends in a hash of the folder's place
        text = re.sub(r"(d\d{8}T\d{6}Z)-[0-9a-f]+", r"\1-5c09a1e2", text)
        # and a fingerprint depends on the key of its home
        shown[name] = re.sub(r"(\[secret:[a-z-]+:)[0-9a-f]+\]", r"\g<1>1ec8bb02]", text)
    return shown


def excerpt(text: str, entries: dict[str, int]) -> str:
    """Return whole lines of a text: the first entries of some paragraphs, and how much of what was left out."""
    shown: list[str] = []
    left: list[str] = []
    names: dict[str, None] = {}

    def close_gap() -> None:
        if left:
            shown.append(f"[{len(left)} line{'s' * (len(left) > 1)} left out: {', '.join(names)}]")
        left.clear()
        names.clear()

    for number, paragraph in enumerate(text.split("\n\n")):
        heading, *rest = paragraph.split("\n")
        name = heading.partition(":")[0]
        most = next((n for beginning, n in entries.items() if heading.startswith(beginning)), -1)
        if most >= 0:
            close_gap()
            shown += ["", heading] if number else [heading]
        else:
            left.append(heading)
            names[name] = None
        for line in rest:
            # what goes on with an entry stands further to the right
            most -= not line.startswith("    ")
            if most >= 0:
                shown.append(line)
            else:
                left.append(line)
                names.setdefault(f"more of {name}" if name not in names else name)
    close_gap()
    return "\n".join(shown)


def with_outputs(readme: str, shown: dict[str, str]) -> str:
    """Return the README with the block behind each mark replaced."""
    for name, mark in MARKS.items():
        block = f"{mark}\n```\n{excerpt(shown[name], ENTRIES[name])}\n```\n"
        readme = re.sub(re.escape(mark) + r"\n```\n.*?```\n", lambda _, b=block: b, readme, flags=re.DOTALL)
    return readme


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return outputs(tmp_path_factory.mktemp("readme") / "home")


def test_the_readme_shows_what_a_run_prints(shown: dict[str, str]):
    readme = README.read_text(encoding="utf-8")
    for mark in MARKS.values():
        assert readme.count(mark) == 1
    assert with_outputs(readme, shown) == readme
    assert len(readme.splitlines()) <= PAGE_LINES


@pytest.mark.parametrize("name", MARKS)
def test_an_excerpt_is_short_and_counts_what_it_leaves_out(shown: dict[str, str], name: str):
    part = excerpt(shown[name], ENTRIES[name]).splitlines()
    assert len(part) <= MOST_LINES
    gaps = [int(found[1]) for line in part if (found := re.match(r"\[(\d+) lines? left out: \S", line))]
    whole = [line for line in shown[name].splitlines() if line]
    lines = [line for line in part if line and not line.startswith("[")]
    assert lines == [line for line in whole if line in lines]
    assert len(lines) + sum(gaps) == len(whole)


def test_where_the_schedule_is_set_up_it_says_how_to_check_it():
    section = README.read_text(encoding="utf-8").partition("\n## Every night\n")[2].partition("\n## ")[0]
    assert "`slowwave doctor`" in section


def test_an_excerpt_names_what_it_leaves_out():
    text = "head\n\none: 2\n  a\n     more of a\n  b\n\ntwo: 1\n  c\n\nthree"
    assert excerpt(text, {"head": 9, "one": 1}) == (
        "head\n\none: 2\n  a\n     more of a\n[4 lines left out: more of one, two, three]"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        README.write_text(with_outputs(README.read_text(encoding="utf-8"), outputs(Path(folder))), encoding="utf-8")
    sys.exit(0)
