"""A model behind a program: the person's own agent, or anything that reads a question and prints an answer.

Its form can only be asked for: the schema stands in the question. It runs in an empty temporary folder whose name tells
whose session it is, for programs that keep their sessions whatever they are told.
"""

import json
import os
import random
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from slowwave.files import ASKING, home_folder
from slowwave.models.base import Ask, Form, Meter
from slowwave.models.client import Completion, Fault, LadderModel, mapping_of, with_schema
from slowwave.settings import ModelSettings

_VERSION_LIMIT = timedelta(seconds=20)


class Ended(NamedTuple):
    """A program that came to its end."""

    code: int  # its exit code; negative when a signal ended it
    out: bytes  # what it printed
    err: bytes  # what it printed to its standard error


class CommandModel(LadderModel):
    """A language model; see :class:`slowwave.models.base.LanguageModel`.

    ``settings``: the command, limits. ``environ``: the environment that the program gets: its login may live there.
    ``meter``: the account of the run. ``sleep``: waits between attempts. ``jitter``: a random number from 0 to 1, so
    that many attempts do not come at once.
    """

    forms: Sequence[Form] = ("json", "lines")
    is_form_held = False

    def __init__(
        self,
        settings: ModelSettings,
        environ: Mapping[str, str],
        meter: Meter,
        *,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(settings, meter, sleep=sleep, jitter=jitter)
        self.where = Path(settings.command[0]).name
        self.remedy = "check model.command and the program's own login"
        self._environ = environ
        self._agent = agent_of(settings.command[0])
        self._version: str | None = None

    def version(self) -> str:
        """Return the program and its version as it tells it; of a program that nobody knows the name alone."""
        with self._lock:
            if self._version is None:
                self._version = f"{self.where} {self._asked_version()}".strip()
                self._meter.note_program(self._version)
            return self._version

    def _asked_version(self) -> str:
        if not self._agent.has_version:
            return ""
        try:
            ended = self._run([self._program(), "--version"], "", _VERSION_LIMIT)
        except Fault:
            return ""  # the question itself will tell what is wrong
        return last_line(ended.out) or last_line(ended.err) if ended.code == 0 else ""

    def _request(self, ask: Ask, form: Form) -> Mapping[str, Any]:
        system = with_schema(ask.system, ask.schema) if form == "json" else f"{ask.system}\n\n{ask.line_form}"
        return {"question": f"{system}\n\n{ask.user}\n"}

    def _texts(self, request: Mapping[str, Any]) -> Sequence[str]:
        return [request["question"]]

    def _send(self, request: Mapping[str, Any]) -> Completion:
        self.version()
        own = [self._program(), *self._settings.command[1:]]
        command = self._agent.arguments(own, self._settings.name, self._environ)
        ended = self._run(command, request["question"], self._settings.timeout)
        said = self._agent.read(ended.out)
        if ended.code:
            why = last_line(ended.err) or last_line(ended.out) or "it printed nothing"
            raise Fault("exit", f"ended with exit code {ended.code}: {why}")
        if not said.text.strip():
            raise Fault("exit", f"printed no answer: {last_line(ended.err) or 'it gave no reason'}")
        return said

    def _program(self) -> str:
        """Return the path of the program."""
        named = self._settings.command[0]
        found = found_program(named, self._environ)
        if found is None:
            raise Fault("missing", f"there is no program {named!r} that can be run")
        return found

    def _run(self, command: Sequence[str], question: str, limit: timedelta) -> Ended:
        with tempfile.TemporaryDirectory(prefix=ASKING, ignore_cleanup_errors=True) as folder:
            given = question.encode("utf-8", "replace")
            return run(command, given, Path(folder), self._environ, limit, dropped=self._agent.dropped)


# Runs a program once: the question on its standard input, its answer from its standard output, within a time limit.
#
# The program gets a session of its own, so that it can be ended with all that it has started. What it prints is read as
# it comes: a program that prints without end is left in time.

MOST_BYTES = 8 << 20
_PIECE = 1 << 16
# so often it is asked whether the program has ended while something else holds its output open
_LOOK_S = 0.2
# to end by itself, before it is killed
_GRACE_S = 2.0


class _Printed:
    """What comes out of one pipe; lines that begin as told are dropped."""

    def __init__(self, pipe: IO[bytes], dropped: bytes) -> None:
        self.pipe = pipe
        self.kept = bytearray()
        self._dropped = dropped
        self._line = bytearray()

    def take(self) -> bool:
        """Read what there is; return False at the end."""
        piece = os.read(self.pipe.fileno(), _PIECE)
        *whole, rest = piece.split(b"\n") if self._dropped else [piece]
        for line in whole:
            self._line += line + b"\n"
            self._keep()
        self._line += rest
        if not (self._dropped and piece):
            self._keep()
        if len(self.kept) + len(self._line) > MOST_BYTES:
            raise Fault("endless", f"it printed more than {MOST_BYTES >> 20} MiB")
        return bool(piece)

    def _keep(self) -> None:
        if not (self._dropped and self._line.startswith(self._dropped)):
            self.kept += self._line
        self._line.clear()


def found_program(named: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of a program, None where there is none that can be run."""
    found = shutil.which(Path(named).expanduser(), path=environ.get("PATH"))
    return found and str(Path(found).absolute())


def run(
    command: Sequence[str],
    question: bytes,
    folder: Path,
    environ: Mapping[str, str],
    limit: timedelta,
    *,
    dropped: bytes = b"",
) -> Ended:
    """Run a program to its end.

    Args:
        command: the program's path and its arguments.
        question: what it reads.
        folder: where it runs.
        environ: its environment.
        limit: how long it may take; then it is ended with all that it has started.
        dropped: lines of its output that begin so are of no use and are not kept.

    Raises Fault: it cannot be started, takes too long, or prints too much.
    """
    with tempfile.TemporaryFile() as given:
        given.write(question)
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the command is the person's own setting
                command, cwd=folder, env=dict(environ), stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise Fault("missing", f"cannot be started: {reason}") from error
    try:
        return _followed(process, limit, dropped)
    finally:
        _end(process)


def _followed(process: "subprocess.Popen[bytes]", limit: timedelta, dropped: bytes) -> Ended:
    """Read until the program has ended and nothing more can come."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _Printed(process.stdout, dropped), _Printed(process.stderr, b"")
    until = time.monotonic() + limit.total_seconds()
    with selectors.DefaultSelector() as waiting:
        for printed in (out, err):
            waiting.register(printed.pipe, selectors.EVENT_READ, printed)
        while waiting.get_map():
            ready = waiting.select(min(_LOOK_S, max(0.0, until - time.monotonic())))
            for key, _ in ready:
                if not key.data.take():
                    waiting.unregister(key.fileobj)
            if not ready and process.poll() is not None:
                break  # what still holds the pipes is no part of the answer
            if time.monotonic() >= until:
                raise Fault("timeout", f"no whole answer within {limit}")
    try:
        code = process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise Fault("timeout", f"it did not end within {limit}") from error
    return Ended(code, bytes(out.kept), bytes(err.kept))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and all that it has started, also what is left of one that ended by itself."""
    with process:
        if process.poll() is None:
            _signal(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)
        _signal(process.pid, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return  # nobody is left in it


# What a program printed, read as the answer of a model: of known agents with what it cost, of any other as plain text.
#
# An agent that could not answer says so in its own form; where it names a server's status, that counts as the server's.

_MOST_MESSAGE = 300
# how the agents name the status of the server that refused them
_STATUS = re.compile(r"\A(?:unexpected status |API Error: )?([45]\d\d)\b")


def plain(out: bytes) -> Completion:
    """Return the answer of any program: all that it printed."""
    return Completion(out.decode("utf-8", "replace"), "stop", "", None, None, "")


def of_claude(out: bytes) -> Completion:
    """Return the answer of ``claude --output-format json``. Raises Fault: it says that there is none."""
    said = next((one for one in _objects(out) if one.get("type") == "result"), None)
    if said is None:
        return plain(out)
    if said.get("is_error") or not isinstance(said.get("result"), str):
        status = said.get("api_error_status")
        raise refused(said.get("result") or said.get("subtype"), status if isinstance(status, int) else 0)
    usage = mapping_of(said.get("usage"))
    # what was read from a cache was read all the same
    parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    models = list(mapping_of(said.get("modelUsage")))
    return Completion(
        str(said["result"]), "length" if said.get("stop_reason") == "max_tokens" else "stop", "",
        _sum(usage, *parts), _sum(usage, "output_tokens"), models[0] if len(models) == 1 else "",
        _number(said.get("total_cost_usd")),
    )  # fmt: skip


def of_codex(out: bytes) -> Completion:
    """Return the answer of ``codex exec --json``: its last message. Raises Fault: it says that there is none."""
    text: str | None = None
    usage: Mapping[str, object] = {}
    is_codex = False
    for event in _objects(out):
        kind, item = event.get("type"), mapping_of(event.get("item"))
        is_codex = is_codex or kind == "thread.started"
        if kind == "item.completed" and item.get("type") == "agent_message":
            text = str(item.get("text") or "")
        elif kind == "turn.completed":
            usage = mapping_of(event.get("usage"))
        elif kind == "turn.failed":
            raise refused(mapping_of(event.get("error")).get("message"))
    if text is None:
        return Completion("", "stop", "", None, None, "") if is_codex else plain(out)
    # cached and reasoning tokens are part of these two
    return Completion(text, "stop", "", _sum(usage, "input_tokens"), _sum(usage, "output_tokens"), "")


def of_pi(out: bytes) -> Completion:
    """Return the answer of ``pi --mode json``: its last message, and what all of them cost.

    Raises Fault: it says that there is none.
    """
    ended = [mapping_of(event.get("message")) for event in _objects(out) if event.get("type") == "message_end"]
    spoken = [message for message in ended if message.get("role") == "assistant"]
    if not spoken:
        return plain(out)
    last = spoken[-1]
    if last.get("stopReason") in ("error", "aborted"):
        raise refused(last.get("errorMessage") or last.get("stopReason"))
    usages = [mapping_of(message.get("usage")) for message in spoken]
    asked = [_sum(usage, "input", "cacheRead", "cacheWrite") for usage in usages]
    answered = [_sum(usage, "output") for usage in usages]
    costs = [_number(mapping_of(usage.get("cost")).get("total")) or 0.0 for usage in usages]
    content = last.get("content")
    parts = [mapping_of(part) for part in cast("list[object]", content)] if isinstance(content, list) else []
    return Completion(
        "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text"),
        "length" if last.get("stopReason") == "length" else "stop", "",
        sum(n or 0 for n in asked) or None, sum(n or 0 for n in answered) or None, str(last.get("model") or ""),
        # without a price list it says nought
        sum(costs) or None,
    )  # fmt: skip


def refused(message: object, status: int = 0) -> Fault:
    """Return what an agent says in place of an answer."""
    text = told(str(message or "it gave no reason"))
    named = _STATUS.match(text)
    status = status or (int(named[1]) if named else 0)
    return Fault("status", text, status) if status else Fault("exit", text)


def told(text: str) -> str:
    """Return words of a program in one line without control characters."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())[:_MOST_MESSAGE]


def last_line(data: bytes) -> str:
    """Return the last line of a program's output that says anything."""
    lines = (told(line) for line in reversed(data.decode("utf-8", "replace").splitlines()))
    return next((line for line in lines if line), "")


def _objects(out: bytes) -> Iterator[Mapping[str, object]]:
    """Yield the JSON objects of an output, one a line; a whole list counts as its members."""
    for line in out.splitlines():
        try:
            found: object = json.loads(line) if line.lstrip()[:1] in (b"{", b"[") else None
        except ValueError:
            continue
        for one in cast("list[object]", found) if isinstance(found, list) else [found]:
            if isinstance(one, dict):
                yield mapping_of(cast("object", one))


def _sum(usage: Mapping[str, object], *names: str) -> int | None:
    """Return the sum of counts, None where none of them is told."""
    found = [value for value in map(usage.get, names) if isinstance(value, int) and value >= 0]
    return sum(found) if found else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# What each known agent needs so that it answers one question and does nothing else.
#
# It must not use tools, must not write, must leave no session behind that would be read as a person's, and must not
# load the person's own instructions, hooks and servers of tools where it has a switch for that. Its login stays where
# it is: an agent that refreshes it elsewhere would log its person out.

_SYSTEM = "You answer the one question that you are given, in the form that it asks for, and do nothing else."
# Codex: whatever brings tools along, starts programs or keeps notes
_CODEX_FEATURES = (
    "apps", "browser_use", "computer_use", "goals", "hooks", "image_generation", "memories", "multi_agent", "plugins",
    "shell_tool", "sleep_tool", "tool_suggest", "unified_exec", "view_image",
)  # fmt: skip
_CODEX_SETTINGS = ("web_search=disabled", "notify=[]", "project_doc_max_bytes=0")
# names of servers of tools, as Codex allows them
_SERVER = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Agent:
    """How a program is run and read."""

    # makes the whole command of the person's own, the model's name and the environment
    arguments: Callable[[Sequence[str], str, Mapping[str, str]], list[str]]
    read: Callable[[bytes], Completion]  # makes an answer of what it printed
    dropped: bytes = b""  # lines that begin so are of no use
    has_version: bool = True  # it can be asked for its version without harm


def agent_of(program: str) -> Agent:
    """Return what is known of a program, by its file's name."""
    return _AGENTS.get(Path(program).stem, _ANY)


def _any(command: Sequence[str], _name: str, _environ: Mapping[str, str]) -> list[str]:
    return list(command)


def _claude(command: Sequence[str], name: str, _environ: Mapping[str, str]) -> list[str]:
    given = _without(command, ("--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"))
    given = _without(given, ("--output-format", "--permission-mode"), has_value=True)
    given += _if_absent(given, ("-p", "--print"), ["-p"])
    given += _if_absent(given, ("--system-prompt", "--system-prompt-file"), ["--system-prompt", _SYSTEM])
    given += _model(given, ("--model",), name)
    # the last one counts where one is given twice
    return [
        *given, "--output-format", "json", "--no-session-persistence", "--safe-mode", "--strict-mcp-config",
        "--disable-slash-commands", "--tools=",
    ]  # fmt: skip


def _codex(command: Sequence[str], name: str, environ: Mapping[str, str]) -> list[str]:
    given = list(command) if "exec" in command or "e" in command else [command[0], "exec", *command[1:]]
    own = ("--json", "--ephemeral", "--skip-git-repo-check", "--ignore-rules")
    given = _without(
        given, (*own, "--dangerously-bypass-approvals-and-sandbox", "--yolo", "--full-auto", "--approve-for-me")
    )
    given = _without(given, ("--sandbox", "-s"), has_value=True)
    given += _model(given, ("--model", "-m"), name)
    settings = [*_CODEX_SETTINGS, *(f"features.{feature}=false" for feature in _CODEX_FEATURES)]
    settings += [f"mcp_servers.{server}.enabled=false" for server in _codex_servers(given, environ)]
    return [*given, *own, "--sandbox", "read-only", *(part for one in settings for part in ("-c", one))]


def _codex_servers(command: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return the servers of tools in Codex's settings and the chosen profile, which are turned off one by one."""
    home = Path(environ.get("CODEX_HOME") or home_folder(environ) / ".codex")
    names = ["config.toml", *(f"{profile}.config.toml" for profile in _values(command, ("--profile", "-p")))]
    found: dict[str, None] = {}
    for name in names:
        try:
            servers: object = tomllib.loads((home / name).read_text(encoding="utf-8")).get("mcp_servers")
        except (OSError, ValueError):
            continue  # Codex says itself what is wrong with it
        found |= dict.fromkeys(mapping_of(servers))
    return [server for server in found if _SERVER.fullmatch(server)]


def _pi(command: Sequence[str], name: str, _environ: Mapping[str, str]) -> list[str]:
    given = _without(command, ("--mode", "--tools", "-t", "--session", "--session-dir"), has_value=True)
    given += _if_absent(given, ("-p", "--print"), ["-p"])
    given += _if_absent(given, ("--system-prompt",), ["--system-prompt", _SYSTEM])
    given += _model(given, ("--model",), name)
    return [
        *given, "--mode", "json", "--no-session", "--no-tools", "--no-extensions", "--no-skills",
        "--no-prompt-templates", "--no-context-files",
    ]  # fmt: skip


def _model(command: Sequence[str], options: Sequence[str], name: str) -> list[str]:
    return _if_absent(command, options, [options[0], name]) if name else []


def _if_absent(command: Sequence[str], options: Sequence[str], added: list[str]) -> list[str]:
    is_there = any(part == option or part.startswith(f"{option}=") for part in command for option in options)
    return [] if is_there else added


def _values(command: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return what a command says for an option: ``--option value`` or ``--option=value``."""
    beside = [value for option, value in pairwise(command) if option in options]
    joined = [part.partition("=") for part in command]
    return beside + [value for option, equals, value in joined if equals and option in options]


def _without(command: Sequence[str], options: Sequence[str], *, has_value: bool = False) -> list[str]:
    """Return a command without some options, and without their values where they have any."""
    kept: list[str] = []
    parts = iter(command)
    for part in parts:
        if part in options:
            if has_value:
                next(parts, None)
        elif not (has_value and part.partition("=")[0] in options):
            kept.append(part)
    return kept


_ANY = Agent(_any, plain, has_version=False)
_AGENTS = {
    "claude": Agent(_claude, of_claude),
    "codex": Agent(_codex, of_codex),
    # every piece of an answer repeats all that came before it
    "pi": Agent(_pi, of_pi, dropped=b'{"type":"message_update"'),
}
