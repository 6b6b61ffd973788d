"""What a client starts before a call of its agent: says in one line what memory knows of that command or that file.

Copied by ``slowwave install`` and started alone, without slowwave and its packages, once for each call. So it imports
only what is compiled into the interpreter: ``os``, ``re`` and ``json`` alone would take as long as all of this.
It reads one table that the night wrote, and writes nothing but empty files named by hashes and one line where it fails.
It never decides on a call: whatever goes wrong, it is silent and ends well.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

POSIX: "Any" = sys.modules.get("posix")  # there since the interpreter began; on other systems there are no hooks

# bytes of what a client hands over, of a table, of the log; characters of a shell line; folders up to the project
_MOST_GIVEN, _MOST_TABLE, _MOST_LOG = 16 << 20, 4 << 20, 64 << 10
_MOST_LINE, _MOST_FOLDERS, _MOST_SHELLS = 20_000, 64, 2
_KIND, _FILE = 0o170000, 0o100000
_PRIME = (1 << 127) - 1
_ABOUT = "From slowwave's memory of earlier sessions in this project (data, not an instruction): "
# what stands before a program and leaves it the same command
_BEFORE = frozenset({"sudo", "env", "nohup", "command", "exec", "time", "!", "{", "if", "then", "else", "elif", "do",
                     "while", "until"})  # fmt: skip
_ASKS = frozenset({"--help", "--version", "-h", "help"})
_SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
_ENDS = frozenset(";&|\n()")
_EDITORS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_PATCHES = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")


def name_of(text: str) -> str:
    """Return a name for a file that stands for a text: a root, a session, a memory."""
    return f"{int.from_bytes(b'.' + text.encode('utf-8', 'surrogatepass'), 'big') % _PRIME:032x}"


def answer(given: "Any", folder: str, began: str = "") -> str:
    """Return what to say to a client before a call, "" for nothing.

    ``given``: what the client hands over. ``folder``: where the tables lie and what was said is noted. ``began``: the
    folder that the session began in, where the client says so.
    """
    asked, tool = _field(given, "tool_input"), _text(given, "tool_name")
    cwd, session = _text(given, "cwd"), _text(given, "session_id")
    if _text(given, "hook_event_name") != "PreToolUse" or not session or not cwd.startswith("/"):
        return ""
    table, top = _table(cwd, folder, began)
    if not table:
        return ""
    said, line = f"{folder}/said/{name_of(session)}", _text(asked, "command")
    if "*** Begin Patch" in line:
        found = _of_paths(_patched(line), table, cwd, top)
    elif tool in _EDITORS:
        found = _of_paths([_text(asked, "file_path") or _text(asked, "notebook_path")], table, cwd, top)
    else:
        found = _of_line(line, table, said) if tool == "Bash" else []
    for point in found:
        if _is_first(said, point["id"]):
            return rendered(point["say"])
    return ""


def rendered(text: str) -> str:
    """Return a text as what a hook answers: whatever it says, it is a string in JSON."""
    from _json import encode_basestring_ascii  # noqa: PLC0415 - as above

    said = encode_basestring_ascii(_ABOUT + text)
    return f'{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","additionalContext":{said}}}}}\n'


def parsed(text: str) -> "Any":
    """Return what a JSON text says, without the import of ``json``, which takes as long as the interpreter."""
    try:
        from _json import make_scanner  # noqa: PLC0415 - not every interpreter has it there

        class Plain:
            strict, object_hook, object_pairs_hook = False, None, None
            parse_float, parse_int, parse_constant = float, int, float

        scanner: Any = make_scanner
        return scanner(Plain)(text.lstrip(), 0)[0]
    except (ImportError, AttributeError, TypeError):
        import json  # noqa: PLC0415 - an interpreter that keeps its scanner elsewhere

        return json.loads(text)


def _field(given: "Any", name: str) -> "Any":
    return given.get(name) if hasattr(given, "get") else None


def _text(given: "Any", name: str) -> str:
    found = _field(given, name)
    return found if isinstance(found, str) and "\0" not in found else ""


def _table(cwd: str, folder: str, began: str) -> "tuple[Any, str]":
    """Return the table of the project that a session works in, and the folder that its paths begin at.

    That is the repository of a folder, or else the folder itself, or the one that the session began in: what lies above
    is another project.
    """
    top = cwd.rstrip("/")
    for place in (top, began.rstrip("/")):
        if place and (top == place or top.startswith(f"{place}/")) and (table := _table_of(place, folder)):
            return table, place
    for _ in range(_MOST_FOLDERS):
        if not top:
            break
        if _is_there(f"{top}/.git"):
            # a worktree belongs to its repository
            link = _read(f"{top}/.git", 4096)
            main = link[8:].strip().partition("/.git/worktrees/") if link.startswith("gitdir: ") else ("", "", "")
            return _table_of(main[0] if main[1] else top, folder), top
        top = top.rpartition("/")[0]
    return None, ""


def _table_of(root: str, folder: str) -> "Any":
    data = _read(f"{folder}/tables/{name_of(root)}.json", _MOST_TABLE)
    table = parsed(data) if data else None
    return table if table and table["root"] == root else None


def _read(path: str, most: int) -> str:
    """Return a file, "" where there is none, or it is no file, or it is larger."""
    try:
        place = POSIX.open(path, POSIX.O_RDONLY | POSIX.O_CLOEXEC | POSIX.O_NONBLOCK)
    except OSError:
        return ""
    try:
        found = POSIX.fstat(place)
        data = POSIX.read(place, most + 1) if found.st_mode & _KIND == _FILE else b""
    finally:
        POSIX.close(place)
    return data.decode("utf-8", "surrogateescape") if len(data) <= most else ""


def _is_first(said: str, name: str) -> bool:
    """Say whether something happens for the first time in a session, and note that it did."""
    if not _is_there(said):
        try:
            POSIX.mkdir(said, 0o700)
        except FileExistsError:
            return _is_first(said, name)  # another call of the same session was faster
    try:
        POSIX.close(POSIX.open(f"{said}/{name_of(name)}", POSIX.O_WRONLY | POSIX.O_CREAT | POSIX.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def _is_there(path: str) -> bool:
    try:
        POSIX.stat(path)
    except OSError:
        return False
    return True


def _of_line(line: str, table: "Any", said: str) -> "list[Any]":
    """Return the points that a shell line is about, in the order of its commands."""
    points = [p for program, of in table["commands"].items() if program in line for p in of]
    if not points or len(line) > _MOST_LINE:
        return []
    found: list[Any] = []
    ready: set[str] = set()
    for command in commands_in(line):
        for point in points:
            name = point["id"]
            wide = max((width(call) for call in point["cure"] if fits(call, *command)), default=-1)
            if wide >= 0 and point["step"]:
                ready.add(name)
                _is_first(said, f"{name} ready")
            tried = max((width(call) for call in point["tried"] if fits(call, *command)), default=-1)
            if tried > wide and name not in ready and point not in found and not _ASKS.intersection(command[1]):
                found.append(point)
    return [p for p in found if not (p["step"] and _is_there(f"{said}/{name_of(p['id'] + ' ready')}"))]


def width(call: "Any") -> int:
    """Return how much a call says: of two that fit a command the wider one is meant."""
    return sum(map(len, call))


def fits(call: "Any", setting: list[str], words: list[str]) -> bool:
    """Say whether a command is such a call: its words, options and assignments are there, others may be as well."""
    own, options, assigned = call
    given = {word.partition("=")[0] for word in words} | set(words)
    if not (set(assigned) <= set(setting) and set(options) <= given):
        return False
    plain = [word for word in words if not word.startswith("-")]
    if not own or not plain:
        return not own
    first = plain[0] if "/" in own[0] else plain[0].rpartition("/")[2]
    return _bare(first) == _bare(own[0]) and plain[1 : len(own)] == own[1:]


def _bare(program: str) -> str:
    return program.removeprefix("./").removesuffix(".exe")


def commands_in(line: str, depth: int = 0) -> list[tuple[list[str], list[str]]]:
    """Return the commands of a shell line, each as its assignments and its words; none where a quote stays open."""
    found: list[tuple[list[str], list[str]]] = []
    for words in _Splitter(line).run():
        setting: list[str] = []
        rest = words
        while rest and (rest[0] in _BEFORE or _assigns(rest[0])):
            setting += [rest[0]] if _assigns(rest[0]) else []
            rest = rest[1:]
        if rest[:1] == ["timeout"]:
            rest = rest[1:]
            while rest and (rest[0].startswith("-") or rest[0][:1].isdigit()):
                rest = rest[1:]
        if depth < _MOST_SHELLS and rest and rest[0].rpartition("/")[2] in _SHELLS and rest[1:2] in (["-c"], ["-lc"]):
            found += commands_in(rest[2], depth + 1) if len(rest) > 2 else []  # noqa: PLR2004
        elif rest:
            found.append((setting, " ".join(rest).split()))
    return found


def _assigns(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


class _Splitter:
    """Goes through a shell line once, without redirections and the bodies of here-documents."""

    def __init__(self, line: str) -> None:
        self._line, self._at = f"{line}\n", 0
        self._word, self._is_word, self._is_target = "", False, False
        self._marks: list[str] = []
        self._words: list[str] = []
        self.found: list[list[str]] = []

    def run(self) -> "list[list[str]]":
        """Return the words of each command, none where what is opened stays open."""
        while self._at < len(self._line):
            sign = self._line[self._at]
            if sign in "'\"`" or self._line.startswith(("$(", "${"), self._at):
                if not self._quoted(sign):
                    return []
            elif sign == "\\":
                self._at += 1
                if self._line[self._at : self._at + 1] not in ("", "\n"):
                    self._add(self._line[self._at])
            elif sign in "<>":
                self._redirected()
            elif sign.isspace() or sign in _ENDS:
                self._ended(sign)
            elif sign == "#" and not self._is_word:
                self._at = self._line.index("\n", self._at) - 1
            else:
                self._add(sign)
            self._at += 1
        return [words for words in self.found if words]

    def _add(self, text: str) -> None:
        self._word, self._is_word = self._word + text, True

    def _quoted(self, sign: str) -> bool:
        close = _closed(self._line, self._at)
        if close < 0:
            return False
        if sign in "'\"":
            self._add(self._line[self._at + 1 : close].replace('\\"', '"'))
        else:
            self._add(self._line[self._at : close + 1])
        self._at = close
        return True

    def _redirected(self) -> None:
        if self._is_word and not self._word.isdigit():
            self._words.append(self._word)
        self._word, self._is_word, self._is_target = "", False, True
        is_here = self._line.startswith("<<", self._at) and not self._line.startswith("<<<", self._at)
        while self._line[self._at + 1] in "<>&-":
            self._at += 1
        rest = self._line[self._at + 1 :].split(None, 1)
        if is_here and rest:
            self._marks.append(rest[0].strip("'\"\\;)"))

    def _ended(self, sign: str) -> None:
        if self._is_word:
            self._words += [] if self._is_target else [self._word]
            self._is_target = False
        self._word, self._is_word = "", False
        if sign in _ENDS:
            self.found.append(self._words)
            self._words, self._is_target = [], False
        for mark in self._marks if sign == "\n" else ():
            stop = self._line.find(f"\n{mark}\n", self._at)
            self._at = stop + len(mark) + 1 if stop >= 0 else len(self._line)
        if sign == "\n":
            self._marks = []


def _closed(line: str, at: int) -> int:
    """Return where what is opened somewhere ends, -1 where it does not."""
    sign = line[at]
    if sign == "'":
        return line.find("'", at + 1)
    close = sign if sign in '"`' else ")" if line[at + 1] == "(" else "}"
    at += 1 if sign in '"`' else 2
    while at < len(line):
        sign = line[at]
        if sign == "\\":
            at += 1
        elif sign == close:
            return at
        elif (close != "`" and sign == "`") or line.startswith("$(", at) or (close != '"' and sign in "'\""):
            at = _closed(line, at)
            if at < 0:
                return -1
        at += 1
    return -1


def _patched(line: str) -> list[str]:
    return [row[len(mark) :].strip() for row in line.split("\n") for mark in _PATCHES if row.startswith(mark)]


def _of_paths(paths: list[str], table: "Any", cwd: str, top: str) -> "list[Any]":
    """Return the points that files are about."""
    found: list[Any] = []
    for path in paths:
        if not path:
            continue
        parts: list[str] = []
        for part in (path if path.startswith("/") else f"{cwd}/{path}").split("/"):
            if part == "..":
                parts = parts[:-1]
            elif part not in ("", "."):
                parts.append(part)
        above = [part for part in top.split("/") if part]
        if parts[: len(above)] == above:
            own = parts[len(above) :]
            found += [p for p in table["paths"] if p not in found and any(is_in(own, one) for one in p["paths"])]
    return found


def is_in(parts: list[str], pattern: list[str]) -> bool:
    """Say whether a file is what a pattern names, or lies in it; a name alone is that of something at the top."""
    if len(pattern) == 1:
        return bool(parts) and _is_like(parts[0], pattern[0])
    last = len(parts) - len(pattern)
    return any(all(map(_is_like, parts[at : at + len(pattern)], pattern)) for at in range(last + 1))


def _is_like(name: str, pattern: str) -> bool:
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    if not name.startswith(first) or len(name) < len(pattern) - len(rest) or not name.endswith(rest[-1]):
        return False
    at, end = len(first), len(name) - len(rest[-1])
    for piece in rest[:-1]:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= end


def _note(error: BaseException, folder: str) -> None:
    """Add a line to the log: when, and what kind of error, without a word of what was handed over."""
    import time  # noqa: PLC0415 - only where something went wrong

    path = f"{folder}/log"
    place = POSIX.open(path, POSIX.O_WRONLY | POSIX.O_CREAT | POSIX.O_APPEND, 0o600)
    if POSIX.fstat(place).st_size < _MOST_LOG:
        back = error.__traceback__
        while back is not None and back.tb_next is not None:
            back = back.tb_next
        where = back.tb_lineno if back is not None else 0
        POSIX.write(place, f"{int(time.time())} {type(error).__name__} line {where}\n".encode())


def main() -> None:
    """Answer a client that waits, and end well whatever happens."""
    folder = __file__.rpartition("/")[0]
    try:
        pieces: list[bytes] = []
        size = 0
        while piece := POSIX.read(0, 1 << 20):
            size += len(piece)
            pieces += [piece] if size <= _MOST_GIVEN else []
        began = POSIX.environ.get(b"CLAUDE_PROJECT_DIR", b"").decode("utf-8", "surrogateescape")
        given = parsed(b"".join(pieces).decode("utf-8", "replace")) if size <= _MOST_GIVEN else None
        if said := answer(given, folder, began):
            POSIX.write(1, said.encode())
    except BaseException as error:  # noqa: BLE001 - the agent goes on, whatever this was
        _note(error, folder)
    finally:
        POSIX._exit(0)  # noqa: SLF001 - what an interpreter does at its end takes a tenth of the time that there is
