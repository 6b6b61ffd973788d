"""The words of a shell line: quotes, substitutions, redirections and here-documents, read from the left in one go.

What is not closed ends with the text and makes it torn; so what was begun as a quote never becomes a command. Time
grows with the length of the text and no faster, and nesting has an end.
"""

import re
from abc import ABC, abstractmethod

from slowwave.shell.tree import Command, Script, Word

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
