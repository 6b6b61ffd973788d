"""Drawn turns as pi and Clawdbot write them: entries, each under the one before it."""

import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from slowwave.dialects.times import millisecond_time, parse_time
from tests.conformance.clients.drawn import PIXEL, Step, Turn

Record = dict[str, Any]
_PICTURE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
_FREE = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
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
        answer = [{"type": "text", "text": turn.answer or "I was"}]
        self._say("assistant", content=answer, usage=_USAGE, stopReason="stop" if turn.answer else "aborted", **model)
        self._answers.append(self._last)

    def _step(self, step: Step, model: Mapping[str, Any]) -> None:
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

    def _say(self, role: str, **fields: object) -> None:
        milliseconds = int(self._at.timestamp() * 1000)
        self._add("message", message={"role": role, **fields, "timestamp": milliseconds})

    def _add(self, kind: str, **fields: object) -> None:
        self._at += timedelta(milliseconds=self._draw.choice((3, 800)))
        made = f"{self._draw.getrandbits(32):08x}"
        head = {"type": kind, "id": made, "parentId": self._last, "timestamp": millisecond_time(self._at)}
        self.made.append({**head, **fields})
        self._last = made
