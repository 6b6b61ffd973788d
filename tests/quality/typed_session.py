"""A session in which a person types given sentences, as Claude Code writes it."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.unit.extraction.talk import Talk


@contextmanager
def typed_session(sentences: Sequence[str]) -> Generator[Path]:
    """Write the session and yield its file."""
    talk = Talk()
    for number, sentence in enumerate(sentences):
        talk.person(sentence).bash(f"ls part{number}", "ok").assistant(f"I looked at part {number}.")
    with TemporaryDirectory() as folder:
        yield talk.write(Path(folder)).files.paths[0]
