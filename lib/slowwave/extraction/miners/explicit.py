"""What a person asks to be remembered, and rules they give for the future ("from now on", "always", "never")."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.sentences import spelled
from slowwave.extraction.statements import MIN_CONTENT, Statement, category_of, statements

NAME = "explicit"
_SHORT = 4
_ASKING = (
    r"^(?:(?:can|could|would|will) you (?:please )?|i(?:'d| would)? (?:want|like|need) you to "
    r"|(?:(?:you|we) (?:should|must|need to|have to) (?:also )?))?(?:please )?"
)
_REMEMBER = re.compile(
    _ASKING + r"(?:remember|memori[sz]e|keep in mind|bear in mind|make a (?:mental )?note|take (?:a )?note"
    r"|write (?:this|that) down|note (?:this |that )?(?:down )?for (?:the )?"
    r"(?:future|later|next time)|for (?:future|later) reference|for the record|(?:add|save|put|store"
    r"|write|commit) (?:this|that|it) (?:down )?(?:in)?to (?:your |the |my )?"
    r"(?:long[- ]term )?memory|note to self|merk(?:e)? dir|denk daran|behalte im kopf|recuerda"
    r"|ten en cuenta|souviens-toi|rappelle-toi|ricorda|lembre-se)"
    r"\b[,:;]?\s*(?:that|this|dass|que|the following|always)?\b\s*[:,]?\s*(?P<fact>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_NOT_A_REQUEST = re.compile(
    r"^(?:when|how|what|if|why|where|me\b|our (?:last|earlier)|we (?:talked|discussed)|the last time|i said|you said)",
    re.IGNORECASE,
)
# "remember the plan?" reminds of a thing; only a statement about it can be kept
_THING = re.compile(r"^(?:the|this|that|those|these|my|our|your|what|about|@)", re.IGNORECASE)
_STATES = re.compile(
    r"\b(?:is|are|was|were|isn'?t|aren'?t|must|should|has|have|needs?|will|can|cannot|lives?|uses?"
    r"|runs?|goes|go|takes?|means|belongs?|expects?|requires?|wants?|likes?|prefers?)\b",
    re.IGNORECASE,
)
# a person notes it for themselves: it has a date of its own, or is about their day rather than the work
_REMINDER = re.compile(
    r"^(?:to\b(?!.*\b(?:each|every|always|never|whenever)\b)|i(?:'m| am|'ll| will| have to| need to)\b).*"
    r"\b(?:today|tonight|tomorrow|this (?:morning|afternoon|evening)|later"
    r"|at \d{1,2}(?::\d\d)? ?(?:[ap]m|o'clock|uhr)|(?:on|next|this) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|next (?:week|month)|morgen|heute)\b",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    r"^(?:to )?(?:(?:take|have|get) (?:a |an |some |the |my )?(?:break|rest|nap|walk|lunch|dinner|coffee"
    r"|day off|vacation"
    r"|holiday|sleep|shower|air)|eat|drink|sleep|relax|breathe|stretch|rest|smile|have fun|enjoy|go (?:home"
    r"|to bed|outside"
    r"|shopping)|pick up (?:the |my )?(?:kids?|laundry|milk)|buy|phone|call (?:my |mum|mom|dad|the (?:doctor|dentist"
    r"|bank)))\b",
    re.IGNORECASE,
)
# "keep in mind that we may need it": an aside, which nobody can keep to
_MAY_BE = re.compile(r"\b(?:might|could|(?:we|i|you|they) may|maybe|perhaps)\b", re.IGNORECASE)
_FORGET = re.compile(
    _ASKING
    + r"(?:don'?t forget|do not forget|note that|fyi|nicht vergessen|no olvides|n'oublie pas)\b[,:]?\s*(?P<fact>.*)$",
    re.IGNORECASE,
)
_FUTURE = re.compile(
    r"\b(?:from now on|from here on(?: out)?|going forward|moving forward|henceforth|from today on"
    r"|as a (?:general )?rule|rule of thumb|ab jetzt|ab sofort|von nun an"
    r"|in zukunft|künftig|à partir de maintenant|dorénavant|a partir de ahora|de ahora en adelante"
    r"|d'ora in poi|a partir de agora|(?:for )?next time)\b",
    re.IGNORECASE,
)
_IN_FUTURE = re.compile(
    r"^in (?:the )?future\b|\bin (?:the )?future[,:]? (?:please|always|never|do|don'?t|use|make|keep"
    r"|you|we should)\b|(?:please|don'?t|always|never)\b.*\bin (?:the )?future[.!]?$",
    re.IGNORECASE,
)
_ALWAYS = re.compile(
    r"(?:^|[,;:\u2013—-]\s+|\b(?:and|but|so|please|then)\s+)(?:please )?(?:(?:you can |(?:you|we) )(?:should "
    r"|must |need to |have to |may |will )?|i (?:want|need|expect|would like|'d like) you to )?"
    r"(?P<rule>(?:always|never)\s+(?P<verb>[\w'-]+))",
    re.IGNORECASE,
)
_NOT_A_RULE = re.compile(
    r"^(?:mind|ending|been|had|seen|got|gotten|done|made|went|was|were|is|are|has|have|works?|happens?"
    r"|fails?|gets?|crash\w*|returns?|shows?|shown|ends?|finish\w*|saw|did|"
    r"the|a|an|in|on|there|empty|true|false|null|heard|knew|know|thought|said|told|tried|again|before"
    r"|liked|loved|wanted|\w{3,}ed|\w{3,}ing)$",
    re.IGNORECASE,
)
_WHENEVER = re.compile(
    r"\b(?:whenever|every time|each time|any ?time|jedes mal wenn|immer wenn)\b\s+(?:you|we|there|a |an |the )",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"\b(?:crash\w*|fail\w*|error\w*|broken|breaks|bug|hangs?|i (?:get|see|run|open|click|try|start"
    r"|type|press)|it (?:shows|says|gets|goes|takes|does))\b",
    re.IGNORECASE,
)


def mine_explicit(events: Events) -> Iterator[Found]:
    """Yield requests to remember and standing rules."""
    for statement in statements(events):
        found = _requested(statement) or _ruled(statement)
        if found:
            yield found


def _requested(statement: Statement) -> Found | None:
    """A person asks to remember something: nearly certain, also when it is said politely as a question."""
    words = statement.sentence.text
    for pattern, prior in ((_REMEMBER, 0.95), (_FORGET, 0.6)):
        match = pattern.match(words)
        if match and _is_fact(match["fact"]) and (pattern is _REMEMBER or len(match["fact"].split()) > _SHORT):
            confidence = prior - _doubt(statement, match["fact"])
            fact = match["fact"].strip().rstrip("?")
            # "remember to run it": a way of working, not a thing that is so
            default = "preference" if fact.startswith("to ") else "project"
            text = f"{fact.removeprefix('to ')} {statement.reason}".strip()
            return statement.found(NAME, category_of(text, default), confidence, "user_explicit", text)
    return None


def _doubt(statement: Statement, fact: str) -> float:
    """Return how much less certain it is that the fact lasts; a guess counts less anyway."""
    if _MAY_BE.search(fact):
        return 0.7 if statement.sentence.is_guess else 0.85
    return 0.4 if statement.sentence.is_momentary else 0.0


def _is_fact(words: str) -> bool:
    """Say whether what is to be remembered says anything."""
    if len(words.split()) < MIN_CONTENT or _NOT_A_REQUEST.match(words):
        return False
    if _PERSONAL.match(words) or _REMINDER.match(words):
        return False
    return not _THING.match(words) or bool(_STATES.search(words))


def _ruled(statement: Statement) -> Found | None:
    sentence = statement.sentence
    words = spelled(sentence.text)
    if _FUTURE.search(words) or _IN_FUTURE.search(words):
        if sentence.is_question and not words.lower().startswith(("can you", "could you", "would you", "will you")):
            return None
        return statement.found(NAME, category_of(words, "preference"), 0.9, "user_explicit")
    if sentence.is_question or sentence.is_momentary or sentence.points_back:
        return None
    rule = _ALWAYS.search(words)
    if rule and not _NOT_A_RULE.match(rule["verb"]):
        # "you can always ..." offers, it does not rule
        prior = 0.1 if "can always" in words.lower() else 0.85
        return statement.found(NAME, category_of(words, "preference"), prior, "user_explicit")
    if _WHENEVER.search(words) and not _COMPLAINT.search(words):
        return statement.found(NAME, category_of(words, "pattern"), 0.7, "user_explicit")
    return None
