"""Corrections: a person rejects what the assistant did or was about to do, and says how it should be."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import MIN_CONTENT, Statement, category_of, content_words, lasting, statements

NAME = "correction"
_DONT = re.compile(
    r"(?:^|[,;:]\s+|\b(?:and|but|so|please)\s+)(?:please )?(?:you (?:should|must|may) (?:not|never)|you shouldn'?t|don'?t|do not|stop|avoid|quit|no need to|nicht|kein\w*)\s+"
    r"(?P<verb>[\w'-]+)(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NOT_A_RULE = re.compile(
    r"^(?:worry|know|think|bother|care|need|mind|see|understand|have|get|want|like|believe|remember|stop|forget|feel|even|really|work|exist|matter|seem|yet|at|by|here|there|now|"
    r"be|hesitate|start|implement|commit|push|merge|continue|proceed|wait|do|make|touch)$",
    re.IGNORECASE,
)
_THAT_ONE = re.compile(
    r"^\s*(?:this|that|it|these|those|them|anything|everything|any of|the (?:same|last|current|first))\b", re.IGNORECASE
)
_WRONG = re.compile(
    r"\b(?:that|this|it|which)(?:'s| is| was)(?:n'?t| not) (?:quite |really )?(?:correct|right|true|how (?:we|it|this)|what (?:we|i))\b|\b(?:that|this|it|which)(?:'s| is| was) (?:wrong|incorrect|false)\b"
    r"|\bthat'?s a (?:common )?(?:misconception|mistake)\b|\bcommon misconception\b",
    re.IGNORECASE,
)
_RULE = re.compile(r"\b(?:we|should|must|is|are|needs?|has to|only|never|always)\b", re.IGNORECASE)
_WE = re.compile(
    r"^we (?:don'?t|do not|never|always|only|usually|use|prefer|keep|avoid|want all|require)\s+(?P<what>(?!need|have|know|see|think|care|even|really|want|seem|get|do\b|currently|yet|currently)\w+.*)",
    re.IGNORECASE,
)
_GENERIC = re.compile(
    r"^(?P<who>(?!it|this|that|he|she|they|there|i|you|we)[\w`'./ -]{3,60}?) (?:is|are) (?:never|always|only|not (?:allowed|supposed|meant|considered))\b",
    re.IGNORECASE,
)
_REJECTS = re.compile(
    r"^(?:let'?s|i think we should|we should|prefer|use|keep|put|make|rename|we (?:do|have|use|already)|it should|the \w+ should)\b",
    re.IGNORECASE,
)


def mine_corrections(events: Events) -> Iterator[Found]:
    """Yield the rules behind corrections."""
    yield from filter(None, map(_put_right, statements(events)))
    for statement in lasting(events):
        found = _forbidden(statement) or _ruled(statement) or _refused(statement)
        if found:
            yield found


def _put_right(statement: Statement) -> Found | None:
    """ "That is not correct, we ...": the rule is what follows."""
    wrong = _WRONG.search(statement.sentence.text)
    if not wrong or statement.sentence.is_question or statement.sentence.is_guess:
        return None
    rest = statement.sentence.text[wrong.end() :].strip(" ,;:.–—-")
    if (
        content_words(rest) <= MIN_CONTENT
        or not _RULE.search(rest)
        or rest.lower().startswith(("but", "it ", "this", "that", "if"))
    ):
        return None
    return statement.found(NAME, category_of(rest, "constraint"), 0.65, "user_correction", rest)


def _forbidden(statement: Statement) -> Found | None:
    """ "Don't ...": lasts when a reason is given, or when it refuses what was done and names no single thing."""
    dont = _DONT.search(statement.sentence.text)
    if not dont or _NOT_A_RULE.match(dont["verb"]) or _THAT_ONE.match(dont["what"]) or content_words(dont["what"]) < 1:
        return None
    confidence = (
        0.75 if statement.has_reason else 0.6 if statement.turn.is_rejection or statement.turn.after_work else 0.5
    )
    origin = "user_correction" if statement.turn.after_work or statement.turn.is_rejection else "user_explicit"
    return statement.found(NAME, category_of(statement.sentence.text, "preference"), confidence, origin)


def _ruled(statement: Statement) -> Found | None:
    """ "We don't ...", "X are never Y": how things are done here, said about what was just done."""
    words = statement.sentence.text
    we = _WE.match(words)
    if (we and content_words(we["what"]) >= MIN_CONTENT) or _GENERIC.match(words):
        confidence = 0.65 if statement.turn.after_work or statement.turn.is_rejection else 0.55
        return statement.found(NAME, category_of(words, "constraint"), confidence, "user_correction")
    return None


def _refused(statement: Statement) -> Found | None:
    """The reason of a refused tool call, where it says how to do it instead."""
    words = statement.sentence.text
    if statement.turn.is_rejection and _REJECTS.match(words) and content_words(words) > MIN_CONTENT:
        return statement.found(NAME, category_of(words, "decision"), 0.6, "user_correction")
    return None
