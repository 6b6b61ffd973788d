"""``metadata.json`` of a session with a ULID: a view of its log, beside what only the client knows.

The log is the truth: counts and times come from it, everything else is kept, also fields that this version does not
know. Source: §7.3 of the specification.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import NamedTuple, cast

from slowwave.clock import Clock
from slowwave.errors import CorruptStateError, UsageError
from slowwave.formats.times import millisecond_time

METADATA = "metadata.json"


class Counted(NamedTuple):
    """What the log says about the session.

    Attributes:
        messages: how many messages it holds, of whichever role.
        last: the timestamp of the last one as it is written, "" without one.
    """

    messages: int
    last: str


def new_metadata(
    session_id: str, *, at: datetime, model: str = "", name: str = "", cron_job: str = "", prompt: str = ""
) -> dict[str, object]:
    """Return the metadata of a session without messages, in the order of the specification.

    Args:
        session_id: its ULID.
        at: when it is created.
        model: the model that answers.
        name: its name, if somebody gave it one.
        cron_job: the job that began it, which makes it a session of ``cron`` (S7.7).
        prompt: instructions for this session only.
    """
    now = millisecond_time(at)
    optional = {"cronJobId": cron_job, "systemPromptOverride": prompt}
    return {
        "id": session_id,
        **({"name": name} if name else {}),
        "createdAt": now,
        "lastMessageAt": now,
        "model": model,
        "messageCount": 0,
        "source": "cron" if cron_job else "interactive",
        **{key: value for key, value in optional.items() if value},
    }


def rebuilt(known: Mapping[str, object], session_id: str, counted: Counted) -> dict[str, object]:
    """Return the metadata as they should be: those that are known, with what the log says put right.

    Args:
        known: what the file holds, nothing where there is none.
        session_id: the session's ULID, which also says when it was created.
        counted: what the log says.
    """
    created = ulid_time(session_id)
    defaults: dict[str, object] = {"createdAt": millisecond_time(created) if created else counted.last}
    result = {
        "id": session_id,
        **defaults,
        "lastMessageAt": "",
        "model": "",
        "messageCount": 0,
        "source": "interactive",
    }
    result = {**known, **{key: value for key, value in result.items() if key not in known}}
    last = counted.last or result["createdAt"]
    return result | {"id": session_id, "lastMessageAt": last, "messageCount": counted.messages}


def read_metadata(path: Path) -> dict[str, object]:
    """Return what the file holds, nothing when there is no such file.

    Raises:
        CorruptStateError: the file cannot be read, or is not a JSON object.
    """
    try:
        value: object = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise CorruptStateError(path, error.strerror or "cannot be read") from error
    except (ValueError, RecursionError) as error:
        raise CorruptStateError(
            path, f"is not JSON ({error})", "it is rebuilt from the log at the next write"
        ) from error
    if not isinstance(value, dict):
        raise CorruptStateError(path, "is not a JSON object", "it is rebuilt from the log at the next write")
    return cast("dict[str, object]", value)


def name_of(metadata: Mapping[str, object]) -> str:
    """Return the session's name, or ""."""
    name = metadata.get("name")
    return name if isinstance(name, str) else ""


def encoded(metadata: Mapping[str, object]) -> bytes:
    """Return the file's new content."""
    text = json.dumps(metadata, ensure_ascii=False, indent=2) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:
        # half of a character, which only an escape can hold
        return json.dumps(metadata, indent=2).encode() + b"\n"


# ULIDs: 48 bits of milliseconds and 80 random bits in Crockford's base 32, so that names sort by time.

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LETTERS = 26
RANDOM_BITS = 80
# As the specification has it (§7.1), which also lets pass what is larger than 128 bits.
_ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_ulid(text: str) -> bool:
    """Say whether a text can name a session, before any path is made of it (S7.8)."""
    return _ULID.match(text) is not None


def checked_ulid(text: str) -> str:
    """Return ``text`` when it can name a session.

    Raises:
        UsageError: it cannot; no path was made of it (S7.8).
    """
    if not is_ulid(text):
        raise UsageError(f"session id {text[:64]!r} is not a ULID: 26 capital letters and digits without I, L, O and U")
    return text


def ulid_time(text: str) -> datetime | None:
    """Return when an id was made; None for what is none, also where its time lies behind the year 9999."""
    if not is_ulid(text):
        return None
    value = 0
    for letter in text:
        value = value << 5 | ALPHABET.index(letter)
    try:
        return EPOCH + timedelta(milliseconds=value >> RANDOM_BITS)
    except OverflowError:
        return None


# New ULIDs. Those of one maker only ever grow, also within a millisecond and when the clock goes back.


def random_bits() -> int:
    """Return 80 random bits."""
    return int.from_bytes(os.urandom(RANDOM_BITS // 8))


class UlidMaker:
    """Makes ids for new sessions; it may be called from many threads.

    Args:
        clock: gives the time in them.
        random: gives 80 random bits.
    """

    def __init__(self, clock: Clock, random: Callable[[], int] = random_bits) -> None:
        self._clock = clock
        self._random = random
        self._last = 0
        self._lock = Lock()

    def __call__(self) -> str:
        """Return an id that is greater than all before it."""
        milliseconds = (self._clock.now() - EPOCH) // timedelta(milliseconds=1)
        with self._lock:
            first = milliseconds << RANDOM_BITS
            is_later = milliseconds > self._last >> RANDOM_BITS
            self._last = first | self._random() if is_later else self._last + 1
            return _encoded(self._last)


def _encoded(value: int) -> str:
    return "".join(ALPHABET[value >> 5 * place & 31] for place in reversed(range(LETTERS)))
