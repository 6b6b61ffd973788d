"""Words in a typed message that are not its author's: pasted lines, and sentences that stood elsewhere before."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from slowwave.hostile import plain, visible
from slowwave.reading import AGENT, PERSON, Heard, Part

# Which lines were pasted: told by their form and by what stands around them.
#
# Code between fences, elements of a page or a harness, quotations, logs, listings, diffs, tables, forwarded mail,
# chats, and everything behind the marker of a paste. Words do not decide; what a person says of somebody else's words
# in prose is the classifier's business (:mod:`slowwave.extraction.voice`).

_FENCE = re.compile(r"^[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_TAG = re.compile(r"<([a-zA-Z][\w\-]{0,40})(?:\s[^<>]{0,400})?>")
_OPEN_TAG = re.compile(
    r"<(?:system|command|local|ide|task|user|tool|function|bash|pasted|file|web)[\w\-]*(?:\s[^<>]*)?>"
)
# client: terminals show this in the place of a long paste, and write the paste itself behind it
_MARKER = re.compile(
    r"\[(?:\.{3}|\u2026)?\s*(?:pasted (?:text|content|file|lines|~?\d)|truncated text|paste #?\d)", re.IGNORECASE
)
# a program of mail says when it was that somebody wrote
_FORWARDED = re.compile(
    r"^[->\s]*(?:begin )?(?:forwarded|original) message\b|^(?:on|am|le|el) (?=.*\d(?:\d{3}|:\d\d)).{4,80}:\s*$",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(?P<name>[A-Z][\w-]{1,20}):[ \t]+(?P<address>[^@]*\S@\w+(?:[.-]\w+)+)?.*\S")
# format: RFC 5322, those that every mail has
_HEADERS = frozenset({"From", "To", "Subject", "Date", "Sent"})
_TIME = r"\d{1,2}:\d\d(?::\d\d)?"
_SIGNS = (
    re.compile(r">|\||//|/\*|[{\[]\s*\"|\"[^\"]*\"\s*:\s|[$%\u276f\u279c]\s|\+\+\+|---|@@"),
    re.compile(r"[\u2500-\u257f\u2713\u2717\u2718\u23fa\u25cf\u23bf]|diff --git |index [0-9a-f]{7,}\.\."),
    re.compile(r"[+\-]\s*[\w<{(].*[;{}]\s*$|[{}\[\]();]+\s*,?\s*$"),
    re.compile(rf"\d{{1,6}}(?:\u2192|\t)|\[?\d{{1,4}}([./-])\d\d?\1\d{{1,4}}(?:T|,? ){_TIME}"),
    re.compile(rf"\[{_TIME}\]|\d\d:\d\d:\d\d[\] ,.]|\d\d:\d\d\s+[<\[]"),
    re.compile(r"(?:Traceback|Caused by|goroutine|panic)\s?[:(]|error\[\w+\]:|at \S+\(|File \"", re.IGNORECASE),
    re.compile(r"\[(?: |x|info|warn|error|debug|test|build)\]|[-dlbcps](?:[r-][w-][xsStT-]){3}[.+@]?\s+\d"),
    re.compile(r"(?=[^\s:]*[./\\])(?=[^\s:]*[^\W\d])[\w./\\\-]+:\d+(?::\d+)?[:\s]"),
    re.compile(r"- \*\*\[\w+\]\*\* .*\*\(confidence: \d+%\)\*"),  # format: a line of our own extracted.md
    re.compile(rf"<?[@\w.\- ]{{1,24}}>\s|[\w.\-]{{1,24}}(?: [A-Z][\w.\-]{{1,24}})?\s+\[?\(?{_TIME}"),
)
# people type lines like these, too; two of them, or one beside a sign, are code or a log
_HINTS = (
    re.compile(r".*[;{]\s*$|(?:import|from|func|const|let|var|return|def|class)\s.*[;({:]\s*$"),
    re.compile(r"(?:note|warning|error)\s?[:(]", re.IGNORECASE),
    re.compile(r"(?:WARN(?:ING)?|INFO|DEBUG|ERROR|FAIL(?:ED)?)\b[ :]"),
)
_LEAST_HINTS = 2
# in a chat the name of who speaks and the time stand alone over the words
_STAMP = re.compile(
    rf"[\w.\-]{{1,24}}(?: [A-Z][\w.\-]{{1,24}})?[,\u2014\u2013-]?\s+[\[(]?{_TIME}(?:\s?[AaPp]\.?[Mm]\.?)?[\])]?:?"
)
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_TRACE = re.compile(r"\s*Traceback \(")
# machines and documents give every entry of a list a name in bold; people who type do not
_BOLD_ENTRY = re.compile(r"(?:[-*+]|\d+[.)])\s+\*\*[^*\n]+\*\*")
_HEADING = re.compile(r"^#{1,6}\s+\S|^(?:={3,}|-{4,})\s*$|^\*\*[^*]+\*\*:?\s*$")
_INDENTED = re.compile(r"^(?: {4,}|\t)\S")
# so many lines of a kind in one paragraph are a block, and what stands between them belongs to it
_BLOCK_LINES = 3
_PROBE_CHARS = 400


def parts_of(text: str) -> tuple[Part, ...]:
    """Return a typed message in its parts, pasted or not, without what nobody sees; empty ones are left out."""
    lines = visible(text).split("\n")
    flags = _flags(lines)
    found: list[Part] = []
    for pasted, rows in groupby(zip(flags, lines, strict=True), key=lambda pair: pair[0]):
        words = "\n".join(line for _, line in rows).strip("\n")
        if words.strip():
            found.append(Part(words, pasted))
    return tuple(found)


def own_words(text: str) -> str:
    """Return what of a typed message its author typed."""
    return "\n\n".join(part.text for part in parts_of(text) if not part.is_pasted)


def _flags(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether it was pasted; a blank one goes with the line before it."""
    flags = _enclosed(lines)
    behind = _behind(lines, flags)
    for at in range(behind, len(lines)):
        flags[at] = True
    signs: list[int] = []
    hints: list[int] = []
    for at in range(behind + 1):
        line = lines[at] if at < behind else ""
        probe = line.strip()[:_PROBE_CHARS]
        if not probe:
            _fill(flags, signs, hints)
            signs, hints = [], []
        elif not flags[at] and _is_sign(line, probe, lines[at - 1] if at else ""):
            flags[at] = True
            signs += [] if probe.startswith(">") else [at]
        elif not flags[at] and any(hint.match(probe) for hint in _HINTS):
            hints.append(at)
        elif _BOLD_ENTRY.match(probe):
            signs.append(at)
    for at in range(1, len(lines)):
        flags[at] = flags[at] or (flags[at - 1] and not lines[at].strip())
    return flags


def _is_sign(line: str, probe: str, before: str) -> bool:
    return any(sign.match(probe) for sign in _SIGNS) or bool(_INDENTED.match(line) and not before.strip())


def _fill(flags: list[bool], signs: Sequence[int], hints: Sequence[int]) -> None:
    """Mark what stands between the lines of a block; quotations make none, since people answer between them."""
    if len(signs) + len(hints) >= _LEAST_HINTS:
        for at in hints:
            flags[at] = True
        signs = sorted([*signs, *hints])
    if len(signs) >= _BLOCK_LINES:
        flags[signs[0] : signs[-1] + 1] = [True] * (signs[-1] + 1 - signs[0])


def _enclosed(lines: Sequence[str]) -> list[bool]:
    """Mark what stands between fences and between the tags of an element that spans lines or fills one."""
    flags = [False] * len(lines)
    fence, tag = "", ""
    closes = {name for line in lines for name in re.findall(r"</([a-zA-Z][\w\-]{0,40})", line)}
    for at, line in enumerate(lines):
        if fence:
            flags[at] = True
            fence = "" if line.strip().startswith(fence) and not line.strip().strip("`~") else fence
        elif tag:
            flags[at] = True
            tag = "" if f"</{tag}" in line else tag
        elif mark := _FENCE.match(line):
            flags[at], fence = True, mark[1]
        elif element := next((found for found in _TAG.finditer(line) if found[1] in closes), None):
            _, close, after = line[element.end() :].partition(f"</{element[1]}")
            # what stands in the midst of a line is a word that its author marked up
            flags[at] = not close or not (line[: element.start()].strip() or after.partition(">")[2].strip())
            tag = "" if close else element[1]
    _follow(lines, flags)
    return flags


def _follow(lines: Sequence[str], flags: list[bool]) -> None:
    """Mark what belongs to a line above it: the body of a hunk, of a trace, the words below a name in a chat."""
    belongs: Callable[[str], bool] | None = None
    for at, line in enumerate(lines):
        if flags[at]:
            belongs = None
        elif belongs is not None and belongs(line):
            flags[at] = True
        elif _HUNK.match(line):
            belongs = _is_of_hunk
        elif _STAMP.fullmatch(line.strip()[:_PROBE_CHARS]):
            belongs = _is_of_paragraph
        elif _TRACE.match(line):
            belongs = _is_indented
        elif belongs is _is_indented:
            # what was raised
            flags[at], belongs = True, None
        else:
            belongs = None


def _is_of_hunk(line: str) -> bool:
    return line.startswith(("+", "-", " ", "\\"))


def _is_of_paragraph(line: str) -> bool:
    return bool(line.strip()) and not _STAMP.fullmatch(line.strip()[:_PROBE_CHARS])


def _is_indented(line: str) -> bool:
    return line.startswith((" ", "\t"))


def _behind(lines: Sequence[str], flags: Sequence[bool]) -> int:
    """Return the first line from which on everything was pasted: a marker, forwarded mail, a document's heading."""
    for at, line in enumerate(lines):
        if flags[at]:
            continue
        marker = _MARKER.search(line[:4000])
        if marker:
            return at if not line[: marker.start()].strip() else at + 1
        if _FORWARDED.match(line[:120]) or _OPEN_TAG.match(line.strip()[:_PROBE_CHARS]) or _is_mail(lines, at):
            return at
        if _HEADING.match(line):
            return at - 1 if line.startswith("=") and at and lines[at - 1].strip() else at
    return len(lines)


def _is_mail(lines: Sequence[str], at: int) -> bool:
    """Say whether the headers of a mail begin at a line: two, one with an address or both such as every mail has."""
    found = [_HEADER.fullmatch(line[:_PROBE_CHARS].rstrip()) for line in lines[at : at + 2]]
    headers = [header for header in found if header]
    names = {header["name"] for header in headers}
    return len(headers) > 1 and (any(header["address"] for header in headers) or len(names & _HEADERS) > 1)


# Sentences that stood elsewhere before a person typed them: in a tool's output, in a file, in an assistant's message.
#
# Who pastes a line of a web page, or repeats what an agent said, states nothing of their own. Texts are only looked at
# where a rare word of a sentence stands, so that a session is read through once at the speed of a search; what is kept
# of it are references to texts that are in memory anyway. Likeness is the share of a sentence's shingles of three words
# (w-shingling, Broder 1997).

_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W_]+")
_ESCAPED = re.compile(r"\\[nrt\"]")
# what stands for a secret in the words to look for; what was heard has the secret itself
_MARK = re.compile(r"\[secret:[^\]]*\]")
# shorter sentences are alike by chance: "run the tests again"
LEAST_WORDS = 5
_SHINGLE = 3
_SHARE = 0.75
# people take up the words in which an assistant asked or proposed; only a whole sentence of it is taken for a copy
_LEAST_WORDS_OF_AGENT = 8
_SHARE_OF_AGENT = 0.95
# a window is only read where two of the three longest words of a sentence stand together
_ANCHORS = 3
_TOGETHER = 2
_MARGIN = 80


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A sentence to look for."""

    number: int
    order: int
    shingles: frozenset[tuple[str, ...]]
    anchors: tuple[str, ...]
    words: int
    length: int


def echoes(sentences: Sequence[tuple[int, str]], heard: Sequence[Heard]) -> dict[int, str]:
    """Return which sentences stood somewhere before their person said them first, and who had written them.

    ``sentences``: for each the rank of the turn in which it stands, and its words. ``heard``: the session's texts in
    order, with the person's own as ``"person"``.
    """
    wanted = [w for number, (order, text) in enumerate(sentences) if (w := _wanted(number, order, text))]
    if not wanted:
        return {}
    return _search(wanted, heard)


def _search(wanted: Sequence[_Wanted], heard: Sequence[Heard]) -> dict[int, str]:
    from ahocorasick_rs import AhoCorasick  # noqa: PLC0415 - only where there is something to look for

    anchors = sorted({anchor for one in wanted for anchor in one.anchors})
    automaton = AhoCorasick(anchors)
    rank = {anchor: number for number, anchor in enumerate(anchors)}
    ranks = [(one, frozenset(rank[anchor] for anchor in one.anchors)) for one in wanted]
    margin = max(one.length for one in wanted) + _MARGIN
    last = max(one.order for one in wanted)
    settled: dict[int, str] = {}
    for text in heard:
        if text.order > last or len(settled) == len(wanted):
            break
        lower = text.text.lower()
        for begin, end, seen in _windows(automaton.find_matches_as_indexes(lower, overlapping=True), margin):
            near = [one for one, of in ranks if one.number not in settled and len(of & seen) >= min(_TOGETHER, len(of))]
            here = _shingles(lower[begin:end]) if near else frozenset[tuple[str, ...]]()
            settled.update((one.number, text.by) for one in near if _is_in(one, here, text))
    return {number: by for number, by in settled.items() if by != PERSON}


def _is_in(one: _Wanted, here: frozenset[tuple[str, ...]], text: Heard) -> bool:
    if text.order > one.order:  # what has the same rank stood right before it, or is the person's own message
        return False
    share = len(one.shingles & here) / len(one.shingles)
    if text.by == AGENT:
        return one.words >= _LEAST_WORDS_OF_AGENT and share >= _SHARE_OF_AGENT
    return share >= _SHARE


def _windows(hits: Sequence[tuple[int, int, int]], margin: int) -> Iterator[tuple[int, int, set[int]]]:
    """Yield what is around the hits and which they are; what overlaps is joined, so that no part is read twice."""
    begin = end = -1
    seen: set[int] = set()
    for which, start, stop in hits:
        if begin >= 0 and start - margin > end:
            yield begin, end, seen
            begin, seen = -1, set[int]()
        begin = max(0, start - margin) if begin < 0 else begin
        end = max(end, stop + margin)
        seen.add(which)
    if begin >= 0:
        yield begin, end, seen


def _wanted(number: int, order: int, text: str) -> _Wanted | None:
    lower = text.lower()
    pieces = _MARK.split(lower)
    words = [word for piece in pieces for word in _words(piece)]
    if len(words) < LEAST_WORDS:
        return None
    # the words as they are written, so that they are found in a text that was not brought into a form
    written = sorted(set(_WORD.findall(" ".join(pieces))), key=lambda word: (-len(word), word))
    shingles = frozenset[tuple[str, ...]]().union(*map(_shingles, pieces))
    return _Wanted(number, order, shingles, tuple(written[:_ANCHORS]), len(words), len(text))


def _words(lower: str) -> list[str]:
    text = _ESCAPED.sub(" ", lower)
    return _WORD.findall(text if text.isascii() else plain(visible(text)))


def _shingles(lower: str) -> frozenset[tuple[str, ...]]:
    words = _words(lower)
    return frozenset(zip(*(words[at:] for at in range(_SHINGLE)), strict=False))
