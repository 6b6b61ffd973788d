"""The proof of a compaction: questions that the messages answer, asked of the summary that shall stand for them.

:func:`probes_of` makes the questions from what goes away, independently of how the ledger chooses its lines;
:func:`checked` asks them and tells what is lost and where it can be read back; :func:`verdict` decides.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

from slowwave.compaction.calls import Exchange, Redact, exchanges, signatures, tasks_of
from slowwave.compaction.files import files_of_call, of_messages, shown
from slowwave.formats import Message, Span, Text
from slowwave.hostile import is_hostile, one_line
from slowwave.reading.pastes import own_words
from slowwave.secrets import NAMELESS

ProbeKind = Literal[
    "modified", "read", "error", "command", "ask", "constraint", "task", "decision", "identifier"
]  # fmt: skip
KINDS: tuple[ProbeKind, ...] = (
    "modified",
    "read",
    "error",
    "command",
    "ask",
    "constraint",
    "task",
    "decision",
    "identifier",
)
# what a next turn needs most weighs most; a wrong start costs more than a file read again
WEIGHTS: dict[ProbeKind, int] = {
    "modified": 3,
    "read": 1,
    "error": 3,
    "command": 1,
    "ask": 2,
    "constraint": 2,
    "task": 2,
    "decision": 2,
    "identifier": 1,
}
_TEXT_CHARS = 200


class Probe(NamedTuple):
    """One thing that a summary should still tell."""

    kind: ProbeKind  # what it is
    text: str  # in the words of the session
    spellings: tuple[str, ...] = ()  # what counts as telling it exactly; none when its words are what counts
    failed: bool = False  # of a command: it failed the last time
    sources: tuple[Span, ...] = ()  # the records that it comes from


class Place(NamedTuple):
    """Bytes of a session's file: which part, from where, how many."""

    part: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Loss:
    """What became of the probes."""

    total: dict[ProbeKind, int]  # number of probes by kind; kinds without any are not in it
    lost: tuple[Probe, ...]  # the probes that the summary does not answer, in their order

    def retention(self, kind: ProbeKind) -> float:
        """Return the share of a kind that was kept; 1 when there was nothing to keep."""
        number = self.total.get(kind, 0)
        return 1 - sum(probe.kind == kind for probe in self.lost) / number if number else 1.0

    @property
    def score(self) -> float:
        """The mean retention over the kinds that there are, weighted."""
        weight = sum(WEIGHTS[kind] for kind in self.total)
        return sum(WEIGHTS[kind] * self.retention(kind) for kind in self.total) / weight if weight else 1.0

    def as_fields(self) -> dict[str, object]:
        """Return the report as it is stored: kept and total by kind, and every lost probe with where it stands."""
        gone = Counter(probe.kind for probe in self.lost)
        return {
            "score": round(self.score, 4),
            "kinds": {kind: {"kept": n - gone[kind], "total": n} for kind, n in self.total.items()},
            "lost": [
                {
                    "kind": probe.kind,
                    "text": probe.text[:_TEXT_CHARS],
                    "ranges": [place._asdict() for place in places(probe.sources)],
                }
                for probe in self.lost
            ],
        }


class Verdict(NamedTuple):
    """Whether a summary may stand for what it summarises; ``reason`` says why not."""

    passes: bool
    reason: str = ""


def places(sources: Sequence[Span]) -> list[Place]:
    """Return where records stand, each once, in their order."""
    found = {Place(span.part, span.offset, len(span.raw)) for span in sources}
    return sorted(found)


# Probes made from messages: exact ones from calls and results, words from what was typed and said.
#
# They are made by rules of their own, so that what the ledger overlooks is seen: nothing here is shared with its choice
# of lines but the reading of calls (files, outcomes, error lines, task lists), which has tests against plain scans.

_COMMAND_CHARS = 70
_ERROR_CHARS = 60
_MESSAGE = re.compile(r"^git commit .*-m [\"']?(.+?)[\"']?$")
_LEAST_MESSAGE = 12
# commands that change what others see
_PUBLIC = frozenset({"git", "gh", "docker", "kubectl", "terraform", "helm", "psql", "sqlite3", "curl", "ssh", "scp"})


def probes_of(messages: Sequence[Message], cwd: str = "", *, redact: Redact = NAMELESS) -> list[Probe]:
    """Return what a summary of messages should still tell, in a fixed order.

    ``messages``: what goes away; earlier summaries among them give no probes, for they were proven in their time.
    ``cwd``: the folder that paths are seen from. ``redact``: takes secrets out, as the summary has none either.
    """
    own = [m for m in messages if m.active and not m.sidechain and m.origin != "summary"]
    every = list(exchanges(own))
    return [
        *_files(own, cwd),
        *_errors(every, redact),
        *_commands(every, redact),
        *_tasks(every, redact),
        *statements(own, redact),
        *identifiers(own, every, redact),
    ]


def _files(messages: Sequence[Message], cwd: str) -> Iterator[Probe]:
    cwd = cwd or next((message.cwd for message in messages if message.cwd), "")
    files = of_messages(messages, cwd)
    named = _places_of_names(messages)
    lists: tuple[tuple[ProbeKind, list[str]], ...] = (("modified", files.modified_files), ("read", files.read_files))
    for kind, paths in lists:
        for path in paths:
            sources = next((named[n] for n in (path, path.rsplit("/", 1)[-1]) if n in named), ())
            yield Probe(kind, path, tuple(dict.fromkeys((path, shown(path, cwd)))), sources=sources)


def _places_of_names(messages: Sequence[Message]) -> dict[str, tuple[Span, ...]]:
    """Return the records of the calls that name a file last, by the file's path or its name."""
    found: dict[str, tuple[Span, ...]] = {}
    for exchange in exchanges(messages):
        for touched in files_of_call(exchange.call, exchange.result):
            found[touched.path] = found[touched.path.rsplit("/", 1)[-1]] = exchange.sources
    return found


def _errors(every: Sequence[Exchange], redact: Redact) -> Iterator[Probe]:
    for one in signatures(every, redact):
        yield Probe("error", one.text, (one.text[:_ERROR_CHARS].strip(),), sources=one.sources)


def _commands(every: Sequence[Exchange], redact: Redact) -> Iterator[Probe]:
    """Yield commands with a purpose, and those that others see, with their last outcome."""
    last: dict[str, tuple[Exchange, bool]] = {}
    for exchange in every:
        steps = exchange.done(redact)
        is_one = any(step.outcome == "failed" for step in steps)
        for step in steps:
            if step.purpose or step.program in _PUBLIC:
                text = one_line(step.text).split("$(")[0][:_COMMAND_CHARS].strip(" \"'-")
                last[text] = exchange, step.outcome == "failed" if is_one else exchange.failed
    for text, (exchange, failed) in last.items():
        yield Probe("command", text, _tellings(text), failed, exchange.sources)


def _tellings(command: str) -> tuple[str, ...]:
    """A commit may be told by its message."""
    message = _MESSAGE.search(command)
    return (command, message[1].strip()) if message is not None and len(message[1]) >= _LEAST_MESSAGE else (command,)


def _tasks(every: Sequence[Exchange], redact: Redact) -> Iterator[Probe]:
    for task in tasks_of(every):
        if task.status != "completed":
            yield Probe("task", one_line(redact(task.text)), sources=task.sources)


# Probes of words: what a person asked, what must hold, what was decided and why, and names that cannot be guessed.

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MUST = re.compile(
    r"\b(?:must|never|always|only (?:use|ever|the)|do not|don'?t (?:use|add|touch|change|check|commit|push|edit|make)"
    r"|no need (?:for|to)|make sure|prefer|has to|have to|not allowed|instead of|rather than|avoid)\b",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"\b(?:let'?s (?:go|use|keep|do)|go with|going with|decided|chose|we(?:'ll| will| should)"
    r"|i(?:'ll| will) (?:use|keep|go))\b",
    re.IGNORECASE,
)
_WHY = re.compile(r"\b(?:because|since|so that|to avoid|rather than|instead of|otherwise)\b", re.IGNORECASE)
_NAME = re.compile(
    r"https?://[^\s<>\"'`)\]}|]{4,160}|\b[A-Z][A-Z0-9]{1,9}-\d{2,6}\b|(?<![\w&])#\d{1,6}\b"
    r"|(?<![\w.-])v?\d+\.\d+\.\d+(?!\w|\.\d)|\b(?:port|localhost|127\.0\.0\.1)[ :=]\d{2,5}\b"
)
_NO_NAME = re.compile(r"^(?:UTF|SHA|ISO|RFC|HTTP|AES|MD|GPT|CVE|ES|WCAG)-\d|^https?://(?:localhost|127\.)")
_COMMIT = re.compile(r"^\[[^\]\n]{1,100} ([0-9a-f]{7,40})\] ", re.MULTILINE)
_PULL = re.compile(r"https?://[^\s<>\"'`)\]]+/(?:pull|merge_requests|issues)/\d+")
_LEAST_WORDS, _LEAST_ASK = 3, 2
_CHARS, _SENTENCE_CHARS, _OUTPUT_CHARS = 20_000, 400, 4_000
_ENDS = ".,;:!?"


def statements(messages: Sequence[Message], redact: Redact) -> Iterator[Probe]:
    """Yield asks, constraints and decisions, in the order in which they were said."""
    for message in messages:
        is_person = message.role == "user" and message.origin == "typed"
        if not is_person and message.role != "assistant":
            continue
        for block, span in message.placed():
            if isinstance(block, Text) and block.text.strip():
                words = own_words(redact(block.text[:_CHARS]))
                yield from _typed(words, span) if is_person else _said(words, span)


def _typed(text: str, span: Span) -> Iterator[Probe]:
    if len(content(words_of(text))) >= _LEAST_ASK:
        yield Probe("ask", one_line(text), sources=(span,))
    for sentence in _sentences(text):
        if sentence.endswith("?"):
            continue
        if _MUST.search(sentence):
            yield Probe("constraint", sentence, sources=(span,))
        elif _DECIDED.search(sentence):
            yield Probe("decision", sentence, sources=(span,))


def _said(text: str, span: Span) -> Iterator[Probe]:
    """Of what the agent says only decisions with their reason matter."""
    for sentence in _sentences(text):
        if _DECIDED.search(sentence) and _WHY.search(sentence):
            yield Probe("decision", sentence, sources=(span,))


def _sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        line = one_line(sentence)
        if len(content(words_of(line))) >= _LEAST_WORDS and len(line) <= _SENTENCE_CHARS and not is_hostile(line):
            yield line


def identifiers(messages: Sequence[Message], every: Sequence[Exchange], redact: Redact) -> Iterator[Probe]:
    """Yield what the person named, and the commits and pull requests that commands told, each once."""
    found: dict[str, Span] = {}
    for name, span in chain(_typed_names(messages, redact), _made_names(every, redact)):
        found.setdefault(name.rstrip(_ENDS), span)
    for name, span in found.items():
        if not _NO_NAME.match(name):
            yield Probe("identifier", name, (name,), sources=(span,))


def _typed_names(messages: Sequence[Message], redact: Redact) -> Iterator[tuple[str, Span]]:
    for message in messages:
        if message.role == "user" and message.origin == "typed":
            for block, span in message.placed():
                if isinstance(block, Text):
                    yield from ((name, span) for name in _NAME.findall(own_words(redact(block.text[:_CHARS]))))


def _made_names(every: Sequence[Exchange], redact: Redact) -> Iterator[tuple[str, Span]]:
    for exchange in every:
        if exchange.line and exchange.result is not None and not exchange.failed:
            output = redact(exchange.result.text[-_OUTPUT_CHARS:])
            names = (*_made(_COMMIT, "commit", exchange, output), *_made(_PULL, "gh pr create", exchange, output))
            yield from ((name, exchange.sources[-1]) for name in names)


def _made(pattern: re.Pattern[str], command: str, exchange: Exchange, output: str) -> Sequence[str]:
    return pattern.findall(output) if command in exchange.line else ()


# Whether a summary answers probes: what is exact must stand there, words may stand there in another order.

_SPACE = re.compile(r"\s+")
_FAILED = re.compile(r"\b(?:fail\w*|error\w*|exit \d|broke\w*|blocked|crash\w*|not resolved|unresolved)\b")
# of a long text its beginning says what it is about
_MOST_WORDS = 40
_SAME_RUNS = 0.5
_SAME_WORDS = 0.6
# a statement may go over the next lines
_LINES = 3
_FILES = ("modified", "read")


def runs(words: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Return every run of five words; all of them when there are fewer."""
    size = min(_FIVE, len(words))
    return frozenset(tuple(words[at : at + size]) for at in range(len(words) - size + 1)) if size else frozenset()


class _Summary(NamedTuple):
    flat: str
    lines: tuple[str, ...]
    runs: dict[int, frozenset[tuple[str, ...]]]
    windows: tuple[frozenset[str], ...]


def checked(probes: Iterable[Probe], summary: str) -> Loss:
    """Ask every probe of a summary and return what is lost."""
    every = list(probes)
    read = _read(summary)
    total = Counter[ProbeKind](probe.kind for probe in every)
    return Loss(dict(total), tuple(probe for probe in every if not _is_kept(probe, read)))


def _read(summary: str) -> _Summary:
    lines = tuple(_plain(line) for line in summary.split("\n") if line.strip())
    words = words_of(summary)
    by_size = {size: frozenset(zip(*(words[at:] for at in range(size)), strict=False)) for size in range(1, 6)}
    of_lines = [content(words_of(line)) for line in lines]
    windows = tuple(frozenset[str]().union(*of_lines[at : at + _LINES]) for at in range(len(of_lines)))
    return _Summary("\n".join(lines), lines, by_size, windows)


def _plain(text: str) -> str:
    """Return a text as one line without what differs between two spellings of the same."""
    return _SPACE.sub(" ", text.replace("\\", "/").replace("`", "'").casefold()).strip()


def _is_kept(probe: Probe, summary: _Summary) -> bool:
    if probe.kind in _FILES or probe.kind == "identifier":
        return any(_stands(_plain(text), summary.flat) for text in probe.spellings)
    if probe.kind == "command":
        return any(_tells(_plain(text), summary.lines, failed=probe.failed) for text in probe.spellings)
    if any(_plain(text) in summary.flat for text in probe.spellings):
        return True
    return _says(words_of(probe.text)[:_MOST_WORDS], summary)


def _stands(text: str, flat: str) -> bool:
    """Say whether a name stands in a text, not as a part of a longer one; a path may go on to the left."""
    return bool(text) and re.search(rf"(?<![\w.-]){re.escape(text)}(?![\w/-])", flat) is not None


def _tells(command: str, lines: Sequence[str], *, failed: bool) -> bool:
    """Say whether a line names a command and, when it failed, says so."""
    return any(command in line and (not failed or _FAILED.search(line) is not None) for line in lines)


def _says(words: Sequence[str], summary: _Summary) -> bool:
    own = runs(words)
    if not own:
        return True
    size = len(next(iter(own)))
    if len(own & summary.runs[size]) >= _SAME_RUNS * len(own):
        return True
    telling = content(words)
    least = _SAME_WORDS * len(telling)
    return bool(telling) and any(len(telling & window) >= least for window in summary.windows)


# Whether a summary is good enough to stand for what it summarises.

THRESHOLD = 0.6
# the cheapest to keep and the dearest to lose: no summary does without them
ALWAYS: tuple[tuple[ProbeKind, str], ...] = (("modified", "changed files"), ("error", "errors"))


def verdict(loss: Loss, threshold: float = THRESHOLD) -> Verdict:
    """Return whether a summary passes; every changed file and every error must be told, whatever the threshold.

    ``loss``: what became of the probes. ``threshold``: the least score, from 0 to 1; 0 asks for nothing at all.
    """
    if threshold <= 0:
        return Verdict(passes=True)
    for kind, name in ALWAYS:
        number = sum(probe.kind == kind for probe in loss.lost)
        if number:
            return Verdict(passes=False, reason=f"{number} of {loss.total[kind]} {name} are not told")
    if loss.score < threshold:
        return Verdict(passes=False, reason=f"it keeps {loss.score:.0%} of what was asked for, {threshold:.0%} needed")
    return Verdict(passes=True)


# Words of texts, to see whether two tell the same: in the same order, or the same words in other order.

_WORD = re.compile(r"[^\W_]+")
_FIVE = 5
# fmt: off
_EMPTY = frozenset({
    "a", "an", "the", "this", "that", "it", "its", "is", "are", "be", "was", "were", "to", "of", "for", "in", "on",
    "at", "with", "by", "from", "as", "and", "or", "so", "then", "we", "you", "i", "me", "my", "our", "us", "your",
    "do", "does", "did", "have", "has", "had", "can", "could", "would", "should", "will", "please", "let", "lets",
    "s", "t", "ll", "ve", "re", "d", "m", "now", "also", "just", "ok", "okay", "yes", "no", "not", "but", "if",
    "there", "they", "them", "these", "those", "what", "which", "how", "all", "some", "any",
})
# fmt: on


def words_of(text: str) -> list[str]:
    """Return the words of a text."""
    return _WORD.findall(text.casefold())


def content(words: Sequence[str]) -> frozenset[str]:
    """Return the words that say something."""
    return frozenset(word for word in words if word not in _EMPTY)
