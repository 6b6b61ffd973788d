"""Instructions that a person repeats: what is asked for again and again is how they want it every time."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import Statement, content_words, statements

NAME = "insistence"
# the tool, the way or the helper that is asked for
_WITH = re.compile(
    r"\b(?:use|using|with|via|run|through|apply|invoke)\s+(?:the |a |an |your |our "
    r"|my )?(?P<what>[\w./@-]+(?:[ -][\w./@-]+){1,3})",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w./@-]+")
_PARTICULAR = frozenset(
    (
        "same",
        "new",
        "old",
        "other",
        "following",
        "current",
        "existing",
        "latest",
        "above",
        "below",
        "different",
        "next",
        "previous",
        "last",
        "righ",
    )
)
_POLITE = re.compile(r"^(?:can|could) you (?:please )?", re.IGNORECASE)
# what it was asked for that time is not part of the way of working
_ON_THIS = re.compile(r" (?:on|for|to|in|with) (?:this|that|these|those)\b[^,;]*$", re.IGNORECASE)
_ENOUGH = 2


def mine_insistence(events: Events) -> Iterator[Found]:
    """Yield the latest of instructions that ask for the same means in several turns."""
    asked: dict[tuple[str, ...], dict[int, Statement]] = {}
    for statement in statements(events):
        # whatever asks for information does not ask for a way of working; "can you ..." does
        if statement.sentence.is_question and not statement.sentence.text.lower().startswith(
            ("can you", "could you", "please")
        ):
            continue
        for match in _WITH.finditer(statement.sentence.text):
            means = tuple(word.lower().rstrip("s") for word in _WORD.findall(match["what"])[:2])
            if content_words(" ".join(means)) == len(means) and not _PARTICULAR & set(means):
                asked.setdefault(means, {}).setdefault(statement.turn.order, statement)
    for by_turn in asked.values():
        if len(by_turn) >= _ENOUGH:
            first, *_, last = by_turn.values()
            # asked for again and again in one session, it may be one task: below what a dream takes without a second
            confidence = 0.5 if len(by_turn) == _ENOUGH else 0.55
            quote = last.sentence.text
            yield Found(
                NAME,
                "preference",
                _ON_THIS.sub("", _POLITE.sub("", quote).rstrip("?")),
                confidence,
                "user_explicit",
                (first.turn, last.turn),
                quote,
            )
