"""Ids and seconds that look random and are not: both derive from a hash of the session's name and a counter."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


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

    def uuid7(self, at: datetime) -> str:
        """Return a version 7 UUID: the milliseconds of ``at``, then what looks random."""
        random = int.from_bytes(self._digest("uuid7")[:10], "big")
        bits = (_milliseconds(at) << 80 | random) & ~(0xF << 76) & ~(0x3 << 62)
        return str(UUID(int=bits | 0x7 << 76 | 0x2 << 62))

    def sorted_id(self, prefix: str, at: datetime, number: int = 1, *, newest_first: bool = False) -> str:
        """Return an id of opencode: twelve digits that sort by time, then what looks random.

        Args:
            prefix: what the id is for, as ``msg``.
            at: its time.
            number: tells apart the ids of one millisecond.
            newest_first: whether a later id sorts before an earlier one, as those of sessions do.
        """
        place = _milliseconds(at) << 12 | number
        place = (~place if newest_first else place) & (1 << 48) - 1
        digest = self._digest("sorted")
        return f"{prefix}_{place:012x}" + "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:14])

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


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp()) * 1000 + at.microsecond // 1000
