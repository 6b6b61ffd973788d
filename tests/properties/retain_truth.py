"""What a person would know who wrote down every byte of every session, and what must hold of it after every run."""

import json
from collections.abc import Iterable

from tests.properties.retain_disk import Disk, File, Tree, seen
from tests.unit.retention.fleets import HIDDEN
from tests.unit.retention.homes import DAY, Home

GRACE_S = 7 * DAY


class Truth:
    """All that ever was.

    Attributes:
        disk: what there is.
        here: the files of sessions as they lie in their places.
        gone: those that left their places and must be restorable, as they were.
        unpurged: what clients wrote to the files that were purged since.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self.disk = Disk(home)
        self.here: Tree = {}
        self.gone: Tree = {}
        # of these no run has seen the end of their grace: when they went, in seconds since 1970
        self._young: dict[str, float] = {}
        self.unpurged: Tree = {}

    def note(self) -> None:
        """Take what lies there now for what a client wrote."""
        now = self.disk.sessions()
        for name, one in now.items():
            if self.here.get(name) != one:
                self.unpurged.pop(name, None)
        # what was brought back does not count as gone any more, also where its client then deletes it
        self.gone = {name: one for name, one in self.gone.items() if name not in now}
        self._young = {name: then for name, then in self._young.items() if name not in now}
        self.here = now

    def check(self, kept: Iterable[str]) -> set[str]:
        """Compare what there is with what was, and return the names of the files that went.

        Args:
            kept: names of files that must lie in their places, whatever the rules say.
        """
        now, at = self.disk.sessions(), self._home.clock.at.timestamp()
        changed = {name for name, one in self.here.items() if now.get(name) != one}
        # a removal that was killed is taken back; nothing else comes by itself
        assert {name: now[name] for name in now.keys() - self.here.keys()}.items() <= self.gone.items()
        assert sorted(changed & set(kept)) == []
        went = changed - now.keys()
        for name in changed & now.keys():
            # of what a purge does in steps the first is what its client wrote
            one = self.unpurged.setdefault(name, self.here[name])
            _check_purged(name, one, now[name])
            assert seen(one) in self.disk.archived().get(name, ()), f"{name} was purged without a copy"
        self.gone = {name: one for name, one in self.gone.items() if name not in now}
        self.gone |= {name: self.here[name] for name in went}
        self._young = {name: then for name, then in self._young.items() if name in self.gone and at - then < GRACE_S}
        self._young |= dict.fromkeys(went, at)
        self.here = now
        self._check_gone(went)
        return went

    def check_whole(self) -> None:
        """Read every byte anew: of all that is here, all that went, and all that was packed."""
        self.disk.forget()
        assert self.disk.sessions() == self.here
        self._check_gone(self.gone)

    def _check_gone(self, names: Iterable[str]) -> None:
        """Say that what went is in the trash until its grace is over, and in a pack where that is asked for."""
        thrown = self.disk.thrown()
        for name in self._young:
            assert self.gone[name] in thrown.get(name, ()), f"{name} cannot be restored"
        if self._home.settings.retention.require_archive and names:
            archived = self.disk.archived()
            for name in names:
                assert seen(self.gone[name]) in archived.get(name, ()), f"{name} is in no pack"


def _check_purged(name: str, old: File, new: File) -> None:
    """A file may only have changed by losing what its client never shows; mode and time stay."""
    assert (old[1], old[2]) == (new[1], new[2]), name
    before, after = ([json.loads(line) for line in one[0].splitlines()] for one in (old, new))
    said = [line["message"] for line in before if line["type"] != "tombstone" and line["uuid"] != HIDDEN]
    assert [line["message"] for line in after if line["type"] != "tombstone" and line["uuid"] != HIDDEN] == said
