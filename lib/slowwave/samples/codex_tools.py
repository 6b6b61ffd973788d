"""Tool calls of a script as Codex makes them: everything is a command in the shell."""

from slowwave.samples.script import Call
from slowwave.samples.tools import edit_texts


def command_of(call: Call) -> str:
    """Return the command that does what the call asks for."""
    match call.tool:
        case "Bash":
            return call.argument
        case "Read":
            return f"cat {call.argument}"
        case "Grep":
            return f"rg -n '{call.argument}'"
        case "Edit":
            old, new = edit_texts(call)
            lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
            return _patch(f"*** Update File: {call.argument}\n@@", lines)
        case "Write":
            return _patch(f"*** Add File: {call.argument}", [f"+{line}" for line in call.body])


def output_of(call: Call) -> str:
    """Return what the command printed."""
    match call.tool:
        case "Edit":
            return f"Success. Updated the following files:\nM {call.argument}\n"
        case "Write":
            return f"Success. Updated the following files:\nA {call.argument}\n"
        case _:
            return "\n".join(call.body) + "\n" if call.body else ""


def shown_output(call: Call, chunk: str) -> str:
    """Return what the model saw of it."""
    output = output_of(call)
    head = f"Chunk ID: {chunk}\nWall time: 0.4000 seconds\nProcess exited with code {int(call.failed)}"
    return f"{head}\nOriginal token count: {len(output) // 4}\nOutput:\n{output}"


def _patch(head: str, lines: list[str]) -> str:
    body = "\n".join(lines)
    return f"apply_patch <<'PATCH'\n*** Begin Patch\n{head}\n{body}\n*** End Patch\nPATCH"
