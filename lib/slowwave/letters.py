"""What a text is written with: characters that nobody sees, and words put together from the letters of two scripts.

Sources of the lists: Unicode's default-ignorable code points, and its table of confusable letters (UTS #39), of which
the Cyrillic and Greek letters are here that look like a Latin one in most fonts.
"""

import re
import unicodedata

_EMOJI = "\u00a9\u00ae\u203c\u2049\u2122-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
# a joiner between two emoji makes them one picture, and a selector behind one gives it its colours; anywhere else
# both are invisible
_HIDDEN = (
    "\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u00ad\u034f\u061c\u115f\u1160\u17b4"
    "\u17b5\u180e\u3164\uffa0\ufe00-\ufe0e\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_HIDDEN}]|(?<![{_EMOJI}\ufe0f])\u200d|\u200d(?![{_EMOJI}])|(?<![{_EMOJI}])\ufe0f")
# texts without any of these, nearly all, are not searched for what stands beside them
_ANY_INVISIBLE = re.compile(f"[{_HIDDEN}\u200d\ufe0f]")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# overrides turn the order of letters round; tag characters spell words that only a program reads, but for the flags
# of regions, which begin with a black flag
_TURNED = re.compile("[\u202d\u202e]")
_TAGS = re.compile("(?<!\U0001f3f4)[\U000e0020-\U000e007e]{3,}")
_SPELT = re.compile("[\ufe00-\ufe0e\U000e0100-\U000e01ef]{4,}")

_LOOKALIKE = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХЗаеорсухіјѕһԁԛԝӏԍΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναιρυκ",
        "ABESIJKMHOPCTYX3aeopcyxijshdqwlGABEZHIKMNOPTYXovaipuk",
        strict=True,
    )
)
_TO_LATIN = str.maketrans(_LOOKALIKE)
_FOREIGN = re.compile("[\u0370-\u03ff\u0400-\u052f]")
_MIXED = re.compile(
    "(?<![^\\W_])(?=[^\\W\\d_]*[A-Za-z])(?=[^\\W\\d_]*[\u0370-\u03ff\u0400-\u052f])[^\\W\\d_]{3,40}(?![^\\W_])"
)
# people who write Cyrillic or Greek put their endings behind Latin words
_ENDED = re.compile("[A-Za-z]+[\u0370-\u03ff\u0400-\u052f]{1,5}")


def visible(text: str) -> str:
    """Return ``text`` without comments, escape sequences and characters that a person does not see."""
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.isascii() and _ANY_INVISIBLE.search(text):
        text = _INVISIBLE.sub("", text)
    # last, since what was taken out may have stood inside of its marks
    return _COMMENT.sub(" ", text)


def one_line(text: str) -> str:
    """Return ``text`` as one visible line."""
    return " ".join(visible(text).split())


def plain(text: str) -> str:
    """Return ``text`` as it looks, for comparisons: one form of each letter, Latin where it looks Latin."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_TO_LATIN)


def tricks(text: str) -> str:
    """Return how the letters of a text deceive who reads it, "" when they do not."""
    if text.isascii():
        return ""
    if _TURNED.search(text):
        return "turns the order of its letters round"
    if _TAGS.search(text) or _SPELT.search(text):
        return "hides words in invisible characters"
    return "mixes the letters of two scripts in a word" if _is_mixed(text) else ""


def _is_mixed(text: str) -> bool:
    """Say whether a word borrows letters that only look like the others; who writes Cyrillic declines Latin words."""
    if not _FOREIGN.search(text):
        return False
    own = _writes_foreign(text)
    for found in _MIXED.finditer(text):
        borrowed = _FOREIGN.findall(found[0])
        if all(letter in _LOOKALIKE for letter in borrowed) and not (own and _ENDED.fullmatch(found[0])):
            return True
    return False


def _writes_foreign(text: str) -> bool:
    """Say whether a text has words of another script with letters that no Latin letter looks like."""
    return bool(
        re.search("(?<![^\\W\\d_])(?=[\u0370-\u052f]*[бвгджзийлмнптфцчшщъыьэюяλμξπσφψωδθ])[\u0370-\u052f]{3,}", text)
    )
