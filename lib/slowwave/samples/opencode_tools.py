"""Tool calls of a script as opencode keeps them: arguments, output and what the screen shows, all in one."""

from slowwave.samples.script import Call
from slowwave.samples.tools import edit_texts, file_text

Json = dict[str, object]


def state_of(call: Call, cwd: str) -> Json:
    """Return the state of a call that has ended, also with an exit code that tells of a failure."""
    path = f"{cwd}/{call.argument}"
    body = "\n".join(call.body)
    match call.tool:
        case "Bash":
            output = f"{body}\n" if body else ""
            metadata: Json = {"output": output, "exit": int(call.failed), "truncated": False}
            return _completed({"command": call.argument}, output, metadata, call.argument)
        case "Read":
            lines = "\n".join(f"{number}: {line}" for number, line in enumerate(call.body, start=1))
            end = f"(End of file - total {len(call.body)} lines)"
            output = f"<path>{path}</path>\n<type>file</type>\n<content>\n{lines}\n\n{end}\n</content>"
            return _completed({"filePath": path}, output, {"preview": body, "truncated": False}, path[1:])
        case "Edit":
            old, new = edit_texts(call)
            given: Json = {"filePath": path, "oldString": old, "newString": new}
            return _completed(given, "Edit applied successfully.", {"diagnostics": {}, "truncated": False}, path[1:])
        case "Write":
            given = {"filePath": path, "content": file_text(call)}
            metadata = {"diagnostics": {}, "filepath": path, "exists": False, "truncated": False}
            return _completed(given, "Wrote file successfully.", metadata, path[1:])
        case "Grep":
            metadata = {"matches": len(call.body), "truncated": False}
            return _completed({"pattern": call.argument}, body, metadata, call.argument)


def _completed(given: Json, output: str, metadata: Json, title: str) -> Json:
    return {"status": "completed", "input": given, "output": output, "metadata": metadata, "title": title}
