"""Several processes write to one session: what each record names is looked up under the lock, so no branch appears."""

import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.library import Sessions
from tests.unit.formats.codex_files import THREAD, meta, rollout, turn
from tests.unit.stores.writing.written import records

WRITERS, TIMES = 3, 25
ID = "01a20006-4850-7187-9c46-f871573043ed"

_WRITER = """
import sys
from pathlib import Path
from slowwave.library import Sessions
folder, session, name, times = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
sessions = Sessions(folder, home=folder)
for number in range(times):
    write = sessions.write_user_message if number % 2 else sessions.write_assistant_message
    write(session, f"{name}-{number}")
"""


def written_by_all(folder: Path, session: str) -> list[str]:
    """Let several processes write to a session, and return what its context says afterwards."""
    commands = [[sys.executable, "-c", _WRITER, str(folder), session, str(n), str(TIMES)] for n in range(WRITERS)]
    writers = [subprocess.Popen(command) for command in commands]
    assert [writer.wait(120) for writer in writers] == [0] * WRITERS
    sessions = Sessions(folder, home=folder)
    assert sessions.transcript(session).problems == []
    said = "\n".join(m.text for m in sessions.load(session)).split()
    assert set(said) >= {f"{name}-{number}" for name in range(WRITERS) for number in range(TIMES)}
    return said


@pytest.mark.parametrize("dialect", ["claude", "pi"])
def test_every_record_hangs_under_another_one(tmp_path: Path, dialect: str):
    sessions = Sessions(tmp_path, dialect, home=tmp_path)
    sessions.write_user_message(ID, "first")
    sessions.write_assistant_message(ID, "second")
    written_by_all(tmp_path, ID)
    (path,) = tmp_path.glob("*.jsonl")
    parents = [r["parentUuid" if dialect == "claude" else "parentId"] for r in records(path)[dialect == "pi" :]]
    assert len(set(parents)) == len(parents) == WRITERS * TIMES + 2


def test_every_line_has_a_number_of_its_own(tmp_path: Path):
    rows = [row | {"ordinal": n} for n, row in enumerate([meta(), *turn("one", "1")])]
    path = rollout(tmp_path, *rows)
    written_by_all(tmp_path, THREAD)
    assert [r["ordinal"] for r in records(path)] == list(range(WRITERS * TIMES + len(rows)))
