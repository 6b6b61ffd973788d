"""When two sentences say the same thing, and when they only look alike.

Two texts are the same fact when their meaning, what is left of them without spelling, filler and the order in which a
choice is put, is equal. Equality cannot drift from one sentence to the next, and it does not depend on which was seen
first: a fact is the set of all texts of one meaning. Every measure of likeness ranks "port 8080" and "port 9090" above
true paraphrases; here a number, a version, a path, a unit, a "no" or a word that differs makes another fact.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

__all__ = ["Meaning", "is_like", "is_same", "meaning_of"]

Meaning = tuple[str, ...]

BECAUSE = "\u2235"
_REASON = re.compile(
    r",? \b(?:because|so that|otherwise|or else|weil|damit|parce que|porque)\b|, (?:since|as|denn|sonst|so) "
    r"|, (?:we|it|they|that|people|somebody|someone|i) (?=\w+)| - (?=(?:we|it|they|that|i)\b)|\. (?:it|we|they|that)\b",
    re.IGNORECASE,
)
# what follows a condition is what is asked for
_CONDITION = re.compile(
    r"\W*(?:if|when(?:ever)?|once|after|before|for|unless|while|since|because|as|in|on|wenn|bevor|nachdem|weil)\b",
    re.IGNORECASE,
)
_LEAST_RULE = 2

# Words on either side of a choice, "use A instead of B"; longer sides are sentences of their own.
_MOST_CHOSEN = 4
# Least likeness (token sort ratio, 0 to 100) of a rewording: enough to keep out what a person has refused, never
# enough to merge.
REWORDED = 75.0


@lru_cache(maxsize=50_000)
def meaning_of(text: str) -> Meaning:
    """Return what a text says; texts of equal meaning are one fact."""
    rule, reason = parted(text)
    tokens = words_of(rule).tokens
    if len(tokens) < _LEAST_RULE:
        tokens, reason = words_of(text).tokens, ""
    # nothing but filler is only ever the same as itself
    if not tokens:
        return ("=", " ".join(text.split()))
    words = words_of(reason)
    names = (*sorted(words.marks), *(NO,) * words.negations)
    return (*_choice(tokens), *((BECAUSE, *names) if names else ()))


def parted(text: str) -> tuple[str, str]:
    """Return what a sentence asks for, and why, "" where it does not say; of a reason only names and numbers matter.

    Both are put in one order first (:mod:`.arranged`).
    """
    text = arranged(text)
    found = None if _CONDITION.match(text) else _REASON.search(text)
    return (text[: found.start()], text[found.end() :]) if found else (text, "")


def is_same(one: str, other: str) -> bool:
    """Say whether two texts state the same fact."""
    return meaning_of(one) == meaning_of(other)


def is_like(one: str, other: str) -> bool:
    """Say whether one text may be a rewording of the other: what is refused in one wording is refused in the other.

    Never across a different number, path, version or name, nor across a "no".
    """
    a, b = words_of(one), words_of(other)
    if a.marks != b.marks or a.negations != b.negations:
        return False
    return fuzz.token_sort_ratio(" ".join(a.tokens), " ".join(b.tokens), score_cutoff=REWORDED) > 0


def _choice(tokens: Meaning) -> Meaning:
    """Return a choice in one form, "use A, not B", whichever side was put first."""
    if tokens.count(NO) != 1:
        return tokens
    at = tokens.index(NO)
    before, after = tokens[:at], tokens[at + 1 :]
    if not before and after[:1] == ("use",) and after.count("use") == 2:  # noqa: PLR2004 - don't use B, use A
        second = after.index("use", 1)
        before, after = after[second:], after[1:second]
    elif before[:1] == ("use",) and after[:1] == ("use",):
        after = after[1:]
    elif len(before) == len(after) == 1:
        before = ("use", *before)
    sides = (before[1:], after)
    if before[:1] == ("use",) and all(0 < len(side) <= _MOST_CHOSEN and "use" not in side for side in sides):
        return ("use", *before[1:], NO, *after)
    return tokens


# Passives as what they ask for: "X must not be edited by hand" is "do not edit X by hand".

_IRREGULAR = {
    "kept": "keep", "written": "write", "run": "run", "set": "set", "put": "put", "made": "make", "built": "build",
    "sent": "send", "shown": "show", "done": "do", "taken": "take", "given": "give", "read": "read", "held": "hold",
    "found": "find", "left": "leave", "chosen": "choose", "drawn": "draw", "thrown": "throw", "known": "know",
    "split": "split", "cut": "cut", "driven": "drive", "begun": "begin", "hidden": "hide", "broken": "break",
    "frozen": "freeze", "brought": "bring", "paid": "pay", "told": "tell", "said": "say", "lost": "lose",
    "spent": "spend", "seen": "see", "bound": "bind", "rebuilt": "rebuild", "rewritten": "rewrite", "reset": "reset",
    "overridden": "override",
}  # fmt: skip
# in a pattern; what is also the verb itself ("set", "run") is none unless a "be" stands before it
PARTICIPLE = rf"(?:[a-z]+ed|{'|'.join(word for word, verb in _IRREGULAR.items() if word != verb)})"
_OFTEN = r"(?: (?:now|always|also|ever))?"
_PASSIVE = re.compile(
    r"^(?P<what>[^,;:]{1,80}?) (?:(?P<modal>must|should|shall|has to|have to|needs? to|may|might|can|could)"
    rf"(?P<no>n?['\u2019]t| not|not| never)?{_OFTEN} be|(?:is|are)(?P<nor>n['\u2019]t| not| never)?)"
    rf"{_OFTEN} (?P<verb>[a-z]+)(?P<rest>(?:[ ,].*)?)$",
    re.IGNORECASE,
)
# whose passive would be another sentence: "it is used", "nothing may be deleted", "what is generated"
_NO_OBJECT = re.compile(
    r"^(?:i|we|you|it|they|he|she|this|that|these|those|there|what|who|nothing|nobody|none|no|not|never|only|neither|if|"
    r"when|because|since|make|ensure|keep|check)\b|\b(?:that|which|who|if|when|because|unless|while)\b",
    re.IGNORECASE,
)
_AGENT = re.compile(r"\bby\b(?! hand\b)", re.IGNORECASE)
# "is used for" tells a practice and asks for it; "is fixed in v2" tells that it is done, and asks for nothing
_PRACTICES = frozenset(
    ("use", "run", "build", "keep", "store", "cache", "format", "lint", "check", "log", "send", "hold")
)
_OPEN = ("may", "might", "can", "could")
_SHORT = 4
_SILENT = re.compile("[^aeiou]?[aeiouy][^aeiouwxy]")


def active(text: str) -> str:
    """Return a clause in the passive as what it asks for; any other as it is."""
    found = _PASSIVE.match(text)
    verb = base_of(found["verb"]) if found else ""
    if not found or not verb or _NO_OBJECT.search(found["what"]) or _AGENT.search(found["rest"]):
        return text
    if not found["modal"] and not ({verb, f"{verb}e"} & _PRACTICES and found["rest"]):
        return text
    modal = (found["modal"] or "").lower()
    no = (found["no"] or found["nor"] or "").strip().lower()
    before = "do not" if no and no != "never" else " ".join(filter(None, (modal if modal in _OPEN else "", no)))
    return f"{before} {verb} {found['what']}{found['rest']}".strip()


def base_of(participle: str) -> str:
    """Return the verb of a past participle, "" for what is none."""
    word = participle.casefold()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if not word.endswith("ed") or word.endswith("eed") or len(word) < _SHORT:
        return ""
    if word.endswith("ied"):
        return f"{word[:-3]}y"
    bare = word[:-2]
    if bare[-1] == bare[-2] and bare[-1] in "bgkmnprt":
        return bare[:-1]
    # "use" and "name" end with an e, "add", "aim" and "fix" do not; of longer words the comparison takes none
    return f"{bare}e" if len(bare) < _SHORT and _SILENT.fullmatch(bare) else bare


# Sentences put in one order: "Before each commit, run X" and "run X before each commit" are asked for alike.
#
# Every rule only moves parts of a sentence or turns its voice; no word that could make a difference is dropped or
# added. A passive with an agent stays ("is called by the worker"), and so does whatever a rule does not fit in full.

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


# Sentences taken apart for comparison: bare words in order, names kept to the character, every "no" in its place.
#
# What is dropped says nothing about what is meant (articles, politeness, "in this repository"); what is unified is only
# spelling ("do not" and "never", "30 s" and "30 seconds", "instead of" and ", not"). Whatever could make a difference,
# a number, a version, a path, a flag, a comparison, "may" beside "must", stays.

NO = "\u00ac"


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMPARES = r"[<>]=?|[=!~]=|[≤≥]"
_COMPARISON = re.compile(_COMPARES)
_SIGN = re.compile(rf"{_COMPARES}|{NO}|/|\*+|~")
_TOKEN = re.compile(rf"{NO}|{_COMPARES}|[\w./\\:@#+~%$*'\u2019^-]+")
# 8080, 3.9, v2, 50MB, 30s, 12:30: something that has another value tomorrow
_AMOUNT = re.compile(r"[vV~^]*\d[\d.,:]*\+?(?:[a-zA-Z]{1,3}|%)?")
# camelCase, or parts with points between them
_IDENTIFIER = re.compile(r".*[a-z][A-Z].*|[\w-]+(?:\.[\w-]+)+", re.DOTALL)
_EDGES = ".,:;!?'\u2019\"`"
_NEGATIONS = _set(
    "not no never none without avoid cannot dont doesnt didnt cant wont nor neither nicht kein keine keinen keiner "
    "keinem nie niemals ohne pas jamais sans nunca sin jamás non mai senza"
)
_FILLER = _set(
    "a an the do does did is are be been to of in on at for and that this these those it its i we you they our my your "
    "please just really always should must shall will would so then also very all any every each with by as here there "
    "now ever everywhere throughout generally again us me let lets i'd i'll i'm we're we'll we'd it's that's you're ne "
    "we've i've you've they've you're they're there's "
    "der die das ein eine einen und bitte immer hier le la les un une et toujours ici el los las y siempre aquí"
)
# spelled with capitals by some and without by others: plain words, not identifiers
_NAMES = _set(
    "github gitlab typescript javascript postgresql mysql sqlite mongodb nodejs graphql openapi macos vscode fastapi "
    "dynamodb duckdb mariadb opentelemetry eslint stylelint youtube linkedin devops oauth javadoc phpunit intellij"
)
_ONE_OF_SEVERAL = {
    "using": "use", "uses": "use", "utilize": "use", "utilise": "use", "running": "run", "runs": "run",
    "execute": "run", "executes": "run", "making": "make", "makes": "make", "adding": "add", "adds": "add",
    "putting": "put", "puts": "put", "going": "go", "goes": "go", "has": "have", "having": "have",
    "repository": "repo", "repositories": "repo", "repos": "repo", "directory": "folder", "directories": "folder",
    "dir": "folder", "folders": "folder", "configuration": "config", "configs": "config", "documentation": "docs",
    "environment": "env", "dependency": "dependenc", "dependencies": "dependenc", "deps": "dependenc",
    "modify": "edit", "modifying": "edit", "modified": "edit", "postgresql": "postgres", "kubernetes": "k8s",
    "database": "db", "databases": "db", "remove": "delet", "removing": "delet", "js": "javascript",
    "ts": "typescript", "function": "function", "functions": "function",
}  # fmt: skip
_AUXILIARY = r"do|does|did|is|are|was|were|must|should|shall|will|would|can|could|may|might|has|have|need"
_CHOICE = r"(?:,\s*)?\b(?:instead of|rather than|in place of|as opposed to|anstelle von|anstatt|statt|au lieu de)\b"
_SPELLINGS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (rf"\b(?:{_AUXILIARY})(?:n['\u2019]t| not)\b|\b(?:ca|wo|sha)n['\u2019]t\b", f" {NO} "),
        (r"\bno longer\b|\brefrain from\b|\bstop (?=\w+ing\b)|\bunder no circumstances\b|\bnot ever\b", f" {NO} "),
        (rf"\bprefer(?:s|red)? (?:to use |using )?([^,.;]{{1,40}}?) (?:over|{_CHOICE}) ", rf"use \1 {NO} "),
        (_CHOICE, f" {NO} "),
        (r"\b(?:go(?:ing)? with|stick(?:ing)? (?:with|to))\b", "use"),
        (r"\b(?:in|for|within|of|on) (?:this|the|our) (?:whole )?(?:repo(?:sitory)?|project|code ?base)\b", " "),
        (r"\b(?:from now on|going forward|in (?:the )?future|at all times|remember (?:that|to)|make sure to)\b", " "),
        (r"^\W*(?:remember|note(?: that)?|fyi|btw|ok(?:ay)?|and|so|but)\b[,:]?\s+", " "),
        (r"\b(?:has|have|had) to\b", " must "),
        (r"\bmake sure(?: that)?\b", "ensure"),
        (r"\bpull[- ]requests?\b", "pr"),
        (r"\btest[- ]suites?\b", "tests"),
        (r"(?<=\d)[,_](?=\d{3}\b)", ""),
        (r"(?<=\d)\s*(?:seconds?|secs?|s)\b(?![/-])", "s"),
        (r"(?<=\d)\s*(?:milliseconds?|millis|msecs?|ms)\b(?![/-])", "ms"),
        (r"(?<=\d)\s*(?:minutes?|mins?)\b(?![/-])", "min"),
        (r"(?<=\d)\s*(?:hours?|hrs?)\b(?![/-])", "h"),
        (r"(?<=\d)\s*(?:percent|per cent|%)", "%"),
    )
)  # fmt: skip
# bytes and bits tell themselves apart by case
_SIZE = re.compile(r"(?<=\d)\s+([kKMGT]i?[bB])\b")


@dataclass(frozen=True, slots=True)
class Words:
    """A text taken apart."""

    tokens: tuple[str, ...]  # bare words and names in order, :data:`NO` where it says no
    marks: frozenset[str]  # the numbers, versions, paths, flags and identifiers among them, with their case
    numbers: tuple[int, ...]  # the places in ``tokens`` of amounts and versions; "folder1" is a name and no amount

    @property
    def negations(self) -> int:
        """How often it says no."""
        return self.tokens.count(NO)

    @property
    def stems(self) -> tuple[str, ...]:
        """The bare words and names in order, without any no."""
        return tuple(t for t in self.tokens if t != NO)


@lru_cache(maxsize=50_000)
def words_of(text: str) -> Words:
    """Take a text apart."""
    plain = unicodedata.normalize("NFKC", text.replace(NO, " "))
    for pattern, instead in _SPELLINGS:
        plain = pattern.sub(instead, plain)
    plain = _SIZE.sub(r"\1", plain)
    tokens: list[str] = []
    marks: set[str] = set()
    numbers: list[int] = []
    for place, raw in enumerate(_TOKEN.findall(plain)):
        token = _trimmed(raw)
        word = token.casefold().replace("\u2019", "'")
        if token == NO or word in _NEGATIONS:
            # "no, never" says it once
            tokens += [NO] if tokens[-1:] != [NO] else []
        elif token and (_is_mark(token) or _is_letter(token, place)):
            if _AMOUNT.fullmatch(token):
                numbers.append(len(tokens))
            marks.add(token)
            tokens.append(token)
        elif word and word not in _FILLER:
            tokens.append(_stem(word))
    return Words(tuple(tokens), frozenset(marks), tuple(numbers))


def _trimmed(raw: str) -> str:
    """Return a token without the marks of the sentence around it; "" when nothing but marks is left."""
    token = raw.strip(_EDGES) if not raw.startswith((".", "*")) else raw.rstrip(_EDGES)
    is_said = token.isalnum() or _SIGN.fullmatch(token) or any(c.isalnum() for c in token)
    return token if is_said else ""


def _is_mark(token: str) -> bool:
    """Say whether a token is a number, version, path, flag or identifier: a name, in which every character counts."""
    # nearly all are plain words
    if (token.isalpha() and token.islower()) or token.casefold() in _NAMES:
        return False
    if any(c.isdigit() for c in token) or "_" in token or "::" in token or _COMPARISON.fullmatch(token):
        return True
    if (
        token.startswith(("-", ".", "~", "@", "#", "$"))
        or token.endswith(("+", "#"))
        or any(c in token for c in "/\\*")
    ):
        return True
    return _IDENTIFIER.fullmatch(token) is not None


def _is_letter(token: str, place: int) -> bool:
    """Say whether a token is a letter that names something: "plan B", "service x", but not "a" or "I"."""
    if len(token) != 1 or not token.isalpha() or token == "I":  # noqa: S105 - a pronoun
        return False
    return place > 0 if token.isupper() else token not in _FILLER


def _stem(word: str) -> str:
    """Return a word without the commonest endings, so that "test", "tests" and "testing" are one.

    "tested" is another word than "test": "only merge tested code" is not about test code.
    """
    word = word.removesuffix("'s")
    if word in _ONE_OF_SEVERAL:
        return _ONE_OF_SEVERAL[word]
    if word.endswith(("sses", "ches", "shes", "xes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 4:  # noqa: PLR2004 - "bus" stays
        word = word[:-1]
    for ending in ("ing", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:  # noqa: PLR2004 - "use" and "bring" stay
            return word.removesuffix(ending)
    return word
