"""Which files a session read and which it changed, told by its tool calls and carried on from compaction to compaction.

pi 0.58.3 takes calls named exactly ``read``, ``write`` and ``edit`` with a string ``path``; the ULID specification adds
the names of its older tools (§7.5.3), and the other clients have names of their own, which are the same tools. A file
that was both read and changed is listed as changed only.

:func:`of_calls` is their rule to the letter. :func:`of_messages` knows more: which calls failed, what shell lines
surely did, that one file may be spelled in several ways, and what earlier summaries of the same context list.
"""

from collections.abc import Iterable, Iterator, Sequence

from slowwave.compaction.arguments import arguments_of
from slowwave.compaction.calls import answers
from slowwave.compaction.file_lists import NO_FILES, FileOperations, of_lists
from slowwave.compaction.outcomes import has_failed, has_run
from slowwave.compaction.patches import patched
from slowwave.compaction.paths import is_absolute, joined, key_of, shown
from slowwave.compaction.shell_calls import folder_of, line_of
from slowwave.compaction.shell_files import Touched, files_of_line
from slowwave.dialects.model import Message, ToolCall, ToolResult

_READ = frozenset({"read", "read_file", "readfile", "notebookread", "view", "open_file", "view_image"})
_MODIFIED = frozenset(
    {
        *("write", "edit", "write_file", "edit_file", "multiedit", "notebookedit", "create", "create_file"),
        *("str_replace", "replace", "writefile", "editfile", "delete_file", "insert"),
    }
)
# one tool for looking and changing; ``command`` says which of the two
_EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool"})
_PATCH = frozenset({"apply_patch", "patch"})
_PATHS = ("path", "file_path", "filePath", "notebook_path", "absolute_path")
_PATCHES = ("input", "patch", "patchText")


def of_calls(calls: Iterable[ToolCall]) -> FileOperations:
    """Return the files that calls name; whether a call succeeded is not asked, as in every source."""
    read: set[str] = set()
    modified: set[str] = set()
    for touched in (touched for call in calls for touched in _named(call)):
        (read if touched.use == "read" else modified).add(touched.path)
    return FileOperations(frozenset(read), frozenset(modified))


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
        for path, use in _named(call):
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


def _named(call: ToolCall) -> Iterator[Touched]:
    """Yield the files that a call of a tool for files names."""
    name = call.name.lower()
    if name in _PATCH:
        yield from (Touched(path, "modified") for path in _patched(call))
        return
    path = _path(call)
    if path and (name in _READ or (name in _EDITORS and arguments_of(call).get("command") == "view")):
        yield Touched(path, "read")
    elif path and (name in _MODIFIED or name in _EDITORS):
        yield Touched(path, "modified")


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


def _path(call: ToolCall) -> str:
    fields = arguments_of(call)
    return next((path for key in _PATHS if isinstance(path := fields.get(key), str) and path), "")


def _patched(call: ToolCall) -> list[str]:
    fields = arguments_of(call)
    text = next((t for k in _PATCHES if isinstance(t := fields.get(k), str)), "")
    return patched(text or (call.args if isinstance(call.args, str) else ""))
