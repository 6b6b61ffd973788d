"""Names of files beside ``sessions.json``: which are transcripts, what became of them, and where an entry's one lies.

Source: ``config/sessions/paths.ts`` and ``artifacts.ts`` of Clawdbot and OpenClaw, and real homes (corpus.md 20).
"""

import os
import re
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote

from slowwave.errors import UsageError
from slowwave.stores.model import StoreProblem
from slowwave.stores.openclaw.entries import SessionEntry
from slowwave.stores.walk import SUFFIX, Source

ArtifactKind = Literal["transcript", "trajectory", "store", "lock", "other"]

# Letters and digits first, so that no id leads out of its folder or hides its file.
_SAFE_ID = re.compile(r"[^\W_][\w.-]{0,127}")
_MOST_NAME_BYTES = 255
_UNESCAPED = "!~*'()-_."
_TOPIC = re.compile(r"(.+)-topic-([^/]+)\Z", re.DOTALL)
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CHECKPOINT = re.compile(rf"(.+)\.checkpoint\.{_UUID}\Z", re.DOTALL | re.IGNORECASE)
# `<id>.jsonl.reset.2026-01-24T10-00-00.000Z`, `<id>.jsonl.bak-<pid>-<ms>`; archives may be compressed.
_PUT_ASIDE = re.compile(r"(.+)\.jsonl\.(?:(reset|deleted|bak)[.-])(.+?)(\.zst)?\Z", re.DOTALL)
_SOURCES: dict[str, Source] = {"reset": "reset", "deleted": "deleted", "bak": "backup"}
_TRAJECTORIES = (".trajectory.jsonl", ".trajectory-path.json")
_IN_DATABASE = "sqlite:"


class Artifact(NamedTuple):
    """What a file name says.

    Attributes:
        kind: transcript, trajectory (another record of the same run), store, lock or other.
        session: the session's id.
        topic: the topic of a group, as it stands in the name.
        source: what became of a transcript.
    """

    kind: ArtifactKind
    session: str = ""
    topic: str = ""
    source: Source = ""


def artifact_of(name: str) -> Artifact:
    """Say what a file beside a store is."""
    if name.startswith(".") or name.endswith(".tmp"):
        return Artifact("other")
    if name.endswith(_TRAJECTORIES) or ".trajectory.jsonl" in name:
        return Artifact("trajectory", name.partition(".trajectory")[0])
    if name.endswith(".lock"):
        return Artifact("lock")
    if aside := _PUT_ASIDE.match(name):
        return _named(aside[1], _SOURCES[aside[2]])
    if name.endswith(SUFFIX):
        stem = name.removesuffix(SUFFIX)
        checkpoint = _CHECKPOINT.match(stem)
        return _named(checkpoint[1], "backup") if checkpoint else _named(stem, "")
    return Artifact("store" if name.startswith("sessions.json") else "other")


def _named(stem: str, source: Source) -> Artifact:
    topic = _TOPIC.match(stem)
    return Artifact("transcript", topic[1], topic[2], source) if topic else Artifact("transcript", stem, "", source)


def is_safe_id(session_id: str) -> bool:
    """Say whether an id can be the name of a file in its folder, and of nothing else."""
    return bool(_SAFE_ID.fullmatch(session_id)) and not _CHECKPOINT.match(session_id)


def transcript_name(session_id: str, topic: str | int | None = None) -> str:
    """Return the file name of a session's transcript, with the topic as the client writes it in an URL.

    Raises:
        UsageError: the id could lead out of the folder or hide the file, or the name is longer than systems allow.
    """
    own = session_id.strip()
    if not is_safe_id(own):
        raise UsageError(f"session id {session_id!r}: use up to 128 letters, digits, '.', '_' and '-', a letter first")
    suffix = "" if topic is None else f"-topic-{quote(str(topic), safe=_UNESCAPED)}"
    name = f"{own}{suffix}{SUFFIX}"
    if len(name.encode()) > _MOST_NAME_BYTES:
        raise UsageError(f"session id {session_id!r} and its topic make a name of over {_MOST_NAME_BYTES} bytes")
    return name


def transcript_path(
    folder: Path, entry: SessionEntry, problems: list[StoreProblem], topic: str | int | None = None
) -> Path | None:
    """Return where the transcript of an entry lies, surely inside ``folder``; None when there is none in a file.

    ``sessionFile`` goes before the name that the id gives. One that leads out of the folder is reported and not
    followed, but for the path of a store that was moved: then the file of that name here is meant.
    """
    named = entry.text("sessionFile")
    if named.startswith(_IN_DATABASE):
        return None
    if named:
        path = _inside(folder, named)
        if path is not None:
            return path
        detail = f"sessionFile {named!r} leads out of the folder and is not followed"
        problems.append(StoreProblem("ignored", os.fspath(folder), detail))
    own = entry.text("sessionId")
    if not own:
        return None
    try:
        return _inside(folder, transcript_name(own, topic))
    except UsageError as error:
        problems.append(StoreProblem("ignored", os.fspath(folder), str(error)))
        return None


def _inside(folder: Path, named: str) -> Path | None:
    """Return a path that is inside the folder, also behind links; None when it is not."""
    if "\0" in named:
        return None
    real = folder.resolve()
    path = folder / named
    if path.resolve().is_relative_to(real) and path.resolve() != real:
        return folder / path.resolve().relative_to(real)
    moved = folder / Path(named).name
    is_of_agent = Path(named).parent.name == "sessions" and Path(named).parents[2:3] and Path(named).is_absolute()
    if is_of_agent and Path(named).parents[2].name == "agents" and moved.is_file() and moved.resolve().parent == real:
        return moved
    return None


def agent_store(settings_store: str, agent: str, home: Path) -> Path:
    """Return where the settings (``session.store``) put an agent's store: ``{agentId}`` and ``~`` are filled in."""
    path = settings_store.replace("{agentId}", agent)
    return home / path.removeprefix("~").lstrip("/") if path.startswith("~") else Path(path)
