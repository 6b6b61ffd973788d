"""Shell lines as commands: plain words, redirections, here-documents; what is not certain to run is left out.

Only what a line surely does is told: nothing inside ``if``, loops and functions, nothing behind ``||``, and of words
only those that stand for themselves (no variable, no substitution, no pattern).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_HERE = re.compile(r"(?<!<)<<(?!<)(?P<tabs>-?)[ \t]*(?P<quote>['\"\\]?)(?P<word>[A-Za-z_]\w*)(?P=quote)?")
# stands for a here-document in the line that is left
_MARK = "\x00"
_TOKEN = re.compile(
    r"(?P<space>(?:[ \t\r]|\\\r?\n)+)"
    r"|(?P<redirection>(?:\d+|&)?(?:>>|>\||>&|<<<|<>|<&|>|<))"
    r"|(?P<operator>&&|\|\||;;|\|&|[;&|()\n])"
    r"|(?P<word>(?:\\[^\n]|'[^']*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|[^\s;&|()<>'\"\\`])+)",
    re.DOTALL,
)
_QUOTED = re.compile(r"\\(?P<escaped>.)|'(?P<single>[^']*)'|\"(?P<double>(?:\\.|[^\"\\])*)\"|(?P<bare>.)", re.DOTALL)
_OPEN = frozenset({"if", "for", "while", "until", "case", "select", "function", "{"})
_CLOSE = frozenset({"fi", "done", "esac", "}"})
# what comes behind && after one of these runs only now and then, and the line may still end well
_TESTS = frozenset({"test", "[", "[[", "grep", "rg", "diff", "cmp", "which", "pgrep"})
# what always succeeds: behind || it makes the whole succeed
_SUCCEED = frozenset({"true", ":", "echo"})
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*\+?=")
# what runs the command behind it, and how many words of its own it takes
_WRAPPERS = {"sudo": 0, "time": 0, "command": 0, "nohup": 0, "nice": 0, "env": 0, "exec": 0, "timeout": 1}


class Word(NamedTuple):
    """A word without its quotes; ``is_plain`` when it stands for itself."""

    text: str
    is_plain: bool = True


@dataclass(slots=True)
class ShellCommand:
    """One command of a line.

    Attributes:
        words: program and arguments, without assignments and what only runs the command.
        writes: files that its output goes to.
        reads: files that its input comes from.
        documents: the here-documents that it gets.
        is_certain: it runs whenever the line does not fail.
        starts: it runs also when the line fails.
        depth: how many parentheses it stands in.
        chain: which of the lists between semicolons it stands in.
        is_tested: whether it runs hangs on a test before it in its list.
    """

    words: list[Word] = field(default_factory=list[Word])
    writes: list[Word] = field(default_factory=list[Word])
    reads: list[Word] = field(default_factory=list[Word])
    documents: list[str] = field(default_factory=list[str])
    is_certain: bool = True
    starts: bool = True
    depth: int = 0
    chain: int = 0
    is_tested: bool = False

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words else ""


def commands_in(line: str) -> list[ShellCommand]:
    """Return the commands of a line in order; none when the line cannot be taken apart."""
    bare, documents = _without_documents(line)
    found: list[ShellCommand] = []
    state = _State()
    for group in _groups(bare):
        if group is None:
            return []
        command = _command(group, documents)
        if state.holds(group, command):
            found.append(command)
    for command in found:
        command.is_certain = command.is_certain and state.is_certain(command, found[-1].chain)
    return found


@dataclass(slots=True)
class _Group:
    """The tokens between two operators, and the operator before them."""

    operator: str
    tokens: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(slots=True)
class _State:
    """Where in the structure of a line the next command stands."""

    nested: int = 0
    parens: int = 0
    behind_or: bool = False
    behind_and: bool = False
    is_test: bool = False
    tested: bool = False
    chain: int = 0
    with_or: set[int] = field(default_factory=set[int])

    def is_certain(self, command: ShellCommand, last: int) -> bool:
        """Say whether what hangs on a test has run: only when the line would have failed otherwise."""
        return not command.is_tested or (command.chain == last and command.chain not in self.with_or)

    def holds(self, group: _Group, command: ShellCommand) -> bool:
        """Note the operator and the keywords of a command, mark it; say whether there is one at all."""
        self._operator(group.operator)
        words = [text for kind, text in group.tokens if kind == "word"]
        first = words[0] if words else ""
        if first in _OPEN:
            self.nested += 1
        command.depth = self.parens
        command.is_certain = not self.nested and not self.behind_or
        command.starts = command.is_certain and not self.behind_and
        command.chain, command.is_tested = self.chain, self.tested
        self.is_test = command.program in _TESTS
        if self.behind_or and command.program in _SUCCEED:
            self.behind_or = self.tested = False
        if first in _CLOSE:
            self.nested = max(0, self.nested - 1)
        return bool(command.words or command.writes)

    def _operator(self, operator: str) -> None:
        match operator:
            case "||":
                self.behind_or = True
                self.with_or.add(self.chain)
            case "&&":
                self.behind_and = True
                self.tested = self.tested or self.is_test
            case "(":
                self.parens += 1
            case ")":
                self.parens = max(0, self.parens - 1)
            case "|" | "|&":
                pass
            case _:
                self.behind_or = self.behind_and = self.tested = False
                self.chain += 1


def _groups(line: str) -> Iterator[_Group | None]:
    group = _Group("")
    at = 0
    while at < len(line):
        if line[at] == "#" and (at == 0 or line[at - 1] in " \t\n;&|("):
            at = line.find("\n", at) if "\n" in line[at:] else len(line)
            continue
        token = _TOKEN.match(line, at)
        if token is None:
            yield None
            return
        at = token.end()
        kind = token.lastgroup or ""
        if kind == "operator":
            yield group
            group = _Group(token[0])
        elif kind != "space":
            group.tokens.append((kind, token[0]))
    yield group


def _command(group: _Group, documents: list[str]) -> ShellCommand:
    command = ShellCommand()
    redirection = ""
    for kind, text in group.tokens:
        if kind == "redirection":
            redirection = text
        elif redirection:
            _redirect(command, redirection, text, documents)
            redirection = ""
        elif command.words or not _ASSIGNMENT.match(text):
            command.words.append(_word(text))
    _unwrap(command)
    return command


def _redirect(command: ShellCommand, operator: str, text: str, documents: list[str]) -> None:
    if operator == "<<<":
        if text.startswith(_MARK):
            command.documents.append(documents[int(text[1:])])
    elif operator == "<":
        command.reads.append(_word(text))
    elif ">" in operator and not (operator.endswith(">&") and (text.isdigit() or text == "-")):
        command.writes.append(_word(text))


def _unwrap(command: ShellCommand) -> None:
    """Take off what only runs a command."""
    while command.words and (own := _WRAPPERS.get(command.words[0].text)) is not None:
        rest = command.words[1:]
        while rest and (rest[0].text.startswith("-") or _ASSIGNMENT.match(rest[0].text)):
            rest = rest[1:]
        command.words = rest[own:]


def _word(text: str) -> Word:
    parts: list[str] = []
    is_plain = True
    for piece in _QUOTED.finditer(text):
        match piece.lastgroup:
            case "escaped":
                parts.append(piece["escaped"])
            case "single":
                parts.append(piece["single"])
            case "double":
                is_plain = is_plain and "$" not in piece["double"] and "`" not in piece["double"]
                parts.append(re.sub(r"\\([\"\\$`])", r"\1", piece["double"]))
            case _:
                is_plain = is_plain and piece[0] not in "$`*?[]{}"
                parts.append(piece[0])
    return Word("".join(parts), is_plain)


def _without_documents(line: str) -> tuple[str, list[str]]:
    """Return a line with marks in the place of its here-documents, and these."""
    if "<<" not in line:
        return line, []
    documents: list[str] = []
    lines = line.split("\n")
    kept: list[str] = []
    at = 0
    while at < len(lines):
        text, at = lines[at], at + 1
        for here in list(_HERE.finditer(text)):
            end = _end(lines, at, here["word"])
            if end is None:
                continue
            text = text.replace(here[0], f"<<<{_MARK}{len(documents)}", 1)
            documents.append("\n".join(lines[at:end]))
            at = end + 1
        kept.append(text)
    return "\n".join(kept), documents


def _end(lines: list[str], begin: int, word: str) -> int | None:
    return next((at for at in range(begin, len(lines)) if lines[at].strip() == word), None)
