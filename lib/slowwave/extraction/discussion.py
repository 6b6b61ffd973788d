"""What a discussion settled: the assistant's last words in a talk without work that take up what the person decided.

People settle things turn by turn; the answer that takes their words together ("Settled: at most 4 attempts, backoff
capped at 30 seconds") is the only place where all of it stands side by side. Known by structure: nothing was run or
edited between, several messages of the person lie behind it and most of its words are theirs, or of short proposals
from which they went on without a no or a question; it asks nothing, and what the person said afterwards, if anything,
was short and no refusal.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from slowwave.reading import Chosen, Meaning, Reading, Said, Statement, contents_of, points_back, statements

# of the words of a recap this share was said by the person
_TAKEN_UP = 0.4
# a longer answer is a document, which nobody has agreed to line by line
_MOST_STATEMENTS = 8
_MOST_CHARS = 1600
_MOST_PROPOSED = 400
_ROOT = 5
_LEAST_TURNS, _LEAST_WORDS = 2, 6
# from here on an answer is a new topic rather than assent
_LONGEST_ASSENT = 24
_LEAST_CLAUSE = 4
_LEAD = re.compile(r"^(?P<lead>[^.:;!?]{3,70}):\s+(?P<rest>\S.*)$", re.DOTALL)
_ASKS = ("?", "\uff1f")
_REFUSES = re.compile(
    r"^\W*(?:no|nope|not|don'?t|wait|hold|stop|actually|but|hmm?|nein|nicht|non|pas|nee|niet|nie|n\u00e3o|nem|hay\u0131r"
    r"|\u043d\u0435\u0442|\u043d\u0435|\u4e0d|\u3044\u3044\u3048|\uc544\ub2c8)(?!\w)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Settled:
    """A statement of a recap."""

    statement: Statement  # of the assistant
    text: str  # one clause of it, with the words that lead the list of clauses
    # the person's message that it takes up most of, the recap, and the assent where there is one
    shown: tuple[Said, ...]


def settled(reading: Reading) -> Iterator[Settled]:
    """Yield what discussions settled, in order."""
    for talk in _talks(reading.items):
        yield from _recap(talk)


def _talks(items: Sequence[Meaning]) -> Iterator[list[Said | Chosen]]:
    """Yield the stretches in which nothing was run or edited."""
    talk: list[Said | Chosen] = []
    for item in items:
        if isinstance(item, Said | Chosen):
            talk.append(item)
        else:
            yield talk
            talk = []
    yield talk


def _recap(talk: Sequence[Said | Chosen]) -> Iterator[Settled]:
    last = max((at for at, item in enumerate(talk) if _is_answer(item)), default=-1)
    if last < 0:
        return
    recap = talk[last]
    typed = [item for item in talk[:last] if isinstance(item, Said) and item.speaker == "person"]
    after = [item for item in talk[last + 1 :] if isinstance(item, Said)]
    if not isinstance(recap, Said) or not recap.is_last or len(typed) < _LEAST_TURNS or not _is_agreed(after):
        return
    found = statements(recap)
    content = _words(recap.own)
    theirs = [_words(one.own) for one in (*typed, *_let_stand(talk[:last]))]
    said = frozenset[str]().union(*theirs)
    if (
        len(content) < _LEAST_WORDS
        or len(found) > _MOST_STATEMENTS
        or len(recap.own) > _MOST_CHARS
        or len(content & said) < _TAKEN_UP * len(content)
        or not _is_gathered(content, theirs)
    ):
        return
    for statement in found:
        words = _words(statement.text)
        if words and len(words & said) >= _TAKEN_UP * len(words) and not statement.text.endswith(_ASKS):
            source = max(typed, key=lambda one: (len(words & _words(one.own)), one.order))
            for clause in _clauses(statement.text, said):
                yield Settled(statement, clause, (source, recap, *after[:1]))


def _is_gathered(content: frozenset[str], theirs: Sequence[frozenset[str]]) -> bool:
    """Say whether a recap takes up several messages: no single one has all the words that it takes up."""
    taken = content & frozenset[str]().union(*theirs)
    return not any(taken <= words for words in theirs)


def _is_answer(item: Said | Chosen) -> bool:
    return isinstance(item, Said) and item.speaker == "assistant"


def _let_stand(talk: Sequence[Said | Chosen]) -> Iterator[Said]:
    """Yield the short answers of the assistant that the person went on from without refusing or asking."""
    for item, reply in pairwise(talk):
        if (
            isinstance(item, Said)
            and _is_answer(item)
            and len(item.own) <= _MOST_PROPOSED
            and isinstance(reply, Said)
            and reply.speaker == "person"
            and _lets_stand(reply)
        ):
            yield item


def _is_agreed(after: Sequence[Said]) -> bool:
    """Say whether what the person said behind a recap, if anything, lets it stand."""
    if not after:
        return True
    return len(after) == 1 and len(after[0].own.split()) <= _LONGEST_ASSENT and _lets_stand(after[0])


def _lets_stand(reply: Said) -> bool:
    return not _REFUSES.match(reply.own) and not any(mark in reply.own for mark in _ASKS)


def _clauses(text: str, said: frozenset[str]) -> Iterator[str]:
    """Yield a sentence in its clauses, so that one of them can be amended and the others stand.

    Each is under the words that lead to them all, where those name something that the person spoke of: "Settled" only
    announces. A clause of few words stays with the one before.
    """
    led = _LEAD.match(text)
    lead, rest = (led["lead"], led["rest"]) if led else ("", text)
    if lead and _words(lead).isdisjoint(said):
        lead = ""
    held = ""
    for clause in re.split(r"(?<=;)\s+", rest):
        if held and min(len(_words(held)), len(_words(clause))) >= _LEAST_CLAUSE and not points_back(clause):
            yield _under(lead, held)
            held = clause
        else:
            held = f"{held} {clause}".strip()
    yield _under(lead, held)


def _under(lead: str, clauses: str) -> str:
    return f"{lead}: {clauses.rstrip(';')}" if lead else clauses.rstrip(";")


def _words(text: str) -> frozenset[str]:
    """Return the words of a text without their endings: who takes up "excludes" may say "excluded"."""
    return frozenset(word[:_ROOT] for word in contents_of(text))
