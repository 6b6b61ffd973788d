"""``metadata.json`` of a session with a ULID: a view of its log, beside what only the client knows.

The log is the truth: counts and times come from it, everything else is kept, also fields that this version does not
know. Source: §7.3 of the specification.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, cast

from slowwave.dialects.times import millisecond_time
from slowwave.dialects.ulid.ids import ulid_time
from slowwave.errors import CorruptStateError

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
        CorruptStateError: the file cannot be read, or is no JSON object.
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
        raise CorruptStateError(path, "is no JSON object", "it is rebuilt from the log at the next write")
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
