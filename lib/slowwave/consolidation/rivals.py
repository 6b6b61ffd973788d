"""Which facts contradict each other, and when each of them held."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from slowwave.consolidation.facts import (
    PERSONAL,
    Fact,
    Held,
    Moment,
    identity,
    moments_of,
    outside,
    sighting,
    taken_back,
    timeline,
)
from slowwave.consolidation.likeness import words_of
from slowwave.consolidation.refusals import ended, is_retraction, may_end
from slowwave.consolidation.replacement import Apart, apart, overtakes
from slowwave.consolidation.slots import COMMANDS, claim, excludes, is_definite, scope_of, stance_of
from slowwave.memory import Candidate

_MOST_ALIKE = 60


def held_when(facts: Sequence[Fact]) -> dict[str, Held]:
    """Return for each fact, by its id, when it held and what ended it; a function of what was seen and when."""
    moments = {fact.id: fact.moments for fact in facts}
    slots: dict[str, list[Fact]] = {}
    for fact in facts:
        slots.setdefault(_slot(fact) or f"only:{fact.id}", []).append(fact)
    found: dict[str, Held] = {}
    for slot, group in slots.items():
        if slot.startswith(COMMANDS):
            found |= {fact.id: _held_beside(fact, group, moments) for fact in group}
        else:
            found |= timeline(moment for fact in group for moment in moments[fact.id])
    plain = [fact for fact in facts if not is_retraction(fact)]
    for older, newer in _overtaken(plain):
        against = [m for fact in newer for m in moments[fact.id] if m.by_person]
        found[older.id] = taken_back(found[older.id], moments[older.id], against)
    for older, newer in _denied(plain):
        against = [m for fact in newer for m in moments[fact] if m.by_person]
        found[older] = taken_back(found[older], moments[older], against)
    for older, recaps in amended(plain):
        found[older.id] = taken_back(found[older.id], moments[older.id], recaps)
    found |= ended(facts, found)
    found |= _replaced(facts, found)
    found |= _ended_by_others(facts)
    for slot, group in slots.items():
        found |= _beside_wider(group, found) if slot.startswith(COMMANDS) else {}
    return {fact.id: _with_its_end(fact, found.get(fact.id, Held(fact.spans_before))) for fact in facts}


def _held_beside(fact: Fact, group: Iterable[Fact], moments: Mapping[str, Sequence[Moment]]) -> Held:
    """Return when a command held among others for its purpose: only some of them take its place."""
    mine = claim(fact.lead)
    rivals = [fact, *(other for other in group if excludes(claim(other.lead), mine))]
    return timeline(moment for one in rivals for moment in moments[one.id])[fact.id]


def _beside_wider(group: Sequence[Fact], held: Mapping[str, Held]) -> dict[str, Held]:
    """Return when lists of checks held beside longer ones with all of theirs: only while none of these does.

    Whoever runs some of the checks has said nothing against the others.
    """
    found: dict[str, Held] = {}
    for wider in group:
        for fact in group if not wider.is_ghost else ():
            mine, more = claim(fact.lead), claim(wider.lead)
            is_less = excludes(more, mine) and not excludes(mine, more)
            if is_less and (wider.is_from_person or not fact.is_from_person):
                found[fact.id] = outside(found.get(fact.id, held[fact.id]), held[wider.id], wider.id)
    return found


def _ended_by_others(facts: Sequence[Fact]) -> dict[str, Held]:
    """Return when memories held whose place another one took as a model saw, until somebody states them again."""
    known = {fact.id for fact in facts}
    ended = [(f.id, f.memory) for f in facts if f.memory and f.memory.ended_by and not f.candidates]
    return {name: Held(m.held, m.successor) for name, m in ended if m.status == "superseded" and m.successor in known}


def _replaced(facts: Sequence[Fact], held: Mapping[str, Held]) -> dict[str, Held]:
    """Return when memories held that a model found to be changed or over."""
    by_id = {fact.memory.id: fact for fact in facts if fact.memory}
    now = dict(held)
    replaced: set[str] = set()
    for fact in sorted(facts, key=lambda f: f.id):
        for candidate, one in ((c, r) for c in (*fact.known, *fact.candidates) for r in c.replaces):
            older = by_id.get(one.id)
            # two memories never end each other
            if older is None or older is fact or not may_end(candidate, fact, older) or _ends(older, fact, now):
                continue
            own = sighting(candidate)
            ender = moments_of(fact.id, identity(fact.lead), [own])
            now[older.id] = taken_back(now[older.id], older.moments, ender)
            replaced.add(older.id)
    return {fact: now[fact] for fact in replaced}


def _ends(fact: Fact, other: Fact, held: Mapping[str, Held]) -> bool:
    """Say whether a fact ended another one, or one that did."""
    seen = {other.id}
    at = held[other.id].ended_by
    while at and at not in seen and at in held:
        if at == fact.id:
            return True
        seen.add(at)
        at = held[at].ended_by
    return False


def holder_after(fact: str, held: Mapping[str, Held]) -> str:
    """Return the fact that holds in the end in place of one that was ended; each one ended later than the one before.

    Empty when the last of them is not known or still open to doubt.
    """
    seen = {fact}
    while held[fact].ended_by:
        fact = held[fact].ended_by
        if fact in seen or fact not in held:
            return ""
        seen.add(fact)
    return fact


def _with_its_end(fact: Fact, held: Held) -> Held:
    """A memory that a person took away has ended when they did, whatever was seen."""
    if not fact.is_ghost or not fact.memory or not held.spans:
        return held
    *before, (begin, end) = held.spans
    gone = fact.memory.valid_to
    return Held((*before, (begin, min(end, gone) if end and gone else end or gone)), held.ended_by)


def _slot(fact: Fact) -> str:
    """Return what a fact is about where two answers exclude each other.

    Words alone only count where a contradiction is one: rules and choices of people. Two observations may well both be
    true.
    """
    lead = fact.lead
    if is_retraction(fact):
        return ""
    slot = claim(lead)[0]
    if (lead.key and lead.value) or is_definite(slot):
        return slot
    return slot if fact.category in PERSONAL and fact.is_from_person else ""


def _overtaken(facts: Sequence[Fact]) -> Iterator[tuple[Fact, list[Fact]]]:
    """Yield facts with those whose words take their place (:mod:`slowwave.consolidation.replacement`)."""
    by_word: dict[str, list[Fact]] = {}
    words = {fact.id: frozenset(words_of(fact.lead.text).stems) for fact in facts}
    for fact in facts:
        for word in words[fact.id]:
            by_word.setdefault(word, []).append(fact)
    for older in facts:
        # a word that many have says nothing of what they are about
        rare = (by_word[word] for word in words[older.id] if len(by_word[word]) <= _MOST_ALIKE)
        near = {fact.id: fact for group in rare for fact in group if fact is not older}
        newer = [near[name] for name in sorted(near) if overtakes(near[name].lead.text, older.lead.text)]
        if newer:
            yield older, newer


def _denied(facts: Iterable[Fact]) -> Iterator[tuple[str, list[str]]]:
    """Yield facts with those that deny them in passing or word for word, where their slots do not show it.

    A statement that says no to what another one asks for denies it, and so does one that gives it up in passing; both
    are people's, and about the same kind of thing.
    """
    personal = [fact for fact in facts if fact.category in PERSONAL and fact.is_from_person]
    leads = {fact.id: fact.lead for fact in personal}
    slots = {fact.id: claim(leads[fact.id]) for fact in personal}
    stances: dict[str, list[tuple[str, str]]] = {}
    giving_up: dict[str, list[Fact]] = {}
    for fact in personal:
        # found by one of the words that are given up: whoever asks for the thing says it
        for word in sorted(given_up(leads[fact.id].text))[:1]:
            giving_up.setdefault(word, []).append(fact)
    for fact in personal:
        about, stance = stance_of(leads[fact.id].text)
        if about:
            stances.setdefault(about, []).append((fact.id, stance))
    for older in personal:
        mine, words = slots[older.id][0], leads[older.id].text
        about, stance = stance_of(words)
        against = [i for i, other in stances.get(about, ()) if other != stance and slots[i][0] != mine]
        against += [
            newer.id
            for word in dict.fromkeys(words_of(words).stems)
            for newer in giving_up.get(word, ())
            if newer is not older and newer.category == older.category and takes_back(leads[newer.id].text, words)
        ]
        if against:
            yield older.id, list(dict.fromkeys(against))


# What a later recap amends: the words in which a discussion ended stand in the place of what was decided before.
#
# A recap takes together what a person and an assistant settled (:mod:`slowwave.extraction.discussion`). What it takes
# up of an older decision on the same thing it tells anew, with the values that hold from then on, whatever the sentence
# looks like now; what it does not take up stands. It is told by the share of the older words that come back in it, an
# amount counting where the recap has one of the same unit, or by what the recap names as given up ("superseding the old
# 60-second cap"). What is limited to something else, or is about something else, stands beside it.

# of the words of a decision this share comes back where it is told anew
_TAKEN_UP = 0.6
_LEAST_AMENDED = 3
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
    """What one discussion ended in."""

    at: str  # when
    session: str  # where
    clauses: tuple[tuple[Fact, Candidate], ...]  # the facts that it states

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
        if len(shared - old.amounts) < _FIRST or len(shared | answered) < _LEAST_AMENDED:
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


# Sentences that take an older one back in passing: "put events into an outbox table instead of Redis streams".

_MARKER = re.compile(r"\b(?:instead of|rather than|in place of|anstelle von|statt)\s+", re.IGNORECASE)
# What is given up ends with the clause, or where its reason or its place begins.
_END = re.compile(
    r"[,.;:!?()]|\b(?:because|since|so|when|while|for|in|on|at|and|but|which|that|weil|da|und)\b", re.IGNORECASE
)
_MOST_WORDS = 4
# Words that two statements share besides what is given up, so that they are about the same thing.
_LEAST_SHARED = 2


def given_up(text: str) -> frozenset[str]:
    """Return the bare words of what a sentence gives up, none when it gives nothing up."""
    marker = _MARKER.search(text)
    if not marker:
        return frozenset()
    rest = text[marker.end() :]
    end = _END.search(rest)
    words = words_of(rest[: end.start()] if end else rest).stems
    return frozenset(words) if 0 < len(words) <= _MOST_WORDS else frozenset()


def takes_back(newer: str, older: str) -> bool:
    """Say whether ``newer`` gives up what ``older`` asks for, both being about the same thing."""
    gone = given_up(newer)
    new, old = words_of(newer), words_of(older)
    if not gone or old.negations or not gone <= set(old.stems) or gone <= given_up(older):
        return False
    return len((set(new.stems) & set(old.stems)) - gone) >= _LEAST_SHARED
