"""Ways of working that a person lays down: how things are run, where they are, what goes along with what."""

import re
from collections.abc import Iterator
from dataclasses import replace

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import Statement, category_of, lasting, statements

NAME = "habit"
_DOES = (
    r"(?:run(?:ning)?|build(?:ing)?|test(?:ing)?|lint(?:ing)?|format(?:ting)?"
    r"|deploy(?:ing)?|start(?:ing)?|releas(?:e|ing))"
)
_USE_TO = re.compile(
    rf"^(?:use|run)\s+(?P<call>`[^`]+`|\S+(?: \S+){{0,5}}?)\s+(?:to|for) (?P<what>{_DOES}\b.*)$", re.IGNORECASE
)
_TO_USE = re.compile(
    rf"^to (?P<what>{_DOES}\b[^,`]*?),? (?:use|run|call)\s+(?P<call>`[^`]+`|\S+(?: \S+){{0,5}})$", re.IGNORECASE
)
_PURPOSES = (
    ("test", "cmd:test"),
    ("lint", "cmd:lint"),
    ("format", "cmd:format"),
    ("build", "cmd:build"),
    ("deploy", "cmd:deploy"),
)
_WHEN = re.compile(
    r"^(?:when(?:ever)?|if|once|before|after|as|while|each time|every time) (?:you|we) (?!(?:are|'re|have|get"
    r"|finish)\b)\w+[^,?]*,\s*(?:please )?(?:also |always |then |make sure to )?"
    r"(?:update|run|use|add|write|ask|check|evaluate|verify|test|keep|don'?t|do not|put|regenerate|rebuild|bump|commit"
    r"|create|tell|document|sync)\b",
    re.IGNORECASE,
)
_IF = re.compile(
    r"^(?:when(?:ever)?|if|once|each time|every time|any ?time) (?!(?:so|not|you (?:are|have|can)|we (?:are|have|do|did"
    r"|want))\b)[^?]{6,90}?,? (?:we|you) (?:should|must|need to|have to|ought to) (?:also |always |never )?"
    r"(?!(?:be able|have a|see|check|do (?:it|that|this)|know|wait)\b)\w+ \w",
    re.IGNORECASE,
)
_KEEP = re.compile(
    r"^(?:please )?(?:keep|use|write|name|format|answer|reply|prefix|document)\b(?! (?:it|this|that"
    r"|these|those|them|going|the same|all of)\b).{3,120}"
    r"\b(?:in all|in every|for all|for every|everywhere|throughout|across the|under \d+|below \d+"
    r"|at most|no more than|short|brief|concise|to a minimum)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"^(?:(?:the|our|all|my) )?[\w`'/. -]{3,60}? "
    r"(?:lives? (?=(?:in|at|under|on|inside)\b)|runs? on|comes? from"
    r"|(?:is|are) (?:stored|located|hosted|deployed|generated|kept|defined|maintained|called|named))"
    r"(?:\b ?(?:in|at|under|on|by|with|from|to|inside))? [\w`'/.@~-]",
    re.IGNORECASE,
)
# who is in charge of what: a name or a team, never a thing or a pronoun
_WHO = (
    r"(?:(?-i:[A-Z][\w-]+)(?: (?-i:[A-Z][\w-]+))?|(?:the |our )?[\w-]+(?: [\w-]+)? (?:team|group|squad|guild|people))"
)
_PART = (
    r"(?:module|service|package|library|app|api|database|schema|repo(?:sitory)?|folder|directory|pipeline|deploy\w*"
    r"|script|component|infrastructure|code|config\w*|docs|documentation|release|design|frontend|backend|cluster|server"
    r"|account|part|area|plugin|crate|test suite|migration|build|job|queue)s?"
)
_OWNER = re.compile(
    rf"^(?:(?:the|our|all|everything in) )?[\w`'/. -]{{1,50}}?\b{_PART}`? (?:belongs? to|(?:is|are) (?:owned"
    rf"|maintained|run|handled) by"
    rf"|(?:is|are) (?:the )?(?:responsibility of|up to)) {_WHO}\b"
    rf"|^(?-i:[A-Z][\w-]+|(?:The|the) [\w-]+ team) (?:owns?|maintains?|is (?:responsible for|in charge of|the owner of"
    rf"|the maintainer of)|looks after) (?:the |our |all )?[\w`'/. -]{{1,50}}",
    re.IGNORECASE,
)
_NOBODY = re.compile(
    r"^(?:it|this|that|he|she|they|there|who|what|which|nobody|everybody|somebody|someone|everyone)\b", re.IGNORECASE
)
# where a kind of thing goes: "tests go into tests/unit"
_GOES = re.compile(
    r"^(?:(?:the|our|all|new|any|every) )*[\w`'-]+(?: [\w`'-]+){0,3} (?:go(?:es)?|belongs?|are put|should go"
    r"|must go|shall go) "
    r"(?:in|into|to|under|below|inside|next to|at) (?:the )?(?P<where>`[^`]+`|\S*[/._]\S*\w|[\w-]+ (?:folder"
    r"|directory|package"
    r"|module|branch|repo(?:sitory)?|file))",
    re.IGNORECASE,
)
_FAULT = re.compile(
    r"\b(?:wrong|but|should|bug|error|currently|now|why|instead|missing|broken|fails?|twice|again"
    r"|nowhere|somewhere|if|when)\b",
    re.IGNORECASE,
)
_IGNORE = re.compile(
    r"^you (?:can|may) (?:safely )?(?:ignore|assume)\b(?! (?:it|this|that|them|those)\b)", re.IGNORECASE
)


def mine_habits(events: Events) -> Iterator[Found]:
    """Yield ways of working and places of things."""
    for statement in statements(events):
        # "when" also begins questions, which end in a question mark
        words, has_mark = statement.sentence.text, "?" in statement.sentence.text
        if _IF.match(words) and not has_mark and not (statement.sentence.is_momentary or statement.sentence.is_guess):
            yield statement.found(NAME, category_of(words, "pattern"), 0.5, "user_explicit")
        elif _WHEN.match(words) and not has_mark:
            yield statement.found(NAME, category_of(statement.sentence.text, "pattern"), 0.65, "user_explicit")
    for statement in lasting(events):
        found = _way(statement)
        if found:
            yield found


def _way(statement: Statement) -> Found | None:
    words = statement.sentence.text
    how = _USE_TO.match(words.rstrip(".")) or _TO_USE.match(words.rstrip("."))
    if how:
        return _called(statement, how["call"], how["what"])
    if _KEEP.match(words) or _IGNORE.match(words):
        return statement.found(NAME, category_of(words, "preference"), 0.6, "user_explicit")
    if (_PLACE.match(words) or _is_owner(words)) and not _FAULT.search(words):
        return statement.found(NAME, "project", 0.6, "user_explicit")
    if _GOES.match(words) and not _FAULT.search(words) and not _NOBODY.match(words):
        return statement.found(NAME, "constraint", 0.65, "user_explicit")
    return None


def _is_owner(words: str) -> bool:
    return bool(_OWNER.match(words)) and not _NOBODY.match(words)


def _called(statement: Statement, call: str, what: str) -> Found | None:
    """Return how a thing is run; with a typed key when the call is marked as such."""
    purpose = next((key for word, key in _PURPOSES if word in what.lower()), "")
    marked = call.strip("`") if call.startswith("`") else ""
    found = statement.found(NAME, "pattern", 0.7 if marked else 0.6, "user_explicit")
    if not (marked and purpose):
        return found
    return replace(found, confidence=0.75, key=purpose, value=marked)
