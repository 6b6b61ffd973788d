"""Where questions of a batch wait on disk, from the moment they are asked to the night that reads their answers.

A question is known by the hash of its whole request, so the same question is never sent twice, whichever process asks
it and however often a night is repeated. Its way: a file in ``outbox/``; a line of ``sent/<parcel>.jsonl``, with how
far the parcel has come in ``sent/<parcel>.json``; at last a file in ``answers/``. Every step is one rename, and each
state on the way is a state to go on from. The folder can be deleted: its questions are then asked, and paid, again.
"""

import hashlib
import secrets
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from slowwave.errors import LockHeldError
from slowwave.files import atomic_write, private_folder
from slowwave.journal import Form, Journal
from slowwave.locks import locked_file

# Limits of the Batch API for one input file; a parcel stays below both.
MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000


class Question(msgspec.Struct, frozen=True):
    """A question that waits.

    Attributes:
        id: hash of server and request.
        server: address of the server that it goes to.
        request: body of the chat completion.
    """

    id: str
    server: str
    request: dict[str, Any]


class Parcel(msgspec.Struct, frozen=True, omit_defaults=True):
    """Questions that go to a server together.

    Attributes:
        id: names its input file there and here; new for every parcel, so that a repeated one is not taken for the
            one that failed.
        server: address of the server.
        questions: ids of its questions.
        file: the server's id of the uploaded input; "" before it is known.
        batch: the server's id of the batch; "" before it is known.
        at: ISO time of the hand-over.
        files: what is still to be deleted at the server, when all answers are here.
    """

    id: str
    server: str
    questions: tuple[str, ...]
    file: str = ""
    batch: str = ""
    at: str = ""
    files: tuple[str, ...] = ()


class Answered(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came back for a question.

    Attributes:
        id: the question.
        body: the chat completion, as the server sent it; None when there is none.
        error: why there is none.
        status: the HTTP status of the refusal, or 0.
        code: the server's code for it, or "".
        failures: how many parcels that were worked through gave none.
        at: ISO time of the collection.
    """

    id: str
    body: dict[str, Any] | None = None
    error: str = ""
    status: int = 0
    code: str = ""
    failures: int = 0
    at: str = ""


_WRONG = "not what a spool holds", "delete it: it is asked again"
_ANSWER, _PARCEL, _QUESTION = Form(Answered, *_WRONG), Form(Parcel, *_WRONG), Form(Question, *_WRONG)


def question_of(server: str, request: dict[str, Any], identity: str = "") -> Question:
    """Return the question of a request; its id is equal on every machine and in every run.

    Args:
        server: address of the server that is asked.
        request: the whole request.
        identity: what the id is made of in place of the material, where that changes and the question does not.
    """
    known: object = [request["model"], request["messages"][0], identity] if identity else request
    data = msgspec.json.encode([server, known], order="deterministic")
    return Question(hashlib.sha256(data).hexdigest()[:32], server, request)


class Spool:
    """The folder in which the questions of all runs of one machine wait.

    Args:
        folder: made when something is first written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._outbox = Journal(folder / "outbox", _QUESTION)
        self._sent = Journal(folder / "sent", _PARCEL)
        self._answers = Journal(folder / "answers", _ANSWER)

    def answer(self, question: str) -> Answered | None:
        """Return what came back for a question, or None.

        Raises:
            CorruptStateError: its file is damaged.
        """
        return self._answers.find(question)

    def waits(self, question: str) -> bool:
        """Say whether a question is in the outbox, or was on its way when this object was made."""
        return question in self._on_their_way or self._outbox.place(question).exists()

    def ask(self, question: Question) -> None:
        """Put a question into the outbox; one that waits already stays single.

        Raises:
            OSError: the folder cannot be written.
        """
        if not self.waits(question.id):
            self._outbox.intend(question.id, question)

    def pack(self, server: str) -> None:
        """Turn what waits for ``server`` into parcels; they stand on disk before the outbox forgets them.

        Raises:
            CorruptStateError: a question or a parcel is damaged.
            OSError: the folder cannot be written.
        """
        parcels = self.parcels()
        packed = {question for parcel in parcels for question in parcel.questions}
        self._drop_inputs_but(parcels)
        share: dict[str, bytes] = {}
        size = 0
        for path, question in self._outbox.left():
            if question.server != server:
                continue
            if question.id in packed:
                # a kill came between the parcel and this file
                path.unlink(missing_ok=True)
                continue
            line = _line(question)
            if len(share) == MOST_REQUESTS or size + len(line) > MOST_BYTES:
                self._write(server, share)
                share, size = {}, 0
            share[question.id] = line
            size += len(line)
        self._write(server, share)

    def parcels(self) -> list[Parcel]:
        """Return all parcels that are on their way, in the order of their ids.

        Raises:
            CorruptStateError: one is damaged.
        """
        return [parcel for _, parcel in self._sent.left()]

    def input_of(self, parcel: Parcel) -> Path:
        """Return the file to upload for a parcel."""
        return self._sent.folder / f"{parcel.id}.jsonl"

    def note(self, parcel: Parcel) -> None:
        """Write down how far a parcel has come."""
        self._sent.intend(parcel.id, parcel)

    def collect(self, parcel: Parcel, answers: Iterable[Answered], files: tuple[str, ...]) -> Parcel:
        """Keep the answers to a parcel; return what is left of it, its files at the server.

        After a kill in between it is collected anew.

        Raises:
            OSError: the folder cannot be written.
        """
        for answer in answers:
            self._answers.intend(answer.id, answer)
        left = msgspec.structs.replace(parcel, questions=(), files=files)
        self.note(left)
        self.input_of(parcel).unlink(missing_ok=True)
        return left

    def forget(self, parcel: Parcel) -> None:
        """Forget a parcel of which nothing is left."""
        self._sent.place(parcel.id).unlink(missing_ok=True)

    def sweep(self, before: float) -> int:
        """Remove answers collected before a time in seconds since 1970; return how many nobody will ask for."""
        old = [path for path in self._answers.folder.glob("*.json") if path.stat().st_mtime < before]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Keep other processes from handing over and collecting; False when one is at it already."""
        private_folder(self._folder)
        with ExitStack() as held:
            try:
                held.enter_context(locked_file(self._folder / "lock", create=True, timeout_s=0))
            except LockHeldError:
                yield False
            else:
                yield True

    # Parcels are only packed and collected between the portions of a run, which each have a spool of their own.
    @cached_property
    def _on_their_way(self) -> frozenset[str]:
        return frozenset(question for parcel in self.parcels() for question in parcel.questions)

    def _drop_inputs_but(self, parcels: Iterable[Parcel]) -> None:
        """Remove inputs that a kill left without their parcel; their questions are still in the outbox."""
        kept = {self.input_of(parcel) for parcel in parcels}
        for path in self._sent.folder.glob("*.jsonl"):
            if path not in kept:
                path.unlink(missing_ok=True)

    def _write(self, server: str, share: dict[str, bytes]) -> None:
        if not share:
            return
        parcel = Parcel(secrets.token_hex(12), server, tuple(share))
        private_folder(self._sent.folder)
        atomic_write(self.input_of(parcel), share.values(), mode=0o600)
        self.note(parcel)
        for question in share:
            self._outbox.place(question).unlink(missing_ok=True)


def _line(question: Question) -> bytes:
    line = {
        "custom_id": question.id,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": question.request,
    }
    return msgspec.json.encode(line) + b"\n"
