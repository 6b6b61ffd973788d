"""The roles of a clause: who is named in it, what they do, how it begins and how it is written."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from slowwave.extraction.guards.words import (
    ARTICLES,
    CONTRACTED,
    CREDITS,
    DEFINITE,
    FORM_LABELS,
    INTO,
    LONGS,
    NONE,
    POLITE,
    PREPOSITIONS,
    RELATIVE,
    RESHAPE,
    SOURCES,
    SPEAKERS,
    WISHES,
    classes_of,
)

WORD = re.compile(r"[^\W_]+(?:['\u2019.@-][^\W_]+)*")
_DATE = re.compile(r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}|\b(?:19|20)\d\d\b")
_ACTS = ("say", "send", "get", "will")
# how many words apart a subject and its verb stand, a preposition and its noun, a pointer and its noun
_TO_VERB, _NEAR, _BESIDE = 5, 3, 2
_OBJECT = 4
# words of the shortest clauses, of greetings, of formulas at the end of letters, and of long clauses
_SHORT, _GREETING, _SIGNING, _LONG = 3, 5, 4, 12
# words of what says where a text comes from, of a line that is dated, and between the first name and its verb
_CREDIT, _DATED, _TO_FIRST_VERB = 6, 9, 2
# such words say what a clause is about, asks or greets at its beginning only
_AT_FIRST = frozenset({"topic", "ask", "greet", "sign", "lead"})
_NOWHERE = -9
# marks behind what hands over to the words of somebody
_HANDING_OVER = frozenset({":", "-", "said", "quote"})
_CODE = re.compile(
    r"[{};=]\s*$|\);?\s*$(?<=\w\(\))|\w\(|[\w\])] ?[=!+]?= ?[\w\"'\[]"
    r"|^\s*(?:[$#%] |[A-Z]{4,}\b|[A-Z]\w*(?:Error|Exception)\b)|[\w-]/[\w.-]+\.\w+$"
    r"|\b(?:exit|status|code|line|timeout|signal) \d|_\w+_|::|\w\.\w+\.\w"
)


@dataclass(frozen=True)
class _Words:
    """A clause, word by word."""

    text: str
    mark: str
    tokens: Sequence[str]

    @cached_property
    def lower(self) -> list[str]:
        return [token.lower().replace("\u2019", "'") for token in self.tokens]

    @cached_property
    def classes(self) -> list[frozenset[str]]:
        return [classes_of(token) for token in self.lower]


@lru_cache(maxsize=1024)
def roles_of(text: str, mark: str) -> frozenset[str]:
    """Return the roles of a clause.

    A class of words that occurs in it; ``1`` and a class for the first word behind markers of discourse; who does what
    (``me_say``, ``other_say``, ``other_send``, ``me_get``); ``the_text`` for a text that is pointed at, ``from_text``
    for one that is named as a source; and how it is written.

    Args:
        text: the clause.
        mark: what stands behind it.
    """
    words = _Words(text, mark, WORD.findall(text))
    if not words.tokens:
        return frozenset({"block"})
    roles = set(NONE.union(*words.classes))
    roles.update(_first(words), _acts(words), _texts(words), _written(words), _ends(words), _shape(words))
    return frozenset(roles - _AT_FIRST)


def _first(words: _Words) -> Iterator[str]:
    """Yield how a clause begins behind markers of discourse and forms of politeness."""
    lower, classes = words.lower, words.classes
    last, at = len(lower) - 1, 0
    while at < last and (_is_marker(classes[at]) or lower[at] in POLITE):
        at += 1
    if "lead" in classes[0] and (at or not last):
        yield "leads"
    if at < last - 1 and {"ask", "me"} & classes[at] and (lower[at + 1] in POLITE or lower[at + 1] in WISHES):
        yield "asks_you" if "ask" in classes[at] else "wants"
        at += 2
        while at < last and lower[at] in POLITE:
            at += 1
    yield from (f"1{name}" for name in classes[at])
    if "handle" in classes[at]:
        behind = [of for word, of in zip(lower[at + 1 :], classes[at + 1 :], strict=True) if word not in POLITE][
            :_OBJECT
        ]
        is_into = lower[at + 1 : at + 2] and lower[at + 1] in INTO and not set(lower[at + 2 : at + 3]) & DEFINITE
        is_pointed = not behind or {"this", "ahead"} & NONE.union(*behind) or is_into
        yield "handles_this" if is_pointed else "handles_thing"
    if lower[at] in RESHAPE:
        behind = NONE.union(*classes[at + 1 :])
        if {"judge", "handle"} & behind or {"this", "text"} <= behind:
            yield "reshapes"


def _is_marker(classes: frozenset[str]) -> bool:
    return "lead" in classes and not {"handle", "ask"} & classes


def _acts(words: _Words) -> Iterator[str]:
    """Yield who says, sends, gets or wants something: the person, or somebody or something else."""
    me = other = _NOWHERE
    wished = _wished(words)
    for at, of in enumerate(words.classes):
        if "me" in of:
            me = at
        acts = [act for act in _ACTS if act in of]
        if at - me <= _NEAR and me > other:
            yield from (f"me_{act}" for act in acts)
        elif acts and at - other <= _TO_VERB and at not in wished:
            yield from (f"other_{act}" for act in acts[:2] if act in ("say", "send"))
        if {"who", "text"} & of and "me" not in of:
            other = at
        elif _is_name(words.tokens[at], of):
            # the first word of a sentence is no name only because it begins with a capital
            other = at or _TO_FIRST_VERB - _TO_VERB


def _wished(words: _Words) -> range:
    """Return where the words stand that are about what the person wishes for: "I prefer comments that | say why".

    The wish is of the first person, and its object any such thing; one that is pointed at ("I like the note that says")
    is a source, and so is what hands over to words of its own.
    """
    lower, classes = words.lower, words.classes
    if words.mark in _HANDING_OVER:
        return range(0)
    verb = next((at for at, word in enumerate(lower[:_OBJECT]) if word in LONGS), None)
    if verb is None or not any("me" in of for of in classes[:verb]):
        return range(0)
    behind = next((at for at in range(verb + 2, len(lower)) if lower[at] in RELATIVE), len(lower))
    is_pointed = {"this", "ahead", "mine"} & NONE.union(*classes[verb + 1 : behind]) or set(
        lower[verb + 1 : behind]
    ) & DEFINITE
    return range(0) if is_pointed or behind - verb > _TO_VERB else range(behind + 1, len(lower))


def _texts(words: _Words) -> Iterator[str]:
    """Yield how texts and people are named: as new, as pointed at, as a source, as the person's own."""
    this = source = _NOWHERE
    for at, (word, of) in enumerate(zip(words.lower, words.classes, strict=True)):
        is_name = _is_name(words.tokens[at], of)
        if "text" in of:
            beside = words.lower[max(0, at - _BESIDE) : at]
            if any(article in ARTICLES for article in beside):
                yield "new_text"
            if at - this <= _BESIDE:
                yield "the_text"
            if at - source <= _NEAR:
                yield "from_text"
            if any("mine" in before for before in words.classes[max(0, at - _BESIDE) : at]):
                yield "my_text"
        if ("who" in of or is_name) and at - source <= _NEAR:
            yield "from_who"
        if _is_owner(word, is_name=is_name):
            yield "theirs"
        this = at if {"this", "ahead"} & of else this
        source = at if word in PREPOSITIONS else source
        if word in SOURCES:
            yield "source"


def _is_owner(word: str, *, is_name: bool) -> bool:
    if not word.endswith(("'s", "s'")) or word in CONTRACTED:
        return False
    base = classes_of(word[:-2])
    return bool({"who", "text"} & base or (is_name and not base))


def _is_name(token: str, classes: frozenset[str]) -> bool:
    return not classes and token[:1].isupper() and token.lower() not in CONTRACTED


def _is_named(words: _Words) -> bool:
    return any(
        "who" in of or _is_name(token, of) for token, of in zip(words.tokens[1:], words.classes[1:], strict=True)
    )


def _written(words: _Words) -> Iterator[str]:
    """Yield how a clause is written."""
    text, classes = words.text, words.classes
    if text[:1] in "-\u2013\u2014~<^(":
        yield "dash"
    if text[:1] in ">|" or words.mark == "speaker":
        yield "speaker"
    if words.mark in "?\uff1f":
        yield "asks"
    if _CODE.search(text):
        yield "code"
    if words.mark == "\n":
        yield "open"
    size = len(classes)
    yield "short" if size <= _SHORT else "long" if size > _LONG else "middle"
    yield "low" if text.lstrip("-*+ (\u2013\u2014")[:1].islower() else "cap"
    if size <= _DATED and _DATE.search(text):
        yield "dated"
    if not any(classes):
        yield "unknown"


def _ends(words: _Words) -> Iterator[str]:
    """Yield how a clause ends, and whether it judges or asks about what it points at."""
    classes = words.classes
    if {"this", "ahead"} & (classes[-1] | classes[max(0, len(classes) - 2)]):
        yield "ends_this"
    every = NONE.union(*classes)
    if {"this", "ahead"} & every and ("judge" in every or ("handle" in every and words.mark in "?\uff1f")):
        yield "judges_this"
    if "text" in classes[-1]:
        yield "ends_text"
    if {"say", "send"} & classes[-1]:
        yield "ends_say"


def _shape(words: _Words) -> Iterator[str]:
    """Yield what parts of letters, forms and chats a clause may be."""
    lower, classes, size = words.lower, words.classes, len(words.tokens)
    is_capital = all(token[:1].isupper() for token in words.tokens)
    if size <= _SHORT and is_capital and not NONE.union(*classes) - {"greet", "who"}:
        yield "name"
    if "greet" in classes[0] and size <= _GREETING and words.mark in "\n.!,":
        yield "greeting"
    if (lower[0] in CREDITS and "@" in words.text) or (
        1 < size <= _CREDIT
        and lower[0] in CREDITS
        and ("@" in words.text or _is_named(words) or "text" in NONE.union(*classes))
    ):
        yield "credit"
    if size <= _SIGNING and all("sign" in of for of in classes[:_BESIDE]) and words.mark in "\n,":
        yield "signing"
    if words.mark == ":" and size <= _BESIDE:
        if lower[0] in FORM_LABELS and size == 1:
            yield "head"
        if lower[0] in CREDITS and size == 1:
            yield "credit"
        if lower[0] in SPEAKERS or (size == 1 and not classes[0] and words.text[:1] not in "-*"):
            yield "chat"
