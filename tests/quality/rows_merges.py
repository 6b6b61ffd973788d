"""Duplicates and wrong merges: what consolidation does with pairs that look alike or mean the same."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence

from slowwave.consolidation.decisions import consolidate
from slowwave.consolidation.model import Gathered, State
from slowwave.consolidation.slots import decision_key, key_of
from slowwave.memory import Candidate, Category, Evidence, SessionRef, candidate_id
from slowwave.memory.book import Book
from tests.quality.intervals import counted
from tests.quality.likeness_baselines import Likeness, best, jaccard, tf_idf, token_set, without_wrong
from tests.quality.paraphrases import paraphrases
from tests.quality.table import Must, Section, Table
from tests.quality.twins import Pair, twins

NOBODY = State(Book(), {}, (), (), (), (), ())
_UNSEEN_TWINS, _UNSEEN_SAME = "twins_held_back.txt", "paraphrases_held_back.txt"
HEADER = ("", "pairs", "share", "95 %", "superseded")


def measure(*, errors: bool = False) -> Section:
    """Measure what is merged and what is not."""
    apart, same = list(dict.fromkeys(twins())), list(dict.fromkeys(paraphrases()))
    unseen, unseen_same = list(dict.fromkeys(twins(_UNSEEN_TWINS))), list(dict.fromkeys(paraphrases(_UNSEEN_SAME)))
    done = {pair: outcome(pair) for pair in (*apart, *same, *unseen, *unseen_same)}
    wrong = sum(done[pair] == "merged" for pair in (*apart, *unseen))
    section = Section(
        [
            Table(f"Wrong merges: {len(apart)} pairs of twins", HEADER, _rows(apart, done, "merged")),
            Table(f"Wrong merges: {len(unseen)} pairs held back", HEADER, _rows(unseen, done, "merged")),
            Table(f"Duplicates left: {len(same)} pairs that mean the same", HEADER, _rows(same, done, "apart")),
            Table(f"Duplicates left: {len(unseen_same)} pairs held back", HEADER, _rows(unseen_same, done, "apart")),
            _baselines(apart, same, done),
        ],
        [Must("wrong merges", wrong, 0, at_least=False)],
        [_lost([*apart, *unseen], done), "held back: written before the rules that put sentences in order"],
    )
    if errors:
        section.notes += _listed(apart, same, done)
    return section


def outcome(pair: Pair) -> str:
    """Return what a dream does with two statements of two sessions: merged, superseded or apart."""
    candidates = tuple(said(text, pair.category, f"s{n}", n) for n, text in enumerate((pair.one, pair.other)))
    operations = consolidate(NOBODY, Gathered(candidates), accept_confidence=0.0)
    if any(len(operation.candidates) > 1 for operation in operations):
        return "merged"
    return "superseded" if any(o.action == "SUPERSEDE" for o in operations) else "apart"


def said(text: str, category: Category, session: str, day: int, hour: int = 9) -> Candidate:
    """Return what a person said on a day of November as the candidate that extraction makes of it."""
    bare = text.removesuffix(".")
    key, value = decision_key(bare) if category == "decision" else ("", "")
    if not key:
        key, value = key_of(bare)
    at = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T{hour:02}:00:00Z"
    ref = SessionRef("claude", session, f"/{session}.jsonl")
    proof = (
        Evidence(
            ref.path, f"{session}-{day}-{hour}", 0, 1, hashlib.sha256(f"{session}{at}".encode()).hexdigest(), bare
        ),
    )
    own = candidate_id(ref, category, bare, proof)
    return Candidate(own, category, bare, 0.9, "user_explicit", "test/1", ref, proof, at, key, value)


def _rows(pairs: Iterable[Pair], done: dict[Pair, str], bad: str) -> list[tuple[str, ...]]:
    kinds: dict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        kinds[pair.kind].append(done[pair])
        kinds["all"].append(done[pair])
    return [
        (kind, *counted(of_kind.count(bad), len(of_kind)), str(of_kind.count("superseded")))
        for kind, of_kind in sorted(kinds.items())
    ]


def _baselines(apart: Sequence[Pair], same: Sequence[Pair], done: dict[Pair, str]) -> Table:
    texts = [text for pair in (*apart, *same) for text in (pair.one, pair.other)]
    measures: dict[str, Likeness] = {
        "rapidfuzz token_set_ratio": token_set, "Jaccard of words": jaccard, "TF-IDF cosine": tf_idf(texts)
    }  # fmt: skip
    wrong = sum(done[pair] == "merged" for pair in apart)
    left = sum(done[pair] == "apart" for pair in same)
    rows = [("slowwave", "-", f"{wrong}/{len(apart)}", f"{left}/{len(same)}")]
    for name, likeness in measures.items():
        for what, at in (
            ("best", best(likeness, apart, same)), ("no wrong merge", without_wrong(likeness, apart, same))
        ):  # fmt: skip
            rows.append(
                (
                    f"baseline: {name}, {what}",
                    f"{at.threshold:.2f}",
                    f"{at.wrong}/{len(apart)}",
                    f"{at.left}/{len(same)}",
                )
            )
    return Table("Beside measures of likeness", ("", "threshold", "wrong merges", "left"), rows)


def _lost(apart: Sequence[Pair], done: dict[Pair, str]) -> str:
    both = [pair for pair in apart if pair.both_hold]
    lost = sum(done[pair] == "superseded" for pair in both)
    return f"of {len(both)} twins that can both be true, {lost} superseded one another (no merge, but one is retired)"


def _listed(apart: Sequence[Pair], same: Sequence[Pair], done: dict[Pair, str]) -> list[str]:
    lines = [f"  wrongly merged  [{p.kind}] {p.one} | {p.other}" for p in apart if done[p] == "merged"]
    lines += [
        f"  one retired     [{p.kind}] {p.one} | {p.other}" for p in apart if p.both_hold and done[p] == "superseded"
    ]
    return lines + [f"  {done[p]:<15} [{p.kind}] {p.one} | {p.other}" for p in same if done[p] != "merged"]
