"""What a job asks a language model, what it gets back, and what it costs, whichever server answers.

A job is given a :class:`LanguageModel` or None. None is the usual case: nothing of a model is imported then, no socket
is opened, and the job does offline what it can.

A question is charged before it is asked with the most that it may cost, so that many at once cannot overspend together,
and settled afterwards with what the server counted. One run may work in several processes: with a journal they share
one account, under a lock of the kernel that dies with its holder. A process that is killed between the two leaves its
charge standing, which errs on the side of the person who pays.
"""

import os
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from slowwave.errors import REFUSED, UNREADABLE, SlowwaveError
from slowwave.files import file_bytes, private_folder
from slowwave.locks import locked_file
from slowwave.settings import ModelSettings

# How an answer was asked for, the strictest first: the server holds the model to the schema, or to JSON only, or the
# model was asked for plain text, in the form that whoever asks can read.
Form = Literal["schema", "json", "lines"]


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to a model."""

    purpose: str  # what it is for, one word; the meter and the report count by it
    system: str  # who the model is to be and what rules hold
    user: str  # the material; secrets are out of it already
    # JSON schema of the answer. Within the strict subset: every property required, no others allowed.
    schema: Mapping[str, Any]
    schema_name: str  # name of the schema, letters, digits, ``_`` and ``-``
    max_output_tokens: int  # an answer that would need more is cut off and counts as malformed
    # how an answer may be written by a model that can give no JSON, as a sentence for the prompt; "" where only JSON
    # will do
    line_form: str = ""
    # says of a plain answer whether it keeps to ``line_form``; None takes any words
    is_in_form: Callable[[str], bool] | None = None
    # what makes it the same question another night although its surroundings have changed; "" for all of its words
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one answer cost."""

    prompt_tokens: int  # as the server counted them, or else estimated
    completion_tokens: int  # the same of the answer
    usd: float = 0.0  # as whoever answered tells it, or else by the prices of the settings; 0.0 where none are set
    is_estimated: bool = False  # nobody counted the tokens, at least of one side


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said."""

    # the decoded JSON; None when the answer came as lines. It has the schema's outer shape at best: whoever uses it
    # checks every value.
    data: Any
    text: str  # exactly what came
    form: Form  # how it was asked for
    usage: Usage  # what it cost
    model: str  # name of the model, as the server tells it


class LanguageModel(Protocol):
    """A model that answers one question at a time; it may be asked from several threads."""

    @property
    def name(self) -> str:
        """The model's name as the settings give it."""
        ...

    def answer(self, ask: Ask) -> Answer:
        """Ask, with all retries.

        Raises ModelUnavailableError: nobody answered, also after retries; AnswerPendingError: it is asked in a batch,
        whose answers are read another night; ModelRefusedError: the model would not answer; ContextOverflowError: the
        question is too long for the model; MalformedAnswerError: the answer is cut off or is not JSON; or no answer of
        a model at all; BudgetSpentError: the answer might cost more than is left; nothing was asked.
        """
        ...


class ModelError(SlowwaveError):
    """A question that got no answer; the job does without it and says so."""

    exit_code = UNREADABLE


class ModelUnavailableError(ModelError):
    """No answer after all retries: no connection, too slow, cut off, too many requests, or an error of the server.

    Attributes:
        is_general: no other question will be answered in this run either.
    """

    def __init__(self, message: str, *, is_general: bool = False) -> None:
        super().__init__(message)
        self.is_general = is_general


class ModelRefusedError(ModelError):
    """The model declined, or a filter of its provider did."""


class ContextOverflowError(ModelError):
    """The question is longer than the model's context: ask for less at once."""


class MalformedAnswerError(ModelError):
    """The answer was cut off at its limit or cannot be decoded."""


class StrangeAnswerError(MalformedAnswerError):
    """What came is no chat completion at all: it may be something else than a model's server that answered."""


class AnswerPendingError(ModelError):
    """The question waits in a batch; its answer comes with another night."""


class BudgetSpentError(ModelError):
    """The budget of this run does not cover another question; the next run goes on."""

    exit_code = REFUSED


_MILLION = 1_000_000
# the account has one length for ever
_MOST_PROGRAM = 60
# USD for a million tokens, questions and answers, where a money budget is set and prices are not: above most models
ASSUMED_PRICES = (15.0, 75.0)


def prices_of(settings: ModelSettings) -> tuple[float, float]:
    """Return the prices of the settings; a money budget without prices holds against high ones."""
    given = (settings.price_input, settings.price_output)
    return ASSUMED_PRICES if settings.budget_usd and not any(given) else given


class Account(msgspec.Struct):
    """What a run has asked and spent."""

    calls: int = 0  # answers that were paid for
    prompt_tokens: int = 0  # tokens of the questions
    completion_tokens: int = 0  # tokens of the answers
    usd: float = 0.0  # by the prices of the settings
    held_tokens: int = 0  # charged for questions that are on their way
    held_usd: float = 0.0  # the same in money
    estimated: int = 0  # answers whose tokens nobody counted
    program: str = ""  # the command that answered, with its version


def read_account(journal: Path) -> Account:
    """Return the account that a journal holds. Raises BudgetSpentError: it is damaged; OSError: it cannot be read."""
    return _account(file_bytes(journal), journal)


def _account(data: bytes, journal: Path) -> Account:
    """Return an account as it stands in a journal; with a damaged one nobody knows what is left, so nothing is."""
    try:
        return msgspec.json.decode(data, type=Account) if data.strip() else Account()
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BudgetSpentError(f"{journal}: is not an account ({error}); the next run asks on a new one") from error


class Meter:
    """The account of one run.

    With a journal all methods raise BudgetSpentError when it is damaged, and UnreadableError or OSError when it cannot
    be opened or written. ``settings``: budgets and prices. ``journal``: the file that the processes of the run share;
    None keeps the account in memory.
    """

    def __init__(self, settings: ModelSettings, journal: Path | None = None) -> None:
        self._settings = settings
        self._journal = journal
        self._lock = threading.Lock()
        self._account = Account()

    def price(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return what so many tokens cost in USD."""
        asking, answering = prices_of(self._settings)
        return (prompt_tokens * asking + completion_tokens * answering) / _MILLION

    def hold(self, prompt_tokens: int, completion_tokens: int, share: float = 1.0) -> Usage:
        """Charge what a question may cost at most; give the result to :meth:`settle`.

        Raises BudgetSpentError: it does not fit what is left; nothing was charged.
        """
        most = Usage(prompt_tokens, completion_tokens, self.price(prompt_tokens, completion_tokens) * share)
        with self._opened() as account:
            self._refuse_beyond(account, most)
            account.held_tokens += most.prompt_tokens + most.completion_tokens
            account.held_usd += most.usd
        return most

    def settle(self, held: Usage, spent: Usage | None) -> None:
        """Replace a charge by what was spent; None when nothing was."""
        with self._opened() as account:
            account.held_tokens -= held.prompt_tokens + held.completion_tokens
            account.held_usd -= held.usd
            if spent is not None:
                account.calls += 1
                account.prompt_tokens += spent.prompt_tokens
                account.completion_tokens += spent.completion_tokens
                account.usd += spent.usd
                account.estimated += spent.is_estimated

    def note_program(self, program: str) -> None:
        """Note which command answers, with its version."""
        with self._opened() as account:
            account.program = program[:_MOST_PROGRAM]

    def spent(self) -> Account:
        """Return a copy of the account as it is now."""
        with self._opened() as account:
            return msgspec.structs.replace(account)

    def _refuse_beyond(self, account: Account, most: Usage) -> None:
        limits = self._settings
        used = account.prompt_tokens + account.completion_tokens + account.held_tokens
        more = most.prompt_tokens + most.completion_tokens
        if limits.budget_tokens and used + more > limits.budget_tokens:
            raise BudgetSpentError(
                f"model.budget_tokens = {limits.budget_tokens}: {used} tokens are spent or on their way, and the next"
                f" question may need {more}; the next run goes on, or raise the budget"
            )
        if limits.budget_usd and account.usd + account.held_usd + most.usd > limits.budget_usd:
            raise BudgetSpentError(
                f"model.budget_usd = {limits.budget_usd:g}: {account.usd + account.held_usd:.4f} USD are spent or on"
                f" their way, and the next question may cost {most.usd:.4f}; the next run goes on, or raise the budget"
            )

    @contextmanager
    def _opened(self) -> Generator[Account]:
        with self._lock:
            if self._journal is None:
                yield self._account
                return
            private_folder(self._journal.parent)
            with locked_file(self._journal, create=True) as fd:
                account = _account(os.read(fd, 1 << 16), self._journal)
                yield account
                # one length for ever: a shorter form never leaves the end of a longer one behind
                os.pwrite(fd, msgspec.json.encode(account).ljust(512), 0)


# How many tokens a text will be, without the model's own tokenizer.
#
# A third of its UTF-8 bytes: 7 % above what transcripts of coding agents are in Claude's tokens (3.2 characters each),
# and more above the thriftier tokenizers; a Chinese character counts as one. Small models with few merges may need
# more, and then their server says so and the question is halved.

_BYTES = 3
# what a server wraps around each message, and the start of the answer
_WRAPPING = 16


def bytes_of(tokens: int) -> int:
    """Return how many bytes a text of so many tokens may have, rather too few than too many."""
    return tokens * _BYTES


def estimated_tokens(*texts: str) -> int:
    """Return how many tokens a question of these messages will have, rather too many than too few."""
    return sum(-(-len(text.encode("utf-8", "replace")) // _BYTES) + _WRAPPING for text in texts)
