"""What of a text a person said in their own words: pasted blocks, injected tags and hidden characters fall out.

Only what is left may create a preference, a decision or a constraint. Text that tries to steer an agent, to hide
something, or to run a download is never remembered, whoever typed it.
"""

import re

_EMOJI = "\u00a9\u00ae\u203c\u2049\u2122-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
# a joiner between two emoji makes them one picture, and a selector behind one gives it its colours; anywhere else
# both are invisible
_INVISIBLE = re.compile(
    "[\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u00ad\u034f\u061c\u115f\u1160\u17b4"
    "\u17b5\u180e\u3164\ufe00-\ufe0e\U000e0000-\U000e0fff]"
    f"|(?<![{_EMOJI}\ufe0f])\u200d|\u200d(?![{_EMOJI}])|(?<![{_EMOJI}])\ufe0f"
)
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
# a paired tag of a harness, an editor or a page is a block that somebody else filled
_TAG = re.compile(r"<([a-zA-Z][\w\-]{0,40})(?:\s[^<>]{0,400})?>")
_OPEN_TAG = re.compile(
    r"<(?:system|command|local|ide|task|user|tool|function|bash|pasted|file|web)[\w\-]*(?:\s[^<>]*)?>.*", re.DOTALL
)
# words that a person reports: what somebody or something else says, in quotation marks and longer than a name
_REPORTED = re.compile(
    r"(?P<by>(?:\b(?:says?|said|reads?|states?|stated|claims?|claimed|writes?|wrote|prints?|printed|shows?|tells?|told|suggests?"
    r"|recommends?|asks?|asked|answers?|answered|replied|reports?|logs?|outputs?|contains?|quotes?|titled|called|sagt|schreibt|dice|dit)"
    r"|\b(?:comment|readme|docs?|documentation|page|article|error|message|warning|log|output|file|prompt|e?mail|issue|ticket|review|post"
    r"|tool|agent|bot|website|site|doc|line|text|note|header))\b[^\"\u201c\u201e\u00ab\n]{0,40})"
    r"(?P<quote>\"[^\"\n]{12,2000}\"|\u201c[^\u201d\n]{12,2000}\u201d|\u201e[^\u201c\n]{12,2000}\u201c"
    r"|\u00ab[^\u00bb\n]{12,2000}\u00bb)",
    re.IGNORECASE,
)
_OWN_REPORT = re.compile(
    r"\b(?:i|we|i've|i'?ll|as i|like i)\s+(?:\w+\s+){0,2}(?:say|said|told|asked|wrote|mean|meant)\b", re.IGNORECASE
)
_PASTE = re.compile(
    r"^\s*(?:"
    r">|\||[$%#\u276f➜]\s|\+\+\+|---|@@|[+\-]\s*[\w<{(].*[;{})]\s*$"  # quotes, tables, prompts, headings, diffs
    r"|\d{1,6}(?:→|\t)|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d"  # numbered listings, log times
    r"|(?:at|File|Traceback|Caused by|goroutine|panic:|thread|note:|warning:|error(?:\[\w+\])?:|WARN"
    r"|INFO|DEBUG|ERROR|FAIL)\b(?!\s+(?:the|all|every)\b)"
    r"|\[(?:x| |info|warn|error|debug|lint|test|build)\]|[✓\u2717\u2718\u00d7⏺⎿●•└├│]"
    r"|[\w./\\\-]+:\d+(?::\d+)?[:\s]|(?:import|from|def|class|func|const|let|var|return|public|private)\s.*[;:({]\s*$"
    r"|[{}\[\]();]+\s*,?\s*$|.*[;{]\s*$|- \*\*\[\w+\]\*\* .*\*\(confidence: [^)]*\)\*"
    r")",
    re.IGNORECASE,
)
# what a terminal shows in the place of a long paste; the clients write the paste itself behind it
_PASTE_MARKER = re.compile(
    r"\[(?:\.{3}|\u2026)?\s*(?:pasted (?:text|content|file|lines|~?\d)|truncated text|paste #?\d)[^\]\n]{0,80}\]",
    re.IGNORECASE,
)
# machines and documents give every entry of a list a name in bold; people who type do not
_BOLD_ENTRY = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+\*\*[^*\n]+\*\*")
# so many lines of a kind in one paragraph are a block, and what stands between them belongs to it
_BLOCK_LINES = 3
_LONG_LINE = 400
_BEFORE_REPORT = 30
_QUOTED_WORDS = 4
_HEADING = re.compile(r"^#{1,6}\s+\S|^(?:={4,}|-{4,})\s*$|^\*\*[^*]+\*\*:?\s*$")
_REMARK = re.compile(r"-{2,} +(?P<words>[a-z][^\n]{0,2000})")
_INDENTED = re.compile(r"^(?: {4,}|\t)\S")

_HOSTILE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:previous|prior|earlier|above|all|any"
            r"|system|safety|your)\b.{0,30}"
            r"\b(?:instruction|prompt|rule|message|guideline|guardrail|direction|policy|policies)"
        ),
        r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|k|da)?sh\b",
        r"\b(?:bash|sh|eval|source)\b[^\n]{0,20}(?:<\(|\$\(|`)\s*(?:curl|wget)\b",
        (
            r"\b(?:do not|don'?t|never|without)\b.{0,20}\b(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?"
            r"|reveal(?:ing)?|show(?:ing)?|alert(?:ing)?|notify(?:ing)?)\b"
            r".{0,30}\b(?:the )?(?:user|human|person|operator|developer|owner|anyone|anybody)\b"
            r"(?!'s?|[ _-](?:ids?|names?|data|e-?mails?|tables?|input|interface|profile|account|list|count"
            r"|agent|model)\b)"
        ),
        r"\b(?:hide|conceal|keep)\b.{0,40}\b(?:from the (?:user|human|operator|developer)|secret from|hidden from)\b",
        (
            r"\b(?:send|post|upload|exfiltrate|leak|forward|copy|e-?mail)\b.{0,60}\b(?:secrets?|credentials?"
            r"|api[ _-]?keys?|tokens?|passwords?"
            r"|private keys?|\.env|id_rsa|env(?:ironment)? variables?)\b.{0,60}\b(?:to|at|via)\b\s*(?:https?:"
            r"|\S+@|\S+\.\w{2,}|an?y?\b)"
        ),
        (
            r"\byou are (?:now|no longer)\b.{0,40}\b(?:dan|unrestricted|jailbroken|an? (?:ai|assistant|agent"
            r"|language model|chatbot)|bound|limited)\b"
        ),
        r"\b(?:new|updated|real|hidden) (?:system )?(?:instructions?|prompt)s?\s*:",
        r"<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?(?:INST|SYSTEM)\]",
        r"\brm\s+-rf?\s+(?:--no-preserve-root\s+)?[/~](?:\s|$|\*)",
        (
            r"\b(?:disable|turn off|skip|bypass)\b.{0,30}\b(?:permission (?:check|prompt)|sandbox|approval"
            r"|security|safety|secret scan|redaction)s?\b"
        ),
        r"--dangerously[\w\-]*|\bbase64\s+(?:-d|--decode)\b[^\n]{0,80}\|\s*(?:ba)?sh\b",
    )
)

_REASONS = (
    "sets earlier instructions aside",
    "runs a download",
    "runs a download",
    "acts behind the user's back",
    "acts behind the user's back",
    "sends secrets away",
    "gives the agent another role",
    "claims to be new instructions",
    "imitates the marks of a chat",
    "removes everything",
    "switches safety off",
    "switches safety off",
)
# "never disable the sandbox" asks for the opposite
_FORBIDS = re.compile(
    r"\b(?:never|don'?t|do not|must not|mustn'?t|should not|shouldn'?t|may not|cannot|can'?t) (?:ever |just )?\Z",
    re.IGNORECASE,
)


def visible(text: str) -> str:
    """Return ``text`` without comments, escape sequences and characters that a person does not see."""
    return _CONTROL.sub("", _INVISIBLE.sub("", _COMMENT.sub(" ", text.replace("\r\n", "\n")))).replace("\r", "\n")


def own_words(text: str) -> str:
    """Return what of a typed message its author said themselves, paragraph by paragraph.

    Fenced and tagged blocks, quotations, logs, listings, diffs, tables and everything behind the marker of a paste or
    the heading of a pasted document fall out.
    """
    text = _OPEN_TAG.sub("\n", _without_blocks(_FENCE.sub("\n\n", visible(text))))
    text = _REPORTED.sub(_without_quotation, text)
    marker = _PASTE_MARKER.search(text)
    lines = (text[: marker.start()] if marker else text).split("\n")
    inside = _inside_blocks(lines)
    kept: list[str] = []
    for at, line in enumerate(lines):
        if _HEADING.match(line):
            kept.append(_remark_below(lines[at:]))
            break
        if at in inside or _PASTE.match(_probe(line)) or (_INDENTED.match(line) and not (kept and kept[-1].strip())):
            kept.append("")
        else:
            kept.append(line)
    return "\n".join(kept).strip()


def _remark_below(lines: list[str]) -> str:
    """Return what a person added below a document that they pasted: a last line behind dashes, where no document has any."""
    text = "\n".join(lines).rstrip()
    remark = _REMARK.fullmatch(text.rpartition("\n\n")[2])
    return f"\n\n{remark['words']}" if remark and "\n\n" in text else ""


def _without_quotation(found: re.Match[str]) -> str:
    """Leave out what somebody else is reported to have said; people repeat their own words in quotation marks, too."""
    before = found.string[max(0, found.start() - _BEFORE_REPORT) : found.end("by")]
    if _OWN_REPORT.search(before) or len(found["quote"].split()) < _QUOTED_WORDS:
        return found[0]
    return f'{found["by"]}"\u2026"'


def _inside_blocks(lines: list[str]) -> set[int]:
    """Return the numbers of the lines between the first and the last line of each pasted block without a fence.

    A block is a paragraph with several lines of a log, a listing or a document's list. Quotations make none: people
    answer between them.
    """
    inside: set[int] = set()
    signs: list[int] = []
    for at, line in enumerate([*lines, ""]):
        probe = _probe(line)
        if not probe:
            if len(signs) >= _BLOCK_LINES:
                inside.update(range(signs[0], signs[-1] + 1))
            signs = []
        elif not probe.startswith(">") and (_BOLD_ENTRY.match(probe) or _PASTE.match(probe)):
            signs.append(at)
    return inside


def _without_blocks(text: str) -> str:
    """Take out every pair of tags with what is between them, in one pass whatever the text is like."""
    kept: list[str] = []
    at = 0
    unclosed: set[str] = set()
    for tag in _TAG.finditer(text):
        if tag.start() < at or tag[1] in unclosed:
            continue
        close = text.find(f"</{tag[1]}", tag.end())
        if close < 0:
            unclosed.add(tag[1])
            continue
        kept.append(text[at : tag.start()])
        end = text.find(">", close)
        at = end + 1 if end >= 0 else len(text)
    return "\n\n".join([*kept, text[at:]])


def _probe(line: str) -> str:
    """Return what of a line shows whether it was pasted; the ends of very long lines show nothing."""
    short = line.strip()
    return short if len(short) <= _LONG_LINE else f"{short[:_LONG_LINE]} and so on"


def is_hostile(text: str) -> bool:
    """Say whether a text tries to steer an agent rather than to state something worth remembering."""
    return bool(hostile_reason(text))


def hostile_reason(text: str) -> str:
    """Return how a text tries to steer an agent, "" when it does not."""
    flat = " ".join(visible(text).split())
    for pattern, reason in zip(_HOSTILE, _REASONS, strict=True):
        found = pattern.search(flat)
        if found and not _FORBIDS.search(flat, 0, found.start()):
            return reason
    return ""


def one_line(text: str) -> str:
    """Return ``text`` as one visible line."""
    return " ".join(visible(text).split())
