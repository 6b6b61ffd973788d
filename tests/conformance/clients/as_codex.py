"""Drawn turns as Codex writes them: numbered lines; what is left behind is taken back by a rollback."""

import json
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from slowwave.formats import millisecond_time, parse_time
from tests.conformance.clients.drawn import PIXEL, Step, Turn, fresh

Record = dict[str, Any]
_PICTURE = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}
_ABORTED = "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>"


def records_of(turns: Sequence[Turn], before: Sequence[Mapping[str, Any]], draw: random.Random) -> list[Record]:
    """Return the lines of turns that follow others."""
    writer = _Writer(before, draw)
    for turn in turns:
        writer.turn(turn)
    return writer.made


def rolled_back(before: Sequence[Mapping[str, Any]]) -> Record:
    """Return the line that takes the last turn back."""
    writer = _Writer(before, random.Random(0))
    writer.roll_back()
    return writer.made[0]


class _Writer:
    def __init__(self, before: Sequence[Mapping[str, Any]], draw: random.Random) -> None:
        self.made: list[Record] = []
        self._draw = draw
        self._ordinal = int(before[-1]["ordinal"])
        self._context = next(dict(r["payload"]) for r in reversed(before) if r["type"] == "turn_context")
        times = [parse_time(r["timestamp"]) for r in before]
        self._at = max(at for at in times if at is not None)

    def turn(self, turn: Turn) -> None:
        if turn.goes_back:
            self.roll_back()
        made = fresh(self._draw)
        self._add("event_msg", {"type": "task_started", "turn_id": made, "model_context_window": 200_000})
        model = {"model": "fake-2"} if turn.another_model else {}
        self._add("turn_context", self._context | {"turn_id": made} | model)
        words = [{"type": "input_text", "text": turn.prompt}]
        self._message("user", [*words, _PICTURE] if turn.with_picture else words)
        for step in turn.steps:
            self._step(step)
        if turn.queued:
            self._message("user", [{"type": "input_text", "text": turn.queued}])
        if turn.killed:
            return
        if turn.answer:
            self._message("assistant", [{"type": "output_text", "text": turn.answer}])
            self._add("event_msg", {"type": "task_complete", "turn_id": made, "last_agent_message": None})
        else:
            self._message("user", [{"type": "input_text", "text": _ABORTED}])
            self._add("event_msg", {"type": "turn_aborted", "turn_id": made, "reason": "interrupted"})

    def roll_back(self) -> None:
        self._add("event_msg", {"type": "thread_rolled_back", "num_turns": 1})

    def _step(self, step: Step) -> None:
        self._odd(step.oddity)
        if step.thought:
            parts = [{"type": "summary_text", "text": step.thought}]
            self._item("rs", "reasoning", summary=parts, content=None, encrypted_content="gAAAA")
        if step.said:
            self._message("assistant", [{"type": "output_text", "text": step.said}])
        for call in step.calls:
            if call.writes:
                patch = f"*** Begin Patch\n*** Update File: {call.path}\n@@\n-a\n+b\n*** End Patch"
                self._item("ctc", "custom_tool_call", call_id=f"call_{call.id}", name="apply_patch", input=patch)
            else:
                given = json.dumps({"cmd": f"cat {call.path}"})
                self._item("fc", "function_call", call_id=f"call_{call.id}", name="exec_command", arguments=given)
        for call in step.results:
            parts = [{"type": "input_text", "text": call.output}, _PICTURE]
            kind = "custom_tool_call_output" if call.writes else "function_call_output"
            shown = parts if call.shows_picture else call.output
            self._item("fco", kind, call_id=f"call_{call.id}", output=shown)

    def _odd(self, oddity: str) -> None:
        match oddity:
            case "note":
                self._add("event_msg", {"type": "warning", "message": "a note"})
            case "failed answer":
                self._add("event_msg", {"type": "stream_error", "message": "Reconnecting... 1/5"})
            case "blank answer":
                blank = [{"type": "output_text", "text": ""}] * self._draw.randrange(2)
                self._message("assistant", blank)
            case "thought alone" | "hidden thought":
                sealed = "gAAAA" if oddity == "thought alone" else None
                self._item("rs", "reasoning", summary=[], content=None, encrypted_content=sealed)
            case "command":
                self._message("user", [{"type": "input_text", "text": "<user_shell_command>ls</user_shell_command>"}])
            case "meta":
                self._message("developer", [{"type": "input_text", "text": "You may write everywhere."}])
            case "search":
                action = {"type": "search", "query": "how"}
                self._item("ws", "web_search_call", status="completed", action=action)
            case "snapshot":
                commit: Record = {"id": "0" * 40, "parent": None}
                self._item("gs", "ghost_snapshot", ghost_commit=commit)
            case "shell":
                call = f"call_{fresh(self._draw)}"
                action = {"type": "exec", "command": ["ls"], "timeout_ms": None, "env": None}
                self._item("lsc", "local_shell_call", call_id=call, status="completed", action=action)
                self._item("fco", "function_call_output", call_id=call, output="a.py")
            case _:
                pass

    def _message(self, role: str, content: Sequence[Record]) -> None:
        self._item("msg", "message", role=role, content=content)

    def _item(self, prefix: str, kind: str, **fields: object) -> None:
        self._add("response_item", {"type": kind, "id": f"{prefix}_{fresh(self._draw)}", **fields})

    def _add(self, kind: str, payload: Mapping[str, Any]) -> None:
        self._at += timedelta(milliseconds=self._draw.choice((0, 1, 8)))
        self._ordinal += 1
        head = {"timestamp": millisecond_time(self._at), "ordinal": self._ordinal}
        self.made.append({**head, "type": kind, "payload": payload})
