"""What fuzzing once found, by its smallest input; inputs that are too large to stand here lie in tests/samples/fuzz."""

from pathlib import Path

import pytest

from slowwave.records.search import lines_with
from tests.fuzz.invariants import check_session
from tests.fuzz.layout import written

SMALL = {
    "a title's leaf that is no string": (
        "claude",
        b'{"type":"summary","summary":"x","leafUuid":[1],"sessionId":"s"}\n',
    ),
}


@pytest.mark.parametrize(("dialect", "data"), SMALL.values(), ids=SMALL)
def test_an_input_that_broke_reading_once_is_read(dialect: str, data: bytes, tmp_path: Path) -> None:
    transcript = check_session(dialect, written(dialect, data, tmp_path))
    assert transcript is not None


@pytest.mark.parametrize("needle", [b"\n", b"\nb", b"a\nb", b"a\n"])
@pytest.mark.timeout(20)
def test_a_needle_with_a_newline_is_found_nowhere(needle: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a\nb\n")
    assert list(lines_with(path, needle)) == []
