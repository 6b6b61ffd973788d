"""Open tasks: what a person puts off for a later day."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import MIN_CONTENT, content_words, statements

NAME = "task"
_LATER = re.compile(
    r"\b(?:leave|defer|postpone|park|save|keep|do|tackle|handle|address|revisit|skip) (?:\w+ ){1,6}?"
    r"(?:for|until|to|as|in) (?:later|a (?:later|future|separate|follow-?up|different)|the future|another|next"
    r"|an? (?:\w+ )?follow-?up)\b"
    r"|\bremember for later\b|\b(?:as|in) a (?:separate|follow-?up|future) (?:pr|feature|issue|change|step|task"
    r"|exercise)\b"
    r"|\badd (?:\w+ ){1,6}?to (?:a|an|the|our|my) (?:\w+ )?(?:list|backlog|to-?do|roadmap)\b"
    r"|^to-?do\b[: ]|\bwe (?:still|eventually|later) (?:need|have|want) to\b|\bstill (?:open|missing|to do"
    r"|to be done)\b"
    r"|\b(?:eventually|later on|in the long run),? we(?:'ll| will| are going to| want to| need to)\b"
    r"|\bwe(?:'ll| will) (?:eventually|later)\b|\bpick (?:this|it) up later\b",
    re.IGNORECASE,
)


def mine_tasks(events: Events) -> Iterator[Found]:
    """Yield what a person wants done another time."""
    for statement in statements(events):
        words = statement.sentence.text
        if statement.sentence.is_question or content_words(words) < MIN_CONTENT:
            continue
        if _LATER.search(words):
            yield statement.found(NAME, "project", 0.2, "user_explicit")
