"""How little a value looks like a word: what people choose for a password, beside what they write anyway."""

import re
from itertools import pairwise

from slowwave.secrets.validity import is_masked, is_thing

# so many characters make chance unlikely
_SHORT, _MIN, _SOME, _LONG = 3, 4, 6, 8
_WORDS_OF_PHRASE = 4
_TURNS = 3
# signs that join words and numbers anyway
_SOFT = frozenset("()[]{}._-/:+,'\u2019|~%\u2013\u2014…·")
_UNSAID = re.compile(
    r"\A!\w+\Z|x{4,}|\*{4,}|\.{3}|…|•|<[^<>]{0,80}>|\$\{|\{\{|%[sd]\b|redacted|changeme|your[-_]|example|placeholder|secret:",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[$%@&.]?[A-Za-z_][\w./]*[(\[{].*|.*\?\..*|[\w@/.\-]+@v?\d+(?:\.\d+)+\S*|[\w.\-]+(?:/[\w.\-]+)+@v?\d[\w.\-]*|[\w.\-]+/[0-9a-f]{7,40}|#\d+['\u2019]s|return!\S{1,4}|[\w./\-]+-20\d\d-[01]\d-[0-3]\d|[\w.\-/]+\.[a-z]{1,4}:\d[\d,\-]*|.*[)\]}]|[$%][A-Za-z_({].*|[@#][A-Za-z_\-/]*\d{0,4}|#[0-9a-fA-F]{3,8}|--?[A-Za-z][\w\-]*(?:=.*)?|[A-Za-z_][\w.\-]*=(?!=?\Z).*"
    r"|~?\.{0,2}/.*|[A-Za-z][\w+.\-]*://.*|[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)*\.[A-Za-z]{2,}|(?:[\w\-]*[A-Za-z][\w\-]*\.)+[A-Za-z_][\w\-]*(?::\d+)*"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|.*(?:\u2192|\\|=>|->|::|&&|\|\||==(?!\Z)|!=|<=|>=(?!\Z)|[<>\"`;{}]).*|0x[0-9a-fA-F]+|(?:fk|pk|ix|idx|uq|tbl)_\w+|\w+_(?:password|passwd|token|secret|key|pass|ids?|name|type|at|url|path|file|field|count|table|test|hash|size|len|idx|index|num|v)\d{0,2}|[\w\-]+(?:/[\w.\-]+){2,}"
)
_NUMBER = re.compile(
    r"[~<>≤≥±]?[$€£¥#]?v?\d[\d.,:/\-\u2013x\xd7%_]*(?:[A-Za-zµ°%€$£]{1,4}|(?-i:[a-z]+s?)|bytes|(?:-?(?:rc|beta|alpha|dev)\.?\d*))?",
    re.IGNORECASE,
)
# names of methods, formats and machines that hold a digit
_TECHNICAL = re.compile(
    r"(?:(?:sha|md|hmac|pbkdf|aes|des|rsa|ecdsa|ed|curve|chacha|blake|base|utf|ucs|iso|rfc|cve|cwe|owasp|argon|bcrypt|scrypt|crc|oauth"
    r"|oidc|saml|totp|hotp|u2f|fido|auth|jwt|tls|ssl|http|ipv|x(?=\d{2,3}\b)|hs|rs|es|ps|p|k|i|l|a|s|ec|h|mp|win|arm|amd|python|py|node|php|ruby|java|jdk"
    r"|go|perl|postgres|postgresql|mysql|mariadb|redis|mongo|web|vue|angular|react|next|gpt|claude|llama|windows|ios|android|macos"
    r"|step|phase|part|section|chapter|figure|table|line|page|issue|pr|bug|ticket|task|item|case|test|level|layer|version|ver|rev|round"
    r"|day|week|month|year|q|h|room|port|tier|type|option|method)[-_./]?\d{1,5})[a-z]{0,3}(?:[-_./][a-z0-9]{1,8}){0,3}"
    r"|(?-i:[A-Z][A-Z0-9]{1,9}-\d{1,6})|ghsa(?:-\w{4}){3}|(?:apache|[al]?gpl|mpl|epl|bsd)-\d[\w.\-]*|u\+[0-9a-f]{4,6}(?:[\-\u2013]u\+[0-9a-f]{4,6})?|(?-i:[A-Z]{1,5}_kw)[\w\-]{8,}|.*-(?:style|based|like|compatible|native|only|free|ready|specific)",
    re.IGNORECASE,
)  # fmt: skip
# words with points between that end with a number, as people make them; what code is called so is a type or a version
_POINTED = re.compile(
    r"(?!(?i:.*(?:u?int|float|vec(?:tor)?|matrix|utf|v|str|string|bit|json|http|sha|md|base)\d+\Z))"
    r"(?=(?:[^\W\d_].?){6})[^\W\d_]{2,16}(?:\.[^\W_]{1,16}){0,3}\.[^\W\d_]{1,16}(?:_?\d{1,4}[^\W\d_]?)"
)
_HEX = re.compile(r"[0-9a-f]{7,64}")
# keys that are read out in groups of digits
_GROUPS = re.compile(r"\d{4,6}(?:-\d{4,6}){3,}")
_CASED = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_NO_VOWEL = re.compile(r"[bcdfghjklmnpqrstvwxz]{6,}", re.IGNORECASE)
_PARTS = re.compile(r"[._\-/:+,'\u2019|~]+")


def oddness(value: str) -> int:
    """Return how sure one can be that nobody writes this but as a secret.

    Returns:
        0 for words, numbers, code, addresses and names of things; 1 for what stands in texts, too (``server2``); 2 for
        a mixture that is rare; 3 for one that is a secret wherever it stands near the name of one.
    """
    if len(value) < _MIN or value.isdigit():
        return int(len(value) >= _MIN)
    if _GROUPS.fullmatch(value):
        return 3
    if _is_said(value):
        return 0
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    hard = [at for at, c in enumerate(value) if not c.isalnum() and c not in _SOFT]
    if not digits and not [at for at in hard if at < len(value) - 1]:
        return _of_letters(value)
    if not letters:
        return 2 if hard and digits >= _MIN else 0
    return _of_mixture(value, digits, len(hard))


def is_hex_text(value: str) -> bool:
    """Say whether hex digits stand for letters and signs that can be typed: those of chance hardly ever do."""
    if len(value) < _HEX_TEXT or len(value) % 2 or not _HEX_DIGITS.fullmatch(value):
        return False
    plain = bytes.fromhex(value)
    return all(0x20 < sign < 0x7F for sign in plain) and any(chr(sign).isalpha() for sign in plain)  # noqa: PLR2004


_HEX_TEXT = 14
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]+")


def _is_said(value: str) -> bool:
    """Say whether a value is a placeholder, an id, code, a number or the name of a method."""
    if _UNSAID.search(value) or is_masked(value) or is_thing(value):
        return True
    if any(kind.fullmatch(value) for kind in (_NUMBER, _TECHNICAL)):
        return True
    return bool(_CODE.fullmatch(value)) and not _POINTED.fullmatch(value)


def _of_mixture(value: str, digits: int, hard: int) -> int:
    """Return the oddness of letters with digits or signs that join no words."""
    parts = [part for part in _PARTS.split(value) if part]
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(filter(str.isalnum, value)))
    is_name = not hard and (turns <= 1 or all(part.isdigit() or part.isalpha() or len(part) < _SHORT for part in parts))
    if is_name or len(value) < _SOME:
        return 1
    is_strong = turns >= _TURNS or bool(digits and hard)
    return 3 if is_strong and len(value) >= _LONG and not _HEX.fullmatch(value) else 2


def _of_letters(value: str) -> int:
    """Return the oddness of letters alone: cases that change at random, no vowel, or a row of words."""
    words = _PARTS.split(value)
    if len(words) >= _WORDS_OF_PHRASE and all(len(w) >= _MIN - 1 and w.islower() for w in words):
        return 1
    bare = value.rstrip("!")
    if not bare.isascii() or not bare.isalpha() or len(bare) < _LONG:
        return 0
    pieces = _CASED.findall(bare)
    if not bare.islower() and not bare.isupper() and len(bare) < (_MIN - 1) * len(pieces):
        return 2
    return int(bool(_NO_VOWEL.search(bare)))
