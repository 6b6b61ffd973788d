"""A script as Codex would have left it: numbered lines, everything said once for the model and once for the screen."""

from datetime import UTC, datetime

from slowwave.formats.codex import encode
from slowwave.formats.model import Text, Thinking, ToolCall
from slowwave.samples.codex_rollout import Json, Rollout
from slowwave.samples.codex_tools import command_of, output_of, shown_output
from slowwave.samples.identity import Identity, Watch
from slowwave.samples.sample_file import SampleFile
from slowwave.samples.script import Call, Delegation, Say, Script
from slowwave.samples.turns import Answer, turns

NOTHING: list[object] = []


def write_codex(script: Script, began: datetime, cwd: str) -> SampleFile:
    """Return the rollout of the session."""
    ids = Identity(script.name)
    rollout = Rollout(cwd, ids, Watch(began, ids), ids.uuid7(began))
    rollout.open()
    for turn in turns(script.steps):
        if isinstance(turn, Answer):
            _answer(rollout, turn)
        else:
            _say(rollout, turn)
    rollout.end_turn()
    day, stamp = (began.astimezone(UTC).strftime(form) for form in ("%Y/%m/%d", "%Y-%m-%dT%H-%M-%S"))
    path = f".codex/sessions/{day}/rollout-{stamp}-{rollout.thread}.jsonl"
    return SampleFile(path, b"".join(rollout.lines), rollout.watch.at)


def _say(rollout: Rollout, say: Say) -> None:
    match say.kind:
        case "user":
            rollout.end_turn()
            rollout.watch.seconds(35, 190)
            rollout.start_turn()
            for item in encode.message_items("user", say.text, uuid=rollout.uuid()):
                rollout.item(item)
            said: Json = {"type": "text", "text": say.text, "text_elements": NOTHING}
            rollout.shown({"type": "UserMessage", "id": rollout.uuid(), "content": [said]})
        case "pause":
            rollout.watch.minutes(int(say.text))
        case _:
            raise ValueError(f"Codex has no {say.kind!r}")


def _answer(rollout: Rollout, answer: Answer) -> None:
    rollout.watch.seconds(3, 14)
    calls = {rollout.ids.token("call_", 24): call for call in answer.calls if isinstance(call, Call)}
    if any(isinstance(call, Delegation) for call in answer.calls):
        raise ValueError("sub-agents of Codex have rollouts of their own")
    blocks: list[Text | Thinking | ToolCall] = []
    if answer.thinking:
        shown: Json = {"type": "Reasoning", "id": f"rs_{rollout.uuid()}", "summary_text": [answer.thinking]}
        rollout.shown(shown | {"raw_content": NOTHING})
        blocks.append(Thinking(answer.thinking))
    if answer.text:
        rollout.last_answer = answer.text
        said = [{"type": "Text", "text": answer.text}]
        rollout.shown({"type": "AgentMessage", "id": f"msg_{rollout.uuid()}", "content": said})
        blocks.append(Text(answer.text))
    for call_id, call in calls.items():
        blocks.append(ToolCall(call_id, "exec_command", {"cmd": command_of(call)}))
    for item in encode.message_items("assistant", blocks, uuid=rollout.uuid()):
        rollout.item(item)
    for call_id, call in calls.items():
        rollout.watch.seconds(1, 9)
        _run(rollout, call_id, call)


def _run(rollout: Rollout, call_id: str, call: Call) -> None:
    command, code = command_of(call), int(call.failed)
    rollout.shown(
        {
            "type": "CommandExecution",
            "id": call_id,
            "process_id": str(rollout.ids.between(2_000, 60_000)),
            "command": ["/bin/bash", "-lc", command],
            "cwd": f"file://{rollout.cwd}",
            "parsed_cmd": [{"type": "unknown", "cmd": command}],
            "source": "unified_exec_startup",
            "status": "failed" if call.failed else "completed",
            "aggregated_output": output_of(call),
            "exit_code": code,
            "duration": {"secs": 0, "nanos": rollout.ids.between(3_000_000, 900_000_000)},
        }
    )
    chunk = rollout.ids.token("", 6)
    rollout.item(encode.output_item(call_id, shown_output(call, chunk), uuid=rollout.uuid()))
