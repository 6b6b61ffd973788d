"""Drawn turns as pi and Clawdbot write them: entries, each under the one before it."""

import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from slowwave.formats import millisecond_time, parse_time
from tests.conformance.clients.drawn import PIXEL, Step, Turn

Record = dict[str, Any]
_PICTURE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
_FREE = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
_HIDDEN = 0.3
_USAGE = {"input": 9, "output": 9, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 18, "cost": _FREE}
_MODEL = {"api": "openai-completions", "provider": "fake", "model": "fake-1"}
_OTHER = {"api": "anthropic-messages", "provider": "fakeant", "model": "fake-claude"}


def records_of(turns: Sequence[Turn], before: Sequence[Mapping[str, Any]], draw: random.Random) -> list[Record]:
    """Return the entries of turns that follow others."""
    writer = _Writer(before, draw)
    for turn in turns:
        writer.turn(turn)
    return writer.made


class _Writer:
    def __init__(self, before: Sequence[Mapping[str, Any]], draw: random.Random) -> None:
        self.made: list[Record] = []
        self._draw, self._last = draw, str(before[-1]["id"])
        self._answers = [self._last]
        times = [parse_time(r["timestamp"]) for r in before if isinstance(r.get("timestamp"), str)]
        self._at = max(at for at in times if at is not None)

    def turn(self, turn: Turn) -> None:
        if turn.goes_back:
            left, self._last = self._last, self._answers[-2]
            self._add("branch_summary", fromId=left, summary="what was left behind", details={"readFiles": ["/q.py"]})
        model = _OTHER if turn.another_model else _MODEL
        if turn.another_model:
            self._add("model_change", provider=model["provider"], modelId=model["model"])
        words = [{"type": "text", "text": turn.prompt}]
        self._say("user", content=[*words, _PICTURE] if turn.with_picture else words)
        for step in turn.steps:
            self._step(step, model)
        if turn.queued:
            self._say("user", content=[{"type": "text", "text": turn.queued}])
        if turn.killed:
            return
        answer = [{"type": "text", "text": turn.answer or "I was"}]
        self._say("assistant", content=answer, usage=_USAGE, stopReason="stop" if turn.answer else "aborted", **model)
        self._answers.append(self._last)

    def _step(self, step: Step, model: Mapping[str, Any]) -> None:
        self._odd(step.oddity, model)
        blocks: list[Record] = []
        if step.thought:
            blocks.append({"type": "thinking", "thinking": step.thought, "thinkingSignature": "Eq00"})
        if step.said:
            blocks.append({"type": "text", "text": step.said})
        for call in step.calls:
            given = {"path": call.path} | ({"content": "text"} if call.writes else {})
            name = "write" if call.writes else "read"
            blocks.append({"type": "toolCall", "id": f"call_{call.id}", "name": name, "arguments": given})
        self._say("assistant", content=blocks, usage=_USAGE, stopReason="toolUse", **model)
        for call in step.results:
            shown: list[Record] = [{"type": "text", "text": call.output}, *([_PICTURE] if call.shows_picture else [])]
            name = "write" if call.writes else "read"
            self._say("toolResult", toolCallId=f"call_{call.id}", toolName=name, content=shown, isError=call.fails)

    def _odd(self, oddity: str, model: Mapping[str, Any]) -> None:
        text: Record = {"type": "text", "text": self._draw.choice(("", " \n"))}
        match oddity:
            case "note":
                self._add("custom", customType="notes", data={"open": True})
            case "failed answer":
                failed = {"stopReason": "error", "errorMessage": "500 Internal error"}
                self._say("assistant", content=[text][self._draw.randrange(2) :], usage=_USAGE, **failed, **model)
            case "blank answer":
                self._say("assistant", content=[text], usage=_USAGE, stopReason="stop", **model)
            case "thought alone" | "hidden thought":
                seen: Record = {"thinking": "hm"} if oddity == "thought alone" else {"thinking": "", "redacted": True}
                thought = {"type": "thinking", "thinkingSignature": "Eqhm", **seen}
                self._say("assistant", content=[thought], usage=_USAGE, stopReason="length", **model)
            case "command" | "shell":
                hidden = {"excludeFromContext": True} if self._draw.random() < _HIDDEN else {}
                ended: Record = {"exitCode": 2, "cancelled": False, "truncated": False}
                self._say("bashExecution", command="ls; exit 2", output="a.py\n", **ended, **hidden)
            case "meta":
                self._add("custom_message", customType="notes", content="nobody typed this", display=True)
            case "settings":
                self._add("thinking_level_change", thinkingLevel="high")
            case "search":
                self._add("session_info", name="named")
            case "snapshot":
                self._add("label", targetId=self._last, label="here")
            case _:
                pass

    def _say(self, role: str, **fields: object) -> None:
        milliseconds = int(self._at.timestamp() * 1000)
        self._add("message", message={"role": role, **fields, "timestamp": milliseconds})

    def _add(self, kind: str, **fields: object) -> None:
        self._at += timedelta(milliseconds=self._draw.choice((0, 1, 8)))
        made = f"{self._draw.getrandbits(32):08x}"
        head = {"type": kind, "id": made, "parentId": self._last, "timestamp": millisecond_time(self._at)}
        self.made.append({**head, **fields})
        self._last = made
