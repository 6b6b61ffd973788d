"""What the newest ``last-prompt`` of a Claude Code session names, on the way up from its last row."""

from array import array

from slowwave.formats.salvage import whole

# Without a last-prompt so far up the way is taken to have none; one further up is not searched for among them.
_MOST_NOTED = 65_536


class Mark:
    """What the last ``last-prompt`` names, and whether the way up passes it.

    Records are noted by their hashes until it is found: most sessions have it near their end, some have none.

    Attributes:
        is_found: the last one was read.
        is_watching: it matters what the way up passes.
    """

    def __init__(self) -> None:
        self.is_found, self.is_watching = False, True
        self._named: str | None = None
        self._over, self._beside = array("q"), array("q")

    def read(self, raw: bytes) -> bool:
        """Look at a ``last-prompt``; False where it names another end than the last row, or that cannot be told."""
        if self.is_found:
            return True
        fields = whole(raw)
        named, is_exact = fields.get("leafUuid"), fields.get("explicit") is True
        if is_exact and "leafUuid" in fields:
            return False
        if not isinstance(named, str) or not named:
            return "leafUuid" not in fields
        self.is_found = True
        if len(self._over) >= _MOST_NOTED or len(self._beside) >= _MOST_NOTED or hash(named) in self._beside:
            return False
        self._named = None if hash(named) in self._over else named
        self.is_watching = self._named is not None
        self._over, self._beside = array("q"), array("q")
        return True

    def goes_over(self, *uuids: str | None) -> None:
        """Note that the way up passes records."""
        if not self.is_found:
            self._over.extend(map(hash, uuids))
            self.is_watching = len(self._over) < _MOST_NOTED
        elif self._named in uuids:
            self._named, self.is_watching = None, False

    def leaves(self, uuid: str | None) -> bool:
        """Note that it passes by a record; False where that is the named one."""
        if not self.is_found:
            if len(self._beside) < _MOST_NOTED:
                self._beside.append(hash(uuid))
            return True
        return self._named is None or uuid != self._named
