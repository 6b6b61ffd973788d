"""Secrets and subjects out of bytes, also packed ones: each replaced by as many, so that nothing behind it moves.

Where a name or a phrase stands in bytes: plain, escaped in JSON, URL-encoded, in base64, hex or UTF-16.

One expression matches every character of it in each of its forms, so that forms may be mixed and nested (JSON in JSON);
upper and lower case are one, and so is any space between words. It is tried only where some sign of the phrase was seen
before. In base64 and hex the phrase itself is looked for; runs that may be base64 are decoded and looked through in
turn, too. What is found is a range of the bytes themselves, whole codes only.
"""

import base64
import bz2
import gzip
import io
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from html.entities import codepoint2name
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast
from unicodedata import normalize
from urllib.parse import quote

import orjson
import zstandard
from ahocorasick_rs import BytesAhoCorasick, Implementation

from slowwave.errors import RefusedError
from slowwave.formats.lines import STEP_BYTES, SUFFIX
from slowwave.retention.erase.subjects import Hit, What

# both alphabets, broken into lines as programs print it, with the escapes that JSON gives to a line end and a slash
_BREAK = rb"(?:(?:\\+[rn]|[\r\n])+|\\+(?=/))"
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}(?:" + _BREAK + rb"[A-Za-z0-9+/_-]+)*")
_BREAKS = re.compile(_BREAK)
# base64 in base64, as a JSON text within a request that was logged
_ENCODINGS = 3
_ENTITIES = {"&": rb"&amp;", "<": rb"&lt;", ">": rb"&gt;", '"': rb"&quot;", "'": rb"&(?:apos|\#39);"}
# one space for another, and line ends however often escaped
_SPACE = (
    rb"(?:\s|\\+[nrt]|\\+u00(?:20|a0|0[9ad])|%(?:25)*(?:20|09|0[AaDd]|[Cc]2%(?:25)*[Aa]0)|\+|\xc2\xa0|&nbsp;|=\r?\n"
    rb"|(?:\\+xc2)?\\+xa0|\\+302\\+240|=C2=A0)+"
)
_PLAIN = re.compile(r"[A-Za-z0-9]{2,}")
_STANDARD = bytes.maketrans(b"-_", b"+/")


class Needle:
    """A phrase that is looked for."""

    def __init__(self, phrase: str) -> None:
        """Prepare the search for a phrase.

        Raises:
            ValueError: it has no letter and no digit, so that it would be found everywhere.
        """
        words = phrase.split()
        if not any(char.isalnum() for char in phrase):
            raise ValueError("write a name or a phrase with at least one letter or digit")
        self.phrase = " ".join(words)
        # as one sign or two, a letter and its accent: file names of macOS have two
        spelt = dict.fromkeys((self.phrase, *(normalize(form, self.phrase) for form in ("NFC", "NFD"))))
        self._expression = re.compile(b"|".join(map(_expression, spelt)))
        signs = sorted({sign for one in spelt for sign in _signs(one)})
        self._signs = BytesAhoCorasick(signs, implementation=Implementation.DFA)
        forms = list(dict.fromkeys(form for one in spelt for form in _usual_forms(one)))
        self._coded = CodedPhrase(forms)
        in_hex = [one.hex().encode() for one in forms]
        self._in_hex = BytesAhoCorasick(in_hex, implementation=Implementation.DFA)
        # without one of these, in lower case or as it is, or what is coded in base64, the phrase is not there
        self.wide = WidePhrase(self.phrase)
        self.folded_signs = (*signs, *in_hex, *self.wide.signs)
        self.exact_signs = self._coded.literals
        self._least = len(self.phrase.encode())

    def occurs_in(self, data: bytes) -> bool:
        """Say whether the phrase stands anywhere in ``data``."""
        return next(self._find(data, _ENCODINGS), None) is not None

    def is_plain(self, data: bytes) -> bool:
        """Say whether the phrase stands in ``data`` as text, escaped or not, rather than in base64 or hex."""
        return self._expression.search(data) is not None

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """Return the ranges of ``data`` in which the phrase stands, in order, without overlaps."""
        found: list[tuple[int, int]] = []
        for start, stop in sorted(self._find(data, _ENCODINGS)):
            if found and start < found[-1][1]:
                found[-1] = found[-1][0], max(stop, found[-1][1])
            else:
                found.append((start, stop))
        return found

    def _find(self, data: bytes, depth: int) -> Iterator[tuple[int, int]]:
        low = data.lower()
        if self._signs.find_matches_as_indexes(low):
            for match in self._expression.finditer(data):
                yield match.span()
        for _, start, stop in self._in_hex.find_matches_as_indexes(low):
            yield start, stop
        yield from self.wide.find(low)
        yield from self._coded.find(data)
        if not depth:
            return
        for run in _BASE64.finditer(data):
            if len(run[0]) * 3 // 4 >= self._least and not run[0].islower():
                yield from self._in_base64(run[0], run.start(), depth - 1)

    def _in_base64(self, run: bytes, at: int, depth: int) -> Iterator[tuple[int, int]]:
        """Look into a run that may begin anywhere in a longer one: a path before it belongs to its alphabet, too."""
        places = signs_of(run)
        signs = bytes(map(run.__getitem__, places)).translate(_STANDARD)
        for shift in range(4):
            body = signs[shift:]
            body = body[: len(body) - (len(body) % 4 == 1)]
            for start, stop in self._find(base64.b64decode(body + b"=" * (-len(body) % 4)), depth):
                last = min(shift + -(-stop // 3) * 4, len(signs)) - 1
                yield at + places[shift + start // 3 * 4], at + places[last] + 1


def _expression(phrase: str) -> bytes:
    return _SPACE.join(b"".join(map(_forms, word)) for word in phrase.split())


def decoded_runs(data: bytes) -> Iterator[bytes]:
    """Yield what every run that may be base64 decodes to, from each of the places where it may begin."""
    for run in _BASE64.finditer(data):
        if run[0].islower():
            continue
        places = signs_of(run[0])
        signs = bytes(map(run[0].__getitem__, places)).translate(_STANDARD)
        for shift in range(4):
            body = signs[shift:]
            body = body[: len(body) - (len(body) % 4 == 1)]
            yield base64.b64decode(body + b"=" * (-len(body) % 4))


def _signs(phrase: str) -> list[bytes]:
    """Return what of a phrase is in lower case in any text that holds it: a plain part, or a code within that."""
    part = max(_PLAIN.findall(phrase), key=len, default="") or phrase[0]
    whole = [part.lower().encode()] if part.isascii() else []
    codes = {form for char in part for one in (char, char.lower(), char.upper()) for form in _codes(one)}
    return [*whole, *sorted(codes)]


def _codes(char: str) -> Iterator[bytes]:
    """Yield, in lower case, the codes for a character, and its bytes where they are no plain letter."""
    data = char.encode("utf-8", "surrogatepass")
    if not char.isascii():
        yield data.lower()
        yield b"u" + char.encode("utf-16-be", "surrogatepass")[:2].hex().encode()
        yield b"&%b;" % codepoint2name.get(ord(char), "#").lower().encode()
        yield b"\\x%02x" % data[0]
        yield b"\\x%02x" % (ord(char) & 0xFF)
        yield b"\\%03o" % data[0]
        yield b"=%02x" % data[0]
    else:
        yield b"u00%02x" % data[0]
    yield b"%%%02x" % data[0]
    yield b"%%25%02x" % data[0]
    yield b"&#"


def _usual_forms(phrase: str) -> Iterator[bytes]:
    """Yield a phrase as programs write it before they encode it."""
    for one in (phrase, phrase.lower(), phrase.upper(), phrase.title(), phrase.casefold()):
        yield one.encode("utf-8", "surrogatepass")
        yield json.dumps(one)[1:-1].encode()
        yield quote(one, safe="", errors="surrogatepass").encode()


def signs_of(run: bytes) -> Sequence[int]:
    """Return where the signs of a run of base64 stand in it, without what breaks it into lines."""
    breaks = list(_BREAKS.finditer(run))
    if not breaks:
        return range(len(run))
    places: list[int] = []
    at = 0
    for one in breaks:
        places += range(at, one.start())
        at = one.end()
    return [*places, *range(at, len(run))]


def _forms(char: str) -> bytes:
    """Return an expression for a character in every form and case."""
    every = dict.fromkeys((char, char.lower(), char.upper(), char.casefold()))
    return b"(?:" + b"|".join(form for one in every for form in _forms_of(one)) + b")"


def _forms_of(text: str) -> Iterator[bytes]:
    data = text.encode("utf-8", "surrogatepass")
    yield re.escape(data)
    yield b"".join(b"%%(?:25)*(?i:%02x)" % byte for byte in data)
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (units[at : at + 2].hex().encode() for at in range(0, len(units), 2))
    yield b"".join(rb"\\+u(?i:%b)" % code for code in codes)
    if text in ('"', "/", "'"):
        yield rb"\\+" + re.escape(data)
    if text == "\\":
        yield rb"\\{2,}"
    if text in _ENTITIES:
        yield _ENTITIES[text]
    elif not text.isascii():
        # as Python shows bytes and git names of files, and in mails
        yield b"".join(rb"\\+x(?i:%02x)" % byte for byte in data)
        yield b"".join(rb"\\+%03o" % byte for byte in data)
        yield b"".join(b"=(?i:%02x)" % byte for byte in data)
        if len(text) == 1:
            yield from _codes_of_character(ord(text))


def _codes_of_character(number: int) -> Iterator[bytes]:
    yield b"&#(?:0*%d|[xX]0*(?i:%x));" % (number, number)
    if number in codepoint2name:
        yield b"&%b;" % codepoint2name[number].encode()
    if number <= 0xFF:  # noqa: PLR2004 - as Python shows a character of one byte
        yield rb"\\+x(?i:%02x)" % number


# A phrase in base64, found without decoding anything: three alignments, and the cases that programs write.


class CodedPhrase:
    """The signs that a phrase leaves in base64, whatever stands around it.

    A sign of base64 holds six bits. Of a phrase that begins at the first, second or third byte of a group all signs but
    those at its ends are known; they are looked for as they are.
    """

    def __init__(self, forms: Iterable[bytes]) -> None:
        """Prepare the search for a phrase in these forms, each at least four bytes long to count."""
        self._found: list[tuple[int, int]] = []
        literals: list[bytes] = []
        for form in dict.fromkeys(forms):
            for before in range(3):
                signs = base64.b64encode(b"\0" * before + form + b"\0" * 2)
                first, last = -(-before * 8 // 6), (before + len(form)) * 8 // 6
                if last - first < _FEWEST:
                    continue
                for literal in dict.fromkeys((signs[first:last], signs[first:last].translate(_OF_URLS))):
                    literals.append(literal)
                    self._found.append((first, -(-(before + len(form)) // 3) * 4))
        self.literals = tuple(literals)
        self._automaton = BytesAhoCorasick(literals, implementation=Implementation.DFA) if literals else None

    def find(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the ranges that hold the phrase, whole groups of four signs as far as ``data`` goes."""
        if self._automaton is None:
            return
        for number, start, _ in self._automaton.find_matches_as_indexes(data, overlapping=True):
            first, last = self._found[number]
            yield max(start - first, 0), min(start - first + last, len(data))


_OF_URLS = bytes.maketrans(b"+/", b"-_")
# fewer signs stand in any text by chance
_FEWEST = 5


# A phrase in UTF-16, in either order of its bytes, or as JSON shows such bytes: one space between words as it is.

_ORDERS = {"utf-16-le": b"*\0", "utf-16-be": b"\0*"}
_NUL_IN_JSON = b"\\u0000"


class WidePhrase:
    """The bytes that a phrase takes in UTF-16, in the cases that people write."""

    def __init__(self, phrase: str) -> None:
        """Prepare the search for a phrase."""
        cases = dict.fromkeys((phrase, phrase.lower(), phrase.upper(), phrase.title()))
        # in lower case as the bytes that are looked through, with what is as long as one unit of it
        self._fills = {one.encode(order).lower(): fill for one in cases for order, fill in _ORDERS.items()}
        for spelt in map("\0".join, cases):
            shown = json.dumps(spelt), json.dumps(spelt, ensure_ascii=False)
            self._fills |= {one[1:-1].encode().lower(): b"*" for one in shown}
        self.signs = tuple(self._fills)
        # most bytes have none, and need no look
        self._has_nul = all(b"\0" in sign or _NUL_IN_JSON in sign for sign in self.signs)
        self._automaton = BytesAhoCorasick(self.signs, implementation=Implementation.DFA)

    def find(self, low: bytes) -> Iterator[tuple[int, int]]:
        """Yield the ranges of bytes, given in lower case, in which the phrase stands."""
        if not self._has_nul or b"\0" in low or _NUL_IN_JSON in low:
            for _, start, stop in self._automaton.find_matches_as_indexes(low):
                yield start, stop

    def fill_of(self, was: bytes) -> bytes:
        """Return as many bytes as stand there, stars in the same form; nothing when they are no such phrase."""
        unit = self._fills.get(was.lower(), b"")
        return unit * (len(was) // len(unit)) if unit else b""


# Which of many phrases may stand in bytes at all, told in one look over them, however many phrases there are.


class Many:
    """The first look for many needles."""

    def __init__(self, needles: Sequence[Needle]) -> None:
        """Prepare the look."""
        folded = [(sign, number) for number, needle in enumerate(needles) for sign in needle.folded_signs]
        exact = [(sign, number) for number, needle in enumerate(needles) for sign in needle.exact_signs]
        self._folded, self._owners_folded = _automaton(folded)
        self._exact, self._owners_exact = _automaton(exact)

    def may_occur(self, data: bytes, depth: int = _ENCODINGS) -> set[int]:
        """Return the numbers of the needles that may occur in ``data``; no other one does."""
        found: set[int] = set()
        if self._folded is not None:
            for number, _, _ in self._folded.find_matches_as_indexes(data.lower(), overlapping=True):
                found |= self._owners_folded[number]
        if self._exact is not None:
            for number, _, _ in self._exact.find_matches_as_indexes(data, overlapping=True):
                found |= self._owners_exact[number]
        if depth:
            for plain in decoded_runs(data):
                found |= self.may_occur(plain, depth - 1)
        return found


def _automaton(signs: Sequence[tuple[bytes, int]]) -> tuple[BytesAhoCorasick | None, list[set[int]]]:
    owners: dict[bytes, set[int]] = {}
    for sign, number in signs:
        owners.setdefault(sign, set()).add(number)
    if not owners:
        return None, []
    return BytesAhoCorasick(list(owners), implementation=Implementation.ContiguousNFA), list(owners.values())


# what is taken out may bring something else to light, for example the rest of a list
_MOST_PASSES = 4
STUCK = "cannot be overwritten: a number, a key or the form of the JSON around it would change"


class Place(NamedTuple):
    """Where something stood that had to go, the mark that stands for it, and whether it was part of a path."""

    offset: int
    length: int
    family: str
    mark: str
    in_path: bool = False


class Masked(NamedTuple):
    """Bytes in which everything is overwritten that may be.

    Attributes:
        data: as many bytes as before.
        places: what was overwritten.
        stuck: what still stands there: the JSON that holds it would be another, or none.
    """

    data: bytes
    places: list[Place]
    stuck: list[Place]


def masked(data: bytes, what: What) -> Masked:
    """Return ``data`` with all that must go overwritten, as far as the JSON in it allows."""
    new, places, stuck = data, list[Place](), set[tuple[int, int]]()
    found = what.hits(new)
    for _ in range(_MOST_PASSES):
        free = [hit for hit in found if (hit.start, hit.stop) not in stuck]
        if not free:
            break
        form = _Form(new)
        together = _filled(new, free)
        if form.is_kept(together, free):
            new = together
            places += map(_place, free)
        else:
            for hit in free:
                alone = _filled(new, [hit])
                if form.is_kept(alone, [hit]):
                    new = alone
                    places.append(_place(hit))
                else:
                    stuck.add((hit.start, hit.stop))
        found = what.hits(new)
    return Masked(new, places, [_place(hit) for hit in found])


def marked(data: bytes, what: What) -> Masked:
    """Return ``data`` with a mark in the place of all that must go; unchanged when its JSON would not stand it."""
    found = what.hits(data)
    out: list[bytes] = []
    at = 0
    for hit in found:
        out += [data[at : hit.start], hit.mark.encode()]
        at = hit.stop
    new, places = b"".join([*out, data[at:]]), [_place(hit) for hit in found]
    return Masked(new, places, []) if not found or _has_form_of(data, new) else Masked(data, [], places)


def _place(hit: Hit) -> Place:
    return Place(hit.start, hit.stop - hit.start, hit.family, hit.mark, hit.in_path)


def _filled(data: bytes, hits: Sequence[Hit]) -> bytes:
    new = bytearray(data)
    for hit in hits:
        new[hit.start : hit.stop] = hit.fill
    return bytes(new)


class _Form:
    """What of some bytes is JSON: all of them, or lines of them. Whatever else they are has no form to lose."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._whole = _parsed(data)

    def is_kept(self, new: bytes, hits: Sequence[Hit]) -> bool:
        """Say whether other bytes, different where the hits are, have the same form."""
        if self._whole is not None:
            return _alike(self._whole, _parsed(new))
        return all(_has_form_of(self._data[a:b], new[a:b]) for a, b in self._lines(hits))

    def _lines(self, hits: Sequence[Hit]) -> Iterator[tuple[int, int]]:
        """Yield every line that a hit touches; there may be several of one hit."""
        end = -1
        for hit in hits:
            start = max(self._data.rfind(b"\n", 0, hit.start) + 1, end)
            while start < hit.stop:
                end = self._data.find(b"\n", start) + 1 or len(self._data)
                yield start, end
                start = end


def _has_form_of(old: bytes, new: bytes) -> bool:
    before = _parsed(old)
    return before is None or _alike(before, _parsed(new))


def _parsed(data: bytes) -> Any:
    """Return JSON, or None for what is none: a bare number is a text as well as any other."""
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None  # damaged already, or a line of text
    return cast("Any", value) if isinstance(value, dict | list | str) else None


def _alike(before: Any, after: Any) -> bool:
    """Say whether two values differ in their texts alone."""
    if type(before) is not type(after):
        return False
    if isinstance(before, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        return len(old) == len(new) and all(_alike(a, b) for a, b in zip(old.values(), new.values(), strict=True))
    if isinstance(before, list):
        some, others = cast("list[Any]", before), cast("list[Any]", after)
        return len(some) == len(others) and all(_alike(a, b) for a, b in zip(some, others, strict=True))
    return isinstance(before, str) or before == after


# Bytes of a whole file overwritten in place; what is packed by zstd or gzip is packed again.

ONLY_READ = "what is packed in it holds what must go, in a form that is not packed again; remove it, or unpack it"


def overwritten(data: bytes, what: What, *, packed: bool | None = None) -> Masked:
    """Return data with all that must go overwritten, also what stands on several lines, and where it was.

    Args:
        data: the content of a file.
        what: what must go.
        packed: it is packed by zstd; by default its first bytes tell.

    Raises:
        RefusedError: what is packed is damaged, so that nobody can look into it; or it holds what must go and is packed
            by something else than zstd or gzip, or packed twice.
    """
    if packed if packed is not None else data.startswith(ZSTD):
        found = masked(_plain(unpacked(data), what), what)
        packer = zstandard.ZstdCompressor(level=3, write_checksum=True).compress
    elif packed is None and data.startswith(GZIP):
        plain, *inside = layers(data)
        _refuse_inside(inside, what)
        found = masked(plain, what)
        packer = _gzipped
    else:
        return masked(_plain(data, what) if packed is None else data, what)
    return found._replace(data=packer(found.data) if found.places else data)


def _plain(data: bytes, what: What) -> bytes:
    """Return data again, unless something is packed in it that must go and cannot.

    Raises:
        RefusedError: so it is.
    """
    _refuse_inside(layers(data), what)
    return data


def _refuse_inside(inside: Iterable[bytes], what: What) -> None:
    if any(what.hits(one) for one in inside):
        raise RefusedError(ONLY_READ)


def _gzipped(plain: bytes) -> bytes:
    return gzip.compress(plain, mtime=0)


# What is packed in the bytes of a file: gzip, zlib, bzip2, xz, zip and zstd, as far as their first bytes tell.
#
# Read to be searched only; what is rewritten is told by :func:`overwritten`.

GZIP = b"\x1f\x8b"
_ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_BZIP2, _XZ, _ZIP = b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04"
# an archive in an archive, and what is in that
_ARCHIVES = 3
_DAMAGED = "what is packed in it is damaged, so it cannot be searched"


def is_packed(path: Path) -> bool:
    """Say whether a file may be packed, by its first bytes; of a packed transcript they do not count.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return not path.name.endswith(SUFFIX) and file.read(len(_XZ)).startswith(
            (ZSTD, GZIP, _BZIP2, _XZ, _ZIP, *_ZLIB)
        )


def layers(data: bytes, depth: int = _ARCHIVES) -> Iterator[bytes]:
    """Yield what is packed in ``data``, and what is packed in that; nothing when it is not packed.

    Raises:
        RefusedError: it is damaged, or stands for more than a gigabyte.
    """
    if not depth:
        return
    for one in _layer(data):
        yield one
        yield from layers(one, depth - 1)


def _layer(data: bytes) -> Iterator[bytes]:
    if data.startswith(ZSTD):
        yield unpacked(data)
    elif data.startswith(GZIP):
        yield _stream(data, lambda: zlib.decompressobj(zlib.MAX_WBITS | 16))
    elif data.startswith(_BZIP2):
        yield _stream(data, bz2.BZ2Decompressor)
    elif data.startswith(_XZ):
        yield _stream(data, lzma.LZMADecompressor)
    elif data.startswith(_ZIP):
        yield from _entries(data)
    elif data.startswith(_ZLIB):
        try:
            yield _stream(data, zlib.decompressobj)
        except RefusedError:
            return  # two bytes are no sure sign: "x\x9c" may begin anything


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _stream(data: bytes, new: Callable[[], _Unpacker]) -> bytes:
    """Return what all streams hold that stand one behind the other."""
    plain = bytearray()
    rest = data
    while rest.strip(b"\0"):
        one = new()
        try:
            plain += one.decompress(rest, MOST_BYTES - len(plain) + 1)
        except (zlib.error, OSError, lzma.LZMAError, EOFError) as error:
            raise RefusedError(f"{_DAMAGED}: {error}") from error
        if len(plain) > MOST_BYTES:
            raise RefusedError(TOO_LARGE)
        if not one.eof:
            raise RefusedError(f"{_DAMAGED}: it is cut short")
        rest = one.unused_data
    return bytes(plain)


def _entries(data: bytes) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            if sum(info.file_size for info in packed.infolist()) > MOST_BYTES:
                raise RefusedError(TOO_LARGE)
            for info in packed.infolist():
                yield info.filename.encode("utf-8", "surrogateescape")
                yield packed.read(info)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise RefusedError(f"{_DAMAGED}: {error}") from error


# What all frames of zstd in some bytes hold.

ZSTD = b"\x28\xb5\x2f\xfd"
MOST_BYTES = 1 << 30
TOO_LARGE = "it unpacks to more than a gigabyte, which is not searched"


def unpacked(data: bytes) -> bytes:
    """Return what all frames of packed data hold.

    Raises:
        RefusedError: it is damaged, cut short, or stands for more than a gigabyte.
    """
    plain = bytearray()
    rest = memoryview(data)
    while rest:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while rest and not frame.eof:
            step = rest[:STEP_BYTES]
            try:
                plain += frame.decompress(step)
            except zstandard.ZstdError as error:
                raise RefusedError(f"what is packed in it is damaged, so it cannot be searched: {error}") from error
            if len(plain) > MOST_BYTES:
                raise RefusedError(TOO_LARGE)
            rest = rest[len(step) - len(frame.unused_data) :]
        if not frame.eof:
            raise RefusedError("what is packed in it is cut short, so its end cannot be searched")
    return bytes(plain)
