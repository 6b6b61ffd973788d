"""How a shell line ended: by its exit code, and by what it printed where the line hides the code of what failed.

The code of a pipe is that of its last command, and ``|| true`` or a last ``; echo`` succeed whatever came before them:
``make test 2>&1 | tail -5`` exits with 0 when there is no such target. Agents cut most of their output like this.
"""

import re

from slowwave.extraction.shell import exit_code, is_run, printed, setup_error

_HIDES = re.compile(
    r"\|\s*(?:tail|head|e?grep|rg|cat|less|tee|sed|awk|sort|uniq|wc|cut|tr)\b[^|&;]*$"
    r"|\|\|\s*(?:true|:|echo\b[^;&|]*)\s*$|;\s*echo\b[^;&|]*$"
)
# the line itself prints the code of what it ran: "...; echo EXIT: $?"
_PRINTS_CODE = re.compile(r"\becho\b[^;&|]*\$(?:\?|\{PIPESTATUS\[0\]\})[^;&|]*$")
_CODE = re.compile(r"(?:^|[^\w.-])(\d{1,3})\W*$")
# who complains about a call: the shell, or a program in its own name, at the start of a line
_COMPLAINS = re.compile(
    r"^(?:error\b|fatal\b|usage error|unknown |unrecognized |unexpected |invalid |cannot |could not |no such "
    r"|(?:/\S+/)?(?:ba|z|da|fi|k)?sh: |\(eval\):|npm (?:err!|error)|make(?:\[\d+\])?: |\w*Error: |\w*Exception: "
    r"|[\w.+-]{2,30}: (?:error|fatal|unknown|unrecognized|invalid|illegal|no such|cannot|command not found"
    r"|not found)\b)",
    re.IGNORECASE,
)
# what was let through by a filter; a longer text is a log or a file that speaks of errors
_MOST_LINES = 15


def ending(line: str, output: str, *, is_error: bool) -> tuple[bool, int | None]:
    """Return whether a shell line did what it was run for, and the exit code where it is known.

    Args:
        line: the line.
        output: what its result says, with what the client put before it.
        is_error: the client marked the result as an error.
    """
    code = exit_code(output)
    if is_error or code:
        return False, code
    if not _HIDES.search(line):
        return True, code
    text = printed(output).rstrip()
    if _PRINTS_CODE.search(line):
        told = _CODE.search(text[-80:])
        return (told is None or told[1] == "0"), (int(told[1]) if told else code)
    return not _complains(line, text), code


def _complains(line: str, text: str) -> bool:
    """Say whether what a project's own tool printed is that it was called in a wrong way."""
    lines = [one for one in text.split("\n", _MOST_LINES + 1) if one.strip()]
    if not is_run(line) or len(lines) > _MOST_LINES:
        return False
    return any(_COMPLAINS.match(one.strip()) and setup_error(one) for one in lines)
