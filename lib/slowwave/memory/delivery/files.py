"""Bringing memories into the files that agents read, and commands to them; kept current there, and taken out again.

Planned and carried out file by file: the register is written before and after each, so that whatever is killed in
between is finished by the next one. A section that somebody changed, or took out, is left alone and named.
"""

import hashlib
import os
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from slowwave.context import Clock, SystemClock
from slowwave.errors import MovedError, RefusedError, SlowwaveError, told
from slowwave.files import at_fault_point, atomic_write, fsync_folder, private_folder
from slowwave.formats.registry import CLIENTS as KNOWN
from slowwave.memory import iso, name_from_json, name_to_json
from slowwave.memory.book import read_book, standing_of
from slowwave.memory.delivery import (
    ABSENT,
    NOT_THERE,
    REFUSED,
    Block,
    Delivery,
    Means,
    Page,
    Placed,
    Register,
    Rule,
    Target,
    delivering,
    means_of,
    most_bytes,
    placed_of,
    read_register,
    strays,
    told_as,
    unfit,
    unseen,
    write_register,
)
from slowwave.memory.delivery.hooks import follow, prune_tables
from slowwave.memory.delivery.sections import MARKDOWN, Marks, carry_out, changed, section_of, shown_in, without_section
from slowwave.memory.folder import read_or_none
from slowwave.memory.team import read_others
from slowwave.reading.session import BODIES, FORGET, NAMES, PREFIX, REMEMBER, WHY, page_of
from slowwave.report import Item
from slowwave.settings import Settings
from slowwave.stores.projects import Project

NOTE = "Written by slowwave after each of its nights; a section that you change is left as it is from then on."
IN_COMMENT = (
    f"{NOTE} It stands in a comment since Claude Code, which reads this file too, has it from its own memory."
    " Heed it all the same."
)
IN_GIT = Marks("# slowwave: begin", "# slowwave: end")
# what a killed write leaves beside a file
_LEFTOVERS = "/.slowwave-tmp-*"
# with less room there is no sense in a section
_LEAST_BYTES = 600
_OPEN_TO_ALL, _PRIVATE = 0o644, 0o600


def install(
    projects: Sequence[Project],
    rules: Iterable[Rule],
    settings: Settings,
    environ: Mapping[str, str],
    *,
    dry_run: bool = False,
    overwrite: bool = False,
) -> list[Item]:
    """Ask for deliveries, or for none any more, and carry out what is asked for now.

    ``projects``: the projects that it is about. ``rules``: what somebody asks for, in this order. ``settings``: the
    settings in force. ``environ``: the environment. ``dry_run``: return what would be done, and change nothing.
    ``overwrite``: also write over, or take out, sections that somebody changed. Raises CorruptStateError: the register
    is damaged; LockHeldError: somebody else delivers; OSError: the data folder cannot be written.
    """

    def work(register: Register) -> list[Item]:
        for rule in rules:
            register.ask(rule)
        delivery = Delivery(settings, environ, register, dry_run=dry_run, overwrite=overwrite, asked=True)
        delivery.save()
        _deliver(projects, delivery)
        if not register.rules:
            # also of projects that have no session any more
            seen = {name_to_json(project.root) for project in projects}
            left = {name: placed for name, placed in register.files.items() if placed.root not in seen}
            for name, placed in sorted(left.items()):
                path = Path(name_from_json(name))
                delivery.contained(lambda p=path, one=placed: _put(p, one, None, delivery), path, placed.project)
        return delivery.items

    if dry_run:
        return work(read_register(environ) or Register())
    with delivering(environ):
        return work(read_register(environ) or Register())


def deliver(
    projects: Sequence[Project],
    settings: Settings,
    environ: Mapping[str, str],
    *,
    dry_run: bool = False,
    clock: Clock | None = None,
) -> list[Item]:
    """Bring the memories of projects where somebody asked for it; the errors are those of :func:`install`."""
    if (register := read_register(environ)) is None:
        return []
    if dry_run:
        return _deliver(projects, Delivery(settings, environ, register, dry_run=True))
    with delivering(environ):
        register = read_register(environ) or Register()
        return _deliver(projects, Delivery(settings, environ, register, clock=clock or SystemClock()))


def refresh(
    memory: Path,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    dry_run: bool = False,
    without: Collection[str] = (),
) -> list[Item]:
    """Write anew what stands of a memory folder; the errors are those of :func:`install`.

    ``memory``: the memory folder. ``settings``: the settings in force. ``environ``: the environment. ``dry_run``:
    return what would be done, and change nothing. ``without``: ids of memories that are about to go.
    """

    def work(register: Register) -> list[Item]:
        delivery = Delivery(settings, environ, register, dry_run=dry_run, without=without)
        for name, placed in list(placed_of(memory, register).items()):
            path = Path(name_from_json(name))
            delivery.contained(lambda p=path, one=placed: _renew(p, one, delivery), path, placed.project)
        return delivery.items

    if not dry_run:
        prune_tables(memory, without, environ)
    if (register := read_register(environ)) is None or not placed_of(memory, register):
        return []
    if dry_run:
        return work(register)
    with delivering(environ):
        return work(read_register(environ) or Register())


def _deliver(projects: Sequence[Project], delivery: Delivery) -> list[Item]:
    for project in projects:
        delivery.contained(lambda p=project: _project(p, delivery), project.root or project.key, project.key)
    follow(projects, delivery, is_all=not delivery.register.rules)
    return delivery.items


def _project(project: Project, delivery: Delivery) -> None:
    """Bring one project's memory where it is wanted, and take it out where it is not any more."""
    root = name_to_json(project.root)
    mine = {name: placed for name, placed in delivery.register.files.items() if root and placed.root == root}
    # who worked here once may come back, although its sessions are gone
    known = {client for placed in mine.values() for client in placed.clients}
    rules: dict[str, Rule] = {}
    for client in sorted({session.dialect for session in project.sessions} | known):
        rule = delivery.register.rule(client, root)
        if rule is not None and rule.on:
            rules[client] = rule
    wanted: dict[str, Placed] = {}
    if rules and (reason := unfit(project.root, delivery.environ)):
        if delivery.asked:
            action = ABSENT if reason == NOT_THERE else REFUSED
            delivery.say(project.root or project.key, action, reason, project.key)
        return
    if rules:
        wanted = _wanted(project, rules, mine, delivery)
    for name in sorted(mine.keys() - wanted.keys()):
        path = Path(name_from_json(name))
        delivery.contained(lambda p=path, one=mine[name]: _put(p, one, None, delivery), path, project.key)
    for name, placed in wanted.items():
        path = Path(name_from_json(name))
        delivery.contained(lambda p=path, one=placed: _renew(p, one, delivery), path, project.key)


def _wanted(
    project: Project, rules: Mapping[str, Rule], mine: Mapping[str, Placed], delivery: Delivery
) -> dict[str, Placed]:
    """Return the files that a project's memory belongs in, as they are to be noted."""
    root = Path(project.root)
    has_others = any(not line.held for line in read_others(project.memory))
    found: dict[str, Placed] = {}
    for folder in (root, *(worktrees(root, delivery.environ) if has_git(root) else ())):
        here = {name: one for name, one in mine.items() if one.folder == folder}
        made = {Path(name).name for name, one in here.items() if _is_ours_alone(Path(name_from_json(name)), one)}
        means = means_of(project, set(rules), made, folder, has_others=has_others)
        if folder == root:
            _tell(means, project, delivery)
        targets = means.targets if folder == root else unseen(means.targets, folder, root)
        for target in targets:
            path = (folder / target.name).resolve()
            if reason := strays(path, folder.resolve()):
                delivery.say(folder / target.name, REFUSED, f"is a link {reason}, to {path}", project.key)
                continue
            placed = _placed(mine.get(name_to_json(path)), project, target, rules)
            found[name_to_json(path)] = replace(placed, worktree="" if folder == root else name_to_json(folder))
    return found


def _tell(means: Means, project: Project, delivery: Delivery) -> None:
    for client, reason in means.needless.items() if delivery.asked else ():
        delivery.say(client, "needless", reason, project.key)
    for client, reason in means.refused.items():
        delivery.say(client, REFUSED, reason, project.key)


def _is_ours_alone(path: Path, placed: Placed) -> bool:
    data = read_or_none(path)
    return placed.block.made and not without_section(data or b"", os.fsencode(placed.block.gap), path).strip()


def _placed(known: Placed | None, project: Project, target: Target, rules: Mapping[str, Rule]) -> Placed:
    of = [rules[client] for client in target.clients]
    unseen = all(session.dialect != "claude" for session in project.sessions)
    return Placed(
        project=project.key,
        root=name_to_json(project.root),
        memory=name_to_json(project.memory),
        clients=target.clients,
        of_others=target.of_others,
        as_comment=target.as_comment or bool(known and known.as_comment and unseen),
        tracked=all(rule.tracked for rule in of),
        visible=any(rule.visible for rule in of),
        block=known.block if known else Block(),
        exclude=known.exclude if known else "",
        since=known.since if known else {},
    )


def _renew(path: Path, placed: Placed, delivery: Delivery) -> None:
    """Let a file hold what its project remembers now.

    Raises RefusedError: it is not to be written, for one of many reasons.
    """
    lines, since = _lines(path, placed, delivery)
    if lines is None and name_to_json(path) not in delivery.register.files:
        if delivery.asked:
            delivery.say(
                path,
                "skip",
                "nothing is remembered yet; the first night that remembers something writes it",
                placed.project,
            )
        return
    git_list = placed.exclude
    root = placed.folder
    is_listed = bool(git_list)
    if lines is not None and has_git(root):
        is_tracked = bool(tracked(root, [path.relative_to(root.resolve()).as_posix()], delivery.environ))
        if is_tracked and not placed.tracked:
            raise RefusedError(f"{path}: git tracks it, so memories would be committed; see slowwave install --tracked")
        is_listed = not is_tracked and not placed.visible
        git_list = name_to_json(exclude_file(Path(name_from_json(placed.root)), delivery.environ))
    _put(path, replace(placed, exclude=git_list if is_listed else "", since=since), lines, delivery, git_list)


def _lines(path: Path, placed: Placed, delivery: Delivery) -> tuple[list[str] | None, dict[str, str]]:
    """Return the section of a file, None when nothing is remembered, and since when each memory stands in it.

    Raises RefusedError: there is no room for it in what its readers take.
    """
    book = read_book(Path(name_from_json(placed.memory)))
    standing = standing_of(book, delivery.settings.consolidation.half_lives)
    without = [*delivery.without, *(m.id for m in book.own if placed.of_others or standing.is_needless(m))]
    own = [m for m in book.own if m.id not in without]
    theirs = [line for line in read_others(Path(name_from_json(placed.memory))) if not line.held]
    if not own and not theirs:
        return None, {}
    others = len(without_section(read_or_none(path) or b"", os.fsencode(placed.block.gap), path))
    taken = most_bytes(placed.clients)
    most = min(delivery.settings.memory.deliver_bytes, taken - others)
    if most < _LEAST_BYTES:
        raise RefusedError(f"{path}: has {others:,} bytes of the {taken:,} that its readers take, so there is no room")
    note = IN_COMMENT if placed.as_comment else NOTE
    lines = section_of(own, standing, note=note, most=most, as_comment=placed.as_comment, others=theirs)
    now = iso(delivery.clock.now())
    return lines, {name: placed.since.get(name, now) for m in shown_in(own, lines) for name in [told_as(m.text)]}


def _put(path: Path, placed: Placed, lines: list[str] | None, delivery: Delivery, git_list: str = "") -> None:
    """Write or remove the section of a file, and its entry in git's list.

    Raises RefusedError: somebody changed the one or the other; OSError: it cannot be written.
    """
    files, name = delivery.register.files, name_to_json(path)
    known = files.get(name)
    change = changed(path, placed.block, lines, MARKDOWN, overwrite=delivery.overwrite, again=delivery.asked)
    noted = replace(placed, block=change.block or Block())
    if not change.action and noted == known and change.block is not None:
        return

    def note(block: Block | None) -> None:
        # what has gone is forgotten only when git's list is right as well
        files[name] = replace(noted, block=block or Block())
        delivery.save()

    lists = sorted({one for one in (placed.exclude, git_list) if one})
    if change.block is not None:
        # git is told before there is anything that it could commit
        note(replace(change.block, hashes=(*change.before, *change.block.hashes), pending=True))
        _list_in_git(lists, delivery)
    if delivery.dry_run:
        note(change.block)
    else:
        carry_out(change, note, _OPEN_TO_ALL if placed.visible or placed.tracked else _PRIVATE)
    if change.action:
        delivery.say(path, change.action, f"for {', '.join(placed.clients)}", placed.project)
    if change.block is None:
        _list_in_git(lists, delivery)
        del files[name]
        delivery.save()


def _list_in_git(lists: Iterable[str], delivery: Delivery) -> None:
    """Let git's lists hold the files that are not to be committed, and no others.

    Raises RefusedError: somebody changed what slowwave wrote there; OSError: one cannot be written.
    """
    excludes = delivery.register.excludes
    for name in lists:
        path = Path(name_from_json(name))
        placed = {
            file: one for file, one in delivery.register.files.items() if name == one.exclude and one.block.hashes
        }
        listed = sorted({one.in_git(file) for file, one in placed.items()})
        lines = [IN_GIT.begin, *listed, _LEFTOVERS, IN_GIT.end] if listed else None
        block = excludes.get(name, Block())
        change = changed(path, block, lines, IN_GIT, overwrite=delivery.overwrite, again=delivery.asked)

        def note(block: Block | None, name: str = name) -> None:
            excludes.pop(name, None)
            if block is not None:
                excludes[name] = block
            delivery.save()

        if delivery.dry_run:
            note(change.block)
        else:
            carry_out(change, note, _OPEN_TO_ALL)
        item = Item(name, change.action, "only its own lines: what git does not show or commit")
        if delivery.asked and change.action in ("write", "remove") and item not in delivery.items:
            delivery.items.append(item)


# What git says of a project's folder: which files it tracks, and where its own list of what it does not show lies.

_SECONDS = 60
# git starts programs that a repository's settings name; to be asked a question it needs none of them
_PLAIN = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def has_git(root: Path) -> bool:
    """Say whether a folder is that of a repository."""
    return (root / ".git").exists()


def tracked(root: Path, names: Iterable[str], environ: Mapping[str, str]) -> set[str]:
    """Return which files of a repository git tracks. Raises RefusedError: git is not there, or does not answer."""
    return set(filter(None, asked(root, environ, "ls-files", "-z", "--", *names).split("\0")))


def worktrees(root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return the other worktrees of a repository that are there; those of a bare one are projects of their own.

    Raises RefusedError: git is not there, or does not answer.
    """
    if not (root / ".git").is_dir():
        return []
    told = asked(root, environ, "worktree", "list", "--porcelain", "-z").split("\0")
    paths = (Path(line.removeprefix("worktree ")) for line in told if line.startswith("worktree "))
    return [path for path in paths if path.resolve() != root.resolve() and (path / ".git").is_file()]


def author_of(root: Path, environ: Mapping[str, str]) -> str:
    """Return who works in a repository, as git names them in commits: ``Name <address>``; "" when it does not know.

    Raises RefusedError: git is not there, or does not answer.
    """
    how = ("config", "--get", "--default", "")
    name, address = (asked(root, environ, *how, f"user.{what}").strip() for what in ("name", "email"))
    return f"{name} <{address}>" if name and address else ""


def exclude_file(root: Path, environ: Mapping[str, str]) -> Path:
    """Return git's own list of what it does not show of a repository; it may not exist yet.

    Raises RefusedError: git is not there, or does not answer; or the list is a link, and so perhaps everybody's.
    """
    path = root / asked(root, environ, "rev-parse", "--git-path", "info/exclude").rstrip("\n")
    if path.is_symlink():
        raise RefusedError(f"{path}: is a link, so what is written there may appear elsewhere; see --visible")
    return path


def asked(root: Path, environ: Mapping[str, str], *question: str) -> str:
    """Return what git says in a repository. Raises RefusedError: git is not there, or ends with an error."""
    plain = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and names come behind --
            ["git", *_PLAIN, *question],  # noqa: S607 - the person's own git
            cwd=root,
            env={**plain, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RefusedError(f"{root}: git does not answer ({error}); install git") from error
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise RefusedError(f"{root}: git does not answer: {said}")
    return os.fsdecode(done.stdout)


# The pages of slowwave's own commands in the home of each client that has commands: written, renewed, taken out.
#
# Found out with the real clients: Claude Code 1.0 to 2.1 loads ``commands/NAME.md``, pi ``prompts/NAME.md``, opencode
# ``command/NAME.md``, and Codex, which has no such pages any more, ``skills/NAME/SKILL.md``. Clawdbot makes a command
# of each skill, with ``_`` for ``-``, and shows it wherever it has commands: in its channels and its own screens, not
# in ``agent --local``. What the commands mean is told by :mod:`slowwave.reading.session`: their pages write nothing.

# who has commands, or skills that a person can call by name
WITH_COMMANDS = tuple(sorted(name for name, client in KNOWN.items() if client.delivery.command))
_ABOUT = {
    REMEMBER: ("Let later sessions know something", "[what to remember]"),
    FORGET: ("Let later sessions hold something no longer", "[what to forget]"),
    WHY: ("Say why something is believed in this project", "[what]"),
}


def pages_of(client: str, environ: Mapping[str, str]) -> dict[Path, bytes]:
    """Return the pages of a client, by where they belong."""
    return {_place(client, name, environ): _page(client, name) for name in NAMES}


def bring_commands(
    clients: Collection[str],
    environ: Mapping[str, str],
    rules: Iterable[Rule] = (),
    *,
    take_out: bool = False,
    dry_run: bool = False,
    overwrite: bool = False,
) -> list[Item]:
    """Let the clients that somebody asked for have the commands, and no others.

    ``clients``: the clients that worked on this machine. ``environ``: the environment. ``rules``: what somebody asks
    for besides what the register says. ``take_out``: also take out the pages of clients that nobody asks for any more.
    ``dry_run``: return what would be done, and change nothing. ``overwrite``: also pages that somebody changed, or that
    were there before. Raises CorruptStateError: the register is damaged; LockHeldError: somebody else delivers;
    OSError: the data folder cannot be written.
    """
    rules = list(rules)
    if read_register(environ) is None and not rules:
        return []

    def work() -> list[Item]:
        register = read_register(environ) or Register()
        for rule in rules:
            register.ask(rule)
        return _Pages(register, environ, dry_run=dry_run, overwrite=overwrite).bring(clients, take_out=take_out)

    if dry_run:
        return work()
    with delivering(environ):
        return work()


class _Pages:
    """The pages on their way; the register is written before and after each."""

    def __init__(self, register: Register, environ: Mapping[str, str], *, dry_run: bool, overwrite: bool) -> None:
        self._register, self._environ = register, environ
        self._dry_run, self._overwrite = dry_run, overwrite
        self._items: list[Item] = []

    def bring(self, clients: Collection[str], *, take_out: bool) -> list[Item]:
        asked = [
            one for one in WITH_COMMANDS if any(rule.on and rule.client in ("", one) for rule in self._register.rules)
        ]
        wanted: dict[str, tuple[str, bytes]] = {}
        for client in asked:
            if client in clients or any(page.client == client for page in self._register.pages.values()):
                pages = pages_of(client, self._environ)
                wanted |= {name_to_json(path): (client, data) for path, data in pages.items()}
        gone = self._register.pages.keys() - wanted.keys() if take_out else set[str]()
        for name in sorted({*gone, *wanted}):
            client, data = wanted.get(name, ("", b""))
            path = Path(name_from_json(name))
            try:
                self._write(path, name, client, data) if client else self._remove(path, name)
            except SlowwaveError as error:
                self._say(path, REFUSED, str(error).removeprefix(f"{path}: "))
            except OSError as error:
                self._say(path, REFUSED, told(error, path).removeprefix(f"{path}: "))
        if self._register.folders and not self._dry_run:
            self._remove_folders()
            write_register(self._register, self._environ)
        return self._items

    def _write(self, path: Path, name: str, client: str, data: bytes) -> None:
        known, old = self._register.pages.get(name), read_or_none(path)
        if old == data and known:
            return
        is_ours = known is not None and (old is None or _hash(old) in known.hashes)
        if known and old is None and not self._is_pending(known):
            self._say(path, REFUSED, "somebody took it out, so it stays out; slowwave uninstall forgets it")
        elif old is not None and not is_ours and not self._overwrite:
            self._say(path, REFUSED, "is not what slowwave wrote, so it stays; see --overwrite")
        else:
            self._say(path, "renew" if old is not None else "write", f"a command for {client}")
            if self._dry_run:
                return
            missing = tuple(name_to_json(folder) for folder in _missing(path.parent))
            self._register.folders = tuple(dict.fromkeys((*self._register.folders, *missing)))
            before = (_hash(old),) if old is not None else ()
            self._note(name, Page(client, (_hash(data), *before), pending=True))
            if read_or_none(path) != old:
                raise MovedError(f"{path}: somebody wrote to it meanwhile; run it again")
            private_folder(path.parent)
            atomic_write(path, data, mode=0o600)
            self._note(name, Page(client, (_hash(data),)))

    def _remove(self, path: Path, name: str) -> None:
        known, old = self._register.pages[name], read_or_none(path)
        if old is not None and _hash(old) not in known.hashes and not self._overwrite:
            self._say(path, REFUSED, "somebody changed it, so it stays; see --overwrite")
            return
        if old is not None:
            self._say(path, "remove", f"a command for {known.client}")
        if self._dry_run:
            return
        if old is not None:
            at_fault_point("unlink", path)
            path.unlink()
            fsync_folder(path.parent)
        self._note(name, None)

    def _remove_folders(self) -> None:
        """Remove the folders that were made and that no page is in; what somebody else has put there keeps one."""
        pages = [Path(name_from_json(name)) for name in self._register.pages]
        for folder in sorted((Path(name_from_json(one)) for one in self._register.folders), reverse=True):
            if not any(page.is_relative_to(folder) for page in pages):
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
                self._register.folders = tuple(n for n in self._register.folders if n != name_to_json(folder))

    def _is_pending(self, page: Page) -> bool:
        return page.pending or self._overwrite

    def _note(self, name: str, page: Page | None) -> None:
        self._register.pages.pop(name, None)
        if page is not None:
            self._register.pages[name] = page
        write_register(self._register, self._environ)

    def _say(self, path: Path, action: str, reason: str) -> None:
        self._items.append(Item(str(path), action, reason))


def _place(client: str, name: str, environ: Mapping[str, str]) -> Path:
    known = KNOWN[client]
    return known.settings_home(environ) / known.delivery.command.replace("NAME", f"{PREFIX}{name}")


def _page(client: str, name: str) -> bytes:
    about, hint = _ABOUT[name]
    rules = KNOWN[client].delivery
    lines = ["---", f"description: {about} (slowwave)"]
    if rules.invoked:  # a skill
        meant = f"The words are those behind {rules.invoked.replace('NAME', PREFIX + name)} in the person's message."
        lines += [f"name: {PREFIX}{name}", "---", "", f"{meant} {BODIES[name]}"]
        return ("\n".join(lines) + "\n").encode()
    lines += [rules.head] if rules.head else []
    lines += [f'argument-hint: "{hint}"', "---", "", page_of(name, "$ARGUMENTS")]
    return ("\n".join(lines) + "\n").encode()


def _missing(folder: Path) -> list[Path]:
    """Return the folders that are made with one, the outermost first."""
    found: list[Path] = []
    while not folder.exists():
        found.insert(0, folder)
        folder = folder.parent
    return found


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
