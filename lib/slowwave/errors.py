"""Every error that slowwave raises on purpose, each with the exit code that the command returns for it.

The library raises; ``slowwave.cli`` prints the one-line message to standard error and returns ``exit_code``.
Anything that is not a :class:`SlowwaveError` is a bug and ends with exit code 1 and a traceback.
"""

import errno
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

DONE = 0
BUG = 1
USAGE = 2
UNREADABLE = 3
REFUSED = 4
PARKED = 5
PARTLY_FAILED = 6
# of things with ids that begin alike so many are named, each with so much of its text
_MOST_IDS = 6
_MOST_TEXT = 60
# as a shell tells it of what an interrupt ended
INTERRUPTED = 130


class SlowwaveError(Exception):
    """Base of all expected failures; ``str(error)`` is one line that names the thing and the remedy."""

    exit_code = BUG


class UsageError(SlowwaveError):
    """A flag or argument is wrong."""

    exit_code = USAGE


class InterruptedRunError(SlowwaveError):
    """Somebody interrupted a run; the message says what is left of it and how to go on."""

    exit_code = INTERRUPTED


class SettingsError(SlowwaveError):
    """A settings key is unknown or its value is malformed; the message names key, value and remedy."""

    exit_code = USAGE

    def __init__(self, key: str, value: object, remedy: str, source: str = "") -> None:
        where = f" (in {source})" if source else ""
        shown = "" if value is None else f" = {value!r}"
        super().__init__(f"setting {key}{shown}{where}: {remedy}")
        self.key = key
        self.value = value
        self.remedy = remedy
        self.source = source


class UnreadableError(SlowwaveError):
    """A path that a job was given cannot be read as what it should be."""

    exit_code = UNREADABLE

    def __init__(self, path: Path | str, reason: str, remedy: str = "") -> None:
        super().__init__(f"{path}: {reason}" + (f"; {remedy}" if remedy else ""))
        self.path = Path(path)
        self.reason = reason


class UnknownDialectError(UnreadableError):
    """No dialect recognises the content of a file or folder."""


class CorruptStateError(UnreadableError):
    """A state file of slowwave does not parse: it never counts as "never ran"."""


class NotFoundError(SlowwaveError):
    """A session, memory or dream with that id does not exist."""

    exit_code = UNREADABLE


class ServerError(SlowwaveError):
    """No Prefect server answers: not at the address that was given, and not one of our own."""

    exit_code = UNREADABLE


class UnwritableError(SlowwaveError):
    """A folder that a job needs is not there, may not be written, or has no room left."""

    exit_code = UNREADABLE


class RefusedError(SlowwaveError):
    """A gate or a lock said no, and the caller required that the job runs."""

    exit_code = REFUSED


class LockHeldError(RefusedError):
    """Another process holds the lock; the message names its owner."""


class LockLostError(RefusedError):
    """The lock was taken over while the job ran: nothing was committed (fencing)."""


class MovedError(RefusedError):
    """Something changed between plan and apply, so the step was not carried out."""


# What the machine can refuse to any program that writes, and what to do about it.
REMEDIES = dict.fromkeys(
    (errno.EACCES, errno.EPERM, errno.EROFS),
    "let this user write there, or point HOME and the XDG_..._HOME folders elsewhere",
) | dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room and run it again")


def told(error: Exception, place: Path | str) -> str:
    """Return an error in one line; one of the operating system with its file, else ``place``, and the remedy."""
    if isinstance(error, SlowwaveError):
        return str(error)
    if not isinstance(error, OSError):
        return f"{type(error).__name__}: {error}"  # a bug
    # the file may be a number or bytes, whatever the call was given
    where = place if error.filename in (None, "") else error.filename
    remedy = REMEDIES.get(error.errno or 0)
    return f"{where}: {error.strerror or error}" + (f"; {remedy}" if remedy else "")


def meant(word: str, known: Iterable[str], before: str = "") -> str:
    """Return ``; did you mean X?`` with what is written almost like a word, "" where nothing is."""
    import difflib  # noqa: PLC0415 - only whoever mistypes waits for it

    plain = {one.lstrip("-"): one for one in known if len(one) > len("-h")}
    near = difflib.get_close_matches(word.lstrip("-"), plain, 2, 0.65)
    alike = [difflib.SequenceMatcher(None, one, word.lstrip("-")).ratio() for one in near]
    shown = [before + plain[one] for one, how in zip(near, alike, strict=True) if how > alike[0] - 0.1]
    return f"; did you mean {one_of(shown)}?" if shown else ""


def several(beginning: str, things: Mapping[str, str]) -> str:
    """Return that the ids of several things begin like that, with each id and what it is, so that one can be chosen."""
    shown = [
        f"{name} ({text if len(text) <= _MOST_TEXT else f'{text[:_MOST_TEXT]}...'})" for name, text in things.items()
    ]
    more = f" and {len(shown) - _MOST_IDS} more" if len(shown) > _MOST_IDS else ""
    named = ", ".join(shown[:_MOST_IDS])
    return f"{len(shown)} ids begin with {beginning!r}, write more of the one you mean: {named}{more}"


def one_of(words: Sequence[str]) -> str:
    """Return words as a person offers them: a, b or c."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
