"""A model reads sessions that are no files of lines, and files that were packed, once and to their end as well."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats.sessions import StoredSession
from slowwave.memory.candidates import read_candidates
from tests.model_server.nights import by_model, fact, memory, night, told
from tests.model_server.scripted import error, serving
from tests.unit.extraction.talk import START
from tests.unit.extraction.test_streams import stored
from tests.unit.formats.opencode_files import SESSION, Session, database, done, words

FACTS = range(30)


def session(facts: range) -> Session:
    built = Session()
    for number in facts:
        built.user(fact(number))
        built.answer(words("Understood."), done("ok", f"c{number}"))
    return built


def as_export(built: Session, folder: Path) -> StoredSession:
    return stored(built.export(folder), SESSION)


def as_rows(built: Session, folder: Path) -> StoredSession:
    (folder / "opencode.db").unlink(missing_ok=True)
    return stored(database(folder, built), SESSION, at=START, in_database=True, size=len(str(built.messages)))


@pytest.mark.parametrize("form", [as_export, as_rows])
def test_a_stream_is_read_in_parts_over_several_nights_and_then_not_again(
    tmp_path: Path, form: Callable[[Session, Path], StoredSession]
):
    read = form(session(FACTS), tmp_path)
    small: dict[str, Any] = {"window_tokens": 500, "overlap_tokens": 50}
    with serving(told, told, error(401, "the key has expired")) as server:
        first = night(tmp_path, [read], server.base_url, **small)
    assert first.counts["model_answers"] == 2
    with serving(told) as server:
        second = night(tmp_path, [read], server.base_url, **small)
        asked = len(server.requests)
        night(tmp_path, [read], server.base_url, **small)
        assert len(server.requests) == asked == second.counts["model_answers"]
    assert sorted(c.text for c in by_model(tmp_path)) == sorted(f"T{fact(n)[1:]}" for n in FACTS)
    ranges = [r for r in read_candidates(memory(tmp_path))[1] if r.extractor == "model/3:m" and r.start < r.stop]
    assert [r.start for r in ranges] == [0, *(r.stop for r in ranges[:-1])]


@pytest.mark.parametrize("form", [as_export, as_rows])
def test_of_a_stream_that_grew_only_the_new_end_is_read(tmp_path: Path, form: Callable[[Session, Path], StoredSession]):
    with serving(told) as server:
        night(tmp_path, [form(session(range(3)), tmp_path)], server.base_url)
        night(tmp_path, [form(session(range(5)), tmp_path)], server.base_url)
        new = server.asked[1].partition("The session:\n")[2]
    assert fact(4) in new
    assert fact(2) not in new
    assert len(by_model(tmp_path)) == 5
