"""Drawn turns as Claude Code writes them: a record for each block of an answer, each result under its own call."""

import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from slowwave.formats import millisecond_time, parse_time
from tests.conformance.clients.drawn import PIXEL, Step, Turn, fresh

Record = dict[str, Any]
_PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
_USAGE = {"input_tokens": 9, "output_tokens": 9}


def records_of(turns: Sequence[Turn], before: Sequence[Mapping[str, Any]], draw: random.Random) -> list[Record]:
    """Return the records of turns that follow others."""
    writer = _Writer(before, draw)
    for turn in turns:
        writer.turn(turn)
    return writer.made


class _Writer:
    def __init__(self, before: Sequence[Mapping[str, Any]], draw: random.Random) -> None:
        spoken = [r for r in before if r.get("uuid") and not r.get("isSidechain")]
        last = spoken[-1]
        self.made: list[Record] = []
        self._draw, self._last = draw, str(last["uuid"])
        self._answers = [self._last]
        self._envelope = {name: last[name] for name in ("cwd", "sessionId", "version", "userType")}
        times = [parse_time(r["timestamp"]) for r in before if isinstance(r.get("timestamp"), str)]
        self._at = max(at for at in times if at is not None)

    def turn(self, turn: Turn) -> None:
        if turn.goes_back:
            self._last = self._answers[-2]
        words = {"type": "text", "text": turn.prompt}
        self._user([words, _PICTURE] if turn.with_picture else turn.prompt)
        model = "claude-opus-4-1" if turn.another_model else "claude-sonnet-4-5"
        for step in turn.steps:
            self._step(step, model)
        if turn.queued:
            attachment = {"type": "queued_command", "prompt": turn.queued, "commandMode": "prompt"}
            self._add("attachment", self._last, attachment=attachment)
        if turn.answer and not turn.killed:
            self._answer(fresh(self._draw), {"type": "text", "text": turn.answer}, model)
        elif not turn.killed:
            self._user([{"type": "text", "text": "[Request interrupted by user]"}])
        self._answers.append(self._last)
        if str(self._envelope["version"]).startswith("2.1"):
            note = {"type": "last-prompt", "lastPrompt": turn.prompt[:80], "leafUuid": self._last}
            self.made.append(note | {"sessionId": self._envelope["sessionId"]})

    def _step(self, step: Step, model: str) -> None:
        message = fresh(self._draw)
        self._odd(step.oddity, model)
        if step.thought:
            self._answer(message, {"type": "thinking", "thinking": step.thought, "signature": "Eq" + message}, model)
        if step.said:
            self._answer(message, {"type": "text", "text": step.said}, model)
        above: dict[str, str] = {}
        for call in step.calls:
            name, key = ("Write", "content") if call.writes else ("Read", "limit")
            given = {"file_path": call.path, key: "text" if call.writes else 9}
            self._answer(message, {"type": "tool_use", "id": f"toolu_{call.id}", "name": name, "input": given}, model)
            above[call.id] = self._last
        for call in step.results:
            words = [{"type": "text", "text": call.output}]
            block = {"type": "tool_result", "tool_use_id": f"toolu_{call.id}", "is_error": call.fails}
            self._last = above[call.id]
            self._user([block | {"content": [*words, _PICTURE] if call.shows_picture else call.output}])

    def _odd(self, oddity: str, model: str) -> None:
        caveat = "<local-command-caveat>The command below was run directly.</local-command-caveat>"
        match oddity:
            case "note":
                self._add("system", self._last, subtype="informational", content="a note", level="info")
            case "failed answer":
                failed: Record = {"type": "text", "text": "API Error: 500 Internal error"}
                self._answer(fresh(self._draw), failed, "<synthetic>", isApiErrorMessage=True)
            case "blank answer":
                self._answer(fresh(self._draw), {"type": "text", "text": self._draw.choice(("", " \n"))}, model)
            case "thought alone":
                thought = {"type": "thinking", "thinking": "hm", "signature": "Eqhm"}
                self._answer(fresh(self._draw), thought, model)
            case "hidden thought":
                self._answer(fresh(self._draw), {"type": "redacted_thinking", "data": "EqREDACTED"}, model)
            case "command":
                self._user(caveat, isMeta=True)
                self._user("<command-name>/cost</command-name>\n<command-args></command-args>")
                self._user("<local-command-stdout>Total cost: $0.01</local-command-stdout>")
            case "meta":
                self._user("Caveat: nobody typed this.", isMeta=True)
            case "progress":
                data: Record = {"type": "hook_progress", "hookName": "PreToolUse"}
                self._add("progress", self._last, data=data, toolUseID="toolu_none")
            case "sub-agent":
                self._sidechain(model)
            case _:
                pass

    def _sidechain(self, model: str) -> None:
        """What a sub-agent says stands among the rest, on a chain of its own."""
        main, own = self._last, {"isSidechain": True, "agentId": fresh(self._draw)[:8]}
        self._add("user", None, message={"role": "user", "content": "count the files"}, **own)
        self._answer(fresh(self._draw), {"type": "text", "text": "two files"}, model, **own)
        self._last = main

    def _answer(self, message: str, block: Mapping[str, Any], model: str, **more: object) -> None:
        head = {"id": f"msg_{message}", "type": "message", "role": "assistant", "model": model, "usage": _USAGE}
        self._add("assistant", self._last, message=head | {"content": [block]}, **more)

    def _user(self, content: object, **more: object) -> None:
        self._add("user", self._last, message={"role": "user", "content": content}, **more)

    def _add(self, kind: str, parent: str | None, **fields: object) -> None:
        self._at += timedelta(milliseconds=self._draw.choice((0, 1, 8)))
        digits = f"{self._draw.getrandbits(128):032x}"
        uuid = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
        head = {"parentUuid": parent, "isSidechain": False, **self._envelope, "type": kind}
        self.made.append({**head, **fields, "uuid": uuid, "timestamp": millisecond_time(self._at)})
        self._last = uuid
