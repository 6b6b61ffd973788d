"""The forms that a secret hides in, taken off one by one, with the way back to the bytes of the text itself.

Escapes of JSON and of source code (also twice), colours of a terminal, URL-encoding and entities, base64 and hex, and
values that were broken over several lines. Each form yields a view: the plain text, and where each of its characters
stands in the text that it was made from.
"""

import base64
import binascii
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from html import unescape
from string import ascii_letters, digits

_ESCAPE = re.compile(
    r"(\\(?:[nrtbf\"'/\\`$]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,5}\}"
    r"|x[0-9a-fA-F]{2}|033|0?e(?=\[)))"
)
_NAMED = {
    **{f"\\{code}": plain for code, plain in zip("nrtbf", "\n\r\t\b\f", strict=True)},
    **{f"\\{same}": same for same in "\"'/\\`$"},
    **dict.fromkeys(("\\033", "\\e", "\\0e"), "\x1b"),
}
_COLOUR_SIGNS = ("\x1b", "^[[", "\u241b", "\x08", "\x00")
_COLOUR = re.compile(
    r"[\x1b\u241b^\x08\x00](?:(?<=[\x08\x00])"
    r"|(?:(?<!\^)|(?<=\^)\[)(?:\[[0-9;:?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[()][AB0]))"
)
_CODED = re.compile(
    r"[%&](?:(?<=%)(?:[cCdD][0-9a-fA-F]%[89abAB][0-9a-fA-F]|[eE][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){2}|[0-9a-fA-F]{2})"
    r"|(?<=&)(?:[a-zA-Z]{2,14}|#\d{2,6}|#[xX][0-9a-fA-F]{2,5});)"
)
_SAMPLE = 96
_MOST_ENCODED = 4_000_000
_TEXT_BYTES = bytes([9, 10, 13, 27, *range(32, 127)])
_MIN_TEXT = 0.97


class View:
    """A plain text, and the way back to the text that it was made from.

    Args:
        text: the plain text.
        pieces: returns its pieces when somebody asks for the way back: how many characters they have in the plain text,
            where they stood and how many characters they took there. A piece that took as many as it has maps one to
            one, four for three is base64, two for one hex; any other maps as a whole.
    """

    def __init__(self, text: str, pieces: Callable[[], Iterable[tuple[int, int, int]]]) -> None:
        self.text = text
        self._pieces = pieces
        self._begins: list[int] = []
        self._places: list[tuple[int, int, int]] = []

    def source(self, start: int, stop: int) -> tuple[int, int]:
        """Return where a range of the plain text stands in the other one, whole codes only."""
        self._lay_out()
        return self._at(start)[0], self._at(stop - 1)[1]

    def sources(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield where the parts of a range stand in the other text, without what stands between these there."""
        self._lay_out()
        for begin, (_, taken, size) in zip(self._begins, self._places, strict=True):
            if taken and begin < stop and begin + size > start:
                yield self.source(max(begin, start), min(begin + size, stop))

    def _lay_out(self) -> None:
        if not self._begins:
            at = 0
            for size, place, taken in self._pieces():
                if size:
                    self._begins.append(at)
                    self._places.append((place, taken, size))
                    at += size

    def _at(self, index: int) -> tuple[int, int]:
        number = bisect_right(self._begins, index) - 1
        place, taken, size = self._places[number]
        inside = index - self._begins[number]
        if taken == size:
            return place + inside, place + inside + 1
        if size > 1 and taken == 2 * size:
            return place + 2 * inside, place + 2 * inside + 2
        if size > 1:
            return place + inside // 3 * 4, min(place + inside // 3 * 4 + 4, place + taken)
        return place, place + taken


def without(text: str, pattern: re.Pattern[str], plain: Callable[[re.Match[str]], str]) -> View | None:
    """Return a text with every code replaced by the one character that it stands for, or by none."""
    clean = pattern.sub(plain, text)
    return None if clean == text else _view(clean, text, pattern, plain)


def _view(clean: str, text: str, pattern: re.Pattern[str], plain: Callable[[re.Match[str]], str]) -> View:
    def pieces() -> Iterator[tuple[int, int, int]]:
        at = 0
        for match in pattern.finditer(text):
            yield match.start() - at, at, match.start() - at
            yield len(plain(match)), match.start(), match.end() - match.start()
            at = match.end()
        yield len(text) - at, at, len(text) - at

    return View(clean, pieces)


def unescaped(text: str) -> View | None:
    """Return a text without backslash escapes."""
    if "\\" not in text:
        return None
    parts = _ESCAPE.split(text)  # no call for each of so many
    if len(parts) == 1:
        return None
    parts[1::2] = [_NAMED.get(code) or _unescape(code) for code in parts[1::2]]
    return _view("".join(parts), text, _ESCAPE, lambda match: _NAMED.get(match[0]) or _unescape(match[0]))


def _unescape(code: str) -> str:
    high, *low = (int(one.strip("xu{}"), 16) for one in code.split("\\")[1:])
    return chr(0x10000 + ((high & 0x3FF) << 10) + (low[0] & 0x3FF)) if low else chr(high)


def uncoloured(text: str) -> View | None:
    """Return a text without escape sequences of terminals."""
    return without(text, _COLOUR, lambda _match: "") if any(sign in text for sign in _COLOUR_SIGNS) else None


_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e01ef"
)
# of scripts that write numbers with their own: they are folded to ours
_DIGITS = "".join(
    f"{chr(zero)}-{chr(zero + 9)}"
    for zero in (
        0x660,
        0x6F0,
        0x7C0,
        0x966,
        0x9E6,
        0xA66,
        0xAE6,
        0xB66,
        0xBE6,
        0xC66,
        0xCE6,
        0xD66,
        0xE50,
        0xED0,
        0x1040,
        0x17E0,
    )
)
# accents by themselves, too; signs beside a small picture are taken for such as hide, which does no harm
FOLDED = re.compile(
    rf"[{_HIDDEN}\u0300-\u036f\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089\uff01-\uff5e"
    rf"{_DIGITS}\u2460-\u24ea\U0001d400-\U0001d7ff]"
)


def folded(text: str, signs: Iterable[str]) -> View:
    """Return a text without signs that nobody sees and without accents by themselves, fancy letters as usual ones.

    Args:
        text: the text.
        signs: those of ``FOLDED`` that it has.
    """
    clean = text
    for sign in signs:
        clean = clean.replace(sign, _fold(sign))
    return _view(clean, text, FOLDED, lambda match: _fold(match[0]))


def _fold(sign: str) -> str:
    kind = unicodedata.category(sign)
    if kind == "Nd":
        return str(unicodedata.decimal(sign))
    return "" if kind in _UNSEEN else unicodedata.normalize("NFKC", sign)


_UNSEEN = ("Cf", "Mn", "Lo", "Cn")


def uncoded(text: str) -> View | None:
    """Return a text without URL-encoding and entities."""
    return without(text, _CODED, _uncode) if "%" in text or "&" in text else None


def _uncode(match: re.Match[str]) -> str:
    code = match[0]
    if code[0] == "&":
        return unescape(code)
    data = bytes.fromhex(code.replace("%", ""))
    return data.decode("utf-8", "replace") if len(data) > 1 else chr(data[0])


def decoded(text: str, runs: Iterable[tuple[int, int]]) -> Iterator[View]:
    """Yield what the long runs of a text hold in base64 or hex, where that is text."""
    done = 0
    for start, stop in runs:
        if start < done or (size := stop - start) > _MOST_ENCODED:
            continue
        run = text[start:stop]
        if run.isdigit() or run.islower() or run.isupper():
            # base64 of text has both cases
            if size % 2 == 0 and _is_text(data := _of_hex(run)):
                yield _of_run(data.decode("latin-1"), start, size)
            continue
        begin, end = _far(text, start, stop, done)
        whole, bare = (begin, end), (start, stop)
        for left, right in (bare,) if whole == bare else (whole, bare):
            place, plain = _base64(text[left:right])
            if plain:
                yield _of_run(plain, left + place, right - left - place)
                break
        done = end


def _of_hex(run: str) -> bytes:
    try:
        return bytes.fromhex(run)
    except ValueError:
        return b""


def _far(text: str, start: int, stop: int, least: int) -> tuple[int, int]:
    """Return how far the alphabet of base64 goes around a run of letters and digits; its other signs are rare in it."""
    before, behind = text[start - 1 : start], text[stop : stop + 1]
    is_standard = behind in "+/" if behind in _OTHER_SIGNS else before in "+/"
    if before in _OTHER_SIGNS:
        head = text[max(least, start - _RUN_CHARS) : start]
        start -= len(head) - len(head.rstrip(_STANDARD_SIGNS if is_standard else _SIGNS_OF_URLS))
    tail = (_STANDARD if is_standard else _OF_URLS).match(text, stop) if behind in _OTHER_SIGNS else None
    return start, tail.end() if tail else stop


_OTHER_SIGNS = frozenset("+/-_")
_RUN_CHARS = 32
_STANDARD_SIGNS = ascii_letters + digits + "+/"
_SIGNS_OF_URLS = ascii_letters + digits + "_-"
_STANDARD = re.compile(r"[A-Za-z0-9+/]*")
_OF_URLS = re.compile(r"[A-Za-z0-9_\-]*")
_PEEK = 24
# every third byte of the text begins with one of these: none of ASCII has its highest bit
_BEGINS_TEXT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef")


def _of_run(plain: str, place: int, size: int) -> View:
    return View(plain, lambda: [(len(plain), place, size)])


def _base64(run: str) -> tuple[int, str]:
    """Return the text in a run and where it begins: behind a path or a name that is any of four places."""
    for shift in range(4 if len(run) >= _SAMPLE else 1):
        if not _BEGINS_TEXT.issuperset(run[shift : shift + _PEEK : 4]):
            continue
        body = run[shift : len(run) - ((len(run) - shift) % 4 == 1)]
        if _is_text(_plain(body[:_PEEK])) and _is_text(whole := _plain(body)):
            return shift, whole.decode("latin-1")
    return 0, ""


def _plain(body: str) -> bytes:
    body = body.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4))
    except (binascii.Error, ValueError):
        return b""


def _is_text(data: bytes) -> bool:
    return bool(data) and (len(data) - len(data.translate(None, _TEXT_BYTES))) >= _MIN_TEXT * len(data)
