"""The Batch API of an OpenAI-compatible server: upload, create, look, fetch (OpenAI's API reference, Batch).

What a kill may leave behind on the server is found again by the parcel's id: it names the uploaded file and stands in
the batch's metadata.
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import orjson

from slowwave.models.batch.spool import Answered
from slowwave.models.exchange import Exchange
from slowwave.models.faults import Fault

_PURPOSE = "batch"
_GONE = 404
_LABEL = "slowwave_parcel"
# states in which nothing more comes
_OVER = frozenset({"completed", "expired", "cancelled", "failed"})


@dataclass(frozen=True, slots=True)
class Standing:
    """How a batch stands.

    Attributes:
        state: as the server calls it.
        is_over: whether nothing more comes.
        files: the server's ids of what came, answers and errors.
        reason: why the whole batch failed, or "".
    """

    state: str
    is_over: bool
    files: tuple[str, ...]
    reason: str


class Provider:
    """The batches of one server.

    Every method raises :class:`slowwave.models.exchange.Fault` when the server cannot be reached or refuses.

    Args:
        exchange: the connection.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    @contextmanager
    def _understood(self) -> Generator[None]:
        """Turn an answer that is none of this API's into a fault: ``openai`` checks no shape, and some servers none."""
        with self._exchange.faults():
            try:
                yield
            except (AttributeError, TypeError, ValueError) as error:
                raise Fault("cut", f"this is not an answer of a batch API: {type(error).__name__}: {error}") from error

    def upload(self, path: Path) -> str:
        """Upload an input file and return its id; one that is there already under this name is taken."""
        with self._understood():
            files = self._exchange.opened().files
            there = next((f.id for f in files.list(purpose=_PURPOSE) if f.filename == path.name), "")
            return there or _name(files.create(file=path, purpose=_PURPOSE).id)

    def create(self, file: str, parcel: str) -> str:
        """Start the batch of a parcel and return its id; one that was started already is taken."""
        with self._understood():
            batches = self._exchange.opened().batches
            there = next((b.id for b in batches.list(limit=100) if (b.metadata or {}).get(_LABEL) == parcel), "")
            if there:
                return there
            made = batches.create(
                input_file_id=file,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_LABEL: parcel},
            )
            return _name(made.id)

    def standing(self, batch: str) -> Standing:
        """Return how a batch stands."""
        with self._understood():
            found = self._exchange.opened().batches.retrieve(batch)
            state = _name(found.status)
            problems = (found.errors.data if found.errors else None) or ()
            reason = "; ".join(f"{e.code or 'error'}: {e.message or ''}".strip() for e in problems)
            files = tuple(_name(file) for file in (found.output_file_id, found.error_file_id) if file)
        return Standing(state, state in _OVER, files, reason)

    def answers(self, file: str, at: str) -> Iterator[Answered]:
        """Return what a file of answers or errors says, line by line; ``at`` is the time of the collection.

        Raises:
            Fault: it cannot be fetched, or a line of it is none.
        """
        with self._understood():
            data = self._exchange.opened().files.content(file).content
        for line in data.splitlines():
            if line.strip():
                yield _answered(line, at)

    def clear(self, files: tuple[str, ...]) -> None:
        """Delete files of a batch that is over: what people said does not stay on a server longer than it must."""
        for file in files:
            try:
                with self._understood():
                    self._exchange.opened().files.delete(file)
            except Fault as fault:
                if fault.status != _GONE:
                    raise


def _name(value: object) -> str:
    """Return an id or a state, which is never anything but a word."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"a word is missing: {value!r}"[:80])
    return value


def _answered(line: bytes, at: str) -> Answered:
    try:
        whole = _mapping(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        raise Fault("cut", f"a line of the answers is not JSON: {line[:80]!r}") from error
    question = str(whole.get("custom_id") or "")
    response = _mapping(whole.get("response"))
    body = _mapping(response.get("body"))
    status = response.get("status_code")
    if status == 200 and body:  # noqa: PLR2004 - HTTP's OK
        return Answered(question, body=dict(body), at=at)
    about = _mapping(whole.get("error")) or _mapping(body.get("error"))
    code = " ".join(str(about[name]) for name in ("code", "type") if about.get(name))
    message = str(about.get("message") or "no answer and no reason")
    return Answered(question, error=message[:300], status=status if isinstance(status, int) else 0, code=code, at=at)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
