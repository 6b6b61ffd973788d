"""What lies beside the checkout: labelled sessions, real transcripts, dialogues. None of it is part of the project."""

from functools import cache
from pathlib import Path

SHARED = Path(__file__).parents[2].parent / "shared"
GOLD = SHARED / "gold"
CORPUS = SHARED / "corpus"
LOCOMO = SHARED / "locomo" / "locomo10.json"


def missing(*paths: Path) -> str:
    """Return why a section cannot run, or ""."""
    absent = [path for path in paths if not path.exists()]
    return f"{', '.join(path.name for path in absent)} does not lie beside the checkout" if absent else ""


@cache
def corpus_sessions() -> tuple[Path, ...]:
    """Return every file of a real client that a dialect knows, in a fixed order."""
    from slowwave.formats.registry import sniff  # noqa: PLC0415 - only where there is a corpus

    return tuple(
        path
        for folder in ("claude-code", "codex", "pi", "openclaw", "opencode")
        for path in sorted((CORPUS / folder).rglob("*.json*"))
        if path.is_file() and sniff(path) is not None
    )
