"""Weights for repositories that they were not fitted on: each made of the labels of all others.

The weights that ship have seen every repository that has labels, so their own figures there flatter them. Fitting them
takes minutes; it is kept below ``build/`` for as long as what it is fitted to stays the same.
"""

import hashlib
import importlib.util
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest.mock import patch

import msgspec

from slowwave.extraction.classifier import Weights
from tests.quality import train
from tests.quality.statement_labels import Judged, every
from tests.quality.typed_messages import Sentence, contrasts, written
from tests.quality.written_sessions import written_dialogs, written_sessions

KEPT = Path(__file__).parents[2] / "build"


def missing() -> str:
    """Return why nothing can be fitted, or ""."""
    absent = importlib.util.find_spec("sklearn") is None
    return "scikit-learn is not installed (make train installs it)" if absent else ""


@cache
def statements() -> tuple[Judged, ...]:
    """Return every statement that readers judged."""
    return (*every(), *written_sessions())


@cache
def unseen() -> dict[str, Weights]:
    """Return for each repository weights that know nothing of it."""
    judged, messages = statements(), (*written(), *contrasts())
    file = KEPT / f"unseen-{_digest(judged, messages)}.json"
    if not file.exists():
        KEPT.mkdir(exist_ok=True)
        file.write_bytes(msgspec.json.encode(_fitted(judged, messages)))
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Weights])


def _fitted(said: Sequence[Judged], messages: Sequence[Sentence]) -> dict[str, Weights]:
    judged = [one for one in said if not train.tells_voices_only(one)]
    heads = train.heads_without(judged, messages)
    whole = train.fit_documents(judged, messages)
    found: dict[str, Weights] = {}
    choice = train.choice_head(written_dialogs())
    own = train.typed(said, defaultdict(lambda: whole, {name: of.document for name, of in heads.items()}))
    for fold in train.folds_of(judged):
        others = [j for j in judged if j.repository not in fold]
        categories = train.category_heads([j for j in others if not train.is_written(j)])
        typed = [one for one in own if one.repository not in fold]
        place = train.place_head([one for one in typed if not train.tells_voices_only(one)], heads)
        steps, theirs = train.steps_of(others, heads, place), train.voice_head(messages, typed)
        for name in fold:
            of = heads[name]
            found[name] = Weights(of.worth, choice, of.typed, of.document, categories, theirs, steps, place=place)
    return found


@contextmanager
def using(chosen: Weights) -> Generator[None]:
    """Let extraction judge by other weights for a while."""
    with patch("slowwave.extraction.offline.weights", lambda: chosen):
        yield


def _digest(judged: Sequence[Judged], messages: Sequence[Sentence]) -> str:
    """Return a name for what is fitted to: the judged statements, the written ones, the code that fits."""
    known = hashlib.sha256((Path(__file__).with_name("train.py")).read_bytes())
    for one in judged:
        known.update(repr((one.session, one.speaker, one.mark, sorted(one.features), sorted(one.whose))).encode())
    for sentence in messages:
        known.update(repr((sentence.text, sentence.voice, sentence.keep, sorted(sentence.worth))).encode())
    return known.hexdigest()[:16]
