"""Fit the judge of told secrets anew: ``python -m tests.quality.train_secrets`` writes ``secrets/weights.json``."""

import importlib
import json
import random
import re
import string
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slowwave.secrets import judge
from slowwave.secrets.finder import find_secrets, judged_places
from slowwave.secrets.rules import Finding
from tests.quality.beside import corpus_sessions
from tests.quality.blocks import blocks
from tests.quality.reading import transcript_of
from tests.quality.rows_secrets import WRITTEN, stays, text_of
from tests.quality.secret_fresh import CARRIERS
from tests.quality.secret_told import told
from tests.quality.secret_values import Planted

TARGET = Path(judge.__file__).with_name("weights.json")
# in log-odds: chosen on the lines of the outsider who was held out that only look so
_LEAST, _LEAST_LEANING, _BESIDE, _LEAST_LOOK = 2.1, -0.3, 1.5, -0.5
TOLD = (
    "secret_told.txt",
    "secret_told_held_back.txt",
    *(f"secret_told_fresh{n}.txt" for n in ("", "_second", "_third", "_fourth")),
)


class Example(NamedTuple):
    """A text, what of it is secret, and how much it counts."""

    text: str
    spans: tuple[tuple[int, int], ...]
    weight: float
    unsure: tuple[tuple[int, int], ...] = ()


def spans_in(text: str, bodies: Iterable[str]) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for body in bodies:
        at = text.find(body)
        while body and at >= 0:
            found.append((at, at + len(body)))
            at = text.find(body, at + len(body))
    return tuple(found)


def told_lines(*, seed: int = 5) -> Iterator[tuple[str, str, list[str]]]:
    for name in TOLD:
        for one in told(1, seed, name):
            yield "told", one.text, [one.value]
    for _, lines in blocks("secret_benign_fresh.txt"):
        yield from (("benign", line, []) for line in lines)


def file_lines(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    for line in path.read_bytes().splitlines():
        if line.strip():
            one = json.loads(line)
            bodies = [one["secret"], *one.get("pieces", ())] if one["part"] != "benign" else []
            yield one["part"], one["text"], [body for body in bodies if body]


def examples(rows: Sequence[tuple[str, str, list[str]]], *, seed: int, again: int) -> Iterator[Example]:
    """Yield each line, and told ones with others' values, too, in carriers now and then."""
    chance = random.Random(seed)
    pool = [bodies[0] for part, _, bodies in rows if part == "told" and not bodies[0].isdigit()]
    carriers = list(CARRIERS.values())
    for part, text, bodies in rows:
        yield Example(text, spans_in(text, bodies), 1.0)
        if part == "benign":
            yield from (Example(wrap(text), (), 0.5) for wrap in carriers)
        if part != "told":
            continue
        value = bodies[0]
        for _ in range(again):
            if value.isdigit():
                new = "".join(chance.choice(string.digits) for _ in value)
            elif sum(c.isdigit() for c in value) > len(value) / 2:
                new = "".join(chance.choice(string.digits) if c.isdigit() else c for c in value)
            else:
                new = chance.choice(pool)
            other = text.replace(value, new)
            if chance.random() < 0.3:
                other = chance.choice(carriers)(other)
            yield Example(other, spans_in(other, [new, json.dumps(new)[1:-1]]), 0.4)


def corpus_texts(part: int, of: int, room: int) -> Iterator[str]:
    """Yield texts of every n-th session."""
    seen: set[int] = set()
    for path in corpus_sessions()[part::of]:
        for message in transcript_of(path).messages:
            for block in message.blocks:
                text = text_of(block)
                mark = zlib.crc32(text.encode("utf-8", "replace"))
                if text and mark not in seen:
                    seen.add(mark)
                    room -= len(text)
                    yield text
        if room < 0:
            return


def lines_of(texts: Iterable[str], *, seed: int, most: int) -> Iterator[str]:
    """Yield few lines at a time of long texts, as messages quote them, where the judge would look at them."""
    chance = random.Random(seed)
    for text in texts:
        lines = text.splitlines()
        at = 0
        while at < len(lines):
            size = chance.choice((1, 1, 2, 3))
            piece = "\n".join(lines[at : at + size])
            at += size
            if judge.MESSAGE // 100 < len(piece) < judge.MESSAGE // 4 and judged_places(piece):
                most -= 1
                yield piece
        if most < 0:
            return


class Tokens(NamedTuple):
    keys: list[list[judge.Key]]
    labels: list[int]
    weights: list[float]


def tokens_of(every: Iterable[Example], *, whole: bool) -> Tokens:
    out = Tokens([], [], [])
    for one in every:
        places = [(0, len(one.text))] if whole and len(one.text) < 1500 else None
        parts = places or list(judge.parts_near(one.text, judged_places(one.text)))
        for start, stop in parts:
            found = judge.words_of(one.text, start, stop)[:400]
            if not found:
                continue
            for word, keys in zip(found, judge.keys_of(one.text, found), strict=True):
                if any(a < word.stop and word.start < b for a, b in one.unsure):
                    continue
                is_one = any(a < word.stop and word.start < b for a, b in one.spans)
                out.keys.append(keys)
                out.labels.append(int(is_one))
                out.weights.append(one.weight)
    return out


def often_of(texts: Iterable[str], rows: Sequence[tuple[str, str, list[str]]], most: int = 6000) -> frozenset[str]:
    """Return words of many texts, and those of several written lines that are no value."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(_PLAIN.findall(text[:20_000].lower())))
    own: Counter[str] = Counter()
    for _, text, bodies in rows:
        own.update(set(_PLAIN.findall(_without(text, bodies).lower())))
    found = [word for word, number in counts.most_common(most) if number > 4]
    return frozenset(found) | {word for word, number in own.items() if number > 3}


_PLAIN = re.compile(r"[^\W\d_]{2,16}")


def _without(text: str, bodies: Iterable[str]) -> str:
    for body in bodies:
        text = text.replace(body, " ")
    return text


def cues_of(texts: Iterable[str], rows: Sequence[tuple[str, str, list[str]]]) -> frozenset[str]:
    """Return words that messages with a secret have much more often than other texts."""
    others = Counter(word for text in texts if len(text) < judge.MESSAGE for word in set(_ASCII.findall(text.lower())))
    own: Counter[str] = Counter()
    for part, text, bodies in rows:
        own.update(set(_ASCII.findall(_without(text, bodies).lower())) if part != "benign" else ())
    here, there = sum(own.values()), sum(others.values())
    return frozenset(w for w, n in own.items() if n > 1 and n / here > _CUE * (others[w] + 1) / there)


_ASCII = re.compile(r"[a-z]{2,16}")
_CUE = 5.0


def use(weights: judge.Weights) -> None:
    """Let the judge use weights that are not shipped."""
    judge.weights = lambda: weights  # type: ignore[assignment]
    judge.look_of.cache_clear()
    for known in (judge._sum_of, judge._beside, judge._own, judge._has_any):
        known.cache_clear()


def _from(module: str) -> Any:
    return importlib.import_module(module)


def fitted(
    tokens: Tokens,
    often: frozenset[str],
    cues: frozenset[str] = frozenset(),
    *,
    strength: float,
    least: float,
    least_times: int = 3,
) -> judge.Weights:
    np = _from("numpy")
    number: dict[str, int] = {}
    of_key: dict[judge.Key, Any] = {}
    counts: Counter[judge.Key] = Counter(key for keys in tokens.keys for key in keys)
    times: Counter[str] = Counter()
    for key, many in counts.items():
        for name in judge.names_of(key):
            times[name] += many
    for key in counts:
        of_key[key] = np.array(
            [number.setdefault(name, len(number)) for name in judge.names_of(key) if times[name] >= least_times],
            dtype=np.int32,
        )
    rows = [np.concatenate([of_key[key] for key in keys]) for keys in tokens.keys]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    indices = np.concatenate(rows)
    x = _from("scipy.sparse").csr_matrix(
        (np.ones(len(indices), dtype=np.float64), indices, indptr), shape=(len(rows), len(number))
    )
    x.sum_duplicates()
    began = time.time()
    model = _from("sklearn.linear_model").LogisticRegression(C=strength, solver="liblinear", max_iter=60, tol=0.01)
    model.fit(x, np.array(tokens.labels), sample_weight=np.array(tokens.weights))
    print(f"  {x.shape}, {sum(tokens.labels)} are one, {time.time() - began:.0f} s", flush=True)
    names = list(number)
    kept = {names[n]: round(float(w), 2) for n, w in enumerate(model.coef_[0]) if abs(w) >= least}
    return judge.Weights(float(model.intercept_[0]), _LEAST, _LEAST_LEANING, _BESIDE, _LEAST_LOOK, often, cues, kept)


def beside_lines() -> Iterator[tuple[str, str, list[str]]]:
    """Yield messages that tell a secret, and such that are made like them."""
    for line in Path(__file__).with_name("secret_told_beside.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            bodies = _MARKED.findall(line)
            yield (
                "told" if len(bodies) == 1 else "split" if bodies else "benign",
                re.sub("[\u27e6\u27e7]", "", line),
                bodies,
            )


_MARKED = re.compile("\u27e6([^\u27e7]+)\u27e7")


Row = tuple[str, str, list[str]]
_AGAIN, _STRENGTH, _LEAST_WEIGHT = 2, 0.3, 0.08
# of the sessions the measure reads every third one: these are left for it
_FITTED_PARTS = (1, 2)
_ROOM, _MOST_LINES = 12_000_000, 12_000
OUTSIDE = tuple(Path(__file__).with_name(f"secrets_outside_{one}.jsonl") for one in "abc")


def fit(rows: Sequence[Row], corpus: Sequence[str]) -> judge.Weights:
    """Return weights fitted to lines that were written and to texts of real sessions, in which rules see no secret."""
    often, cues = often_of(corpus, rows), cues_of(corpus, rows)
    use(judge.Weights(0, 99, 99, 0, 99, often, cues, {}))
    own = tokens_of(examples(rows, seed=3, again=_AGAIN), whole=True)
    real = [*corpus, *lines_of(corpus, seed=4, most=_MOST_LINES)]
    others = tokens_of((Example(text, (), 1.0, _found(text)) for text in real if judged_places(text)), whole=False)
    every = Tokens(own.keys + others.keys, own.labels + others.labels, own.weights + others.weights)
    return _small(fitted(every, often, cues, strength=_STRENGTH, least=_LEAST_WEIGHT))


def _small(weights: judge.Weights) -> judge.Weights:
    """Return weights without the least of them, so few that they fit into the file."""
    least = _LEAST_WEIGHT
    while len(msgspec.json.encode(weights)) > _MOST_BYTES:
        least += 0.01
        by_name = {name: weight for name, weight in weights.by_name.items() if abs(weight) >= least}
        weights = msgspec.structs.replace(weights, by_name=by_name)
    return weights


_MOST_BYTES = 398_000


def _found(text: str) -> tuple[tuple[int, int], ...]:
    return tuple((one.start, one.stop) for one in find_secrets(text))


def written_lines() -> list[Row]:
    return [*told_lines(), *file_lines(WRITTEN)]


def report(weights: judge.Weights, path: Path) -> str:
    """Return how much of a file rules and judge find together, by both measures of the judge."""
    use(weights)
    said: list[str] = []
    for leaning in (False, True):
        right: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for part, text, bodies in file_lines(path):
            found = find_secrets(text, leaning=leaning)
            total[part] += 1
            right[part] += not found if part == "benign" else not _stays(masked(text, found), bodies)
        shares = ", ".join(f"{part} {right[part] / total[part]:.3f} of {total[part]}" for part in total)
        said.append(f"{'leaning' if leaning else 'strict'}: {shares}")
    return "; ".join(said)


def masked(text: str, found: Sequence[Finding]) -> str:
    out: list[str] = []
    at = 0
    for one in found:
        out += [text[at : one.start], "[secret:told]"]
        at = one.stop
    return "".join([*out, text[at:]])


def _stays(text: str, bodies: Sequence[str]) -> bool:
    return stays(text, Planted("", text, bodies[0], tuple(bodies)))


def main() -> None:
    """Fit, print what was found of each outsider's lines by weights that had not seen them, and write the weights."""
    corpus = [text for part in _FITTED_PARTS for text in corpus_texts(part, 3, _ROOM)]
    base, beside = written_lines(), list(beside_lines())
    for other in OUTSIDE:
        # the lines beside were written after a look at some of the second file
        own = [row for path in OUTSIDE if path != other for row in file_lines(path)]
        rows = [*base, *(() if other == OUTSIDE[1] else beside), *own * 2]
        print(f"{other.name}, not seen: {report(fit(rows, corpus), other)}", flush=True)
    outside = [row for path in OUTSIDE for row in file_lines(path)]
    weights = fit([*base, *beside, *outside * 2], corpus)
    TARGET.write_bytes(msgspec.json.encode(weights, order="deterministic"))


if __name__ == "__main__":
    main()
