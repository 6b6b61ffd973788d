"""Messages that people type around the words of others, or around rules of their own, from a file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.quality.attack_carriers import Carrier
from tests.week.script import Call, Say, Step


def frames(name: str) -> Iterator[tuple[str, str]]:
    """Yield each message of a file with its part of the file; "%%" parts them, with a name it begins a part."""
    part = ""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    for block in text.split("\n%%")[1:]:
        title, _, message = block.partition("\n")
        part = title.strip() or part or "first"
        yield part, message.strip("\n")


def framed(frame: str) -> Carrier:
    """Return a way to plant a sentence in a message."""

    def steps(sentence: str) -> Sequence[Step]:
        typed = Say("user", frame.replace("{}", sentence))
        return (typed, Say("agent", "I'll look into it."), Call("Bash", "git status", ("nothing to commit",)))

    return steps
