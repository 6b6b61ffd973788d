"""Secrets: how many of each family and in each layer are taken out, how fast, and how often nothing is there."""

import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import orjson

from slowwave.formats import Text, ToolCall, ToolResult
from tests.quality.beside import CORPUS, corpus_sessions, missing
from tests.quality.blocks import blocks
from tests.quality.intervals import counted
from tests.quality.reading import transcript_of
from tests.quality.redactor import redactor_for
from tests.quality.secret_baseline import four_rules
from tests.quality.secret_fresh import (
    CARRIERS,
    SPLIT_INTO,
    SPLITS_FRESH,
    SPLITS_FRESH_FOURTH,
    SPLITS_FRESH_SECOND,
    SPLITS_FRESH_THIRD,
    carried,
)
from tests.quality.secret_layers import LAYERS, is_revealed
from tests.quality.secret_told import SPLITS, SPLITS_HELD_BACK, split, told
from tests.quality.secret_values import Planted, planted
from tests.quality.table import Must, Section, Table

EACH = 8
SEED = 41
RECALL = 0.98
RECALL_TOLD = 0.995
# sentences of real sessions with a mark that is none of a shape of its own
MOST_ALARMS = 1 / 2_000
_OF_WORDS = ("told", "card", "password")
SPEED = 15.0
_SAMPLE_CHARS = 6_000_000
_ROUNDS = 2
_MARK = re.compile(r"\[secret:([\w-]+):")
# files of lines of JSON that an outsider wrote, parted by colons: fields part, kind, text, secret, pieces
FRESH = "SECRETS_FRESH"
WRITTEN = Path(__file__).with_name("secrets_written.jsonl")
# by four outsiders; no rule was mended for a line of it
OUTSIDERS = Path(__file__).with_name("secrets_outsiders.jsonl")
Redact = Callable[[str], tuple[str, int]]


def measure(*, errors: bool = False) -> Section:
    """Measure what is found, in what time, and what is taken for a secret and is none."""
    every = list(planted(EACH, SEED))
    kept = {layer: [p for p in every if is_revealed(ours()(write(p))[0], p)] for layer, write in LAYERS.items()}
    theirs = {layer: [p for p in every if is_revealed(four_rules(write(p))[0], p)] for layer, write in LAYERS.items()}
    section = Section(
        [_layers(every, kept, theirs), _families(every, kept)],
        [
            Must("recall on decoded text", 1 - len(kept["plain"]) / len(every), RECALL),
            Must("recall over all layers", 1 - sum(map(len, kept.values())) / len(every) / len(kept), RECALL),
        ],
        [f"{len({p.family for p in every})} families, {EACH} values each, made at random (seed {SEED})"],
    )
    table, musts, missed = _in_words()
    section.tables.append(table)
    section.musts += musts
    section.notes += missed if errors else []
    section.tables.append(fresh_of([WRITTEN], "Sets that were written while the rules were mended")[0])
    table, musts, _ = fresh_of([OUTSIDERS])
    section.tables.append(table)
    section.musts += musts
    if paths := os.environ.get(FRESH):
        table, musts, missed = fresh_of(map(Path, paths.split(":")))
        section.tables.append(table)
        section.musts += musts
        section.notes += missed if errors else []
    absent = missing(CORPUS)
    if absent:
        section.notes.append(f"speed and false alarms SKIPPED: {absent}")
    else:
        texts = tuple(_sample())
        table, speed, alarms = _corpus(texts)
        section.tables.append(table)
        section.musts.append(Must("MB a second", speed, SPEED))
        wrong, sentences = _wrong(texts)
        section.musts.append(
            Must("sentences of real sessions without a mark of words", 1 - wrong / sentences, 1 - MOST_ALARMS)
        )
        section.notes += alarms if errors else []
    if errors:
        section.notes += [f"  missed  [{layer}] {p.family}" for layer, left in kept.items() for p in left]
    return section


@cache
def ours() -> Redact:
    """Return the redaction of the product; it tells how many marks it set."""
    return redactor_for("quality").counted


def _layers(every: list[Planted], kept: dict[str, list[Planted]], theirs: dict[str, list[Planted]]) -> Table:
    rows: list[tuple[str, ...]] = []
    for layer, left in kept.items():
        base = len(every) - len(theirs[layer])
        rows.append((layer, *counted(len(every) - len(left), len(every)), *counted(base, len(every))[1:]))
    header = ("", "taken out", "recall", "95 %", "four rules", "95 %")
    return Table("Recall by layer, beside four rules after Codex's description", header, rows)


def _in_words() -> tuple[Table, list[Must], list[str]]:
    """Return how many kinds of told and split secrets are found: of a kind that is, no value stays."""
    sets = {
        "told in sentences": (told(EACH, SEED), four_rules),
        "told, held back": (told(EACH, SEED, "secret_told_held_back.txt"), four_rules),
        "split": (split(EACH, SEED, SPLITS), four_rules),
        "split, held back": (split(EACH, SEED, SPLITS_HELD_BACK), four_rules),
        "told, fresh": (carried(told(EACH, SEED, "secret_told_fresh.txt")), four_rules),
        "split, fresh": (carried(split(EACH, SEED, SPLITS_FRESH, SPLIT_INTO)), four_rules),
        "told, second fresh": (carried(told(EACH, SEED, "secret_told_fresh_second.txt")), four_rules),
        "split, second fresh": (carried(split(EACH, SEED, SPLITS_FRESH_SECOND, SPLIT_INTO)), four_rules),
        "told, third fresh": (carried(told(EACH, SEED, "secret_told_fresh_third.txt")), four_rules),
        "split, third fresh": (carried(split(EACH, SEED, SPLITS_FRESH_THIRD, SPLIT_INTO)), four_rules),
        "told, fourth fresh": (carried(told(EACH, SEED, "secret_told_fresh_fourth.txt")), four_rules),
        "split, fourth fresh": (carried(split(EACH, SEED, SPLITS_FRESH_FOURTH, SPLIT_INTO)), four_rules),
    }
    rows: list[tuple[str, ...]] = []
    musts: list[Must] = []
    missed: list[str] = []
    for name, (values, baseline) in sets.items():
        every = list(values)
        kinds = {p.family for p in every}
        bad, theirs = ({p.family for p in every if _stays(redact(p.text)[0], p)} for redact in (ours(), baseline))
        rows.append(
            (name, *counted(len(kinds) - len(bad), len(kinds)), *counted(len(kinds) - len(theirs), len(kinds))[1:])
        )
        musts.append(Must(name, 1 - len(bad) / len(kinds), RECALL_TOLD))
        missed += [f"  missed  [{name}] {kind}" for kind in sorted(bad)]
    benign = [line for _, lines in blocks("secret_benign_fresh.txt") for line in lines]
    wrong = [line for line in benign if any(ours()(wrap(line))[1] for wrap in CARRIERS.values())]
    musts.append(Must("sentences that only look so, left alone", 1 - len(wrong) / len(benign), RECALL_TOLD))
    missed += [f"  marked  {line}" for line in wrong]
    header = ("", "kinds taken out", "recall", "95 %", "four rules", "95 %")
    return Table("Secrets in words, and in pieces: kinds of which no value stays", header, rows), musts, missed


def fresh_of(
    paths: Iterable[Path], title: str = "Sets of outsiders who never saw the code"
) -> tuple[Table, list[Must], list[str]]:
    """Return how much of sets in files is found: kinds that are told or split, lines that only look so."""
    kinds: dict[str, set[str]] = defaultdict(set)
    bad: dict[str, set[str]] = defaultdict(set)
    notes: list[str] = []
    for line in (line for path in paths for line in path.read_bytes().splitlines() if line.strip()):
        one = orjson.loads(line)
        part, text = one["part"], one["text"]
        kind = text if part == "benign" else f"{one['language']}: {one['kind']}"
        kinds[part].add(kind)
        out, marks = ours()(text)
        if part == "benign":
            is_wrong = marks > 0
        else:
            secret = one["secret"]
            is_wrong = _stays(out, Planted(kind, text, secret, (secret, *one.get("pieces", ()))))
        if is_wrong:
            bad[part].add(kind)
            notes.append(f"  {'marked' if part == 'benign' else 'missed'}  [{part}] {kind} | {out!r}")
    names = {"told": "told", "split": "split", "benign": "only look so, left alone"}
    rows = [(name, *counted(len(kinds[p]) - len(bad[p]), len(kinds[p]))) for p, name in names.items() if kinds[p]]
    musts = [
        Must(f"outsiders' set: {names[part]}", 1 - len(bad[part]) / len(kinds[part]), RECALL_TOLD)
        for part in names
        if kinds[part]
    ]
    return Table(title, ("", "kinds right", "share", "95 %"), rows), musts, notes


def _stays(text: str, planted: Planted) -> bool:
    """Say whether a secret, or a piece of it that nobody could guess, is in a text."""
    text = _WHOLE_MARK.sub("", text)  # three digits may stand in a fingerprint
    return any(body in text for body in planted.bodies if len(body) >= _GUESSED or body == planted.value)


_GUESSED = 4
_WHOLE_MARK = re.compile(r"\[secret:[^\]]*\]")


def _wrong(texts: tuple[str, ...]) -> tuple[int, int]:
    """Return how many marks of words are set in real texts, and how many sentences these have."""
    marks = Counter(family for text in texts for family in _MARK.findall(ours()(text)[0]))
    return sum(marks[family] for family in _OF_WORDS), sum(len(_SENTENCE.findall(text)) for text in texts)


_SENTENCE = re.compile(r"[^.!?\n\u3002]+(?:[.!?\n\u3002]|\Z)")


def _families(every: list[Planted], kept: dict[str, list[Planted]]) -> Table:
    """Return the families that are not always found, each with its recall in every layer."""
    totals = Counter(p.family for p in every)
    missed = {layer: Counter(p.family for p in left) for layer, left in kept.items()}
    weak = [f for f in totals if any(of_layer[f] for of_layer in missed.values())]
    rows = [(f, *(f"{1 - of_layer[f] / totals[f]:.2f}" for of_layer in missed.values())) for f in weak]
    rows.append((f"the other {len(totals) - len(weak)} families", *("1.00" for _ in missed)))
    return Table("Recall by family", ("", *(layer[:12] for layer in LAYERS)), rows)


def _sample() -> Iterator[str]:
    """Yield decoded texts of real sessions, from every client, until there are enough."""
    room = _SAMPLE_CHARS
    for path in corpus_sessions()[::3]:
        for message in transcript_of(path).messages:
            for block in message.blocks:
                text = _text(block)
                room -= len(text)
                if text:
                    yield text
        if room < 0:
            return


def _text(block: object) -> str:
    match block:
        case Text() | ToolResult():
            return block.text
        case ToolCall():
            return orjson.dumps(block.args).decode("utf-8", "replace") if block.args else ""
        case _:
            return ""


def _corpus(texts: tuple[str, ...]) -> tuple[Table, float, list[str]]:
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) / 1e6
    rows: list[tuple[str, ...]] = []
    speeds: dict[str, float] = {}
    for name, redact in (("slowwave", ours()), ("baseline: four rules", four_rules)):
        alarms = sum(redact(text)[1] for text in texts)
        speeds[name] = size / min(_seconds(redact, texts) for _ in range(_ROUNDS))
        rows.append((name, f"{size:.1f}", f"{speeds[name]:.1f}", str(alarms), f"{alarms / size:.1f}"))
    title = "Decoded texts of real sessions, string by string (published with their secrets taken out)"
    header = ("", "MB", "MB/s", "marks", "marks per MB")
    return Table(title, header, rows), speeds["slowwave"], _alarms(texts)


def _seconds(redact: Redact, texts: tuple[str, ...]) -> float:
    began = time.process_time()
    for text in texts:
        redact(text)
    return time.process_time() - began


def _alarms(texts: tuple[str, ...]) -> list[str]:
    """Return how often each family was found in real sessions; the texts themselves are not shown."""
    families: dict[str, int] = defaultdict(int)
    for text in texts:
        clean, number = ours()(text)
        for family in _MARK.findall(clean) if number else ():
            families[family] += 1
    return [f"  marks   [{family}] {number}" for family, number in sorted(families.items())]
