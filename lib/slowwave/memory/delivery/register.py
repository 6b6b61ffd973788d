"""What somebody asked to be delivered, and what stands where: ``delivery.json`` below the data folder.

It cannot be rebuilt: it says which bytes of other people's files are slowwave's. No words of any memory stand in it.
"""

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from slowwave.context import Clock, SystemClock
from slowwave.errors import CorruptStateError, SlowwaveError, told
from slowwave.files import atomic_write, data_folder, private_folder
from slowwave.locks import locked_file
from slowwave.memory.folder import read_or_none
from slowwave.memory.ledger import line_hash
from slowwave.memory.model import name_from_json
from slowwave.report import Item
from slowwave.settings import Settings

FILE = "delivery.json"
LOCK = "delivery.lock"
VERSION = 1
_WAIT_S = 60.0


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """What somebody asked for; of several rules that fit, the last one holds."""

    on: bool  # whether to deliver
    client: str = ""  # to this client alone; "" for every one
    root: str = ""  # in this project alone, by its folder; "" for every one
    tracked: bool = False  # also into files that git tracks
    visible: bool = False  # without an entry in git's list of what it does not show
    hooks: bool = False  # also a line before a call that memory knows about, where the client has hooks

    def covers(self, client: str, root: str) -> bool:
        """Say whether it is about a client in a project; "" stands for all of them."""
        return self.client in ("", client) and self.root in ("", root)


class Block(msgspec.Struct, frozen=True, omit_defaults=True):
    """A section of slowwave's in somebody's file."""

    hashes: tuple[str, ...] = ()  # what it may be, as sha256: during a change also what it was
    gap: str = ""  # what parts it from what stands before it
    made: bool = False  # the file was not there before
    pending: bool = False  # a write was begun, and its end is not noted yet


class Placed(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A file with a project's memory in it."""

    project: str  # key of the project
    root: str  # its folder
    memory: str  # its memory folder
    clients: tuple[str, ...]  # who reads the file
    block: Block = Block()  # the section
    as_comment: bool = False  # it stands in a comment, which Claude Code leaves out: it has the memory by itself
    tracked: bool = False  # it may stand in a file that git tracks
    visible: bool = False  # git shows the file although it is not tracked
    exclude: str = ""  # git's own list of what it does not show, where the file was added to it; else ""
    since: dict[str, str] = {}  # by :func:`told_as`, since when each memory stands there, ISO
    of_others: bool = False  # it holds nothing but what others shared
    worktree: str = ""  # the worktree of the project that the file stands in; "" for its folder

    @property
    def folder(self) -> Path:
        """The folder that its name is looked for in."""
        return Path(name_from_json(self.worktree or self.root))

    def in_git(self, file: str) -> str:
        """Return a file as git's list of what it does not show names it."""
        return "/" + Path(name_from_json(file)).relative_to(self.folder.resolve()).as_posix()


class Hooked(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of slowwave's among the hooks of a client."""

    client: str  # whose file it is
    text: str  # what was put into the file, byte for byte
    command: str  # what the client starts
    made: bool = False  # the file was not there before
    pending: bool = False  # a write was begun, and its end is not noted yet


class Page(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page of a command of slowwave's in the home of a client."""

    client: str  # whose
    hashes: tuple[str, ...] = ()  # what it may be, as sha256: during a change also what it was
    pending: bool = False  # a write was begun, and its end is not noted yet


class Register(msgspec.Struct):
    """The content of ``delivery.json``."""

    v: int = VERSION  # version of the form
    rules: tuple[Rule, ...] = ()  # what was asked for, the oldest first
    files: dict[str, Placed] = {}  # what stands where, by path
    excludes: dict[str, Block] = {}  # sections in git's lists of what it does not show, by path
    pages: dict[str, Page] = {}  # of commands, by path
    folders: tuple[str, ...] = ()  # those that were made for pages
    hooks: dict[str, Hooked] = {}  # entries among the hooks of clients, by path

    def rule(self, client: str, root: str) -> Rule | None:
        """Return what holds for a client in a project; None when nobody asked for anything."""
        return next((rule for rule in reversed(self.rules) if rule.covers(client, root)), None)

    def ask(self, rule: Rule) -> None:
        """Add what somebody asks for now; what it replaces goes."""
        kept = [one for one in self.rules if not rule.covers(one.client, one.root)]
        self.rules = (*kept, rule) if any(one.on for one in (*kept, rule)) else ()


_decode = msgspec.json.Decoder(Register).decode


def told_as(text: str) -> str:
    """Return by what the register knows a memory with these words, without a word of it."""
    return line_hash(text)[:16]


def register_path(environ: Mapping[str, str]) -> Path:
    """Return where the register lies."""
    return data_folder(environ) / FILE


def read_register(environ: Mapping[str, str]) -> Register | None:
    """Return the register, None when nobody ever asked for anything to be delivered.

    Raises:
        CorruptStateError: it is damaged.
        UnreadableError: it cannot be opened.
    """
    path = register_path(environ)
    data = read_or_none(path)
    if data is None:
        return None
    try:
        found = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        remedy = "restore it from a backup; without it, take the sections between the markers out by hand"
        raise CorruptStateError(path, f"is not what slowwave wrote ({error})", remedy) from error
    if found.v > VERSION:
        raise CorruptStateError(path, "was written by a newer slowwave", "update slowwave")
    return found


def write_register(register: Register, environ: Mapping[str, str]) -> None:
    """Replace the register; one that says nothing any more goes.

    Raises:
        OSError: it cannot be written.
    """
    path = register_path(environ)
    said = (register.rules, register.files, register.excludes, register.pages, register.folders, register.hooks)
    if not any(said):
        path.unlink(missing_ok=True)
        return
    private_folder(path.parent)
    atomic_write(path, msgspec.json.format(msgspec.json.encode(register, order="sorted"), indent=1) + b"\n")


def placed_of(memory: Path, register: Register) -> dict[str, Placed]:
    """Return what stands of a memory folder, by the path of the file as JSON keeps it."""
    own = memory.resolve()
    return {n: p for n, p in sorted(register.files.items()) if Path(name_from_json(p.memory)).resolve() == own}


@contextmanager
def delivering(environ: Mapping[str, str]) -> Generator[None]:
    """Hold off everybody else who delivers.

    Raises:
        LockHeldError: another process was at it for a minute.
        OSError: the data folder cannot be written.
    """
    path = data_folder(environ) / LOCK
    private_folder(path.parent)
    with locked_file(path, create=True, timeout_s=_WAIT_S):
        yield


REFUSED = "refused"
# of a project that was worked on elsewhere: nothing can be written there, and nothing is wrong
ABSENT = "absent"


@dataclass(slots=True)
class Delivery:
    """One delivery: what it works with, and what it did."""

    settings: Settings  # the settings in force
    environ: Mapping[str, str]  # the environment; data folder and home are taken from here
    register: Register  # what was asked for and what stands where
    dry_run: bool = False  # plan, and change nothing
    overwrite: bool = False  # also write over sections that somebody changed
    asked: bool = False  # somebody asks for it now: put back what was taken out, and say what else there is to know
    without: Collection[str] = ()  # ids of memories that are left out
    clock: Clock = field(default_factory=SystemClock)  # tells since when a memory stands in a file
    # what was done or refused, with reasons; nothing for what is current
    items: list[Item] = field(default_factory=list[Item])

    def say(self, target: Path | str, action: str, reason: str, project: str) -> None:
        """Note what was done or refused."""
        self.items.append(Item(str(target), action, reason, project))

    def save(self) -> None:
        """Write the register, unless nothing is to be changed."""
        if not self.dry_run:
            write_register(self.register, self.environ)

    def contained(self, work: Callable[[], None], target: Path | str, project: str) -> None:
        """Let what goes wrong with one file or project cost no other."""
        try:
            work()
        except SlowwaveError as error:
            self.say(target, REFUSED, str(error).removeprefix(f"{target}: "), project)
        except OSError as error:
            self.say(target, REFUSED, told(error, target).removeprefix(f"{target}: "), project)
