"""How a person wants to be talked to and worked with: how long answers are, in which language, one thing at a time."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import Statement, statements

NAME = "manner"
_SAID = (
    r"(?:answers?|repl(?:y|ies)|responses?|explanations?|messages?|summar(?:y|ies)|outputs?|descriptions?|comments?)"
)
_LENGTH = re.compile(
    rf"^(?:be|stay|keep (?:it|this|things|(?:your |the )?{_SAID})|make (?:your )?{_SAID})? ?"
    r"(?:a bit |much |way |more |less |very |as )*(?:concise|brief|terse|verbose|wordy|succinct|shorter|to the point)\b"
    rf"|\b(?:keep|make|write|give|want|prefer|need) (?:me |your |the |it |all )?(?:{_SAID} )?"
    rf"(?:more |less |very )?(?:short|concise|brief|terse|succinct)(?: {_SAID})?\b(?! (?:name|path|url|term|cut"
    rf"|circuit))"
    rf"|\b(?:your |the |these )?{_SAID} (?:are|is) (?:way |far |much )?too (?:long|verbose|wordy|detailed)\b"
    r"|^(?:i )?(?:don'?t|do not) need (?:this|that|so|as) (?:much|many) (?:detail|explanation|text|word)s?\b",
    re.IGNORECASE,
)
_AT_A_TIME = re.compile(
    r"^(?:(?:please|just|only|let'?s|can|could|we|you|i|go|do|take|ask|fix|make|handle|work|through|it|them"
    r"|these|things"
    r"|me|want to|should|in|with|the|questions?|on) )*"
    r"(?:one(?:[- ](?:question|step|thing|item|file|change|issue|task|point|test|commit))?(?:[- ]at[- ]a[- ]time"
    r"|[- ]by[- ]one)|step[- ]by[- ]step|one after (?:the other|another))\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:like|want|need|prefer|expect) (?:for )?you to ask (?:me |us )?(?:\w+ ){0,2}questions?\b"
    r"|^(?:ask|always ask) (?:me |us )?(?:\w+ ){0,2}(?:questions?|before|if|when)\b"
    r"|\b(?:ask|tell) (?:me|us) (?:before|instead of|rather than) \w+ing\b"
    r"|\bif (?:anything|something|you)(?:'s| is|'re| are)? (?:unclear|unsure|not (?:sure|clear)|in doubt),? "
    r"(?:please |just |always )?ask\b",
    re.IGNORECASE,
)
_NO_GUESS = re.compile(
    r"^(?:please )?(?:don'?t|do not|never|stop) (?:just |ever )?(?:assum(?:e|ing)|guess(?:ing)?|mak(?:e"
    r"|ing) (?:things|stuff)"
    r" up|invent(?:ing)?|hallucinat(?:e|ing)|apologi[sz](?:e|ing)|explain(?:ing)? (?:everything|yourself)"
    r"|summari[sz](?:e"
    r"|ing)|flatter(?:ing)?)\b|^no need to (?:explain|apologi[sz]e|summari[sz]e)\b",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(
    r"\b(?:answer|reply|respond|speak|talk|write)(?: to)?(?: me| us)?(?: only| always)? in (?:english|german"
    r"|french|spanish"
    r"|portuguese|italian|dutch|polish|russian|ukrainian|turkish|chinese|japanese|korean|vietnamese|hindi|arabic"
    r"|american english|british english)\b"
    r"|\b(?:antworte|schreib|sprich)\w*(?: \w+){0,3} (?:auf |in )?(?:deutsch|englisch)\b"
    r"|\b(?:responde|contesta|escribe)\w*(?: \w+){0,3} en (?:español|inglés)\b"
    r"|\b(?:réponds?|répondez|parle)\w*(?: \w+){0,3} en (?:français|anglais)\b"
    r"|\b(?:responda|escreva)\w*(?: \w+){0,3} em (?:português|inglês)\b"
    r"|(?:请|請)?(?:用|使用)(?:中文|英文|英语|簡體中文|简体中文|繁體中文)(?:回答|回复|回覆|交流|写|輸出|输出)"
    r"|(?:日本語|英語)で(?:答え|返事|回答|書い|お願い)|(?:한국어|영어)로 (?:답|대답|말|작성)",
    re.IGNORECASE,
)
_MOST_WORDS = 14


def mine_manners(events: Events) -> Iterator[Found]:
    """Yield how answers and the work itself shall be."""
    for statement in statements(events):
        prior = _prior(statement)
        if prior:
            yield statement.found(NAME, "preference", prior, "user_explicit")


def _prior(statement: Statement) -> float:
    words = statement.sentence.text
    if _LANGUAGE.search(words):
        return 0.7
    if statement.sentence.is_question and not words.lower().startswith(("can you", "could you", "would you")):
        return 0.0
    if _ASKS.search(words) or _NO_GUESS.search(words):
        return 0.6
    if statement.sentence.words > _MOST_WORDS:
        return 0.0
    return 0.6 if _LENGTH.search(words) else 0.55 if _AT_A_TIME.match(words) else 0.0
