"""The same small talk as every client writes it, and what is read of it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from slowwave.formats import Message, SessionFiles, ToolCall
from slowwave.formats.registry import by_name
from slowwave.formats.writing import Block, Draft
from slowwave.reading import Reading
from slowwave.reading.session import read
from tests.unit.extraction.talk import Talk
from tests.unit.formats import codex_files, opencode_files
from tests.unit.formats.pi_files import HEADER
from tests.unit.stores.writing.written import sessions_in

_IDS = {"crabtalk": "crab_ann_1", "ulid": "01JM2V7Q9N4E8ZC3T6R5W0XKYB"}
Args = dict[str, object]


class Say(NamedTuple):
    """Words of the person or of the assistant."""

    role: str
    text: str


class Use(NamedTuple):
    """A call of a tool, and what it returned."""

    tool: str
    args: Args
    result: str
    failed: bool = False


Step = Say | Use


def same(text: str) -> str:
    return text


def messages(dialect: str, path: Path) -> Sequence[Message]:
    return by_name(dialect).read(SessionFiles(path.stem, (path,))).messages


def reading_of(dialect: str, path: Path, redact: Callable[[str], str] = same) -> Reading:
    return read(messages(dialect, path), redact)


def of_talk(folder: Path, talk: Talk, redact: Callable[[str], str] = same) -> Reading:
    """Return the reading of a session of Claude Code."""
    path = folder / f"{talk.id}.jsonl"
    path.write_bytes(talk.data())
    return reading_of("claude", path, redact)


def written(dialect: str, folder: Path, steps: Sequence[Step]) -> Path:
    """Write the steps as a client does, and return the session's file."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {"codex": _codex, "opencode": _opencode, "claude": _claude}.get(dialect)
    return made(folder, steps) if made else _drafted(dialect, folder, steps)


def _claude(folder: Path, steps: Sequence[Step]) -> Path:
    talk = Talk()
    for step in steps:
        if isinstance(step, Use):
            talk.tool(step.tool, step.args, step.result, error=step.failed)
        else:
            (talk.person if step.role == "user" else talk.assistant)(step.text)
    path = folder / f"{talk.id}.jsonl"
    path.write_bytes(talk.data())
    return path


def _codex(folder: Path, steps: Sequence[Step]) -> Path:
    lines = [codex_files.meta()]
    for number, step in enumerate(steps):
        if isinstance(step, Use):
            call = {"name": step.tool, "arguments": json.dumps(step.args), "call_id": f"c{number}"}
            output = json.dumps({"output": step.result, "metadata": {"exit_code": 1}}) if step.failed else step.result
            lines += [codex_files.item("function_call", **call), codex_files.output(f"c{number}", output)]
        else:
            lines.append(codex_files.said(step.role, step.text))
    return codex_files.rollout(folder, *lines)


def _opencode(folder: Path, steps: Sequence[Step]) -> Path:
    session = opencode_files.Session()
    for number, step in enumerate(steps):
        if isinstance(step, Use):
            failed = {"status": "error", "error": step.result}
            state = failed if step.failed else {"status": "completed", "output": step.result}
            session.answer(opencode_files.tool(f"c{number}", step.tool, **({"input": step.args} | state)))
        elif step.role == "user":
            session.user(step.text)
        else:
            session.answer(opencode_files.words(step.text))
    return session.export(folder)


def _drafted(dialect: str, folder: Path, steps: Sequence[Step]) -> Path:
    sessions = sessions_in(folder, dialect)
    name = _IDS.get(dialect, "01a20006-4850-7187-9c46-f871573043ed")
    if dialect == "openclaw":  # which nobody else begins
        (folder / f"{name}.jsonl").write_bytes(json.dumps(HEADER | {"id": name}).encode() + b"\n")
    for number, step in enumerate(steps):
        if isinstance(step, Use):
            call: list[Block] = [ToolCall(f"c{number}", step.tool, step.args)]
            sessions.write(name, Draft("assistant", call))
            answer = Draft("tool", step.result, call_id=f"c{number}", tool=step.tool, is_error=step.failed)
            sessions.write(name, answer)
        else:
            sessions.write(name, Draft("user" if step.role == "user" else "assistant", step.text))
    (path,) = sessions.transcript(name).files.paths
    return path
