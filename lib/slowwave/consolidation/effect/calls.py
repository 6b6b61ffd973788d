"""Calls as a rule names them, whether a command is one, whatever else it is given, and what a rule demands of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal

from slowwave.reading import Edited, Item, Ran, Reading, Said
from slowwave.shell import Word, commands_in, script_of
from slowwave.shell.commands import KNOWN, Proven, commands_of, is_ask, tool_of
from slowwave.shell.mentioned import names_file

Kind = Literal[
    "choice",  # do these and not those
    "other way",  # a command fails, and this one works
    "purpose",  # what is done for a purpose is done so
    "step",  # a command fails until another one was run
    "gate",  # these are run between the last change and a commit or a push
    "after",  # whoever changes such a file runs this
]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# programs that take several targets, and those that run the scripts of a project with and without "run"
_MANY = _set("make gmake mvn mvnw gradle gradlew rake ninja")
_SHELLS = _set("bash sh zsh source .")
_RUNS = _set("npm pnpm yarn bun")
_STANDS_FOR = re.compile(r"(?<!/)\.\.\.|\u2026|[<>\[\]]")
_VALUE = re.compile(r"\d+[smhMGk]?|auto")
# options with the next word as their value
_VALUED = _set("-C -f --file --filter -F --prefix --dir --cwd --project --directory --workspace -w --manifest-path -p")
MANAGERS = _set("npm pnpm yarn bun pip pip3 uv poetry pdm pipenv cargo go gem bundle composer conda mamba dotnet mix")
# what only shows files, whatever these are called
LOOKS = _set("cat ls head tail less grep egrep rg find fd sed awk echo wc stat tree diff cd")
# what brings a package in, and what its name ends before
_INSTALLS = _set("add install i get require")
_PACKAGE = re.compile(r"(?<=\w)(?:[@=<>~!\[^].*|:.*)")
_SAME = {
    "-f": ("--force",), "--force": ("-f",), "-n": ("--no-verify",), "-g": ("--global",), "--global": ("-g",),
    "-i": ("--interactive",), "-y": ("--yes",), "--yes": ("-y",), "--auto-approve": ("-auto-approve",),
    "-auto-approve": ("--auto-approve",),
}  # fmt: skip
# whose options they are that people refuse without a word of the call
_OWNERS = {
    "--no-verify": ("git commit", "git push"), "--force": ("git push",), "--amend": ("git commit",),
    "--hard": ("git reset",), "--legacy-peer-deps": ("npm install", "npm ci"), "-auto-approve": ("terraform apply",),
    "--auto-approve": ("terraform apply",), "--force-with-lease": ("git push",), "--allow-empty": ("git commit",),
    "--no-gpg-sign": ("git commit",), "--prune": ("kubectl apply", "docker system"), "--no-cache": ("docker build",),
    "--break-system-packages": ("pip install",), "--user": ("pip install",), "--squash": ("git merge",),
    "--no-ff": ("git merge",), "--privileged": ("docker run",), "-DskipTests": ("mvn",), "--global": ("npm install",),
    "--ignore-scripts": ("npm install", "npm ci"), "--no-frozen-lockfile": ("pnpm install",),
    "--fix": ("eslint", "ruff"),
    "--update-snapshots": ("playwright test",), "--volumes": ("docker compose down",), "-rf": ("rm",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """How a command is called, as far as a memory says it."""

    words: tuple[str, ...]  # program and what is asked of it, without options
    options: frozenset[str] = frozenset()  # options that it has
    setting: frozenset[str] = frozenset()  # assignments before it
    topic: str = ""  # in place of all of these: any call that is for this, or has it in its name

    @property
    def width(self) -> int:
        """How much it says: of two calls that fit a command the wider one is meant."""
        return len(self.words) + len(self.options) + len(self.setting)

    def fits(self, command: Proven, *, launched: bool = True) -> bool:
        """Say whether a command is such a call, or, where ``launched``, starts one (``npx jest``)."""
        if self.topic:
            return command.purpose == self.topic or (
                command.program not in LOOKS and any(map(self._is_named, command.text.split()[:3]))
            )
        if not self.setting <= set(command.setting.split()):
            return False
        texts = [text.strip("'\"") for text in command.text.split()]
        forms = [texts]
        if texts and texts[0] in _SHELLS:
            forms.append(texts[1:])
        if launched and texts:
            program, rest = tool_of(texts)
            forms.append([program, *rest])
        return any(self._is_in(form) for form in forms)

    def _is_named(self, word: str) -> bool:
        return any(part.startswith(self.topic) for part in re.findall("[a-z]+", word.lower()))

    def _is_in(self, texts: Sequence[str]) -> bool:
        if not texts or not self.options <= _options_of(texts):
            return False
        words, own = _scripts(list(_operands(texts))), _scripts(self.words)
        if not own:
            return True
        if len(own) == 1 and own[0] not in KNOWN and not _INSTALLS.isdisjoint(words[1:3]):
            return any(_PACKAGE.sub("", word) == own[0] for word in words[2:])
        first = words[0] if words and "/" in own[0] else words[0].rsplit("/", 1)[-1] if words else ""
        return _plain(first) == _plain(own[0]) and _begins(words[1:], own[1:], is_open=own[0] in _MANY)


# What an agent did.


@dataclass(frozen=True, slots=True)
class Act:
    """A command that an agent ran, or a file that it changed."""

    item: Item  # what shows it
    command: Proven | None = None  # the command, or None
    path: str = ""  # the file, below the working folder where it lies there, or ""
    added: str = ""  # the lines put into it
    is_done: bool = True  # it ended well


_IN_PLACE = ("sed", "perl", "gsed")


def acts_of(reading: Reading) -> Iterator[Act]:
    """Yield what an agent did, in order; what only asks or pretends (``--help``) is left out."""
    for item in reading.items:
        if isinstance(item, Ran):
            for command in item.run.commands:
                words = words_in(command.text)
                yield from (Act(item, path=path) for path in _changed_by(words))
                if not is_ask(words):
                    is_done = command.outcome == "succeeded" or (command.outcome == "unknown" and item.run.ok)
                    yield Act(item, command, is_done=is_done)
            yield from (Act(item, path=path, added=text) for path, text in _made_by(item.line))
        elif isinstance(item, Edited):
            path, folder = PurePosixPath(item.path), item.cwd
            name = str(path.relative_to(folder)) if folder and path.is_relative_to(folder) else str(path)
            yield Act(item, path=name, added=item.added)
        elif isinstance(item, Said) and item.channel == "refusal":
            # the name of the tool stands before what was refused
            for command in commands_of(item.refused.partition(" ")[2]):
                yield Act(item, command, is_done=False)


def words_in(text: str) -> list[Word]:
    """Return the words of one command, without their quotes."""
    return next((one.words for one in commands_in(script_of(text))), list[Word]())


def _changed_by(words: Sequence[Word]) -> Iterator[str]:
    """Yield the files that a command changes in their place."""
    texts = [word.text for word in words]
    if texts and texts[0] in _IN_PLACE and any(text.startswith(("-i", "-pi")) for text in texts):
        yield from (text for text in texts[1:] if not text.startswith("-") and names_file(text))


def _made_by(line: str) -> Iterator[tuple[str, str]]:
    """Yield the files that a shell line writes, copies or moves, and the text that it gives them, "" where unknown."""
    for command in commands_in(script_of(line)):
        texts = [word.text for word in command.words]
        operands = [text for text in texts[1:] if not text.startswith("-")]
        program = texts[0] if texts else ""
        if program == "git" and operands[:1] == ["mv"]:
            program, operands = "mv", operands[1:]
        if program in ("touch", "tee"):
            yield from ((path, "\n".join(command.documents)) for path in operands)
        elif program in ("mv", "cp") and len(operands) == 2:  # noqa: PLR2004 - one to one
            source, target = operands
            yield f"{target}{PurePosixPath(source).name}" if target.endswith("/") else target, ""
        for word in command.writes:
            if not word.text.startswith(("/dev/", "&")):
                yield word.text, "\n".join(command.documents)


@dataclass(frozen=True, slots=True)
class Demand:
    """What one memory demands."""

    kind: Kind  # in which way
    wanted: tuple[Call, ...] = ()  # calls that it asks for
    refused: tuple[Call, ...] = ()  # calls that it refuses
    paths: tuple[str, ...] = ()  # files that are not to be changed; of "after" those whose change asks for something
    instead: tuple[str, ...] = ()  # files that are to be changed in place of these
    purpose: str = ""  # of the kind "purpose": what for
    until: Call | None = None  # of the kind "gate": what comes behind these
    behind: tuple[Call, ...] = ()  # of the kind "after": calls that ask for something, beside paths
    cause: str = ""  # of a cure: what the failure was put down to, or ""
    is_scoped: bool = False  # it holds under a condition that nobody can see: what is done otherwise breaks nothing
    is_implied: bool = False  # what is refused only follows from what is asked for: it breaks nothing

    @property
    def can_be_followed(self) -> bool:
        """Whether a session can show that it is kept, and not only that it is broken."""
        return bool(self.wanted or self.instead or any(call.words and call.options for call in self.refused))

    @property
    def shows(self) -> bool:
        """Whether the structure of a session shows that it had no occasion: the rule names calls or paths."""
        calls = (*self.wanted, *self.behind) if self.kind != "choice" else self.refused
        # a word alone, which nothing is asked for in place of, may be done by another name
        least = 1 if self.wanted else 2
        return not self.is_scoped and bool(self.paths or any(call.words and call.width >= least for call in calls))


def _options_of(texts: Sequence[str]) -> set[str]:
    """Return the options of a command, each also without its value, with the next word, and short ones one by one."""
    found: set[str] = set()
    for text, value in zip(texts, (*texts[1:], ""), strict=True):
        if text.startswith("-"):
            found |= {text, text.partition("=")[0], text.replace("=", " "), f"{text} {value}"}
            if short := re.fullmatch(r"-([A-Za-z]{2,3})", text):
                found |= {f"-{letter}" for letter in short[1]}
            elif joined := re.fullmatch(r"(-[A-Za-z])(\d+)", text):
                found |= {joined[1], f"{joined[1]} {joined[2]}"}
    return found | {same for name in found for same in _SAME.get(name, ())}


def _scripts(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command without the "run" that some programs do not ask for: ``npm run test``."""
    is_run = len(words) > 2 and words[0] in _RUNS and words[1] == "run"  # noqa: PLR2004 - and what is run
    return (words[0], *words[2:]) if is_run else tuple(words)


def _operands(texts: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command that are no options; those that may be values of one are left out behind it."""
    for before, text in zip(("", *texts), texts, strict=False):
        if not text.startswith("-") and not (before in _VALUED or (before.startswith("-") and _VALUE.fullmatch(text))):
            yield text


def _begins(words: Sequence[str], own: Sequence[str], *, is_open: bool) -> bool:
    """Say whether words begin with others, or, of a program that takes several, have them among them."""
    return set(own) <= set(words) if is_open else tuple(words[: len(own)]) == tuple(own)


def call_of(text: str) -> Call | None:
    """Return the call that a text is, None when it is none, or several."""
    if text.startswith("-"):
        return Call((), frozenset((text,))) if len(text.split()) <= 2 else None  # noqa: PLR2004 - with its value
    commands = commands_of(text)
    if len(commands) != 1:
        return None
    # what stands for something else is left out: ``name=...``, ``<file>``
    words = [word.strip("'\"") for word in commands[0].text.split() if not _STANDS_FOR.search(word)]
    options = {word for word in words if word.startswith("-")}
    # a number behind an option is its value
    options |= {f"{a} {b}" for a, b in pairwise(words) if a in options and _VALUE.fullmatch(b)}
    options -= {option.split()[0] for option in options if " " in option}
    return Call(tuple(_operands(words)), frozenset(options), frozenset(commands[0].setting.split()))


def calls_of(spans: Iterable[str]) -> tuple[Call, ...]:
    """Return the calls among what a rule names."""
    return tuple(call for span in spans for call in (call_of(span),) if call)


def owners_of(call: Call) -> Iterator[Call]:
    """Yield the calls that an option belongs to which is named without any."""
    for option in call.options:
        for owner in _OWNERS.get(option, ()):
            yield Call(tuple(owner.split()), call.options)


def shorter_of(call: Call) -> Iterator[Call]:
    """Yield what is not meant by a call: the same without its options, and what it launches by itself."""
    program, rest = tool_of(list(call.words))
    is_launched = call.words and program != call.words[0]
    if call.setting or (call.options and not is_launched):
        yield Call(call.words)
    is_other = call.words and program in call.words[1:] and program != call.words[0].rsplit("/", 1)[-1]
    if is_other and program not in ("docker", "compose"):
        yield Call((program, *rest))


def _plain(program: str) -> str:
    return program.removeprefix("./").removesuffix(".exe")
