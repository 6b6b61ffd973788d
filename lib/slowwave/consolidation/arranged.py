"""Sentences put in one order: "Before each commit, run X" and "run X before each commit" are asked for alike.

Every rule only moves parts of a sentence or turns its voice; no word that could make a difference is dropped or added.
A passive with an agent stays ("is called by the worker"), and so does whatever a rule does not fit in full.
"""

import re
from functools import lru_cache

from slowwave.consolidation.voice import PARTICIPLE, active, base_of

_FRONT = r"(?:before|after|in|on|at|for|during|without|within|inside|outside|when(?:ever)?|while|once|until|unless|if)"
# "since March" is a time and no reason
_SINCE = r"since(?= (?:i|we|you|it|they|he|she|that|nobody|everybody|no one|everyone)\b)"
_BEGINS = r"(?:i|we|you|please|always|never|do not|don['\u2019]t)"
# up to a comma; or without one where the sentence clearly begins anew: "In tests I prefer ..."
_FRONTED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?P<front>(?:{_FRONT}|because|{_SINCE})\b[^,;:]{{1,80}}), (?:then )?(?P<rest>[^,;]+)$",
        rf"^(?P<front>(?:in|on|at|for|before|after)(?: [\w./-]+){{1,4}}?) (?P<rest>{_BEGINS}\b[^,;]+)$",
    )
)
_CAUSE = re.compile(r"(?:since|because)\b", re.IGNORECASE)
_HEAD = re.compile(
    r"^(?:decision:|(?:we(?:['\u2019]ve| have)? )?(?:decided|agreed)(?: that|:)?(?= (?!to\b|not\b|on\b|never\b)))\s*",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^An? (?=[a-z])")
_PLEASE = re.compile(r"^please,?\s+(?=\S)", re.IGNORECASE)
_IN_FRONT = re.compile(r"^(?:(?:please|always|we|you)\b,?\s*)+(?=\w)", re.IGNORECASE)
_CLEFT = re.compile(r"^it (?:is|was) (?P<place>(?:on|in|at|with|from|for)\b.+?) that (?P<rest>.+)$", re.IGNORECASE)
_THERE = re.compile(
    r"^there (?:is|are|['\u2019]s)(?P<no>n['\u2019]t(?: any| an?)?| not (?:any|an?)| no)?(?: an?| some)? "
    r"(?P<what>[^,;]+?) (?:in|on|at) (?P<where>[^,;]+)$",
    re.IGNORECASE,
)
_OWNER = re.compile(
    r"^(?P<who>(?:[\w.@'-]+ ){0,2}[\w.@'-]+) (?:owns|own|(?:is|are) the owners? of) (?P<what>[^,;]+)$", re.IGNORECASE
)
_NEED = re.compile(
    rf"^(?P<who>[^,;]{{1,40}}?) needs? (?P<what>(?!to\b)[^,;]{{1,60}}?)(?: to be)? (?P<verb>{PARTICIPLE}|set|running)$",
    re.IGNORECASE,
)
_WANT = re.compile(
    rf"^(?:i|we) (?P<no>(?:do not|don['\u2019]t|never) )?(?:want|would like|need) (?P<what>(?!(?:an?|the|some|any|no) "
    rf"{PARTICIPLE}\b)[^,;]{{1,40}}?)(?: to be)? (?P<verb>{PARTICIPLE})(?P<rest>(?: (?:in|on|at|by|as|for|with|to|into|"
    r"before|after|from|below|above|\w+ly)\b.*|,.*)?)$",
    re.IGNORECASE,
)
_RUNS = re.compile(
    r"^(?P<call>`[^`]+`) (?P<verb>runs|builds|checks|lints|formats|starts|deploys|tests|generates|installs|updates) "
    r"(?P<what>[^,;]+)$",
    re.IGNORECASE,
)
_RATHER = r"\b(?:would|(?<=i)['\u2019]d|(?<=we)['\u2019]d) rather (?:have|use|see)\b"
_SAID: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        # an agent notes of its user what the user says of themselves
        (r"^(?:the )?user (prefer|want|like|dislike|need|use|expect|require|ask)(?:s|ed)?\b", r"I \1"),
        (r"^(?:the )?user (decided|agreed|chose)\b", r"we \1"),
        (rf"{_RATHER} ([^,;]{{1,40}}?) than ", r" prefer \1 over "),
        (_RATHER, " prefer"),
        (r"\b(has|have|needs?|requires?|uses?) no (?!longer\b)", r"do not \1 "),
    )
)  # fmt: skip


@lru_cache(maxsize=50_000)
def arranged(text: str) -> str:
    """Return a sentence in the order in which it would be asked for: what is done, to what, then where and when."""
    plain = " ".join(text.split()).rstrip(".! ")
    for pattern, instead in _SAID:
        plain = pattern.sub(instead, plain)
    plain = _PLEASE.sub("", " ".join(plain.split()))
    front = ""
    if found := next((f for pattern in _FRONTED if (f := pattern.match(plain))), None):
        plain = found["rest"]
        joint = ", " if _CAUSE.match(found["front"]) else " "
        front = f"{joint}{found['front'][0].lower()}{found['front'][1:]}"
    head = ""
    if found := _HEAD.match(plain):
        head, plain = "we decided ", plain[found.end() :]
    # behind another word a capital "A" would name something
    return f"{head}{_in_order(_ARTICLE.sub('a ', plain))}{front}"


def _in_order(text: str) -> str:
    """Return a clause without what stands in front of it, in one order and voice."""
    if found := _CLEFT.match(text):
        text = f"{found['rest']} {found['place']}"
    if found := _THERE.match(text):
        return f"{found['where']} {'do not have' if found['no'] else 'have'} {found['what']}"
    if found := _OWNER.match(text):
        return f"{found['what']} belongs to {found['who']}"
    if found := _RUNS.match(text):
        return f"{found['verb'][:-1]} {found['what']} with {found['call']}"
    if (found := _WANT.match(text)) and (verb := base_of(found["verb"])):
        return f"{'do not ' if found['no'] else ''}{verb} {found['what']}{found['rest']}"
    bare = _IN_FRONT.sub("", text)
    if (found := _NEED.match(bare)) and (base_of(found["verb"]) or found["verb"] == "running"):
        return active(f"{found['what']} must be {found['verb']} for {found['who']}")
    turned = active(bare)
    return text if turned == bare else turned
