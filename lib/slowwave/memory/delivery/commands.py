"""The pages of slowwave's own commands in the home of each client that has commands: written, renewed, taken out.

Found out with the real clients: Claude Code 1.0 to 2.1 loads ``commands/NAME.md``, pi ``prompts/NAME.md``, opencode
``command/NAME.md``, and Codex, which has no such pages any more, ``skills/NAME/SKILL.md``. Clawdbot makes a command of
each skill, with ``_`` for ``-``, and shows it wherever it has commands: in its channels and its own screens, not in
``agent --local``. What the commands mean is told by :mod:`slowwave.reading.session`: their pages write nothing.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from slowwave.errors import MovedError, SlowwaveError, told
from slowwave.files import at_fault_point, atomic_write, fsync_folder, private_folder
from slowwave.formats.registry import CLIENTS as KNOWN
from slowwave.memory.delivery.register import Page, Register, Rule, delivering, read_register, write_register
from slowwave.memory.folder import read_or_none
from slowwave.memory.model import name_from_json, name_to_json
from slowwave.reading.session import BODIES, FORGET, NAMES, PREFIX, REMEMBER, WHY, page_of
from slowwave.report import Item

REFUSED = "refused"
# who has commands, or skills that a person can call by name
CLIENTS = tuple(sorted(name for name, client in KNOWN.items() if client.delivery.command))
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

    Args:
        clients: the clients that worked on this machine.
        environ: the environment.
        rules: what somebody asks for besides what the register says.
        take_out: also take out the pages of clients that nobody asks for any more.
        dry_run: return what would be done, and change nothing.
        overwrite: also pages that somebody changed, or that were there before.

    Raises:
        CorruptStateError: the register is damaged.
        LockHeldError: somebody else delivers.
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
        asked = [one for one in CLIENTS if any(rule.on and rule.client in ("", one) for rule in self._register.rules)]
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
