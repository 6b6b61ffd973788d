"""A script as Claude Code would have left it on disk, in the 1.0, 2.0 or 2.1 layout."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from slowwave.samples import attachments
from slowwave.samples.chain import Chain
from slowwave.samples.delegation import run_task
from slowwave.samples.envelope import VERSIONS, Envelope, Json, Layout
from slowwave.samples.identity import Identity, Watch
from slowwave.samples.script import Say, Script
from slowwave.samples.turns import Answer, turns


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
        yield attachments.environment(envelope)
        yield attachments.model(envelope)
