"""One chain of Claude Code lines: every line names its parent, parallel calls fork it, attachments belong to it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from slowwave.samples.attachments import after_results, before_answer
from slowwave.samples.envelope import MODELS, Envelope, Json, Request
from slowwave.samples.script import Call, Delegation
from slowwave.samples.tools import call_input, result_text, tool_use_result
from slowwave.samples.turns import Answer, Turn


@dataclass
class Chain:
    """Appends lines to ``lines`` and remembers which one the next line has to name."""

    envelope: Envelope
    run_task: "TaskRunner"
    lines: list[Json] = field(default_factory=list[Json])
    side_files: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    side_notes: dict[str, Json] = field(default_factory=dict[str, Json])
    parent: str | None = None
    turn: int = 0
    tokens: int = 15_000
    last_prompt: str = ""
    last_answer: list[str] = field(default_factory=list[str])
    tools: list[str] = field(default_factory=list[str])

    def add(self, middle: Json, *, parent: str | None = None) -> str:
        """Append one line of the chain and return its uuid; without ``parent`` it follows the line before it."""
        line = self.envelope.wrap(parent or self.parent, middle)
        self.lines.append(line)
        self.parent = str(line["uuid"])
        return self.parent

    def note(self, kind: str, **fields: object) -> None:
        """Append a line that stands outside the chain, such as a title or a mode."""
        self.lines.append({"type": kind, **fields, "sessionId": self.envelope.session})

    def prompt(self, text: str) -> None:
        """Append what the user typed, and the attachments that the client sends with it."""
        envelope = self.envelope
        self.turn += 1
        self.last_prompt = text
        envelope.watch.seconds(35, 190)
        envelope.prompt = envelope.prompt if envelope.sidechain else envelope.ids.uuid()
        self.add(envelope.user(text, envelope.typed(self.turn)))
        if envelope.modern:
            for attachment in before_answer(envelope, first=self.turn == 1):
                self.add(attachment)

    def take(self, turn_list: Iterable[Turn]) -> None:
        """Append prompts and answers: all that a sub-agent's conversation consists of."""
        for turn in turn_list:
            if isinstance(turn, Answer):
                self.answer(turn)
            else:
                self.prompt(turn.text)

    def answer(self, answer: Answer) -> None:
        """Append one message of the agent, a line a block, then the results of its calls.

        The lines of parallel calls form a chain of their own, and every result hangs under its own call: walking
        from the last line to the root alone would miss all results but the last.
        """
        envelope = self.envelope
        envelope.watch.seconds(3, 14)
        blocks, calls = self._blocks(answer)
        request = self._request(answer, len(blocks) - 1)
        self.last_answer = []
        placed: list[tuple[str, str, Call | Delegation]] = []
        for index, block in enumerate(blocks):
            uuid = self.add(envelope.assistant(block, index, request))
            self.last_answer.append(uuid)
            if block["type"] == "tool_use":
                placed.append((uuid, str(block["id"]), calls[str(block["id"])]))
        for uuid, call_id, call in placed:
            self._result(uuid, call_id, call)
        if envelope.modern and placed:
            for attachment in after_results(envelope, self.tokens):
                self.add(attachment)
            self.tools += [name for name in _names(answer) if name not in self.tools]
            self.note("tools-used", tools=list(self.tools))

    def _blocks(self, answer: Answer) -> tuple[list[Json], dict[str, Call | Delegation]]:
        blocks: list[Json] = []
        calls: dict[str, Call | Delegation] = {}
        ids = self.envelope.ids
        if answer.thinking:
            blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": ids.token("Eq", 60)})
        if answer.text:
            blocks.append({"type": "text", "text": answer.text})
        for call, name in zip(answer.calls, _names(answer), strict=True):
            call_id = ids.token("toolu_01", 22)
            calls[call_id] = call
            blocks.append({"type": "tool_use", "id": call_id, "name": self._name(name), "input": self._input(call)})
        return blocks, calls

    def _name(self, name: str) -> str:
        # 2.1 calls the tool that starts a sub-agent differently
        return "Agent" if name == "Task" and self.envelope.modern else name

    def _input(self, call: Call | Delegation) -> Json:
        if isinstance(call, Call):
            return call_input(call, self.envelope.cwd)
        wanted: Json = {"prompt": call.prompt, "description": call.description, "subagent_type": "general-purpose"}
        return wanted | {"run_in_background": False} if self.envelope.modern else wanted

    def _request(self, answer: Answer, last: int) -> Request:
        ids = self.envelope.ids
        written = (len(answer.thinking) + len(answer.text)) // 4 + 40 * len(answer.calls) + 5
        self.tokens += written + 60
        stop = "tool_use" if answer.calls else "end_turn"
        return Request(ids.token("msg_01", 22), ids.token("req_", 24), ids.uuid(), stop, last, self.tokens, written)

    def _result(self, parent: str, call_id: str, call: Call | Delegation) -> None:
        envelope = self.envelope
        if isinstance(call, Delegation):
            self._delegated(parent, call_id, call)
            return
        envelope.watch.seconds(1, 9)
        text = result_text(call, envelope.cwd, modern=envelope.modern)
        self.tokens += len(text) // 4
        extra: Json = {"toolUseResult": tool_use_result(call, envelope.cwd, modern=envelope.modern)}
        if envelope.modern:
            extra |= {"sandboxed": False} if call.tool == "Bash" else {}
        self._answered(parent, _result_block(call, call_id, text), extra)

    def _answered(self, parent: str, block: Json, extra: Json) -> None:
        if self.envelope.modern:
            extra |= {"sourceToolAssistantUUID": parent}
            extra |= {"permissionDecision": {"decision": "accept", "source": "config", "reasonType": "mode"}}
        self.add(self.envelope.user([block], extra), parent=parent)

    def _delegated(self, parent: str, call_id: str, task: Delegation) -> None:
        text, extra = self.run_task(self, task, call_id)
        block: Json = {"tool_use_id": call_id, "type": "tool_result", "content": [{"type": "text", "text": text}]}
        self._answered(parent, block, extra)

    @property
    def model(self) -> str:
        """The model that answers."""
        return MODELS[self.envelope.layout]


# Writes a sub-agent's lines; returns the text of the tool result and the extra fields of its line.
TaskRunner = Callable[[Chain, Delegation, str], tuple[str, Json]]


def _names(answer: Answer) -> list[str]:
    return [call.tool if isinstance(call, Call) else "Task" for call in answer.calls]


def _result_block(call: Call, call_id: str, text: str) -> Json:
    if call.failed:
        return {"type": "tool_result", "content": text, "is_error": True, "tool_use_id": call_id}
    block: Json = {"tool_use_id": call_id, "type": "tool_result", "content": text}
    return block | {"is_error": False} if call.tool == "Bash" else block
