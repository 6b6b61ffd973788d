"""Sessions that ``opencode export`` wrote: one JSON object ``{info, messages: [{info, parts}]}`` over many lines.

Of an export that is cut short everything whole is read, and the tear is reported.
"""

from pathlib import Path

from slowwave.dialects.opencode.offsets import elements, members, text_of, value_start
from slowwave.dialects.opencode.records import Record, Session, Stored, record_of, session_of
from slowwave.errors import UnreadableError
from slowwave.records.lines import open_regular
from slowwave.records.model import Problem, Span


class Export:
    """An export file, read whole, with the exact place of each message and part."""

    def __init__(self, path: Path, part: int, problems: list[Problem]) -> None:
        self.path = path
        self.part = part
        self._problems = problems
        self._data = file_bytes(path)
        self._text = text_of(self._data)
        self._line = 1
        self._counted = 0
        self.session = Session()
        self.stored: list[Stored] = []
        self.is_export = False
        self._read()

    def _read(self) -> None:
        start = value_start(self._text)
        for key, at, end in members(self._text, start):
            self.is_export = self.is_export or key == "info"
            if key == "info" and end is not None:
                self.session = session_of(self._record(at, end).fields)
            elif key == "messages":
                self.is_export = True
                for element, stop in elements(self._text, at):
                    if (message := self._message(element, stop)) is not None:
                        self.stored.append(message)
            if end is None:
                detail = "the export ends here; what stands before is read"
                self._problems.append(Problem("torn", self.path, self._line, at, len(self._data) - at, detail))

    def _message(self, at: int, stop: int) -> Stored | None:
        """Return a message, as far as it is there: without its ``info`` nobody knows who said it."""
        info: Record | None = None
        parts: list[Record] = []
        for key, start, end in members(self._text, at):
            if key == "info" and end is not None:
                info = self._record(start, end)
            elif key == "parts":
                parts = [self._record(s, e) for s, e in elements(self._text, start) if e >= 0]
        if info is not None:
            return Stored(info, parts)
        if stop >= 0:
            self._problems.append(
                Problem("garbage", self.path, self._line, at, stop - at, "a message without its info")
            )
        return None

    def _record(self, start: int, end: int) -> Record:
        if start >= self._counted:
            self._line += self._data.count(b"\n", self._counted, start)
            self._counted = start
        record = record_of(Span(self.part, self._line, start, self._data[start:end]))
        if not record.fields and end - start > len("{}"):
            detail = "no object that can be read (nested too deeply?)"
            self._problems.append(Problem("garbage", self.path, self._line, start, end - start, detail))
        return record


def file_bytes(path: Path) -> bytes:
    """Return the content of a regular file.

    Raises:
        UnreadableError: it cannot be opened or read.
    """
    try:
        with open_regular(path) as file:
            return file.read()
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
