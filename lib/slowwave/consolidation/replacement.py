"""Whether a newer statement takes the place of an older one: the same thing has another value now.

Three builds show it. The newer one names what it gives up ("from A to B", "B instead of A", "no longer A"). Or both are
one sentence but for one value, where only one value can hold: after a verb that has one answer, between two amounts,
two days, two paths. Or the newer one says that something changed ("now", "moved to"), and is about what the older
one is about. What holds only somewhere else, only under a condition, or of another thing, stands beside it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal

from slowwave.consolidation.likeness import arranged, parted, words_of
from slowwave.consolidation.model import State
from slowwave.consolidation.slots import LABELS, claim, claim_of, is_definite
from slowwave.memory.book import Memory
from slowwave.memory.foreign import ForeignLine
from slowwave.memory.model import Candidate
from slowwave.memory.pages import target_of


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENDINGS = ("ations", "ation", "ments", "ment", "ings", "ing", "ed", "es", "s", "ly", "e")
_LEAST_ROOT = 4


def root_of(stem: str) -> str:
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
    r"instead of|rather than|in place of|as opposed to|over|not|replac(?:es|ed|ing)|supersed(?:es|ed|ing)|"
    r"anstelle von|anstatt|statt|au lieu de|en lugar de"
)
_STOPS = (
    r"no longer|not [\w ]{0,20}any ?more|stopped|dropped|retired|removed|abandoned|deprecated|gave up(?: on)?|"
    r"got rid of|(?:moved|migrated) (?:off|away from)|ditched|nicht mehr|ya no"
)
_STOPPED = r"gone|retired|dropped|deprecated|removed|abandoned|no longer (?:used|supported|in use)"
_DOING = r"(?:using |use |on |with |run |running |support |supporting )?(?:the )?"
_GIVES_UP = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bfrom {_OLD} (?:over )?to {_NEW}",
        rf"\b(?:{_INSTEAD}) {_REST}",
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
_GENERIC = frozenset(map(root_of, LIGHT))
_LABEL_ROOTS = frozenset(map(root_of, LABELS))
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


def overtakes(newer: str, older: str) -> bool:
    """Say whether a statement takes the place of an older one; never when both may hold side by side."""
    new, old = apart(newer), apart(older)
    if not new.tokens or not old.tokens or (new.stems == old.stems and new.negations == old.negations):
        return False
    if any(_given_up(gone, new, old) for gone in new.gives_up):
        return True
    if _is_contrary(newer, older):
        return True
    if new.negations != old.negations:
        return False
    return _substituted(new, old) or _of_one_kind(new, old) or _told_changed(new, old)


def _is_contrary(newer: str, older: str) -> bool:
    """Say whether a clause of the newer statement says no to what the older one says, or yes where that says no."""
    if _CONDITION.search(newer) or _CONDITION.search(older):
        return False
    old = _clause_of(_CLAUSES.split(older)[0])
    return any(_denies(_clause_of(clause), old) for clause in _CLAUSES.split(newer))


def _denies(new: _Clause, old: _Clause) -> bool:
    """Say whether two clauses have the same words, one of them with a no."""
    shared = new.roots & old.roots
    if new.is_no == old.is_no or new.marks != old.marks or len(shared) < _NAMED:
        return False
    # an answer to the whole of it, in whichever order, and of nothing else
    return len(old.roots - shared) <= len(shared) * _OTHER and len(new.roots - shared) <= len(shared) * _OTHER


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


def _substituted(new: Apart, old: Apart) -> bool:
    """Say whether both are one sentence but for one value, where only one can hold."""
    blocks = [b for b in SequenceMatcher(None, old.stems, new.stems, autojunk=False).get_opcodes() if b[0] != "equal"]
    changed = [b for b in blocks if not _is_light(old.tokens[b[1] : b[2]]) or not _is_light(new.tokens[b[3] : b[4]])]
    if len(changed) != 1 or changed[0][0] != "replace":
        return False
    _, begin, end, start, stop = changed[0]
    gone, come = old.tokens[begin:end], new.tokens[start:stop]
    frame = [t for t in (*old.tokens[:begin], *old.tokens[end:]) if t.stem not in _GENERIC]
    if not frame or max(len(gone), len(come)) > _MOST_CHUNK:
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
    gives_up = tuple(
        stems
        for pattern in _GIVES_UP
        for found in pattern.finditer(text)
        if (stems := _roots(_clause(found["old"])) - _GENERIC) and len(stems) <= _SHORT
    )
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
            tokens.append(_Token(root_of(_IN_WORDS.get(stem, stem)), role, "" if is_name else _kind(low)))
    return Apart(tuple(tokens), words_of(rule).negations, bool(_CHANGE.search(text)), answer, gives_up)


def _answer(text: str) -> frozenset[str]:
    """Return the words behind the first verb that has one answer; a first word is a name, as in "Deploys are ..."."""
    words = text.split()
    verb = next((n for n, word in enumerate(words) if n and word.casefold() in _ONE_ANSWER), len(words))
    # of a command with its operands there may be several
    rest = _COMMAND.sub(" ", " ".join(words[verb + 1 :]))
    return _roots(rest)


def _roots(text: str) -> frozenset[str]:
    return frozenset(root_of(_IN_WORDS.get(stem, stem)) for stem in words_of(text).stems)


@lru_cache(maxsize=20_000)
def _clause_of(text: str) -> _Clause:
    words = words_of(_CHANGE.sub(" ", arranged(text)))
    noes = sum(stem in _NOES for stem in words.stems) + words.negations
    roots = frozenset(root_of(stem) for stem in words.stems if stem not in _NOES | LIGHT | _MAY)
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
    return is_definite(mine[0]) and mine[0] == theirs[0] and mine[1] != theirs[1]
