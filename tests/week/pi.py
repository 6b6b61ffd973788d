"""A script as pi would have left it: a header, then entries that each name the one before them."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson

from slowwave.formats import Text, Thinking, ToolCall, millisecond_time
from slowwave.formats.pi import write as encode
from slowwave.formats.pi.dialect import Model
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
    file_text,
    turns,
)

CLIENT = "pi"

Json = dict[str, object]
API, PROVIDER, MODEL = "anthropic-messages", "anthropic", "claude-sonnet-4-5"


@dataclass
class _Session:
    """The lines of one session; every entry hangs below the last one."""

    cwd: str
    ids: Identity
    watch: Watch
    lines: list[bytes] = field(default_factory=list[bytes])
    leaf: str | None = None
    tokens: int = 3_400

    def place(self) -> encode.Place:
        """Return the place of the next entry."""
        place = encode.Place(self.ids.token("", 8), self.leaf, self.watch.at)
        self.leaf = place.id
        return place

    def message(self, message: Json) -> None:
        """Append a message."""
        self.lines.append(encode.message_line(message, place=self.place()))

    def choice(self, kind: str, **fields: str) -> None:
        """Append what was chosen for the answers that follow, such as the model."""
        place = self.place()
        head: Json = {"type": kind, "id": place.id, "parentId": place.parent, "timestamp": millisecond_time(place.at)}
        self.lines.append(orjson.dumps(head | fields, option=orjson.OPT_APPEND_NEWLINE))


def write_pi(script: Script, began: datetime, cwd: str) -> SampleFile:
    """Return the file of the session."""
    ids = Identity(script.name)
    session = _Session(cwd, ids, Watch(began, ids))
    name = ids.uuid7(began)
    session.lines.append(encode.header_line(name, cwd=cwd, at=began))
    session.choice("model_change", provider=PROVIDER, modelId=MODEL)
    session.choice("thinking_level_change", thinkingLevel="off")
    for turn in turns(script.steps):
        if isinstance(turn, Answer):
            _answer(session, turn)
        else:
            _say(session, turn)
    if script.title:
        session.lines.append(encode.name_line(script.title, place=session.place()))
    folder = f"--{cwd.strip('/').replace('/', '-')}--"
    stamp = began.astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%S-") + f"{began.microsecond // 1000:03d}Z"
    path = f".pi/agent/sessions/{folder}/{stamp}_{name}.jsonl"
    return SampleFile(path, b"".join(session.lines), session.watch.at)


def _say(session: _Session, say: Say) -> None:
    match say.kind:
        case "user":
            session.watch.seconds(35, 190)
            session.message(encode.user_message(say.text, at=session.watch.at))
        case "pause":
            session.watch.minutes(int(say.text))
        case _:
            raise ValueError(f"pi has no {say.kind!r}")


def _answer(session: _Session, answer: Answer) -> None:
    session.watch.seconds(3, 14)
    calls = {session.ids.token("toolu_", 24): call for call in answer.calls if isinstance(call, Call)}
    if any(isinstance(call, Delegation) for call in answer.calls):
        raise ValueError("pi has no sub-agents")
    content: list[Text | Thinking | ToolCall] = []
    if answer.thinking:
        content.append(Thinking(answer.thinking))
    if answer.text:
        content.append(Text(answer.text))
    content += [ToolCall(i, call.tool.lower(), _arguments(call, session.cwd)) for i, call in calls.items()]
    made = encode.assistant_message(content, at=session.watch.at, model=Model(PROVIDER, MODEL, API))
    session.message(made | {"usage": _usage(session, answer), "responseId": session.ids.token("msg_01", 24)})
    for call_id, call in calls.items():
        session.watch.seconds(1, 9)
        text, at = _result(call, session.cwd), session.watch.at
        tool = call.tool.lower()
        session.message(encode.result_message(text, at=at, call_id=call_id, tool=tool, is_error=call.failed))


def _usage(session: _Session, answer: Answer) -> Json:
    output = len(answer.text) // 4 + 40 * len(answer.calls) + 5
    fresh = 4
    counts: Json = {"input": fresh, "output": output, "cacheRead": session.tokens, "cacheWrite": 0}
    total = fresh + output + session.tokens
    session.tokens += output + 200 * len(answer.calls)
    free: Json = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
    return counts | {"totalTokens": total, "cost": free}


def _arguments(call: Call, cwd: str) -> Json:
    match call.tool:
        case "Bash":
            return {"command": call.argument}
        case "Read":
            return {"path": f"{cwd}/{call.argument}"}
        case "Edit":
            old, new = edit_texts(call)
            return {"path": f"{cwd}/{call.argument}", "edits": [{"oldText": old, "newText": new}]}
        case "Write":
            return {"path": f"{cwd}/{call.argument}", "content": file_text(call)}
        case "Grep":
            return {"pattern": call.argument, "path": cwd}


def _result(call: Call, cwd: str) -> str:
    body = "\n".join(call.body)
    match call.tool:
        case "Bash" if call.failed:
            return f"{body}\n\n\nCommand exited with code 1"
        case "Bash" | "Read":
            return body + "\n" if body else "(no output)"
        case "Edit":
            return f"Successfully replaced 1 block(s) in {cwd}/{call.argument}."
        case "Write":
            return f"Successfully wrote {len(file_text(call).encode())} bytes to {cwd}/{call.argument}"
        case "Grep":
            return body
