"""Sentences taken apart for comparison: bare words in order, names kept to the character, every "no" in its place.

What is dropped says nothing about what is meant (articles, politeness, "in this repository"); what is unified is only
spelling ("do not" and "never", "30 s" and "30 seconds", "instead of" and ", not"). Whatever could make a difference,
a number, a version, a path, a flag, a comparison, "may" beside "must", stays.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

NO = "\u00ac"


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMPARES = r"[<>]=?|[=!~]=|[≤≥]"
_TOKEN = re.compile(rf"{NO}|{_COMPARES}|[\w./\\:@#+~%$*'\u2019^-]+")
# 8080, 3.9, v2, 50MB, 30s, 12:30: something that has another value tomorrow
_AMOUNT = re.compile(r"[vV~^]*\d[\d.,:]*\+?(?:[a-zA-Z]{1,3}|%)?")
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
    """A text taken apart.

    Attributes:
        tokens: bare words and names in order, :data:`NO` where it says no.
        marks: the numbers, versions, paths, flags and identifiers among them, with their case.
        numbers: the places in ``tokens`` of amounts and versions; "folder1" is a name and no amount.
    """

    tokens: tuple[str, ...]
    marks: frozenset[str]
    numbers: tuple[int, ...]

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
    if re.fullmatch(rf"{_COMPARES}|{NO}|/|\*+|~", token):
        return token
    return token if any(c.isalnum() for c in token) else ""


def _is_mark(token: str) -> bool:
    """Say whether a token is a number, version, path, flag or identifier: a name, in which every character counts."""
    if token.casefold() in _NAMES:
        return False
    if any(c.isdigit() for c in token) or "_" in token or "::" in token or re.fullmatch(_COMPARES, token):
        return True
    if (
        token.startswith(("-", ".", "~", "@", "#", "$"))
        or token.endswith(("+", "#"))
        or any(c in token for c in "/\\*")
    ):
        return True
    return bool(re.search(r"[a-z][A-Z]", token) or re.fullmatch(r"[\w-]+(?:\.[\w-]+)+", token))


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
