"""Who is behind the text of a user record: only a person's own words may become a preference.

The client puts much into user records that nobody typed: commands and their output, caveats, reminders, skill bodies,
hook output, task notifications, notes about interrupts. ``isMeta`` marks only some of it (corpus.md 11), so the text
itself is looked at too.
"""

import re
from functools import cache

from slowwave.dialects.model import Block, Injected, Text

# Elements that the client writes around what it adds; what stands outside of them in the same text was typed.
_WRAPPERS = (
    "system-reminder|local-command-caveat|local-command-stdout|local-command-stderr|command-name|command-message|"
    "command-args|command-contents|task-notification|bash-input|bash-stdout|bash-stderr|ide_opened_file|"
    "ide_selection|ide_diagnostics|user-prompt-submit-hook|user-memory-input|post-tool-use-hook|background-task|"
    "background-task-input|background-task-output|teammate-message|cross-session-message|channel|tick|"
    "new-diagnostics|session-start-hook|persisted-output|tool_use_error|retrieval_status|fork-boilerplate|"
    "remote-review|remote-review-progress|ultraplan|context_summary"
)
_ELEMENT = rf"<({_WRAPPERS})(?:\s[^>]*)?>.*?</\1>\s*|<({_WRAPPERS})(?:\s[^>]*)?>.*\Z"
_NOTICES = (
    r"\s*(?:\[Request interrupted by user|\[Image: |\[Image #|Caveat: The messages below were generated|"
    r"Operation stopped by hook:|This session is being continued from a previous conversation|"
    r"Base directory for this skill:|"
    r"(?:Stop|PreToolUse|PostToolUse|UserPromptSubmit|SessionStart|SubagentStop|Notification)(?::\w+)? hook |"
    r"Continue from where you left off\.\s*\Z|No response requested\.\s*\Z|Tool loaded\.\s*\Z)"
)


@cache
def _expressions() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile what whole and what parts of a text nobody typed; a load that looks at no text does without."""
    return re.compile(_NOTICES), re.compile(_ELEMENT, re.DOTALL)


def split_typed(text: str) -> list[Block]:
    """Return ``text`` as typed and injected blocks, in order; a text that nobody typed gives no :class:`Text`."""
    notices, elements = _expressions()
    if notices.match(text):
        return [Injected(text)]
    if "<" not in text:
        return [Text(text)] if text.strip() else []
    found: list[Block] = []
    at = 0
    for element in elements.finditer(text):
        found += _typed(text[at : element.start()])
        found.append(Injected(element[0]))
        at = element.end()
    return found + _typed(text[at:]) if at else [Text(text)]


def _typed(text: str) -> list[Block]:
    return [Text(text.strip())] if text.strip() else []
