"""What of a text a person said in their own words: pasted blocks, injected tags and hidden characters fall out.

Only what is left may create a preference, a decision or a constraint.
"""

import re
from dataclasses import dataclass

from slowwave.extraction.guards.clauses import BLOCK, is_forwarded, is_speaker
from slowwave.extraction.guards.voices import voices
from slowwave.letters import visible

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
# a paired tag of a harness, an editor or a page is a block that somebody else filled
_TAG = re.compile(r"<([a-zA-Z][\w\-]{0,40})(?:\s[^<>]{0,400})?>")
_OPEN_TAG = re.compile(
    r"<(?:system|command|local|ide|task|user|tool|function|bash|pasted|file|web)[\w\-]*(?:\s[^<>]*)?>.*", re.DOTALL
)
_PASTE = re.compile(
    r"^\s*(?:"
    r">|\||//|/\*|[{\[]\s*\"|[$%#\u276f➜]\s|\+\+\+|---|@@|[+\-]\s*[\w<{(].*[;{})]\s*$"  # quotes, prompts, diffs
    r"|\d{1,6}(?:→|\t)|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d"  # numbered listings, log times
    r"|(?:at|File|Traceback|Caused by|goroutine|panic:|thread|note:|warning:|error(?:\[\w+\])?:|WARN"
    r"|INFO|DEBUG|ERROR|FAIL)\b(?!\s+(?:the|all|every)\b)"
    r"|\[(?:x| |info|warn|error|debug|lint|test|build)\]|[✓\u2717\u2718\u00d7⏺⎿●•└├│]"
    r"|[\w./\\\-]+:\d+(?::\d+)?[:\s]|(?:(?:import|from|func|const|let|var|return|public|private)\s.*[;({]|(?:def|class)\s.*[:({])\s*$"
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
_HEADING = re.compile(r"^#{1,6}\s+\S|^(?:={3,}|-{4,})\s*$|^\*\*[^*]+\*\*:?\s*$")
_DASHES = re.compile(r"^-{2,} +")
_SENTENCE_END = re.compile(r"(?<=[.!?]) +")
_LONGEST_REMARK = 2000
_INDENTED = re.compile(r"^(?: {4,}|\t)\S")


@dataclass(frozen=True, slots=True)
class Words:
    """What of a typed message its author said themselves.

    Attributes:
        text: their words, and those that may be.
        doubtful: the parts of it that may as well be somebody else's, in order.
        others: what they typed that is somebody else's by what stands around it; blocks are not in it.
    """

    text: str
    doubtful: tuple[str, ...] = ()
    others: str = ""


def own_words(text: str) -> str:
    """Return what of a typed message its author certainly said themselves."""
    return voices(_unpasted(text)).own.replace(BLOCK, "").strip()


def words_of(text: str) -> Words:
    """Return what of a typed message its author said, with what may be theirs.

    Fenced and tagged blocks, logs, listings, diffs, tables and everything behind the marker of a paste or the heading
    of a pasted document fall out first; then what is quoted, announced or discussed.
    """
    said = voices(_unpasted(text))
    return Words(said.possible.replace(BLOCK, "").strip(), said.doubtful, said.others.replace(BLOCK, "").strip())


def _unpasted(text: str) -> str:
    text = _OPEN_TAG.sub("\n", _without_blocks(_FENCE.sub(f"\n\n{BLOCK}\n\n", visible(text).replace(BLOCK, ""))))
    marker = _PASTE_MARKER.search(text)
    lines = (text[: marker.start()] if marker else text).split("\n")
    inside = _inside_blocks(lines)
    kept: list[str] = []
    for at, line in enumerate(lines):
        if is_forwarded(line):
            break
        if _HEADING.match(line):
            kept.append(_remark_below(lines[at:]))
            break
        if is_speaker(line):
            kept.append(line)
        elif at in inside or _PASTE.match(_probe(line)) or (_INDENTED.match(line) and not (kept and kept[-1].strip())):
            kept.append("")
        else:
            kept.append(line)
    return "\n".join(kept)


def _remark_below(lines: list[str]) -> str:
    """Return what a person typed below a document that they pasted, when its register shows that it is no part of it.

    Documents begin their sentences with capitals; people who type to an agent often do not. So a last paragraph counts
    whose sentences all begin in lower case, below a document in which no paragraph does.
    """
    *document, last = "\n".join(lines).strip().split("\n\n")
    sentences = _SENTENCE_END.split(_DASHES.sub("", last.strip()[:_LONGEST_REMARK]))
    is_typed = len(sentences) > 1 and all(sentence[:1].islower() for sentence in sentences)
    return f"\n{last}" if is_typed and not any(block.lstrip()[:1].islower() for block in document) else ""


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
