"""Orient: which lines of the memory files are ours, which are people's, and what people did to ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rapidfuzz import fuzz

from slowwave.consolidation.adopted import adoptions
from slowwave.consolidation.model import State
from slowwave.memory.authors import Authors
from slowwave.memory.book import Book, Memory, Phrase
from slowwave.memory.folder import read_texts
from slowwave.memory.foreign import foreign_lines, known_numbers
from slowwave.memory.ledger import Writer, line_hash
from slowwave.memory.topics import INDEX
from slowwave.memory.waiting import MOST_REMOVED, USUAL_LOSS

# A line that a person left at least this like ours (Indel ratio, 0 to 100) is taken for a rewording of it.
REWORDED = 60.0


def orient(
    files: Mapping[str, bytes],
    book: Book,
    writers: Mapping[str, Writer] | None = None,
    authors: Authors | None = None,
    *,
    since: str = "",
    max_loss: float = USUAL_LOSS,
) -> State:
    """Return who wrote which line, and what became of each active memory's line.

    A line is slowwave's only if the ledger holds the hash of exactly that line. Without it every line is foreign.

    Args:
        files: the Markdown files of the folder.
        book: what its ledger adds up to.
        writers: who wrote foreign lines, as far as that is known.
        authors: tells which lines agents wrote, which become entries; without it none does.
        since: when the last dream began, ISO.
        max_loss: the share of our lines that a person may take out of the index at once.
    """
    adopted = adoptions(files, book, authors) if authors else []
    book = book.after(adopted)
    new = [book.memories[event.memory] for event in adopted]
    owned = {name: known_numbers(name, data, book) for name, data in files.items()}
    foreign = foreign_lines(files, book)
    texts: dict[str, list[str]] = {}
    for line in foreign:
        texts.setdefault(line.file, []).append(line.text)
    from_tools = {line.text for line in foreign if (writers or {}).get(line.key) == "tool"}
    standing: list[Memory] = []
    edited: list[tuple[Memory, str]] = []
    removed: list[Memory] = []
    unshown: list[Memory] = []
    back: set[str] = set()
    rewritten: list[tuple[Memory, str]] = []
    spoken_for: dict[tuple[str, str], Phrase | None] = {}
    on_pages = {name: set(numbers.values()) for name, numbers in owned.items()}
    there = set(owned.get(INDEX, {}).values())
    shown = {e.ref for e in book.index if e.sha256 in there or INDEX not in files}
    for memory in book.active:
        lines = {memory.sha256, line_hash(book.line_of(memory))} if memory.id in book.phrases else {memory.sha256}
        if memory.id in shown or lines & on_pages.get(memory.file, set()):
            standing.append(memory)
            continue
        wording = _rewording(memory, book.phrases.get(memory.id), texts.get(memory.place, ()), spoken_for)
        anew = "" if wording else _anew(memory, new)
        if anew and not memory.is_from_person:
            rewritten.append((memory, anew))
        elif wording in from_tools or anew:
            # who planted it does not end what a person said: the line comes back beside it
            standing.append(memory)
            back.add(memory.id)
        elif wording:
            spoken_for[memory.place, wording] = book.phrases.get(memory.id)
            edited.append((memory, wording))
        else:
            (unshown if memory.indexed else removed).append(memory)
    by_agent = authors is not None and authors.writes.latest.get(INDEX, "") > since
    is_accident = not by_agent and len(unshown) > max(MOST_REMOVED, max_loss * len(book.active))
    if by_agent or is_accident:
        ranks = {name: number for number, name in enumerate(book.memories)}
        standing = sorted([*standing, *unshown], key=lambda m: ranks[m.id])
    else:
        removed += unshown
    back |= {m.id for m in unshown} if is_accident else set[str]()
    return State(
        book=book,
        files=files,
        standing=tuple(standing),
        edited=tuple(edited),
        removed=tuple(removed),
        unindexed=_unindexed(files, book, owned.get(INDEX, {}), {m.id for m in standing} - back),
        foreign=tuple(foreign),
        writers=dict(writers or {}),
        rewritten=tuple(rewritten),
        adopted=tuple(adopted),
        given_back=len(unshown) if is_accident else 0,
    )


def changed_by_hand(memory: Path, book: Book, max_loss: float = USUAL_LOSS) -> dict[str, str]:
    """Return, by memory, what somebody did to its line since the last dream, which the next one takes note of.

    Raises:
        UnreadableError: a file cannot be read.
    """
    state = orient(read_texts(memory), book, max_loss=max_loss)
    found = {m.id: f"its line was taken out of {m.place}; the next night ends it" for m in state.removed}
    return found | {m.id: f"its line in {m.place} was reworded; the next night takes note" for m, _ in state.edited}


def _anew(memory: Memory, new: Sequence[Memory]) -> str:
    """Return the line of an agent that a line became: other words in its file, or the same words in another."""
    alike = [
        (fuzz.ratio(memory.text, one.text), one.id)
        for one in new
        if one.file == memory.place or one.text == memory.text
    ]
    score, found = max(alike, default=(0.0, ""))
    return found if score >= REWORDED else ""


def _rewording(
    memory: Memory,
    phrase: Phrase | None,
    lines: Sequence[str],
    spoken_for: Mapping[tuple[str, str], Phrase | None],
) -> str:
    """Return the person's line that our line became, or ""."""
    best, score = "", REWORDED
    said = phrase.text if phrase else memory.text
    for text in lines:
        likeness = fuzz.ratio(said, text, score_cutoff=score)
        place = memory.place, text
        is_free = place not in spoken_for or (phrase is not None and spoken_for[place] == phrase)
        if likeness >= score and is_free:
            best, score = text, likeness
    return best


def _unindexed(files: Mapping[str, bytes], book: Book, owned: Mapping[int, str], standing: set[str]) -> tuple[str, ...]:
    """Return what a person took out of the index; an index that is gone as a whole is simply made again."""
    if INDEX not in files:
        return ()
    there = set(owned.values())
    return tuple(
        entry.ref
        for entry in book.index
        if entry.sha256 not in there
        and entry.ref not in book.unindexed
        and (entry.ref not in book.memories or entry.ref in standing)
    )
