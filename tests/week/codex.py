"""A script as Codex would have left it: numbered lines, everything said once for the model and once for the screen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson

from slowwave.formats import Text, Thinking, ToolCall, millisecond_time
from slowwave.formats.codex import write as encode
from tests.week.script import (
    Answer,
    Call,
    Delegation,
    Identity,
    SampleFile,
    Say,
    Script,
    Watch,
    edit_texts,
    turns,
)

CLIENT = "codex"

# The lines around the items of a rollout, as client 0.169 writes them: header, turns, what was shown on the screen.

Json = dict[str, object]
VERSION, MODEL, PROVIDER = "0.169.0", "gpt-5-codex", "openai"
_WINDOW = 190_000


@dataclass
class Rollout:
    """One rollout file; every line has a number that is one more than that of the line before."""

    cwd: str
    ids: Identity
    watch: Watch
    thread: str
    lines: list[bytes] = field(default_factory=list[bytes])
    turn: str = ""
    turn_began_ms: int = 0
    last_answer: str = ""

    def uuid(self) -> str:
        """Return an id of this moment."""
        return self.ids.uuid7(self.watch.at)

    def item(self, item: Mapping[str, object]) -> None:
        """Append an item of the conversation."""
        at, ordinal = self.watch.at, len(self.lines)
        self.lines.append(encode.item_line(item, form="paginated", ordinal=ordinal, at=at))

    def shown(self, item: Json) -> None:
        """Append what the screen showed of an item."""
        ms = self._milliseconds()
        payload: Json = {"type": "item_completed", "thread_id": self.thread, "turn_id": self.turn, "item": item}
        self._add("event_msg", payload | {"started_at_ms": ms, "completed_at_ms": ms})

    def open(self) -> None:
        """Append the header."""
        payload: Json = {
            "account_scoped": True,
            "session_id": self.thread,
            "id": self.thread,
            "timestamp": millisecond_time(self.watch.at),
            "cwd": self.cwd,
            "runtime_workspace_roots": [self.cwd],
            "originator": "codex_cli_rs",
            "cli_version": VERSION,
            "source": "cli",
            "thread_source": "user",
            "model_provider": PROVIDER,
            "base_instructions": {"text": "You are a coding agent that works in the user's terminal."},
            "history_mode": "paginated",
            "context_window": {"window_id": self.uuid()},
        }
        self._add("session_meta", payload)

    def start_turn(self) -> None:
        """Append what stands before a prompt; before the first one also what the client tells the model."""
        is_first = len(self.lines) == 1
        self.turn = self.uuid()
        self.turn_began_ms = self._milliseconds()
        started: Json = {"type": "task_started", "turn_id": self.turn, "root_turn_id": self.turn}
        started |= {"started_at": self.turn_began_ms // 1000, "model_context_window": _WINDOW}
        self._add("event_msg", started | {"collaboration_mode_kind": "default"})
        if is_first:
            rules = "<permissions instructions>\nCommands run without asking.\n</permissions instructions>"
            for role, text in (("developer", rules), ("user", self._environment())):
                for item in encode.message_items(role, text, uuid=self.uuid()):
                    self.item(item)
            self._add("world_state", {"full": True, "state": {}})
        context: Json = {"turn_id": self.turn, "root_turn_id": self.turn, "cwd": self.cwd}
        self._add("turn_context", context | {"approval_policy": "never", "model": MODEL, "summary": "auto"})

    def end_turn(self) -> None:
        """Append the end of the turn that is running, if any."""
        if not self.turn:
            return
        now = self._milliseconds()
        payload: Json = {"type": "task_complete", "root_turn_id": self.turn, "turn_id": self.turn}
        payload |= {"last_agent_message": self.last_answer or None, "started_at": self.turn_began_ms // 1000}
        payload |= {"completed_at": now // 1000, "duration_ms": now - self.turn_began_ms}
        self._add("event_msg", payload)
        self.turn = self.last_answer = ""

    def _environment(self) -> str:
        day = millisecond_time(self.watch.at)[:10]
        place = f"  <cwd>{self.cwd}</cwd>\n  <shell>bash</shell>\n  <current_date>{day}</current_date>"
        return f"<environment_context>\n{place}\n  <timezone>Etc/UTC</timezone>\n</environment_context>"

    def _add(self, kind: str, payload: Json) -> None:
        head: Json = {"timestamp": millisecond_time(self.watch.at), "ordinal": len(self.lines), "type": kind}
        self.lines.append(orjson.dumps(head | {"payload": payload}, option=orjson.OPT_APPEND_NEWLINE))

    def _milliseconds(self) -> int:
        return int(self.watch.at.timestamp() * 1000)


# Tool calls of a script as Codex makes them: everything is a command in the shell.


def command_of(call: Call) -> str:
    """Return the command that does what the call asks for."""
    match call.tool:
        case "Bash":
            return call.argument
        case "Read":
            return f"cat {call.argument}"
        case "Grep":
            return f"rg -n '{call.argument}'"
        case "Edit":
            old, new = edit_texts(call)
            lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
            return _patch(f"*** Update File: {call.argument}\n@@", lines)
        case "Write":
            return _patch(f"*** Add File: {call.argument}", [f"+{line}" for line in call.body])


def output_of(call: Call) -> str:
    """Return what the command printed."""
    match call.tool:
        case "Edit":
            return f"Success. Updated the following files:\nM {call.argument}\n"
        case "Write":
            return f"Success. Updated the following files:\nA {call.argument}\n"
        case _:
            return "\n".join(call.body) + "\n" if call.body else ""


def shown_output(call: Call, chunk: str) -> str:
    """Return what the model saw of it."""
    output = output_of(call)
    head = f"Chunk ID: {chunk}\nWall time: 0.4000 seconds\nProcess exited with code {int(call.failed)}"
    return f"{head}\nOriginal token count: {len(output) // 4}\nOutput:\n{output}"


def _patch(head: str, lines: list[str]) -> str:
    body = "\n".join(lines)
    return f"apply_patch <<'PATCH'\n*** Begin Patch\n{head}\n{body}\n*** End Patch\nPATCH"


# The whole script.

NOTHING: list[object] = []


def write_codex(script: Script, began: datetime, cwd: str) -> SampleFile:
    """Return the rollout of the session."""
    ids = Identity(script.name)
    rollout = Rollout(cwd, ids, Watch(began, ids), ids.uuid7(began))
    rollout.open()
    for turn in turns(script.steps):
        if isinstance(turn, Answer):
            _answer(rollout, turn)
        else:
            _say(rollout, turn)
    rollout.end_turn()
    day, stamp = (began.astimezone(UTC).strftime(form) for form in ("%Y/%m/%d", "%Y-%m-%dT%H-%M-%S"))
    path = f".codex/sessions/{day}/rollout-{stamp}-{rollout.thread}.jsonl"
    return SampleFile(path, b"".join(rollout.lines), rollout.watch.at)


def _say(rollout: Rollout, say: Say) -> None:
    match say.kind:
        case "user":
            rollout.end_turn()
            rollout.watch.seconds(35, 190)
            rollout.start_turn()
            for item in encode.message_items("user", say.text, uuid=rollout.uuid()):
                rollout.item(item)
            said: Json = {"type": "text", "text": say.text, "text_elements": NOTHING}
            rollout.shown({"type": "UserMessage", "id": rollout.uuid(), "content": [said]})
        case "pause":
            rollout.watch.minutes(int(say.text))
        case _:
            raise ValueError(f"Codex has no {say.kind!r}")


def _answer(rollout: Rollout, answer: Answer) -> None:
    rollout.watch.seconds(3, 14)
    calls = {rollout.ids.token("call_", 24): call for call in answer.calls if isinstance(call, Call)}
    if any(isinstance(call, Delegation) for call in answer.calls):
        raise ValueError("sub-agents of Codex have rollouts of their own")
    blocks: list[Text | Thinking | ToolCall] = []
    if answer.thinking:
        shown: Json = {"type": "Reasoning", "id": f"rs_{rollout.uuid()}", "summary_text": [answer.thinking]}
        rollout.shown(shown | {"raw_content": NOTHING})
        blocks.append(Thinking(answer.thinking))
    if answer.text:
        rollout.last_answer = answer.text
        said = [{"type": "Text", "text": answer.text}]
        rollout.shown({"type": "AgentMessage", "id": f"msg_{rollout.uuid()}", "content": said})
        blocks.append(Text(answer.text))
    for call_id, call in calls.items():
        blocks.append(ToolCall(call_id, "exec_command", {"cmd": command_of(call)}))
    for item in encode.message_items("assistant", blocks, uuid=rollout.uuid()):
        rollout.item(item)
    for call_id, call in calls.items():
        rollout.watch.seconds(1, 9)
        _run(rollout, call_id, call)


def _run(rollout: Rollout, call_id: str, call: Call) -> None:
    command, code = command_of(call), int(call.failed)
    rollout.shown(
        {
            "type": "CommandExecution",
            "id": call_id,
            "process_id": str(rollout.ids.between(2_000, 60_000)),
            "command": ["/bin/bash", "-lc", command],
            "cwd": f"file://{rollout.cwd}",
            "parsed_cmd": [{"type": "unknown", "cmd": command}],
            "source": "unified_exec_startup",
            "status": "failed" if call.failed else "completed",
            "aggregated_output": output_of(call),
            "exit_code": code,
            "duration": {"secs": 0, "nanos": rollout.ids.between(3_000_000, 900_000_000)},
        }
    )
    chunk = rollout.ids.token("", 6)
    rollout.item(encode.output_item(call_id, shown_output(call, chunk), uuid=rollout.uuid()))
