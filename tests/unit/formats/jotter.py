"""jotter, a small client that nobody wrote: its notebooks are sessions, ``~/.jotter/notebooks/NAME.jot``."""

from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from slowwave.files import home_folder, private_folder
from slowwave.formats import Message, Origin, Role, SessionFiles, Text, Transcript, millisecond_time, parse_time
from slowwave.formats.changes import append_record
from slowwave.formats.client import Client
from slowwave.formats.lines import read_records
from slowwave.formats.messages import PlainMessage
from slowwave.formats.sessions import FoundSession, K, Place, StoreProblem, Walk
from slowwave.formats.writing import Draft, Target, Writer


class Jot(msgspec.Struct):
    """A line of a notebook: ``{"jot": "a1", "by": "me", "text": "hello", "at": "2026-11-20T10:00:00.000Z"}``."""

    jot: str = ""
    by: str = ""
    text: str = ""
    at: str = ""


_WHO: dict[str, tuple[Role, Origin]] = {"me": ("user", "typed"), "machine": ("assistant", "model")}
_decoder = msgspec.json.Decoder(Jot)


class JotterReader:
    """How notebooks are read, and what jotter sends when one is opened again."""

    name = "jotter"

    def read(self, files: SessionFiles) -> Transcript:
        """Read a notebook; lines by nobody that is known are counted, not skipped in silence."""
        result = Transcript(self.name, files, problems=list(files.problems))
        for part, path in enumerate(files.paths):
            for span, jot in read_records(path, _decoder, result.problems, part=part):
                result.records += 1
                if who := _WHO.get(jot.by):
                    role, origin = who
                    said = PlainMessage(role, (Text(jot.text),), (span,), origin, jot.jot, parse_time(jot.at))
                    result.messages.append(said)
                else:
                    result.unknown_types[jot.by] = result.unknown_types.get(jot.by, 0) + 1
        return result

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return everything: jotter forgets nothing."""
        return transcript.messages


class JotterWriter(Writer):
    """Appends a line as jotter would."""

    dialect = "jotter"

    def path(self, folder: Path, session_id: str) -> Path:
        """Return the notebook of that name."""
        return folder / f"{session_id}.jot"

    def message(self, target: Target, draft: Draft) -> str:
        """Append a message and return its id."""
        made, by = self.means.ids(), "machine" if draft.role == "assistant" else "me"
        jot = Jot(made, by, str(draft.content), millisecond_time(self.means.clock.now()))
        private_folder(target.path.parent)
        append_record(target.path, msgspec.json.encode(jot), fsync=self.means.fsync)
        return made


class Jotter(Client):
    """jotter, with all that differs by client."""

    name = "jotter"
    shows = "jotter (jot, by)"
    reader = JotterReader()
    writer = JotterWriter
    is_unnamed = True

    def marks(self, record: dict[str, object]) -> bool:
        """Say whether a record is a line of a notebook."""
        return isinstance(record.get("jot"), str) and isinstance(record.get("by"), str)

    def homes(self, environ: Mapping[str, str]) -> list[Path]:
        """Return ``~/.jotter``."""
        return [home_folder(environ) / ".jotter"]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return the folder of notebooks."""
        del names, problems
        return [Place(self.name, str(root / "notebooks"))] if (root / "notebooks").is_dir() else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the notebooks."""
        for path in sorted(Path(place.path).glob("*.jot")):
            if (file := walk.look(place.path, path.name)) is not None:
                yield FoundSession(place.path, path.stem, [file], side=False, dialect=self.name)


CLIENT = Jotter()
