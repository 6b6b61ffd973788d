"""What was done: commands with their last outcome, errors and whether they were overcome, tasks, what was said last."""

import re
from collections.abc import Iterator, Sequence

from slowwave.compaction.exchanges import Exchange, Redact
from slowwave.compaction.failures import signatures
from slowwave.compaction.ledger.model import Entry, LedgerSettings, Part
from slowwave.compaction.ledger.wording import key_of, line_of, literal, quoted
from slowwave.compaction.shell_words import doing, gist
from slowwave.compaction.todo_lists import tasks_of
from slowwave.formats.model import Message, Text
from slowwave.letters import one_line, visible
from slowwave.shell.commands import CHECKS, Outcome

_NEXT = re.compile(
    r"^[#*\s]*(?:next steps?|remaining(?: work| tasks)?|still to do|to ?do|what'?s (?:left|next)|follow-?ups?"
    r"|open (?:items|questions|tasks))\b[^\n]{0,40}$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+(?:\[[ x~]\]\s+)?(?P<text>\S.*)$")
_MOST_ITEMS = 10
_COMMITTED = re.compile(
    r"^\[(?P<branch>[^\]\s]+)(?: \([^)]*\))? (?P<commit>[0-9a-f]{7,40})\] (?P<subject>.+)$", re.MULTILINE
)
_ERROR_CHARS = 160


def errors(every: Sequence[Exchange], redact: Redact) -> Iterator[Entry]:
    """Yield every error signature; none is ever dropped."""
    for one in signatures(every, redact):
        times = f" ({one.times} times)" if one.times > 1 else ""
        what = literal(one.what, _ERROR_CHARS)
        state = "resolved: it succeeded later" if one.is_resolved else "not resolved"
        text = f"error in {what}{times}: {quoted(one.text, _ERROR_CHARS + 20)} - {state}"
        part: Part = "context" if one.is_resolved else "blocked"
        yield Entry(part, "error", text, error_key(text), 90, one.sources, stays=True)


def error_key(text: str) -> str:
    """Return what is the same for two lines about one error, whatever became of it."""
    return key_of(re.sub(r" \(\d+ times\)", "", text).rpartition(" - ")[0], whole=True)


def commands(every: Sequence[Exchange], redact: Redact) -> Iterator[Entry]:
    """Yield every command that does something once, with its last outcome and how often it ran.

    Where it is not told which of several commands failed, the line stands as a whole, until each of them has succeeded.
    """
    runs: dict[str, list[tuple[Exchange, Outcome]]] = {}
    parts: dict[str, list[str]] = {}
    for exchange in every:
        outcomes = {gist(step.text): step.outcome for step in exchange.done(redact)}
        if exchange.failed and len(outcomes) > 1 and "failed" not in outcomes.values():
            whole = gist(redact(exchange.line))
            parts[whole] = list(outcomes)
            outcomes: dict[str, Outcome] = {whole: "failed"}
        for text, outcome in outcomes.items():
            runs[text] = [*runs.pop(text, []), (exchange, outcome)]
    order = {text: at for at, text in enumerate(runs)}
    for at, (text, own) in enumerate(runs.items()):
        rest = [part for part in parts.get(text, ()) if order.get(part, -1) < at or runs[part][-1][1] != "succeeded"]
        if own[-1][1] != "failed" or text not in parts or rest:
            yield _command(text, own, 8 * at // len(runs))


def command_key(line: str) -> str:
    """Return what is the same for two lines about one command, whatever came of it."""
    return key_of(f"ran {line}", whole=True)


def _command(line: str, runs: Sequence[tuple[Exchange, Outcome]], recency: int) -> Entry:
    last, state = runs[-1]
    failed = sum(outcome == "failed" for _, outcome in runs)
    has_failed = state == "failed"
    # of what nothing proves how it ended the line says no more than that it ran
    outcome = {"failed": f"failed (exit {last.code})" if last.code else "failed", "succeeded": "ok"}.get(state, "ran")
    often = f", {len(runs)} runs" + (f", {failed} failed" if failed else "") if len(runs) > 1 else ""
    purpose = next((step.purpose for step in doing(line) if step.purpose in CHECKS), "")
    value = 70 if has_failed else 64 if purpose in ("test", "typecheck", "build", "lint") else 50
    part: Part = "done" if not has_failed else "blocked" if purpose else "context"
    text = f"{literal(line, 160)}: {outcome}{often}"
    return Entry(part, "command", text, command_key(line), value + recency, last.sources)


def commits(every: Sequence[Exchange], redact: Redact) -> Iterator[Entry]:
    """Yield the commits that were made, as git told them."""
    for exchange in every:
        if "commit" in exchange.line and exchange.result is not None and not exchange.failed:
            for made in _COMMITTED.finditer(exchange.result.text[-8_000:]):
                text = f"commit {made['commit']} on {made['branch']}: {line_of(redact(made['subject']), 120)}"
                yield Entry("done", "command", text, key_of(text), 74, exchange.sources)


def tasks(every: Sequence[Exchange], redact: Redact, settings: LedgerSettings) -> Iterator[Entry]:
    """Yield the tasks of the agent's lists where they stood last."""
    for task in tasks_of(every):
        text = line_of(redact(task.text), settings.line_chars)
        match task.status:
            case "completed":
                yield Entry("done", "task", text, key_of(text), 60, task.sources)
            case "in_progress":
                yield Entry("in_progress", "task", text, key_of(text), 96, task.sources)
            case "pending":
                yield Entry("next", "task", text, key_of(text), 95, task.sources)


def said_last(messages: Sequence[Message], redact: Redact, settings: LedgerSettings) -> Iterator[Entry]:
    """Yield where the agent said that it stands, and the next steps that it named last."""
    spoken = [
        (visible(redact(block.text)), span)
        for message in messages
        if message.role == "assistant" and message.origin != "summary" and message.active and not message.sidechain
        for block, span in message.placed()
        if isinstance(block, Text) and block.text.strip()
    ]
    if spoken:
        text, span = spoken[-1]
        line = line_of(one_line(text), settings.line_chars + 100)
        yield Entry("in_progress", "said", f"the agent said last: {line}", "said last", 84, (span,))
    for text, span in reversed(spoken):
        steps = _steps(text)
        if steps:
            for step in steps:
                line = line_of(step, settings.line_chars)
                yield Entry("next", "task", line, key_of(line), 76, (span,))
            return


def _steps(text: str) -> list[str]:
    """Return the list behind a heading for next steps."""
    lines = text.split("\n")
    begin = next((at for at, line in enumerate(lines) if _NEXT.match(line.rstrip(": *"))), None)
    found: list[str] = []
    for line in lines[begin + 1 :] if begin is not None else []:
        item = _ITEM.match(line)
        if item is not None:
            found.append(item["text"])
        elif line.strip() and (found or line.lstrip().startswith("#")):
            break
    return found[:_MOST_ITEMS]
