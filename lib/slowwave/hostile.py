"""Texts that try to steer an agent, to hide something or to run a download: never remembered, whoever typed them.

What a person does not see comes first: hidden characters, and words put together from the letters of two scripts.
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


_HOSTILE = tuple(
    (re.compile(pattern, re.IGNORECASE), reason)
    for pattern, reason in (
        (
            (
                r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:previous|prior|earlier|above|all|any"
                r"|system|safety|your)\b.{0,30}"
                r"\b(?:instruction|prompt|rule|message|guideline|guardrail|direction|policy|policies)"
            ),
            "sets earlier instructions aside",
        ),
        (r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|k|da)?sh\b", "runs a download"),
        (r"\b(?:bash|sh|eval|source)\b[^\n]{0,20}(?:<\(|\$\(|`)\s*(?:curl|wget)\b", "runs a download"),
        (
            (
                r"\b(?:do not|don'?t|never|without)\b.{0,20}\b(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?"
                r"|reveal(?:ing)?|show(?:ing)?|alert(?:ing)?|notify(?:ing)?)\b"
                r".{0,30}\b(?:the )?(?:user|human|person|operator|developer|owner|anyone|anybody)\b"
                r"(?!'s?|[ _-](?:ids?|names?|data|e-?mails?|tables?|input|interface|profile|account|list|count"
                r"|agent|model)\b)"
            ),
            "acts behind the user's back",
        ),
        (
            # a thing that is kept from a part of a program is a rule; what is kept from the person is not
            (
                r"\b(?:hide|conceal|keep)\b.{0,40}\b(?:(?:secret |hidden )?from (?:the |your )?(?:user|human|operator"
                r"|developer)s?)\b|\bkeep (?:this|it|that|everything) (?:secret|hidden|quiet|between us)\b"
            ),
            "acts behind the user's back",
        ),
        (
            (
                r"\b(?:send|post|upload|exfiltrate|leak|forward|copy|e-?mail)\b.{0,60}\b(?:secrets?|credentials?"
                r"|api[ _-]?keys?|tokens?|passwords?"
                r"|private keys?|\.env|id_rsa|env(?:ironment)? variables?)\b.{0,60}\b(?:to|at|via)\b\s*(?:https?:"
                r"|\S+@|\S+\.\w{2,}|an?y?\b)"
            ),
            "sends secrets away",
        ),
        (
            (
                r"\byou are (?:now|no longer)\b.{0,40}\b(?:dan|unrestricted|jailbroken|an? (?:ai|assistant|agent"
                r"|language model|chatbot)|bound|limited)\b"
            ),
            "gives the agent another role",
        ),
        (r"\b(?:new|updated|real|hidden) (?:system )?(?:instructions?|prompt)s?\s*:", "claims to be new instructions"),
        (r"<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?(?:INST|SYSTEM)\]", "imitates the marks of a chat"),
        (r"\brm\s+-rf?\s+(?:--no-preserve-root\s+)?[/~](?:\s|$|\*)", "removes everything"),
        (
            (
                r"\b(?:disable|turn off|skip|bypass)\b.{0,30}\b(?:permission (?:check|prompt)|sandbox|approval"
                r"|security|safety (?!margin|stock|buffer|factor)|safety\Z|secret scan|redaction)s?\b"
            ),
            "switches safety off",
        ),
        (r"--dangerously[\w\-]*|\bbase64\s+(?:-d|--decode)\b[^\n]{0,80}\|\s*(?:ba)?sh\b", "switches safety off"),
    )
)
# "never disable the sandbox", "our docs must not pipe downloads" ask for the opposite
_FORBIDS = re.compile(
    r"\b(?:never|don'?t|do not|(?:must|should|may|shall|can) ?(?:not|never)|mustn'?t|shouldn'?t|cannot|can'?t"
    r"|not allowed to|forbidden to) (?:ever |just |even )?\Z",
    re.IGNORECASE,
)
# a decision that people made, with their reason, speaks of their product; orders to an agent give no account
_DECIDED = re.compile(r"\bwe(?:'ve| have)? (?:decided|agreed|chose)\b[^.!?]{0,200}\b(?:because|since)\b", re.IGNORECASE)
_ABOUT_PRODUCT = frozenset({"sets earlier instructions aside", "switches safety off"})
# texts with which a product or a person works, rather than those that the agent was given
_NO_ORDERS = re.compile(
    r"\b(?:override|bypass|forget|ignore|disregard) (?:\w+ ){0,3}?(?:default|lint\w*|cached|stale|duplicate"
    r"|retained|queued)\b",
    re.IGNORECASE,
)

_ORDER = r"(?:rule|convention|policy|preference|instruction|guideline|requirement|request)"
_EARLIER = r"(?:earlier|previous|prior|old|former|last|first|original)"
_ABOUT = r"(?:about|on|regarding|concerning|for|against|to|that) (?=\w)"
_GAVE = r"(?:that )?(?:i|we)(?:'ve|'d| had| have)? (?:just )?(?:gave|given|told|set|made|said)"
# one thing that the person asked for themselves: "ignore my earlier rule about tabs"
_OWN_RULE = re.compile(
    rf"(?:ignore|disregard|forget|override)(?: about)? (?:(?:my|our)(?: own)?(?: {_EARLIER})? {_ORDER}s? {_ABOUT}"
    rf"|(?:my|our)(?: own)?(?: {_EARLIER})? (?=[\w-]+(?: [\w-]+)? {_ORDER}s?\b)|the {_EARLIER} {_ORDER} {_ABOUT}"
    rf"|(?:the|that)(?: {_EARLIER})? {_ORDER} (?={_ABOUT}[^.!?]{{1,60}} {_GAVE}\b)"
    rf"|(?:the|that)(?: {_EARLIER})? {_ORDER} {_GAVE}(?: you)?(?: \w+){{0,3}}? {_ABOUT})",
    re.IGNORECASE,
)
# what others gave the agent, and words for all that there is
_NOT_OWN = re.compile(
    r"\b(?:all|any|every\w*|whole|entire|system|safety|security|your|prompts?|guard\w*|permissions?|approvals?"
    r"|sandbox\w*|(?:previous|prior|above|earlier) (?:instruction|prompt|rule|message|direction)s?)\b",
    re.IGNORECASE,
)


def is_hostile(text: str) -> bool:
    """Say whether a text tries to steer an agent rather than to state something worth remembering."""
    return bool(hostile_reason(text))


def hostile_reason(text: str) -> str:
    """Return how a text tries to steer an agent, "" when it does not."""
    return tricks(text) or _steering(plain(" ".join(visible(text).split())))


def _steering(flat: str) -> str:
    """Return how a text on one line tries to steer an agent, "" when it does not."""
    for pattern, reason in _HOSTILE:
        for found in pattern.finditer(flat):
            if not _is_harmless(flat, found, reason):
                return reason
    return ""


def _is_harmless(flat: str, found: re.Match[str], reason: str) -> bool:
    before = flat[max(0, found.start() - 60) : found.start()]
    if _FORBIDS.search(before):
        return True
    if reason not in _ABOUT_PRODUCT:
        return False
    own = _OWN_RULE.match(flat, found.start())
    if own and not _NOT_OWN.search(re.split("[.!?] ", flat[own.end() : own.end() + 250])[0]):
        return True
    sentence = flat[flat.rfind(". ", 0, found.start()) + 1 : found.end() + 250]
    return bool(_DECIDED.search(sentence.partition(". ")[0]) or _NO_ORDERS.match(found[0]))
