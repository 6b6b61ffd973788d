"""Whether a session is due for compaction, by the rule of its own client, and the sentence that says so.

Claude Code, pi, OpenClaw and the ULID specification leave room for the answer; Cersei and Codex take a share of the
window; crabtalk a number of tokens. What a person sets here goes before what they set in the client, and that before
what the client does by itself; a client that was told not to compact is heeded. What a person sets as the window
goes before what the client noted, that before the table; a provider that counted more than the table knows proves that
the model sees more. The size is what the provider counted; else what a tokenizer counts, where one is installed that
knows the model; else an estimate, by lengths to a token that were measured.
"""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.compaction.plan import (
    AUTO_COMPACT_SHARE,
    CRABTALK_THRESHOLD,
    KEEP_RECENT_MESSAGES,
    KEEP_RECENT_TOKENS,
    RESERVE_TOKENS,
    Budget,
    Level,
    is_over_budget,
    is_over_share,
    is_over_threshold,
    warning_level,
)
from slowwave.compaction.reading import Reading
from slowwave.compaction.settings import Chosen, settings_files
from slowwave.compaction.tokens import context_window, exact_tokens
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import StoredSession
from slowwave.settings import CompactionSettings
from slowwave.stores.projects import Project

# What the next larger kind of model sees (Claude and GPT with a long context, Gemini).
_LONG_WINDOW = 1_000_000
# what Claude Code leaves free for an answer before it takes a share of the rest
_ANSWER_TOKENS = 20_000


class Due(NamedTuple):
    """A decision with its reason."""

    is_due: bool  # compact now
    is_near: bool  # not yet, but within the soft threshold of seed 004, so that memories are saved already
    reason: str  # both numbers, for a person
    tokens: int  # the size of the context before
    window: int  # tokens that the model can see
    is_off: bool = False  # it would be due, and its client was told not to compact by itself

    @property
    def level(self) -> Level:
        """How full the window is."""
        return warning_level(self.tokens, self.window)


def due(reading: Reading, settings: CompactionSettings, *, soft: int, live_bytes: int = 0) -> Due:
    """Decide for one session.

    ``soft``: how many tokens below the trigger counts as near. ``live_bytes``: bytes of the records that its context is
    made of.
    """
    window = window_of(reading, settings)
    limit = limit_of(reading, window, settings)
    total, how = _size(reading, limit)
    is_due = _is_over(reading, total, window, settings)
    reason = f"{total:,} tokens {how} of {window:,}, limit {limit:,}"
    if not is_due and 0 < settings.trigger_bytes < live_bytes:
        is_due, reason = True, f"{live_bytes:,} bytes in the context, limit {settings.trigger_bytes:,}"
    is_near = not is_due and total + soft >= limit  # Clawdbot's own comparison
    if (off := reading.chosen.off_in) and (is_due or is_near):
        return Due(
            is_due=False,
            is_near=False,
            reason=f"{reason}; its client is told in {off} not to compact",
            tokens=total,
            window=window,
            is_off=is_due,
        )
    return Due(is_due, is_near, reason, total, window)


def _size(reading: Reading, limit: int) -> tuple[int, str]:
    """Return the size of a context and how it is known: counted by its provider, by a tokenizer, or estimated.

    A tokenizer is asked where the estimate alone could be wrong about the limit: it is off by a half at most.
    """
    size = reading.size._replace(guessed=reading.rule.likely(reading.size.guessed))
    if size.counted:
        return size.total, "counted"
    if limit <= size.total * 2 and size.total <= limit * 2:
        messages = (item.message for item in reading.items if item.message is not None)
        if (exact := exact_tokens(messages, reading.model)) is not None:
            return exact, "counted by the tokenizer"
    return size.total, "estimated"


def budget_of(reading: Reading, settings: CompactionSettings) -> Budget:
    """Return what is kept and left free: as the settings say, else as those of the client do, else by default."""
    chosen = reading.chosen
    reserve = next((n for n in (settings.reserve_tokens, chosen.reserve_tokens) if n is not None), RESERVE_TOKENS)
    return Budget(
        reserve_tokens=reserve,
        keep_recent_tokens=keep_of(chosen, settings),
        reserve_floor=chosen.reserve_floor,
        keep_messages=KEEP_RECENT_MESSAGES if reading.rules.trigger == "share" else 0,
    )


def keep_of(chosen: Chosen, settings: CompactionSettings) -> int:
    """Return about how many of the newest tokens stay as they are."""
    found = (settings.keep_recent_tokens, chosen.keep_recent_tokens)
    return next((number for number in found if number is not None), KEEP_RECENT_TOKENS)


def window_of(reading: Reading, settings: CompactionSettings) -> int:
    """Return how many tokens the model of a session can see, and its client uses."""
    if settings.context_window:
        return settings.context_window
    window = reading.window or context_window(reading.model, settings.windows)
    window = max(window, _LONG_WINDOW) if reading.size.counted > window else window
    return min(window, reading.chosen.window) if reading.chosen.window else window


def limit_of(reading: Reading, window: int, settings: CompactionSettings) -> int:
    """Return the tokens from which on a session is due."""
    trigger = reading.rules.trigger
    if trigger == "share":
        return int(window * settings.threshold)
    if trigger == "automatic":
        return min(int(window * AUTO_COMPACT_SHARE), reading.chosen.limit or window)
    if trigger == "threshold" and not settings.context_window:
        return CRABTALK_THRESHOLD
    limit = window - budget_of(reading, settings).reserve
    share = _share_of(reading, settings)
    return min(limit, int((window - _ANSWER_TOKENS) * share)) if share else limit


def _share_of(reading: Reading, settings: CompactionSettings) -> float:
    """Return the share of its room that a client was told to fill at most, 0 where nothing or slowwave says so."""
    return reading.chosen.percent / 100 if settings.reserve_tokens is None else 0


def _is_over(reading: Reading, tokens: int, window: int, settings: CompactionSettings) -> bool:
    trigger = reading.rules.trigger
    if trigger == "share":
        return is_over_share(tokens, window, settings.threshold)
    if trigger == "automatic":
        return is_over_share(tokens, window) or 0 < reading.chosen.limit <= tokens
    if trigger == "threshold" and not settings.context_window:
        return is_over_threshold(tokens)
    if _share_of(reading, settings):
        return tokens >= limit_of(reading, window, settings)
    return is_over_budget(tokens, window, budget_of(reading, settings))


# Sessions that were read and were not due: as long as they and the settings stay the same, they are not read again.
#
# A cache beside the books, one file a project; delete it any time.

_FOLDER = "rested"
_DIGITS = 24
_decoder = msgspec.json.Decoder(dict[str, str])


class Rested:
    """The sessions of one project that were not due.

    Args:
        folder: where the books are.
        project: the project.
        settings: what was due by these may not be by others, nor by others of the client.
    """

    def __init__(self, folder: Path, project: Project, settings: CompactionSettings) -> None:
        self._file = folder / _FOLDER / hashlib.sha256(os.fsencode(project.key)).hexdigest()[:_DIGITS]
        self._root = project.root
        self._chosen: dict[tuple[str, Path], str] = {}
        self._settings = hashlib.sha256(msgspec.json.encode(settings)).hexdigest()[:_DIGITS]
        self._known = self._read()
        self._now: dict[str, str] = {}

    def knows(self, session: StoredSession) -> bool:
        """Say whether a session was not due and has not changed since."""
        path, state = self._state(session)
        if self._known.get(path) != state:
            return False
        self._now[path] = state
        return True

    def add(self, session: StoredSession) -> None:
        """Note that a session was not due."""
        path, state = self._state(session)
        self._now[path] = state

    def save(self) -> None:
        """Keep what is known of the sessions of this run. Raises OSError: the folder cannot be written."""
        if self._now != self._known:
            private_folder(self._file.parent)
            atomic_write(self._file, msgspec.json.encode(self._now))

    def _state(self, session: StoredSession) -> tuple[str, str]:
        path = os.fsencode(os.path.realpath(session.files.paths[0])).decode("utf-8", "backslashreplace")
        return path, f"{session.size}:{session.mtime_ns}:{self._settings}{self._told(session)}"

    def _told(self, session: StoredSession) -> str:
        """Return what the client's files of settings look like, "" where there are none."""
        path = session.files.paths[0]
        place = (session.dialect, path.parent)
        if place not in self._chosen:
            try:
                self._chosen[place] = self._files_of(session.dialect, path)
            except OSError:
                self._chosen[place] = ":?"  # whoever reads them for a session says why it cannot be done
        return self._chosen[place]

    def _files_of(self, dialect: str, path: Path) -> str:
        files = [*settings_files(dialect, path, self._root), *client_of(dialect).own_settings(path)]
        return "".join(f":{at.st_ino}:{at.st_size}:{at.st_mtime_ns}" for at in (f.stat() for f in files if f.is_file()))

    def _read(self) -> dict[str, str]:
        try:
            return _decoder.decode(file_bytes(self._file))
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}  # a cache: the sessions are read once more
