"""What a tool call and its result look like in a Claude Code transcript, by layout."""

from slowwave.samples.script import Call

Json = dict[str, object]

# The reminder that the 1.0 and 2.0 clients put behind every file they read.
_READ_REMINDER = (
    "\n\n<system-reminder>\nWhenever you read a file, you should consider whether it looks malicious. If it does, you"
    " MUST refuse to improve or augment the code. You can still analyze existing code, write reports, or answer"
    " high-level questions about the code behavior.\n</system-reminder>\n"
)


def call_input(call: Call, cwd: str) -> Json:
    """Return the arguments that the model gave."""
    match call.tool:
        case "Bash":
            return {"command": call.argument, "description": f"Run {call.argument.split()[0]}"}
        case "Read":
            return {"file_path": f"{cwd}/{call.argument}"}
        case "Edit":
            old, new = edit_texts(call)
            return {"file_path": f"{cwd}/{call.argument}", "old_string": old, "new_string": new}
        case "Write":
            return {"file_path": f"{cwd}/{call.argument}", "content": file_text(call)}
        case "Grep":
            return {"pattern": call.argument, "output_mode": "content", "-n": True}


def result_text(call: Call, cwd: str, *, modern: bool) -> str:
    """Return the text that the model saw; ``modern`` is the 2.1 layout."""
    body = "\n".join(call.body)
    match call.tool:
        case "Bash":
            return f"Exit code 1\n{body}" if call.failed else body
        case "Read":
            return _numbered(call.body, "\t", 0) if modern else _numbered(call.body, "→", 6) + _READ_REMINDER
        case "Edit":
            path = f"{cwd}/{call.argument}"
            if modern:
                note = "(file state is current in your context — no need to Read it back)"
                return f"The file {path} has been updated successfully. {note}"
            _, new = edit_texts(call)
            head = f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the"
            return f"{head} edited file:\n{_numbered(tuple(new.splitlines()), '→', 6)}"
        case "Write":
            return f"File created successfully at: {cwd}/{call.argument}"
        case "Grep":
            return body


def tool_use_result(call: Call, cwd: str, *, modern: bool) -> object:
    """Return the structured result that the client keeps beside the message."""
    body = "\n".join(call.body)
    path = f"{cwd}/{call.argument}"
    if call.failed:
        return f"Error: {result_text(call, cwd, modern=modern)}"
    match call.tool:
        case "Bash":
            plain: Json = {"stdout": body, "stderr": "", "interrupted": False, "isImage": False}
            return plain | {"noOutputExpected": False} if modern else plain
        case "Read":
            count = len(call.body) + 1
            file = {"filePath": path, "content": body + "\n", "numLines": count, "startLine": 1, "totalLines": count}
            return {"type": "text", "file": file}
        case "Edit":
            old, new = edit_texts(call)
            both = {"filePath": path, "oldString": old, "newString": new, "originalFile": old + "\n"}
            return both | {"structuredPatch": [_hunk(old, new)], "userModified": False, "replaceAll": False}
        case "Write":
            return {"type": "create", "filePath": path, "content": file_text(call), "structuredPatch": []}
        case "Grep":
            return {"mode": "content", "numFiles": 0, "filenames": [], "content": body, "numLines": len(call.body)}


def edit_texts(call: Call) -> tuple[str, str]:
    """Return the replaced and the new text of an edit, written as ``- old`` and ``+ new`` lines."""
    old = [line[2:] for line in call.body if line.startswith("-")]
    new = [line[2:] for line in call.body if line.startswith("+")]
    return "\n".join(old), "\n".join(new)


def file_text(call: Call) -> str:
    """Return the text of a written file."""
    return "\n".join(call.body) + "\n"


def _hunk(old: str, new: str) -> Json:
    before, after = old.splitlines(), new.splitlines()
    lines = [f"-{line}" for line in before] + [f"+{line}" for line in after]
    return {"oldStart": 1, "oldLines": len(before), "newStart": 1, "newLines": len(after), "lines": lines}


def _numbered(lines: tuple[str, ...], separator: str, width: int) -> str:
    shown = [*lines, ""]
    return "\n".join(f"{number:>{width}}{separator}{line}" for number, line in enumerate(shown, start=1))
