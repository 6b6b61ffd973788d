"""What tells a secret from its look-alikes: placeholders, code, identifiers, hashes and plain words."""

import base64
import binascii
import json
import math
import re
from collections import Counter
from itertools import pairwise

_PLACEHOLDER = re.compile(
    r"x{4,}|\*{3,}|\.{3,}|…|example|placeholder|changeme|change[-_]me|dummy|redacted|your[-_ ]|<[^<>]{0,80}>"
    r"|\$\{|\{\{|12345678|abcdefgh|replace[-_ ]?(?:me|with)|insert[-_ ]|to[-_]be[-_]|todo"
    r"|(?:^|[^a-z0-9])(?:test|fake|none|null|true|false|undefined|secret|password|process\.env|os\.environ"
    r"|getenv|mock|sample|my|some|foo|bar)(?:[^a-z]|$)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[(){}\[\];]|^[$%&@]|^[A-Z_]+$|^[\w\-]+(?:\.[A-Za-z_][\w\-]*)+$|^/|^\.{1,2}/|^~/|^[a-z][\w+.\-]*:|^\W+$|[=!<>]=(?!\Z)|\|\||&&|\\|\?\.|^[\w\-]+=[^=]|^pk_"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGEST = re.compile(r"(?:sha(?:1|256|384|512)[-:]|md5[-:]).*", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z]+(?:[_\-./:][A-Za-z]+)*\d{0,4}")
_FILE = re.compile(
    r"[\w\-./@+%]*\.(?:json[lc5]?|ya?ml|toml|md|txt|[cm]?[jt]sx?|py|rs|go|sh|log|env|html?|css|lock|xml|csv|sql|png|svg|db|ini|cfg|conf"
    r"|rb|java|kt|c|h|cpp|hpp|swift|php|vue|exs?|patch|zip|gz|zst|whl|local|com|org|io|net|dev)(?::\d+)*:?",
    re.IGNORECASE,
)
# possessive, and a capital at a time: a text that no name is must fail at once
_CAMEL = re.compile(r"(?:[A-Z]?[a-z]++\d{0,2}+|[A-Z](?![a-z]))+")
_DATE = re.compile(r"[\d\-:.TZ+/_ ]+")
_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_PART = 4
_DIGITS = 3
_MIN_ENTROPY = 3.0
_MIN_PASSWORD = 6
_NO_WORD = re.compile(r"\W+")


def entropy(text: str) -> float:
    """Return the Shannon entropy of a text in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values()) if text else 0.0


def is_masked(secret: str) -> bool:
    """Say whether a value was taken out before: nothing of it is left."""
    return "[secret:" in secret or "*" * 6 in secret or ("*" in secret and bool(_NO_WORD.fullmatch(secret)))


def looks_random(secret: str) -> bool:
    """Say whether a value after a secret's name is long and mixed: neither prose nor code nor a placeholder."""
    if _PLACEHOLDER.search(secret) or _CODE.search(secret) or _is_plain(secret):
        return False
    kinds = sum(bool(re.search(kind, secret)) for kind in ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]"))
    return kinds > 1 and entropy(secret) >= _MIN_ENTROPY and bool(re.search("[0-9]", secret) or kinds > 2)  # noqa: PLR2004


def looks_chosen(secret: str) -> bool:
    """Say whether a value is a password as people choose them: not a placeholder, not code, and not one plain word."""
    if (
        _NAME_OF_ONE.fullmatch(secret)
        or _YAML_TAG.fullmatch(secret)
        or len(secret) < _MIN_PASSWORD
        or _PLACEHOLDER.fullmatch(secret)
        or _CODE.search(secret)
        or "..." in secret
    ):
        return False
    if re.fullmatch(r"(?i)(?:your|my|example|change|placeholder|the|new|old|test|fake|dummy)[-_ ].*|x{4,}.*", secret):
        return False
    return bool(re.search(r"[0-9]|[^A-Za-z0-9_.\-/:+?\u0080-\uffff]", secret)) and not re.fullmatch(
        r"v?\d[\d.,:]*[a-zA-Z]{0,8}", secret
    )


def looks_quoted(secret: str) -> bool:
    """Say whether what stands in quotes behind a name of passwords is a value: also signs of code may be in it."""
    return (
        bool(_LETTER_AND_DIGIT.match(secret))
        and not _NO_LITERAL.search(secret)
        and not (is_masked(secret) or is_thing(secret) or _CALL_OR_TAG.fullmatch(secret))
        # an open bracket is the beginning of a call or a list
        and all(secret.count(opening) == secret.count(closing) for opening, closing in ("()", "[]", "{}"))
    )


_LETTER_AND_DIGIT = re.compile(r"(?=[^0-9]*[0-9])(?=(?:[^A-Za-z]*[A-Za-z]){3}).{6,60}")
# templates, addresses, rules of what a value must be, and patterns
_NO_LITERAL = re.compile(
    r"[$#]\{|\{[{%]|%[sdv]|\$[A-Za-z_(]|://|=>|->|&&|\|\||[=!]=|\.\.\.|\\[dwsSDWnrtu]|^[\^/.~$@%:#\-<{\[(]|[+*?][)\]]|\{\d|\[[^\]]-"
    r"|x{4,}|\*{3,}|\[\^|\(\)|\|\w+\||(?i:min|max|len|length|size|required|varchar|char|string|number|version|test|example"
    r"|placeholder|changeme|secret|password|passwd|token|redacted|your|process|environ|getenv|config)(?![a-z])"
)
_CALL_OR_TAG = re.compile(
    r"[a-z_][\w.]*[(\[].*[)\]]|<[^<>]*>|[a-z.\-]+=\d+|\w+(?:\.\w+)*|[\w\-]+(?:/[\w.\-:]+)+|\w+,\w+"
)
# passwordField1: what holds one is called so
_YAML_TAG = re.compile(r"![a-z]\w*")
_NAME_OF_ONE = re.compile(r"(?:pass|password|secret|token|login|pwd)(?:[A-Z_][A-Za-z]+)+\d{0,2}")


def is_url_password(secret: str) -> bool:
    """Say whether the part of an address before its ``@`` is a password and no variable."""
    return not re.fullmatch(
        r"\$.*|%s|x+|\*+|<.*>?|\{.*|:.*|\.+|(?:your[-_]?|my[-_]?)?(?:pass(?:word)?|pwd|secret|token)|\[.*",
        secret,
        re.IGNORECASE,
    )


def is_jwt(secret: str) -> bool:
    """Say whether the head of a token in three parts is that of a JSON web token."""
    head = secret.split(".", 1)[0]
    try:
        value = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError):
        return False
    return isinstance(value, dict) and ("alg" in value or "typ" in value or "enc" in value)


def is_mixed(secret: str) -> bool:
    """Say whether a value behind a known prefix is random rather than a name: letters and digits or both cases."""
    if _PLACEHOLDER.search(secret[3:]):
        return False
    return (
        entropy(secret) > _MIN_ENTROPY and bool(re.search("[0-9]", secret[3:])) and bool(re.search("[A-Za-z]", secret))
    )


def is_basic(secret: str) -> bool:
    """Say whether a value is ``user:password`` in base64."""
    try:
        plain = base64.b64decode(secret + "=" * (-len(secret) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    user, colon, password = plain.partition(b":")
    return bool(colon and user and password) and all(32 <= c < 127 for c in plain)  # noqa: PLR2004 - printable ASCII


def looks_opaque(secret: str) -> bool:
    """Say whether a value after "the token" in a sentence is a run that nobody would read out, not a slug or a name."""
    if _PLACEHOLDER.search(secret) or _CODE.search(secret) or _is_plain(secret) or entropy(secret) < _MIN_ENTROPY:
        return False
    if re.fullmatch(r"[A-Za-z0-9/+]{40}", secret) and re.search("[A-Z]", secret) and re.search("[a-z]", secret):
        return True
    return any(len(re.findall(r"\d", run)) > 1 and re.search("[A-Za-z]", run) for run in _RUN.findall(secret))


def is_seed_phrase(secret: str) -> bool:
    """Say whether words are as many as a seed phrase has, and no sentence."""
    return len(secret.split()) in _PHRASES and not re.search(r"\b(?:the|and|you|with|for|that|this)\b", secret)


def is_session(value: str) -> bool:
    """Say whether the value of a cookie is a random one."""
    return (
        not is_masked(value)
        and not _is_plain(value)
        and any(len(re.findall(r"\d", run)) > 1 for run in _RUN.findall(value))
    )


_PHRASES = frozenset({12, 15, 18, 21, 24})


def is_thing(value: str) -> bool:
    """Say whether a value is an id, a digest, a date or the name of a file."""
    return any(kind.fullmatch(value) for kind in (_UUID, _DIGEST, _DATE, _FILE))


def _is_plain(secret: str) -> bool:
    if is_thing(secret) or _WORDS.fullmatch(secret):
        return True
    # names in camel case have long parts and hardly a digit
    parts = len(re.findall("[A-Z]+", secret)) + 1
    return bool(_CAMEL.fullmatch(secret)) and len(secret) >= _PART * parts and len(re.findall(r"\d", secret)) <= _DIGITS


# How little a value looks like a word: what people choose for a password, beside what they write anyway.

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
_CODE_LIKE = re.compile(
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

    Returns 0for words, numbers, code, addresses and names of things; 1 for what stands in texts, too (``server2``); 2
    for a mixture that is rare; 3 for one that is a secret wherever it stands near the name of one.
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
    return bool(_CODE_LIKE.fullmatch(value)) and not _POINTED.fullmatch(value)


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
