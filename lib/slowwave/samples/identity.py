"""Ids and seconds that look random and are not: both derive from a hash of the session's name and a counter."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID


@dataclass
class Identity:
    """Makes the ids of one session, always the same ones in the same order."""

    seed: str
    _count: int = 0

    def _digest(self, what: str) -> bytes:
        self._count += 1
        return hashlib.sha256(f"{self.seed}/{what}/{self._count}".encode()).digest()

    def uuid(self) -> str:
        """Return a version 4 UUID."""
        return str(UUID(bytes=self._digest("uuid")[:16], version=4))

    def token(self, prefix: str, length: int) -> str:
        """Return ``prefix`` followed by ``length`` hexadecimal digits."""
        return prefix + self._digest("token").hex()[:length]

    def between(self, low: int, high: int) -> int:
        """Return a number from ``low`` to ``high``, both included."""
        return low + int.from_bytes(self._digest("number")[:4], "big") % (high - low + 1)


@dataclass
class Watch:
    """The time inside one session: it only moves forward."""

    at: datetime
    ids: Identity

    def seconds(self, low: int, high: int) -> None:
        """Move on by a number of seconds in that range and by some milliseconds."""
        self.at += timedelta(seconds=self.ids.between(low, high), milliseconds=self.ids.between(3, 60))

    def minutes(self, count: int) -> None:
        """Move on by whole minutes: a pause in the work."""
        self.at += timedelta(minutes=count)

    def iso(self) -> str:
        """Return the time as Claude Code writes it: milliseconds and ``Z``."""
        return self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.at.microsecond // 1000:03d}Z"

    def rfc3339(self) -> str:
        """Return the time as Cersei writes it: nanoseconds and ``+00:00``."""
        nano = self.at.microsecond * 1000 + 417
        return self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{nano:09d}+00:00"
