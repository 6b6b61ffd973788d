"""The dialect of the session specification with ULIDs: ``{ULID}/session.jsonl``, an append-only log of records.

Compactions are overlays: the latest one shows as a summary, then every message from ``firstKeptSeq`` on, each once
(steps 3b and 3c of the specification overlap). Records of another type or of a higher schema version say nothing to
this version; they are counted and kept. The name of a session stands in ``metadata.json`` beside its log.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.context import Clock
from slowwave.errors import CorruptStateError, UsageError
from slowwave.formats import (
    Block,
    Content,
    Message,
    Origin,
    Problem,
    Role,
    SessionFiles,
    Span,
    Text,
    Transcript,
    decoded,
    millisecond_time,
    parse_time,
    text_in,
    text_or_empty,
    whole,
)
from slowwave.formats.client import Told
from slowwave.formats.messages import LazyMessage, chain, read_linear
from slowwave.formats.pi.records import block_of, compaction_text, parts_of, result_of
from slowwave.formats.tail import Suffix
from slowwave.formats.ulid import METADATA, is_ulid

# ``metadata.json`` of a session with a ULID: a view of its log, beside what only the client knows.
#
# The log is the truth: counts and times come from it, everything else is kept, also fields that this version does not
# know. Source: §7.3 of the specification.


class Counted(NamedTuple):
    """What the log says about the session."""

    messages: int  # how many messages it holds, of whichever role
    last: str  # the timestamp of the last one as it is written, "" without one


def new_metadata(
    session_id: str, *, at: datetime, model: str = "", name: str = "", cron_job: str = "", prompt: str = ""
) -> dict[str, object]:
    """Return the metadata of a session without messages, in the order of the specification.

    ``at``: when it is created. ``name``: its name, if somebody gave it one. ``cron_job``: the job that began it, which
    makes it a session of ``cron`` (S7.7). ``prompt``: instructions for this session only.
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

    ``known``: what the file holds, nothing where there is none. ``session_id``: the session's ULID, which also says
    when it was created. ``counted``: what the log says.
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

    Raises CorruptStateError: the file cannot be read, or is not a JSON object.
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
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def checked_ulid(text: str) -> str:
    """Return ``text`` when it can name a session. Raises UsageError: it cannot; no path was made of it (S7.8)."""
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

    ``clock``: gives the time in them. ``random``: gives 80 random bits.
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


# Records of the session specification with ULIDs, and the messages made of them.


class Record(msgspec.Struct, gc=False):
    """What loading needs of every record."""

    type: Any = msgspec.field(default=None, name="recordType")
    schema: Any = msgspec.field(default=None, name="schemaVersion")
    seq: Any = None
    role: Any = None
    timestamp: Any = None
    first_kept: Any = msgspec.field(default=None, name="firstKeptSeq")
    content: msgspec.Raw = msgspec.Raw()


class UlidMessage(LazyMessage, gc=False, eq=False):
    """A message record, or a compaction as the user message that stands for what it covers."""

    record: Record
    span: Span
    parent: str | None = None  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    @property
    def role(self) -> Role:
        """Who speaks; a summary is the user's."""
        return "user" if self.is_summary else ROLES[self.record.role]

    @property
    def id(self) -> str | None:
        """The number of the record, which the specification uses as its id."""
        return None if self.seq is None else str(self.seq)

    @property
    def seq(self) -> int | None:
        """The number of the record, None where it has none."""
        return integer(self.record.seq)

    @property
    def is_summary(self) -> bool:
        """True for a compaction."""
        return self.record.type == "compaction"

    @property
    def timestamp(self) -> datetime | None:
        """When the record was written."""
        return parse_time(text_or_empty(self.record.timestamp))

    def fields(self) -> dict[str, Any]:
        """Return the whole record, decoded anew from its bytes."""
        return whole(self.span.raw)

    def _content(self) -> Content:
        origin = "summary" if self.is_summary else _ORIGINS[self.record.role]
        blocks = self._blocks()
        return Content(tuple(blocks), (self.span,) * len(blocks), origin)

    def _blocks(self) -> list[Block]:
        if self.is_summary:
            return [Text(compaction_text({"summary": self.fields().get("summary") or ""}))]
        if self.record.role == "toolResult":
            return [result_of(self.fields())]
        return [block_of(part) for part in parts_of(decoded(self.record.content))]


class UlidTranscript(Transcript):
    """A session with its records."""

    # the messages and compactions in file order, as ``messages``
    spoken: list[UlidMessage] = msgspec.field(default_factory=list[UlidMessage])

    def take(self, span: Span, record: Record) -> str | None:
        """Add one record, and say what it is when this version does not know it."""
        if (kind := unknown_kind(record)) is None:
            self.spoken.append(UlidMessage(record, span))
        return kind


DECODER = msgspec.json.Decoder(Record)


class Ulid:
    """Rules of the specification."""

    name = "ulid"
    decoder = DECODER

    def read(self, files: SessionFiles) -> UlidTranscript:
        """Read a session, all messages in file order, compactions as summaries."""
        result = UlidTranscript(self.name, files, problems=list(files.problems))
        read_linear(result, DECODER, result.take)
        result.messages = list[Message](result.spoken)
        chain(result.messages)
        _add_title(result)
        return result

    def tail(self, files: SessionFiles) -> UlidTranscript | None:
        """Return the end of a compacted log, from the first record on that its last compaction keeps."""
        if len(files.paths) != 1:
            return None
        suffix = Suffix(files.paths, DECODER)
        is_more = suffix.back_to(_MARK)
        while is_more:
            spoken = _spoken(suffix)
            last = max((i for i, m in enumerate(spoken) if m.is_summary), default=None)
            if last is not None and kept_from(spoken, last) is not None:
                problems = [*files.problems, *suffix.problems]
                result = UlidTranscript(self.name, files, problems=problems, is_tail=True, spoken=spoken)
                return result if suffix.is_steady() else None
            is_more = suffix.grow()
        return None

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the latest summary, then the messages that it does not cover; all of them without one."""
        whole = transcript if isinstance(transcript, UlidTranscript) else self.read(transcript.files)
        last = max((i for i, m in enumerate(whole.spoken) if m.is_summary), default=None)
        messages = [(i, m) for i, m in enumerate(whole.spoken) if not m.is_summary]
        if last is None:
            return [m for _, m in messages]
        summary = whole.spoken[last]
        begin = kept_from(whole.spoken, last) or 0
        return [summary, *(m for i, m in messages if i > last or (i >= begin and _is_kept(m, summary)))]

    def told(self, span: Span, record: Record, *, is_first: bool = False, by_agent: bool = False) -> Told:  # noqa: ARG002
        """Return the message or the compaction that a record is."""
        return Told(UlidMessage(record, span)) if unknown_kind(record) is None else Told()


def _add_title(result: UlidTranscript) -> None:
    """Take the name that the client shows from the metadata; a log needs none to be read."""
    for path in result.files.paths:
        try:
            result.title = text_in(read_metadata(path.with_name(METADATA)), "name")
        except CorruptStateError as error:
            result.problems.append(Problem("garbage", error.path, 1, 0, 0, error.reason))


def _is_kept(message: UlidMessage, summary: UlidMessage) -> bool:
    first = integer(summary.record.first_kept)
    return first is not None and message.seq is not None and message.seq >= first


SCHEMA = 1
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "toolResult": "tool"}
_ORIGINS: dict[str, Origin] = {"user": "typed", "assistant": "model", "toolResult": "tool"}


def integer(value: object) -> int | None:
    """Return a whole number, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def unknown_kind(record: Record) -> str | None:
    """Return what a record is if this version does not know it, else None."""
    kind = record.type if isinstance(record.type, str) else "no recordType"
    version = integer(record.schema)
    if version is not None and version > SCHEMA:
        return f"{kind} of schema {version}"
    if kind == "message":
        known = isinstance(record.role, str) and record.role in ROLES
        return None if known else f"role {record.role}"
    return None if kind == "compaction" else kind


# The end of a compacted session of the ULID specification: from the first record that its last compaction keeps.

_MARK = b'"compaction"'


def kept_from(spoken: list[UlidMessage], last: int) -> int | None:
    """Return the index from which on the summary at ``last`` keeps messages, None when that is not in ``spoken``.

    Numbers only grow, so going back from the summary the first smaller one ends the search; what stands before it is
    covered, also where a damaged log repeats numbers.
    """
    first = integer(spoken[last].record.first_kept)
    if first is None:
        return last
    for index in range(last - 1, -1, -1):
        seq = spoken[index].seq
        if seq is not None and seq < first and not spoken[index].is_summary:
            return index + 1
    return None


def _spoken(suffix: Suffix[Record]) -> list[UlidMessage]:
    return [UlidMessage(record, span) for span, record in suffix.records if unknown_kind(record) is None]


ULID = Ulid()


def is_message(record: Record) -> bool:
    """Say whether a record is a message that this version knows."""
    return record.type == "message" and unknown_kind(record) is None
