"""Complaints about how the assistant works: what a person reproaches it with, they do not want to see again."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events, Turn
from slowwave.extraction.found import Found
from slowwave.extraction.statements import MIN_CONTENT, Statement, content_words, statements

NAME = "conduct"
_WHY = re.compile(
    r"\b(?:why|how) (?:the \w+ )?(?:(?:did|do|are|have|would|can|could|were)(?:n'?t| not)? (?:you|u)|you)\b"
    r"(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
# "why did you use a map?" may just want to know; what was left undone, or is done all the time, is held against it
_REPROACH = re.compile(
    r"\b(?:why|how) (?:the \w+ )?(?:did|do|are|have|would|were)(?:n'?t| not) (?:you|u)\b"
    r"|\b(?:why|how) (?:the \w+ )?(?:did|do|are|have|would|can|could|were) (?:you|u) "
    r"(?:not|n't|still|always|never|keep|again|even|skip)\b|\byou idiot\b",
    re.IGNORECASE,
)
_YOU = re.compile(
    r"\byou(?:'re| are| were)(?: still| again)? not (?:even )?\w+ing\b"
    r"|\byou(?:'re| are) (?:still|always|constantly|again) \w+ing\b"
    r"|\byou (?:keep|kept|always|never|forgot|forget|ignored?|skipped|missed|failed to|neglected)\b"
    r"|\byou (?:should|could|might) have\b(?! (?:an?|the|to|some|access)\b)|\byou (?:should|ought to) know\b"
    r"|\byou (?:have ?n[o']?t|hav[e']+n[e']?t|did ?n[o']?t|did not|have not) (?:even |actually |really )?"
    r"(?:read|check|test|run|look|use|update|add|follow|do|verif|ask|compare|try|tried|done)\w*"
    r"|\b(?:like|as) (?:you(?: were|'re| are) (?:supposed|told|asked|instructed) to|i (?:told|asked|instructed) you)\b"
    r"|^you (?:should|must|need to|have to|ought to|were supposed to)(?:n'?t| not)? (?:really |always )?be \w+ing\b"
    r"|\bi (?:already |just |clearly )?(?:gave|told|showed|asked|sent) you\b",
    re.IGNORECASE,
)
_CAN = re.compile(r"\byou (?:can|could|may) (?:always|never)\b|\bdid you (?:not )?\w+ ?.*\?$", re.IGNORECASE)
_ABOUT_CODE = re.compile(
    r"\bwhen you (?:click|open|run|start|press|have|are|use)\b|\bas you (?:know|see)\b", re.IGNORECASE
)


def mine_conduct(events: Events) -> Iterator[Found]:
    """Yield what a person reproaches the assistant with, once per turn."""
    seen: set[int] = set()
    for statement in statements(events):
        turn = statement.turn
        if turn.order not in seen and _answers(turn, events) and _is_reproach(statement):
            seen.add(turn.order)
            yield statement.found(NAME, "preference", 0.55, "user_correction")


def _answers(turn: Turn, events: Events) -> bool:
    """Say whether the assistant had done or said anything that could be reproached."""
    return turn is not events.turns[0] or turn.is_rejection


def _is_reproach(statement: Statement) -> bool:
    words = statement.sentence.text
    if content_words(words) <= MIN_CONTENT or _CAN.search(words) or _ABOUT_CODE.search(words):
        return False
    why = _WHY.search(words)
    if why and _REPROACH.search(words):
        return content_words(why["what"]) >= MIN_CONTENT
    return bool(_YOU.search(words)) and not (statement.sentence.is_question and not why)
