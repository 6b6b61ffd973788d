"""Words as the index compares them: without case and accents, and scripts that write no spaces, character by character.

SQLite's tokenizer ``unicode61`` does the first by itself; :func:`folded` does the same so that a snippet can show where
a word stands. It takes a run of Chinese or Japanese for one word, so :func:`spaced` puts spaces between the characters
before it sees them, and a query for some of them becomes a phrase.
"""

import re
import unicodedata

# kana, CJK ideographs with extension A and compatibility forms, Hangul syllables, further ideographs
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f])")


def spaced(text: str) -> str:
    """Return a text in which every character of a script without spaces is a word of its own."""
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)


class _Folds(dict[int, str]):
    """What each character is compared as; filled when one is first met."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        base, *marks = unicodedata.normalize("NFD", char)
        # one character for one, so that offsets stay those of the text itself
        folded = (base if all(map(unicodedata.combining, marks)) else char).lower()[0]
        self[point] = folded
        return folded


_folds = _Folds()


def folded(text: str) -> str:
    """Return a text of the same length without case and accents."""
    return text.lower() if text.isascii() else text.translate(_folds)


def plain(text: str) -> str:
    """Return a text that SQLite and UTF-8 can hold: lone surrogates become U+FFFD, NUL becomes a space."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text.replace("\0", " ")
