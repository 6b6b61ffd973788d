"""What sounds like a rule and fits no other miner: rarely worth keeping by itself, so it has little confidence."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import MIN_CONTENT, category_of, content_words, lasting

NAME = "remark"
_RULING = re.compile(
    r"\b(?:should|shall|must|need(?:s|ed)?|has to|have to|want(?:s|ed)?|make sure|ensure|instead|only|always"
    r"|never|every"
    r"|all|any|default|by default|prefer\w*|like|use|keep|avoid|because|since|so that|supposed|expect\w*|important"
    r"|convention|standard|consistent|support|require\w*|allowed|means|belongs?|called|named)\b",
    re.IGNORECASE,
)
_FEWEST, _MOST = 5, 40


def mine_remarks(events: Events) -> Iterator[Found]:
    """Yield statements in the words of rules."""
    for statement in lasting(events):
        words = statement.sentence.text
        if (
            _FEWEST <= statement.sentence.words <= _MOST
            and _RULING.search(words)
            and content_words(words) > MIN_CONTENT
        ):
            yield statement.found(NAME, category_of(words), 0.2, "user_explicit")
