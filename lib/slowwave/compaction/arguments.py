"""What a call was given, by name: Codex writes the arguments of a function as JSON in a string."""

import json

from slowwave.compaction.javascript import fields_of
from slowwave.formats.model import ToolCall


def arguments_of(call: ToolCall) -> dict[str, object]:
    """Return the arguments of a call by their names; none where it was given a plain text, or nothing."""
    if isinstance(call.args, str) and call.args.lstrip().startswith("{"):
        try:
            return fields_of(json.loads(call.args))
        except (ValueError, RecursionError):
            return {}  # free text that begins like JSON
    return fields_of(call.args)
