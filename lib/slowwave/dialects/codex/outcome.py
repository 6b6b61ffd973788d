"""Whether a command failed, as Codex says it in the output that it recorded (every form in corpus.md 14 to 17).

* ``Exit code: 1`` on the first line;
* ``Process exited with code 1`` within the lines before the output (unified exec);
* ``{"output": "...", "metadata": {"exit_code": 1, ...}}`` as JSON text.
"""

import re

_LINES = re.compile(r"(?:Exit code: |(?:[^\n]{0,80}\n){0,3}?Process exited with code )(-?[0-9]{1,10})\b")
_JSON = re.compile(r'"exit_code": ?(-?[0-9]{1,10})\b[^"]*(?:"duration_seconds"[^"]*)?\}\s*\}\s*\Z')
_REFUSED = ("failed in sandbox", "exec_command failed", "execution error")
_METADATA_CHARS = 200


def is_failure(output: str) -> bool:
    """Say whether an output tells of a failure."""
    if output.startswith('{"output"'):
        found = _JSON.search(output[-_METADATA_CHARS:])
    elif output.startswith(_REFUSED):
        return True
    else:
        found = _LINES.match(output)
    return found is not None and int(found[1]) != 0
