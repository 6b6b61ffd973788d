"""Letters and chats among the lines of a message: who greets and signs, and whose name stands before every line."""

import re
from collections import Counter
from collections.abc import Sequence

_NAME = r"[^\W\d_][\w.'-]{0,24}(?: [^\W\d_][\w.'-]{0,24}){0,2}"
_CLOCK = r"(?:\d{1,2}[:.]\d\d(?: ?[AaPp]\.?[Mm]\.?)?|[\[(]\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[AaPp]\.?[Mm]\.?)?[\])])"
_CALLED = r"[A-Z\u00c0-\u00de][\w.'-]{0,24}(?: [A-Z\u00c0-\u00de][\w.'-]{0,24}){0,2}"
# who said it, in the ways in which chats are copied
_SPEAKER = re.compile(
    rf"^(?:<@?{_NAME}>|@{_NAME} ?:|[\w.-]{{1,24}}>\s|{_CLOCK} {{1,3}}(?:[-<@]? ?{_NAME} ?>? ?:|[-@]? ?{_CALLED}$)"
    rf"|{_CALLED},? {{1,3}}{_CLOCK}$)"
)
_ROLE = re.compile(
    r"^\s*\*{0,2}(?:user|human|assistant|ai|bot|system|q|a|question|answer|frage|antwort|agent|support|customer"
    r"|client"
    r"|interviewer|speaker \w+)\*{0,2}$",
    re.IGNORECASE,
)
_LABEL = re.compile(rf"^\s*({_NAME})$")
_GREETING = re.compile(
    r"^(?:hi|hello|hey|dear|hallo|liebe[rs]?|sehr geehrte[r]?|bonjour|ch\u00e8re?|hola|ciao|good (?:morning|evening))"
    r"\b[^.!?:]{0,40},?$",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"^(?:(?:kind |best |warm |many )?(?:regards|wishes|greetings)|best|cheers|sincerely|yours(?: \w+)?|thanks"
    r"|thank you"
    r"|(?:viele|beste|liebe|mit freundlichen) gr\u00fc\u00dfen?|mfg|lg|cordialement|saludos|cordiali saluti|br)\b,?"
    r"(?P<name> [A-Z][\w.-]+(?: [A-Z][\w.-]+)?)?$",
    re.IGNORECASE,
)
_OWNER = re.compile(r"^(?:- ?)?[A-Z\u00c0-\u00de][\w.'-]+(?: [A-Z\u00c0-\u00de][\w.'-]+){0,2}$")
# longer lines neither greet nor sign
_LONGEST = 80


def spoken_lines(pieces: Sequence[tuple[int, str, str]], text: str) -> set[int]:
    """Return the pieces of letters and chats.

    Args:
        pieces: for each piece its line, its words and the mark behind it.
        text: the whole message.
    """
    lines = [line.strip() for line in text.split("\n")]
    foreign = _letters(lines) | _chats(lines, pieces)
    return {number for number, (line, _, _) in enumerate(pieces) if line in foreign}


def is_speaker(line: str) -> bool:
    """Say whether a line of a chat names who speaks below or behind."""
    return bool(_SPEAKER.match(line.strip()[:_LONGEST]))


def _letters(lines: Sequence[str]) -> set[int]:
    """Return the lines of letters: from a greeting, or from the start, to a name below a closing formula."""
    begin = 0
    found: set[int] = set()
    for at, line in enumerate(lines):
        if len(line) > _LONGEST:
            continue
        if _GREETING.match(line):
            begin = at
        signed = _SIGNED.match(line)
        if signed and (signed["name"] or _is_signature(lines, at)):
            found.update(range(begin, at + 1))
            begin = at + 1
    return found


def _is_signature(lines: Sequence[str], at: int) -> bool:
    below = next((line for line in lines[at + 1 : at + 4] if line.strip()), "")
    return bool(_OWNER.match(below))


def _chats(lines: Sequence[str], pieces: Sequence[tuple[int, str, str]]) -> set[int]:
    """Return the lines of chats: what stands behind a speaker, to the end of the paragraph."""
    speakers = {at for at, line in enumerate(lines) if is_speaker(line)}
    first: dict[int, tuple[str, str]] = {}
    for line, words, mark in pieces:
        if line not in first:
            first[line] = (words, mark)
    labels = {
        line: words.strip().casefold() for line, (words, mark) in first.items() if mark == ":" and _LABEL.match(words)
    }
    often = {label for label, times in Counter(labels.values()).items() if times > 1}
    speakers |= {line for line, label in labels.items() if label in often or _ROLE.match(label)}
    spoken: set[int] = set()
    inside = False
    for at, line in enumerate(lines):
        inside = at in speakers or (inside and bool(line.strip()))
        if inside:
            spoken.add(at)
    return spoken
