"""A shell line as a tree: scripts of chains, chains of pipelines, pipelines of commands and groups."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple


class Word(NamedTuple):
    """A word of a command.

    Attributes:
        text: without its quotes.
        is_plain: it stands for itself: no variable, no substitution, no pattern.
        raw: as it was written.
        within: what runs to give its text.
    """

    text: str
    is_plain: bool = True
    raw: str = ""
    within: tuple["Script", ...] = ()


@dataclass(slots=True)
class Command:
    """One command.

    Attributes:
        words: program and arguments, without what only runs it (``sudo``, ``timeout 5``) and assignments.
        assigned: the assignments before it.
        writes: files that its output goes to.
        reads: files that its input comes from.
        documents: the here-documents that it gets.
    """

    words: list[Word] = field(default_factory=list[Word])
    assigned: list[Word] = field(default_factory=list[Word])
    writes: list[Word] = field(default_factory=list[Word])
    reads: list[Word] = field(default_factory=list[Word])
    documents: list[str] = field(default_factory=list[str])

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
    """Several commands that count as one.

    Attributes:
        kind: ``(`` and ``{`` run once; a branch or a loop (``if``) may not; a ``function`` only when it is called.
        scripts: what is inside.
        around: where the output of all of it goes.
    """

    kind: Literal["(", "{", "if", "function"]
    scripts: list["Script"]
    around: Command = field(default_factory=Command)


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
