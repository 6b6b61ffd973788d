"""What clients write around a person's decisions to refuse a tool call, and which tools do what."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, cast

import msgspec

from slowwave.formats.model import ToolResult
from slowwave.reading.dialogs import claude_record, decoded, is_dialog, opencode_part

_SHELLS = frozenset(
    {
        "bash",
        "powershell",
        "shell",
        "local_shell",
        "exec",
        "exec_command",
        "shell_command",
        "run_command",
        "execute",
        "terminal",
    }
)
# a command that failed could print the client's words; only these tools write its exit code before what it said
_MARKS_FAILURE = frozenset({"Bash", "PowerShell"})
_EDITORS = frozenset({"edit", "write", "multiedit", "notebookedit", "apply_patch", "str_replace", "create", "patch"})
# a shell as a program with its line as a word of its own
_GIVE_SCRIPT = ("-c", "-lc", "-lic", "-ic")
_WITH_SCRIPT = 3
# client: Claude Code 1.0 to 2.1 write one of these in the place of the result of a call that was not let through
_REFUSED = re.compile(
    r"\A(?:The user doesn't want to (?:proceed with this tool use|take this action right now)"
    r"|Permission for this tool use was denied)\."
)
# ... this before the reason that a person gave, and since 2.1 a note behind it
_REASON = re.compile(
    r" The tool use was rejected[^\n]{0,200}?[Tt]he user said:\n(?P<reason>.+?)"
    r"(?:\n\nNote: The user's next message may contain a correction or preference\..*)?\Z",
    re.DOTALL,
)
_BY_PERSON = "user-rejected"
# client: so are its own tools called; those of servers have a low line in their name
_OWN_TOOL = re.compile(r"[A-Z][A-Za-z]*")
# client: opencode 1.0 to 1.18, as the error of the call
_FEEDBACK = re.compile(
    r"\AThe user rejected permission to use this specific tool call"
    r"(?:\.\Z| with the following feedback: (?P<reason>.+)\Z)",
    re.DOTALL,
)
_SHORTEST_WRITTEN = 20
# client: Codex names the files of a patch in its header lines
_PATHS = ("file_path", "path", "notebook_path", "filePath")
_OLD = ("old_string", "oldString", "oldText", "old_str")
_NEW = ("new_string", "newString", "newText", "new_str", "new_source")
_WHOLE = ("content", "file_text")
_PATCHED = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$")


class _Metadata(msgspec.Struct):
    exit_code: int = 0


class _Wrapped(msgspec.Struct):
    output: str
    metadata: _Metadata | None = None


_wrapped = msgspec.json.Decoder(_Wrapped)


def refusal_in(tool: str, result: ToolResult, raw: bytes) -> str | None:
    """Return the reason that a person typed when they refused a call, "" where they gave none, None where nobody did.

    The words alone prove nothing, since what a call returns could imitate them: the record must be of the client that
    writes them, marked as it marks a refusal, and the tool one whose errors begin with the client's own words.
    ``tool``: the tool that was called. ``result``: what stands in the place of its result.
    """
    if not result.is_error or is_foreign(tool):
        return None
    if found := _FEEDBACK.match(result.text):
        part = opencode_part(raw) if tool in _SHELLS | _EDITORS else None
        is_own = part and (part.call, part.state.status) == (result.id, "error")
        return (found["reason"] or "") if is_own else None
    refused = _REFUSED.match(result.text)
    if refused is None or not _OWN_TOOL.fullmatch(tool) or (tool.lower() in _SHELLS and tool not in _MARKS_FAILURE):
        return None
    record = claude_record(raw)
    if record is None or record.denial not in ("", _BY_PERSON) or not bytes(record.outcome).startswith(b'"'):
        return None
    # who leaves a dialog to talk about its questions has typed nothing: the client lists them there
    found = None if is_dialog(tool) else _REASON.match(result.text, refused.end())
    return found["reason"] if found else ""


def is_foreign(tool: str) -> bool:
    """Say whether a tool's output is written by other programs or pages, which could imitate the client's words."""
    return "__" in tool or "mcp" in tool.lower() or tool.lower().startswith("web")


def command_in(tool: str, args: Mapping[str, object]) -> str:
    """Return the shell line of a call, or "" when the tool is no shell."""
    return line_in(args) if tool.lower() in _SHELLS else ""


def line_in(args: Mapping[str, object]) -> str:
    """Return the shell line among the arguments of a shell's call, or ""."""
    for name in ("command", "cmd", "script"):
        value = args.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            words = [str(word) for word in cast("list[object]", value)]
            return words[2] if len(words) == _WITH_SCRIPT and words[1] in _GIVE_SCRIPT else shlex.join(words)
    return ""


class Change(NamedTuple):
    """What a call does to one file."""

    path: str  # the file, as the call names it
    removed: str = ""  # the lines that it takes out, as far as it says so
    added: str = ""  # the lines that it puts in and did not take out
    is_whole: bool = False  # the lines put in are all of the file


def changes_of(tool: str, args: Mapping[str, object], line: str = "") -> tuple[Change, ...]:
    """Return what a call does to files: one that an editor names, or those of a patch in a call or a shell line."""
    patch = line or args.get("input", args.get("patch"))
    if isinstance(patch, str) and "*** Begin Patch" in patch:
        return tuple(_patched(patch))
    path = _text(args, _PATHS) if tool.lower() in _EDITORS else ""
    if not path:
        return ()
    whole = _text(args, _WHOLE)
    edits = args.get("edits")
    every = cast("list[object]", edits) if isinstance(edits, list) else list[object]()
    fields = [cast("Mapping[str, object]", one) for one in every if isinstance(one, dict)] or [args]
    pairs = [(_text(one, _OLD), _text(one, _NEW)) for one in fields]
    return (Change(path, added=whole, is_whole=True) if whole else _replaced(path, pairs),)


def edited_paths(tool: str, args: Mapping[str, object], line: str = "") -> tuple[str, ...]:
    """Return the files that a call changes."""
    return tuple(change.path for change in changes_of(tool, args, line))


def _text(fields: Mapping[str, object], names: Iterable[str]) -> str:
    return next((value for name in names if isinstance(value := fields.get(name), str)), "")


def _replaced(path: str, pairs: Iterable[tuple[str, str]]) -> Change:
    """Return a change of pieces, each without the lines that stay."""
    removed: list[str] = []
    added: list[str] = []
    for old, new in pairs:
        gone, come = old.split("\n"), new.split("\n")
        removed += [one for one in gone if one not in come]
        added += [one for one in come if one not in gone]
    return Change(path, "\n".join(removed), "\n".join(added))


def _patched(patch: str) -> Iterator[Change]:
    """Yield what a patch does to each of its files."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    made: set[str] = set()
    path = ""
    for line in patch.split("\n"):
        if line.startswith("*** "):
            head = _PATCHED.match(line)
            path = head[1] if head else ""
            if head:
                found.setdefault(path, ([], []))
                made |= {path} if line.startswith("*** Add") else set()
        elif path and line.startswith(("-", "+")):
            found[path][line[0] == "+"].append(line[1:])
    for name, (removed, added) in found.items():
        yield Change(name, "\n".join(removed), "\n".join(added), name in made)


def written_texts(tool: str, args: object) -> list[str]:
    """Return what a call writes into files: the texts of an editor's call, the commands of a shell's."""
    name = tool.lower()
    if name not in _EDITORS and name not in _SHELLS:
        return []
    if not isinstance(args, dict):
        return [args] if isinstance(args, str) else []
    values = list(cast("Mapping[str, object]", args).values())
    for edit in [one for value in values if isinstance(value, list) for one in cast("list[object]", value)]:
        values += cast("Mapping[str, object]", edit).values() if isinstance(edit, dict) else [edit]
    return [value for value in values if isinstance(value, str) and len(value) > _SHORTEST_WRITTEN]


def output_of(text: str) -> str:
    """Return what a command printed: Codex to 2025 wrapped it in JSON (client: Codex 0.2 to 0.50)."""
    if not text.startswith('{"output":'):
        return text
    wrapped = decoded(_wrapped, text)
    if wrapped is None:
        return text  # cut off, or a program's own JSON
    return f"Exit code {wrapped.metadata.exit_code}\n{wrapped.output}" if wrapped.metadata else wrapped.output
