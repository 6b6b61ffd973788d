"""Texts that stand alone: what was said, put together with what it needs to be understood weeks later.

Nothing is reworded. An entry of a list takes along what it stands under, a sentence that points back the one before it,
a choice its question and what the option was said to mean, an assent the proposal that it names.
"""

import re

from slowwave.reading.items import Chosen
from slowwave.reading.statements import Statement, is_small_talk, points_back, sentences

MOST_CHARS = 300
_LEAD_CHARS = 70
_SHORTEST_SUBJECT = 3
_MARKUP = re.compile(r"^[>\s]+|^(?:#{1,6}\s+)")
# "1024**2" and "__init__" are no emphasis
_STRONG = re.compile(
    r"(?<![\w*])\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*(?![\w*])|(?<!\w)__(?=\S)([^_]*(?:\s[^_]*)+)__(?!\w)"
)
_LINK = re.compile(r"\[([^\]\n]{1,120})\]\([^)\s]{1,300}\)")
_LABELLED = re.compile(r"^[`\"'(]?[^.!?:]{2,60}(?::\s|\s[\u2014\u2013-]\s)")
_RECOMMENDED = re.compile(r"\s*\((?:recommended|default)\)\s*", re.IGNORECASE)
_LEADS_NOTHING = re.compile(r"^(?:here(?:'s| is| are)|let me|i(?:'ll|'ve| will)?\b|now|next|below|so)\b", re.IGNORECASE)


def plain(text: str) -> str:
    """Return a text on one line without the marks of Markdown; code keeps its own."""
    bare = _STRONG.sub(lambda found: found[1] or found[2] or "", _MARKUP.sub("", text))
    return " ".join(_LINK.sub(r"\1", bare).split())


def standing(statement: Statement) -> str:
    """Return the words of a statement with what they need to be understood alone."""
    text = plain(statement.text)
    if points_back(text) and statement.before:
        before = plain(sentences(statement.before)[-1])
        if len(before) + len(text) < MOST_CHARS and not is_small_talk(before):
            text = f"{before} {text}"
    if statement.is_entry or points_back(text):
        for lead in reversed(statement.under):
            words = plain(lead).rstrip(":.")
            if len(words) <= _LEAD_CHARS and len(words) > _SHORTEST_SUBJECT and not _LEADS_NOTHING.match(words):
                return text if _LABELLED.match(text) and not points_back(text) else f"{words}: {text}"
    return text


def choice(chosen: Chosen) -> str:
    """Return a question of a dialog with what was chosen, and what the option was said to mean."""
    question = plain(chosen.question)
    asked = [one for one in sentences(question) if one.endswith(("?", "\uff1f"))]
    question = asked[-1] if asked and len(question) > MOST_CHARS // 2 else question
    if chosen.header and chosen.header.casefold() not in question.casefold():
        question = f"{plain(chosen.header)}: {question}"
    answers = [
        f"{_RECOMMENDED.sub('', plain(option.label))}"
        + (f" ({plain(option.description)})" if option.description else "")
        for option in chosen.chosen
    ]
    return f"{question} \u2192 {'; '.join(answers) or _RECOMMENDED.sub('', plain(chosen.answer))}"
