"""A strong reader in the place of the model: its answers about the labelled sessions, kept and asked again.

An answer is kept without a word of the transcript: each quotation by the line of its record, where it begins in what
the record says, and how long it is; the memories are the reader's own words. What the reader proposed is put to the
checks of today, so that a change of the material or of the checks shows what it costs.

``python -m tests.quality.recorded_reader FOLDER`` writes the questions about which nothing is known into a folder, and
keeps the answers that somebody who reads well has put beside them (NAME.answer.json beside NAME.request.txt).
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from slowwave.extraction.job import extract_sessions
from slowwave.extraction.model.prompts import JUDGE
from slowwave.extraction.model.quotations import flat
from slowwave.memory import Candidate
from slowwave.memory.candidates import read_candidates
from slowwave.models.base import Answer, AnswerPendingError, Ask, LanguageModel, Usage
from slowwave.reading import Chosen, Edited, Failed, Meaning, Ran, Said
from slowwave.reading.session import read
from slowwave.report import Report
from slowwave.secrets import NAMELESS
from slowwave.settings import ModelSettings, Settings
from slowwave.stores.projects import Project
from tests.quality.beside import CORPUS
from tests.quality.gold_texts import sessions
from tests.quality.reading import LATER, line_at, stored, transcript_of
from tests.quality.unsynced import unsynced

ANSWERS = Path(__file__).with_name("reader_answers.jsonl")
_NAME = "reader"
# characters to a token, as the server counts that the answers were asked behind
_CHARS_TO_TOKEN = 4
_PASSAGE = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_PROPOSED = re.compile(r"^(\d+)\. \([a-z]+\) (.*)$", re.MULTILINE)


@dataclass(slots=True)
class Asked:
    """What one session came to.

    Attributes:
        candidates: all that were written, those of the rules too.
        report: of the run.
        proposed: how many memories the reader proposed.
        tokens: of questions and answers.
        unknown: memories about which the reader was never asked to judge.
    """

    candidates: list[Candidate]
    report: Report
    proposed: int = 0
    tokens: int = 0
    unknown: list[str] = field(default_factory=list[str])


class Recorded:
    """Answers about one session as they were kept."""

    name = _NAME

    def __init__(self, path: Path, kept: Mapping[str, Any]) -> None:
        self._says = _by_line(path)
        self._operations: list[dict[str, Any]] = kept["operations"]
        self._verdicts: Mapping[str, Any] = kept["verdicts"]
        self.proposed = sum(op["op"] != "drop" for op in self._operations)
        self.tokens = 0
        self.unknown: list[str] = []

    def answer(self, ask: Ask) -> Answer:
        """Answer as the reader did."""
        data = self._judged(ask.user) if ask.system == JUDGE else self._extracted(ask.user)
        text = json.dumps(data, ensure_ascii=False)
        prompt, completion = (len(words) // _CHARS_TO_TOKEN for words in (ask.system + ask.user, text))
        usage = Usage(prompt, completion)
        self.tokens += usage.prompt_tokens + usage.completion_tokens
        return Answer(data, text, "schema", usage, _NAME)

    def _extracted(self, material: str) -> dict[str, Any]:
        begins = [(found.start(), int(found[1])) for found in _PASSAGE.finditer(material)]
        ends = [start for start, _ in begins[1:]] + [len(material)]
        shown = {number: flat(material[start:end]) for (start, number), end in zip(begins, ends, strict=True)}
        operations: list[dict[str, Any]] = []
        for operation in self._operations:
            quotes = [{"passage": _holding(words, shown), "words": words} for words in self._quoted(operation)]
            operations.append({**operation, "quotes": quotes})
        return {"operations": operations}

    def _quoted(self, operation: Mapping[str, Any]) -> Iterator[str]:
        for line, start, length in operation["quotes"]:
            yield self._says.get(line, "")[start : start + length]

    def _judged(self, material: str) -> dict[str, Any]:
        verdicts: list[dict[str, Any]] = []
        for number, text in _PROPOSED.findall(material):
            verdict = self._verdicts.get(_mark(text))
            if verdict is None:
                self.unknown.append(text)
            else:
                verdicts.append({"number": int(number), **verdict})
        return {"verdicts": verdicts}


class Spool:
    """Writes questions into a folder and reads what somebody answered."""

    name = _NAME

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.waiting = 0
        self.answers: dict[str, tuple[Ask, Any]] = {}

    def answer(self, ask: Ask) -> Answer:
        """Return what was answered, or leave the question there."""
        digest = hashlib.sha256((ask.system + (ask.identity or ask.user)).encode()).hexdigest()[:12]
        answered = self._folder / f"{ask.purpose}-{digest}.answer.json"
        if not answered.exists():
            question = f"{ask.system}\n\nJSON schema of the answer: {json.dumps(ask.schema)}\n\n{ask.user}"
            (self._folder / f"{ask.purpose}-{digest}.request.txt").write_text(question, encoding="utf-8")
            self.waiting += 1
            raise AnswerPendingError("nobody has answered yet")
        data = json.loads(answered.read_bytes())
        self.answers[ask.purpose] = ask, data
        return Answer(data, answered.read_text(encoding="utf-8"), "schema", Usage(0, 0), _NAME)


def kept() -> dict[str, dict[str, Any]]:
    """Return the answers that were kept, by session."""
    rows = map(json.loads, ANSWERS.read_text(encoding="utf-8").splitlines())
    return {row["session"]: row for row in rows}


def asked(path: Path, model: LanguageModel) -> tuple[list[Candidate], Report]:
    """Extract from one session with a model into a memory of its own."""
    given = Settings(model=ModelSettings(base_url="http://127.0.0.1:9/v1", name=_NAME, concurrency=1))
    with TemporaryDirectory() as folder:
        root, session = Path(folder), stored(path)
        project = Project("quality", "", (root,), root / "memory", (session,))
        with unsynced():
            report = extract_sessions(project, (session,), given, LATER, force=True, home=root, model=model)
        return read_candidates(project.memory)[0], report


def replayed(path: Path, answers: Mapping[str, Any]) -> Asked:
    """Put what the reader said of a session to the checks of today."""
    model = Recorded(path, answers)
    candidates, report = asked(path, model)
    return Asked(candidates, report, model.proposed, model.tokens, model.unknown)


def record(folder: Path) -> tuple[int, int]:
    """Keep the answers of a folder; return how many sessions are answered, and how many wait."""
    rows: list[str] = []
    waiting = 0
    for path in sessions():
        spool = Spool(folder)
        _, report = asked(path, spool)
        if report.counts.get("model_pending") or "extract" not in spool.answers:
            waiting += 1
            continue
        says = _by_line(path)
        _, extracted = spool.answers["extract"]
        operations = [{**op, "quotes": list(_places(op["quotes"], says))} for op in extracted["operations"]]
        verdicts: dict[str, Any] = {}
        if "judge" in spool.answers:
            question, judged = spool.answers["judge"]
            texts = {int(number): text for number, text in _PROPOSED.findall(question.user)}
            for verdict in judged["verdicts"]:
                number = verdict.pop("number")
                verdicts[_mark(texts[number])] = verdict
        session = str(path.relative_to(CORPUS))
        row = {"session": session, "operations": operations, "verdicts": verdicts}
        rows.append(json.dumps(row, ensure_ascii=False, sort_keys=True))
    if not waiting:
        ANSWERS.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return len(rows), waiting


def _places(quotes: list[dict[str, Any]], says: Mapping[int, str]) -> Iterator[tuple[int, int, int]]:
    for quote in quotes:
        for piece in re.split(r"\s*(?:\u2026|\.{3})\s*", quote["words"]):
            words = flat(piece).strip("\"'")
            found = next(((line, text.find(words)) for line, text in says.items() if words and words in text), None)
            if found:
                yield *found, len(words)


def _holding(words: str, shown: Mapping[int, str]) -> int:
    return next((number for number, text in shown.items() if words and words in text), 0)


def _by_line(path: Path) -> dict[int, str]:
    """Return what each record of a session says, on one line, by the number of its line."""
    found: dict[int, str] = {}
    for item in read(transcript_of(path).messages, NAMELESS).items:
        line = line_at(path, item.sources[-1].offset)
        found[line] = f"{found.get(line, '')} {flat(_said_in(item))}".strip()
    return found


def _said_in(item: Meaning) -> str:
    match item:
        case Said():
            return item.text
        case Chosen():
            options = " ".join(f"- {o.label}: {o.description}" for o in item.options)
            return f"asked: {item.question} {options} the person chose: {item.answer}"
        case Ran():
            return f"`{item.line}` {item.cause}"
        case Failed():
            return item.error
        case Edited():
            return item.path


def _mark(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12]


if __name__ == "__main__":
    done, left = record(Path(sys.argv[1]))
    print(f"{done} sessions are answered, {left} wait for answers in {sys.argv[1]}")
    sys.exit(bool(left))
