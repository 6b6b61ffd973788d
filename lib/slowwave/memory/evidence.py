"""Whether the bytes that prove a fact are still there, where they lie now, and in which words."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self, cast

import msgspec
import orjson

from slowwave.errors import UnreadableError
from slowwave.formats.codex import find_rollout, sibling, thread_in_name
from slowwave.formats.database import RowReader, StaleRowsError, names_row
from slowwave.formats.lines import MOST_BYTES, PACKED, open_plain, plain_of
from slowwave.hostile import visible
from slowwave.memory import Evidence, name_from_json, name_to_json, printable
from slowwave.memory.book import Memory
from slowwave.reading import written
from slowwave.stores.archive.shelf import PackedPlaces, is_inside, pack_of

# Whether the bytes that prove a fact are still there: in files, in packed files, in rows of databases.

Finding = Literal["ok", "moved", "changed", "lost"]

# A database that its client writes to in each of so many readings is left for later.
_MOST_READINGS = 5
# A file of another name is first looked at in the recorded places; for more pieces one reading of it all is cheaper.
_FEW = 50


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one piece of evidence."""

    evidence: Evidence  # as it was recorded
    # ok; moved (the same bytes lie elsewhere: archived, renamed, forked into parts, copied); changed (the file or row
    # has other bytes); lost (no file, or no row)
    finding: Finding
    # where the bytes are now, or the file that was looked at; of what is archived its pack, and behind it where it lay
    path: str
    offset: int  # where in ``path``, or in the row, they are, -1 when they were not found

    @property
    def is_archived(self) -> bool:
        """Whether the bytes are in an archive."""
        return is_inside(Path(self.path))


def check_all(evidence: Sequence[Evidence], folders: Sequence[Path] = ()) -> list[Checked]:
    """Read several pieces of evidence again; each database is opened, each packed file unpacked once for all of them.

    ``folders``: where to look for a file of the same name when it is no longer at its path; databases among them are
    such files themselves, and packs in them are looked into. Raises UnreadableError: a database changes all the time
    while it is read.
    """
    reason = ""
    for _ in range(_MOST_READINGS):
        try:
            with RowReader() as rows, PlainFiles(folders) as files:
                return _read_again(evidence, folders, rows, files)
        except StaleRowsError as error:
            reason = str(error)
    raise UnreadableError(evidence[0].path, reason, "try again when its client is idle")


def unproven(evidence: Mapping[str, Sequence[Evidence]], folders: Sequence[Path] = ()) -> dict[str, str]:
    """Return why the evidence of some facts does not prove anything any more, by the fact; none for what re-reads.

    Raises UnreadableError: a database changes all the time while it is read.
    """
    every = [(fact, piece) for fact, pieces in evidence.items() for piece in pieces]
    reasons = {fact: "it has no evidence" for fact, pieces in evidence.items() if not pieces}
    for (fact, _), checked in zip(every, check_all([piece for _, piece in every], folders), strict=True):
        if checked.finding == "changed":
            reasons.setdefault(fact, f"its evidence is no longer in {printable(checked.path)}")
        elif checked.finding == "lost":
            reasons.setdefault(fact, f"its evidence is gone with {printable(checked.path)}")
    return reasons


class PlainFiles:
    """Opens plain and packed files for reading; the last one stays open, since its pieces come one after the other.

    Args:
        folders: where archives of sessions may lie.

    Attributes:
        packs: the files in these archives.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.packs = PackedPlaces(folders)
        self._opened: tuple[Path, int, BinaryIO] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, path: Path, most: int = MOST_BYTES) -> BinaryIO:
        """Return the file; of its plain bytes only the first ``most`` are needed.

        Raises UnreadableError: it cannot be opened.
        """
        if self._opened is None or self._opened[0] != path or self._opened[1] < most:
            self._opened = None
            self._stack.close()
            self._opened = path, most, self._stack.enter_context(self._plain(path, most))
        return self._opened[2]

    def has(self, path: Path) -> bool:
        """Say whether there is such a file."""
        return path in self.packs if is_inside(path) else path.is_file()

    def _plain(self, path: Path, most: int) -> BinaryIO:
        return plain_of(path, self.packs.open(path), most=most) if is_inside(path) else open_plain(path, most=most)

    def is_at(self, path: Path, evidence: Evidence) -> bool:
        """Say whether the recorded bytes lie at the recorded place of a file."""
        try:
            file = self.open(path, most=evidence.offset + evidence.length)
            file.seek(evidence.offset)
            return hashlib.sha256(file.read(evidence.length)).hexdigest() == evidence.sha256
        except (OSError, UnreadableError):
            return False

    def search(self, path: Path, pieces: Iterable[Evidence]) -> dict[str, int]:
        """Return where pieces lie in a file, by their hash: one reading for all of them."""
        wanted: dict[int, set[str]] = {}
        for piece in pieces:
            wanted.setdefault(piece.length, set()).add(piece.sha256)
        found: dict[str, int] = {}
        try:
            file = self.open(path)
            offset = file.seek(0)
            for line in file:
                _search_line(line, offset, wanted, found)
                offset += len(line)
        except (OSError, UnreadableError):
            return found
        return found


def _read_again(
    evidence: Sequence[Evidence], folders: Sequence[Path], rows: RowReader, files: PlainFiles
) -> list[Checked]:
    """Check pieces file by file and return the findings in the order of the pieces."""
    found: dict[int, Checked] = {}
    missing: dict[int, Evidence] = {}
    looked: dict[int, Path] = {}
    # from the last piece of a file to its first: what the last one needs of a packed file is enough for all
    for index in sorted(range(len(evidence)), key=lambda i: (evidence[i].path, -evidence[i].offset)):
        piece = evidence[index]
        if names_row(piece.record):
            found[index] = _checked_row(piece, folders, rows)
        elif files.is_at(Path(name_from_json(piece.path)), piece):
            found[index] = Checked(piece, "ok", piece.path, piece.offset)
        else:
            missing[index] = piece
    _search_by_name(missing, folders, files, found, looked)
    _search_all(missing, folders, files, found)
    for index, piece in missing.items():
        if index not in found:
            at = looked.get(index)
            found[index] = Checked(piece, "changed" if at else "lost", name_to_json(at) if at else piece.path, -1)
    return [found[index] for index in range(len(evidence))]


def _search_by_name(
    missing: Mapping[int, Evidence],
    folders: Sequence[Path],
    files: PlainFiles,
    found: dict[int, Checked],
    looked: dict[int, Path],
) -> None:
    """Look for pieces in their own file and in files of its name, each file read once for all of them."""
    by_path: dict[str, list[int]] = {}
    for index, piece in missing.items():
        by_path.setdefault(piece.path, []).append(index)
    for path, indexes in by_path.items():
        for place in dict.fromkeys(places(Path(name_from_json(path)), folders, files.packs)):
            left = [i for i in indexes if i not in found]
            if not left or not files.has(place):
                continue
            for index in left:
                looked.setdefault(index, place)
            _search_in(place, {i: missing[i] for i in left}, files, found)


def _search_all(
    missing: Mapping[int, Evidence], folders: Sequence[Path], files: PlainFiles, found: dict[int, Checked]
) -> None:
    """Look for what is still missing in every transcript of the folders: renamed, forked into parts, or copied."""
    left = {index: piece for index, piece in missing.items() if index not in found}
    for place in all_transcripts(folders, files.packs) if left else ():
        _search_in(place, left, files, found)
        left = {index: piece for index, piece in left.items() if index not in found}
        if not left:
            return


def _search_in(place: Path, pieces: Mapping[int, Evidence], files: PlainFiles, found: dict[int, Checked]) -> None:
    # a file that was only moved has every piece at its old offset
    at_place = {i for i, piece in pieces.items() if files.is_at(place, piece)} if len(pieces) < _FEW else set[int]()
    offsets = (
        files.search(place, [piece for i, piece in pieces.items() if i not in at_place])
        if len(at_place) < len(pieces)
        else {}
    )
    for index, piece in pieces.items():
        if index in at_place:
            found[index] = Checked(piece, "moved", name_to_json(place), piece.offset)
        elif piece.sha256 in offsets:
            found[index] = Checked(piece, "moved", name_to_json(place), offsets[piece.sha256])


def _checked_row(evidence: Evidence, folders: Sequence[Path], rows: RowReader) -> Checked:
    path = Path(name_from_json(evidence.path))
    other: Path | None = None
    for place in dict.fromkeys([path, *(f for f in folders if f.name == path.name), *named(path.name, folders)]):
        if not place.is_file():
            continue
        try:
            data = rows.read(place, evidence.record)
        except StaleRowsError:
            raise
        except OSError:
            data = b""  # something is there, and it says nothing that could be compared
        if data is None:
            continue
        if hashlib.sha256(data[evidence.offset : evidence.offset + evidence.length]).hexdigest() == evidence.sha256:
            return Checked(evidence, "ok" if place == path else "moved", name_to_json(place), evidence.offset)
        other = other or place
    if other is not None:
        return Checked(evidence, "changed", name_to_json(other), -1)
    return Checked(evidence, "lost", evidence.path, -1)


# Where the bytes of evidence lie now: at their place, elsewhere in their file, or in another file.
#
# Every file is read at most twice, however many pieces are looked for: once at the recorded places, once from beginning
# to end for all pieces that were not there. A record is one line, or one of several objects that stand on one line.

_BLANK = b" \t\r\n\0"
_TRANSCRIPTS = (".jsonl", f".jsonl{PACKED}")

Found = dict[str, tuple[Path, int]]


def _search_line(line: bytes, offset: int, wanted: dict[int, set[str]], found: dict[str, int]) -> None:
    raw = line.strip(_BLANK)
    begin = offset + len(line) - len(line.lstrip(_BLANK))
    hashes = wanted.get(len(raw))
    if hashes and (digest := hashlib.sha256(raw).hexdigest()) in hashes:
        found.setdefault(digest, begin)
    start = 0
    # two objects on one line: each of them may be a record
    while start >= 0 and b"}{" in raw:
        for length, those in wanted.items():
            end = start + length
            if raw[end - 1 : end] == b"}" and end <= len(raw):
                digest = hashlib.sha256(raw[start:end]).hexdigest()
                if digest in those:
                    found.setdefault(digest, begin + start)
        start = raw.find(b"}{", start) + 1 or -1


def places(path: Path, folders: Sequence[Path], packs: PackedPlaces) -> Iterator[Path]:
    """Yield the file itself, then where else its client may have put it, then files of its name in the folders.

    What was archived comes before files that have no more than its name.
    """
    yield path
    if path.name.endswith(_TRANSCRIPTS):
        yield sibling(path)
        if (thread := thread_in_name(path)) and (rollout := find_rollout(path, thread)) is not None:
            yield rollout
        yield from packs.named(path)
        yield from packs.named(sibling(path))
        yield from named(sibling(path).name, folders)
    yield from named(path.name, folders)


def named(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the files of a name below the folders."""
    for folder in folders:
        if folder.is_dir():
            yield from sorted(folder.rglob(_literal(name)))


def all_transcripts(folders: Sequence[Path], packs: PackedPlaces) -> Iterator[Path]:
    """Yield every transcript below the folders once: a session may have been renamed, forked in parts or copied."""
    yield from (place for place in packs.every() if place.name.endswith(_TRANSCRIPTS))
    seen: set[Path] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*.jsonl*")) if folder.is_dir() else ():
            if path.name.endswith(_TRANSCRIPTS) and path not in seen and path.is_file():
                seen.add(path)
                yield path


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


# The words of the transcript that evidence points at, as they stand there now, for a person who asks why.

# what is shown around the words that matter
_AROUND = 240
_LEAST_ALIKE = 50.0
# how far before a record its agent's last words are looked for
_BEFORE = 1 << 18


class Source(msgspec.Struct, frozen=True):
    """Where a fact was said, for a person."""

    quote: str  # the words that matter
    # what was said around them, as it stands there now, or what became of the commands there; "" when it is gone
    around: str
    before: str  # the end of what the agent had said right before, which an answer is about; "" where nobody can tell
    path: str  # the transcript
    finding: str  # ok, moved, changed or lost


def sources_of(
    evidence: Sequence[Evidence], transcripts: Sequence[Path], most: int, redact: Callable[[str], str]
) -> list[Source]:
    """Return where a fact was said, the latest first, each place with what stands around it.

    ``evidence``: what was recorded. ``transcripts``: where files that were moved are looked for. ``most``: how many
    places are told. ``redact``: takes out secrets, and what was erased. Raises UnreadableError: a database changes all
    the time while it is read.
    """
    latest = {(piece.path, piece.quote): piece for piece in evidence}
    became: dict[tuple[str, str], dict[str, None]] = {}
    for piece in evidence:
        if piece.shows:
            became.setdefault((piece.path, piece.quote), {})[piece.shows] = None
    chosen = list(reversed(latest.values()))[: most * 2]
    found: dict[tuple[str, str, str], Source] = {}
    for checked in check_all(chosen, transcripts) if chosen else ():
        around, before = said_at(checked, redact), said_before(checked, redact)
        piece = checked.evidence
        shown = became.get((piece.path, piece.quote))
        if shown and checked.finding in {"ok", "moved"}:
            around, before = redact("; then ".join(shown)), ""
        source = Source(redact(piece.quote), around, before, printable(checked.path), checked.finding)
        # copies and forks of a session say the same again; commands that became of the same are runs of their own
        found.setdefault((source.quote, around, source.path if shown else ""), source)
    return list(found.values())[:most]


def first_line(piece: Evidence, transcripts: Sequence[Path], redact: Callable[[str], str]) -> str:
    """Return the first line of the text that a piece of evidence stands in, without secrets; "" when it is gone."""
    (checked,) = check_all([piece], transcripts)
    if checked.finding not in {"ok", "moved"}:
        return ""
    texts = list(_texts(_decoded(_bytes_of(checked))))
    best, _ = _most_alike(texts, " ".join(piece.quote.split()))
    return next(filter(None, (line.strip() for line in _without_secrets(best, redact).splitlines())), "")


def _most_alike(texts: Sequence[str], quote: str) -> tuple[str, float]:
    """Return the text in which a quote stands, and how surely it does; the first one where there is no quote."""
    from rapidfuzz import fuzz  # noqa: PLC0415 - the commands that only list things need it not

    def likeness(text: str) -> float:
        # a word of the quote is no place where all of it stands
        return fuzz.partial_ratio(quote, text[:20_000]) * min(1.0, len(text) / len(quote))

    if not quote or not texts:
        return next(iter(texts), ""), _LEAST_ALIKE
    if whole := [text for text in texts if quote in text]:
        return min(whole, key=len), 100.0
    best = max(texts, key=lambda text: (likeness(text), -len(text)))
    return best, likeness(best)


def said_at(checked: Checked, redact: Callable[[str], str], commands: Sequence[str] = ()) -> str:
    """Return what was said where evidence was found, cut around its quote, without secrets; "" when it is gone.

    ``checked``: the evidence. ``redact``: takes out secrets, and what was erased. ``commands``: where the quote stands
    in another record, one of these is shown if this one has it: the call of which the quote is the answer.
    """
    if checked.finding not in {"ok", "moved"}:
        return ""
    texts = list(_texts(_decoded(_bytes_of(checked))))
    quote = " ".join(checked.evidence.quote.split())
    if not texts:
        return ""
    best, likeness = _most_alike(texts, quote)
    if quote and likeness < _LEAST_ALIKE:
        calls = [text for text in texts if any(command in text for command in commands)]
        return _around(_without_secrets(min(calls, key=len), redact), "") if calls else ""
    # secrets are looked for in the whole text: a cut one would not be known as one
    return _around(_without_secrets(best, redact), quote)


# where records of clients keep what a command or another tool gave back
_GIVEN_BACK = frozenset({"content", "output", "stdout", "stderr", "text", "aggregated_output", "result"})


def given_back_at(checked: Checked, redact: Callable[[str], str]) -> str:
    """Return the last line of what a tool gave back where evidence was found, without secrets; "" where it is none."""
    if checked.finding not in {"ok", "moved"}:
        return ""
    texts = [text for text in _given_back(_decoded(_bytes_of(checked))) if text.strip()]
    lines = _without_secrets(max(texts, key=len), redact).strip().splitlines() if texts else []
    return lines[-1].strip()[:_AROUND] if lines else ""


def _given_back(value: Any, *, is_inside: bool = False) -> Iterator[str]:
    if isinstance(value, str) and is_inside:
        # Codex gives some of it in JSON of its own
        told = _decoded(value.encode("utf-8", "replace")) if value.startswith('{"output"') else value
        yield str(cast("dict[str, Any]", told)["output"]) if isinstance(told, dict) else value
    elif isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            yield from _given_back(item, is_inside=name in _GIVEN_BACK)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _given_back(item, is_inside=is_inside)


def said_before(checked: Checked, redact: Callable[[str], str]) -> str:
    """Return the end of the agent's last words in the lines before evidence, without secrets."""
    if checked.finding not in {"ok", "moved"} or checked.is_archived or names_row(checked.evidence.record):
        return ""
    try:
        with Path(name_from_json(checked.path)).open("rb") as file:
            start = max(checked.offset - _BEFORE, 0)
            file.seek(start)
            lines = file.read(checked.offset - start).split(b"\n")
    except OSError:
        return ""
    for raw in reversed(lines[1 if start else 0 :]):
        record = _decoded(raw) if b"assistant" in raw else None
        message = next((m for m in _messages(record) if m.get("role") == "assistant"), None)
        if message and (words := " ".join(_without_secrets(_spoken(message.get("content")), redact).split())):
            return words if len(words) <= _AROUND else f"…{words[-_AROUND:]}"
    return ""


def _without_secrets(text: str, redact: Callable[[str], str]) -> str:
    """Return a whole text as whoever read the session saw it: as one, and each answer or value in it by itself.

    A client tells an answer in a sentence or in JSON of its own, whose signs around it would hide a secret in it.
    """
    text = visible(text)
    value = _decoded(text.encode("utf-8", "replace")) if text.lstrip()[:1] in ("{", "[") else text
    if not isinstance(value, str):
        return redact(orjson.dumps(_each(value, redact)).decode())
    for words in {words for told in written(text) for words in told if words}:
        text = text.replace(words, redact(words))
    return redact(text)


def _each(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a value of JSON with each text in it redacted by itself."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {name: _each(item, redact) for name, item in cast("dict[str, Any]", value).items()}
    return [_each(item, redact) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _messages(record: Any) -> Iterator[dict[str, Any]]:
    """Yield what of a record may be a message: itself, or what clients wrap one in."""
    if isinstance(record, dict):
        found = cast("dict[str, Any]", record)
        yield found
        for name in ("message", "payload"):
            if isinstance(found.get(name), dict):
                yield found[name]


def _spoken(content: Any) -> str:
    """Return the text of a message's content, without thoughts, calls and results."""
    if isinstance(content, str):
        return content
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    texts = [cast("dict[str, Any]", b) for b in blocks if isinstance(b, dict)]
    return "\n".join(str(b["text"]) for b in texts if str(b.get("type")).endswith("text") and b.get("text"))


def _bytes_of(checked: Checked) -> bytes:
    path, piece = Path(name_from_json(checked.path)), checked.evidence
    try:
        if names_row(piece.record):
            with RowReader() as rows:
                return (rows.read(path, piece.record) or b"")[piece.offset : piece.offset + piece.length]
        folders = [pack_of(path).parent] if checked.is_archived else []
        with PlainFiles(folders) as files:
            file = files.open(path, most=checked.offset + piece.length)
            file.seek(checked.offset)
            return file.read(piece.length)
    except (OSError, UnreadableError):
        return b""  # it was there a moment ago, and its client goes on writing


def _decoded(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return raw.decode("utf-8", "replace")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item)


def _around(text: str, quote: str) -> str:
    """Return the part of a text around a quote."""
    from rapidfuzz import fuzz  # noqa: PLC0415 - as above

    at = fuzz.partial_ratio_alignment(quote, text) if quote else None
    begin, end = (at.dest_start, at.dest_end) if at else (0, len(quote))
    start, stop = max(begin - _AROUND, 0), end + _AROUND
    return ("…" if start else "") + text[start:stop].strip() + ("…" if stop < len(text) else "")


# Whether every memory proves itself: its evidence re-reads to the same bytes.


@dataclass(frozen=True, slots=True)
class Verified:
    """One memory with what became of its evidence."""

    memory: Memory
    evidence: tuple[Checked, ...]

    @property
    def is_proven(self) -> bool:
        """Whether every piece of its evidence was found."""
        return all(c.finding in {"ok", "moved"} for c in self.evidence)


def verify(memories: Iterable[Memory], folders: Sequence[Path]) -> list[Verified]:
    """Read the evidence of memories again; ``folders`` are where files that were moved are looked for.

    Raises UnreadableError: a database changes all the time while it is read.
    """
    every = list(memories)
    checked = iter(check_all([e for m in every for e in m.evidence], folders))
    return [Verified(m, tuple(islice(checked, len(m.evidence)))) for m in every]


def totals(verified: Iterable[Verified]) -> dict[str, int]:
    """Return the numbers of pieces of evidence by finding, of those moved that are archived, and of memories."""
    every = list(verified)
    findings: tuple[Finding, ...] = ("ok", "moved", "changed", "lost")
    checked = [c.finding for v in every for c in v.evidence]
    return {
        "checked": len(checked),
        **{finding: checked.count(finding) for finding in findings},
        "archived": sum(c.is_archived for v in every for c in v.evidence if c.finding == "moved"),
        "memories": len(every),
        "unproven": sum(not v.is_proven for v in every),
    }
