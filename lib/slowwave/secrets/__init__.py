"""Marks in the place of secrets: ``[secret:github:3fa9c1d2]``, the same for the same secret, and no way back to it.

The mark is keyed with a secret of the person that runs slowwave, so equal secrets can be seen to be equal across all
projects of a machine, and whoever reads a memory cannot try candidates against it.
"""

import hashlib
import hmac
import logging
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slowwave.errors import CorruptStateError, UnreadableError
from slowwave.files import TEMP_PREFIX, config_folder, fsync_folder, open_file, private_folder, write_all
from slowwave.secrets.blocklist import FILE, Blocked, any_blocked, read_blocked
from slowwave.settings import Settings

MARK_OPEN = "[secret:"
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces secrets by marks."""

    key: bytes  # key of the fingerprints, marks of different keys cannot be compared; without one there are none
    blocked: Blocked | None = None  # what was erased and goes, too, wherever it comes from

    def __call__(self, text: str) -> str:
        """Return ``text`` without secrets."""
        return self.counted(text)[0]

    def counted(self, text: str) -> tuple[str, int]:
        """Return ``text`` without secrets and how many there were."""
        from slowwave.secrets.finder import find_secrets  # noqa: PLC0415 - a listing of what is known needs no rules

        text, erased = self.blocked.masked(text) if self.blocked else (text, 0)
        found = find_secrets(text)
        if not found:
            return text, erased
        out: list[str] = []
        at = 0
        for one in found:
            out += [text[at : one.start], self.mark(one.family, one.secret)]
            at = one.stop
        return "".join([*out, text[at:]]), len(found) + erased

    def mark(self, family: str, secret: str) -> str:
        """Return the mark of a secret."""
        return f"{MARK_OPEN}{family}:{self.fingerprint(secret)}]" if self.key else f"{MARK_OPEN}{family}]"

    def fingerprint(self, secret: str) -> str:
        """Return the hex digits that stand for a secret, however its lines were broken."""
        plain = "".join(secret.split()).encode("utf-8", "surrogatepass")
        return hmac.new(self.key, plain, hashlib.sha256).hexdigest()[:_DIGITS]


NAMELESS = Redactor(b"")
"""Marks without fingerprints, for messages and logs: they need no key, and nothing is looked up by them."""


# The key of the fingerprints: made when it is needed first, readable by its owner alone, never in any output.
#
# It lies beside the settings and not in the state folder, which may be deleted: with another key the marks in memories
# say no more which secrets are equal.

NAME = "fingerprint.key"
_BYTES = 32


def redactor_of(settings: Settings, environ: Mapping[str, str], *, create: bool = True) -> Redactor:
    """Return the redactor of the person that runs slowwave.

    ``settings``: ``secrets.key_file`` names another file than the usual one. ``environ``: the environment; the
    settings' own folder is taken from here. ``create``: write a key where there is none; without it the marks of this
    run are comparable among themselves only. Raises CorruptStateError: the file holds no key, or is gone although
    something was erased by it, or the list of that does not parse; UnreadableError: the file cannot be read or made, or
    others may read it.
    """
    path = settings.secrets.key_file or str(config_folder(environ) / NAME)
    place, kept = Path(path).expanduser(), read_blocked(environ)
    is_needed = bool(kept.phrases or kept.sessions)
    if is_needed and not place.exists():
        # with a new one nothing would be known again, and all of it could come back
        reason = "is gone, and without it nobody can tell what was erased"
        raise CorruptStateError(place, reason, f"put it back from a copy, or remove {FILE} and erase again")
    key = _key(place, create=create)
    return Redactor(key, Blocked(key, kept) if is_needed else None)


def blocked_by(settings: Settings, environ: Mapping[str, str]) -> Blocked | None:
    """Return what was erased and must not come back, None when nothing was: then no key is looked for.

    Raises CorruptStateError: the list of what was erased, or the key, does not parse; UnreadableError: the key cannot
    be read, or others may read it.
    """
    if not any_blocked(environ):
        return None
    return redactor_of(settings, environ, create=False).blocked


def _key(path: Path, *, create: bool) -> bytes:
    key = _read(path)
    if key is None and not create:
        return secrets.token_bytes(_BYTES)
    try:
        return key or _made(path)
    except OSError as error:
        raise UnreadableError(
            path, error.strerror or "cannot be made", "name another file with secrets.key_file"
        ) from error


def _read(path: Path) -> bytes | None:
    try:
        fd = open_file(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    with os.fdopen(fd, "rb") as file:
        if stat.S_IMODE(os.fstat(fd).st_mode) & 0o077:
            raise UnreadableError(path, "can be read by others", f"chmod 600 {path}")
        text = file.read(1000)
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except (ValueError, UnicodeDecodeError):
        key = b""
    if len(key) < _BYTES:
        raise CorruptStateError(path, f"holds no key of {_BYTES} bytes in hex", "remove it, and a new one is made")
    return key


def _made(path: Path) -> bytes:
    """Write a new key; of two that do so at once the first wins, and both use its key."""
    private_folder(path.parent)
    temp = path.with_name(f"{TEMP_PREFIX}{os.getpid()}-{secrets.token_hex(4)}")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            write_all(fd, secrets.token_hex(_BYTES).encode())
            os.fsync(fd)
        finally:
            os.close(fd)
        try:
            os.link(temp, path)
        except FileExistsError:
            pass
        else:
            fsync_folder(path.parent)
    finally:
        temp.unlink(missing_ok=True)
    key = _read(path)
    assert key is not None
    return key


# Loggers whose records hold no secrets: errors and tracebacks quote what they stumbled over.


class RedactingFilter(logging.Filter):
    """Takes secrets out of the message and the traceback of every record."""

    _format = logging.Formatter().formatException

    def filter(self, record: logging.LogRecord) -> bool:
        """Clean the record and let it pass."""
        message = record.getMessage()
        clean = NAMELESS(message)
        if clean != message:
            record.msg, record.args = clean, None
        if record.exc_info and record.exc_info[0] is not None:
            # handlers show the text in the place of the traceback when there is one
            record.exc_text = NAMELESS(self._format(record.exc_info))
            record.exc_info = None
        return True


def logger_of(name: str) -> logging.Logger:
    """Return the logger of a module of slowwave."""
    logger = logging.getLogger(name)
    if not any(isinstance(one, RedactingFilter) for one in logger.filters):
        logger.addFilter(RedactingFilter())
    return logger
