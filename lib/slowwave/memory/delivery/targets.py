"""Which file of a project brings its memory to which client, and which client needs none.

Found out with the real clients, which start in a project and whose first request is looked at
(``make conformance``, ``docs/delivery.md``):

- Codex, pi, opencode and Clawdbot put ``AGENTS.md`` of the project into their prompt.
- pi and opencode take ``CLAUDE.md`` where there is no ``AGENTS.md``. A new ``AGENTS.md`` would hide it from them.
- Claude Code 2.1 loads ``MEMORY.md`` of the project's folder in its own home. Where a project has no ``CLAUDE.md`` and
  no ``CLAUDE.local.md``, it takes ``AGENTS.md``; of neither does it take what stands in a comment.
- Claude Code before 2.1 loads no memory and no ``AGENTS.md``. Every version takes ``CLAUDE.local.md``.
- Cersei loads ``MEMORY.md`` as Claude Code does.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_IWOTH
from typing import Any, cast

import orjson

from slowwave.files import from_home, home_folder
from slowwave.formats.claude import CLIENT as CLAUDE_CODE
from slowwave.formats.registry import CLIENTS as KNOWN
from slowwave.formats.registry import Seen, client_of, newest_version, version_order
from slowwave.memory.delivery.register import Register, placed_of
from slowwave.memory.model import name_from_json, name_to_json
from slowwave.stores.projects import Project, spelled

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


def reach_of(project: Project, register: Register, environ: Mapping[str, str]) -> dict[str, str]:
    """Return how a project's memory reaches each client that worked there, or why it does not, by client.

    Where nothing can be put into the project's folder, "" says so, with the folder, and who loads it all the same.
    """
    clients = {session.dialect for session in project.sessions}
    placed = placed_of(project.memory, register)
    stands = {client: name_from_json(file) for file, one in placed.items() for client in one.clients}
    made = {Path(name_from_json(file)).name for file, one in placed.items() if one.block.made}
    itself = {client for client in clients if client_of(client).delivery.loads_memory}
    not_by_itself = _why_not_itself(version_in_use(project, CLAUDE_CODE.name), project)
    itself |= set() if not_by_itself else {CLAUDE_CODE.name} & clients
    why_not = unfit(project.root, environ)
    means = Means((), {}, {}) if why_not else means_of(project, clients, made, Path(project.root))
    files = {client: target.name for target in means.targets for client in target.clients}
    found: dict[str, str] = {}
    for client in sorted(clients):
        if client in stands:
            found[client] = f"in {stands[client]}"
        elif client in itself:
            found[client] = "loads MEMORY.md by itself"
        elif why_not:
            # where the client keeps the memory of a folder that nobody works in here helps nobody
            is_told = client == CLAUDE_CODE.name and not _is_elsewhere(project)
            found |= {client: not_by_itself} if is_told else {}
            found[""] = f"nothing is put into {from_home(project.root, environ)}: {why_not}{_all_the_same(itself)}"
        elif reason := means.refused.get(client):
            found[client] = f"cannot be reached: {reason}"
        else:
            rule = register.rule(client, name_to_json(project.root))
            is_wanted = rule is not None and rule.on
            why = not_by_itself if client == CLAUDE_CODE.name else "does not read it yet"
            how = "--dry-run says why not" if is_wanted else f"writes it into {files[client]} of the project"
            found[client] = f"{why}; slowwave install {how}"
    return found


def _all_the_same(itself: set[str]) -> str:
    if not itself:
        return ""
    return (
        f" ({' and '.join(sorted(itself))} {'loads' if len(itself) == 1 else 'load'} MEMORY.md by itself all the same)"
    )


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

    Args:
        project: the project, whose folder is there.
        wanted: clients that worked there once, by dialect.
        made: names of files that hold nothing but what slowwave wrote: they hide nothing.
        root: its folder, or another worktree of it.
        has_others: there is also what others shared, which no client finds in its own memory.
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
            refused[client] = "no file is known that it loads"
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
    return not _why_not_itself(seen, project)


def newest_seen(seen: Seen) -> str:
    """Return which version of a client counts, in the words of every screen that finds it too old."""
    if not seen.version:
        return "no session names its version"
    return f"the newest seen is {seen.told}" + ("; a newer one is seen once it was used here" if seen.day else "")


def _why_not_itself(seen: Seen, project: Project) -> str:
    """Return why a version of Claude Code does not load a project's memory, or ""."""
    memory = project.memory
    if version_order(seen.version) < version_order(LOADS_ITSELF):
        return f"loads MEMORY.md by itself from version {LOADS_ITSELF} on; {newest_seen(seen)}"
    if _is_elsewhere(project):
        own = memory.parents[1] / spelled(project.root) / "memory"
        return f"loads {own} where it works in {project.root or 'this project'}, and not this memory"
    return (
        "" if _is_on(memory.parents[2] / "settings.json") else "its memory is off (autoMemoryEnabled in settings.json)"
    )


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
