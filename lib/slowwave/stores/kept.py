"""The short texts of a session that the catalogue and the search index keep: titles and first prompts, without secrets.

Both are files of slowwave's own that outlive what they quote, so a secret is taken out once, when a text is taken in.
What ``sessions show`` prints is the person's own file, as it is.
"""

import re
from functools import cache, lru_cache

from slowwave.secrets.nouns import words

PROMPT_CHARS = 160
# So much more is looked at than is kept: of a secret that the cut parts in two, the first half would not be known.
_BEHIND_CHARS = 1_000
# a digit, a sign that is no punctuation, letters that no word has in a row, or what seeds of wallets are called
_SIGN = re.compile(
    r"[^A-Za-z\s.,;'\"()\-/?_`<>\u0080-\uffff]|\S{24}|[a-z][A-Z]|(?i:[b-df-hj-np-tv-xz]{6}|phrase|mnemonic|seed)"
    r"|(?:[a-z]{3,20}[\-._]){3}|[\u0300-\u036f\uff01-\uff5e]"
)


def first_words(text: str) -> str:
    """Return the beginning of a prompt on one line."""
    head = text.lstrip()[: PROMPT_CHARS + _BEHIND_CHARS]
    flat = " ".join(_clean(head).split())
    if len(flat) < PROMPT_CHARS and len(text) > len(head):
        flat = " ".join(_clean(text).split())  # most of the beginning is blank
    return flat[:PROMPT_CHARS]


# a client writes the title of a session again and again
@lru_cache(maxsize=256)
def kept_title(title: str) -> str:
    """Return a title as it is kept."""
    return _clean(title)


def is_plain_talk(text: str) -> bool:
    """Say whether a text has no sign of any secret, so that the rules, which take 40 ms to load, need not be asked."""
    if _SIGN.search(text):
        return False
    lowered = text.lower()
    return not any(noun in lowered for noun in _of_any_word())


@cache
def _of_any_word() -> tuple[str, ...]:
    """Return the nouns of secrets that may be any word, as answers to questions of security are."""
    return tuple(noun.lower() for head in ("answer", "short-answer") for noun in words(head))


def _clean(text: str) -> str:
    if is_plain_talk(text):
        return text
    from slowwave.secrets.redactor import NAMELESS  # noqa: PLC0415 - a listing in which nothing is new needs no rules

    return NAMELESS(text)
