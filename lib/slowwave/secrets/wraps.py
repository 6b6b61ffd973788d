"""Values that were broken over several lines, put together again."""

import re
from collections.abc import Iterable, Iterator
from string import ascii_letters, digits

from slowwave.secrets.layers import View

# columns that programs wrap at
_WIDTHS = frozenset({48, 60, 64, 70, 72, 75, 76, 77, 78, 79, 80, 96, 100, 120, 128, 132})
_LEAST_WIDTH = 40
_TAIL_CHARS = 10
_VALUE = r"A-Za-z0-9+/=_\-.%~$"
# how a line ends within a value, and how the next one goes on
_TAIL = re.compile(r"(?:[\"'][ \t]{0,3}[+.]?[ \t]{0,3})?\\?\r?\Z")
_NEXT = re.compile(rf"\n[ \t]{{0,80}}(?:[>|#*] )?(?:[+.] {{0,2}}(?=[\"']))?[\"']?(?=[{_VALUE}!@#])")
_NEXT_ANY = re.compile(r"\n(?:[+\-](?=[ \t]))?[ \t]{0,80}(?:[>|#*] )?[\"']?(?=\S)")
# a value may end in some of the signs, too
_TAIL_SIGNS = frozenset("\"'+. \t\r\\")
_VALUE_SIGNS = frozenset(ascii_letters + digits + "+/=_-.%~$")
_ENDS = _TAIL_SIGNS | _VALUE_SIGNS
# behind a sign that ends a line it may go on on the next one
_GOES_ON = frozenset("\\\r\"' \t+.")
_RANDOM_NEXT = re.compile(r"\n[^\w\n]{0,84}[\w+/=\-.%~]{0,40}?(?:[0-9]|[a-z][A-Z]|[A-Z]{2})")
# more than a word: a digit, or capitals in the middle
_RANDOM_PIECE = re.compile(
    r"(?=[^\s]{0,40}?(?:[0-9]|[a-z][A-Z]|[A-Z]{2}))[A-Za-z0-9+/=_\-.%~!@#$*]{4,400}(?=[\s\"'`\\,;:)<>\]}]|\Z)"
)


def joined(text: str, places: Iterable[int]) -> View | None:
    """Return the neighbourhoods of broken values with their breaks taken out; None when nothing was broken.

    A line is broken when it ends in a backslash, has a width that programs wrap at, or is as wide as its neighbour; or
    when a piece that looks random stands alone on the next one.

    Args:
        text: the text.
        places: where values may be, in order: what does not lie in their lines is not looked at.
    """
    breaks = list(_breaks(text, places))
    if not breaks:
        return None
    pieces: list[tuple[str, int, int]] = []
    at = -1
    for start, stop in breaks:
        begin = _line_before(text, start)
        if begin > at:  # a neighbourhood of its own
            if at >= 0:
                pieces.append((text[at : _line_end(text, at)], at, _line_end(text, at) - at))
                pieces.append(("\n", _line_end(text, at), 1))
            at = begin
        pieces.append((text[at:start], at, start - at))
        at = stop
    pieces.append((text[at : _line_end(text, at)], at, _line_end(text, at) - at))
    return View(
        "".join(plain for plain, _, _ in pieces), lambda: [(len(plain), at, size) for plain, at, size in pieces]
    )


def _line_before(text: str, at: int) -> int:
    """Return where the line before the one of ``at`` begins: the name of a value may stand there."""
    return text.rfind("\n", 0, max(text.rfind("\n", 0, at), 0)) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _breaks(text: str, places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield what is to be taken out, in order: the breaks behind the lines of the places, and those that follow."""
    end = -1
    for place in places:
        if place <= end:
            continue
        end = text.find("\n", place)
        if end < 0:
            return
        if text[end - 1] not in _ENDS:
            continue
        start = text.rfind("\n", 0, place) + 1
        while end < len(text):
            # most lines are not as wide, and what is random on the next one is seen at once
            is_wide = _is_wide(text, start, end)
            if not is_wide and text[end - 1] not in _GOES_ON and _RANDOM_NEXT.match(text, end) is None:
                break
            cut = _cut(text, start, end)
            if cut is None or not (
                (is_wide and _is_wrapped(text, cut[1]))
                or "\\" in text[cut[0] : end]
                or _RANDOM_PIECE.match(text, cut[1])
            ):
                break
            yield cut
            start, end = end + 1, _line_end(text, end + 1)


def _is_wide(text: str, start: int, end: int) -> bool:
    """Say whether a line is as wide as programs make it, or as its neighbour."""
    width = end - start
    return width in _WIDTHS or (
        width >= _LEAST_WIDTH and (_line_end(text, end + 1) == end + width + 1 or _is_line(text, start, width))
    )


def _is_wrapped(text: str, following: int) -> bool:
    """Say whether what follows a wide line is no item of a list (no value goes on with one sign alone) and no word."""
    return not text.startswith(("- ", "* ", "+ "), following) and _PLAIN_WORD.match(text, following) is None


def _is_line(text: str, start: int, width: int) -> bool:
    """Say whether the line before ``start`` has this width."""
    before = text.rfind("\n", 0, max(start - 1, 0))
    return start > 0 and start - 1 - (before + 1) == width


_PLAIN_WORD = re.compile(r"[A-Za-z]?[a-z]{1,14}[.,;:!?]?(?:\s|\Z)")


def _cut(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return where the break at ``end`` begins and ends when values stand on both sides."""
    last = text[end - 1 : end] if end > start else ""
    begin = end
    if last in _TAIL_SIGNS:
        tail = _TAIL.search(text[max(start, end - _TAIL_CHARS) : end])
        begin = end - (len(tail[0]) if tail else 0)
        last = text[begin - 1 : begin] if begin > start else ""
    goes_on = "\\" in text[begin:end]
    if last not in _VALUE_SIGNS and (not goes_on or last.isspace()):
        return None
    # behind a backslash nothing but the same value can stand, whatever its signs
    following = (_NEXT_ANY if goes_on else _NEXT).match(text, end)
    return None if following is None else (begin, following.end())
