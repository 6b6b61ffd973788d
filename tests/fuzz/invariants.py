"""What holds for every input, whatever its bytes: the same checks for the fuzzer, its seeds and its findings.

The only exceptions that may come out are :class:`slowwave.errors.SlowwaveError`; anything else is a finding.
"""

from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import get_args
from unittest.mock import patch

import msgspec

from slowwave.errors import SlowwaveError
from slowwave.formats import Message, Origin, Problem, Role, SessionFiles, SessionKind, Span, Transcript, tail
from slowwave.formats.changes import rewrite_without
from slowwave.formats.client import TailDialect
from slowwave.formats.lines import read_records
from slowwave.formats.messages import normal_form, words_in
from slowwave.formats.registry import NAMES, by_name, sniff
from slowwave.formats.sessions import FoundFile, FoundSession
from slowwave.formats.tail import find_last, line_around, lines_backward
from slowwave.stores.summary import scan

DATABASE = b"SQLite format 3\0"
_ROLES, _ORIGINS, _KINDS = get_args(Role), get_args(Origin), get_args(SessionKind)


class Anything(msgspec.Struct, gc=False):
    """Any object, as the thinnest decoder of the library sees it."""

    type: object = None
    message: msgspec.Raw = msgspec.Raw()


_DECODER = msgspec.json.Decoder(Anything)


def check_session(dialect: str, paths: Sequence[Path]) -> Transcript | None:
    """Read a session by the rules of ``dialect`` and look at everything; None when it was refused as documented."""
    rules = by_name(dialect)
    try:
        assert sniff(paths[0]) in (None, *NAMES)
        transcript = rules.read(SessionFiles("fuzz", tuple(paths)))
    except SlowwaveError as error:
        return _refused(error)
    _check_transcript(transcript)
    try:
        context = list(rules.context(transcript))
    except SlowwaveError:
        return transcript
    data = None if _is_database(paths[0]) else [path.read_bytes() for path in transcript.files.paths if path.is_file()]
    for message in (*transcript.messages, *context):
        _check_message(message, data)
    forms = normal_form(context)
    assert {form["role"] for form in forms} <= set(_ROLES)
    _written(forms)
    if isinstance(rules, TailDialect):
        # so small that a suffix stops inside of small files, too
        with patch.object(tail, "STEP_BYTES", 200):
            end = rules.tail(transcript.files)
        assert end is None or normal_form(rules.context(end)) == forms
    return transcript


def check_listing(dialect: str, path: Path) -> None:
    """What is listed of a session that grew is what is listed of it when it is read for the first time."""
    if dialect == "opencode":
        return  # its sessions are listed from a database
    data = path.read_bytes()
    whole = scan(found(path), dialect).summary
    with path.open("r+b") as file:
        file.truncate(len(data) * 2 // 3)
    before = scan(found(path), dialect).mark
    path.write_bytes(data)
    grown = scan(found(path), dialect, before).summary
    assert (grown, grown.title) == (whole, whole.title)
    texts: list[Problem] = []
    for said in words_in(path, texts):
        _written(said.text)


def found(path: Path) -> FoundSession:
    """Return a session of one file as a walk finds it."""
    at = path.stat()
    file = FoundFile(path.name, at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino)
    return FoundSession(str(path.parent), path.stem, [file], side=False)


def _refused(error: SlowwaveError) -> None:
    """A refusal is one line, since that is how the command shows it."""
    assert "\n" not in str(error)


def _is_database(path: Path) -> bool:
    return path.read_bytes().startswith(DATABASE)


def _check_transcript(transcript: Transcript) -> None:
    assert transcript.kind in _KINDS
    assert transcript.records >= len({span for m in transcript.messages for span in m.sources})
    assert all(type(kind) is str and n > 0 for kind, n in transcript.unknown_types.items())
    _written(transcript.title)
    for problem in transcript.problems:
        _check_problem(problem, transcript.files.paths)


def _check_problem(problem: Problem, paths: Sequence[Path]) -> None:
    assert str(problem)
    assert problem.offset >= 0
    assert problem.length >= 0
    if problem.path in paths and problem.kind not in ("gap", "too-large"):
        size = problem.path.stat().st_size
        assert problem.offset + problem.length <= size


def _check_message(message: Message, data: Sequence[bytes] | None) -> None:
    """Look at every property; spans of the session's own files have to hold exactly what stands there."""
    assert isinstance(message, Message)
    assert message.role in _ROLES
    assert message.origin in _ORIGINS
    assert len(message.blocks) == len(message.sources)
    assert message.id is None or isinstance(message.id, str)
    assert message.timestamp is None or message.timestamp.astimezone(UTC)
    assert isinstance(message.active, bool)
    assert isinstance(message.sidechain, bool)
    _written([message.text, message.cwd, message.branch, message.id])
    for span in message.sources:
        _check_span(span, data)


def _check_span(span: Span, data: Sequence[bytes] | None) -> None:
    # parts behind the session's own files are those that it inherits from
    if data is not None and span.part < len(data):
        assert data[span.part][span.offset : span.offset + len(span.raw)] == span.raw
        assert data[span.part][: span.offset].count(b"\n") == span.number - 1


def _written(value: object) -> None:
    """Prove that a value can be printed as JSON, which a lone half of a surrogate pair cannot."""
    msgspec.json.encode(value)


def check_records(path: Path) -> None:
    """Read, search and rewrite a file of lines, whatever is in them."""
    data = path.read_bytes()
    spans, problems = _records(path)
    end = 0
    for span in spans:
        assert data[span.offset : span.offset + len(span.raw)] == span.raw
        assert span.offset >= end
        end = span.offset + len(span.raw)
    for problem in problems:
        _check_problem(problem, [path])
    _check_line_starts(path, data, spans)
    _check_tail(path, data)
    _check_rewrite(path, data, spans)


def _records(path: Path, start: int = 0) -> tuple[list[Span], list[Problem]]:
    problems: list[Problem] = []
    return [span for span, _ in read_records(path, _DECODER, problems, start=start)], problems


def _check_line_starts(path: Path, data: bytes, spans: list[Span]) -> None:
    """Reading from the start of any line gives what reading the whole file gives behind it."""
    middle = data.rfind(b"\n", 0, len(data) // 2) + 1
    if data[:middle].strip(b" \t\r\n"):
        behind = [(s.offset, s.raw) for s in spans if s.offset >= middle]
        assert [(s.offset, s.raw) for s in _records(path, middle)[0]] == behind


def _check_tail(path: Path, data: bytes) -> None:
    lines: list[tuple[int, bytes]] = []
    at = 0
    for line in data.split(b"\n"):
        if line and not line.isspace():
            lines.append((at, line))
        at += len(line) + 1
    assert list(lines_backward(path))[::-1] == lines
    needle = data[len(data) // 3 : len(data) // 3 + 4]
    if needle:
        assert find_last(path, needle) == data.rfind(needle)
    for at, line in lines[:2] + lines[-2:]:
        assert line_around(path, at + len(line) // 2) == (at, line)


def _check_rewrite(path: Path, data: bytes, spans: list[Span]) -> None:
    """Without every third record all others stand there as they were, in their order."""
    gone = spans[::3]
    rewrite_without(path, [(s.offset, len(s.raw)) for s in gone])
    result, at = path.read_bytes(), 0
    for index, span in enumerate(spans):
        if index % 3:
            at = result.index(span.raw, at) + len(span.raw)
    assert len(result) <= len(data) - sum(len(s.raw) for s in gone)
