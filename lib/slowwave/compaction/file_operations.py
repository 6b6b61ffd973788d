"""Which files a session read and which it changed, told by its tool calls and carried on from compaction to compaction.

:func:`slowwave.compaction.named_files.of_calls` is the clients' rule to the letter. :func:`of_messages` knows more:
which calls failed, what shell lines surely did, that one file may be spelled in several ways, and what earlier
summaries of the same context list.
"""

from collections.abc import Iterator, Sequence

from slowwave.compaction.calls import answers
from slowwave.compaction.file_lists import NO_FILES, FileOperations, of_lists
from slowwave.compaction.named_files import Touched, named
from slowwave.compaction.outcomes import has_failed, has_run
from slowwave.compaction.paths import is_absolute, joined, key_of, shown
from slowwave.compaction.shell_calls import folder_of, line_of
from slowwave.compaction.shell_files import files_of_line
from slowwave.formats.model import Message, ToolCall, ToolResult


def of_messages(messages: Sequence[Message], cwd: str = "", previous: FileOperations = NO_FILES) -> FileOperations:
    """Return the files that messages surely read and changed, after those of earlier compactions.

    Calls that failed do not count, shell lines do as far as they are certain, and so do the lists in summaries among
    the messages (of a compaction, of a branch). A file keeps the spelling in which it was met first.

    Args:
        messages: in order; results may stand in messages of their own.
        cwd: the folder that relative paths are seen from, by default the first that a message names; spellings of one
            file meet by it.
        previous: the lists of earlier compactions.
    """
    cwd = cwd or next((message.cwd for message in messages if message.cwd), "")
    known = _Spellings(cwd)
    known.take(previous)
    for message, failed in _answered(messages):
        if message.origin == "summary":
            known.take(of_lists(message.text))
        for call, result in zip(message.calls, failed, strict=True):
            for touched in files_of_call(call, result, message.cwd or cwd, cwd):
                known.add(touched)
    return known.operations()


def files_of_call(call: ToolCall, result: ToolResult | None = None, cwd: str = "", root: str = "") -> Iterator[Touched]:
    """Yield the files that one call read or changed; tools' paths as they were written, those of shells from ``root``.

    Args:
        call: the call.
        result: what it answered; None when that is not known, which is not taken for a failure.
        cwd: where the client was.
        root: the folder that paths are shown from; ``cwd`` when it is not given.
    """
    root = root or cwd
    failed = result is not None and has_failed(call.name, result)
    line = line_of(call)
    if line:
        if not failed or (result is not None and has_run(result)):
            for path, use in files_of_line(line, joined(cwd, folder_of(call) or ".") or "", failed=failed):
                yield Touched(shown(path, root), use)
    elif not failed:
        for path, use in named(call):
            moved = key_of(cwd) != key_of(root) and not is_absolute(path)
            yield Touched(shown(joined(cwd, path) or path, root) if moved else path, use)


class _Spellings:
    """Every file once, in the spelling in which it was met first."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._read: dict[str, str] = {}
        self._modified: dict[str, str] = {}

    def add(self, touched: Touched) -> None:
        path = touched.path
        self._list(touched.use).setdefault(key_of(path, self._cwd), path)

    def take(self, files: FileOperations) -> None:
        for path in files.read_files:
            self.add(Touched(path, "read"))
        for path in files.modified_files:
            self.add(Touched(path, "modified"))

    def operations(self) -> FileOperations:
        read = {path for key, path in self._read.items() if key not in self._modified}
        return FileOperations(frozenset(read), frozenset(self._modified.values()))

    def _list(self, use: str) -> dict[str, str]:
        return self._read if use == "read" else self._modified


def _answered(messages: Sequence[Message]) -> Iterator[tuple[Message, list[ToolResult | None]]]:
    """Yield every message with the first result of each of its calls."""
    results: dict[tuple[int, int], ToolResult] = {}
    links = answers(([c.id for c in m.calls], [r.id for r in m.results]) for m in messages)
    for message, answered in zip(messages, links, strict=True):
        for result, answer in zip(message.results, answered, strict=True):
            if answer is not None and not answer.is_double:
                results[answer.at, answer.number] = result
    for at, message in enumerate(messages):
        yield message, [results.get((at, number)) for number in range(len(message.calls))]
