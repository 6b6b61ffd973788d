"""Junk: what is extracted from all real sessions and is worth no line, told by signs that anybody can check."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowwave.formats import SessionFiles, Text
from slowwave.formats.registry import by_name, detect
from tests.quality.beside import CORPUS, corpus_sessions, missing
from tests.quality.cue_rules import cues_in
from tests.quality.gold_found import is_sure
from tests.quality.intervals import counted
from tests.quality.reading import extracted
from tests.quality.table import Section, Table

_CODE = re.compile(r"`[^`]*`")
_WORD = re.compile(r"[^\W\d_]{2,}")
_PASTED = re.compile(r"^\s*(?:[>|+$#]|at |Traceback|\d+[:\t→]|@@)|\|.*\||\d\d:\d\d:\d\d|={4,}|<[a-z-]+>|\\n")
_ONE_OFF = re.compile(
    r"\b(?:this|that|these|those) (?:pr|commit|branch|test|file|line|error|bug|issue|one|change|time|comment)s?\b"
    r"|\b(?:right now|for now|go ahead|continue|try again|let me know|as above|see below|the above)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"^(?:it|this|that|these|those|they|them|yes|no|ok|okay|sure)\b", re.IGNORECASE)
_HANGING = re.compile(r"(?:\b(?:and|or|the|a|an|of|to|with|for|because|but|if|when|which)|[,:(])$", re.IGNORECASE)
SHORT, LONG = 15, 280
VERDICTS = Path(__file__).with_name("kept_verdicts.jsonl")
_VERDICTS = ("useful", "worthless", "wrong", "unclear", "duplicate")
_SOURCES = ("choice", "said", "refusal", "gate", "cure", "repeated")
# what a strong reader proposed in the place of a model, which another one judged
_MODEL = "model"
_LEAST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Said:
    """A text that a system would keep, and the session that it is from."""

    session: str
    text: str


def measure(*, errors: bool = False) -> Section:
    """Measure how much of what is kept is junk."""
    absent = missing(CORPUS)
    if absent:
        return Section(skipped=absent)
    projects: dict[Path, list[Path]] = defaultdict(list)
    for path in corpus_sessions():
        projects[path.parent].append(path)
    found = [c for paths in projects.values() for c in extracted(paths)]
    ours, waits = ([Said(c.session.path, c.text) for c in found if is_sure(c) is sure] for sure in (True, False))
    messages, turns = _read(projects)
    cues = [Said(s.session, sentence) for s in turns for _, sentence in cues_in(s.text)]
    systems = {"slowwave": ours, "slowwave, what waits": waits}
    systems |= {"baseline: cue rules": cues, "baseline: every typed turn": turns}
    judged = {name: list(zip(said, signs(said), strict=True)) for name, said in systems.items()}
    rows = [_row(name, of, messages) for name, of in judged.items()]
    header = ("", "junk", "share", "95 %", "kept /1000", "junk /1000")
    section = Section(
        [
            Table(f"{messages} messages in {sum(map(len, projects.values()))} sessions", header, rows),
            _signs(judged),
            _verdicts(),
        ],
        notes=[
            "signs by plain rules of this harness; a text may show several; said again in another session is no junk"
        ],
    )
    if errors:
        section.notes += [f"  junk  [{', '.join(why)}] {s.text[:200]}" for s, why in judged["slowwave"] if why]
    return section


def _verdicts() -> Table:
    """Return what a reader who knew nothing of the rules found of memories of repositories not seen, by source."""
    rows = [json.loads(line) for line in VERDICTS.read_text("utf-8").splitlines()]
    alone = [r for r in rows if r["source"] != _MODEL]
    groups = {"without a model": alone} | {source: [r for r in rows if r["source"] == source] for source in _SOURCES}
    groups["with a strong model"] = [r for r in rows if r["source"] == _MODEL]
    lines: list[tuple[str, ...]] = []
    for name, of in groups.items():
        counts = Counter(r["verdict"] for r in of)
        lines.append((name, str(len(of)), *(str(counts[verdict]) for verdict in _VERDICTS)))
    return Table("Memories judged by reading (kept_verdicts.jsonl)", ("", "read", *_VERDICTS), lines)


def signs(said: Sequence[Said]) -> Iterator[tuple[str, ...]]:
    """Yield the signs of junk of each text; what its session gave before is a duplicate."""
    seen: set[tuple[str, str]] = set()
    for one in said:
        key = (one.session, " ".join(_WORD.findall(one.text.casefold())) or one.text)
        found = list(signs_of(one.text))
        if key in seen:
            found.append("duplicate")
        seen.add(key)
        yield tuple(found)


def signs_of(text: str) -> Iterator[str]:
    """Yield the signs of junk that a text shows by itself."""
    bare = text.strip()
    words = _WORD.findall(_CODE.sub(" ", bare))
    if len(bare) < SHORT:
        yield "too short"
    if len(bare) > LONG:
        yield "too long"
    if bare.endswith("?"):
        yield "question"
    if _PASTED.search(bare):
        yield "pasted"
    if len(words) < _LEAST_WORDS:
        yield "only code" if "`" in bare or not words else "fragment"
    elif _HANGING.search(bare) or _POINTS_BACK.search(bare) or bare.count("(") != bare.count(")"):
        yield "fragment"
    if _ONE_OFF.search(bare):
        yield "about the moment"


def _read(projects: dict[Path, list[Path]]) -> tuple[int, list[Said]]:
    """Return how many messages there are in the main conversations, and what was typed."""
    messages = 0
    turns: list[Said] = []
    for paths in projects.values():
        for path in paths:
            # not kept, as all of them together are large
            for message in by_name(detect(path).name).read(SessionFiles(path.stem, (path,))).messages:
                if message.active and not message.sidechain:
                    messages += 1
                    if message.role == "user" and message.origin == "typed":
                        turns += [
                            Said(str(path), b.text) for b in message.blocks if isinstance(b, Text) and b.text.strip()
                        ]
    return messages, turns


def _row(name: str, judged: Sequence[tuple[Said, tuple[str, ...]]], messages: int) -> tuple[str, ...]:
    junk = sum(bool(why) for _, why in judged)
    rates = (f"{1000 * number / messages:.2f}" for number in (len(judged), junk))
    return name, *counted(junk, len(judged)), *rates


def _signs(judged: dict[str, list[tuple[Said, tuple[str, ...]]]]) -> Table:
    counts = {name: Counter(sign for _, why in of for sign in why) for name, of in judged.items()}
    every: Iterable[str] = sorted({sign for of in counts.values() for sign in of})
    rows = [(sign, *(f"{of[sign] / max(1, len(judged[name])):.3f}" for name, of in counts.items())) for sign in every]
    header = ("", "slowwave", "what waits", "cue rules", "every turn")
    return Table("Share of what is kept that shows a sign", header, rows)
