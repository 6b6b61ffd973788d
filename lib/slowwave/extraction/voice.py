"""Whose words a typed sentence is: the person's own wish, or what they quote, report, suppose or ask about.

Pasted parts are known by their form and state nothing (:mod:`slowwave.reading.pastes`). In prose it shows in what
stands around a sentence: what leads to it, what is asked behind it, marks of quotation, who is named. A small
classifier judges that; where it is not sure, only a person can say, and the note waits.

Reports, specifications and tickets are pasted without any mark. They read like documents, as agents write them, where
people type as in their short messages; a second classifier learnt the difference from who said what in real sessions.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from slowwave.extraction.classifier import Weights, pieces_of, wording, words_of
from slowwave.memory import QUOTED
from slowwave.reading import Statement, sentences

# Log-odds from which on a message is doubted, chosen where of others' words hardly any get through (make quality
# SECTION=fresh).
_BAR = -3.0
# nobody led to what is all of a message
_ALONE = 2.5
# of somebody who asks for words to be remembered, and says nothing else, it takes more to doubt that they are their own
_ASKED_BAR = 0.0
# what stands behind a colon, or above a name, was perhaps handed over, whoever leads to it in whatever words
_LED = 2.0
# from here on a sentence is another's more likely than not; a model has judged all others by their meaning
_OTHERS = 1.0
_NEAR_WORDS = 8
# from so many statements on a message that reads like a document was most likely pasted; shorter ones may be terse
_LEAST_PASTED = 3
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab\u300c\u300e\u2018`][^\"\u201d\u00bb\u300d\u300f\u2019`]{12,}[\"\u201d\u00bb\u300d\u300f\u2019`]"
)
_INNER = re.compile(r"[^\W\d_][,]? (?!I\b|I')[A-Z][a-z]+ [a-z]+ [a-z]")
_SIGNED = re.compile(r"[\s\"'\u201d\u00bb][-~\u2013\u2014]+ ?[A-Z]\w+(?: [A-Z][\w.]+){1,2}\s*$")
# scripts without spaces have none behind a colon
_COLON = re.compile(r"[:\uff1a](?:\s*$|\s+\S|(?=[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]))")


def theirs(every: Sequence[Statement], known: Weights) -> float:
    """Return the log-odds that something in a message is others' words.

    Who hands over somebody's words says so in one sentence of several, before them or behind.
    """
    score = max((_score(one, every, known) for one in every), default=0.0)
    is_led = any(_COLON.search(one.text) or (one.under and not one.is_entry) for one in every)
    is_led = is_led or any(_SIGNED.search(one.said.own) for one in every[:1])
    if is_led:
        return score + _LED
    return score - _ALONE if len(every) == 1 else score


def doubt_of(score: float, *, is_asked: bool = False) -> str:
    """Return why only a person can say whether words are theirs, "" where it is clear.

    Args:
        score: of their message (:func:`theirs`).
        is_asked: all that it says is asked to be remembered, in so many words.
    """
    return QUOTED if score > (_ASKED_BAR if is_asked else _BAR) else ""


def documents(every: Sequence[Statement], known: Weights) -> list[float]:
    """Return for each statement of a message the log-odds that it is out of a document rather than typed."""
    return [known.document.score(written_like(wording(one)), pieces_of(one.text)) for one in every]


def written_like(names: Iterable[str]) -> list[str]:
    """Return of names of wording those that tell how something is written."""
    return [name for name in names if name.startswith(("w:", "s:"))]


def is_pasted(scores: Sequence[float]) -> bool:
    """Say whether a message reads like a document as a whole.

    Args:
        scores: of its statements (:func:`documents`).
    """
    return len(scores) >= _LEAST_PASTED and sum(scores) > 0


def is_others(statement: Statement, every: Sequence[Statement], known: Weights) -> bool:
    """Say whether a sentence of a message is most likely somebody else's."""
    return _score(statement, every, known) > _OTHERS


def _score(statement: Statement, every: Sequence[Statement], known: Weights) -> float:
    return known.theirs.score(spoken(statement, every), pieces_of(statement.text))


def spoken(statement: Statement, every: Sequence[Statement]) -> set[str]:
    """Return the features of a sentence within its message.

    Args:
        statement: the sentence.
        every: all statements of the message.
    """
    return set(_features(statement, every))


def _features(statement: Statement, every: Sequence[Statement]) -> Iterator[str]:
    said, at = statement.said, statement.index
    before, after = every[:at], every[at + 1 :]
    words = words_of(statement.text)
    yield from (f"w:{word}" for word in words)
    yield from (f"b:{one} {other}" for one, other in itertools.pairwise(words))
    yield "f:" + " ".join(words[:1])
    yield "f:" + " ".join(words[:2])
    yield "f:" + " ".join(words[:3])
    lead = words_of(before[-1].text) if before else ()
    yield from (f"l:{word}" for word in lead[-_NEAR_WORDS:])
    for line in statement.under:
        yield from (f"u:{word}" for word in words_of(line))
    yield f"p:under={bool(statement.under)}"
    follow = words_of(after[0].text) if after else ()
    yield from (f"n:{word}" for word in follow[:_NEAR_WORDS])
    for other in (*before[:-1], *after[1:]):
        yield from (f"o:{word}" for word in words_of(other.text)[:_NEAR_WORDS])
    sentences_ = sentences(" ".join(said.own.split()))
    yield f"p:single={len(sentences_) == 1}"
    # a sentence within a sentence: "the poster announces Use tabs", "use tabs is what it says"
    inner = _INNER.search(statement.text)
    yield f"p:inner={bool(inner)}"
    if inner:
        yield from (f"i:{word}" for word in words_of(statement.text[: inner.start() + 1])[-3:])
    yield "e:" + " ".join(words[-2:])
    yield "e:" + " ".join(words[-4:-2])
    yield f"p:quoted={bool(_QUOTED.search(statement.text))}"
    yield f"p:colon={bool(_COLON.search(statement.text))}"
    yield f"p:asks={'?' in statement.text}"
    yield f"p:asked behind={any('?' in other.text for other in after)}"
    yield f"p:asked before={any('?' in other.text for other in before)}"
    yield f"p:pasted={any(part.is_pasted for part in said.parts)}"
    yield f"p:alone={len(every) == 1}"
    yield f"p:paragraphs={min(3, said.own.count(chr(10) + chr(10)))}"
    yield f"p:last={not after}"
