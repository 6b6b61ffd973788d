"""Calls of tools in a context: which result answers each, what they were given, what came of them, what went wrong."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, cast

from slowwave.formats import Message, Span, ToolCall, ToolResult, fields_of
from slowwave.hostile import one_line, visible
from slowwave.reading.session import command_in, line_in, output_of
from slowwave.shell.commands import (
    CHECKS,
    Outcome,
    Proven,
    cause_of,
    commands_of,
    exit_code,
    is_refused,
    printed,
    run_of,
)


class Answer(NamedTuple):
    """The call that a result belongs to."""

    at: int  # index of the entry that called
    number: int  # which of the calls of that entry
    is_double: bool = False  # an earlier result answered that call already


def answers(entries: Iterable[tuple[Sequence[str], Sequence[str]]]) -> list[list[Answer | None]]:
    """Return for every entry, given as ids of its calls and of its results, what its results answer; None: nothing.

    A result belongs to the latest entry in which a call with its id waits, since clients that count their calls anew
    in every turn use an id again; within that entry to the first such call.
    """
    waiting: defaultdict[str, list[list[Answer]]] = defaultdict(list)
    last: dict[str, Answer] = {}
    found: list[list[Answer | None]] = []
    for at, (calls, results) in enumerate(entries):
        found.append([_take(waiting[call_id], last.get(call_id)) for call_id in results])
        made: defaultdict[str, list[Answer]] = defaultdict(list)
        for number, call_id in enumerate(calls):
            last[call_id] = Answer(at, number)
            made[call_id].append(last[call_id])
        for call_id, own in made.items():
            waiting[call_id].append(own)
    return found


def _take(waiting: list[list[Answer]], last: Answer | None) -> Answer | None:
    if not waiting:
        return None if last is None else last._replace(is_double=True)
    call = waiting[-1].pop(0)
    if not waiting[-1]:
        waiting.pop()
    return call


# Calls with what came of them, in order, over all dialects: what the ledger and its proof both begin with.

Redact = Callable[[str], str]


class Exchange(NamedTuple):
    """One call and its result."""

    call: ToolCall  # the call
    result: ToolResult | None  # what it answered; None when nothing did
    sources: tuple[Span, ...]  # the records of both
    order: int  # which message called
    line: str  # the shell line, "" when the tool is no shell

    @property
    def failed(self) -> bool:
        """It is known to have failed."""
        return self.result is not None and has_failed(self.call.name, self.result)

    @property
    def code(self) -> int | None:
        """The exit code, where the client tells."""
        return None if self.result is None else code_of(self.result)

    def ran(self, redact: Redact) -> tuple[Proven, ...]:
        """Return the commands of its line, each with what it proved; none where nothing was answered or allowed."""
        output = "" if self.result is None else output_of(self.result.text)
        if not self.line or self.result is None or is_refused(output):
            return ()
        return run_of(visible(redact(self.line)), output, is_error=self.failed).commands

    def done(self, redact: Redact) -> list[Proven]:
        """Return those of its commands that did more than look."""
        return working(self.ran(redact))

    @property
    def fields(self) -> Mapping[str, object]:
        """The arguments by their names."""
        return arguments_of(self.call)


def exchanges(messages: Sequence[Message]) -> Iterator[Exchange]:
    """Yield every call of the main conversation with the first result that answers it."""
    own = [message for message in messages if message.active and not message.sidechain]
    links = answers(([c.id for c in m.calls], [r.id for r in m.results]) for m in own)
    found: dict[tuple[int, int], tuple[ToolResult, Span]] = {}
    for message, answered in zip(own, links, strict=True):
        results = ((block, span) for block, span in message.placed() if isinstance(block, ToolResult))
        for (result, span), answer in zip(results, answered, strict=True):
            if answer is not None and not answer.is_double:
                found[answer.at, answer.number] = (result, span)
    for at, message in enumerate(own):
        calls = [(block, span) for block, span in message.placed() if isinstance(block, ToolCall)]
        for number, (call, span) in enumerate(calls):
            result, answered_at = found.get((at, number), (None, span))
            yield Exchange(call, result, tuple(dict.fromkeys((span, answered_at))), at, line_of(call))


# What a call was given, by name: Codex writes the arguments of a function as JSON in a string.


def arguments_of(call: ToolCall) -> dict[str, object]:
    """Return the arguments of a call by their names; none where it was given a plain text, or nothing."""
    if isinstance(call.args, str) and call.args.lstrip().startswith("{"):
        try:
            return fields_of(json.loads(call.args))
        except (ValueError, RecursionError):
            return {}  # free text that begins like JSON
    return fields_of(call.args)


# Whether a call failed, told by what the client says of it and by the exit code in its output.

_SHELL_TEXT = re.compile(r"^apply_patch verification failed|^patch rejected", re.IGNORECASE)


def code_of(result: ToolResult) -> int | None:
    """Return the exit code that a result names, None where the client tells none."""
    return exit_code(output_of(result.text))


def has_failed(tool: str, result: ToolResult) -> bool:
    """Say whether a call failed."""
    return result.is_error or bool(code_of(result)) or (bool(tool) and _SHELL_TEXT.match(result.text) is not None)


def has_run(result: ToolResult) -> bool:
    """Say whether a command ran to an end, whatever came of it; refused and broken off calls did not."""
    return code_of(result) is not None


# The shell line of a call, and the folder that it names for it, in the spellings of every client.

# tools that the extraction does not take for shells, since it was never measured on them
_MORE_SHELLS = frozenset({"run_terminal", "shell_exec", "run_terminal_cmd", "run_shell_command", "execute_command"})
_FOLDERS = ("workdir", "cwd", "working_directory", "directory")


def line_of(call: ToolCall) -> str:
    """Return the shell line of a call, or "" when the tool is no shell."""
    fields = arguments_of(call)
    return command_in(call.name, fields) or (line_in(fields) if call.name.lower() in _MORE_SHELLS else "")


def folder_of(call: ToolCall) -> str:
    """Return the folder that a call wants its line to run in, or ""."""
    fields = arguments_of(call)
    return next((value for key in _FOLDERS if isinstance(value := fields.get(key), str)), "")


# What of a shell line is worth telling: the commands that do something, without those that only look.

GIST_CHARS = 140
_MOST_CHARS = 4_000
# fmt: off
_RUN_OTHERS = frozenset({
    "npm", "pnpm", "yarn", "bun", "npx", "uv", "poetry", "go", "cargo", "make", "mise", "just", "task", "git", "gh",
    "docker", "kubectl", "dotnet", "mvn", "gradle", "bundle", "rake", "mix", "bunx", "pdm", "hatch",
})
# fmt: on
# a here-document for a message
_MESSAGE = re.compile(r"\s+(?:--?[\w-]+[ =])?[\"']?\$\(cat\s*<<.*", re.DOTALL)
# fmt: off
_LOOKERS = frozenset({
    "cat", "ls", "head", "tail", "less", "more", "grep", "egrep", "rg", "ag", "find", "fd", "wc", "sed", "awk", "nl",
    "stat", "file", "which", "type", "tree", "du", "df", "ps", "env", "date", "whoami", "id", "uname", "sort", "uniq",
    "diff", "cut", "tr", "jq", "test", "[", "[[", "basename", "dirname", "realpath", "readlink", "man", "printenv",
    "hostname", "xargs", "bat", "pgrep", "read", "kill", "mktemp", "column", "seq", "command",
})
# fmt: on
_GIT_LOOKS = frozenset(
    {
        *("add", "status", "log", "diff", "show", "branch", "remote", "rev-parse", "blame", "ls-files", "grep"),
        *("config", "fetch"),
    }
)
_GH_LOOKS = frozenset({"list", "view", "diff", "checks", "status", "api", "search"})
_ASKS = frozenset({"--help", "--version", "-h"})


def doing(line: str) -> list[Proven]:
    """Return the commands of a line that do more than look."""
    return working(commands_of(visible(line[:_MOST_CHARS])))


def working(commands: Iterable[Proven]) -> list[Proven]:
    """Return those of some commands that do more than look."""
    return [command for command in commands if not _looks(command)]


def gist(line: str) -> str:
    """Return a shell line as one short line: what it does, or all of it when it only looks."""
    steps = doing(line)
    text = (
        " && ".join(one_line(_MESSAGE.sub("", step.text)) for step in steps) if steps else one_line(line[:_MOST_CHARS])
    )
    return text if len(text) <= GIST_CHARS else text[: GIST_CHARS - 1].rstrip() + "…"


def head_of(line: str) -> str:
    """Return the program and what it is asked for, which is the same for two tries of the same."""
    steps = doing(line) or commands_of(visible(line[:_MOST_CHARS]))
    if not steps:
        return ""
    last = steps[-1]
    arguments = [word for word in last.text.split()[1:] if not word.startswith("-")]
    if last.program in _RUN_OTHERS:
        # npm run test, uv run pytest
        number = 2 if arguments[:1] in (["run"], ["exec"], ["compose"]) else 1
    else:
        number = 0 if last.purpose in CHECKS else 1
    return " ".join((last.program, *arguments[:number]))


def _looks(step: Proven) -> bool:
    words = [word for word in step.text.split()[1:] if not word.startswith("-")]
    if step.program == "git":
        return not words or words[0] in _GIT_LOOKS
    if step.program == "gh":
        return not _GH_LOOKS.isdisjoint(words[:2])
    if not _ASKS.isdisjoint(step.text.split()):
        return True
    return step.program in _LOOKERS or (not step.program[:1].isalpha() and not step.program.startswith((".", "/")))


# The lists of tasks that agents keep through their clients, as they stood last.
#
# Whole lists (TodoWrite of Claude Code, ``todowrite`` of opencode, ``update_plan`` of Codex) replace each other; Claude
# Code 2.1 writes single tasks (TaskCreate, TaskUpdate) whose numbers its answers tell.

Status = Literal["pending", "in_progress", "completed"]
_LISTS = {"todowrite": "todos", "todo_write": "todos", "update_plan": "plan", "write_todos": "todos"}
_TEXTS = ("content", "step", "description", "subject", "title", "text")
_CREATED = re.compile(r"#(\d+)")
_STATES: dict[str, Status] = {"completed": "completed", "done": "completed", "in_progress": "in_progress"}
_GONE = frozenset({"deleted", "cancelled", "canceled"})


class Task(NamedTuple):
    """One task as it stood last."""

    text: str
    status: Status
    sources: tuple[Span, ...]


def tasks_of(every: Iterable[Exchange]) -> list[Task]:
    """Return the tasks of all lists as they stood last; of whole lists those of the last, those done earlier too."""
    listed: dict[str, Task] = {}
    numbered: dict[str, Task] = {}
    for exchange in every:
        name = exchange.call.name.lower()
        if exchange.failed:
            continue
        items = exchange.fields.get(_LISTS.get(name, ""))
        if isinstance(items, list):
            done = {key: task for key, task in listed.items() if task.status == "completed"}
            listed = done | _listed(exchange, cast("list[object]", items))
        elif name == "taskcreate":
            _create(exchange, numbered)
        elif name == "taskupdate":
            _update(exchange, numbered)
    return [*listed.values(), *numbered.values()]


def _listed(exchange: Exchange, items: list[object]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for item in items:
        fields = fields_of(item)
        text = next((t for key in _TEXTS if isinstance(t := fields.get(key), str) and t.strip()), "")
        status = fields.get("status")
        if text and status not in _GONE:
            found[text.casefold()] = Task(text, _STATES.get(str(status), "pending"), exchange.sources)
    return found


def _create(exchange: Exchange, numbered: dict[str, Task]) -> None:
    subject = exchange.fields.get("subject")
    number = _CREATED.search(exchange.result.text[:100]) if exchange.result is not None else None
    if isinstance(subject, str) and subject.strip():
        numbered[number[1] if number else f"unnumbered {len(numbered)}"] = Task(subject, "pending", exchange.sources)


def _update(exchange: Exchange, numbered: dict[str, Task]) -> None:
    number, status = str(exchange.fields.get("taskId", "")), exchange.fields.get("status")
    known = numbered.get(number)
    if status in _GONE:
        numbered.pop(number, None)
    elif known is not None and isinstance(status, str):
        state = _STATES.get(status, "pending")
        numbered[number] = known._replace(status=state, sources=(*known.sources, *exchange.sources))


# What went wrong in the messages that are summarised, and must not be lost.
#
# The line of every failure that says what went wrong, each once, and whether the same succeeded later.

SIGNATURE_CHARS = 160
_OUTPUT_CHARS = 20_000
_NUMBER = re.compile(r"\d+|0x[0-9a-f]+", re.IGNORECASE)
# how lines of lists and quotations begin, which a summary has its own of
_MARKS = "#>*-+ "
_WRAPPED = re.compile(r"</?(?:tool_use_error|error|stderr|stdout)>")


class Signature(NamedTuple):
    """What went wrong, once for all times that it did."""

    what: str  # the command or the tool and its file
    text: str  # the line of the output that says what went wrong
    times: int  # how often
    is_resolved: bool  # the same succeeded later
    order: int  # when it happened last
    sources: tuple[Span, ...]  # the records of the last time


def signatures(every: Iterable[Exchange], redact: Redact) -> list[Signature]:
    """Return every error of a session once, in the order of the last time that it happened."""
    found: dict[tuple[str, str], Signature] = {}
    heads: dict[tuple[str, str], str] = {}
    for number, exchange in enumerate(every):
        head = _head(exchange)
        outcome = _outcome(exchange, redact)
        if outcome != "failed":
            keys = [key for key, own in heads.items() if own == head]
            for key in keys if outcome == "succeeded" else ():
                found[key] = found[key]._replace(is_resolved=True)
            continue
        text = _signature(exchange, redact)
        if text:
            key = (head, _NUMBER.sub("0", text).casefold())
            times = found.pop(key).times + 1 if key in found else 1
            heads[key] = head
            found[key] = Signature(_what(exchange, redact), text, times, False, number, exchange.sources)  # noqa: FBT003  # a struct's field
    return list(found.values())


def _outcome(exchange: Exchange, redact: Redact) -> Outcome:
    """Return how ended what a call was for; of a line of which nothing proves it, by whether it printed an error."""
    if exchange.failed or exchange.result is None:
        return "failed" if exchange.failed else "unknown"
    ran = exchange.ran(redact)
    done = working(ran)
    outcome: Outcome = (done or ran)[-1].outcome if ran else "succeeded"
    if outcome == "unknown" and done and not cause_of(output_of(exchange.result.text)):
        return "succeeded"
    return outcome


def _signature(exchange: Exchange, redact: Redact) -> str:
    """Return the line that says what went wrong; without one that looks like it the first, of a shell the last."""
    text = exchange.result.text if exchange.result is not None else ""
    if not text.strip() or is_refused(text):
        return ""
    output = _WRAPPED.sub("", printed(output_of(visible(redact(text[:_OUTPUT_CHARS])))))
    line = cause_of(output)
    if not line and not exchange.line:
        line = next((ln for ln in output.split("\n") if ln.strip()), "")
    return one_line(line).lstrip(_MARKS)[:SIGNATURE_CHARS].strip()


def _head(exchange: Exchange) -> str:
    """Return what two tries of the same have in common."""
    if exchange.line:
        return head_of(exchange.line)
    path = next((str(exchange.fields[key]) for key in ("path", "file_path", "filePath") if key in exchange.fields), "")
    return f"{exchange.call.name.lower()} {path}"


def _what(exchange: Exchange, redact: Redact) -> str:
    if exchange.line:
        return gist(redact(exchange.line))
    return redact(" ".join((exchange.call.name, _head(exchange).partition(" ")[2])).strip())
