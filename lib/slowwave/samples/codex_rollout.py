"""The lines around the items of a rollout, as client 0.169 writes them: header, turns, what was shown on the screen."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from slowwave.formats.codex import encode
from slowwave.formats.times import millisecond_time
from slowwave.samples.identity import Identity, Watch

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
