"""The structure of a shell line: lists, pipelines, groups, branches and functions out of its words.

Every line has a tree. What stands where it cannot stand is left out, and the tree says that the line is torn.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

from slowwave.shell.lexer import Lexer
from slowwave.shell.tree import Chain, Command, Group, Pipeline, Script, Word

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
