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
from collections.abc import Callable, Iterable, Iterator, Sequence
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

    ``text``: the plain text. ``pieces``: returns its pieces when somebody asks for the way back: how many characters
    they have in the plain text, where they stood and how many characters they took there. A piece that took as many as
    it has maps one to one, four for three is base64, two for one hex; any other maps as a whole.
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

    ``signs``: those of ``FOLDED`` that it has.
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


# Signs of source code, mail and markup that part a value without changing it: ends of lines, tags, bold letters.
#
# Where ``TAGS`` are, needs no look at the text; the rest is looked for behind names of secrets only. ``JOINS`` and
# ``LISTS`` are where literals are put together (:mod:`slowwave.secrets.pieces`).

_SIGNS = ("+", " + ", ".", " . ", " .. ", " & ", " || ", " ++ ", " <> ", " ~ ", " ^ ")
JOINS = (
    # between backticks a dot ends a sentence
    *(f"{q}{sign}{p}" for q in "\"'`" for p in "\"'`" for sign in _SIGNS if "." not in sign or "`" not in q + p),
    *(f"+={by}{q}" for q in "\"'" for by in ("", " ")),
)
TAGS = ("<b>", "<i>", "<em>", "<strong>", "<wbr", "<span>", "<mark>", "<!-- -->", "<!---->", "<![cdata[")
# lines that go on in mail and in a shell; in base64, where the line and the value end
MAIL = ("=\n", "=\r\n", "^\n", "^\r\n")
LISTS = (
    '.join("")',
    ".join('')",
    '"".join(',
    "''.join(",
    "implode(",
    "strings.join(",
    "concat('",
    'concat("',
    "concat!(",
    "paste0(",
    "-join",
    "%s%s",
    "{}{}",
    "{0}{1}",
    "-f '",
    '-f "',
    "string join",
    ".joined(",
    ".append(",
    "mkstring",
    "jointostring",
    "sprintf(",
    "strcat(",
    "%w[",
    "!join",
)
_TAGS = r"(?:b|i|u|em|strong|span|mark|code|kbd|wbr|br|tt|small|sub|sup|font|a)(?:\s[^<>]{0,60})?/?>"
# what follows each of the signs that a glue can begin with; one class in front is looked for faster than many forms
_GLUE = (
    r"[\\=<*^\]\[}](?:"
    r"(?<=[\w!-~]\\)-(?=\w)|(?<=[\w!-~]\[)/?[biu]\]|(?<=\w\})\\\w{2,8}\{|"
    r"(?<=\\)\r?\n[+\-]?[ \t]{0,80}(?:[>|#*] )?"  # a line that goes on
    r"|(?<=[^\s=^][=^])\r?\n(?=[^\s=])"  # the same in mail, and in a shell
    r"|(?<=<)!\[CDATA\[|(?<=\])\]>(?:<!\[CDATA\[)?"
    rf"|(?<=[\w!-~]<)(?:/?{_TAGS}(?:</?{_TAGS}){{0,3}}|!--[^<>]{{0,40}}-->)|(?<=[\w!-~]\*)\*(?=\w))"
)
_FORMS = {False: re.compile(_GLUE), True: re.compile(rf"(?<![^\s:=(>])(?:<{_TAGS}(?=[^\s<])|\\text\w\w\{{)|{_GLUE}")}
_PARTING = rf"(?:</?{_TAGS}|\*(?<=\w\*)\*?\w|\[/?[biu]\]|\\-(?=\w)|\\text\w\w\{{|<!--[^<>]{{0,40}}-->)"
# behind a name, or the beginning of a secret: what may be parted, with no sign that is worth a look everywhere
_PARTED = re.compile(rf"(?:[^\n<*\[\\}}]{{1,80}}+|(?!{_PARTING})[<*\[\\}}]){{0,8}}+(?={_PARTING})")
# one name holds several values
APART = 16


def glued(text: str, *, named: bool) -> View | None:
    """Return a text with what was parted put together. ``named``: a tag between a name and its value goes, too."""
    return without(text, _FORMS[named], lambda _match: "")


def parted(text: str, ends: Iterable[int] | Sequence[int]) -> Iterator[int]:
    """Yield behind which names tags or signs for bold letters may part a value. ``ends``: where names end, in order."""
    last = -APART
    for end in ends:
        if end - last >= APART:
            last = end
            if _PARTED.match(text, end):
                yield end


# Values that were broken over several lines, put together again.

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
    when a piece that looks random stands alone on the next one. ``places``: where values may be, in order: what does
    not lie in their lines is not looked at.
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
