"""Memory at the point of action: an entry in the settings of clients that have hooks, and the tables it looks into.

The client starts :mod:`slowwave.memory.delivery.hook` before each call of its agent; what it may say stands in one
table a project, which the night writes. The settings belong to a person: what was put in is noted in the register of
deliveries, and goes by its own bytes, so that every other byte stays. The tables can be rebuilt: they are state.
"""

import json
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from slowwave.errors import MovedError, RefusedError, UnreadableError
from slowwave.files import at_fault_point, atomic_write, fsync_folder, private_folder, state_folder
from slowwave.formats.client import Hook
from slowwave.formats.registry import CLIENTS as KNOWN
from slowwave.formats.registry import Seen, version_order
from slowwave.hostile import one_line
from slowwave.memory import name_from_json, name_to_json
from slowwave.memory.book import read_book
from slowwave.memory.delivery import Hooked, Register, newest_seen, unfit, version_in_use
from slowwave.memory.delivery.hook import name_of
from slowwave.memory.folder import read_or_none
from slowwave.stores.projects import Project

if TYPE_CHECKING:
    from slowwave.memory.delivery import Delivery

MOST_POINTS = 400
SCRIPT = Path(__file__).with_name("hook.py")
_SAID_DAYS = 7
_PRIVATE = 0o600
# what an item of a report is about that no single project has
_ALL = "hooks"
_MOST_TEXT = 300
# clients put what a hook says between tags
_SIGNS = str.maketrans({"<": "\u2039", ">": "\u203a"})


def said_of(text: str) -> str:
    """Return a memory on one line, as it is said to an agent: no tag begins in it."""
    line = one_line(text).translate(_SIGNS)
    return line if len(line) <= _MOST_TEXT else f"{line[: _MOST_TEXT - 1]}\u2026"


class CallForm(msgspec.Struct, frozen=True, array_like=True):
    """How a command is called: its words without options, options that it has, assignments before it."""

    words: tuple[str, ...]
    options: tuple[str, ...] = ()
    setting: tuple[str, ...] = ()


class Point(msgspec.Struct, frozen=True, omit_defaults=False):
    """When a memory is to be said."""

    id: str  # of the memory
    say: str  # the memory on one line
    tried: tuple[CallForm, ...] = ()  # before one of these calls ..
    cure: tuple[CallForm, ...] = ()  # ... unless it is one of these as well.
    step: bool = False  # the cure is a call that has to come before
    # before a change of one of these files, or of what lies in such a folder, by the parts of their names
    paths: tuple[tuple[str, ...], ...] = ()


class Table(msgspec.Struct):
    """What may be said in one project."""

    root: str  # its folder
    memory: str  # its memory folder
    commands: dict[str, list[Point]] = {}  # points about commands, by each program that they name
    paths: list[Point] = []  # points about files


CLIENTS: Mapping[str, Hook] = {name: hook for name, client in KNOWN.items() if (hook := client.delivery.hook)}

_table = msgspec.json.Decoder(Table).decode


def hooks_folder(environ: Mapping[str, str]) -> Path:
    """Return where the program, its tables and its log lie."""
    return state_folder(environ) / "hooks"


def table_path(root: str, environ: Mapping[str, str]) -> Path:
    """Return where the table of a project lies, by its folder."""
    return hooks_folder(environ) / "tables" / f"{name_of(root)}.json"


def settings_of(client: str, environ: Mapping[str, str]) -> Path:
    """Return the file in which a client's hooks stand."""
    return KNOWN[client].settings_home(environ) / CLIENTS[client].file


def hooked_clients(project: Project, register: Register) -> dict[str, str]:
    """Return the clients of a project that somebody wants hooks for, and "" or why one cannot have them."""
    root = name_to_json(project.root)
    found: dict[str, str] = {}
    for client in sorted({s.dialect for s in project.sessions} & CLIENTS.keys()):
        rule = register.rule(client, root)
        if rule is not None and rule.on and rule.hooks:
            found[client] = _too_old(version_in_use(project, client), client)
    return found


def _too_old(seen: Seen, client: str) -> str:
    """Return why the version of a client that counts can have no hooks, or ""."""
    since = CLIENTS[client].since
    if version_order(seen.version) >= version_order(since):
        return ""
    return f"that needs {client} {since} or newer, and {newest_seen(seen)}"


def write_table(root: str, memory: Path, points: Sequence[Point], environ: Mapping[str, str]) -> bool:
    """Write the table of a project, or take it away where nothing is to be said; say whether that changed anything.

    Raises OSError: it cannot be written.
    """
    path, old = table_path(root, environ), read_or_none(table_path(root, environ))
    if not points:
        if old is not None:
            at_fault_point("unlink", path)
            path.unlink(missing_ok=True)
        return old is not None
    table = Table(root, name_to_json(memory), paths=[point for point in points if point.paths])
    for point in points:
        for program in dict.fromkeys(call.words[0] for call in (*point.tried, *(point.cure if point.step else ()))):
            table.commands.setdefault(program.rpartition("/")[2], []).append(point)
    new = msgspec.json.encode(table, order="sorted")
    if new != old:
        private_folder(path.parent)
        atomic_write(path, new, mode=_PRIVATE)
    return new != old


def prune_tables(memory: Path | None, without: Collection[str], environ: Mapping[str, str]) -> None:
    """Take out of the tables of a memory folder what holds no more; what is new comes with the next night.

    ``memory``: the memory folder, None for every one, also those that are gone. ``without``: ids of memories that are
    about to go. ``environ``: the environment. Raises CorruptStateError: the ledger is damaged; OSError: one cannot be
    written.
    """
    for path in _tables(environ):
        try:
            table = _table(read_or_none(path) or b"")
        except (msgspec.MsgspecError, UnicodeError):
            path.unlink()  # the night writes it anew
            continue
        own = Path(name_from_json(table.memory))
        if memory is None or own.resolve() == memory.resolve():
            keep = {m.id: said_of(m.text) for m in read_book(own).own if m.id not in without}
            write_table(table.root, own, [p for p in _points_in(table) if keep.get(p.id) == p.say], environ)


def drop_tables(keep: Collection[str], environ: Mapping[str, str]) -> None:
    """Take away the tables of all projects but some, named by their folders, and what was noted of past sessions.

    Raises OSError: one cannot be taken away.
    """
    names = {name_of(root) for root in keep}
    for path in _tables(environ):
        if path.stem not in names:
            at_fault_point("unlink", path)
            path.unlink(missing_ok=True)
    said = hooks_folder(environ) / "said"
    for folder in said.iterdir() if said.is_dir() else ():
        if folder.stat().st_mtime < time.time() - _SAID_DAYS * 86_400:
            _remove(folder)


def spoken(project: Project, register: Register, environ: Mapping[str, str]) -> str:
    """Return which hooks say something in a project, and how much they know there, "" where none does."""
    try:
        table = _table(read_or_none(table_path(project.root, environ)) or b"")
    except (msgspec.MsgspecError, UnicodeError):
        return ""
    clients = sorted({hooked.client for hooked in register.hooks.values()} & hooked_clients(project, register).keys())
    return f"{len(_points_in(table))} memories before calls of {', '.join(clients)}" if clients else ""


def failures(environ: Mapping[str, str]) -> list[str]:
    """Return the lines of the log: when the program failed, and with what kind of error."""
    data = read_or_none(hooks_folder(environ) / "log") or b""
    return data.decode("utf-8", "replace").splitlines()


def command(environ: Mapping[str, str]) -> str:
    """Return what a client is to start: whatever becomes of it, it ends well and stops no call."""
    folder = str(hooks_folder(environ))
    start = f"import sys;sys.path[:0]=[{folder!r}];import hook;hook.main()"
    return f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(start)} 2>/dev/null || true"


def follow(projects: Sequence[Project], delivery: "Delivery", *, is_all: bool) -> None:
    """Put the entry into the settings of clients that somebody wants hooks for, and take it out of the others.

    ``projects``: the projects that it is about. ``delivery``: what it works with; what is done or refused is noted
    there. ``is_all``: these are all projects, so that a client which none of them has needs no entry.
    """
    environ, hooks = delivery.environ, delivery.register.hooks
    wanted: dict[str, bool] = {}
    reasons: dict[str, str] = {}
    for project in projects:
        for client, reason in hooked_clients(project, delivery.register).items():
            against = reason or unfit(project.root, environ)
            wanted[client] = wanted.get(client, False) or not against
            reasons.setdefault(client, against)
    for client, is_wanted in wanted.items():
        if not is_wanted and delivery.asked:
            newest = max((version_in_use(p, client) for p in projects), key=lambda seen: version_order(seen.version))
            reason = _too_old(newest, client) or reasons[client]
            delivery.say(client, "needless", f"what memory knows is not said before its calls: {reason}", _ALL)
    paths = {name_to_json(settings_of(client, environ)): client for client, is_on in wanted.items() if is_on}
    if paths and not delivery.dry_run:
        write_program(environ)
    rules = delivery.register.rules
    for name in sorted(paths.keys() | hooks.keys()):
        client = paths.get(name) or hooks[name].client
        is_off = name not in paths and (is_all or not any(r.on and r.hooks and r.client in ("", client) for r in rules))
        if name in paths or is_off:
            path = Path(name_from_json(name))
            delivery.contained(lambda p=path, c=client, on=not is_off: _put(p, c, delivery, on=on), path, _ALL)
    if not hooks and not paths and not delivery.dry_run:
        _remove(hooks_folder(environ))


def _put(path: Path, client: str, delivery: "Delivery", *, on: bool) -> None:
    """Put the entry into a file, or take it out.

    Raises RefusedError: the file is not what its client writes, or a link, or somebody took the entry out; MovedError:
    somebody wrote to it meanwhile; OSError: it cannot be written.
    """
    hooks, name = delivery.register.hooks, name_to_json(path)
    known, old = hooks.get(name), _settings(path)
    clean = without_entry(old or b"", known) if known else (old or b"")
    if not on:
        assert known
        new = None if known.made and clean.strip() in (b"", b"{}") else clean
        _change(path, old, new if old is not None else None, delivery)
        del hooks[name]
        delivery.save()
        if new != old:
            delivery.say(path, "remove", f"for {client}: nothing is said before a call any more", _ALL)
        return
    wanted = command(delivery.environ)
    # a client that writes its settings anew forms them in its own way
    there = known is not None and json.dumps(known.command).encode() in (old or b"")
    if known and not known.pending:
        if there and wanted == known.command:
            return
        if not there and not delivery.asked:
            raise RefusedError(f"{path}: somebody took the hook out, so it stays out; slowwave install puts it back")
    new, text = with_entry(clean, CLIENTS[client].matcher, wanted, path)
    noted = Hooked(client, text, wanted, made=known.made if known else old is None)
    hooks[name] = msgspec.structs.replace(noted, pending=True)
    delivery.save()
    _change(path, old, new, delivery)
    hooks[name] = noted
    delivery.save()
    note = f"; {CLIENTS[client].note}" if CLIENTS[client].note else ""
    reason = f"for {client}: a line before a call that memory knows about{note}"
    delivery.say(path, "renew" if there else "write", reason, _ALL)


def _change(path: Path, old: bytes | None, new: bytes | None, delivery: "Delivery") -> None:
    """Replace a file that is still as it was, or take it away."""
    if new == old or delivery.dry_run:
        return
    if _settings(path) != old:
        raise MovedError(f"{path}: somebody wrote to it meanwhile; run it again")
    if new is None:
        at_fault_point("unlink", path)
        path.unlink(missing_ok=True)
        fsync_folder(path.parent)
    else:
        private_folder(path.parent)
        atomic_write(path, new, mode=_PRIVATE if old is None else None)


def _settings(path: Path) -> bytes | None:
    if path.is_symlink() or (path.exists() and path.stat().st_nlink > 1):
        raise RefusedError(f"{path}: is a link, so other machines or programs may share it; put the hook in by hand")
    return read_or_none(path)


def write_program(environ: Mapping[str, str]) -> None:
    """Put the program that clients start where it looks for its tables. Raises OSError: it cannot be written."""
    path = hooks_folder(environ) / "hook.py"
    private_folder(path.parent / "said")
    source = SCRIPT.read_bytes()
    if read_or_none(path) != source:
        atomic_write(path, source, mode=_PRIVATE)


def _points_in(table: Table) -> list[Point]:
    return list({p.id: p for p in (*table.paths, *(p for of in table.commands.values() for p in of))}.values())


def _tables(environ: Mapping[str, str]) -> list[Path]:
    folder = hooks_folder(environ) / "tables"
    return sorted(folder.glob("*.json")) if folder.is_dir() else []


def _remove(folder: Path) -> None:
    """Take away a folder of our own with all that is in it, and no link's aim."""
    if not folder.is_dir() or folder.is_symlink():
        return
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            _remove(path)
        else:
            at_fault_point("unlink", path)
            path.unlink(missing_ok=True)
    folder.rmdir()


# Slowwave's entry among the hooks of a client: a change of somebody's JSON that leaves all other bytes alone.

EVENT = "PreToolUse"
_SECONDS = 5


def with_entry(data: bytes, matcher: str, wanted: str, path: Path) -> tuple[bytes, str]:
    """Return a file of hooks with the entry in it, and the text that was put in.

    Raises RefusedError: it is not what a client writes there; UnreadableError: it is no JSON.
    """
    handler = {"type": "command", "command": wanted, "timeout": _SECONDS}
    entry = json.dumps({"matcher": matcher, "hooks": [handler]})
    if not data.strip():
        text = f'{{\n  "hooks": {{\n    "{EVENT}": [\n      {entry}\n    ]\n  }}\n}}\n'
        return data + text.encode(), text
    whole = _decoded(data, path)
    at, inside = whole.find("{"), f'"hooks": {{"{EVENT}": [{entry}]}}'
    for key, shell in (("hooks", f'"{EVENT}": [{entry}]'), (EVENT, entry)):
        found = [value for name, _, value, _ in _members(whole, at) if name == key]
        if not found:
            break
        opens = "{" if key == "hooks" else "["
        if len(found) > 1 or whole[found[0]] != opens:
            raise RefusedError(f'{path}: "{key}" is not what a client writes there; put the hook in by hand')
        at, inside = found[0], shell
    is_last = not list(_members(whole, at) if whole[at] == "{" else _elements(whole, at))
    text = f"\n{inside}" + ("" if is_last else ",")
    return (whole[: at + 1] + text + whole[at + 1 :]).encode("utf-8", "surrogateescape"), text


def without_entry(data: bytes, known: Hooked) -> bytes:
    """Return a file without the entry: without the very text that was put in, else without what holds the command."""
    text = known.text.encode()
    if text and data.count(text) == 1:
        return data.replace(text, b"")
    try:
        whole = _decoded(data, Path())
    except (UnreadableError, RefusedError):
        return data  # nothing of it can be told from a person's own
    place = _place_of(whole, json.dumps(known.command))
    return (_cut(whole, *place) if place else whole).encode("utf-8", "surrogateescape")


def _place_of(whole: str, own: str) -> tuple[int, int] | None:
    """Return where the entry with a command stands, with all around it that holds nothing else; None without one."""
    for name, key, value, end in _members(whole, whole.find("{")):
        events = list(_members(whole, value)) if name == "hooks" and whole[value] == "{" else []
        for event, event_key, at, event_end in events:
            entries = list(_elements(whole, at)) if event == EVENT and whole[at] == "[" else []
            for begin, stop in entries:
                if own not in whole[begin:stop] or whole.count('"command":', begin, stop) != 1:
                    continue
                if len(entries) > 1:
                    return begin, stop
                return (event_key, event_end) if len(events) > 1 else (key, end)
    return None


def _cut(whole: str, begin: int, end: int) -> str:
    """Return a JSON text without one of several values, and without the comma that parted it from the others."""
    before, behind = whole[:begin], whole[end:]
    if behind.lstrip().startswith(","):
        return before.rstrip() + behind.lstrip()[1:]
    if before.rstrip().endswith(","):
        return before.rstrip()[:-1] + behind
    return before + behind


def _decoded(data: bytes, path: Path) -> str:
    """Return a file as text, which is one JSON object. Raises UnreadableError: it is none."""
    try:
        whole = data.decode("utf-8")
        is_object = isinstance(json.loads(whole), dict)
    except ValueError as error:
        raise UnreadableError(path, f"is not JSON ({error})", "fix it first; slowwave changes nothing in it") from error
    if not is_object:
        raise RefusedError(f"{path}: is not what a client writes there; put the hook in by hand")
    return whole


_decode: Callable[[str, int], tuple[object, int]] = json.JSONDecoder().raw_decode


def _members(whole: str, at: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield the members of an object of a JSON text: name, and where the name, the value and the end of it are."""
    at = _blank(whole, at + 1)
    while whole[at] != "}":
        name, end = _decode(whole, at)
        value = _blank(whole, _blank(whole, end) + 1)
        _, end = _decode(whole, value)
        yield cast("str", name), at, value, end
        at = _blank(whole, end)
        at = _blank(whole, at + 1) if whole[at] == "," else at


def _elements(whole: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield where the elements of an array of a JSON text begin and end."""
    at = _blank(whole, at + 1)
    while whole[at] != "]":
        _, end = _decode(whole, at)
        yield at, end
        at = _blank(whole, end)
        at = _blank(whole, at + 1) if whole[at] == "," else at


def _blank(whole: str, at: int) -> int:
    while whole[at] in " \t\r\n":
        at += 1
    return at
