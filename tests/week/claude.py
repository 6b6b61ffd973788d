"""A script as Claude Code would have left it on disk, in the 1.0, 2.0 or 2.1 layout."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from tests.week.script import (
    Answer,
    Call,
    Delegation,
    Identity,
    Say,
    Script,
    Turn,
    Watch,
    call_input,
    result_text,
    tool_use_result,
    turns,
)

# The lines of a Claude Code transcript by layout: which fields stand around a message, and in which order.

Json = dict[str, object]
Layout = Literal["1.0", "2.0", "2.1"]

VERSIONS: dict[Layout, str] = {"1.0": "1.0.128", "2.0": "2.0.76", "2.1": "2.1.330"}
MODELS: dict[Layout, str] = {"1.0": "claude-sonnet-4-20250514", "2.0": "claude-sonnet-4-5", "2.1": "claude-sonnet-4-5"}


@dataclass
class Envelope:
    """Writes the fields around every message of one chain: the main conversation or a sub-agent's.

    Attributes:
        layout: which generation of the client.
        session: the session's id, for a sub-agent that of its parent.
        cwd: the working folder.
        ids: source of ids and numbers.
        watch: the time in this session.
        agent: id of the sub-agent when it has a file of its own, else "".
        sidechain: True for a sub-agent's lines.
        slug: the name that the client gives a conversation after a while, or "".
        prompt: id of the prompt that is being worked on (2.1).
    """

    layout: Layout
    session: str
    cwd: str
    ids: Identity
    watch: Watch
    agent: str = ""
    sidechain: bool = False
    slug: str = ""
    prompt: str = ""

    @property
    def modern(self) -> bool:
        """True for the 2.1 layout, which writes the common fields last."""
        return self.layout == "2.1"

    def wrap(self, parent: str | None, middle: Json, *, logical: str | None = None) -> Json:
        """Return ``middle`` with the common fields around it."""
        line: Json = {"parentUuid": parent}
        if logical is not None:
            line["logicalParentUuid"] = logical
        line["isSidechain"] = self.sidechain
        if self.modern:
            agent = {} if "promptId" in middle else self._agent()
            return line | agent | middle | {"userType": "external", "entrypoint": "sdk-cli"} | self._place()
        return line | {"userType": "external"} | self._place() | middle

    def _agent(self) -> Json:
        return {"agentId": self.agent} if self.agent else {}

    def _place(self) -> Json:
        place: Json = {
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": VERSIONS[self.layout],
            "gitBranch": "main",
        }
        if not self.modern:
            place |= self._agent()
        return place | ({"slug": self.slug} if self.slug else {})

    def user(self, content: object, extra: Json | None = None, flags: Json | None = None, uuid: str = "") -> Json:
        """Return the middle of a user line; ``flags`` stand before its uuid, ``extra`` behind its time."""
        middle: Json = {"promptId": self.prompt} | self._agent() if self.modern else {}
        middle |= {"type": "user", "message": {"role": "user", "content": content}} | (flags or {})
        return middle | {"uuid": uuid or self.ids.uuid(), "timestamp": self.watch.iso()} | (extra or {})

    def typed(self, turn: int) -> Json:
        """Return the fields that 2.1 adds to what a person typed."""
        if not self.modern or self.sidechain:
            return {}
        origin: Json = {"permissionMode": "default", "promptSource": "sdk", "turnOrigin": "sdk"}
        return origin | {"turnPosition": {"promptIndex": 0, "turnIndex": turn}}

    def assistant(self, block: Json, index: int, request: "Request") -> Json:
        """Return the middle of an assistant line: one block of one message."""
        message: Json = {
            "id": request.message,
            "type": "message",
            "role": "assistant",
            "model": MODELS[self.layout],
            "content": [block],
            "stop_reason": request.stop_reason if self.modern or request.last == index else None,
            "stop_sequence": None,
            "usage": request.usage(modern=self.modern),
        }
        tail: Json = {"type": "assistant", "uuid": self.ids.uuid(), "timestamp": self.watch.iso()}
        if not self.modern:
            return {"message": message, "requestId": request.id} | tail
        message["stop_details"] = None
        middle: Json = {"message": message}
        if block["type"] == "thinking":
            middle |= {"thinkingDurationMs": self.ids.between(400, 2600), "thinkingDisplay": "omitted"}
        if block["type"] == "tool_use":
            middle["toolInputStreamMs"] = self.ids.between(40, 900)
        middle |= {"apiBlockIndex": index, "requestId": request.id, "requestRef": request.ref}
        middle |= {"requestedModel": MODELS[self.layout], "promptCacheRequested": "5m"}
        return middle | tail | {"perTurnEffort": None, "madeBy": "model"}


@dataclass(frozen=True)
class Request:
    """One request to the model: the ids and the token counts that all lines of its answer share."""

    message: str
    id: str
    ref: str
    stop_reason: str
    last: int
    context_tokens: int
    output_tokens: int

    def usage(self, *, modern: bool) -> Json:
        """Return the token counts in the order of the layout."""
        fresh = self.context_tokens // 5
        usage: Json = {
            "input_tokens": 4,
            "cache_creation_input_tokens": fresh,
            "cache_read_input_tokens": self.context_tokens - fresh,
        }
        if not modern:
            cache = {"ephemeral_5m_input_tokens": fresh, "ephemeral_1h_input_tokens": 0}
            return usage | {
                "cache_creation": cache,
                "output_tokens": self.output_tokens,
                "service_tier": "standard",
            }
        none: list[object] = []
        return usage | {
            "output_tokens": self.output_tokens,
            "output_tokens_details": {"thinking_tokens": 0},
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": fresh},
            "inference_geo": "",
            "iterations": none,
            "speed": "standard",
            "fallback_credit": None,
        }


# What the 2.1 client attaches to prompts and tool results: the environment, the model, the date, the token budget.

_BUDGET = 1_000_000


def before_answer(envelope: Envelope, *, first: bool) -> Iterator[Json]:
    """Yield the attachments that go with a prompt, all of them with the session's first."""
    if first:
        yield environment(envelope)
        yield model(envelope)
    yield _budget(envelope, 0)
    yield _attachment(envelope, {"type": "session_context", "context": {}})
    if first:
        day = envelope.watch.iso()[:10]
        shown = f"Today's date is {day}."
        yield _attachment(envelope, {"type": "date", "date": day}, shown, "system")


def after_results(envelope: Envelope, used: int) -> Iterator[Json]:
    """Yield the attachment that follows tool results."""
    yield _budget(envelope, used)


def environment(envelope: Envelope) -> Json:
    """Return the attachment that tells the model where it works."""
    snapshot: Json = {
        "workingDirectory": envelope.cwd,
        "isWorktree": False,
        "isGitRepo": True,
        "additionalWorkingDirectories": [],
        "platform": "linux",
        "shell": "bash",
        "osVersion": "Linux 6.8.0",
    }
    shown = f"# Environment\nPrimary working directory: {envelope.cwd}\nPlatform: linux\nShell: bash"
    return _attachment(envelope, {"type": "environment", "snapshot": snapshot}, shown, "system")


def model(envelope: Envelope) -> Json:
    """Return the attachment that tells the model its own name."""
    name = MODELS[envelope.layout]
    text = f"You are powered by the model named Sonnet 4.5. The exact model ID is {name}."
    identity = {"modelId": name, "marketingName": "Sonnet 4.5", "knowledgeCutoff": "January 2025"}
    return _attachment(envelope, {"type": "model", "identity": identity, "text": text}, text, "system")


def _budget(envelope: Envelope, used: int) -> Json:
    text = f"<total_tokens>{_BUDGET - used} tokens left</total_tokens>"
    return _attachment(envelope, {"type": "total_tokens_reminder", "text": text}, text, "system")


def _attachment(envelope: Envelope, attachment: Json, shown: str = "", role: str = "") -> Json:
    middle: Json = {
        "attachment": attachment,
        "type": "attachment",
        "uuid": envelope.ids.uuid(),
        "timestamp": envelope.watch.iso(),
    }
    if shown:
        middle["rendered"] = [{"content": f"<system-reminder>\n{shown}\n</system-reminder>"}]
        middle["renderedRole"] = role
    return middle


# One chain of Claude Code lines: every line names its parent, parallel calls fork it, attachments belong to it.


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


# Sub-agents, in the three places where Claude Code has kept them: in the file, beside it, in a folder of their own.


def run_task(main: Chain, task: Delegation, call_id: str) -> tuple[str, Json]:
    """Write the sub-agent's lines and return what the main conversation gets to see of it.

    Returns:
        The text of the tool result and the extra fields of its line.
    """
    envelope = main.envelope
    agent = {"1.0": "", "2.0": envelope.ids.token("a", 6), "2.1": envelope.ids.token("a", 16)}[envelope.layout]
    side = Chain(replace(envelope, agent=agent, sidechain=True, slug=""), run_task, lines=[] if agent else main.lines)
    began = envelope.watch.at
    side.prompt(task.prompt)
    side.take(turns(task.steps))
    side.answer(Answer(text=task.report))
    if agent:
        folder = f"{envelope.session}/subagents/" if envelope.modern else ""
        main.side_files[f"{folder}agent-{agent}.jsonl"] = side.lines
    took = int((envelope.watch.at - began).total_seconds() * 1000)
    calls = sum(not isinstance(step, Say) for step in task.steps)
    if not envelope.modern:
        content = [{"type": "text", "text": task.report}]
        counts: Json = {"totalDurationMs": took, "totalTokens": side.tokens, "totalToolUseCount": calls}
        return task.report, {"toolUseResult": {"content": content, **counts}}
    main.side_notes[f"{envelope.session}/subagents/agent-{agent}.meta.json"] = _meta(task, call_id, main.model)
    return _hand_back(task, agent, side.tokens, calls, took), {
        "toolUseResult": {
            "status": "completed",
            "prompt": task.prompt,
            "agentId": agent,
            "agentType": "general-purpose",
            "toolsUsed": list(side.tools),
            "content": [{"type": "text", "text": task.report}],
            "resolvedModel": main.model,
            "totalDurationMs": took,
            "totalTokens": side.tokens,
            "totalToolUseCount": calls,
        }
    }


def _hand_back(task: Delegation, agent: str, tokens: int, calls: int, took: int) -> str:
    report = "\n".join(f"  {line}" for line in task.report.splitlines())
    usage = f"<usage>subagent_tokens: {tokens}\ntool_uses: {calls}\nduration_ms: {took}</usage>"
    frame = "[Subagent hand-back] The text below is the final report of a subagent this session delegated to."
    return f"{frame} The report follows:\n{report}\nagentId: {agent}\n{usage}"


def _meta(task: Delegation, call_id: str, model: str) -> Json:
    return {
        "agentType": "general-purpose",
        "isBuiltIn": True,
        "description": task.description,
        "toolUseId": call_id,
        "spawnDepth": 1,
        "requestShape": "foreground",
        "model": model,
        "finished": True,
    }


# The whole script.


@dataclass(frozen=True, slots=True)
class Written:
    """The files of one session by their path below the project folder, and when the client stopped writing."""

    lines: dict[str, list[Json]]
    notes: dict[str, Json]
    session: str
    ended: datetime


def write_claude(script: Script, began: datetime, cwd: str) -> Written:
    """Return the lines of every file that the session left."""
    layout: Layout = next(version for version in VERSIONS if script.client.endswith(version))
    ids = Identity(script.name)
    session = ids.uuid()
    envelope = Envelope(layout, session, cwd, ids, Watch(began, ids))
    chain = Chain(envelope, run_task)
    if script.foreign:
        # the client noted titles of other conversations here; their leaf is in no line of this file
        chain.lines.append({"type": "summary", "summary": script.foreign, "leafUuid": ids.uuid()})
    _open(chain)
    for turn in turns(script.steps):
        if isinstance(turn, Answer):
            chain.answer(turn)
            if layout == "2.1" and not turn.calls:
                _close_turn(chain)
            envelope.slug = envelope.slug or _slug(layout, turn)
        else:
            _say(chain, turn)
    _close(chain, script.title)
    files = {f"{session}.jsonl": chain.lines, **chain.side_files}
    return Written(files, chain.side_notes, session, envelope.watch.at)


def _open(chain: Chain) -> None:
    ids, watch = chain.envelope.ids, chain.envelope.watch
    if chain.envelope.layout == "2.0":
        message = ids.uuid()
        snapshot: Json = {"messageId": message, "trackedFileBackups": {}, "timestamp": watch.iso()}
        line: Json = {"type": "file-history-snapshot", "messageId": message, "snapshot": snapshot}
        chain.lines.append(line | {"isSnapshotUpdate": False})
    elif chain.envelope.modern:
        chain.note("mode", mode="normal")
        chain.note("permission-mode", permissionMode="default")


def _say(chain: Chain, say: Say) -> None:
    watch = chain.envelope.watch
    match say.kind:
        case "user":
            chain.prompt(say.text)
        case "queued":
            _queue(chain, "enqueue", say.text)
            watch.seconds(2, 20)
            _queue(chain, "dequeue")
            chain.prompt(say.text)
        case "pause":
            watch.minutes(int(say.text))
        case "compact":
            _compact(chain, say.text)
        case _:
            raise ValueError(f"Claude Code has no {say.kind!r}")


def _queue(chain: Chain, operation: str, content: str = "") -> None:
    line: Json = {"type": "queue-operation", "operation": operation, "timestamp": chain.envelope.watch.iso()}
    line["sessionId"] = chain.envelope.session
    chain.lines.append(line | ({"content": content} if content else {}))


def _close_turn(chain: Chain) -> None:
    envelope = chain.envelope
    envelope.watch.seconds(1, 2)
    middle: Json = {"type": "system", "subtype": "turn_duration", "durationMs": envelope.ids.between(9000, 90000)}
    middle |= {"messageCount": len(chain.lines), "timestamp": envelope.watch.iso(), "uuid": envelope.ids.uuid()}
    chain.add(middle | {"isMeta": False})
    chain.note("last-prompt", lastPrompt=chain.last_prompt, leafUuid=chain.parent)


def _close(chain: Chain, title: str) -> None:
    if title and chain.envelope.modern:
        chain.lines.append({"type": "ai-title", "sessionId": chain.envelope.session, "aiTitle": title})
    elif title:
        chain.lines.append({"type": "summary", "summary": title, "leafUuid": chain.parent})


def _slug(layout: Layout, answer: Answer) -> str:
    # the client names a conversation once a file was read
    is_named = layout != "1.0" and bool(answer.calls)
    return "steady-humming-harbor" if is_named else ""


def _compact(chain: Chain, summary: str) -> None:
    envelope = chain.envelope
    envelope.watch.seconds(20, 50)
    kept = chain.parent
    summary_uuid, before = envelope.ids.uuid(), chain.tokens
    metadata: Json = {"trigger": "manual", "preTokens": before}
    if envelope.modern:
        metadata |= _preserved(chain.last_answer, summary_uuid)
    boundary: Json = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
    boundary |= {"isMeta": False, "timestamp": envelope.watch.iso(), "uuid": envelope.ids.uuid(), "level": "info"}
    line = envelope.wrap(None, boundary | {"compactMetadata": metadata}, logical=str(kept))
    chain.lines.append(line)
    chain.parent = str(boundary["uuid"])
    chain.tokens = 16_000
    for middle in _after_boundary(chain, summary, summary_uuid):
        chain.add(middle)


def _preserved(kept: list[str], summary_uuid: str) -> Json:
    # 2.1 keeps the last message of the agent word for word behind the summary
    segment = {"headUuid": kept[0], "anchorUuid": summary_uuid, "tailUuid": kept[-1]}
    messages = {"anchorUuid": summary_uuid, "uuids": list(kept), "allUuids": list(kept)}
    return {"preservedSegment": segment, "preservedMessages": messages, "postTokens": 16_000}


def _after_boundary(chain: Chain, summary: str, summary_uuid: str) -> Iterator[Json]:
    envelope = chain.envelope
    opening = "This session is being continued from a previous conversation that ran out of context."
    text = f"{opening} The summary below covers the earlier portion of the conversation.\n\nSummary:\n{summary}"
    flags: Json = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
    yield envelope.user(text, flags=flags, uuid=summary_uuid)
    caveat = "Caveat: The messages below were generated by the user while running local commands."
    yield envelope.user(caveat, flags={"isMeta": True})
    indent = " " * 12
    command = f"<command-name>/compact</command-name>\n{indent}<command-message>compact</command-message>"
    yield envelope.user(f"{command}\n{indent}<command-args></command-args>")
    yield envelope.user("<local-command-stdout>Compacted (ctrl+o to see full summary)</local-command-stdout>")
    if envelope.modern:
        yield environment(envelope)
        yield model(envelope)
