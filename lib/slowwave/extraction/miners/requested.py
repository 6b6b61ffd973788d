"""Commands that a person asks to be run: how they check, build or start the project themselves."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import statements

NAME = "requested"
_CALL = re.compile(
    r"\b(?:run|do|use|using|via|with|through|execute|call|try|start)\s+(?:an? |the |also )?`?"
    r"(?P<call>(?:npm|pnpm|yarn|bun|npx|bunx|make|just|mise|task|cargo|go|uv|poetry|pdm|hatch|tox|nox|rake|bundle|mix"
    r"|gradle|\./gradlew|mvn|dotnet|docker|deno|pytest|ruff|composer|swift|ninja|bazel|\./[\w./-]+)"
    r"(?: (?:run|exec|tool|compose)(?= ))?(?: (?!(?:and|or|to|in|the|on|for|with|from|at|it|this|so|as|if|again"
    r"|now|then"
    r"|command|commands|instead|before|after|a|an|is|was|here|which|that|not|but|without|any|all|every"
    r"|each)\b)[\w:./=@-]+)+)`?",
    re.IGNORECASE,
)
_TOLD_OFF = re.compile(
    r"\b(?:why|when i|if i|i (?:ran|run|get|got|tried)|after i|error|fail\w*|does(?:n'?t| not))\b", re.IGNORECASE
)
_PARTICULAR = re.compile(r"\.\w{1,5}$|^(?:https?:|/tmp|~|\$)|\d{3,}")
_MAX_WORDS = 6


def mine_requested(events: Events) -> Iterator[Found]:
    """Yield each command that a person asks for, once."""
    seen: set[str] = set()
    for statement in statements(events):
        words = statement.sentence.text
        match = _CALL.search(words)
        if not match or statement.sentence.is_guess or _TOLD_OFF.search(words):
            continue
        call = match["call"].strip("`. ")
        parts = call.split()
        if call in seen or len(parts) > _MAX_WORDS or any(_PARTICULAR.search(part) for part in parts[1:]):
            continue
        seen.add(call)
        yield statement.found(NAME, "pattern", 0.5, "user_explicit")
