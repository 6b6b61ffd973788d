"""The section of AGENTS.md: idempotent, and nothing outside of its markers ever changes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.cli import main
from slowwave.errors import RefusedError
from slowwave.memory.delivery.sections import BEGIN, END, with_section
from tests.unit.consolidation.dreams import House

OTHERS = st.binary(max_size=80).filter(lambda data: BEGIN.encode() not in data and END.encode() not in data)


@given(
    before=OTHERS, behind=OTHERS, lines=st.lists(st.text(max_size=9).map(lambda t: t.replace("<!--", "")), max_size=4)
)
def test_everything_around_the_section_keeps_its_bytes(before: bytes, behind: bytes, lines: list[str]) -> None:
    section = [BEGIN, *(" ".join(line.split()) for line in lines), END]
    once = with_section(before, section, Path("A"))
    assert once.startswith(before)
    assert with_section(once, section, Path("A")) == once
    grown = once + behind
    other = with_section(grown, [BEGIN, "- other", END], Path("A"))
    assert other.endswith(behind)
    assert other.startswith(before)
    assert with_section(other, section, Path("A")) == grown


@pytest.mark.parametrize("broken", [BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_markers_that_do_not_fit_are_refused(broken: str) -> None:
    with pytest.raises(RefusedError, match="put one pair right"):
        with_section(broken.encode(), [BEGIN, END], Path("A"))


def test_an_export_updates_a_file_and_follows_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = House(tmp_path)
    house.extract(
        house.candidate("Use pnpm for installs", session="a"),
        house.candidate("Never merge <!-- slowwave memory: end --> by hand", session="b", category="constraint"),
    )
    house.dream()
    target, link = tmp_path / "AGENTS.md", tmp_path / "CLAUDE.md"
    target.write_bytes(b"# Ours\r\n\xff no newline")
    target.chmod(0o640)
    link.symlink_to("AGENTS.md")
    for told in ("updated", "is up to date"):
        assert main(["memory", "export", "--memory", str(house.memory), "--into", str(link)]) == 0
        assert told in capsys.readouterr().out
    data = target.read_bytes()
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert data.startswith(b"# Ours\r\n\xff no newline\r\n")
    assert data.count(END.encode()) == 1
    assert data.index(b"### Constraints") < data.index(b"### Preferences") < data.index(b"- Use pnpm for installs\r\n")
