"""One project's memory as a section of a file that agents read and people write: ``AGENTS.md``, ``CLAUDE.md``.

The section stands between two markers. Everything outside of them is other people's and keeps its bytes.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from slowwave.errors import RefusedError
from slowwave.memory.book import Memory
from slowwave.memory.standing import Standing
from slowwave.memory.topics import TOPICS, memory_line

BEGIN = "<!-- slowwave memory: begin -->"
END = "<!-- slowwave memory: end -->"
_TITLE = "## What earlier sessions taught"
_NOTE = "Written by slowwave from transcripts; what is changed between the markers is lost with the next export."


def section_of(memories: Iterable[Memory], standing: Standing, warned: Mapping[str, str] | None = None) -> list[str]:
    """Return the lines of the section, markers included: by category, in each what counts most first.

    Args:
        memories: what stands in it.
        standing: what each is worth today.
        warned: what has to be said beside a memory, by its id.
    """
    warned = warned or {}
    every = sorted(memories, key=lambda m: (-standing.worth(m), m.text, m.id))
    lines = [BEGIN, _TITLE, "", _NOTE]
    for category, topic in TOPICS.items():
        texts = [_line(m, warned.get(m.id, "")) for m in every if m.category == category]
        if texts:
            lines += ["", f"### {topic.title}", "", *dict.fromkeys(texts)]
    return [*lines, *([] if every else ["", "Nothing is remembered yet."]), END]


def with_section(data: bytes, lines: Sequence[str], path: Path) -> bytes:
    """Return a file with the section in it: in place of the one it has, else at its end.

    Args:
        data: the file as it is, any bytes.
        lines: the section, markers included.
        path: named in errors.

    Raises:
        RefusedError: the markers do not stand there in pairs, so it is unclear what is ours.
    """
    begin, end = BEGIN.encode(), END.encode()
    numbers = data.count(begin), data.count(end)
    start, stop = data.find(begin), data.find(end)
    if numbers not in {(0, 0), (1, 1)} or stop < start:
        raise RefusedError(
            f"{path}: has {numbers[0]} begin and {numbers[1]} end markers of slowwave; put one pair right"
        )
    # a section keeps the line ends that it has; a new one takes those of the file
    newline = b"\r\n" if b"\r\n" in (data[start:stop] if start >= 0 else data) else b"\n"
    block = newline.join(line.encode() for line in lines)
    if start >= 0:
        return data[:start] + block + data[stop + len(end) :]
    gap = b"" if not data else newline if data.endswith(b"\n") else newline * 2
    return data + gap + block + newline


def _line(memory: Memory, warning: str) -> str:
    return memory_line(_harmless(f"{memory.text} ({warning})" if warning else memory.text))


def _harmless(text: str) -> str:
    """Return a text in which no marker and no comment begins or ends."""
    return text.replace("<!--", "<!\u200b--").replace("-->", "--\u200b>")
