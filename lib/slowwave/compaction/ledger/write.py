"""A ledger as the text of a summary: the seeds' sections, the lists of files; what there is no room for is told."""

from collections.abc import Iterable, Sequence

from slowwave.compaction.exchanges import Redact
from slowwave.compaction.file_lists import FileOperations, without_tags
from slowwave.compaction.ledger.earlier import NONE, SEPARATOR, lines_by_part
from slowwave.compaction.ledger.identifiers import NAMED
from slowwave.compaction.ledger.model import HEADINGS, NOT_LISTED, NOTE, PROGRESS, Entry, Ledger, Part, Rendering
from slowwave.compaction.ledger.wording import key_of
from slowwave.secrets.redactor import NAMELESS

_BULLETS: dict[Part, str] = {"done": "- [x] ", "in_progress": "- [ ] "}
# of the room: no more than this for files that were only read, and at least this for the ledger beside a narrative
_READ_SHARE = 0.4
_LEDGER_SHARE = 0.5
_LEAST_KEY = 20


def rendered(ledger: Ledger, narrative: str = "", *, redact: Redact = NAMELESS) -> str:
    """Return a ledger as text, with the narrative of a model before its lines in every section."""
    return render(ledger, narrative, redact=redact).text


def render(ledger: Ledger, narrative: str = "", *, redact: Redact = NAMELESS) -> Rendering:
    """Return a ledger as text, and what there was no room for.

    Args:
        ledger: what is to be told.
        narrative: a summary by a model, in the seeds' sections or in any other form; its lists of files are not
            believed. It is never cut.
        redact: takes secrets out of all of it once more.
    """
    told = lines_by_part(without_tags(narrative)) if narrative.strip() else {}
    taken = sum(len(line.encode("utf-8", "surrogatepass")) + 3 for lines in told.values() for line in lines)
    most = max(ledger.settings.most_bytes - taken, int(ledger.settings.most_bytes * _LEDGER_SHARE))
    files, left_out = _files(ledger.files, int(most * _READ_SHARE))
    words = key_of_all(told)
    new = [entry for entry in ledger.entries if entry.stays or not _is_told(entry, words)]
    fixed = len(_text([], told, files, len(left_out)).encode("utf-8", "surrogatepass")) - taken + len(f"- {NAMED}\n")
    chosen = _chosen(new, most - fixed)
    kept = [entry for at, entry in enumerate(new) if at in chosen]
    dropped = tuple(entry for at, entry in enumerate(new) if at not in chosen)
    return Rendering(redact(_text(kept, told, files, len(left_out))), dropped, left_out)


def key_of_all(told: dict[Part, list[str]]) -> str:
    """Return all words of a narrative, to look a line up in."""
    return f" {' '.join(key_of(line, whole=True) for lines in told.values() for line in lines)} "


def _is_told(entry: Entry, words: str) -> bool:
    return len(entry.key) >= _LEAST_KEY and f" {entry.key} " in words


def _files(files: FileOperations, most: int) -> tuple[FileOperations, tuple[str, ...]]:
    """Return the lists that are written; changed files all, those only read as far as there is room."""
    room, kept, left_out = most, set[str](), list[str]()
    for path in files.read_files:
        room -= len(path.encode("utf-8", "surrogatepass")) + 1
        (kept.add if room >= 0 else left_out.append)(path)
    return FileOperations(frozenset(kept), files.modified), tuple(left_out)


def _chosen(entries: Sequence[Entry], room: int) -> set[int]:
    """Return which lines there is room for: those that stay, then the most worthy, the newer of two equals first."""
    order = sorted(range(len(entries)), key=lambda at: (not entries[at].stays, -entries[at].value, -at))
    chosen: set[int] = set()
    for at in order:
        size = _size(entries[at])
        if entries[at].stays or size <= room:
            room -= size
            chosen.add(at)
    return chosen


def _size(entry: Entry) -> int:
    # names stand in one line
    return entry.size - (len("- [ ] \n") - len(SEPARATOR.encode())) if entry.kind == "identifier" else entry.size


def _text(kept: Sequence[Entry], told: dict[Part, list[str]], files: FileOperations, left_out: int = 0) -> str:
    blocks: list[str] = []
    for part, heading in HEADINGS:
        lines = [*told.get(part, []), *_lines(part, [entry for entry in kept if entry.part == part], left_out)]
        if part == "done":
            blocks.append(PROGRESS)
        blocks.append("\n".join((heading, *_numbered(part, lines))))
    return "\n\n".join(blocks) + files.tags()


def _lines(part: Part, entries: Iterable[Entry], left_out: int) -> list[str]:
    entries = list(entries)
    lines = [entry.text for entry in entries if entry.kind != "identifier"]
    if part != "context":
        return lines
    if names := [entry.text for entry in entries if entry.kind == "identifier"]:
        lines.append(NAMED + SEPARATOR.join(names))
    if left_out:
        lines.append(f"{left_out} {NOT_LISTED}")
    return [*dict.fromkeys((*lines, NOTE))]


def _numbered(part: Part, lines: Sequence[str]) -> list[str]:
    if not lines:
        return [f"- {NONE}"]
    if part == "next":
        return [f"{number}. {line}" for number, line in enumerate(lines, 1)]
    return [f"{_BULLETS.get(part, '- ')}{line}" for line in lines]
