"""How things stand here: what is obsolete or replaced, what counts as the truth, what need not be cared for."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import MIN_CONTENT, Statement, content_words, statements
from slowwave.memory.model import Category

NAME = "standing"
_GONE = re.compile(
    r"\b(?:no longer|not \w+ anymore|not \w+ any more)(?: being)? (?:supported|used|needed|maintained|required|valid"
    r"|relevant|exists?|available|part of)\b"
    r"|\b(?:is|are|'s|was|were|been|as|it|be|marked (?:it|them|as)) (?:now |already |hard |soft |fully )*"
    r"(?:deprecated|obsolete|discontinued|superseded|outdated|retired)\b"
    r"|\b(?:is|are|'s|was|were|been|be|gets?) (?:now |being |already |fully )*(?:replaced|superseded) by\b"
    r"|\b(?:isn'?t|aren'?t|not) (?:used|supported|needed|maintained) any ?more\b"
    r"|\b(?:wird|werden) nicht mehr\b|\bn'est plus\b|\bya no (?:se|es)\b",
    re.IGNORECASE,
)
_TRUTH = re.compile(r"\b(?:single )?source of truth\b|\bthe (?:canonical|authoritative|reference) \w+", re.IGNORECASE)
_NO_NEED = re.compile(
    r"\b(?:no|without|don'?t need|do not need|don'?t care about|not worried about|ignore) "
    r"(?:any |for |to (?:keep|maintain|support|have|worry about|care about) |keeping )?"
    r"(?:the )?(?:back(?:wards?)?[- ]?compat\w*|legacy|migrations?|old (?:versions?|format|clients?))"
    r"|\bno (?:need|reason) (?:for|to (?:support|keep|maintain|care|worry|handle))\b"
    r"|\b(?:no|don'?t have(?: any)?) (?:real |actual |production )?users(?: yet)?\b"
    r"|\bnot (?:been )?(?:released|published|shipped|in production) yet\b",
    re.IGNORECASE,
)
_APART = re.compile(
    r"\b(?:has|have) nothing to do with\b|\b(?:is|are) (?:completely |totally )?(?:unrelated to"
    r"|independent (?:of|from))\b"
    r"|^(?:it|this|that|\w+) (?:is|'s) an? [\w -]{3,40}, not (?:an? )?\w+",
    re.IGNORECASE,
)
_CARELESS = re.compile(
    r"\b(?:i|we) (?:really )?(?:don'?t|do not) care (?:about|how|if|whether)\b(?P<what>.*)", re.IGNORECASE | re.DOTALL
)
_HERE = re.compile(
    r"\b(?:in|for|with) (?:this|our|the) (?:repo(?:sitory)?|project|codebase|code base|organi[sz]ation|team|company),?"
    r"(?: \w+)? we (?:want|use|need|have|keep|commit|do|don'?t|never|always|only|prefer|follow|write|run|put)\b",
    re.IGNORECASE,
)
_HAVE = re.compile(
    r"^we (?:already |also |now )?(?:have|host|run|keep) (?!(?:an? )?(?:bunch|lot|few|couple|some|many|several"
    r"|two|three"
    r"|\d+|more|no|to|problem|issue)\b)(?:our |an? |the |own |local )*[\w-]+(?: [\w-]+){0,4} "
    r"(?:(?:at|in|under|on|running|behind|hosted)\b|\(?https?://)",
    re.IGNORECASE,
)
# what the thing is that is worked on
_IS = re.compile(
    r"^(?:this|the|our|my) (?:\w+ )?(?:project|repo(?:sitory)?|app(?:lication)?|tool|library|package|service"
    r"|device|system"
    r"|site|website|game|bot|firmware|product|codebase|cli|api|plugin|extension|package|module|dataset|model)s? "
    r"(?:is|are|contains?|uses?|targets?|consists?|runs?|serves?|is using) "
    r"(?!(?:now|not|still|already|currently|just|really|very|too|so|fine|good|ok|done|ready|wrong|here|there|gone|fixed"
    r"|in|on|at|up|down|empty|slow|fast|big|large|small|clear|called|correct|great|cool|the same|like|that|what"
    r"|where|all"
    r"|being|\w+ing)\b)(?P<what>\w.*)"
    r"|^(?:i'?m|i am|we'?re|we are) (?:building|developing|making|creating|writing) (?:an? |the |our )(?P<it>.*)",
    re.IGNORECASE | re.DOTALL,
)
# how much of it there is: what a design has to bear
_SCALE = re.compile(
    r"^(?:i|we)(?:'ll| will)? (?:expect|have|serve|handle|anticipate|plan for) (?:about |around |up to |at most |only "
    r"|roughly |maybe |some )*(?:\d[\d,.]*[kKmM]?|dozens|hundreds|thousands|millions|a (?:few|handful|couple) (?:of )?"
    r"(?:dozen|hundred|thousand|million))\b(?! (?:error|warning|fail|test|issue|bug|question|problem|file|option|choice"
    r"|thing|commit|line|time|more|pr)s?\b)(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_MAY_BE = re.compile(r"\b(?:might|may|could|perhaps|probably) (?:be|have|not|no)\b", re.IGNORECASE)
_FAULT = re.compile(
    r"\b(?:warn(?:ing)?s?|errors?|fails?|failing|says|shows|message|bug|broken|issue|crash\w*)\b", re.IGNORECASE
)


def mine_standing(events: Events) -> Iterator[Found]:
    """Yield what a person says of the state of things, also as the reason of a request."""
    for statement in statements(events):
        found = _stands(statement)
        if found:
            yield found


def _stands(statement: Statement) -> Found | None:
    words = statement.sentence.text
    if (statement.sentence.is_question and not statement.has_reason) or _FAULT.search(words):
        return None
    if content_words(words) < MIN_CONTENT or (statement.sentence.is_guess and _MAY_BE.search(words)):
        return None
    rules: tuple[tuple[re.Pattern[str], float, Category], ...] = (
        (_TRUTH, 0.7, "decision"),
        (_HERE, 0.65, "constraint"),
        (_GONE, 0.6, "decision"),
        (_NO_NEED, 0.6, "constraint"),
        (_APART, 0.5, "project"),
        (_HAVE, 0.55, "project"),
        (_IS, 0.5, "project"),
        (_SCALE, 0.5, "project"),
    )
    for pattern, prior, category in rules:
        if pattern.search(words):
            return statement.found(NAME, category, prior, "user_explicit")
    careless = _CARELESS.search(words)
    if careless and content_words(careless["what"]) >= 1:
        return statement.found(NAME, "preference", 0.55, "user_explicit")
    return None
