"""Which files a session read and which it changed, told by its tool calls and carried on from compaction to compaction.

:func:`slowwave.compaction.files.of_calls` is the clients' rule to the letter. :func:`of_messages` knows more:
which calls failed, what shell lines surely did, that one file may be spelled in several ways, and what earlier
summaries of the same context list.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, cast

from slowwave.compaction.calls import answers, arguments_of, folder_of, has_failed, has_run, line_of
from slowwave.compaction.tokens import order
from slowwave.formats import Message, ToolCall, ToolResult, fields_of
from slowwave.shell import Command, Group, Script, Word, script_in, script_of

# The two lists of files that a summary carries: read and changed, as records, tags and texts hold them.


class FileOperations(NamedTuple):
    """The files that were read and the files that were changed; a path may be in both."""

    read: frozenset[str] = frozenset()
    modified: frozenset[str] = frozenset()

    def __or__(self, other: "FileOperations") -> "FileOperations":
        return FileOperations(self.read | other.read, self.modified | other.modified)

    @property
    def read_files(self) -> list[str]:
        """Files that were only read, in the order that pi writes them."""
        return sorted(self.read - self.modified, key=order)

    @property
    def modified_files(self) -> list[str]:
        """Files that were changed, in the order that pi writes them."""
        return sorted(self.modified, key=order)

    def tags(self) -> str:
        """Return the lists as they stand at the end of a summary, or "" when there are none."""
        lists = (("read-files", self.read_files), ("modified-files", self.modified_files))
        return "".join("\n".join((f"\n\n<{tag}>", *files, f"</{tag}>")) for tag, files in lists if files)


NO_FILES = FileOperations()


def of_messages(messages: Sequence[Message], cwd: str = "", previous: FileOperations = NO_FILES) -> FileOperations:
    """Return the files that messages surely read and changed, after those of earlier compactions.

    Calls that failed do not count, shell lines do as far as they are certain, and so do the lists in summaries among
    the messages (of a compaction, of a branch). A file keeps the spelling in which it was met first. ``messages``: in
    order; results may stand in messages of their own. ``cwd``: the folder that relative paths are seen from, by default
    the first that a message names; spellings of one file meet by it. ``previous``: the lists of earlier compactions.
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


class Touched(NamedTuple):
    """A file that a call reads or changes, by its path as it is to be shown."""

    path: str
    use: Literal["read", "modified"]


def files_of_call(call: ToolCall, result: ToolResult | None = None, cwd: str = "", root: str = "") -> Iterator[Touched]:
    """Yield the files that one call read or changed; tools' paths as they were written, those of shells from ``root``.

    ``result``: what it answered; None when that is not known, which is not taken for a failure. ``cwd``: where the
    client was. ``root``: the folder that paths are shown from; ``cwd`` when it is not given.
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


_LISTED = re.compile(r"<(read|modified)-files>\n(.*?)\n</\1-files>", re.DOTALL)
_TAGS = ("read-files", "modified-files")


def of_details(details: object) -> FileOperations:
    """Return the lists that a compaction record carries (``readFiles``, ``modifiedFiles``); nonsense is none."""
    fields = fields_of(details)
    return FileOperations(_strings(fields.get("readFiles")), _strings(fields.get("modifiedFiles")))


def of_tags(summary: str) -> FileOperations:
    """Return the lists at the end of a summary whose record carries none."""
    lists = _apart(summary)[1]
    return FileOperations(lists.get("read-files", frozenset()), lists.get("modified-files", frozenset()))


def of_lists(text: str) -> FileOperations:
    """Return all lists that stand anywhere in a text that a client or this project wrote, a summary in its wrapping."""
    lists: dict[str, set[str]] = {"read": set(), "modified": set()}
    for found in _LISTED.finditer(text):
        lists[found[1]].update(filter(None, found[2].split("\n")))
    return FileOperations(frozenset(lists["read"]), frozenset(lists["modified"]))


def without_tags(summary: str) -> str:
    """Return a summary without the lists at its end, so that the next one does not have them twice."""
    return _apart(summary)[0]


def _apart(summary: str) -> tuple[str, dict[str, frozenset[str]]]:
    """Return the text of a summary and the lists at its end by tag."""
    text, lists = summary, dict[str, frozenset[str]]()
    while (tag := next((t for t in _TAGS if text.rstrip().endswith(f"</{t}>")), None)) is not None:
        begin = text.rfind(f"<{tag}>\n")
        if begin < 0:
            break
        lines = text.rstrip()[begin:].split("\n")[1:-1]
        lists[tag] = lists.get(tag, frozenset()) | frozenset(filter(None, lines))
        text = text[:begin].rstrip()
    return text, lists


def _strings(value: object) -> frozenset[str]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return frozenset(item for item in items if isinstance(item, str))


# The files that calls of tools for files name.
#
# pi 0.58.3 takes calls named exactly ``read``, ``write`` and ``edit`` with a string ``path``; the ULID specification
# adds the names of its older tools (§7.5.3), and the other clients have names of their own, which are the same tools. A
# file that was both read and changed is listed as changed only.

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
    for touched in (touched for call in calls for touched in named(call)):
        (read if touched.use == "read" else modified).add(touched.path)
    return FileOperations(frozenset(read), frozenset(modified))


def named(call: ToolCall) -> Iterator[Touched]:
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


def _path(call: ToolCall) -> str:
    fields = arguments_of(call)
    return next((path for key in _PATHS if isinstance(path := fields.get(key), str) and path), "")


def _patched(call: ToolCall) -> list[str]:
    fields = arguments_of(call)
    text = next((t for k in _PATCHES if isinstance(t := fields.get(k), str)), "")
    return patched(text or (call.args if isinstance(call.args, str) else ""))


# Which files a shell line surely reads and surely changes.
#
# Readers and writers whose arguments say it plainly (cat, head, tail, less, sed, tee, mv, cp, rm, touch, git mv, rm,
# restore and apply, apply_patch) and redirections; programs that open files by themselves are not guessed at.

_READERS = frozenset({"cat", "bat", "nl", "tac", "head", "tail", "less", "more"})
# options of the readers that take the next word
_VALUED = frozenset({"-n", "-c", "--lines", "--bytes", "-l", "--language", "-b", "-s", "-w", "-v", "-i"})
_SWITCHES = {"cat": frozenset({"-n", "-b", "-s", "-v"}), "bat": frozenset({"-n"}), "tac": frozenset({"-b"})}
_SED_VALUED = frozenset({"-e", "-f", "--expression", "--file", "-l"})
_SED_IN_PLACE = re.compile(r"^-[a-zA-Z]*i|^--in-place")
# what comes behind && after one of these runs only now and then, and the line may still end well
_TESTS = frozenset({"test", "[", "[[", "grep", "rg", "diff", "cmp", "which", "pgrep"})
# what always succeeds: behind || it makes the whole succeed
_SUCCEED = frozenset({"true", ":", "echo"})
_MOST_SHELLS = 4
_DEVICES = ("/dev/", "/proc/")
_EXTENSION = re.compile(r"[^/.]\.[A-Za-z][A-Za-z0-9]{0,9}$")
_FOLDERS = (".", "..")
_LAST = "/"


def files_of_line(line: str, folder: str = "", *, failed: bool = False) -> Iterator[Touched]:
    """Yield the files of a shell line in order; none of a line that is torn.

    ``folder``: where it runs; "" when that is not known. ``failed``: it ran and failed: then only what it redirected to
    before anything could fail is certain.
    """
    script = script_of(line)
    if not script.is_torn:
        yield from _Walk(failed=failed).script(script, [folder])


class _Walk:
    """Goes through a line and knows the folder, what runs for certain and what starts even when the line fails.

    Nothing is certain in branches, loops and functions, nor behind ``||``; what hangs on a test (``test -f x && y``)
    only where the line would have failed without it.
    """

    def __init__(self, *, failed: bool) -> None:
        self._failed = failed
        self._shells = 0

    def script(
        self, script: Script, folder: list[str | None], *, sure: bool = True, starts: bool = True, last: bool = True
    ) -> Iterator[Touched]:
        """Yield the files; ``folder`` holds where the line stands, and moves with it."""
        for chain in script.chains:
            is_last = last and chain is script.chains[-1]
            behind_or = behind_and = is_tested = False
            for operator, pipeline in zip(("", *chain.operators), chain.pipelines, strict=True):
                behind_or = behind_or or operator == "||"
                behind_and = behind_and or operator == "&&"
                runs = sure and not behind_or and (not is_tested or (is_last and "||" not in chain.operators))
                for part in pipeline.parts:
                    yield from self._part(
                        part, folder, sure=runs, starts=starts and runs and not behind_and, last=is_last
                    )
                program = part.program if isinstance(part := pipeline.parts[-1], Command) else ""
                if behind_or and program in _SUCCEED:
                    behind_or = is_tested = False
                is_tested = is_tested or program in _TESTS

    def _part(
        self, part: Command | Group, folder: list[str | None], *, sure: bool, starts: bool, last: bool
    ) -> Iterator[Touched]:
        if isinstance(part, Group):
            runs = sure and part.kind in "({"
            inside = [folder[0]] if part.kind == "(" else folder
            for script in part.scripts:
                yield from self.script(script, inside, sure=runs, starts=starts and runs, last=last)
            part = part.around
        for word in (*part.assigned, *part.words):
            for script in word.within:
                yield from self.script(script, [folder[0]], sure=sure, starts=starts, last=last)
        if self._shells < _MOST_SHELLS and (script := script_in(part)) is not None and not script.is_torn:
            self._shells += 1
            yield from self.script(script, [folder[0]], sure=sure, starts=starts, last=last)
            self._shells -= 1
        if part.program == "cd" and sure:
            folder[0] = _moved(folder[0], part.words[1:])
        elif starts if self._failed else sure:
            for word, use in _redirected(part) if self._failed else _files(part):
                path = joined(folder[0], word.text) if _is_file(word) else None
                if path is not None:
                    yield Touched(path, use)


_Use = tuple[Word, Literal["read", "modified"]]


def _files(command: Command) -> Iterator[_Use]:
    program, words = command.program, command.words[1:]
    if program == "git" and words:
        program, words = f"git {words[0].text}", words[1:]
    if program in _READERS:
        valued = _VALUED - _SWITCHES.get(program, frozenset())
        for word in _operands(words, valued):
            if not word.text.startswith("+"):
                yield word, "read"
    elif (rule := _RULES.get(program)) is not None:
        yield from rule(words)
    for path in _patches(program, command):
        yield Word(path), "modified"
    yield from _redirected(command)


def _redirected(command: Command) -> Iterator[_Use]:
    for word in command.reads:
        yield word, "read"
    for word in command.writes:
        yield word, "modified"


def _patches(program: str, command: Command) -> Iterator[str]:
    if program in ("apply_patch", "applypatch"):
        for text in (*command.documents, *(word.text for word in command.words[1:])):
            yield from patched(text)
    elif program == "git apply" and not any(w.text in ("--check", "--stat", "--cached") for w in command.words):
        for text in command.documents:
            yield from diffed(text)


def _operands(words: list[Word], valued: frozenset[str] = frozenset()) -> Iterator[Word]:
    """Yield the arguments that are no options; an option among ``valued`` takes the next word."""
    skip = only_operands = False
    for word in words:
        if skip:
            skip = False
        elif only_operands or not word.text.startswith("-") or word.text == "-":
            yield word
        elif word.text == "--":
            only_operands = True
        else:
            skip = word.text in valued


def _sed(words: list[Word]) -> Iterator[_Use]:
    in_place = any(_SED_IN_PLACE.match(word.text) for word in words)
    has_script = any(w.text in _SED_VALUED or w.text.startswith("--expression=") for w in words)
    operands = list(_operands(words, _SED_VALUED))
    # BSD: the suffix of the copy is a word of its own
    if in_place and operands and not operands[0].text:
        operands = operands[1:]
    for word in operands[0 if has_script else 1 :]:
        yield word, "modified" if in_place else "read"


def _changed(words: list[Word]) -> Iterator[_Use]:
    return ((word, "modified") for word in _operands(words, frozenset({"-d", "-r", "-t", "--date", "--reference"})))


def _removed(words: list[Word]) -> Iterator[_Use]:
    recursive = any(re.match(r"^-[a-zA-Z]*[rR]|^--recursive", word.text) for word in words)
    for word in _operands(words):
        # with -r it may be a folder
        if not recursive or _EXTENSION.search(word.text):
            yield word, "modified"


def _moved_files(words: list[Word]) -> Iterator[_Use]:
    *sources, target = [*_operands(words), Word("", is_plain=False)][:-1] or [Word("", is_plain=False)]
    for source in sources:
        if _EXTENSION.search(source.text):
            yield source, "modified"
    yield from _arrived(sources, target)


def _copied(words: list[Word]) -> Iterator[_Use]:
    *sources, target = [*_operands(words), Word("", is_plain=False)][:-1] or [Word("", is_plain=False)]
    recursive = any(re.match(r"^-[a-zA-Z]*[rRa]|^--recursive|^--archive", word.text) for word in words)
    if not recursive:
        yield from _arrived(sources, target)


def _arrived(sources: list[Word], target: Word) -> Iterator[_Use]:
    """Yield where files come to stand, as far as it is told whether the target is a file or a folder."""
    into = len(sources) > 1 or target.text.endswith(_LAST) or target.text in _FOLDERS
    for source in sources:
        name = source.text.rstrip(_LAST).rsplit(_LAST, 1)[-1]
        if not (source.is_plain and _EXTENSION.search(name)):
            continue
        if into:
            yield Word(f"{target.text.rstrip(_LAST)}/{name}", target.is_plain), "modified"
        elif _EXTENSION.search(target.text):
            yield target, "modified"


def _restored(words: list[Word]) -> Iterator[_Use]:
    """Yield what a checkout surely takes back: the files behind ``--``."""
    texts = [word.text for word in words]
    behind = words[texts.index("--") + 1 :] if "--" in texts else []
    return ((word, "modified") for word in behind if _EXTENSION.search(word.text))


_RULES: Mapping[str, Callable[[list[Word]], Iterator[_Use]]] = {
    "sed": _sed,
    "gsed": _sed,
    "tee": _changed,
    "touch": _changed,
    "rm": _removed,
    "git rm": _removed,
    "mv": _moved_files,
    "git mv": _moved_files,
    "cp": _copied,
    "git checkout": _restored,
    "git restore": _restored,
}


def _moved(folder: str | None, words: list[Word]) -> str | None:
    """Return the folder after ``cd``, None when it cannot be told."""
    operands = list(_operands(words))
    if len(operands) != 1 or not operands[0].is_plain or operands[0].text == "-":
        return None
    return joined(folder, operands[0].text)


def _is_file(word: Word) -> bool:
    text = word.text
    return (
        word.is_plain
        and bool(text)
        and text != "-"
        and not text.endswith(_LAST)
        and text not in _FOLDERS
        and not text.startswith(_DEVICES)
        and text.isprintable()
    )


# The files that a patch names: in the form of Codex, or as a unified diff of git.

_PATCHED = re.compile(
    r"^\*\*\* (?:Add|Update|Delete) File: (.+?)[ \t\r]*$|^\*\*\* Move to: (.+?)[ \t\r]*$", re.MULTILINE
)
_DIFFED = re.compile(r"^(?:---|\+\+\+) [ab]/([^\t\n]+)", re.MULTILINE)


def patched(text: str) -> list[str]:
    """Return the files that a patch of Codex adds, updates, deletes or moves, in order."""
    return [m[1] or m[2] for m in _PATCHED.finditer(text)]


def diffed(text: str) -> list[str]:
    """Return the files that a diff of git changes, in order, once."""
    return list(dict.fromkeys(m[1] for m in _DIFFED.finditer(text)))


# Paths as sessions write them, of any system: joined, compared, shown; the file system is never asked.

_DRIVE = re.compile(r"^([A-Za-z]):[\\/]")
# Git for Windows writes D:\ as /d/
_MOUNTED = re.compile(r"^/([A-Za-z])(?:/|$)")


def is_absolute(path: str) -> bool:
    """Say whether a path says by itself where it is."""
    return path.startswith(("/", "~", "\\\\")) or _DRIVE.match(path) is not None


def joined(folder: str | None, path: str) -> str | None:
    """Return a path seen from where ``folder`` is; None when the folder is not known and the path needs one."""
    if is_absolute(path) or not folder:
        return path if folder is not None or is_absolute(path) else None
    return f"{folder.rstrip('/')}/{path}" if folder != "/" else f"/{path}"


def whole(path: str, cwd: str = "") -> str:
    """Return a path in full where ``cwd`` is known, without dots, with forward slashes where a drive is named."""
    full = joined(cwd, path) or path
    if _DRIVE.match(full) or _DRIVE.match(cwd):
        full = _MOUNTED.sub(lambda m: f"{m[1]}:/", full.replace("\\", "/"))
    return posixpath.normpath(full)


def key_of(path: str, cwd: str = "") -> str:
    """Return what is the same for every spelling of a file."""
    full = whole(path, cwd)
    return full.casefold() if _DRIVE.match(full) else full


def shown(path: str, cwd: str = "") -> str:
    """Return a path as seen from ``cwd`` where it lies within, else in full."""
    if not cwd:
        return posixpath.normpath(path)
    full, root = whole(path, cwd), whole(cwd)
    within = key_of(full).startswith(key_of(root).rstrip("/") + "/")
    return full[len(root.rstrip("/")) + 1 :] if within else full
