"""A person's words as sentences, each with what decides whether it may become a memory."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz.distance import OSA

_LIST_MARK = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")
# people do not always begin a sentence with a capital; what ends in a full stop and a space ends a sentence
_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=[^\W_]|[\"'`(¿¡@/~-])|(?<=[。\uff01\uff1f])|\s+(?=\(?\d\)\s)")
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|z\.B|d\.h|bzw|ca|no|fig|Mr|Mrs|Dr|St)\.)$", re.IGNORECASE
)
_FILLER = re.compile(
    r"^(?:no(?=\s*[,.:;!\u2013—-])[,.:;!\s\u2013—-]*|(?:ok(?:ay)?|yes|ja|nein|non|oui|bitte|por favor"
    r"|yeah?|yea|yep|yup|nope|nah|well|so|also|mm+|uh+|um+|definitely yes|of course|hold on"
    r"|and|but|then|now|hmm?|great|good|perfect|nice|cool|right|sure|thanks|thank you"
    r"|please|pls|oh|ah|alright|fine|actually|hey|hi|hello|sorry|wait|again|btw|by the way|fyi"
    r"|one more thing|another thing|additionally"
    r"|that said|in that case|agreed|exactly|absolutely|not really|not quite|really)\b[,.:;!\s\u2013—-]*)+",
    re.IGNORECASE,
)
# "I told you twice: ..." repeats a rule, which begins behind it
_REPEATED = re.compile(
    r"^(?:(?:(?:as|like) )?i(?:'ve| have)? (?:already |just |now )?(?:told you|said|mentioned|asked you|explained)"
    r"(?: (?:this|that|it))?(?: (?:before|earlier|already|again|once|twice|\w+ times|more than once))*"
    r"(?:\s*[:,;\u2013—-]+\s*|\s+(?:that|to)\s+)|for the \w+ time\s*[:,]\s*)(?=\S)",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^(?:why|what|how|who|where|when|which|whose|is|are|was|were|do (?:you|we|i|they|the|these|those"
    r"|any|all)|does|did|can|could|would|should|shall|will|has|have|had|may|might"
    r"|isn'?t|aren'?t|don'?t (?:we|you|they)|doesn'?t|didn'?t|can'?t|couldn'?t|wouldn'?t|shouldn'?t"
    r"|won'?t|any (?:idea|chance|reason)"
    r"|am i|wondering|i wonder|not sure|i'?m not sure|what about|how about)\b",
    re.IGNORECASE,
)
# "when you add a record, use the service" and "what I had in mind is ..." only begin like questions
_CLAUSE = re.compile(
    r"^(?:when|where)\b[^,?]{4,110}, (?:we|you|i|it|they|the|please|always|never|don'?t|do not|make|use|add|run|keep"
    r"|attach|show|tell|write|check|update|put|squash|commit|ask|include|create|do|avoid|remember|ensure|take|name"
    r"|also|only|just)\b|^what (?:i|we)(?:'ve)? (?:had|have|want(?:ed)?|mean[t]?|need)\b[^?]{0,60} (?:is|was)\b",
    re.IGNORECASE,
)
_MOMENT = re.compile(
    r"\b(?:right now|for now|at the moment|this time|this once|just this|for the moment|today only|yet"
    r"|first try|currently|meanwhile"
    r"|in the meantime|until (?:then|i|we)|again"
    r"|(?:only|just) for this|for this (?:\w+ ){1,3}only|anymore this|in this (?:session|commit|pr|branch"
    r"|message|case|chat)"
    r"|(?:this (?:one|test|function|file|line|error)|(?:in|for|on|to) that (?:one|spec|test|file|function|method"
    r"|page))\b"
    r"|this (?:use ?case|commit|pr|branch|task|session|issue|ticket|change|bug|comment)|first[.!]?$"
    r"|the last (?:commit|change)"
    r"|that'?s (?:the|a) (?:bug|problem|issue)|the (?:bug|problem|issue) is|those (?:two|three|changes"
    r"|files)|these (?:two|three|changes|files|comments))\b",
    re.IGNORECASE,
)
_GUESS = re.compile(
    r"\b(?:maybe|perhaps|probably|i (?:think|guess|believe|suppose|assume|wonder|suspect)|might"
    r"|could be|not sure|seems?|looks like|apparently"
    r"|what if|i'?m (?:wondering|thinking|confused)|hopefully|theoretically|would be to)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"^(?:it|this|that|these|those|they|them|he|she)\b(?!\s+(?:repo|project|codebase|package|library"
    r"|cli|app|application|service|team|site))",
    re.IGNORECASE,
)
# the address of what a request is about stands before it without a full stop
_ADDRESSES = re.compile(r"^(?:<?https?://\S+\s+)+")
_LETTERS = re.compile(r"[^\W\d_]")
# Chinese and Japanese do not put spaces between words
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_SPACE = re.compile(r"\s+")
_SIGNS = re.compile(r"[^\w\s.,:;!?'\"`()/-]")
_LETTERS_SHARE = 0.58
_SIGNS_SHARE = 0.12
MIN_WORDS = 3
MIN_UNSPACED = 4
MAX_CHARS = 420
# the words that mark a rule; people who type fast misspell them by one letter
_MARKERS = ("always", "never", "please", "instead", "prefer", "remember", "should", "everywhere")
# real words that are one letter away from a marker
_OTHERS = frozenset(
    {"ever", "fever", "lever", "sever", "newer", "nerve", "lease", "pleased", "pleases", "prefers", "remembers"}
    | {"remembered", "shoulder"}
)
_SHORT_FORMS = {"pls": "please", "plz": "please", "dont": "don't", "cant": "can't", "wont": "won't", "u": "you"}
_TYPED = re.compile(r"[A-Za-z]+")
_LEAST_MARKER = 4
# shorter lines are not wrapped ones
_WRAPPED = 40


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence.

    Attributes:
        text: its words without leading fillers such as "ok, so".
        index: its rank in the message.
        is_question: it asks.
        is_momentary: it names the moment ("for now", "this commit"), so it does not last.
        is_guess: it says something tentatively.
        points_back: its subject is a pronoun for something said before.
        is_repeated: the person says that they said it before.
    """

    text: str
    index: int
    is_question: bool
    is_momentary: bool
    is_guess: bool
    points_back: bool
    is_repeated: bool = False

    @property
    def words(self) -> int:
        """The number of words."""
        return len(self.text.split())


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text; lines of a list stand alone, wrapped lines are joined."""
    index = 0
    for block in _blocks(text):
        for raw in _split(block):
            spoken = _FILLER.sub("", _ADDRESSES.sub("", raw))
            repeated = _REPEATED.match(spoken)
            words = spoken[repeated.end() if repeated else 0 :].strip(" \t,;\u2013—-")
            if (
                (len(words.split()) >= MIN_WORDS - bool(repeated) or len(_UNSPACED.findall(words)) >= MIN_UNSPACED)
                and len(words) <= MAX_CHARS
                and _mostly_words(words)
            ):
                yield _sentence(words, raw, index, repeated=bool(repeated))
                index += 1


@lru_cache(maxsize=4096)
def spelled(text: str) -> str:
    """Return a text with the words that mark a rule spelled as they are meant: "allways", "nver", "pls"."""
    return _TYPED.sub(_meant, text)


def _meant(word: re.Match[str]) -> str:
    typed = word[0].lower()
    if typed in _SHORT_FORMS:
        return _SHORT_FORMS[typed]
    if len(typed) < _LEAST_MARKER or typed in _MARKERS or typed in _OTHERS:
        return word[0]
    return next((marker for marker in _MARKERS if OSA.distance(typed, marker, score_cutoff=1) <= 1), word[0])


def _sentence(words: str, raw: str, index: int, *, repeated: bool) -> Sentence:
    return Sentence(
        words,
        index,
        any(mark in raw[-3:] for mark in "?\uff1f\u5417")
        or (bool(_QUESTION.match(words)) and not _CLAUSE.match(words)),
        bool(_MOMENT.search(words)),
        bool(_GUESS.search(words)),
        bool(_POINTS_BACK.match(words)),
        repeated,
    )


def _blocks(text: str) -> Iterator[str]:
    """Join wrapped lines; a blank line, a list mark or a line that ends a sentence starts a new block."""
    held = last = ""
    for line in [*text.split("\n"), ""]:
        # nobody wraps lines so early: the next one says something else
        ended = len(last.strip()) < _WRAPPED
        starts_new = not line.strip() or _LIST_MARK.match(line) or not held or ended or line.strip()[:1].isupper()
        if starts_new and held:
            yield held
            held = ""
        held, last = f"{held} {_LIST_MARK.sub('', line).strip()}".strip(), line


def _split(block: str) -> Iterator[str]:
    """Split a block at the ends of sentences, never after an abbreviation."""
    held = ""
    for piece in _END.split(block):
        held = f"{held} {piece}".strip() if held else piece.strip()
        if not _ABBREVIATED.search(held):
            if held:
                yield held
            held = ""
    if held:
        yield held


def _mostly_words(text: str) -> bool:
    """Refuse code, paths and logs that were pasted without a fence; names with numbers are words as well."""
    words = _SPACE.sub("", text)
    return (
        len(_LETTERS.findall(text)) >= len(words) * _LETTERS_SHARE
        and len(_SIGNS.findall(text)) <= len(words) * _SIGNS_SHARE
    )
