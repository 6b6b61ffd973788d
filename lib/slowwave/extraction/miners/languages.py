"""Rules in other languages than English: one grammar over one table of words, and fixed words where no spaces stand.

The language of a sentence is the one with most of its function words in it; a sentence in which English has as many
is left to the miners of English.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.miners.language_words import ENGLISH, LANGUAGES, Language
from slowwave.extraction.statements import Statement, statements
from slowwave.memory.model import Category

NAME = "languages"
_ENGLISH = frozenset(ENGLISH.split())
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_NAMED = re.compile(r"`[^`]+`|\"[^\"]+\"|[A-Za-z]\w*[._/:+-]\w+|\b[a-z]+\d\w*|\b[A-Z]{2,}\b")
_ASKS = re.compile(r"[?\uff1f]\s*$")
_MOST, _FEWEST = 40, 3
_COLON = "[:,\\uff1a\\uff0c\\u3001 ]*"
# Chinese, Japanese and Korean have no spaces to go by, or no words that stand alone
_FIXED: tuple[tuple[re.Pattern[str], float, Category], ...] = (
    (re.compile(rf"^(?:请|請)?(?:你)?(?:记住|記住|记得|牢记|記得){_COLON}"), 0.9, "project"),
    (re.compile("(?:覚えておいて|覚えてください|忘れないで|기억해)"), 0.9, "project"),
    (
        re.compile("(?:^|请|請)(?:以后|以後|今后|今後は?|从现在开始|从现在起|從現在開始|これからは|앞으로(?:는)?)"),
        0.85,
        "preference",
    ),
    (re.compile("(?:永远不要|绝不要|千万不要|絶対に.{0,30}(?:ない|禁止)|절대)"), 0.75, "constraint"),
    (
        re.compile("(?:^|[,\\uff0c\\u3002])(?:请|請)?(?:不要|别再?|禁止|不准|不许|不得|勿)(?!紧|担心|着急|管|急)"),
        0.6,
        "constraint",
    ),
    (re.compile("(?:必须|务必|必須|一定要|반드시|なければなりません|ないといけない)"), 0.65, "constraint"),
    (
        re.compile("(?:总是|始终|一律|總是|全部|統一|统一|必ず|常に|いつも|항상).{0,60}"
                   "(?:使用|用|使って|保持|写|寫|走|사용|ください|해|する|します)"),
        0.7,
        "preference",
    ),
    (re.compile("(?:而不是|じゃなくて|ではなく|대신|말고)"), 0.65, "preference"),
    (re.compile("(?:用|使用) ?[\\w@./+ -]{1,30}[,\\uff0c] ?(?:不用|不要用|别用|不使用)"), 0.65, "preference"),
    (re.compile("(?:しないで|使わないで|やめて)(?:ください)?"), 0.6, "constraint"),
    (re.compile("(?:하지|쓰지) ?마(?:세요)?|금지"), 0.6, "constraint"),
    (re.compile("(?:我们|我們|项目|我们的项目).{0,12}(?:用|使用|采用)"), 0.55, "project"),
    (re.compile("(?:プロジェクト|うち)では.{1,40}(?:使います|使っています|使う)"), 0.55, "project"),
)  # fmt: skip
_PASSING = re.compile("今天|现在先|暂时|这次|今日は|今回|とりあえず|오늘|이번|失败|报错|エラー|실패")


@dataclass(frozen=True, slots=True)
class _Grammar:
    """The patterns of one language, most telling first, each with its prior and category; and what speaks against."""

    forms: tuple[tuple[re.Pattern[str], float, Category], ...]
    lapse: re.Pattern[str]


def mine_languages(events: Events) -> Iterator[Found]:
    """Yield the rules that are stated in another language than English; their text stays as it was typed."""
    for statement in statements(events):
        found = _fixed(statement) or _spoken(statement)
        if found:
            yield found


def language_of(text: str) -> Language | None:
    """Return the language of a sentence, None for English and what is none of the table."""
    words = [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]
    own = {language.name: sum(w in common for w in words) for language, common in _common().items()}
    best = max(LANGUAGES, key=lambda language: own[language.name])
    common = _common()[best]
    # what both languages have speaks for the other one only where a word is there that English does not have
    if not any(word in common and word not in _ENGLISH for word in words):
        return None
    english = sum(word in _ENGLISH and word not in common for word in words)
    return best if own[best.name] > english else None


def _fixed(statement: Statement) -> Found | None:
    said = statement.sentence
    if said.is_question or _PASSING.search(said.text):
        return None
    for pattern, confidence, category in _FIXED:
        match = pattern.search(said.text)
        if match:
            text = statement.text[match.end() :] if match.start() == 0 and category == "project" else statement.text
            return statement.found(NAME, category, confidence, "user_explicit", text.strip() or statement.text)
    return None


def _spoken(statement: Statement) -> Found | None:
    said = statement.sentence
    if _ASKS.search(said.text) or not _FEWEST <= said.words <= _MOST:
        return None
    language = language_of(said.text)
    if language is None:
        return None
    grammar = _grammar(language.name)
    if grammar.lapse.search(said.text):
        return None
    for pattern, prior, category in grammar.forms:
        if pattern.search(said.text):
            # what names a thing of the project is more than a remark
            more = 0.05 if _NAMED.search(said.text) else 0.0
            return statement.found(NAME, category, prior + more, "user_explicit")
    return None


@cache
def _common() -> Mapping[Language, frozenset[str]]:
    return {language: frozenset(language.common.split()) for language in LANGUAGES}


@lru_cache(maxsize=len(LANGUAGES))
def _grammar(name: str) -> _Grammar:
    words = next(language for language in LANGUAGES if language.name == name)
    forms: tuple[tuple[str, float, Category], ...] = (
        (rf"(?:^|\b)(?:{words.remember})", 0.85, "project"),
        (rf"\b(?:{words.future})\b", 0.85, "preference"),
        (rf"\b(?:{words.never})\b", 0.75, "constraint"),
        (rf"\b(?:{words.always})\b", 0.75, "preference"),
        (rf"\b(?:{words.here})\b", 0.6, "constraint"),
        (rf"\b(?:{words.rather})\b", 0.6, "preference"),
        (rf"\b(?:{words.prefer})\b", 0.7, "preference"),
        (rf"\b(?:{words.must})\b", 0.6, "constraint"),
        (rf"^(?:{words.no})\b", 0.6, "constraint"),
        (rf"\b(?:{words.we})\b", 0.55, "project"),
        (rf", (?:{words.but_not}) [\w`\"./ -]{{2,30}}[.!]?$", 0.55, "preference"),
        (rf"^(?:{words.dont})\b", 0.5, "constraint"),
    )
    every: tuple[tuple[re.Pattern[str], float, Category], ...] = tuple(
        (re.compile(form, re.IGNORECASE), prior, category) for form, prior, category in forms
    )
    return _Grammar(every, re.compile(rf"\b(?:{words.lapse})\b", re.IGNORECASE))
