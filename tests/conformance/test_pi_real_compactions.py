"""Compactions that pi and Clawdbot made themselves: slowwave counts the same tokens and cuts at the same entry.

``compaction.test.ts`` has sessions of pi's authors as fixtures, among them a large one; public copies of them stand
beside the checkout.
"""

from pathlib import Path

import pytest

from slowwave.compaction.items import Item, context_tokens, pi_items
from slowwave.compaction.plan import KEEP_RECENT_TOKENS, Budget, Plan, find_cut, prepare
from slowwave.formats import SessionFiles
from slowwave.formats.pi.dialect import PI
from slowwave.formats.pi.records import Entry, Loaded, path_of

SHARED = Path(__file__).parents[2].parent / "shared"
# one file is test data of another program, with numbers that nobody counted
FILES = [p for p in sorted(SHARED.glob("corpus/pi/*/*.jsonl")) if "agentsview" not in p.parent.name]
CASES = sorted(
    p
    for pattern in ("pi/*/home/**/*.jsonl", "clawdbot/*/home/**/sessions/*.jsonl")
    for p in SHARED.glob(f"clients/corpus/{pattern}")
)

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not FILES or not CASES, reason="the real sessions are not beside this checkout"),
]


def compactions(path: Path) -> list[tuple[Entry, list[Item]]]:
    """Return each compaction of a file with the items of the context that it was made of."""
    loaded = PI.read(SessionFiles(path.stem, (path,))).loaded
    found: list[tuple[Entry, list[Item]]] = []
    for at, entry in enumerate(loaded.entries):
        if entry.type == "compaction":
            before = Loaded(loaded.entries[:at], loaded.version, loaded.kept)
            found.append((entry, pi_items(path_of(before.entries), before)))
    return found


def kept_by(case: Path) -> int:
    """Return how many tokens the client of a case was set to keep: 500 in one case, as its commands say, else 2000."""
    return 500 if "06-compact-llm" in case.parts else 2000


def test_counts_the_tokens_before_a_compaction_as_pi_counted_them() -> None:
    found = [c for path in [*FILES, *CASES] for c in compactions(path)]
    assert len(found) >= 9
    theirs = [entry.fields()["tokensBefore"] for entry, _ in found]
    assert [context_tokens(items).total for _, items in found] == theirs


def test_cuts_where_the_client_cut() -> None:
    found = [(c, path) for path in CASES for c in compactions(path)]
    assert len(found) >= 2
    for (entry, items), path in found:
        plan = prepare(items, Budget(keep_recent_tokens=kept_by(path)))
        assert isinstance(plan, Plan), path
        assert plan.first_kept == entry.fields()["firstKeptEntryId"], path


def test_finds_a_cut_point_in_the_large_sessions_of_pis_authors() -> None:
    large = [p for p in FILES if p.stat().st_size > 1 << 19]
    assert large
    for path in large:
        transcript = PI.read(SessionFiles(path.stem, (path,)))
        items = pi_items(transcript.path, transcript.loaded)
        cut = find_cut(items, KEEP_RECENT_TOKENS)
        assert len(items) > 100, path
        assert items[cut.first_kept].kind in ("user", "assistant"), path
        kept = sum(item.tokens for item in items[cut.first_kept :])
        assert kept < KEEP_RECENT_TOKENS * 2, path
