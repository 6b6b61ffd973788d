"""Answers of a model that a killed worker had already got: its piece is read again, but nothing is paid twice."""

import hashlib
import os
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from slowwave.files import write_all
from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem
from slowwave.jobs.backfill.model import Asked
from slowwave.models.base import Answer, Ask, Form, LanguageModel, Usage
from slowwave.models.tokens import estimated_tokens


class _Kept(msgspec.Struct, frozen=True):
    """An answer as a line of the file."""

    ask: str
    data: Any
    text: str
    form: Form
    prompt_tokens: int
    completion_tokens: int
    usd: float
    model: str
    seconds: float = 0.0


_decoder = msgspec.json.Decoder(_Kept)


class Remembered:
    """A model whose answers are kept in a file until the piece that they belong to is written.

    Args:
        model: who is asked.
        path: the file; a line that a kill left torn counts as none, and its question is asked again.
    """

    def __init__(self, model: LanguageModel, path: Path) -> None:
        self._model = model
        self._path = path
        self._lock = threading.Lock()
        torn: list[Problem] = []
        kept = [one for _, one in read_records(path, _decoder, torn)] if path.exists() else []
        self._known = {one.ask: one for one in kept}
        self.asked = Asked()

    @property
    def name(self) -> str:
        """The model's name as the settings give it."""
        return self._model.name

    def answer(self, ask: Ask) -> Answer:
        """Return the answer that was given before, or ask; see :class:`slowwave.models.base.LanguageModel`."""
        digest = hashlib.sha256(msgspec.json.encode([ask.purpose, ask.system, ask.user, ask.max_output_tokens]))
        name = digest.hexdigest()
        known = self._known.get(name)
        if known is not None:
            self._count(ask, known.seconds)
            usage = Usage(known.prompt_tokens, known.completion_tokens, known.usd)
            return Answer(known.data, known.text, known.form, usage, known.model)
        begun = time.monotonic()
        answer = self._model.answer(ask)
        seconds = round(time.monotonic() - begun, 3)
        self._count(ask, seconds)
        spent = answer.usage
        one = _Kept(
            name, answer.data, answer.text, answer.form, spent.prompt_tokens, spent.completion_tokens, spent.usd,
            answer.model, seconds,
        )  # fmt: skip
        self._keep(one)
        return answer

    def _count(self, ask: Ask, seconds: float) -> None:
        with self._lock:
            self.asked.answers += 1
            self.asked.prompt_tokens += estimated_tokens(ask.system, ask.user)
            self.asked.seconds += seconds

    def _keep(self, one: _Kept) -> None:
        with self._lock:
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
            try:
                # a line of its own, whatever a kill left before it
                write_all(fd, b"\n" + msgspec.json.encode(one) + b"\n")
                os.fsync(fd)
            finally:
                os.close(fd)
