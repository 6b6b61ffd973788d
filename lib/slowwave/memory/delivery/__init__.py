"""What somebody asked to be delivered, and what stands where: ``delivery.json`` below the data folder.

It cannot be rebuilt: it says which bytes of other people's files are slowwave's. No words of any memory stand in it.
"""

import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_IWOTH
from typing import Any, cast

import msgspec
import orjson

from slowwave.context import Clock, SystemClock
from slowwave.errors import CorruptStateError, SlowwaveError, told
from slowwave.files import atomic_write, data_folder, home_folder, private_folder
from slowwave.formats.claude import CLIENT as CLAUDE_CODE
from slowwave.formats.registry import CLIENTS as KNOWN
from slowwave.formats.registry import Seen, client_of, newest_version, version_order
from slowwave.locks import locked_file
from slowwave.memory import name_from_json, name_to_json
from slowwave.memory.folder import read_or_none
from slowwave.memory.ledger import line_hash
from slowwave.report import Item
from slowwave.settings import Settings
from slowwave.stores.projects import Project, spelled

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

    Raises CorruptStateError: it is damaged; UnreadableError: it cannot be opened.
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
    """Replace the register; one that says nothing any more goes. Raises OSError: it cannot be written."""
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

    Raises LockHeldError: another process was at it for a minute; OSError: the data folder cannot be written.
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


# Which file of a project brings its memory to which client, and which client needs none.
#
# Found out with the real clients, which start in a project and whose first request is looked at (``make conformance``,
# ``docs/delivery.md``):
#
# - Codex, pi, opencode and Clawdbot put ``AGENTS.md`` of the project into their prompt.
# - pi and opencode take ``CLAUDE.md`` where there is no ``AGENTS.md``. A new ``AGENTS.md`` would hide it from them.
# - Claude Code 2.1 loads ``MEMORY.md`` of the project's folder in its own home. Where a project has neither
#   ``CLAUDE.md`` nor ``CLAUDE.local.md``, it takes ``AGENTS.md``; of none does it take what stands in a comment.
# - Claude Code before 2.1 loads no memory and no ``AGENTS.md``. Every version takes ``CLAUDE.local.md``.
# - Cersei loads ``MEMORY.md`` as Claude Code does.

AGENTS, INSTEAD, CLAUDE, LOCAL = "AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md"
# the first release whose memory is on for everybody
LOADS_ITSELF = "2.1.59"
# who reads AGENTS.md, and which of them read CLAUDE.md where there is none
OF_AGENTS = tuple(sorted(name for name, client in KNOWN.items() if client.delivery.reads_agents))
_OR_CLAUDE = frozenset(name for name in OF_AGENTS if KNOWN[name].delivery.or_claude)
_AGENT_IMPORT = re.compile(rb"(?:^|\s)@(?:\./)?AGENTS\.md(?:\s|$)")
CLIENTS = (CLAUDE_CODE.name, *OF_AGENTS)
# who also reads what stands in the folders above the one that they work in, however far up
OF_ALL_ABOVE = frozenset(name for name, client in KNOWN.items() if client.delivery.reads_above)


@dataclass(frozen=True, slots=True)
class Target:
    """A file that a project's memory belongs in."""

    name: str  # of the file, in the project's folder
    clients: tuple[str, ...]  # who reads it
    as_comment: bool = False  # as a comment, for Claude Code reads it as well and has the memory by itself
    of_others: bool = False  # only what others shared belongs in it


@dataclass(frozen=True, slots=True)
class Means:
    """How a project's memory reaches its clients."""

    targets: tuple[Target, ...]  # the files
    needless: Mapping[str, str]  # clients that need none, and why
    refused: Mapping[str, str]  # clients that it cannot be brought to, and why


NOT_THERE = "no such folder on this machine"
_NO_FILE = "no file is known that it loads"


def reach_of(project: Project, register: Register, environ: Mapping[str, str]) -> dict[str, str]:
    """Return whether each client that worked in a project loads its memory, why not and what to do, by client.

    What is so of several projects is said in the same words.
    """
    clients = {session.dialect for session in project.sessions}
    placed = placed_of(project.memory, register)
    stands = {client: Path(name_from_json(file)).name for file, one in placed.items() for client in one.clients}
    made = {Path(name_from_json(file)).name for file, one in placed.items() if one.block.made}
    why_not = unfit(project.root, environ)
    means = Means((), {}, {}) if why_not else means_of(project, clients, made, Path(project.root))
    files = {client: target.name for target in means.targets for client in target.clients}
    found: dict[str, str] = {}
    for client in sorted(clients):
        is_claude = client == CLAUDE_CODE.name
        why, remedy = _why_not_itself(version_in_use(project, client), project) if is_claude else ("", "")
        if client in stands:
            found[client] = f"loaded from {stands[client]} of the project"
            continue
        if client_of(client).delivery.loads_memory or (is_claude and not why):
            found[client] = "loaded: it reads MEMORY.md by itself"
            continue
        rule = register.rule(client, name_to_json(project.root))
        is_wanted = rule is not None and rule.on
        if file := files.get(client):
            why = why or f"it reads {file} of the project, and nothing stands there yet"
            writes = f"slowwave install {'--dry-run says why' if is_wanted else f'writes it into {file}'}"
            remedy = f"{remedy}, or {writes}" if remedy else writes
        elif not why:
            why = means.refused.get(client) or ("" if client in OF_AGENTS else _NO_FILE) or why_not
            if why == NOT_THERE:
                why = "the folder of the project is not on this machine"
                remedy = f"once it is, {'the next night writes a file there' if is_wanted else 'run slowwave install'}"
        found[client] = "; ".join(filter(None, (f"not loaded: {why}", remedy)))
    return found


def version_in_use(project: Project, client: str) -> Seen:
    """Return which version of a client counts: the machine's, where its projects were looked for together."""
    return project.versions.get(client) or newest_version(project.sessions, client)


def most_bytes(clients: tuple[str, ...]) -> int:
    """Return how much of a file all of its readers take."""
    return min(client_of(name).delivery.most_bytes for name in (*clients, ""))


def unfit(root: str, environ: Mapping[str, str]) -> str:
    """Return why nothing is written into a project's folder, or "": it is no project's alone, or not there."""
    if not root:
        return "no session names its folder"
    path, home = Path(root), home_folder(environ)
    if not path.is_dir():
        return NOT_THERE
    if home.resolve().is_relative_to(path.resolve()):
        return "its folder has the home folder in it: clients would read the file in every project below"
    if path.stat().st_mode & S_IWOTH:
        return "everybody may write into its folder: whoever does could say something to agents there"
    return ""


def means_of(project: Project, wanted: set[str], made: set[str], root: Path, *, has_others: bool = False) -> Means:
    """Return how a project's memory reaches those of its clients that are wanted.

    ``project``: the project, whose folder is there. ``wanted``: clients that worked there once, by dialect. ``made``:
    names of files that hold nothing but what slowwave wrote: they hide nothing. ``root``: its folder, or another
    worktree of it. ``has_others``: there is also what others shared, which no client finds in its own memory.
    """
    there = {name for name in (AGENTS, INSTEAD, CLAUDE, LOCAL) if name not in made and (root / name).exists()}
    has = {session.dialect for session in project.sessions} | wanted
    of, needless, refused = _all_but_claude(wanted & has, has, there)
    seen = version_in_use(project, "claude")
    knows = loads_itself(seen, project)
    alone: list[Target] = []
    if "claude" in wanted & has:
        if not knows:
            of.setdefault(_of_claude(root, there, set(of), seen), []).append("claude")
        elif has_others and not _hides_agents(root, there):
            alone.append(Target(LOCAL, ("claude",), of_others=True))
        else:
            stays = f"; what others shared stays away: a new {LOCAL} would hide {AGENTS}" if has_others else ""
            needless["claude"] = f"loads the memory folder by itself{stays}"
    return Means(
        tuple(
            Target(name, tuple(sorted(clients)), knows and name in (AGENTS, CLAUDE))
            for name, clients in sorted(of.items())
        )
        + tuple(alone),
        needless,
        refused,
    )


def _all_but_claude(
    wanted: set[str], has: set[str], there: set[str]
) -> tuple[dict[str, list[str]], dict[str, str], dict[str, str]]:
    """Return the files for all clients but Claude Code, who needs none, and who cannot be reached."""
    of: dict[str, list[str]] = {}
    needless: dict[str, str] = {}
    refused: dict[str, str] = {}
    hides = AGENTS not in there and CLAUDE in there and bool(has & _OR_CLAUDE)
    for client in sorted(wanted):
        if (instead := client_of(client).delivery.instead) and instead in there:
            of.setdefault(instead, []).append(client)
        elif client in _OR_CLAUDE and hides:
            of.setdefault(CLAUDE, []).append(client)
        elif client in OF_AGENTS and hides:
            refused[client] = f"a new {AGENTS} would hide {CLAUDE} from {' and '.join(sorted(has & _OR_CLAUDE))}"
        elif client in OF_AGENTS:
            of.setdefault(AGENTS, []).append(client)
        elif client_of(client).delivery.loads_memory:
            needless[client] = "loads the memory folder by itself"
        elif client != "claude":
            refused[client] = _NO_FILE
    return of, needless, refused


def _hides_agents(root: Path, there: set[str]) -> bool:
    """Say whether a new ``CLAUDE.local.md`` would keep Claude Code from an ``AGENTS.md`` of somebody's."""
    has_instructions = bool(there & {CLAUDE, LOCAL}) or (root / ".claude" / CLAUDE).is_file()
    return AGENTS in there and not has_instructions


def strays(path: Path, root: Path) -> str:
    """Return what is wrong with where a name leads, or "": a repository may bring links that lead anywhere."""
    if not path.is_relative_to(root):
        return "out of the project"
    is_page = path.suffix == ".md" and ".git" not in path.relative_to(root).parts
    return "" if is_page else "to what is not a page for agents"


def unseen(targets: Iterable[Target], folder: Path, root: Path) -> list[Target]:
    """Return the files of a worktree without those whose readers have all read the repository's own above it."""
    if not folder.resolve().is_relative_to(root.resolve()):
        return list(targets)
    return [target for target in targets if not OF_ALL_ABOVE.issuperset(target.clients)]


def _of_claude(root: Path, there: set[str], taken: set[str], seen: Seen) -> str:
    """Return the file that brings the memory to a Claude Code that does not load it, once, and hides no other."""
    if CLAUDE in taken:
        return CLAUDE
    instructions = [path for path in (root / CLAUDE, root / ".claude" / CLAUDE) if path.is_file()]
    takes_agents = (
        version_order(seen.version) >= version_order(LOADS_ITSELF) and not instructions and LOCAL not in there
    )
    if takes_agents and AGENTS in there | taken:
        return AGENTS
    agents = root / AGENTS
    for path in instructions:
        is_same = agents.exists() and path.samefile(agents)
        if AGENTS in taken and (is_same or _AGENT_IMPORT.search(path.read_bytes())):
            return AGENTS
    return LOCAL


def loads_itself(seen: Seen, project: Project) -> bool:
    """Say whether a version of Claude Code loads memory, finds this folder, and nobody turned that off."""
    return not _why_not_itself(seen, project)[0]


def newest_seen(seen: Seen) -> str:
    """Return which version of a client counts, in the words of every screen that finds it too old."""
    if not seen.version:
        return "no session names its version"
    return f"the newest seen is {seen.told}" + ("; a newer one is seen once it was used here" if seen.day else "")


def _why_not_itself(seen: Seen, project: Project) -> tuple[str, str]:
    """Return why a version of Claude Code does not load a project's memory, or "", and what a person can do, or ""."""
    memory = project.memory
    if _is_elsewhere(project):
        own = memory.parents[1] / spelled(project.root) / "memory"
        return f"where it works in {project.root or 'this project'}, it looks in {own}, not where this memory lies", (
            "" if Path(project.root).is_dir() else "once its folder is on this machine, run slowwave install"
        )
    if version_order(seen.version) < version_order(LOADS_ITSELF):
        since = f"Claude Code loads MEMORY.md from version {LOADS_ITSELF} on"
        if not seen.day:
            known = f"version {seen.version} is installed" if seen.version else "no session names its version"
            return f"{since}, and {known}", "update it"
        return f"{since}, and the newest used here is {seen.version} ({seen.day})", "update it and use it once"
    if not _is_on(memory.parents[2] / "settings.json"):
        return "its memory is off (autoMemoryEnabled in settings.json)", "turn it on"
    return "", ""


def _is_elsewhere(project: Project) -> bool:
    """Say whether a project's memory lies where Claude Code does not look for it: its sessions were put there."""
    memory = project.memory
    return memory.name != "memory" or memory.parent.name != spelled(project.root)


def _is_on(settings: Path) -> bool:
    """Say whether a person has left the client's memory on."""
    try:
        found = orjson.loads(settings.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return True  # as the client has it without settings, or with such as it cannot read
    return not isinstance(found, dict) or cast("dict[str, Any]", found).get("autoMemoryEnabled") is not False
