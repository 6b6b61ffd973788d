"""Whether a newer statement takes the place of an older one: the same thing has another value now.

Three builds show it. The newer one names what it gives up ("from A to B", "B instead of A", "no longer A"). Or both are
one sentence but for one value, where only one value can hold: after a verb that has one answer, between two amounts,
two days, two paths. Or the newer one says that something changed ("now", "moved to"), and is about what the older
one is about. What holds only somewhere else, only under a condition, or of another thing, stands beside it.
"""

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal, cast

import msgspec

from slowwave.consolidation.facts import Fact
from slowwave.consolidation.likeness import arranged, meaning_of, parted, words_of
from slowwave.consolidation.model import Operation, State
from slowwave.consolidation.slots import LABELS, claim, claim_of, excludes, is_definite
from slowwave.memory.book import Memory
from slowwave.memory.foreign import ForeignLine
from slowwave.memory.ledger import BY_JUDGE
from slowwave.memory.model import Candidate
from slowwave.memory.pages import standing_lines, target_of


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENDINGS = ("ations", "ation", "ments", "ment", "ings", "ing", "ed", "es", "s", "ly", "e")
_LEAST_ROOT = 4


def _root(stem: str) -> str:
    """Return a word without the endings that its verb, its noun and its participle differ in."""
    ending = next((e for e in _ENDINGS if stem.endswith(e) and len(stem) - len(e) >= _LEAST_ROOT), "")
    return stem.removesuffix(ending)


# behind these stands where, when or for whom something holds
_SCOPE = _set(
    "for in inside within under during while when whenever if unless until before after except only per once against "
    "für während wenn bei vor nach pour dans si avant après para en cuando antes"
)
# behind these stands the answer itself
_VALUE = _set("to with on at by from via through into onto as using mit auf zu avec con")
# "in" names the place that is asked for, and no condition, where the verb is about places
_IN = _set("in inside within en")
_PLACES = _set("store stor keep kept put liv live li lie host deploy run write writ publish sav save send log")
# verbs that have one answer at a time
_ONE_ANSWER = _set(
    "is are was were runs listens live lives belong belongs default defaults point points go goes return returns "
    "expire expires end ends start starts begin begins equal equals take takes last lasts deploy deploys publish "
    "publishes own owns review reviews approve approves maintain maintains lead leads happen happens call calls sign "
    "signs ship ships release releases ist sind läuft liegt gehört est sont es son"
)
_FULL_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_FULL_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_CHANGE = re.compile(
    r"\b(?:now|nowadays|currently|as of|from now on|no longer|any ?more|instead|meanwhile|(?:since|starting|effective) "
    rf"(?:with |on |from )?(?=v?\d|(?:{_FULL_MONTHS}|{_FULL_DAYS}|this|last|next|today|yesterday)\b)|"
    r"(?:switch|mov|migrat|chang|replac|renam|bump|rais|lower|increas|decreas|reduc|upgrad|downgrad|dropp|retir|"
    r"deprecat|revert|extend|shorten|abandon|convert|swapp?|transferr?|relocat)(?:e?d|ing)|rewritten|rewrote|"
    r"(?:switch|move|migrate|change)(?:e?s)? (?:[\w./-]+ ){0,3}(?:to|from)|"
    r"t(?:akes|aken|ook|aking) over|hand(?:s|ed) over|became|becomes|went (?:from|to|with|back)|gone|"
    r"(?:has|have|had) been|used to|jetzt|nun|inzwischen|umgestellt|gewechselt|désormais|ahora|ya no)\b",
    re.IGNORECASE,
)
_OLD, _NEW = r"(?P<old>[^,;.]{1,60}?)", r"[^,;.]{1,60}"
_REST = r"(?P<old>[^,;.]{1,60})"
_INSTEAD = (
    r"instead of|rather than|in place of|as opposed to|replac(?:es|ed|ing)|supersed(?:es|ed|ing)|"
    r"anstelle von|anstatt|statt|au lieu de|en lugar de"
)
_STOPS = (
    r"no longer|not [\w ]{0,20}any ?more|stopped|dropped|retired|removed|abandoned|deprecated|gave up(?: on)?|"
    r"got rid of|(?:moved|migrated) (?:off|away from)|ditched|nicht mehr|ya no"
)
_STOPPED = r"gone|retired|dropped|deprecated|removed|abandoned|no longer (?:used|supported|in use)"
_DOING = r"(?:using |use |on |with |run |running |support |supporting )?(?:the )?"
# what is said not to be so may be said of something else
_IN_PASSING = rf"\b(?:over|not) {_REST}"
_GIVES_UP = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bfrom {_OLD} (?:over )?to {_NEW}",
        rf"\b(?:{_INSTEAD}) {_REST}",
        _IN_PASSING,
        rf"\b(?:replaced|swapped|switched|exchanged|traded) {_OLD} (?:with|by|for|out for) {_NEW}",
        rf"\b(?:{_STOPS}) {_DOING}{_REST}",
        rf"{_OLD} (?:is|are|was|were|has been|have been) (?:now )?(?:{_STOPPED})\b",
        rf"\bused to (?:be |use |run |have )?{_REST}",
        rf"\b(?:was|were|had been|formerly|previously) {_OLD}(?:[)]|$)",
    )
)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_IN_WORDS = {word: str(number) for number, word in enumerate(_NUMBERS)}
_WORD = re.compile(r"[\w./\\:@#+~%$*'\u2019^<>=€£-]+")
_ENDS_PATH = r"(?:md|py|toml|ya?ml|json|txt|sh|sql|ts|js|rs|go|cfg|ini|lock)"
_EVERY = (
    "daily|weekly|fortnightly|biweekly|monthly|quarterly|yearly|annually|nightly|hourly|night|hour|day|week|month|"
    "quarter|sprint|morning|evening|noon|midnight"
)
_KINDS = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in (
        ("number", r"[~<>=]*[vV$€£]?\d[\d.,:_]*\+?(?:x|%|[a-zA-Z]{1,3})?"),
        ("weekday", rf"(?:{_FULL_DAYS}|weekend|weekday)s?"),
        ("month", _FULL_MONTHS),
        ("every", _EVERY),
        ("path", rf"(?:[\w@~.*-]*/)+[\w@.*-]*|[\w-]+\.{_ENDS_PATH}"),
    )
}
# words that any sentence of the kind has; they name nothing
LIGHT = _set(
    "use us run set go make do get have need want choos chose chosen decid decided agreed prefer pick select adopt "
    "into onto everyth all both team people new old current now plac thing place way work project repo code always "
    "never every yesterday today tomorrow tonight"
)
_GENERIC = frozenset(map(_root, LIGHT))
_LABEL_ROOTS = frozenset(map(_root, LABELS))
# what says no, or that something may be, beside the words that :mod:`.words` knows
_NOES = _set(
    "nobody noone forbidden forbid prohibited disallowed banned disabled reject rejected denied refused verboten"
)
_MAY = _set("may can could might allowed permitted fine ok okay possibl should must enabled encouraged there")
# a choice says no to one side of it, a condition to a part
_CONDITION = re.compile(
    r"\b(?:unless|except|only|until|without|but|if|when|apart from|außer|sauf|salvo|instead of|rather than|in place of|"
    r"as opposed to|over|anstelle von|anstatt|statt|au lieu de|en lugar de)\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r"[,;:.!?]\s+|\s[\u2013\u2014-]\s|[\u3002\uff0c]|\s+(?:so|because|since|as)\s+")
_OTHER = 0.5
_COMMAND = re.compile(r"`[^`]* [^`]*`")
_AMOUNTS = ({"number"}, {"weekday"}, {"month"}, {"every"})
_SHORT = 4
_NAMED = 2
_MOST_LEFT = 3
_MOST_CHUNK = 3
_HALF = 0.5
_ENOUGH = 0.6


@dataclass(frozen=True, slots=True)
class _Token:
    """A word that names something, with what stands before it and what kind of value it is."""

    stem: str
    role: Literal["main", "scope", "value"]
    kind: str


@dataclass(frozen=True, slots=True)
class Apart:
    """A statement taken apart."""

    tokens: tuple[_Token, ...]  # its words without its no, in order
    negations: int  # how often it says no
    changes: bool  # whether it says that something is another way than before
    answer: frozenset[str]  # the words behind a verb that has one answer at a time, none where it has no such verb
    gives_up: tuple[frozenset[str], ...]  # what it names as given up, each as its words
    in_passing: frozenset[frozenset[str]]  # those that it only denies

    @property
    def stems(self) -> tuple[str, ...]:
        """Its words in order."""
        return tuple(t.stem for t in self.tokens)

    @property
    def content(self) -> frozenset[str]:
        """The words that name something."""
        return frozenset(t.stem for t in self.tokens if t.stem not in _GENERIC)

    @property
    def scope(self) -> frozenset[str]:
        """The words that say where, when or for whom it holds, without amounts."""
        return frozenset(t.stem for t in self.tokens if t.role == "scope" and not t.kind and t.stem not in _GENERIC)

    def subject(self, without: frozenset[str] = frozenset()) -> str:
        """Return the first word that names something, "" where there is none."""
        return next((t.stem for t in self.tokens if t.stem not in _GENERIC and t.stem not in without), "")

    def values(self) -> dict[str, list[str]]:
        """Return its amounts, days and paths by kind."""
        found: dict[str, list[str]] = {}
        for token in self.tokens:
            if token.kind:
                found.setdefault(token.kind, []).append(token.stem)
        return found


@dataclass(frozen=True, slots=True)
class _Clause:
    """The words of a clause without their endings, its numbers and names, and whether it says no."""

    roots: frozenset[str]
    marks: frozenset[str]
    is_no: bool


def overtakes(newer: str, older: str, *, surely: bool = False) -> bool:
    """Say whether a statement takes the place of an older one; never when both may hold side by side.

    Args:
        newer: what was said later.
        older: what was said before.
        surely: only where the build leaves next to no doubt: no word but one is another, nothing is denied in passing,
            nothing is only said to be another way now.
    """
    new, old = apart(newer), apart(older)
    if not new.tokens or not old.tokens or (new.stems == old.stems and new.negations == old.negations):
        return False
    if any(_given_up(gone, new, old) for gone in new.gives_up if not (surely and gone in new.in_passing)):
        return True
    if _is_contrary(newer, older, surely=surely):
        return True
    if new.negations != old.negations:
        return False
    if _substituted(new, old, most=1 if surely else _MOST_CHUNK):
        return True
    # "changes to the API need a migration in db/" tells no other path of the API
    is_path = surely and "path" in new.values()
    return not is_path and (_of_one_kind(new, old) or (not surely and _told_changed(new, old)))


def _is_contrary(newer: str, older: str, *, surely: bool) -> bool:
    """Say whether a clause of the newer statement says no to what the older one says, or yes where that says no."""
    if _CONDITION.search(newer) or _CONDITION.search(older):
        return False
    first, *_ = _CLAUSES.split(older)
    if older.startswith(f"{first}:"):
        return False  # "Alarm fired twice: ..." names what the rest is about
    return any(_denies(_clause_of(clause), _clause_of(first), surely=surely) for clause in _CLAUSES.split(newer))


def _denies(new: _Clause, old: _Clause, *, surely: bool) -> bool:
    """Say whether two clauses have the same words, one of them with a no."""
    shared = new.roots & old.roots
    if new.is_no == old.is_no or new.marks != old.marks or len(shared) < _NAMED:
        return False
    mine, theirs = new.roots - shared, old.roots - shared
    # an answer to the whole of it, in whichever order, and of nothing else
    most = len(shared) * _OTHER
    return len(theirs) <= most and len(mine) <= most and not (surely and mine and theirs)


def _given_up(gone: frozenset[str], new: Apart, old: Apart) -> bool:
    """Say whether the newer statement gives up what the older one says."""
    if not gone <= old.content or any(gone <= other for other in old.gives_up) or old.negations:
        return False
    rest, said = old.content - gone, new.content - gone
    if said and said <= rest:
        return False  # the older one names both, and so tells of the change itself
    if not rest & said:
        # nothing else says that both are about one thing
        return len(rest) <= _NAMED and len(said) <= _SHORT and not new.scope
    mine, theirs = new.subject(gone), old.subject(gone)
    is_other = theirs and theirs not in said and mine and mine not in rest
    return not is_other and not new.scope - old.content - gone


def _substituted(new: Apart, old: Apart, most: int) -> bool:
    """Say whether both are one sentence but for one value of so many words, where only one can hold."""
    blocks = [b for b in SequenceMatcher(None, old.stems, new.stems, autojunk=False).get_opcodes() if b[0] != "equal"]
    changed = [b for b in blocks if not _is_light(old.tokens[b[1] : b[2]]) or not _is_light(new.tokens[b[3] : b[4]])]
    if len(changed) != 1 or changed[0][0] != "replace":
        return False
    _, begin, end, start, stop = changed[0]
    gone, come = old.tokens[begin:end], new.tokens[start:stop]
    frame = [t for t in (*old.tokens[:begin], *old.tokens[end:]) if t.stem not in _GENERIC]
    if not frame or max(len(gone), len(come)) > most:
        return False
    return _excludes(old.tokens[:begin], gone, come, new, old) if new.changes or not new.negations else False


def _excludes(before: Sequence[_Token], gone: Sequence[_Token], come: Sequence[_Token], new: Apart, old: Apart) -> bool:
    """Say whether of two values only one can hold, in the place where they stand."""
    kinds = {t.kind for t in (*gone, *come)}
    if kinds in _AMOUNTS:
        # a number behind the first name is a part of it
        return not _is_light(before) and not (kinds == {"number"} and len(before) < _NAMED)
    if any(t.role == "scope" for t in (*gone, *come)) or (before and before[-1].stem in _LABEL_ROOTS):
        return False
    if not before:
        # another one does it, or has it
        return new.changes and len([t for t in old.tokens if not _is_light([t])]) > len(gone) + 1
    is_answer = old.answer >= {t.stem for t in gone} and new.answer >= {t.stem for t in come}
    is_use = "use" in new.stems and bool(new.scope) and new.scope == old.scope and kinds == {""}
    return new.changes or is_answer or is_use


def _of_one_kind(new: Apart, old: Apart) -> bool:
    """Say whether both name one amount, day or path each, and are about the same thing."""
    mine, theirs = new.values(), old.values()
    for kind in mine.keys() & theirs.keys():
        if len(mine[kind]) != 1 or len(theirs[kind]) != 1 or mine[kind] == theirs[kind]:
            continue
        a, b = old.content - set(theirs[kind]), new.content - set(mine[kind])
        if not a & b or any(mine[k] != theirs.get(k) for k in mine if k != kind):
            continue
        if not new.changes:
            if new.negations or kind == "path":
                return False
            late = min(old.stems.index(theirs[kind][0]), new.stems.index(mine[kind][0])) >= _NAMED
            return late and sorted(a) == sorted(b)
        return _is_about(new, old, a, b)
    return False


def _told_changed(new: Apart, old: Apart) -> bool:
    """Say whether the newer statement says that what the older one is about has changed."""
    if not new.changes:
        return False
    a, b = old.content, new.content
    if not a - b or not b - a or len(a - b) > _MOST_LEFT:
        return False
    return len(a & b) >= max(2, _ENOUGH * len(a)) and _is_about(new, old, a, b)


def _is_about(new: Apart, old: Apart, a: frozenset[str], b: frozenset[str]) -> bool:
    """Say whether two statements are about the same thing, and the newer one holds as widely as the older one."""
    mine, theirs = new.subject(), old.subject()
    if mine not in a and theirs not in b:
        return False
    return len(a & b) >= _HALF * min(len(a), len(b)) and not new.scope - a


def _is_light(tokens: Sequence[_Token]) -> bool:
    return all(t.stem in _GENERIC for t in tokens)


@lru_cache(maxsize=20_000)
def apart(text: str) -> Apart:
    """Take a statement apart."""
    found = [(_named(text, pattern), pattern.pattern == _IN_PASSING) for pattern in _GIVES_UP]
    gives_up = tuple(stems for of, _ in found for stems in of)
    in_passing = frozenset(stems for of, is_passing in found if is_passing for stems in of)
    rule = parted(_CHANGE.sub(" ", text))[0]
    words = _WORD.findall(rule)
    tokens: list[_Token] = []
    role: Literal["main", "scope", "value"] = "main"
    placed = False
    answer = _answer(text)
    for raw in words:
        low = raw.strip(".,:;!?'\u2019\"`").casefold()
        if low in _SCOPE:
            is_place = low in _IN and (placed or (answer and len(tokens) < _SHORT))
            role = "value" if is_place else "scope"
            continue
        if low in _VALUE:
            role = "value"
            continue
        for stem in words_of(raw).stems:
            placed |= stem in _PLACES
            is_name = bool(tokens) and tokens[-1].stem in _LABEL_ROOTS
            tokens.append(_Token(_root(_IN_WORDS.get(stem, stem)), role, "" if is_name else _kind(low)))
    return Apart(tuple(tokens), words_of(rule).negations, bool(_CHANGE.search(text)), answer, gives_up, in_passing)


def _named(text: str, pattern: re.Pattern[str]) -> list[frozenset[str]]:
    """Return what a statement names as given up, each as its words."""
    found = (_roots(_clause(one["old"])) - _GENERIC for one in pattern.finditer(text))
    return [stems for stems in found if stems and len(stems) <= _SHORT]


def _answer(text: str) -> frozenset[str]:
    """Return the words behind the first verb that has one answer; a first word is a name, as in "Deploys are ..."."""
    words = text.split()
    verb = next((n for n, word in enumerate(words) if n and word.casefold() in _ONE_ANSWER), len(words))
    # of a command with its operands there may be several
    rest = _COMMAND.sub(" ", " ".join(words[verb + 1 :]))
    return _roots(rest)


def _roots(text: str) -> frozenset[str]:
    return frozenset(_root(_IN_WORDS.get(stem, stem)) for stem in words_of(text).stems)


@lru_cache(maxsize=20_000)
def _clause_of(text: str) -> _Clause:
    words = words_of(_CHANGE.sub(" ", arranged(text)))
    noes = sum(stem in _NOES for stem in words.stems) + words.negations
    roots = frozenset(_root(stem) for stem in words.stems if stem not in _NOES | LIGHT | _MAY)
    return _Clause(roots, words.marks, noes % 2 == 1)


def _clause(text: str) -> str:
    """Return what is given up without what stands behind it: its reason, its place, its time."""
    words = text.split()
    ends = _SCOPE | {"because", "since", "and", "so"}
    end = next((n for n, word in enumerate(words) if n and word.casefold() in ends), len(words))
    return " ".join(words[:end])


def _kind(word: str) -> str:
    word = _IN_WORDS.get(word, word)
    for kind, pattern in _KINDS.items():
        if pattern.fullmatch(word):
            return kind
    return ""


# What contradicts a line that a person wrote: it waits for a person, who is shown both sides.


class Contrary:
    """The lines of memory files that a person wrote, or of which nobody knows who did."""

    def __init__(
        self, lines: Iterable[ForeignLine], found: Mapping[str, tuple[str, str]] | None = None, said: Iterable[str] = ()
    ) -> None:
        self._lines = list(lines)
        there = {line.text for line in self._lines} | set(said if found else ())
        of = (found or {}).items()
        self._found = {name: ForeignLine(file, text) for name, (file, text) in of if text in there}
        self._by_word: dict[str, list[int]] = {}
        for number, line in enumerate(self._lines):
            for word in set(words_of(line.text).stems):
                self._by_word.setdefault(word, []).append(number)

    @classmethod
    def of_people(cls, state: State) -> "Contrary":
        """Return the lines of a folder that no dream may change, with what a model found against people's words."""
        theirs = (line for line in state.foreign if state.writers.get(line.key) != "tool")
        said = (memory.text for memory in state.standing if memory.is_from_person)
        return cls(theirs, state.book.disputes, said)

    def to(self, item: Memory | Candidate) -> ForeignLine | None:
        """Return a line that an item contradicts, in either direction, since nobody knows which is newer."""
        if item.id in self._found:
            return self._found[item.id]
        near = sorted({n for word in set(words_of(item.text).stems) for n in self._by_word.get(word, ())})
        return next((self._lines[n] for n in near if _contradicts(item, self._lines[n].text)), None)

    def reason(self, item: Memory | Candidate) -> str:
        """Return why an item waits, or ""."""
        line = self.to(item)
        if line is None:
            return ""
        return f"contradicts what a person {f'wrote in {line.file}' if line.file else 'said'}: {line.text[:160]}"


def disputed(state: State) -> Sequence[tuple[Memory, ForeignLine]]:
    """Return the memories that contradict a person's line and about which nobody has decided yet."""
    contrary = Contrary.of_people(state)
    # what a person said against a line of theirs was put before them when it was said
    decided = {m.id for m in state.standing if m.is_from_person and m.id not in state.book.disputes}
    decided |= state.book.rejected
    asked = [m for m in state.standing if m.id not in decided and not (m.stands and target_of(m.line))]
    return [(memory, line) for memory in asked if (line := contrary.to(memory))]


def _contradicts(item: Memory | Candidate, text: str) -> bool:
    if overtakes(item.text, text) or overtakes(text, item.text):
        return True
    mine, theirs = claim(item), claim_of(text, item.category)
    return is_definite(mine[0]) and excludes(mine, theirs)


# How a line of a folder relates to an older one, where an agent wrote both: the rules above are one of some hundred
# things that tell, beside an alignment of the two lines, what is rare in their folder, and words that only one has.
# Trees were fitted to pairs that others wrote (``tests/quality/train_relation.py``); their weights are data.

# words that any sentence has; their order is its build
_SMALL = _set(
    "a an the is are was were be been to of in on at for from and or that this these those it its as by with so "
    "do does did has have had not no we you i he she they our your my all any each can may must should will would "
    "per when if then than only also use used uses using der die das ein eine ist sind und oder nicht kein auf im "
    "mit von zu für bei des dem den le la les un une est et de du en pour sur el los las es y para con por il lo "
    "di"
)
_IN_CODE = re.compile(r"`(?P<code>[^`]+)`|[^`]+")
_RAW = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]+|(?:(?![\u3040-\u30ff\u3400-\u9fff])[\w./\\:@#+~%$*'\u2019^<>=\u2264\u2265\u20ac\u00a3()-])+"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_PIECE = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*")
_OF_FORM: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("version", r"v?\d+(?:\.\d+)+[\w.-]*|v\d+"),
        ("number", r"[~<>=\u2264\u2265]*[vV$\u20ac\u00a3]?\d[\d.,:_]*\+?(?:x|%|[a-zA-Z]{1,3})?"),
        ("path", r".*/.*|.*\.[a-z]{1,5}"),
        ("option", r"-.*"),
        ("name", r"[@#$.].*|.*(?:[a-z][A-Z]|_|::|\(\)|\w[.-]\w|\d).*|[A-Z]{2,}"),
    )
)
_NAMES = ("path", "option", "name", "proper", "code")
_ALL = ("version", "number", *_NAMES, "word")
_ENDS = (".", "!", "?", ":", ";")
_ALIKE, _LEAST_ALIKE, _SHARE = 0.8, 5, 0.75
_LEAST_GRAM = 4
_BEYOND = 20
# what the rules see as well needs less: of 35 such pairs of writers to whom nothing was fitted 1
# stays beside the other, of 46 that the rules see alone 8
_SECONDED = 1.5
_RARE = 0.6


@dataclass(frozen=True, slots=True)
class _Said:
    """A word: without its ending, with its kind and the parts that a name has."""

    root: str
    kind: str
    word: str
    parts: frozenset[str]


@dataclass(frozen=True)
class Line:
    """A line taken apart."""

    text: str

    @cached_property
    def tokens(self) -> tuple[_Said, ...]:
        """Its words in order."""
        found: list[_Said] = []
        is_first = True
        for piece in _IN_CODE.finditer(self.text):
            for raw in _RAW.findall(piece["code"] or piece[0]):
                found += _tokens(raw, is_first=is_first, is_code=bool(piece["code"]))
                is_first = raw.endswith(_ENDS)
        return tuple(found)

    @cached_property
    def said(self) -> tuple[_Said, ...]:
        """Those of its words that say something; all where none does."""
        return tuple(t for t in self.tokens if t.word not in _SMALL) or self.tokens

    @cached_property
    def parts(self) -> frozenset[str]:
        """What can be shared with another line."""
        return frozenset[str]().union(*(t.parts for t in self.said))

    @cached_property
    def marks(self) -> frozenset[str]:
        """Its numbers and names."""
        return frozenset(t.root for t in self.said if t.kind != "word")

    @cached_property
    def phrases(self) -> frozenset[str]:
        """Its words and every two side by side, names and numbers by their kind."""
        words = ["^", *(t.word if t.kind == "word" else f"<{t.kind}>" for t in self.tokens)]
        return frozenset((*words, *(f"{one} {other}" for one, other in pairwise(words))))

    @cached_property
    def grams(self) -> frozenset[str]:
        """Its pieces of four characters."""
        bare = re.sub(r"\W+", " ", self.text.lower())
        return frozenset(bare[n : n + _LEAST_GRAM] for n in range(len(bare) - _LEAST_GRAM + 1))


line_of = lru_cache(maxsize=20_000)(Line)


def _tokens(raw: str, *, is_first: bool, is_code: bool) -> list[_Said]:
    if _UNSPACED.fullmatch(raw):
        # of scripts without spaces every two signs
        pairs = [raw[n : n + 2] for n in range(max(1, len(raw) - 1))]
        return [_Said(pair, "word", pair, frozenset((pair,))) for pair in pairs]
    edges = ",:;!?'\u2019\")" if raw.startswith((".", "-", "*", "@")) else ".,:;!?'\u2019\"()*"
    bare = raw.strip(edges).rstrip(".")
    if not any(c.isalnum() for c in bare):
        return []
    if bare.lower() != "one":
        bare = _IN_WORDS.get(bare.lower(), bare)
    kind = next((k for k, pattern in _OF_FORM if pattern.fullmatch(bare)), "")
    if not kind:
        kind = "code" if is_code else "proper" if bare[0].isupper() and not is_first else "word"
    word = bare.lower()
    root = _root(word) if kind in ("word", "proper", "code") else word
    parts = {root}
    if kind in _NAMES:
        parts |= {_root(piece) for piece in _PIECE.findall(word) if len(piece) > 1}
        parts.add(root.rstrip("/").rsplit("/", 1)[-1])
    return [_Said(root, kind, word, frozenset(parts))]


class Rarity:
    """How rare words are among the lines of a folder: 1 for what one line of it has, less for what many have."""

    def __init__(self, texts: Iterable[str]) -> None:
        lines = [line_of(text) for text in texts]
        self._times = Counter(part for line in lines for part in line.parts)
        # a word of two lines is as rare in a small folder as in a large one
        self._all = len(lines) + _BEYOND

    def of(self, part: str) -> float:
        """Return how rare a word is."""
        return 1 - math.log(max(1, self._times[part])) / math.log(self._all)

    def times(self, part: str) -> int:
        """Return how many lines have a word."""
        return self._times[part]


def share_something(one: str, other: str, rarity: Rarity) -> bool:
    """Say whether two lines share something rare in their folder: only such lines are about one thing."""
    return any(rarity.of(part) >= _RARE for part in line_of(one).parts & line_of(other).parts)


class _Side:
    """One line beside the other: which of its words come back there."""

    def __init__(self, line: Line, other: Line, rarity: Rarity) -> None:
        self.tokens = line.said
        self.found = [_comes_back(t, other.parts) for t in self.tokens]
        self.rare = [max(rarity.of(part) for part in t.parts) for t in self.tokens]

    @property
    def covered(self) -> float:
        return sum(x * y for x, y in zip(self.found, self.rare, strict=True)) / (sum(self.rare) or 1)

    @property
    def shared(self) -> list[float]:
        """How rare the words are that come back, rarest first."""
        return sorted((r for r, f in zip(self.rare, self.found, strict=True) if f >= _ALIKE), reverse=True)

    @property
    def alone(self) -> list[float]:
        """How rare the words are that do not."""
        return sorted((r for r, f in zip(self.rare, self.found, strict=True) if f < _ALIKE), reverse=True)

    def mean(self, count: int) -> float:
        """Return how much of its first words comes back."""
        return sum(self.found[:count]) / max(1, count)

    def of_kind(self, kinds: Sequence[str]) -> tuple[int, int]:
        """Return how many words of some kinds come back, and how many do not."""
        of = [f >= _ALIKE for t, f in zip(self.tokens, self.found, strict=True) if t.kind in kinds]
        return sum(of), len(of) - sum(of)


def _comes_back(token: _Said, parts: frozenset[str]) -> float:
    if not token.parts.isdisjoint(parts):
        return 1.0
    if token.kind not in ("word", "proper", "code"):
        return 0.0
    return max((_likeness(token.root, part) for part in parts), default=0.0)


@lru_cache(maxsize=200_000)
def _likeness(one: str, other: str) -> float:
    shorter = min(len(one), len(other))
    if shorter < _LEAST_ALIKE or one[:2] != other[:2]:
        return 0.0
    same = next((n for n in range(shorter) if one[n] != other[n]), shorter)
    return _ALIKE if same >= max(_LEAST_ALIKE, _SHARE * shorter) else 0.0


def features(older: str, newer: str, rarity: Rarity) -> dict[str, float]:
    """Return what tells how a line relates to an older one, by name."""
    old, new = line_of(older), line_of(newer)
    one, other = _Side(old, new, rarity), _Side(new, old, rarity)
    found: dict[str, float] = {}
    for name, side, line in (("old", one, old), ("new", other, new)):
        count = len(side.tokens)
        found |= {
            f"covered {name}": side.covered,
            f"plain {name}": side.mean(count),
            f"length {name}": count,
            f"first {name}": side.mean(1),
            f"second {name}": side.mean(min(2, count)),
            f"half {name}": side.mean((count + 1) // 2),
            f"last {name}": side.found[-1] if count else 0.0,
            f"alone {name}": side.alone[0] if side.alone else 0.0,
            f"alone number {name}": len(side.alone),
            f"alone sum {name}": sum(side.alone),
            f"noes {name}": words_of(line.text).negations,
            f"changes {name}": apart(line.text).changes,
        }
    found["covered least"] = min(found["covered old"], found["covered new"])
    found["covered most"] = max(found["covered old"], found["covered new"])
    found["covered both"] = found["covered old"] * found["covered new"]
    found["ratio"] = math.log((len(new.said) + 1) / (len(old.said) + 1))
    found["noes"] = abs(found["noes old"] - found["noes new"])
    shared = one.shared
    found |= {f"shared {n}": shared[n] if len(shared) > n else 0.0 for n in range(3)}
    found |= {"shared number": len(shared), "shared sum": sum(shared)}
    groups = [*((kind, (kind,)) for kind in _ALL), ("marks", _ALL[:-1]), ("names", _NAMES)]
    for name, kinds in groups:
        (both, gone), (_, come) = one.of_kind(kinds), other.of_kind(kinds)
        found |= {f"{name} both": both, f"{name} gone": gone, f"{name} come": come, f"{name} swapped": min(gone, come)}
        found[f"{name} share"] = both / (both + gone + come + 0.5)
    return found | _built_alike(old, new) | _by_rules(older, newer)


def _built_alike(old: Line, new: Line) -> dict[str, float]:
    match = SequenceMatcher(None, [t.root for t in old.tokens], [t.root for t in new.tokens], autojunk=False)
    blocks = match.get_opcodes()
    replaced = [b for b in blocks if b[0] == "replace"]
    small = [[t.word for t in line.tokens if t.word in _SMALL] for line in (old, new)]
    both, either = len(old.grams & new.grams), len(old.grams | new.grams)
    return {
        "alike": match.ratio(),
        "begins": blocks[0][2] if blocks and blocks[0][0] == "equal" else 0,
        "ends": blocks[-1][2] - blocks[-1][1] if blocks and blocks[-1][0] == "equal" else 0,
        "longest": max((b[2] - b[1] for b in blocks if b[0] == "equal"), default=0),
        "replaced": len(replaced),
        "first replaced": replaced[0][1] / max(1, len(old.tokens)) if replaced else 1.0,
        "one replaced": len(replaced) == 1 and all(b[0] in ("equal", "replace") for b in blocks),
        "build": SequenceMatcher(None, *small, autojunk=False).ratio() if any(small) else 0.5,
        "grams": both / (either or 1),
        "grams in": both / (min(len(old.grams), len(new.grams)) or 1),
    }


def _by_rules(older: str, newer: str) -> dict[str, float]:
    return {
        "overtakes": overtakes(newer, older),
        "overtaken": overtakes(older, newer),
        "same": meaning_of(older) == meaning_of(newer),
    }


# Trees over them, and where their sum is high enough to act on: the bars were set on pairs of another writer than the
# one that trees were fitted to.


class Head(msgspec.Struct, frozen=True):
    """Trees that answer one question; a tree is a number, or feature, threshold, and the trees below and above it."""

    bias: float
    trees: list[Any]
    least: float  # the least score that is a yes

    def score(self, values: Sequence[float]) -> float:
        """Return the log-odds for the values of all features."""
        return math.fsum((self.bias, *(_leaf(tree, values) for tree in self.trees)))


class Judge(msgspec.Struct, frozen=True):
    """What was fitted."""

    features: list[str]
    words: dict[str, float]  # what words of one side alone tell of a change (:func:`words_alone`)
    needless: Head  # the older line is needless beside the newer one
    changed: Head  # the newer one tells what holds now, or that it is done

    def replaces(self, newer: str, older: str, rarity: Rarity) -> float:
        """Return by how much more than needed a line makes an older one needless; below 0 it does not."""
        told = features(older, newer, rarity)
        values = [float(told[name]) for name in self.features]
        values.append(told_by(self.words, line_of(older), line_of(newer)))
        sure = max(head.score(values) - head.least for head in (self.needless, self.changed))
        return sure + _SECONDED * told["overtakes"]


def words_alone(old: Line, new: Line) -> frozenset[str]:
    """Return the words, and every two side by side, that only one of two lines has: "no longer", "todo", "merged"."""
    one, other = old.phrases, new.phrases
    return frozenset({*(f"-{p}" for p in one - other), *(f"+{p}" for p in other - one)})


def told_by(words: Mapping[str, float], old: Line, new: Line) -> float:
    """Return the sum of what the words of one side alone tell."""
    return math.fsum(words[word] for word in words_alone(old, new) if word in words)


def _leaf(tree: Any, values: Sequence[float]) -> float:
    while isinstance(tree, list):
        feature, threshold, below, above = cast("list[Any]", tree)
        tree = below if values[feature] <= threshold else above
    return float(tree)


@cache
def judge() -> Judge:
    """Return the judge that is shipped."""
    data = files("slowwave.consolidation").joinpath("relation.json").read_bytes()
    return msgspec.json.decode(data, type=Judge)


# What a dream does with it: of two lines of a folder the older one goes, where an agent wrote it and no person stands
# behind it.
#
# Which is older tells when each was written, and within one page of one day its place. Where nobody knows, both stay.

# so many of the lines that share most with a line are compared with it
_NEAREST = 6
# of some 60 such pairs of five writers each was a change, and none of 34,000 pairs of lines that share a folder
_CERTAIN = math.inf
_HOLDS = ("ADD", "KEEP", "UPDATE", "MERGE")
_MANY = 60
_QUOTED = 120


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line, or what a dream adds, as far as it holds."""

    fact: Fact
    operation: Operation
    at: str  # when it was written or said, "" where nobody knows
    place: tuple[str, int]  # file and number of its line, -1 for what stands in no order

    @property
    def text(self) -> str:
        return " ".join(self.fact.lead.text.split())

    @property
    def may_go(self) -> bool:
        memory, done = self.fact.memory, self.operation
        is_agents = memory is not None and memory.writer == "agent" and not self.fact.is_from_person
        return is_agents and done.action != "ADD" and not done.spans

    @property
    def order(self) -> tuple[str, str, int, str]:
        return (self.at, *self.place, self.fact.id)


def without_needless(
    operations: Sequence[Operation], facts: Sequence[Fact], state: State, max_loss: float
) -> list[Operation]:
    """Return operations in which lines go that a later one makes needless, no more than a dream may lose.

    Without anything new nothing is decided anew: of two lines one is new, but where lines of the folder were never
    judged, or not all went that should. What may not go yet says so.

    Args:
        operations: what the rules do with every fact.
        facts: the facts.
        state: what orient found.
        max_loss: the share of all memories that a dream may lose.
    """
    new = {event.memory for event in state.adopted} | {fact.id for fact in facts if fact.candidates}
    entries = _entries(operations, {fact.id: fact for fact in facts}, state) if new else []
    if not state.book.judged:
        new |= {one.fact.id for one in entries}
    rarity = Rarity([one.text for one in entries])
    near = [(older, newer, _sure(older, newer, rarity)) for older, newer in _near(entries, rarity, new)]
    found = sorted((one for one in near if one[2] >= 0), key=lambda one: -one[2])
    room = max(1, int(max_loss * len(state.standing)))
    # what is newest holds
    surest = sorted(found[:room], key=lambda one: one[1].order, reverse=True)
    made: dict[str, Operation] = {}
    for older, newer, _ in surest:
        # of a line that goes itself what is newest stands in its place
        ended = made.get(newer.fact.id)
        if older.fact.id not in made:
            made[older.fact.id] = _ends(older, newer, ended.successor if ended else newer.fact.id)
    for older, newer, _ in found[room:]:
        if older.fact.id not in made and older.operation.action == "KEEP":
            reason = f"{_told(older, newer)}; it waits, for no more lines may go in one night"
            made[older.fact.id] = msgspec.structs.replace(older.operation, reason=reason, by=BY_JUDGE)
    return [made.get(o.memory, o) for o in operations]


def _entries(operations: Sequence[Operation], facts: Mapping[str, Fact], state: State) -> list[_Entry]:
    places = {
        (file, digest): number
        for file, data in state.files.items()
        for number, digest in standing_lines(data, [m.sha256 for m in state.standing if m.file == file]).items()
    }
    successors = {o.successor for o in operations if o.successor}
    found: list[_Entry] = []
    for operation in operations:
        fact = facts.get(operation.memory)
        if fact is None or operation.action not in _HOLDS or operation.successor or operation.by_person:
            continue
        memory = fact.memory
        if memory and (memory.is_retraction or target_of(memory.line) or memory.id in successors):
            continue
        at = memory.valid_from if memory and memory.stands else fact.last_seen
        number = places.get((memory.file, memory.sha256), -1) if memory and memory.stands else -1
        found.append(_Entry(fact, operation, at, (memory.file if memory else "", number)))
    return sorted(found, key=lambda one: one.order)


def _near(entries: Sequence[_Entry], rarity: Rarity, new: Container[str]) -> Iterator[tuple[_Entry, _Entry]]:
    """Yield lines that may go, each with those later ones that share most with it."""
    having: dict[str, list[int]] = {}
    for number, one in enumerate(entries):
        for part in line_of(one.text).parts:
            having.setdefault(part, []).append(number)
    for number, older in enumerate(entries):
        if not older.may_go:
            continue
        shared: Counter[int] = Counter()
        for part in sorted(line_of(older.text).parts):
            for other in having[part] if len(having[part]) <= _MANY else ():
                shared[other] += round(1000 * rarity.of(part))
        near = [entries[n] for n, _ in shared.most_common(_NEAREST + 1) if n != number]
        for newer in near:
            is_new = older.fact.id in new or newer.fact.id in new
            if is_new and older.text != newer.text and share_something(older.text, newer.text, rarity):
                yield older, newer


def _sure(older: _Entry, newer: _Entry, rarity: Rarity) -> float:
    """Return how sure it is that a line is needless beside a later one; below 0 it is not, or is no later one."""
    is_known = bool(older.at and newer.at) and older.at != newer.at
    is_one_page = older.at == newer.at and older.place[0] == newer.place[0] and min(older.place[1], newer.place[1]) >= 0
    if not (is_known or is_one_page) or newer.order < older.order:
        return -1.0
    if overtakes(newer.text, older.text, surely=True):
        return _CERTAIN
    return judge().replaces(newer.text, older.text, rarity)


def _ends(older: _Entry, newer: _Entry, holder: str) -> Operation:
    done = older.operation
    *before, (begin, _) = older.fact.spans_before or ((older.at, ""),)
    spans = (*before, (begin, max(begin, newer.at))) if newer.at else ()
    told = _told(older, newer)
    return Operation("SUPERSEDE", done.memory, done.candidates, told, holder, spans=spans, by=BY_JUDGE)


def _told(older: _Entry, newer: _Entry) -> str:
    where = f" ({newer.place[0]})" if newer.place[0] and newer.place[0] != older.place[0] else ""
    return f"a later line says: {newer.text[:_QUOTED]}{where}"
