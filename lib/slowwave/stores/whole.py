"""What a listing shows of a session whose dialect is read as a whole: its summary is made anew when the file changes.

The incremental scan of :mod:`slowwave.stores.scan` knows the record forms of Claude Code and Cersei only.
"""

from datetime import UTC
from pathlib import Path

from slowwave.dialects import by_name
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.stores.summary import PROMPT_CHARS, Summary
from slowwave.stores.walk import FoundSession

# Reported by the reader, but nothing is missing: the record was read all the same.
HARMLESS = ("bom", "glued", "not-utf8", "gap", "too-large", "nonstandard")


def summary_of_whole(found: FoundSession, dialect: str) -> Summary:
    """Return the summary of a session by reading all of it.

    Raises:
        UnreadableError: a file of it cannot be read.
    """
    files = SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files))
    transcript = by_name(dialect).read(files)
    said = [m for m in transcript.messages if not m.sidechain]
    summary = Summary(
        dialect,
        records=transcript.records,
        tool_calls=sum(len(m.calls) for m in said),
        bad_lines=sum(p.lines for p in transcript.problems if p.kind not in HARMLESS),
        titles={"ai-title": transcript.title} if transcript.title else {},
        is_fork=transcript.kind == "fork",
    )
    if transcript.kind == "subagent":
        summary.side_messages, summary.side_prompt = len(said), _first_prompt(said)
    else:
        summary.messages, summary.first_prompt = len(said), _first_prompt(said)
    _add_times(summary, transcript)
    return summary


def _add_times(summary: Summary, transcript: Transcript) -> None:
    times = [m.timestamp for m in transcript.messages if m.timestamp is not None]
    if times:
        summary.created = f"{min(times).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        summary.last_activity = f"{max(times).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    summary.cwd = next((m.cwd for m in transcript.messages if m.cwd), "")


def _first_prompt(messages: list[Message]) -> str:
    typed = (m.text for m in messages if m.origin == "typed" and m.text.strip())
    return " ".join(next(typed, "").split())[:PROMPT_CHARS]
