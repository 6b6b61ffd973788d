"""Requests to remember and standing rules in Chinese, Japanese and Korean, which have no spaces to go by."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import lasting
from slowwave.memory.model import Category

NAME = "languages"
_COLON = "[:,\\uff1a\\uff0c\\u3001 ]*"
_RULES: tuple[tuple[re.Pattern[str], float, Category], ...] = (
    (re.compile(rf"^(?:请|請)?(?:你)?(?:记住|記住|记得|牢记|記得){_COLON}"), 0.9, "project"),
    (re.compile("(?:覚えておいて|覚えてください|忘れないで|기억해)"), 0.9, "project"),
    (
        re.compile("^(?:以后|以後|今后|今後は?|从现在开始|从现在起|從現在開始|これからは|앞으로(?:는)?)"),
        0.85,
        "preference",
    ),
    (re.compile("(?:永远不要|绝不要|千万不要|絶対に.{0,30}ない|절대)"), 0.75, "constraint"),
    (
        re.compile("(?:总是|始终|一律|總是|必ず|常に|항상).{0,60}(?:使用|用|使って|保持|写|寫|사용|ください)"),
        0.7,
        "preference",
    ),
    (re.compile("(?:而不是|じゃなくて|ではなく|대신)"), 0.65, "preference"),
)


def mine_languages(events: Events) -> Iterator[Found]:
    """Yield the rules that these languages mark with fixed words."""
    for statement in lasting(events):
        for pattern, confidence, category in _RULES:
            match = pattern.search(statement.sentence.text)
            if match:
                text = statement.text[match.end() :] if match.start() == 0 and category == "project" else statement.text
                yield statement.found(NAME, category, confidence, "user_explicit", text.strip() or statement.text)
                break
