"""Sub-agents, in the three places where Claude Code has kept them: in the file, beside it, in a folder of their own."""

from dataclasses import replace

from slowwave.samples.chain import Chain
from slowwave.samples.envelope import Json
from slowwave.samples.script import Delegation, Say
from slowwave.samples.turns import Answer, turns


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
