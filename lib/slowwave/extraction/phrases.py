"""What a person asks to be remembered, or takes back, in so many words and many languages (``phrases.txt``).

"Remember that ...", "from now on ..." begin what is meant for good; it may be worded in any way, so that a classifier
says little of it. "Forget what I said about tabs", "the Friday rule no longer applies" take a rule back.

A rule that is taken back names what it is about; consolidation looks for what that fits (:mod:`slowwave.consolidation`
``.refusals``). What names nothing ("scrap that") or only the moment ("ignore it for now") takes nothing back.
"""

# ruff: noqa: E501, RUF001 - patterns of many languages

import re
from functools import cache
from pathlib import Path

from slowwave.memory.search import named

_FILE = Path(__file__).with_name("phrases.txt")
_DEFINED = re.compile(r"<([A-Z]{2,})>")

_BEGINS = (
    r"(?:^|[,;:\u2013—-]\s*|[.!?。！]\s*|\b(?:and|but|so|then|und|et|y|e|en)\s+)(?:(?:can|could|would) you |you can |you may "
    r"|let['\u2019]?s |i want you to |we (?:can|should) |from now on,? |please |just |now |bitte |por favor,? |s['\u2019]il te plaît,? )*"
)
_THING = r"(?P<thing>[^,;:!?()。，！？\n]{2,100}?)"
_ENDS = r"(?=\s*(?:$|[,;:!?()。，！？.]|\s[\u2013—-]\s)|\s+(?:because|since|as|so|and|but|from now|any ?more|any longer|please|again)\b|了$|[。了]|ください|[ね]?$)"
# "maybe forget that rule" takes nothing back yet
_GUESSES = re.compile(r"\b(?:maybe|perhaps|i (?:think|guess|wonder)|might|not sure|what if)\b", re.IGNORECASE)
_ASKED = ("can you", "could you", "would you")
_FOR_NOW = re.compile(
    r"\b(?:for (?:now|this|today|the moment)|this (?:time|once|commit|pr|task|one|branch|file|session)|just (?:here|once)"
    r"|right now|today|tonight|yet|diesmal|heute|cette fois|esta vez|desta vez|stavolta|deze keer)\b|这次|今回",
    re.IGNORECASE,
)

_ADDRESSED = (
    r"^[\s\W_]*(?:(?:please|pls|also|and|btw|oh|ok(?:ay)?|so|hey|bitte|und|por favor|s['\u2019]il te plaît|per favore|proszę"
    r"|пожалуйста|lütfen)[,:]? +)*"
)
_GOES_ON = r"(?:[,:;\u2013\u2014-]+\s*|\s+|(?<=[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3、，：]))(?P<rest>\S.*)$"
_QUESTION = ("?", "\uff1f")


# only where somebody said something: to make them ready takes longer than a night with nothing to do has
@cache
def _forms() -> dict[str, tuple[str, ...]]:
    """Return the expressions below each head of the file, with what is defined in their places."""
    heads: dict[str, list[str]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            heads[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            list(heads.values())[-1].append(line.replace("'", "['\u2019]"))
    defined = dict(line.split(" = ", 1) for line in heads.pop("define"))

    def whole(form: str) -> str:
        return _DEFINED.sub(lambda found: whole(defined[found[1]]), form)

    return {head: tuple(map(whole, forms)) for head, forms in heads.items()}


@cache
def _all(head: str) -> tuple[re.Pattern[str], ...]:
    every = (form.replace("<T>", _THING) for form in _forms()[head])
    return tuple(re.compile(f"{_BEGINS}{form}{_ENDS}", re.IGNORECASE) for form in every)


@cache
def _for_good() -> re.Pattern[str]:
    return re.compile(f"{_ADDRESSED}(?:{'|'.join(_forms()['for good'])}){_GOES_ON}", re.IGNORECASE | re.DOTALL)


def for_good(text: str) -> str:
    """Return what a sentence asks to be remembered, in its words, "" where it does not ask for that."""
    found = None if text.rstrip()[-1:] in _QUESTION or _FOR_NOW.search(text) else _for_good().match(text)
    return " ".join(found["rest"].split()) if found else ""


def taken_back(text: str) -> str:
    """Return what a sentence takes back, in its words, "" where it takes nothing back."""
    asks = text.rstrip()[-1:] in _QUESTION and not text.lower().startswith(_ASKED)
    return "" if asks or _GUESSES.search(text) or _FOR_NOW.search(text) else _thing(text, _all("taken back"))


def not_any_more(text: str) -> str:
    """Return the words for what a sentence says is not done any more, "" where it says nothing of the kind."""
    return _thing(text, _all("not any more"))


def _thing(text: str, forms: tuple[re.Pattern[str], ...]) -> str:
    for form in forms:
        found = form.search(text)
        if found and named(found["thing"]):
            return " ".join(found["thing"].split())
    return ""
