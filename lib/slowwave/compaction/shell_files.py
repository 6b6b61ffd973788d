"""Which files a shell line surely reads and surely changes.

Readers and writers whose arguments say it plainly (cat, head, tail, less, sed, tee, mv, cp, rm, touch, git mv, rm,
restore and apply, apply_patch) and redirections; programs that open files by themselves are not guessed at.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from slowwave.compaction.named_files import Touched
from slowwave.compaction.patches import diffed, patched
from slowwave.compaction.paths import joined
from slowwave.shell.grammar import script_in, script_of
from slowwave.shell.tree import Command, Group, Script, Word

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

    Args:
        line: the line.
        folder: where it runs; "" when that is not known.
        failed: it ran and failed: then only what it redirected to before anything could fail is certain.
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
