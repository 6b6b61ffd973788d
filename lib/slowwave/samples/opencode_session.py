"""One session of opencode: a row for each message, and rows for what each message consists of."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

from slowwave.samples.identity import Identity, Watch
from slowwave.samples.opencode_tools import state_of
from slowwave.samples.script import Call, Delegation, Say, Step
from slowwave.samples.turns import Answer, turns

Json = dict[str, object]
Row = tuple[object, ...]
PROVIDER, MODEL = "anthropic", "claude-sonnet-4-5"


def as_json(value: Json) -> str:
    """Return a value as the text that a row holds."""
    return orjson.dumps(value).decode()


@dataclass
class Session:
    """The rows of one session, in the order of the columns of their tables."""

    id: str
    cwd: str
    ids: Identity
    watch: Watch
    messages: list[Row] = field(default_factory=list[Row])
    parts: list[Row] = field(default_factory=list[Row])
    asked: str = ""
    tokens: int = 3_700

    @property
    def now(self) -> int:
        """The time in milliseconds."""
        return int(self.watch.at.timestamp() * 1000)

    def play(self, steps: Iterable[Step]) -> None:
        """Add the messages of a script.

        Raises:
            ValueError: the client has no such step.
        """
        for turn in turns(steps):
            match turn:
                case Answer():
                    self._answer(turn)
                case Say(kind="user"):
                    self.watch.seconds(35, 190)
                    self._ask(turn.text)
                case Say(kind="pause"):
                    self.watch.minutes(int(turn.text))
                case _:
                    raise ValueError(f"opencode has no {turn.kind!r}")

    def _ask(self, text: str) -> None:
        model = {"providerID": PROVIDER, "modelID": MODEL}
        nothing: dict[str, list[object]] = {"diffs": []}
        data: Json = {"role": "user", "time": {"created": self.now}, "agent": "build", "model": model}
        self.asked = self.ids.sorted_id("msg", self.watch.at)
        self.messages.append((self.asked, self.id, self.now, self.now, as_json(data | {"summary": nothing})))
        self._part(self.asked, {"type": "text", "text": text})

    def _answer(self, answer: Answer) -> None:
        self.watch.seconds(3, 14)
        created, name = self.now, self.ids.sorted_id("msg", self.watch.at)
        self._part(name, {"type": "step-start"})
        for kind, text in (("reasoning", answer.thinking), ("text", answer.text)):
            if text:
                self._part(name, {"type": kind, "text": text, "time": {"start": self.now, "end": self.now}})
        for call in answer.calls:
            self._call(name, call)
        output = len(answer.text) // 4 + 40 * len(answer.calls) + 5
        self.tokens += output + 200 * len(answer.calls)
        tokens: Json = {"total": self.tokens + output, "input": self.tokens, "output": output, "reasoning": 0}
        tokens["cache"] = {"write": 0, "read": self.tokens}
        finish = "tool-calls" if answer.calls else "stop"
        self._part(name, {"reason": finish, "type": "step-finish", "tokens": tokens, "cost": 0})
        head: Json = {"parentID": self.asked, "role": "assistant", "mode": "build", "agent": "build"}
        head |= {"path": {"cwd": self.cwd, "root": self.cwd}, "cost": 0, "tokens": tokens}
        head |= {"modelID": MODEL, "providerID": PROVIDER, "time": {"created": created, "completed": self.now}}
        self.messages.append((name, self.id, created, self.now, as_json(head | {"finish": finish})))

    def _call(self, message: str, call: Call | Delegation) -> None:
        if not isinstance(call, Call):
            raise ValueError("sub-agents of opencode have sessions of their own")  # noqa: TRY004 - what a script says
        began = self.now
        self.watch.seconds(1, 9)
        state = state_of(call, self.cwd) | {"time": {"start": began, "end": self.now}}
        call_id = self.ids.token("toolu_", 24)
        self._part(message, {"type": "tool", "tool": call.tool.lower(), "callID": call_id, "state": state})

    def _part(self, message: str, data: Json) -> None:
        # the number keeps parts of one millisecond in their order
        name = self.ids.sorted_id("prt", self.watch.at, len(self.parts) + 1)
        self.parts.append((name, message, self.id, self.now, self.now, as_json(data)))
