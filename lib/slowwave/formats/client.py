"""What a client is: everything that differs by client stands in one value, the ``CLIENT`` of its module.

A module derives a class from :class:`Client` and says in it what is otherwise than usual. Usual is a client of whose
sessions only the form is known: each is a file of its own, nobody asks whether it is open, and nothing is written to
it. What reads and what writes are named by strings and imported when they are needed, so that a listing imports
neither; a small client may as well give them as they are.
"""

import importlib
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast, runtime_checkable

from slowwave.files import home_folder
from slowwave.formats import Message, SessionFiles, SessionKind, Span, Transcript
from slowwave.formats.sessions import FoundSession, K, Place, StoredSession, StoreProblem, Walk

if TYPE_CHECKING:
    from slowwave.formats.notes import Note
    from slowwave.formats.writing import Writer

# How a dialect is read: what all have, and what some have besides.


class Dialect(Protocol):
    """Pure rules of one client's format: bytes to records to messages, and what the client would send again."""

    name: str

    def read(self, files: SessionFiles) -> Transcript:
        """Read all parts of a session.

        Raises UnreadableError: a file cannot be opened at all; damage inside a file is reported as problems instead.
        """
        ...

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the messages that the client would send if the session were resumed now."""
        ...


@runtime_checkable
class TailDialect(Protocol):
    """What a dialect has besides when a context can be told from the end of a session."""

    def tail(self, files: SessionFiles) -> Transcript | None:
        """Return the end of a session, when ``context`` surely makes the same of it as of the whole; else None.

        It has what ``context`` needs: no messages, no title, and the problems of the part that was read.
        """
        ...


class Notes(Protocol):
    """Where a dialect keeps what was dear to find out of a session; all of it can be gone at any time."""

    def get(self, name: str) -> bytes | None:
        """Return what was kept under a name that is fit for a file."""
        ...

    def put(self, name: str, note: bytes) -> None:
        """Keep something; where that cannot be done it is only found out again."""
        ...


@runtime_checkable
class NotedTailDialect(Protocol):
    """A dialect that has to look at a whole session for its end, and only at what is new when it may keep notes."""

    def noted_tail(self, files: SessionFiles, notes: Notes) -> Transcript | None:
        """Return what ``tail`` returns, with the help of notes."""
        ...


class Told(NamedTuple):
    """What one record tells of its session without those around it."""

    # the message that it is; it names neither its parent nor the working folder, and counts as active
    message: Message | None = None
    # the name that it gives to the session ("" takes it away); None when it is about something else
    title: str | None = None
    kind: SessionKind | None = None  # what the session is, when the record is its header
    cwd: str = ""  # the working folder that a header names
    parent: str = ""  # id of the session that a header says this one belongs to or was forked from
    created: datetime | None = None  # when a header says that the session was created, where messages tell no time


@runtime_checkable
class RecordDialect(Protocol):
    """What a dialect has besides when records tell by themselves: listings and the index read only new ones then."""

    decoder: Any

    def told(self, span: Span, record: Any, *, is_first: bool = False, by_agent: bool = False) -> Told:
        """Return what a record tells.

        ``span``: where it stands. ``record``: what ``decoder`` made of it. ``is_first``: nothing stands before it in
        its session. ``by_agent``: the session is a sub-agent's.
        """
        ...


@runtime_checkable
class LaterDialect(Protocol):
    """What a dialect has besides when what was appended can be read alone, though records do not tell by themselves."""

    def later(self, path: Path, start: int, *, by_agent: bool) -> list[Message] | None:
        """Return the messages from an offset on; None when a new record changes what older ones mean.

        ``start``: where a record begins. ``by_agent``: the session is a sub-agent's.
        """
        ...


@runtime_checkable
class RowDialect(Protocol):
    """What a dialect has besides when its client keeps sessions in a database: they can be passed through by rows."""

    def passed(self, files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
        """Yield the messages of a session in a database in their order, none of which is held.

        A message with very many parts comes in pieces. Messages name no parent and count as active. ``about``: gets
        everything but messages, also ``files``: its kind before the first message, records and problems meanwhile (the
        caller may take them out), the rest at the end. Yields amessage, and False when it goes on with the one before.
        Raises UnreadableError: it is no database with such a session, or it cannot be read.
        """
        ...


# What later layers have to know of a client, as data.


class Guess(NamedTuple):
    """How a client guesses tokens by the length of a text."""

    of_bytes: bool = False  # bytes of UTF-8 are counted; else UTF-16 units, as JavaScript has them
    rounds: Literal["up", "down", "nearest"] = "up"  # how the quotient is rounded
    per_token: float = 4  # how many of them are one token
    measured: float = 0  # how many really are, where the client's guess is far off; 0 for the same


class CompactionRules(NamedTuple):
    """What is peculiar to compactions of a client."""

    is_written: bool = False  # its sessions have a record for a compaction
    # when a session is due: ``budget`` (a window without a reserve), ``share`` (of the window, as the settings say),
    # ``automatic`` (Codex's own share and limit) or ``threshold`` (a number of tokens)
    trigger: Literal["budget", "share", "automatic", "threshold"] = "budget"
    # how a summary is told: in ``sections``, by ``rounds`` or in ``prose``
    telling: Literal["sections", "rounds", "prose"] = "sections"
    keeps: bool = True  # messages before a compaction can stay as they are
    counts: bool = False  # its newest messages are counted, not weighed
    names_model: bool = False  # its messages name the model that answers (Cersei)
    introduced: int = 0  # characters in which the client introduces a summary to the model
    has_branches: bool = False  # it knows summaries of what is left behind when one goes on from an older message
    keeps_asked: bool = False  # the client keeps what a person asked last, also where it is summarised (Codex)
    as_ulid: bool = False  # the parts of a flat text for a model are parted as the specification with ULIDs says
    is_wrapped: bool = False  # the client wraps a summary before it gives it to the model
    # the keys of its settings for what is left free and what stays, where they have a section for it
    sections: tuple[str, str] | None = None
    limit_key: str = ""  # the key of its settings for the tokens from which on it compacts
    has_variables: bool = False  # its settings name variables for it (Claude Code)
    has_floor: bool = False  # its configuration has a floor for what is left free (OpenClaw)
    # its list of sessions counts compactions and the saving of memories before them (OpenClaw)
    has_counters: bool = False
    # what makes of a context what compaction looks at: ``plain`` as it is, or by how Claude Code (``chain``), pi
    # (``entries``) or Codex (``rollout``) write it
    reading: Literal["plain", "chain", "entries", "rollout"] = "plain"
    # what a compaction says in raw bytes, for a client whose sessions are walked from the beginning
    record: bytes = b""
    # why no output of a tool can be cleared, "" where it can; what was looked for is in the reference of formats,
    # sections 2 to 9
    no_clearing: str = "slowwave writes nothing to sessions of this kind"


class Hook(NamedTuple):
    """How a client starts a program before a call of its agent and hands on what it says."""

    file: str  # its file of hooks, in its home
    matcher: str  # the calls that it is asked for
    since: str  # its first version that hands on what is said, or the first that was tried
    note: str = ""  # what else a person has to do


class DeliveryRules(NamedTuple):
    """How memory and commands reach a client."""

    reads_agents: bool = False  # it puts ``AGENTS.md`` of a project into its prompt
    or_claude: bool = False  # and ``CLAUDE.md`` where there is none
    instead: str = ""  # a file of the project that it reads instead of ``AGENTS.md``, where that is there
    loads_memory: bool = False  # it loads the memory folder by itself
    reads_above: bool = False  # it also reads what stands in the folders above the one that it works in, however far up
    most_bytes: int = 40_000  # it takes so much of such a file
    command: str = ""  # where the page of a command belongs in its home, with ``NAME`` for the name; "" for no commands
    # what stands before a person's words where a command is a skill, with ``NAME``; "" where it is a page
    invoked: str = ""
    head: str = ""  # a line more in the head of such a page
    hook: Hook | None = None  # how it starts a program before a call, None where it does not


class Home(NamedTuple):
    """The root that a client itself uses."""

    usual: str  # where it lies below the person's home folder
    variable: str = ""  # the variable that names another place, "" for none
    inside: str = ""  # the folder in what that variable names, "" for that folder itself


class Belongings(NamedTuple):
    """All of a session."""

    # files and folders in the order of their removal: what the client needs most comes last, so that a killed removal
    # leaves a session that loads, or nothing that the client would take for one
    paths: tuple[Path, ...]
    notes: "tuple[Note, ...]" = ()  # entries in indexes of the client, which go before the files


class Client:
    """A client, or one of several forms that its sessions have; the attributes are as for one that is only read."""

    name: str = "unknown"  # what people, settings and the catalogue call it by
    shows: str = ""  # what people look for in a file to see that it is of this client
    home: Home | None = None  # where its sessions lie, None where it has no home of its own
    # what implements :class:`Dialect`, or where it stands, as ``module:name`` below this package
    reader: "str | Dialect" = ""
    # the client whose form its files have; they are its own when one of the first records bears its mark
    form_of: str = ""
    # the class of its writer, or where it stands; None where sessions are only read, for ``read_only``
    writer: "str | Callable[[Any], Writer] | None" = None
    read_only: str = ""  # why nobody writes to its sessions
    # all transcripts lie directly in the folder of a place, so what changed is told without listing them
    is_flat: bool = False
    is_lines: bool = True  # its sessions are files of lines
    has_databases: bool = False  # it keeps sessions in databases, or in one file with others
    may_be_empty: bool = False  # an empty file is a session that was begun
    is_folded: bool = False  # listings fold its records as they are: they have the fields of Claude Code's
    names_folder: bool = False  # every record names the working folder; else a header does, if anything
    has_pieces: bool = False  # one message may lie in several records
    has_tombstones: bool = False  # records that name others hide them
    has_agent_notes: bool = False  # what a sub-agent was to do stands in a file beside its transcript
    is_numbered: bool = False  # a session is also meant by its name without the number, and then the newest one is
    is_unnamed: bool = False  # its sessions are not called by the names of their files
    has_parts: bool = False  # a session may go on in further files
    refuses_large: bool = False  # it loads no session over ``store.warn_bytes``
    # how a fork names the session that it came from: by its id, without which it cannot be read, or by its file
    refers: Literal["", "id", "file"] = ""
    # what of the folder that ``store_of`` names is needed beside a session; None for all of it
    store_names: tuple[str, ...] | None = None
    owner_in_records: bool = False  # a sub-agent's session names the one that it works for; else their places tell
    # the command that goes on with a session, with ID and PATH for its own; () for none. Each was taken from the
    # client's own help, Cersei's from its document.
    resume: tuple[str, ...] = ()
    # the newest release whose sessions and behaviour the tests hold (docs/conformance.md), of pi the form of its files;
    # "" where its records tell no version
    tested: str = ""
    guess: Guess = Guess()  # how it guesses tokens
    compacting: CompactionRules = CompactionRules()  # what is peculiar to its compactions
    delivery: DeliveryRules = DeliveryRules()  # how memory reaches it

    # Which files are its own, and how they are read.

    def marks(self, record: dict[str, object]) -> bool:
        """Say whether a record is surely of this client: by its fields, never by the place that it lies in."""
        del record
        return False

    def marks_tables(self, tables: frozenset[str]) -> bool:
        """Say whether a database with these tables is one of this client."""
        del tables
        return False

    def dialect(self) -> "Dialect":
        """Return the rules of its sessions."""
        return cast("Dialect", _imported(self.reader))

    def read_own(self, files: SessionFiles) -> Transcript:
        """Read what a session itself holds, without what it refers to."""
        return self.dialect().read(files)

    # Where its sessions lie.

    def homes(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the roots that the client itself uses: its own variables, then ``HOME``; they may not exist."""
        if self.home is None:
            return []
        named = environ.get(self.home.variable)
        return [Path(named).expanduser() / self.home.inside if named else home_folder(environ) / self.home.usual]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return the places below ``root``, or None when it is not laid out like a root of this client.

        ``problems``: what is left out, and why. Raises OSError: a folder that must be listed cannot be; the caller
        reports it.
        """
        del root, names, problems
        return None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a place, except those that the walk knows and that have not changed.

        No unchanged transcript may be opened; whatever is left out goes to the problems of the walk.
        """
        return walk.sessions(place.path)

    def titles(self, place: Place) -> Mapping[str, str]:
        """Return titles that the client keeps beside the sessions of a place, by session id; most keep none."""
        del place
        return {}

    def facts_at(self, path: str) -> str:
        """Return where the client notes more of a session than is in its file, "" for nowhere.

        ``path``: the first file of the session, or its database.
        """
        del path
        return ""

    def facts(self, place: Path) -> Mapping[str, Mapping[str, Any]]:
        """Return what is noted there of each session, by its id.

        Raises UnreadableError, OSError, sqlite3.Error: it cannot be read.
        """
        del place
        return {}

    def named(self, path: Path) -> str:
        """Return the id of the session that a file of this name surely belongs to, "" where its content tells."""
        del path
        return ""

    def store_of(self, path: Path) -> Path | None:
        """Return the folder with the sessions that one may refer to; None where there is none."""
        return path.parent

    def settings_home(self, environ: Mapping[str, str]) -> Path:
        """Return the folder in which its settings and commands lie; of several that there may be, one that is there."""
        homes = self.homes(environ)
        return next((home for home in homes if home.is_dir()), homes[0])

    def installed(self, environ: Mapping[str, str]) -> str:  # noqa: ARG002
        """Return the version that is installed, by the files of its installation; "" where none is found."""
        return ""

    def settings_files(self, transcript: Path, cwd: Path | None) -> list[Path]:
        """Return the files of settings that the client would look into for a session, in its order; some may not exist.

        ``transcript``: the first file of the session, from which the home is told. ``cwd``: the working folder, where
        one is known. Raises OSError: a folder with such files cannot be listed.
        """
        del transcript, cwd
        return []

    def own_settings(self, transcript: Path) -> list[Path]:
        """Return the files of a configuration besides, in which something is set about compaction."""
        del transcript
        return []

    # Going on with a session, and beginning one.

    def writing(self) -> "Callable[[Any], Writer] | None":
        """Return the class of its writer, None where its sessions are only read."""
        return cast("Callable[[Any], Writer]", _imported(self.writer)) if self.writer is not None else None

    def new_folder(self, home: Path, cwd: Path) -> Path | None:
        """Return the folder of a new session in a home of the client; None where that is the project's folder."""
        del home, cwd
        return None

    def check_compaction(self, session: str, path: Path) -> None:
        """Do nothing where the form of a session's file has a place for a compaction.

        Raises UsageError: it has none, the message says why, and what to do; UnreadableError: the client would not take
        it for a session.
        """
        del session, path

    # Whether it is at work in a session, and what would break without one.

    def claimed_by(self, session: StoredSession, home: Path, now: datetime) -> str | None:
        """Return which running client says that it has this session open, or None."""
        del session, home, now
        return None

    def lock(self, first: Path, session: str) -> AbstractContextManager[object] | None:
        """Return what holds the client off a session, None where it has no lock for that."""
        del first, session
        return None

    def forks(self, session: StoredSession) -> Iterator[Path]:
        """Yield the sessions that came from this one and need it."""
        del session
        return iter(())

    def need(self, session: StoredSession) -> str:
        """Return what the client would do wrong without a session that nobody refers to; "" for nothing."""
        del session
        return ""

    # What belongs to a session, beside its transcript.

    def belongings(self, session: StoredSession) -> Belongings:
        """Return what goes together with a session: its files, and what its client keeps beside it for it alone."""
        return Belongings(tuple(reversed(session.files.paths)))

    def beside(self, session: StoredSession, path: Path) -> Iterator[Path]:
        """Yield files that hold words of a session, beside one of its own."""
        del session, path
        return iter(())

    def quoting(self, path: Path) -> Iterable[Path]:
        """Return the files in a client's home that quote sessions of any project; they may not exist."""
        del path
        return ()


def _imported(named: object) -> object:
    """Return what a string names as ``module:name`` below this package, anything else as it is."""
    if not isinstance(named, str):
        return named
    module, _, name = named.partition(":")
    return getattr(importlib.import_module(f"slowwave.formats.{module}"), name)


def is_folder(entry: "os.DirEntry[str]", problems: list[StoreProblem]) -> bool:
    """Say whether an entry is a folder; a link that leads in a circle or nowhere one may look is reported."""
    try:
        return entry.is_dir()
    except OSError as error:
        problems.append(StoreProblem("unreadable", entry.path, error.strerror or "cannot be looked at"))
        return False
