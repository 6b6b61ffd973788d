"""A baseline of forty lines: what an afternoon's regular expressions find in what people type."""

import re
from collections.abc import Iterator

_RULES = tuple(
    (category, re.compile(pattern, re.IGNORECASE))
    for category, pattern in (
        ("constraint", r"\b(?:must not|must never|must|never|not allowed|forbidden|only ever|at most|at least)\b"),
        ("decision", r"\b(?:we|i)(?:'ve| have)? (?:decided|chose|agreed|settled)\b|\blet'?s (?:go with|use|stick)\b"),
        ("preference", r"\b(?:i|we) (?:prefer|want|like|hate|don'?t like|don'?t want|would rather)\b"),
        ("preference", r"\b(?:always|please (?:use|avoid|don'?t)|instead of|rather than|stop \w+ing|don'?t)\b"),
        ("preference", r"^(?:no\b|actually\b|that'?s not|not like that)"),
        ("project", r"\b(?:remember|note that|keep in mind|for future reference|fyi|by the way)\b"),
        ("pattern", r"\b(?:before (?:you )?commit|after each|every time|whenever|run `)\b"),
        ("constraint", r"\b(?:immer|niemals|bitte nicht|toujours|jamais|siempre|nunca)\b"),
    )
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<([a-z-]+)>.*?</\1>", re.DOTALL)
MOST_CHARS = 300
LEAST_WORDS = 4


def cues_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a turn that carry a cue, each once with its category; questions never do."""
    for sentence in sentences_in(text):
        category = category_of(sentence)
        if category:
            yield category, sentence


def sentences_in(text: str) -> Iterator[str]:
    """Yield the sentences outside of code and tags that are neither too short, too long nor questions."""
    for sentence in _SENTENCE.split(_TAGGED.sub(" ", _FENCE.sub(" ", text))):
        bare = sentence.strip()
        if len(bare.split()) >= LEAST_WORDS and len(bare) <= MOST_CHARS and not bare.endswith("?"):
            yield bare


def category_of(sentence: str) -> str:
    """Return the category of the first rule that fits, or ""."""
    return next((category for category, pattern in _RULES if pattern.search(sentence)), "")
