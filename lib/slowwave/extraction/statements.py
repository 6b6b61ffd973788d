"""Sentences that a person stated, with what the miners share in judging them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from slowwave.extraction.events import Events, Turn
from slowwave.extraction.found import Found
from slowwave.extraction.sentences import Sentence, sentences
from slowwave.hostile import is_hostile
from slowwave.memory.model import CandidateOrigin, Category

_REASON = re.compile(
    r"\b(?:because|since|so that|otherwise|in order to|as (?:it|that|this|we|they|the|there)|due to"
    r"|so (?:a|an|the|we|it|they|people|users?|humans?|everyone|i) (?:\w+ )?(?:can|could|don'?t|do|does|is|are"
    r"|will|won'?t)"
    r"|to (?:be (?:consistent|safe|clear|sure)|save|avoid|prevent|reduce|match|align)"
    r"|for (?:clarity|consistency|simplicity|safety|readability|performance|compatibility|human review)"
    r"|that way|in case|this way|that'?s because|so (?:basically |that )?(?:if|when)\b|as (?:she|he|you"
    r"|\w+s) (?:is|are)"
    r"|weil|damit|denn|porque|parce que|puisque)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"^(?:because|since|otherwise|that way|the reason|this way|it (?:breaks|ruins|causes|makes)|weil|sonst)\b",
    re.IGNORECASE,
)
_CONSTRAINT = re.compile(
    r"\b(?:must|never|(?<!-)only|cannot|can'?t|not allowed|forbidden|required?|at least|at most|no more than"
    r"|minimum|maximum|breaking|nie(?:mals)?|nur|muss|darf nicht|jamais|nunca)\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:prefer|rather|i like|i want|i hate|style|tone|wording|formatting|concise|brief|verbose|reply"
    r"|answer (?:me|in)|respond|commit messages?|instead|naming"
    r"|always use|never use|use|write|avoid|emojis?|bevorzuge|lieber|antworte|schreib)\b",
    re.IGNORECASE,
)
_PATTERN = re.compile(
    r"`[^`]+`|\b(?:before (?:you|we|each|every|committing|pushing)|after (?:you|we|each|every)|whenever"
    r"|every time|run|regenerate|rebuild)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(r"\b(?:decided|decision|going with|chose|chosen|settled on|agreed)\b", re.IGNORECASE)
# "option 1" means nothing to somebody who does not see the list
_LABEL = re.compile(r"\b(?:option|direction|approach|variant|proposal|alternative) (?:#?\d+|[A-D])\b", re.IGNORECASE)
# what "that" is was said elsewhere; thinking aloud settles nothing
_UNSAID = re.compile(
    r"\b(?:handle|do|add|adding|doing|use|using|make|making|fix|change|keep) (?:that|this|it|them)"
    r"(?=\s*(?:[,.;!]|$)|\s+(?:automatically|for|now|here|too|instead)\b)|\btheoretically\b"
    r"|\bneed to (?:validate|verify|check)\b"
    r"|\bor something\b|\b(?:right )?now[.!]?$",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*\([^()]*\)")
_LEAST = 0.02
# who needs this many characters for one sentence explains rather than rules
_LONG = 240
MIN_CONTENT = 2
# fmt: off
_EMPTY_WORDS = frozenset({
    "a", "an", "the", "this", "that", "it", "its", "these", "those", "them", "one", "ones", "thing", "things",
    "stuff", "option", "options", "approach", "solution", "plan", "fix", "idea", "suggestion", "suggestions",
    "recommendation", "recommendations", "your", "you", "my", "me", "our", "we", "us", "i", "is", "are", "be",
    "was", "were", "do", "does", "did", "done", "to", "of", "for", "in", "on", "at", "with", "by", "from", "as",
    "and", "or", "so", "too", "then", "now", "please", "just", "also", "let", "lets", "go", "ahead", "use",
    "all", "both", "first", "second", "third", "here", "there", "same", "way", "number", "choice", "change",
    "changes", "proposal", "yes", "ok", "1", "2", "3", "4", "5", "b", "c", "d",
})
# fmt: on


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with the turn that it stands in.

    Attributes:
        turn: what the person said.
        sentence: one sentence of it.
        reason: the sentence that gives its reason, where one follows.
        is_brief: it stands in the order that opens the session: its limits are those of the task.
    """

    turn: Turn
    sentence: Sentence
    reason: str = ""
    is_brief: bool = False

    @property
    def text(self) -> str:
        """The sentence, with the one that gives its reason when that follows it."""
        return f"{self.sentence.text} {self.reason}" if self.reason else self.sentence.text

    @property
    def has_reason(self) -> bool:
        """Say whether the person gave a reason: what is reasoned is meant to last."""
        return bool(self.reason) or has_reason(self.sentence.text)

    def found(
        self, miner: str, category: Category, confidence: float, origin: CandidateOrigin, text: str = ""
    ) -> Found:
        """Return the fact that this statement is; what does not stand by itself counts less, and so does a guess."""
        sentence = self.sentence.text
        if self.sentence.is_guess:
            confidence -= 0.15
        if self.turn.is_long:
            confidence -= 0.1
        if _LABEL.search(sentence):
            confidence -= 0.7
        words = text or self.text
        if _UNSAID.search(_ASIDE.sub("", words)):
            confidence -= 0.5
        elif len(words) > _LONG:
            confidence -= 0.15
        return Found(
            miner,
            category,
            words,
            max(_LEAST, round(confidence, 2)),
            origin,
            (self.turn,),
            self.sentence.text,
            sentence=self.sentence,
        )


def statements(events: Events) -> Iterator[Statement]:
    """Yield what a person stated; of a message that tries to steer an agent nothing."""
    for turn in events.turns:
        every = _sentences_of(turn.text)
        if turn.is_long:
            # emphasis in the middle of a brief is that of a document: nobody types it
            every = tuple(sentence for sentence in every if "**" not in sentence.text)
        for sentence, following in zip(every, [*every, None][1:], strict=True):
            reason = following.text if following and _GOES_ON.match(following.text) else ""
            yield Statement(turn, sentence, reason, is_brief=turn is events.turns[0] and len(every) > 1)


@lru_cache(maxsize=512)  # every miner goes through the same turns
def _sentences_of(text: str) -> tuple[Sentence, ...]:
    return () if is_hostile(text) else tuple(sentences(text))


def lasting(events: Events) -> Iterator[Statement]:
    """Yield the statements that neither ask, nor name the moment, nor hang on something said before."""
    for statement in statements(events):
        sentence = statement.sentence
        if not (sentence.is_question or sentence.is_momentary or sentence.points_back):
            yield statement


def category_of(text: str, default: Category = "project") -> Category:
    """Return the category that the words of a rule point to."""
    if _DECISION.search(text):
        return "decision"
    if _PREFERENCE.search(text):
        return "preference"
    if _CONSTRAINT.search(text):
        return "constraint"
    return "pattern" if _PATTERN.search(text) else default


def has_reason(text: str) -> bool:
    """Say whether a text gives a reason."""
    return bool(_REASON.search(text))


def content_words(text: str) -> int:
    """Return how many words of a text say something by themselves."""
    return sum(word not in _EMPTY_WORDS for word in re.findall(r"[\w./`'\-]+", text.lower()))
