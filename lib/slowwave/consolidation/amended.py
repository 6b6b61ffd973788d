"""What a later recap amends: the words in which a discussion ended stand in the place of what was decided before.

A recap takes together what a person and an assistant settled (:mod:`slowwave.extraction.discussion`). What it takes up
of an older decision on the same thing it tells anew, with the values that hold from then on, whatever the sentence
looks like now; what it does not take up stands. It is told by the share of the older words that come back in it, an
amount counting where the recap has one of the same unit, or by what the recap names as given up ("superseding the old
60-second cap"). What is limited to something else, or is about something else, stands beside it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from slowwave.consolidation.changed import Apart, apart
from slowwave.consolidation.facts import Fact, identity, sighting
from slowwave.consolidation.slots import scope_of
from slowwave.consolidation.timeline import Moment, moments_of
from slowwave.consolidation.words import words_of
from slowwave.memory.model import Candidate

# of the words of a decision this share comes back where it is told anew
_TAKEN_UP = 0.6
_LEAST_SHARED = 3
# of what is given up by name this share has to be in the decision that is meant
_MEANT = 0.6
_LEAST_MEANT = 2
_FIRST = 2
_SHORT = 3
_JOINED = re.compile(r"(?<=[^\W\d_])[-_](?=\w)|(?<=\w)[-_](?=[^\W\d_])")
_PIECES = re.compile(r"[:;(){}]\s*|\s[\u2013\u2014-]\s")
_ASIDE = re.compile(r"\([^()]*\)")
_UNIT = re.compile(r"[^\d.,:]*$")
# for whom or what something holds; a condition ("only when") is a part of the rule itself
_FOR = re.compile(
    r"(?<!\w)(?:for|inside|within|per|für|bei|pour|chez|dans|para|per|voor|för|dla|для|için)\s+(?:the\s+|our\s+|all\s+)?"
    r"(?P<thing>[^\s,;:.()]+)",
    re.IGNORECASE,
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class _Told:
    """A statement with what tells whether two are about the same thing."""

    text: str

    @cached_property
    def parts(self) -> Apart:
        return apart(_JOINED.sub(" ", self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words that name something; of scripts without spaces, every two signs."""
        return _bare(self.parts.content)

    @cached_property
    def subjects(self) -> frozenset[str]:
        """What it begins with, and what begins behind the words that lead to it ("Settled: ...")."""
        rest = self.text.partition(": ")[2]
        return _bare(one for one in (self.parts.subject(), _told(rest).parts.subject() if rest else "") if one)

    @cached_property
    def amounts(self) -> frozenset[str]:
        return frozenset(self.parts.values().get("number", ()))

    @cached_property
    def names(self) -> frozenset[str]:
        """The identifiers and paths in it."""
        return frozenset(mark for mark in words_of(self.text).marks if not any(c.isdigit() for c in mark))

    @cached_property
    def given_up(self) -> frozenset[frozenset[str]]:
        pieces = map(_told, filter(None, _PIECES.split(self.text)))
        return frozenset(gone for piece in pieces for gone in piece.parts.gives_up if len(gone) >= _LEAST_MEANT)

    @cached_property
    def limits(self) -> frozenset[str]:
        """Whom or what it is limited to."""
        text = _ASIDE.sub(" ", self.text)
        named = [found["thing"] for found in _FOR.finditer(text)] + [scope_of(text).removeprefix("@")]
        return frozenset(word for name in named for word in _told(name).words)


_told = lru_cache(maxsize=20_000)(_Told)


@dataclass(frozen=True)
class _Recap:
    """What one discussion ended in.

    Attributes:
        at: when.
        session: where.
        clauses: the facts that it states.
    """

    at: str
    session: str
    clauses: tuple[tuple[Fact, Candidate], ...]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset[str]().union(*(_told(c.text).words for _, c in self.clauses))

    @cached_property
    def amounts(self) -> frozenset[str]:
        return frozenset[str]().union(*(_told(c.text).amounts for _, c in self.clauses))

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset[str]().union(*(_told(c.text).names for _, c in self.clauses))

    def amending(self, older: Fact) -> tuple[Fact, Candidate] | None:
        """Return the clause that tells an older decision anew, or None."""
        old = _told(older.lead.text)
        if old.names and self.names and old.names.isdisjoint(self.names):
            return None
        fact, clause = max(self.clauses, key=lambda one: (len(_told(one[1].text).words & old.words), one[1].id))
        new = _told(clause.text)
        if new.limits - old.words or old.limits - self.words or _is_other(old, new, self.words):
            return None
        return (fact, clause) if self._takes_up(older, old) or self._gives_up(old) else None

    def _takes_up(self, older: Fact, old: _Told) -> bool:
        answered = {a for a in old.amounts - self.words if any(_unit(a) == _unit(b) for b in self.amounts)}
        shared = old.words & self.words
        if len(shared - old.amounts) < _FIRST or len(shared | answered) < _LEAST_SHARED:
            return False
        # in the discussion itself the same value in the person's own words is no older one
        is_earlier = all(s.session != self.session for s in older.counted)
        return (is_earlier or bool(answered)) and len(shared | answered) >= _TAKEN_UP * len(old.words)

    def _gives_up(self, old: _Told) -> bool:
        return any(
            len(gone & old.words) >= max(_LEAST_MEANT, _MEANT * len(gone)) and (old.words & self.words) - gone
            for _, clause in self.clauses
            for gone in map(_bare, _told(clause.text).given_up)
        )


def amended(facts: Sequence[Fact]) -> Iterator[tuple[Fact, list[Moment]]]:
    """Yield decisions of people with when which recaps told them anew."""
    recaps = _recaps(facts)
    for older in facts if recaps else ():
        if not older.is_from_person:
            continue
        against = [m for recap in recaps if older.first_seen < recap.at for m in _against(recap, older)]
        if against:
            yield older, against


def _against(recap: _Recap, older: Fact) -> list[Moment]:
    if any(fact is older for fact, _ in recap.clauses):
        return []
    found = recap.amending(older)
    return moments_of(found[0].id, identity(found[0].lead), [sighting(found[1])]) if found else []


def _recaps(facts: Sequence[Fact]) -> list[_Recap]:
    found: dict[tuple[str, str], list[tuple[Fact, Candidate]]] = {}
    for fact in facts:
        for candidate in (*fact.known, *fact.candidates):
            if candidate.extractor.endswith(":recap"):
                found.setdefault((candidate.observed_at, candidate.session.id), []).append((fact, candidate))
    return [_Recap(at, session, tuple(clauses)) for (at, session), clauses in sorted(found.items(), key=lambda i: i[0])]


def _is_other(old: _Told, new: _Told, known: frozenset[str]) -> bool:
    """Say whether two statements begin with what each is about, and those are two things."""
    if new.subjects.isdisjoint(old.words) and old.subjects.isdisjoint(known):
        return True
    blocks = SequenceMatcher(None, old.parts.stems, new.parts.stems, autojunk=False).get_opcodes()
    return any(
        kind == "replace"
        and 0 < begin < _FIRST
        and 0 < start < _FIRST
        and end - begin == stop - start
        and not any(token.kind for token in (*old.parts.tokens[begin:end], *new.parts.tokens[start:stop]))
        for kind, begin, end, start, stop in blocks
    )


def _bare(words: Iterable[str]) -> frozenset[str]:
    """Return words without a doubled last letter or a plural: "capp" of "capped" and "caps" are "cap".

    Of scripts without spaces, every two signs.
    """
    found: set[str] = set()
    for word in words:
        if _UNSPACED.search(word):
            found.update(word[n : n + 2] for n in range(len(word) - 1))
        elif len(word) > _SHORT and word.isalpha() and (word[-1] == word[-2] or word[-1] == "s"):
            found.add(word[:-1])
        else:
            found.add(word)
    return frozenset(found)


def _unit(amount: str) -> str:
    found = _UNIT.search(amount)
    return found[0] if found else ""
