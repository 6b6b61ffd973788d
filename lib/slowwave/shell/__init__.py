"""The structure of a shell line: lists, pipelines, groups, branches and functions out of its words.

Every line has a tree. What stands where it cannot stand is left out, and the tree says that the line is torn.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, takewhile
from typing import ClassVar, Literal, NamedTuple

# A shell line as a tree: scripts of chains, chains of pipelines, pipelines of commands and groups.


class Word(NamedTuple):
    """A word of a command."""

    text: str  # without its quotes
    is_plain: bool = True  # it stands for itself: no variable, no substitution, no pattern
    raw: str = ""  # as it was written
    within: tuple["Script", ...] = ()  # what runs to give its text


@dataclass(slots=True)
class Command:
    """One command."""

    # program and arguments, without what only runs it (``sudo``, ``timeout 5``) and assignments
    words: list[Word] = field(default_factory=list[Word])
    assigned: list[Word] = field(default_factory=list[Word])  # the assignments before it
    writes: list[Word] = field(default_factory=list[Word])  # files that its output goes to
    reads: list[Word] = field(default_factory=list[Word])  # files that its input comes from
    documents: list[str] = field(default_factory=list[str])  # the here-documents that it gets

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return self.words[0].text.replace("\\", "/").rsplit("/", 1)[-1] if self.words else ""

    @property
    def text(self) -> str:
        """The command alone, as it was written, without redirections."""
        return " ".join(word.raw for word in self.words)


@dataclass(slots=True)
class Group:
    """Several commands that count as one."""

    # ``(`` and ``{`` run once; a branch or a loop (``if``) may not; a ``function`` only when it is called
    kind: Literal["(", "{", "if", "function"]
    scripts: list["Script"]  # what is inside
    around: Command = field(default_factory=Command)  # where the output of all of it goes


@dataclass(slots=True)
class Pipeline:
    """Commands whose output goes to the next one."""

    parts: list[Command | Group]
    is_negated: bool = False


@dataclass(slots=True)
class Chain:
    """Pipelines with ``&&`` and ``||`` between them: one operator less than pipelines."""

    pipelines: list[Pipeline]
    operators: list[str]
    is_background: bool = False


@dataclass(slots=True)
class Script:
    """Chains that run one after the other; ``is_torn`` when the text is no whole shell line."""

    chains: list[Chain]
    is_torn: bool = False


def commands_in(script: Script) -> Iterator[Command]:
    """Yield every command of a line, also those of groups; not those that only give the text of a word."""
    for chain in script.chains:
        for pipeline in chain.pipelines:
            for part in pipeline.parts:
                if isinstance(part, Command):
                    yield part
                else:
                    for inner in part.scripts:
                        yield from commands_in(inner)


_MOVES = ("cd", "pushd", "popd")


def folder_of(line: str, text: str = "") -> str:
    """Return the folder, as it is written there, that a line goes to before anything else; "" where it goes nowhere.

    ``text``: the command in the line that is meant; "" too where it does not run before the line goes somewhere else.
    """
    script = script_of(line)
    part = script.chains[0].pipelines[0].parts[0] if script.chains else None
    if not isinstance(part, Command) or part.program not in _MOVES or len(part.words) != 2:  # noqa: PLR2004
        return ""
    there = takewhile(lambda command: command.program not in _MOVES, islice(commands_in(script), 1, None))
    if text and all(command.text != text for command in there):
        return ""
    folder = part.words[1]
    return folder.text if folder.is_plain and folder.text not in ("..", "-", "~") else ""


# The words of a shell line: quotes, substitutions, redirections and here-documents, read from the left in one go.
#
# What is not closed ends with the text and makes it torn; so what was begun as a quote never becomes a command. Time
# grows with the length of the text and no faster, and nesting has an end.

_BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_BARE = re.compile(r"[^\s;&|()<>'\"\\`$*?\[\]{}]+")
# what may go on with a word behind its letters
_GO_ON = frozenset("'\"$`\\<>*?[]{}")
# the first signs of what is looked for at many places: a set is asked faster than an expression
_BLANKS = frozenset(" \t\r\\")
_REDIRECTS = frozenset("<>&{0123456789")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_IN_BACKTICKS = re.compile(r"(?:[^`\\]|\\.)*", re.DOTALL)
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\w+|[?#@*!$-])")
_PARENTHESIS = re.compile(r"[()]")
_REDIRECTION = re.compile(r"(?:\d+|\{\w+\})?(?P<operator><<<|<<-?|<>|<&|<(?!\()|>>|>\||>&|>(?!\())|(?P<both>&>>?)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
# in double quotes a backslash stands for itself before anything else
_ESCAPED = {'"': '"', "\\": "\\", "$": "$", "`": "`", "\n": ""}
_MOST_NESTED = 50


class Lexer(ABC):
    """Reads one text from its beginning to its end; what stands in a substitution is left to :meth:`script`."""

    def __init__(self, text: str, nested: int = 0) -> None:
        self.text = text
        self.at = 0
        self.is_torn = False
        self.nested = nested
        # here-documents whose text begins behind the next line end
        self._waiting: list[tuple[str, bool, list[str]]] = []

    @abstractmethod
    def script(self, until: frozenset[str] = frozenset(), closing: str = "") -> Script:
        """Read chains up to a keyword, a closing token or the end of the text; the structure is the grammar's."""

    def whole(self) -> Script:
        """Read all of the text."""
        script = self.script()
        script.is_torn = self.is_torn = self.is_torn or bool(self._waiting)
        return script

    def inside(self) -> Script:
        """Read what stands in parentheses that were opened, and the one that closes them."""
        script = self.script(closing=")")
        self.expect(")")
        return script

    def redirections(self, command: Command) -> None:
        """Read where the output of a command goes, and where its input comes from."""
        self.skip_blanks()
        while (
            self.text[self.at : self.at + 1] in _REDIRECTS
            and (found := _REDIRECTION.match(self.text, self.at)) is not None
        ):
            self.at = found.end()
            operator = found["operator"] or found["both"]
            self.skip_blanks()
            word = self.word()
            self.skip_blanks()
            if not word.raw:
                self.is_torn = True
            elif operator in ("<<", "<<-"):
                self._waiting.append((word.text, operator == "<<-", command.documents))
            elif operator == "<":
                command.reads.append(word)
            elif ">" in operator and not (operator == ">&" and (word.text.isdigit() or word.text == "-")):
                command.writes.append(word)

    def word(self) -> Word:  # noqa: C901 - one case for every kind of quote
        """Read one word; it is empty where none stands."""
        begin, text = self.at, self.text
        bare = _BARE.match(text, begin)
        if bare is not None and text[bare.end() : bare.end() + 1] not in _GO_ON:
            self.at = bare.end()  # as most are
            return Word(bare[0], is_plain=True, raw=bare[0], within=())
        parts: list[str] = []
        within: list[Script] = []
        is_plain = True
        while not self.is_end():
            if (bare := _BARE.match(text, self.at)) is not None:
                parts.append(bare[0])
                self.at = bare.end()
                continue
            match text[self.at]:
                case "'":
                    end = self._find("'", self.at + 1)
                    parts.append(text[self.at + 1 : end])
                    self.at = end + 1
                case '"':
                    self.at += 1
                    is_plain = self._double(parts, within) and is_plain
                case "$":
                    is_plain = self._dollar(parts, within) and is_plain
                case "`":
                    self._backticks(parts, within)
                    is_plain = False
                case "\\":
                    if text[self.at + 1 : self.at + 2] != "\n":
                        parts.append(text[self.at + 1 : self.at + 2])
                    self.at += 2
                case "<" | ">" if text[self.at + 1 : self.at + 2] == "(":
                    begun = self.at
                    self.at += 2
                    within.append(self.inside())
                    parts.append(text[begun : self.at])
                    is_plain = False
                case "*" | "?" | "[" | "]" | "{" | "}":
                    parts.append(text[self.at])
                    self.at += 1
                    is_plain = False
                case _:
                    break
        self.at = min(self.at, len(text))
        return Word("".join(parts), is_plain, text[begin : self.at], tuple(within))

    def _double(self, parts: list[str], within: list[Script]) -> bool:
        """Read up to the closing double quote; say whether the text stands for itself."""
        is_plain = True
        while not self.is_end():
            if (run := _IN_DOUBLE.match(self.text, self.at)) is not None:
                parts.append(run[0])
                self.at = run.end()
                continue
            match self.text[self.at]:
                case '"':
                    self.at += 1
                    return is_plain
                case "\\":
                    escaped = self.text[self.at + 1 : self.at + 2]
                    parts.append(_ESCAPED.get(escaped, f"\\{escaped}"))
                    self.at += 2
                case "$":
                    is_plain = self._dollar(parts, within, in_double=True) and is_plain
                case _:
                    self._backticks(parts, within)
                    is_plain = False
        self.is_torn = True
        return is_plain

    def _dollar(self, parts: list[str], within: list[Script], *, in_double: bool = False) -> bool:
        """Read what a dollar sign begins; say whether it stands for itself."""
        begin, text = self.at, self.text
        follows = text[begin + 1 : begin + 2]
        if follows and follows in "'\"" and not in_double:
            self.at += 1
            if follows == "'" and (ansi := _ANSI.match(text, begin)) is not None:
                parts.append(re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), ansi[1], flags=re.DOTALL))
                self.at = ansi.end()
            elif follows == "'":
                self.at = self._find("'", len(text))
            return True
        if not self.enter():
            return False
        if text.startswith("$((", begin):
            self.at += 1
            self.arithmetic()
        elif follows == "(":
            self.at += 2
            within.append(self.inside())
        elif follows == "{":
            self.at += 2
            self._parameter(within)
        elif (name := _VARIABLE.match(text, begin)) is not None:
            self.at = name.end()
        else:
            self.at += 1
            parts.append("$")
            self.nested -= 1
            return True
        self.nested -= 1
        parts.append(text[begin : self.at])
        return False

    def _parameter(self, within: list[Script]) -> None:
        """Read up to the brace that closes ``${``."""
        opened = 1
        while not self.is_end():
            char = self.text[self.at]
            if char in "$`":
                (self._dollar if char == "$" else self._backticks)([], within)
                continue
            self.at += 2 if char == "\\" else 1
            if char == '"':
                self._double([], within)
            opened += {"{": 1, "}": -1}.get(char, 0)
            if not opened:
                return
        self.is_torn = True

    def _backticks(self, parts: list[str], within: list[Script]) -> None:
        begin = self.at
        inner = _IN_BACKTICKS.match(self.text, begin + 1)
        end = inner.end() if inner else begin + 1
        if self.text[end : end + 1] != "`":
            self.is_torn = True
        if self.nested < _MOST_NESTED:
            reader = type(self)(re.sub(r"\\([`\\$])", r"\1", self.text[begin + 1 : end]), self.nested + 1)
            within.append(reader.whole())
            self.is_torn = self.is_torn or reader.is_torn
        self.at = min(end + 1, len(self.text))
        parts.append(self.text[begin : self.at])

    def arithmetic(self) -> None:
        """Read ``(( ))``, of which nothing is a command."""
        opened = 0
        for found in _PARENTHESIS.finditer(self.text, self.at):
            opened += 1 if found[0] == "(" else -1
            if not opened:
                self.at = found.end()
                return
        self.at, self.is_torn = len(self.text), True

    def enter(self) -> bool:
        """Go one level deeper; what is nested too deeply is not read any more."""
        if self.nested < _MOST_NESTED:
            self.nested += 1
            return True
        self.at, self.is_torn = len(self.text), True
        return False

    def is_end(self) -> bool:
        """Say whether all of the text is read."""
        return self.at >= len(self.text)

    def looks_at(self, *tokens: str) -> bool:
        """Say whether one of some texts comes next."""
        return self.text.startswith(tokens, self.at)

    def expect(self, token: str) -> None:
        """Skip a text that has to come next."""
        self.skip_blanks()
        if self.looks_at(token):
            self.at += len(token)
        else:
            self.is_torn = True

    def _find(self, token: str, begin: int) -> int:
        end = self.text.find(token, begin)
        if end < 0:
            self.is_torn = True
        return end if end >= 0 else len(self.text)

    def comment(self) -> None:
        """Skip what is left of a line."""
        end = self.text.find("\n", self.at)
        self.at = end if end >= 0 else len(self.text)

    def skip_blanks(self) -> None:
        """Skip what parts words."""
        at = self.at
        if self.text[at : at + 1] in _BLANKS and (found := _BLANK.match(self.text, at)) is not None:
            self.at = found.end()

    def skip_lines(self) -> None:
        """Skip blanks, comments and line ends; behind the first of these the here-documents begin."""
        while True:
            self.skip_blanks()
            if self.looks_at("#"):
                self.comment()
            elif self.looks_at("\n"):
                self.at += 1
                for end, is_indented, documents in self._waiting:
                    documents.append(self._document(end, is_indented=is_indented))
                self._waiting.clear()
            else:
                return

    def _document(self, end: str, *, is_indented: bool) -> str:
        begin = at = self.at
        while at < len(self.text):
            until = self.text.find("\n", at)
            until = until if until >= 0 else len(self.text)
            line = self.text[at:until].rstrip()
            if (line.lstrip("\t") if is_indented else line) == end:
                self.at = min(until + 1, len(self.text))
                return self.text[begin : max(begin, at - 1)]
            at = until + 1
        self.at, self.is_torn = len(self.text), True
        return self.text[begin:]


# The structure.

_KEYWORD = re.compile(
    r"(?:if|then|elif|else|fi|for|select|while|until|do|done|case|in|esac|function|time|!|[{}]|\[\[)(?=[\s;&|()<>]|\Z)"
)
_FIRST_OF_KEYWORDS = frozenset("itefswudc!{}[")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_END_OF_CASE = (";;&", ";;", ";&")
_CLOSES = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_EMPTY_PARENTHESES = re.compile(r"\([ \t]*\)")
_LOOKS_UP = ("-v", "-V")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_GIVES_SCRIPT = re.compile(r"-[a-z]*c")
# what only runs the command behind it: its options that take a word, and how many words of its own it takes
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "sudo": (frozenset({"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "-D", "--user", "--group"}), 0),
    "doas": (frozenset({"-u", "-C"}), 0),
    "time": (frozenset({"-f", "-o"}), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "exec": (frozenset({"-a"}), 0),
    "nohup": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "ionice": (frozenset({"-c", "-n"}), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "env": (frozenset({"-u", "-C", "--unset", "--chdir"}), 0),
    "timeout": (frozenset({"-k", "-s", "--kill-after", "--signal"}), 1),
    "gtimeout": (frozenset({"-k", "-s", "--kill-after", "--signal"}), 1),
}


@lru_cache(maxsize=2048)
def script_of(line: str) -> Script:
    """Return the tree of a shell line; agents run the same lines again and again, and nobody may change the tree."""
    return _Grammar(line).whole()


def script_in(command: Command) -> Script | None:
    """Return the line that a command gives to a shell: of ``bash -c '...'`` and ``eval``; None of any other command."""
    words = command.words
    if command.program == "eval":
        return script_of(" ".join(word.text for word in words[1:]))
    for at, word in enumerate(words[1:-1] if command.program in _SHELLS else (), 1):
        if _GIVES_SCRIPT.fullmatch(word.text):
            return script_of(words[at + 1].text)
        if not word.text.startswith("-"):
            break
    return None


class _Grammar(Lexer):
    """Reads the structure."""

    def script(self, until: frozenset[str] = frozenset(), closing: str = "") -> Script:
        """Read chains up to a keyword, a closing parenthesis or the end of a case; none of which is consumed."""
        chains: list[Chain] = []
        while True:
            self.skip_lines()
            if self.is_end():
                self.is_torn = self.is_torn or bool(until or closing)
                break
            keyword = self._keyword()
            if (closing and self.looks_at(closing)) or keyword in until:
                break
            if "esac" in until and self.looks_at(*_END_OF_CASE):
                break
            begin = self.at
            if keyword in _CLOSES:
                self.at += len(keyword)
            elif self.text[self.at] not in ";&|)":
                chains.append(self._chain())
            if self.at == begin:
                self.at += 1
            elif keyword not in _CLOSES:
                continue
            self.is_torn = True
        return Script(chains)

    def _keyword(self) -> str:
        if self.text[self.at : self.at + 1] not in _FIRST_OF_KEYWORDS:
            return ""
        found = _KEYWORD.match(self.text, self.at)
        return found[0] if found is not None else ""

    def _chain(self) -> Chain:
        chain = Chain([self._pipeline()], [])
        while True:
            self.skip_blanks()
            if self.looks_at("&&", "||"):
                chain.operators.append(self.text[self.at : self.at + 2])
                self.at += 2
                self.skip_lines()
                chain.pipelines.append(self._pipeline())
                continue
            if self.looks_at(*_END_OF_CASE):
                return chain
            if self.looks_at("&"):
                chain.is_background = True
                self.at += 1
            elif self.looks_at(";"):
                self.at += 1
            return chain

    def _pipeline(self) -> Pipeline:
        pipeline = Pipeline([])
        while (keyword := self._keyword()) in ("!", "time"):
            pipeline.is_negated ^= keyword == "!"
            self.at += len(keyword)
            self.skip_blanks()
            if keyword == "time" and self.looks_at("-p "):
                self.at += 2
                self.skip_blanks()
        pipeline.parts.append(self._part())
        while True:
            self.skip_blanks()
            if not self.looks_at("|") or self.looks_at("||"):
                return pipeline
            self.at += 2 if self.looks_at("|&") else 1
            self.skip_lines()
            pipeline.parts.append(self._part())

    def _part(self) -> Command | Group:
        if not self.enter():
            return Command()
        self.skip_blanks()
        keyword = self._keyword()
        part: Command | Group
        if self.looks_at("(("):
            self.arithmetic()
            part = Group("if", [])
        elif self.looks_at("("):
            self.at += 1
            part = Group("(", [self.inside()])
        elif (read := self._compound.get(keyword)) is not None:
            self.at += len(keyword)
            part = read(self)
        else:
            part = self._simple()
        if isinstance(part, Group) and part.kind != "function":
            self.redirections(part.around)
        self.nested -= 1
        return part

    def _braces(self) -> Group:
        script = self.script(frozenset({"}"}))
        self.expect("}")
        return Group("{", [script])

    def _branches(self) -> Group:
        group = Group("if", [])
        while True:
            group.scripts.append(self.script(frozenset({"then", "elif", "else", "fi"})))
            keyword = self._keyword()
            self.at += len(keyword)
            if keyword in ("fi", ""):
                return group

    def _loop(self) -> Group:
        condition = self.script(frozenset({"do"}))
        self.expect("do")
        body = self.script(frozenset({"done"}))
        self.expect("done")
        return Group("if", [condition, body])

    def _for(self) -> Group:
        self.skip_blanks()
        if self.looks_at("(("):
            self.arithmetic()
        while not self.is_end() and not self.looks_at(";", "\n"):
            begin = self.at
            self.word()
            self.skip_blanks()
            if self.at == begin or self._keyword() == "do":
                break
        if self.looks_at(";"):
            self.at += 1
        return self._loop()

    def _case(self) -> Group:
        group = Group("if", [])
        self.skip_blanks()
        self.word()
        self.skip_lines()
        self.expect("in")
        while True:
            self.skip_lines()
            if self.is_end() or self._keyword() == "esac":
                self.expect("esac")
                return group
            self._pattern()
            group.scripts.append(self.script(frozenset({"esac"})))
            self.at += next((len(end) for end in _END_OF_CASE if self.looks_at(end)), 0)

    def _pattern(self) -> None:
        if self.looks_at("("):
            self.at += 1
        while not self.is_end():
            self.skip_blanks()
            if self.looks_at(")"):
                self.at += 1
                return
            begin = self.at
            self.word()
            if self.at == begin:
                self.is_torn = self.is_torn or not self.looks_at("|")
                self.at += 1

    def _function(self) -> Group:
        self.skip_blanks()
        self.word()
        self.skip_blanks()
        if self.looks_at("()"):
            self.at += 2
        return self._body()

    def _body(self) -> Group:
        self.skip_lines()
        return Group("function", [Script([Chain([Pipeline([self._part()])], [])])])

    def _test(self) -> Command:
        """Read ``[[ ]]``, in which operators mean something else."""
        command = Command([Word("[[", raw="[[")])
        while not self.is_end():
            self.skip_blanks()
            begin = self.at
            word = self.word()
            command.words.append(word)
            if word.raw == "]]":
                self.redirections(command)
                return command
            if self.at == begin:
                self.at += 1
        self.is_torn = True
        return command

    _compound: ClassVar[dict[str, Callable[["_Grammar"], "Command | Group"]]] = {
        "{": _braces,
        "if": _branches,
        "while": _loop,
        "until": _loop,
        "for": _for,
        "select": _for,
        "case": _case,
        "function": _function,
        "[[": _test,
    }

    def _simple(self) -> Command | Group:
        command = Command()
        while True:
            self.redirections(command)
            if self.is_end() or self.text[self.at] in ";&|)\n":
                break
            if self.looks_at("("):
                if len(command.words) == 1 and (closed := _EMPTY_PARENTHESES.match(self.text, self.at)):
                    self.at = closed.end()
                    return self._body()
                self.is_torn = True
                self.at += 1
                continue
            if self.looks_at("#"):
                self.comment()
                break
            begin = self.at
            word = self.word()
            if self.at == begin:  # a lone < or >
                self.is_torn = True
                self.at += 1
            elif not command.words and _ASSIGNS.match(word.raw):
                command.assigned.append(word)
                if self.looks_at("("):
                    self._array()
            else:
                command.words.append(word)
        _unwrap(command)
        return command

    def _array(self) -> None:
        self.at += 1
        while True:
            self.skip_lines()
            if self.is_end() or self.looks_at(")"):
                self.expect(")")
                return
            begin = self.at
            self.word()
            if self.at == begin:
                self.at += 1


def _unwrap(command: Command) -> None:
    """Take off what only runs a command."""
    while command.words and (own := _WRAPPERS.get(command.program)) is not None:
        valued, operands = own
        at = 1
        while at < len(command.words):
            word = command.words[at]
            if word.text in _LOOKS_UP and command.program == "command":
                return
            if _ASSIGNS.match(word.raw):
                command.assigned.append(word)
            elif not word.text.startswith("-"):
                break
            at += 2 if word.text in valued else 1
        if at + operands >= len(command.words):
            return
        command.words = command.words[at + operands :]
