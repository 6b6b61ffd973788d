"""Corrections: a person rejects what the assistant did or was about to do, and says how it should be."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import MIN_CONTENT, Statement, category_of, content_words, lasting, statements

NAME = "correction"
_DONT = re.compile(
    r"(?:^|[,;:]\s+|\b(?:and|but|so|please)\s+)(?:please )?(?:you (?:should|must|may) (?:not|never)"
    r"|you shouldn'?t|don'?t|do not|let'?s not|stop|avoid|quit|no need to)\s+"
    r"(?P<verb>[\w'-]+)(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NOT_A_RULE = re.compile(
    r"^(?:worry|know|think|bother|care|need|mind|see|understand|have|get|want|like|believe|remember"
    r"|stop|forget|feel|even|really|work|exist|matter|seem|yet|at|by|here|there|now|"
    r"be|being|doing|saying|talking|trying|working|guessing|hesitate|start|implement|commit|push|merge"
    r"|continue|proceed|wait|do|make|touch)$",
    re.IGNORECASE,
)
_THAT_ONE = re.compile(
    r"^\s*(?:this|that|it|these|those|them|anything|everything|any of|the (?:same|last|current|first))\b", re.IGNORECASE
)
_HANGS = re.compile(r"\b(?:for|like|with|about|on|of|to|in) (?:that|this|it|them)[.!]?$", re.IGNORECASE)
_WRONG = re.compile(
    r"\b(?:that|this|it|which)(?:'s| is| was)(?:n'?t| not) (?:quite |really )?(?:correct|right|true"
    r"|how (?:we|it|this)|what (?:we|i))\b|\b(?:that|this|it|which)(?:'s| is| was) (?:wrong|incorrect"
    r"|false)\b"
    r"|\bthat'?s a (?:common )?(?:misconception|mistake)\b|\bcommon misconception\b",
    re.IGNORECASE,
)
# "the stop hook is not right, that is called after a turn": what a thing is, said against what it was taken for
_MISTAKEN = re.compile(
    r"^(?!(?:it|this|that|which|there|i|you|we|something|everything|nothing)\b)(?P<what>[\w`'./ -]{3,60}?) "
    r"(?:is|are|was)(?:n'?t| not) (?:quite |really )?(?:correct|right|true|accurate)\b[,;.:\s\u2013—-]+"
    r"(?:that|this|it|they|those)(?:'s|'re| is| are| was| means?) (?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_RULE = re.compile(r"\b(?:we|should|must|is|are|needs?|has to|only|never|always)\b", re.IGNORECASE)
_WE = re.compile(
    r"^we (?:don'?t|do not|never|always|only|usually|use|prefer|keep|avoid|want all"
    r"|require)\s+(?P<what>(?!need|have|know|see|think|care|even|really|want|seem|get|do\b|currently"
    r"|yet|currently)\w+.*)",
    re.IGNORECASE,
)
_GENERIC = re.compile(
    # "the value is never read" tells of a fault; a rule speaks of a kind of thing, or says what is meant to be
    r"^(?!(?:it|this|that|he|she|they|there|i|you|we|what|which)\b)(?:(?!(?:the|a|an|my|your"
    r"|its)\b)[\w`'./ -]{3,60}? (?:is|are) (?:never|always|only)"
    r"|[\w`'./ -]{3,60}? (?:is|are) not (?:allowed|supposed|meant|considered))\b",
    re.IGNORECASE,
)
_REJECTS = re.compile(
    r"^(?:(?:i think )?let'?s (?!(?:not|wait|stop|see|look|talk|discuss|check|think|try|go|hold|pause|start|continue"
    r"|move on|revert|undo|roll)\b)|i think we should|we should|prefer|use|keep|put|make|rename"
    r"|we (?:use|already)|it should|the \w+ should)\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"^(?:not to|never|always|only|use|write|put|keep|run|call|name|avoid|format|commit|store|save|leave|sort"
    r"|prefix|import)\b"
    r"(?! (?:it|this|that|these|those|them)\b)",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"\b(?P<rule>only (?:the |a |an )?[\w`'./ -]{3,60}? (?:should|may|must|is allowed|are allowed|can|shall)\b.*)",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    r"^(?!(?:it|this|that|these|those|i)\b)[\w`'./ -]{3,80}? should (?:be "
    r"|only )?[\w`'./ -]{3,100}?,? (?:and )?not (?!sure|yet)\w",
    re.IGNORECASE,
)
_WHY_NOT = re.compile(
    r"^(?:can'?t|couldn'?t|shouldn'?t|don'?t|why (?:not|don'?t|aren'?t|can'?t)|why (?:are"
    r"|do) we not)\b(?! (?:you|it) )(?P<what>.*)",
    re.IGNORECASE,
)


# how the assistant has to work, said after it worked in another way: "you have to use a verifying double"
_YOU_HAVE_TO = re.compile(
    r"^(?:(?:no|but|and|actually|also),? )*you (?:always |also |really )?(?:should|must|need to|have to"
    r"|ought to)(?: not|n'?t)?"
    r" (?:always |never |only |also )?(?:use|follow|write|keep|put|name|delegate|prefer|avoid|respect|add"
    r"|document|verify"
    r"|include|ask|go through|rely on|stick|call|import)\b(?! (?:it|this|that|these|those|them|me|able)\b)(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)


def mine_corrections(events: Events) -> Iterator[Found]:
    """Yield the rules behind corrections."""
    for statement in statements(events):
        found = (
            _put_right(statement)
            or _asked_back(statement)
            or _only(statement)
            or _refused(statement)
            or _reminded(statement)
        )
        if found:
            yield found
    for statement in lasting(events):
        found = _told_again(statement) or _forbidden(statement) or _ruled(statement)
        if found:
            yield found


def _put_right(statement: Statement) -> Found | None:
    """Take "That is not correct, we ...": the rule is what follows."""
    mistaken = _MISTAKEN.match(statement.sentence.text)
    if mistaken and not (statement.sentence.is_question or statement.sentence.is_guess):
        if content_words(mistaken["rest"]) < MIN_CONTENT:
            return None
        return statement.found(NAME, "project", 0.65, "user_correction")
    wrong = _WRONG.search(statement.sentence.text)
    if not wrong or statement.sentence.is_question or statement.sentence.is_guess:
        return None
    rest = statement.sentence.text[wrong.end() :].strip(" ,;:.\u2013—-")
    if (
        content_words(rest) <= MIN_CONTENT
        or not _RULE.search(rest)
        or rest.lower().startswith(("but", "it ", "this", "that", "if"))
    ):
        return None
    return statement.found(NAME, category_of(rest, "constraint"), 0.65, "user_correction", rest)


def _only(statement: Statement) -> Found | None:
    """Take "this should not be changed, only X should ...": the rule stands by itself behind what it refuses."""
    only = _ONLY.search(statement.sentence.text)
    if statement.sentence.points_back and only and not statement.sentence.is_question:
        return statement.found(NAME, "constraint", 0.6, "user_correction", only["rule"])
    return None


def _asked_back(statement: Statement) -> Found | None:
    """A refusal in the form of a question ("can't we ...?") names what was wanted; alone it is weak."""
    asked = _WHY_NOT.match(statement.sentence.text)
    if asked and statement.turn.is_rejection and content_words(asked["what"]) > MIN_CONTENT:
        return statement.found(NAME, "preference", 0.5, "user_correction")
    return None


def _told_again(statement: Statement) -> Found | None:
    """Take "I told you to use pnpm": who has to say it twice means it for good."""
    words = statement.sentence.text
    if statement.sentence.is_repeated and _TOLD.match(words) and content_words(words) >= 1:
        return statement.found(NAME, category_of(words, "preference"), 0.7, "user_correction")
    return None


def _forbidden(statement: Statement) -> Found | None:
    """Take "Don't ...": lasts when a reason is given, or when it refuses what was done and names no single thing."""
    dont = _DONT.search(statement.sentence.text)
    if not dont or _NOT_A_RULE.match(dont["verb"]) or _THAT_ONE.match(dont["what"]):
        return None
    if _HANGS.search(statement.sentence.text) or content_words(dont["what"]) < 1:
        return None
    confidence = (
        0.75 if statement.has_reason else 0.6 if statement.turn.is_rejection or statement.turn.after_work else 0.5
    )
    if statement.is_brief and not statement.has_reason:
        confidence = 0.12
    origin = "user_correction" if statement.turn.after_work or statement.turn.is_rejection else "user_explicit"
    return statement.found(NAME, category_of(statement.sentence.text, "preference"), confidence, origin)


def _ruled(statement: Statement) -> Found | None:
    """Take "We don't ...", "X are never Y": how things are done here, said about what was just done."""
    words = statement.sentence.text
    we = _WE.match(words)
    corrects = statement.turn.after_work or statement.turn.is_rejection
    only = _ONLY.search(words) if corrects else None
    if only and not we and not statement.sentence.is_guess:
        return statement.found(NAME, "constraint", 0.6, "user_correction", only["rule"])
    if (
        (we and content_words(we["what"]) >= MIN_CONTENT)
        or _GENERIC.match(words)
        or (corrects and _NOT_BUT.match(words))
    ):
        confidence = 0.65 if corrects else 0.55
        return statement.found(NAME, category_of(words, "constraint"), confidence, "user_correction")
    return None


def _reminded(statement: Statement) -> Found | None:
    """Take "you have to use X", where the assistant has worked already."""
    has_to = _YOU_HAVE_TO.match(statement.sentence.text)
    if not has_to or not (statement.turn.after_work or statement.turn.is_rejection) or statement.sentence.is_question:
        return None
    if content_words(has_to["what"]) < MIN_CONTENT:
        return None
    less = 0.15 * statement.sentence.is_momentary
    return statement.found(NAME, category_of(statement.sentence.text, "preference"), 0.55 - less, "user_correction")


def _refused(statement: Statement) -> Found | None:
    """The reason of a refused tool call, where it says how to do it instead."""
    words = statement.sentence.text
    said = statement.sentence
    if not statement.turn.is_rejection or said.is_question or said.points_back:
        return None
    # what has to come first is no matter of the moment: "let's cut a branch first"
    if said.is_momentary and not words.rstrip(".!").endswith("first"):
        return None
    if _REJECTS.match(words) and content_words(words) >= MIN_CONTENT:
        return statement.found(NAME, category_of(words, "decision"), 0.6, "user_correction")
    return None
