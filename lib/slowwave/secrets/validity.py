"""What tells a secret from its look-alikes: placeholders, code, identifiers, hashes and plain words."""

import base64
import binascii
import json
import math
import re
from collections import Counter

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
