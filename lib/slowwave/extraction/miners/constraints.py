"""Constraints: what must hold, whoever works on it ("must support Python 3.8", "only X is allowed")."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.keys import key_of
from slowwave.extraction.statements import Statement, statements

NAME = "constraint"
_MUST = re.compile(
    r"\b(?:must(?: not|n'?t)?|muss|müssen|darf (?:nicht|kein\w*)|debe|doit)\b(?! be (?:a|an|the|some"
    r"|something|because)\b)(?! have\b)",
    re.IGNORECASE,
)
_ALLOWED = re.compile(
    r"\b(?:is|are) (?:not |never |only )(?:allowed|permitted|acceptable|an option)\b|\bnot negotiable\b"
    r"|\b(?:is|are) (?:strictly )?(?:forbidden|prohibited|mandatory|off[- ]limits)\b",
    re.IGNORECASE,
)
_NEEDS = re.compile(
    r"\b(?:has|have|needs?) to (?:always |never |still |only )?(?:work|support|run|stay|remain|keep"
    r"|pass|be (?:compatible|backwards?|readable|reproducible|strict))\b",
    re.IGNORECASE,
)
_ENSURE = re.compile(
    r"\b(?:ensure|make sure|be sure to)\b.*\b(?:strict(?:ly)?|always|never|any|all|every|each|only|no|new)\b",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"^(?:any|all|every|each|anything|everything|nothing)\b[\w`'./() -]{3,90}? (?:should|shall|may|must|can(?:not| be)"
    r"|goes|go|belongs?|lives?) \w",
    re.IGNORECASE,
)
# who does a kind of work has to do one thing more
_ALSO = re.compile(
    r"^(?!(?:i|we|you|it|this|that|these|those|they|he|she|there|one|someone|what|which)\b)(?:the |every |each |our )?"
    r"[\w`'./-]+(?: [\w`'./-]+){0,3} (?:also|always|only) (?:needs?|has|have|ought|must|should)(?: to)? \w+ \w",
    re.IGNORECASE,
)
_NOT_MANY = re.compile(
    r"^all (?:of (?:this|that|these|those)|this|that|these|those|good|set|done|tests? (?:should )?pass)\b",
    re.IGNORECASE,
)
# "there should be no second cache": what may not be there
_NONE = re.compile(
    r"\bthere (?:should|must|shall|may|can) (?:be no|not be any|never be|only be)\b (?!need\b|reason\b)", re.IGNORECASE
)
_NO = re.compile(
    r"^no (?:new |external |third[- ]party |more |extra |additional |hard-?coded "
    r"|inline )*(?P<what>[\w-]+s|\w+ing|\w+ware|emoji|magic)\b(?!\?)",
    re.IGNORECASE,
)
_NOT_A_RULE = re.compile(
    r"\bno (?:worries|problems|thanks|changes|issues|errors|results|tests|files|findings|comments"
    r"|longer|idea|this|questions|differences|updates)\b|\b(?:must have|you must be|there must"
    r"|it must)\b|\bmust be \w+ (?:somewhere|somehow|because|by|from)\b",
    re.IGNORECASE,
)


# an order to do something now may say how, which does not make it a rule
_ORDER = re.compile(
    r"^(?:add|fix|implement|create|write|build|change|update|refactor|move|rename|remove|delete|convert"
    r"|generate|replace|extend|show|check"
    r"|look|find|investigate|analy[sz]e|review|test|run|set|put|display|open|go)\b",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"^(?:the|our|my) (?:minimum|maximum|oldest|lowest|highest|newest|only)\b.{3,80}\b(?:is|are)\b", re.IGNORECASE
)


def mine_constraints(events: Events) -> Iterator[Found]:
    """Yield constraints that a person states."""
    for statement in statements(events):
        sentence = statement.sentence
        if sentence.is_question or sentence.is_momentary:
            continue
        # "it has to run on Python 3.9" is about the project itself
        if sentence.points_back and not key_of(sentence.text)[0].startswith("runtime:"):
            continue
        confidence = _prior(statement)
        if confidence:
            yield statement.found(NAME, "constraint", confidence, "user_explicit")


def _prior(statement: Statement) -> float:
    words = statement.sentence.text
    if statement.sentence.is_guess or _NOT_A_RULE.search(words) or _NOT_MANY.match(words):
        return 0.0
    if _ORDER.match(words) and not _ALLOWED.search(words):
        return 0.0
    bonus = (0.05 if statement.has_reason else 0.0) + (0.05 if key_of(words)[0] else 0.0)
    for pattern, prior in (
        (_ALLOWED, 0.7),
        (_MUST, 0.65),
        (_LIMIT, 0.65),
        (_NEEDS, 0.6),
        (_NO, 0.6),
        (_NONE, 0.6),
        (_EVERY, 0.5),
        (_ALSO, 0.45),
        (_ENSURE, 0.3),
    ):
        if pattern.search(words):
            return prior + bonus
    return 0.0
