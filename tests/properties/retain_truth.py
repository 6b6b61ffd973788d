"""What a person would know who wrote down every byte of every session, and what must hold of it after every run."""

import json
from collections.abc import Iterable
from pathlib import Path

from slowwave.files import TEMP_PREFIX
from slowwave.retention.audit import AuditLog
from slowwave.stores.archive.model import digest
from slowwave.stores.archive.reading import Pack
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.trash import trash_folder, trash_items
from tests.unit.retention.job.fleets import INDEXES
from tests.unit.retention.job.homes import Home

File = tuple[bytes, int, int]
Tree = dict[str, File]
Seen = tuple[str, int, int]


def sessions_in(home: Home) -> Tree:
    """Return every file that a client keeps of a single session, with its mode and time."""
    return {
        name: one
        for name, one in home.clients().items()
        if not name.endswith((*INDEXES, ".lock")) and TEMP_PREFIX not in name and "/memory/" not in name
    }


def seen(one: File) -> Seen:
    """Return a file as packs tell of it."""
    found = digest()
    found.update(one[0])
    return found.hexdigest(), one[1], one[2]


class Truth:
    """All that ever was.

    Attributes:
        here: the files of sessions as they lie in their places.
        gone: those that left their places and must be restorable, as they were.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self.here: Tree = {}
        self.gone: Tree = {}
        self._unpurged: Tree = {}
        self._packs: dict[Path, dict[str, set[Seen]]] = {}

    def note(self) -> None:
        """Take what lies there now for what a client wrote."""
        now = sessions_in(self._home)
        for name, one in now.items():
            if self.here.get(name) != one:
                self._unpurged.pop(name, None)
        self.here = now

    def archived(self) -> dict[str, set[Seen]]:
        """Return what all packs hold of each file; a pack is read once."""
        found: dict[str, set[Seen]] = {}
        shelf = Shelf(self._home.data / "archive")
        for path in shelf.packs():
            for name, ones in self._pack(path).items():
                found.setdefault(name, set()).update(ones)
        return found

    def _pack(self, path: Path) -> dict[str, set[Seen]]:
        if path not in self._packs:
            known: dict[str, set[Seen]] = {}
            self._packs[path] = known
            with Pack(path) as pack:
                for session in pack.table.sessions:
                    pack.check(session)
                    for file in session.files:
                        if file.kind == "file":
                            name = str(Path(file.path).relative_to(self._home.root))
                            known.setdefault(name, set()).add((file.hash, file.mode, file.mtime_ns))
        return self._packs[path]

    def thrown(self) -> dict[str, list[File]]:
        """Return what lies in the trash, by where it lay."""
        found: dict[str, list[File]] = {}
        trash = trash_folder(self._home.environ)
        for item in trash_items(trash):
            for file in item.files:
                stored = trash / item.id / file.stored
                if file.kind == "file" and stored.exists():
                    at = stored.stat()
                    name = str(Path(file.path).relative_to(self._home.root))
                    found.setdefault(name, []).append((stored.read_bytes(), at.st_mode & 0o7777, at.st_mtime_ns))
        return found

    def check(self, kept: Iterable[str]) -> set[str]:
        """Compare what there is with what was, and return the names of the files that went.

        Args:
            kept: names of files that must lie in their places, whatever the rules say.
        """
        now = sessions_in(self._home)
        changed = {name for name, one in self.here.items() if now.get(name) != one}
        # a removal that was killed is taken back; nothing else comes by itself
        assert {name: now[name] for name in now.keys() - self.here.keys()}.items() <= self.gone.items()
        assert sorted(changed & set(kept)) == []
        if changed:
            thrown, archived = self.thrown(), self.archived()
            for name in changed:
                one = self.here[name]
                if name in now:
                    # of what a purge does in steps the first is what its client wrote
                    one = self._unpurged.setdefault(name, one)
                    self._check_purged(name, one, now[name])
                is_safe = one in thrown.get(name, ()) or seen(one) in archived.get(name, ())
                assert is_safe, f"{name} is lost"
                if name in now:
                    continue
                if self._home.settings.retention.require_archive:
                    assert seen(one) in archived.get(name, ())
        went = changed - now.keys()
        self.gone = {name: one for name, one in self.gone.items() if name not in now}
        self.gone |= {name: self.here[name] for name in went}
        self.here = now
        assert AuditLog(self._home.environ).verify() == []
        return went

    def _check_purged(self, name: str, old: File, new: File) -> None:
        """A file may only have changed by losing what its client never shows; mode and time stay."""
        assert (old[1], old[2]) == (new[1], new[2]), name
        left = {line for line in old[0].splitlines() if json.loads(line).get("type") != "tombstone"}
        kept = [json.loads(line) for line in new[0].splitlines()]
        texts = {json.loads(line)["uuid"]: json.loads(line)["message"] for line in left}
        assert all(line["message"] == texts[line["uuid"]] for line in kept if line["type"] != "tombstone"), name

    def check_end(self) -> None:
        """Say that everything that ever went is in the trash or the archive, as it was."""
        thrown, archived = self.thrown(), self.archived()
        for name, one in self.gone.items():
            if self._home.settings.retention.require_archive or name in thrown:
                assert one in thrown.get(name, ()) or seen(one) in archived.get(name, ()), name
