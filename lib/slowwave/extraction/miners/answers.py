"""Choices that a person made in the client's question dialog: the question is the assistant's, the answer theirs."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Answer, Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import MIN_CONTENT, content_words
from slowwave.hostile import is_hostile
from slowwave.letters import one_line

NAME = "answer"
_RECOMMENDED = re.compile(r"\s*\((?:recommended|empfohlen|default)\)", re.IGNORECASE)
# what to do next is for the moment; how the thing shall be is for good
_PROCEDURE = re.compile(
    r"\b(?:proceed|look good|looks good|next step|continue|ready to|shall i|should i (?:start|go|commit"
    r"|push|create|open|merge|run)|want me to|would you like me|execute the|commit (?:this|these|now)"
    r"|push|ship|first\?|right away|open a pr"
    r"|create (?:a |the )?(?:pr|pull request|branch|commit)|which (?:issue|task|file|branch|pr|session)"
    r"|what (?:should|would|do) (?:i|you) (?:like|want)? ?(?:do|work|start|to do))\b",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"^(?:yes|no|ok|sure|proceed|continue|go ahead|skip|cancel|none|other|both|all|looks good|later"
    r"|not now|i(?:'ll| will) .*|let me .*)\b[^\w]*(?:\w+\W*){0,2}$",
    re.IGNORECASE,
)
# yes or no to a question that names how a thing shall be answers it as well as a choice does
_AGREES = re.compile(r"^(?:yes|no|yep|nope|correct|agreed)\b", re.IGNORECASE)
_NAMES = 4
_MAX_QUESTION = 200
_SENTENCE = re.compile(r"(?<=[.!?]) +(?=\w)|\s[\u2014\u2013-]\s")
_ASKS = re.compile(
    r"\b(?:which|what|how|where|who|when|should|would|could|can|want|like|i|we|way|ways)\b", re.IGNORECASE
)
_POINTS = re.compile(r"\b(?:it|this|that|them|these|those)\s*\?$", re.IGNORECASE)


def mine_answers(events: Events) -> Iterator[Found]:
    """Yield the choices that say how something shall be."""
    for answer in events.answers:
        if not _PROCEDURE.search(answer.question) and not _is_plain(answer) and not _steers(answer):
            yield _choice(answer)


def _is_plain(answer: Answer) -> bool:
    """Say whether an answer says nothing by itself, to a question that does not either."""
    if not _PLAIN.match(answer.answer):
        return False
    asked = _SENTENCE.split(one_line(answer.question))[-1]
    return not (_AGREES.match(answer.answer) and content_words(_ASKS.sub("", asked)) >= _NAMES)


def _steers(answer: Answer) -> bool:
    return is_hostile(answer.question) or is_hostile(answer.answer)


def _choice(answer: Answer) -> Found:
    question = one_line(answer.question)
    if len(question) > _MAX_QUESTION:
        # the question itself stands last
        question = question[question.rfind(". ", 0, len(question) - 2) + 2 :]
    if len(question) > _MAX_QUESTION:
        question = "…" + question[-_MAX_QUESTION:].partition(" ")[2]
    confidence = 0.65 if _stands_alone(question) else 0.5
    chosen = _RECOMMENDED.sub("", one_line(answer.answer))
    return Found(NAME, "decision", f"{question} → {chosen}", confidence, "user_explicit", (answer,), chosen)


def _stands_alone(question: str) -> bool:
    """Say whether the sentence that asks names what it asks about: "Which?" and "How to scope it?" do not."""
    asks = _SENTENCE.split(question)[-1]
    return content_words(_ASKS.sub("", asks)) >= MIN_CONTENT and not _POINTS.search(asks)
