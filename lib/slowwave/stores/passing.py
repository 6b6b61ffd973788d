"""What a listing shows of a session that lies in a database, from one pass over its rows that holds none of them."""

from slowwave.formats.model import Message, SessionFiles, Transcript
from slowwave.formats.registry import RowDialect, by_name
from slowwave.stores.folds import add_message, saw_creation
from slowwave.stores.kept import kept_title
from slowwave.stores.summary import Summary
from slowwave.stores.walk import FoundSession
from slowwave.stores.whole import HARMLESS, files_of, summary_of_whole


def summary_of_rows(found: FoundSession, dialect: str) -> Summary:
    """Return the summary of a session in a database: that of reading all of it, without its memory.

    Raises:
        UnreadableError: the database cannot be read, or the session is gone.
    """
    rules = by_name(dialect)
    return (
        _passed(rules, files_of(found), dialect) if isinstance(rules, RowDialect) else summary_of_whole(found, dialect)
    )


def _passed(rules: RowDialect, files: SessionFiles, dialect: str) -> Summary:
    summary = Summary(dialect)
    about = Transcript(dialect, files)
    for message, is_new in rules.passed(files, about):
        summary.is_sub_agent = about.kind == "subagent"
        _add(summary, message, is_new=is_new)
        _settle(summary, about)
    _settle(summary, about)
    summary.records = about.records
    summary.is_sub_agent, summary.is_fork = about.kind == "subagent", about.kind == "fork"
    summary.parent = about.parent
    if about.title:
        summary.titles["ai-title"] = kept_title(about.title)
    if about.created is not None:
        saw_creation(summary, about.created)
    return summary


def _add(summary: Summary, message: Message, *, is_new: bool) -> None:
    summary.cwd = summary.cwd or message.cwd
    if is_new:
        add_message(summary, message)
    else:
        summary.tool_calls += len(message.calls)  # of an answer that comes in pieces nothing else is new


def _settle(summary: Summary, about: Transcript) -> None:
    """Count what could not be read so far and forget it: a database may hold nothing else."""
    if about.problems:
        summary.bad_lines += sum(p.lines for p in about.problems if p.kind not in HARMLESS)
        about.problems.clear()
