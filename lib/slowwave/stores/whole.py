"""What a listing shows of a session that is read as a whole: its summary is made anew when it changes.

So are storage trees of opencode. Other files are folded in record by record (:mod:`slowwave.stores.folds`), and of
sessions in databases the rows (:mod:`slowwave.stores.passing`).
"""

from pathlib import Path

from slowwave.formats.model import SessionFiles
from slowwave.formats.registry import by_name
from slowwave.stores.folds import add_message, saw_creation
from slowwave.stores.kept import kept_title
from slowwave.stores.summary import Summary
from slowwave.stores.walk import FoundSession

# Reported by the reader, but nothing is missing: the record was read all the same.
HARMLESS = ("bom", "glued", "not-utf8", "gap", "too-large", "nonstandard")


def files_of(found: FoundSession) -> SessionFiles:
    """Return the files of a session as its dialect takes them."""
    return SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files))


def summary_of_whole(found: FoundSession, dialect: str) -> Summary:
    """Return the summary of a session by reading all of it.

    Raises:
        UnreadableError: a file of it cannot be read.
    """
    transcript = by_name(dialect).read(files_of(found))
    summary = Summary(
        dialect,
        records=transcript.records,
        bad_lines=sum(p.lines for p in transcript.problems if p.kind not in HARMLESS),
        titles={"ai-title": kept_title(transcript.title)} if transcript.title else {},
        is_fork=transcript.kind == "fork",
        is_sub_agent=transcript.kind == "subagent",
        parent=transcript.parent,
        cwd=next((m.cwd for m in transcript.messages if m.cwd), ""),
    )
    for message in transcript.messages:
        add_message(summary, message)
    if transcript.created is not None:
        saw_creation(summary, transcript.created)
    return summary
