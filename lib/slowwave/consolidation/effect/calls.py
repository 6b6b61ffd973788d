"""Calls as a rule names them, whether a command is one, whatever else it is given, and what a rule demands of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from slowwave.shell.commands import CHECKS, Proven, commands_of
from slowwave.shell.purposes import tool_of

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
_VALUE = re.compile(r"\d+|auto")
# options with the next word as their value
_VALUED = _set("-C -f --file --filter -F --prefix --dir --cwd --project --directory --workspace -w --manifest-path -p")
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
    """How a command is called, as far as a memory says it.

    Attributes:
        words: program and what is asked of it, without options.
        options: options that it has.
        setting: assignments before it.
        topic: in place of all of these: any call that is for this, or has it in its name.
    """

    words: tuple[str, ...]
    options: frozenset[str] = frozenset()
    setting: frozenset[str] = frozenset()
    topic: str = ""

    @property
    def width(self) -> int:
        """How much it says: of two calls that fit a command the wider one is meant."""
        return len(self.words) + len(self.options) + len(self.setting)

    def fits(self, command: Proven, *, launched: bool = True) -> bool:
        """Say whether a command is such a call, or, where ``launched``, starts one (``npx jest``)."""
        if self.topic:
            return command.purpose == self.topic or any(map(self._is_named, command.text.split()[:3]))
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
        first = words[0] if words and "/" in own[0] else words[0].rsplit("/", 1)[-1] if words else ""
        return _plain(first) == _plain(own[0]) and _begins(words[1:], own[1:], is_open=own[0] in _MANY)


@dataclass(frozen=True, slots=True)
class Demand:
    """What one memory demands.

    Attributes:
        kind: in which way.
        wanted: calls that it asks for.
        refused: calls that it refuses.
        paths: files that are not to be changed; of "after" those whose change asks for something.
        instead: files that are to be changed in place of these.
        purpose: of the kind "purpose": what for.
        until: of the kind "gate": what comes behind these.
        behind: of the kind "after": calls that ask for something, beside paths.
        cause: of a cure: what the failure was put down to, or "".
    """

    kind: Kind
    wanted: tuple[Call, ...] = ()
    refused: tuple[Call, ...] = ()
    paths: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    purpose: str = ""
    until: Call | None = None
    behind: tuple[Call, ...] = ()
    cause: str = ""

    @property
    def can_be_followed(self) -> bool:
        """Whether a session can show that it is kept, and not only that it is broken."""
        return bool(self.wanted or self.instead or any(call.words and call.options for call in self.refused))

    @property
    def shows(self) -> bool:
        """Whether a session that shows nothing of it had no occasion for it: else it may have done otherwise unseen."""
        if self.kind == "purpose":
            return self.purpose in CHECKS
        return self.kind != "choice" or bool(self.paths or any(call.words for call in self.refused))


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
