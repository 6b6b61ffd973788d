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

from slowwave.formats.model import Message, SessionFiles, SessionKind, Span, Transcript
from slowwave.formats.sessions import FoundSession, Place, StoredSession, StoreProblem
from slowwave.formats.walk import K, Walk

if TYPE_CHECKING:
    from slowwave.formats.notes import Note
    from slowwave.formats.writing import Writer

# How a dialect is read: what all have, and what some have besides.


class Dialect(Protocol):
    """Pure rules of one client's format: bytes to records to messages, and what the client would send again."""

    name: str

    def read(self, files: SessionFiles) -> Transcript:
        """Read all parts of a session.

        Raises:
            UnreadableError: a file cannot be opened at all; damage inside a file is reported as problems instead.
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

        Raises:
            UnreadableError: a file cannot be opened at all.
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
        """Return what ``tail`` returns, with the help of notes.

        Raises:
            UnreadableError: a file cannot be opened at all.
        """
        ...


class Told(NamedTuple):
    """What one record tells of its session without those around it.

    Attributes:
        message: the message that it is; it names neither its parent nor the working folder, and counts as active.
        title: the name that it gives to the session ("" takes it away); None when it is about something else.
        kind: what the session is, when the record is its header.
        cwd: the working folder that a header names.
        parent: id of the session that a header says this one belongs to or was forked from.
        created: when a header says that the session was created, where messages tell no time.
    """

    message: Message | None = None
    title: str | None = None
    kind: SessionKind | None = None
    cwd: str = ""
    parent: str = ""
    created: datetime | None = None


@runtime_checkable
class RecordDialect(Protocol):
    """What a dialect has besides when records tell by themselves: listings and the index read only new ones then."""

    decoder: Any

    def told(self, span: Span, record: Any, *, is_first: bool = False, by_agent: bool = False) -> Told:
        """Return what a record tells.

        Args:
            span: where it stands.
            record: what ``decoder`` made of it.
            is_first: nothing stands before it in its session.
            by_agent: the session is a sub-agent's.
        """
        ...


@runtime_checkable
class LaterDialect(Protocol):
    """What a dialect has besides when what was appended can be read alone, though records do not tell by themselves."""

    def later(self, path: Path, start: int, *, by_agent: bool) -> list[Message] | None:
        """Return the messages from an offset on; None when a new record changes what older ones mean.

        Args:
            path: the file.
            start: where a record begins.
            by_agent: the session is a sub-agent's.

        Raises:
            UnreadableError: the file cannot be read.
        """
        ...


@runtime_checkable
class RowDialect(Protocol):
    """What a dialect has besides when its client keeps sessions in a database: they can be passed through by rows."""

    def passed(self, files: SessionFiles, about: Transcript) -> Iterator[tuple[Message, bool]]:
        """Yield the messages of a session in a database in their order, none of which is held.

        A message with very many parts comes in pieces. Messages name no parent and count as active.

        Args:
            files: the session.
            about: gets everything but messages, also ``files``: its kind before the first message, records and
                problems meanwhile (the caller may take them out), the rest at the end.

        Yields:
            A message, and False when it goes on with the one before.

        Raises:
            UnreadableError: it is no database with such a session, or it cannot be read.
        """
        ...


# What later layers have to know of a client, as data.


class Guess(NamedTuple):
    """How a client guesses tokens by the length of a text.

    Attributes:
        of_bytes: bytes of UTF-8 are counted; else UTF-16 units, as JavaScript has them.
        rounds: how the quotient is rounded.
        per_token: how many of them are one token.
        measured: how many really are, where the client's guess is far off; 0 for the same.
    """

    of_bytes: bool = False
    rounds: Literal["up", "down", "nearest"] = "up"
    per_token: float = 4
    measured: float = 0


class CompactionRules(NamedTuple):
    """What is peculiar to compactions of a client.

    Attributes:
        is_written: its sessions have a record for a compaction.
        trigger: when a session is due: ``budget`` (a window without a reserve), ``share`` (of the window, as the
            settings say), ``automatic`` (Codex's own share and limit) or ``threshold`` (a number of tokens).
        telling: how a summary is told: in ``sections``, by ``rounds`` or in ``prose``.
        keeps: messages before a compaction can stay as they are.
        counts: its newest messages are counted, not weighed.
        names_model: its messages name the model that answers (Cersei).
        introduced: characters in which the client introduces a summary to the model.
        has_branches: it knows summaries of what is left behind when one goes on from an older message.
        keeps_asked: the client keeps what a person asked last, also where it is summarised (Codex).
        as_ulid: the parts of a flat text for a model are parted as the specification with ULIDs says.
        is_wrapped: the client wraps a summary before it gives it to the model.
        sections: the keys of its settings for what is left free and what stays, where they have a section for it.
        limit_key: the key of its settings for the tokens from which on it compacts.
        has_variables: its settings name variables for it (Claude Code).
        has_floor: its configuration has a floor for what is left free (OpenClaw).
        has_counters: its list of sessions counts compactions and the saving of memories before them (OpenClaw).
        reading: what makes of a context what compaction looks at: ``plain`` as it is, or by how Claude Code
            (``chain``), pi (``entries``) or Codex (``rollout``) write it.
        record: what a compaction says in raw bytes, for a client whose sessions are walked from the beginning.
        no_clearing: why no output of a tool can be cleared, "" where it can; what was looked for is in the reference of
            formats, sections 2 to 9.
    """

    is_written: bool = False
    trigger: Literal["budget", "share", "automatic", "threshold"] = "budget"
    telling: Literal["sections", "rounds", "prose"] = "sections"
    keeps: bool = True
    counts: bool = False
    names_model: bool = False
    introduced: int = 0
    has_branches: bool = False
    keeps_asked: bool = False
    as_ulid: bool = False
    is_wrapped: bool = False
    sections: tuple[str, str] | None = None
    limit_key: str = ""
    has_variables: bool = False
    has_floor: bool = False
    has_counters: bool = False
    reading: Literal["plain", "chain", "entries", "rollout"] = "plain"
    record: bytes = b""
    no_clearing: str = "slowwave writes nothing to sessions of this kind"


class Hook(NamedTuple):
    """How a client starts a program before a call of its agent and hands on what it says.

    Attributes:
        file: its file of hooks, in its home.
        matcher: the calls that it is asked for.
        since: its first version that hands on what is said, or the first that was tried.
        note: what else a person has to do.
    """

    file: str
    matcher: str
    since: str
    note: str = ""


class DeliveryRules(NamedTuple):
    """How memory and commands reach a client.

    Attributes:
        reads_agents: it puts ``AGENTS.md`` of a project into its prompt.
        or_claude: and ``CLAUDE.md`` where there is none.
        instead: a file of the project that it reads instead of ``AGENTS.md``, where that is there.
        loads_memory: it loads the memory folder by itself.
        reads_above: it also reads what stands in the folders above the one that it works in, however far up.
        most_bytes: it takes so much of such a file.
        command: where the page of a command belongs in its home, with ``NAME`` for the name; "" for no commands.
        invoked: what stands before a person's words where a command is a skill, with ``NAME``; "" where it is a page.
        head: a line more in the head of such a page.
        hook: how it starts a program before a call, None where it does not.
    """

    reads_agents: bool = False
    or_claude: bool = False
    instead: str = ""
    loads_memory: bool = False
    reads_above: bool = False
    most_bytes: int = 40_000
    command: str = ""
    invoked: str = ""
    head: str = ""
    hook: Hook | None = None


class Belongings(NamedTuple):
    """All of a session.

    Attributes:
        paths: files and folders in the order of their removal: what the client needs most comes last, so that a killed
            removal leaves a session that loads, or nothing that the client would take for one.
        notes: entries in indexes of the client, which go before the files.
    """

    paths: tuple[Path, ...]
    notes: "tuple[Note, ...]" = ()


class Client:
    """A client, or one of several forms that its sessions have; the attributes are as for one that is only read.

    Attributes:
        name: what people, settings and the catalogue call it by.
        shows: what people look for in a file to see that it is of this client.
        reader: what implements :class:`Dialect`, or where it stands, as ``module:name`` below this package.
        form_of: the client whose form its files have; they are its own when one of the first records bears its mark.
        writer: the class of its writer, or where it stands; None where sessions are only read, for ``read_only``.
        read_only: why nobody writes to its sessions.
        is_flat: all transcripts lie directly in the folder of a place, so what changed is told without listing them.
        is_lines: its sessions are files of lines.
        has_databases: it keeps sessions in databases, or in one file with others.
        may_be_empty: an empty file is a session that was begun.
        is_folded: listings fold its records as they are: they have the fields of Claude Code's.
        names_folder: every record names the working folder; else a header does, if anything.
        has_pieces: one message may lie in several records.
        has_tombstones: records that name others hide them.
        has_agent_notes: what a sub-agent was to do stands in a file beside its transcript.
        is_numbered: a session is also meant by its name without the number, and then the newest one is.
        is_unnamed: its sessions are not called by the names of their files.
        has_parts: a session may go on in further files.
        refuses_large: it loads no session over ``store.warn_bytes``.
        refers: a fork needs, or names, the session that it came from.
        refers_by_id: a fork is read together with that session, which it refers to by its id.
        store_names: what of the folder that ``store_of`` names is needed beside a session; None for all of it.
        names_origin: a fork names the file that it came from.
        owner_in_records: a sub-agent's session names the one that it works for; else their places tell.
        resume: the command that goes on with a session, with ID and PATH for its own; () for none. Each was taken from
            the client's own help, Cersei's from its document.
        tested: the newest release whose sessions and behaviour the tests hold (docs/conformance.md), of pi the form of
            its files; "" where its records tell no version.
        guess: how it guesses tokens.
        compacting: what is peculiar to its compactions.
        delivery: how memory reaches it.
    """

    name: str = "unknown"
    shows: str = ""
    reader: "str | Dialect" = ""
    form_of: str = ""
    writer: "str | Callable[[Any], Writer] | None" = None
    read_only: str = ""
    is_flat: bool = False
    is_lines: bool = True
    has_databases: bool = False
    may_be_empty: bool = False
    is_folded: bool = False
    names_folder: bool = False
    has_pieces: bool = False
    has_tombstones: bool = False
    has_agent_notes: bool = False
    is_numbered: bool = False
    is_unnamed: bool = False
    has_parts: bool = False
    refuses_large: bool = False
    refers: bool = False
    refers_by_id: bool = False
    store_names: tuple[str, ...] | None = None
    names_origin: bool = False
    owner_in_records: bool = False
    resume: tuple[str, ...] = ()
    tested: str = ""
    guess: Guess = Guess()
    compacting: CompactionRules = CompactionRules()
    delivery: DeliveryRules = DeliveryRules()

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
        """Read what a session itself holds, without what it refers to.

        Raises:
            UnreadableError: a file cannot be opened.
        """
        return self.dialect().read(files)

    # Where its sessions lie.

    def homes(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the roots that the client itself uses: its own variables, then ``HOME``; they may not exist."""
        del environ
        return []

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return the places below ``root``, or None when it is not laid out like a root of this client.

        Args:
            root: an existing folder.
            names: the names of its entries.
            problems: what is left out, and why.

        Raises:
            OSError: a folder that must be listed cannot be; the caller reports it.
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

        Args:
            path: the first file of the session, or its database.
        """
        del path
        return ""

    def facts(self, place: Path) -> Mapping[str, Mapping[str, Any]]:
        """Return what is noted there of each session, by its id.

        Raises:
            UnreadableError, OSError, sqlite3.Error: it cannot be read.
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

    def settings_files(self, transcript: Path, cwd: Path | None) -> list[Path]:
        """Return the files of settings that the client would look into for a session, in its order; some may not exist.

        Args:
            transcript: the first file of the session, from which the home is told.
            cwd: the working folder, where one is known.

        Raises:
            OSError: a folder with such files cannot be listed.
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

        Raises:
            UsageError: it has none; the message says why, and what to do.
            UnreadableError: the client would not take it for a session.
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
        """Return what goes together with a session: its files, and what its client keeps beside it for it alone.

        Raises:
            UnreadableError: the index of the client cannot be read.
            OSError: a folder cannot be listed.
        """
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
