"""Effect: does ``slowwave memory effect`` say rightly what later sessions made of a delivered memory?"""

import hashlib
import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from slowwave.consolidation.effect.verdicts import Watch
from slowwave.consolidation.slots import key_of
from slowwave.extraction.job import extract_sessions
from slowwave.memory import iso, name_to_json
from slowwave.memory.book import replay
from slowwave.memory.delivery import Placed, Register, told_as
from slowwave.memory.effects import effects_of, read_effects, with_rows
from slowwave.memory.folder import TOPICS, fact_line
from slowwave.memory.ledger import PATH, VERSION, Event, IndexEntry, encode_events, line_hash
from slowwave.models.base import Answer, Ask, LanguageModel, Usage
from slowwave.secrets import Redactor
from slowwave.settings import ModelSettings, Settings
from slowwave.stores.discovery import find_projects
from slowwave.stores.projects import Project, spelled
from tests.quality.intervals import counted
from tests.quality.reading import LATER
from tests.quality.recorded_reader import Spool
from tests.quality.table import Must, Section, Table
from tests.quality.timelines import CLIENTS, FATES, Timeline, seen_timelines, timelines, written_timelines
from tests.quality.timelines_second import SECOND
from tests.quality.unsynced import unsynced
from tests.week.cersei import write_cersei
from tests.week.claude import write_claude
from tests.week.codex import write_codex
from tests.week.opencode import Begun, write_opencode
from tests.week.pi import write_pi
from tests.week.script import SampleFile, Script

PRECISION, RECALL = 0.9, 0.8
# what outsiders wrote; TIMELINES=path measures another file in place of these
WRITTEN = Path(__file__).parent / "fresh" / "timelines.jsonl"
WRITTEN_SECOND = WRITTEN.with_name("timelines_second.jsonl")
WRITTEN_THIRD = WRITTEN.with_name("timelines_third.jsonl")
# one's own, written while rules were mended
OWN = Path(__file__).parent / "rules_seen.txt"
_PROJECT = re.compile(r"^Project: .*$", re.MULTILINE)
_NOTE = re.compile(r"^C[0-9a-f]{6,}(?= \()", re.MULTILINE)
_NAMED = re.compile(r"\bM[0-9a-f]{6,}\b")
_STARRED = re.compile(r"^(M[0-9a-f]{6,})\* ", re.MULTILINE)
_VERDICTS = ("followed", "broken", "no occasion")
_HEADER = ("", "said rightly", "precision", "95 %", "found", "recall", "95 %")


@dataclass(frozen=True, slots=True)
class Judged:
    """A timeline, and what was said of each of its texts."""

    case: Timeline
    said: Mapping[int, str]


def measure(*, errors: bool = False) -> Section:
    """Measure the verdicts on the planted timelines, and on those that somebody wrote by hand, where there are any."""
    sets = {
        "": ("timelines", timelines()),
        ", second set": ("timelines of another author", timelines(29, SECOND)),
    }
    sets[", one's own rules"] = ("timelines of rules that were written while these were mended", seen_timelines(OWN))
    named = os.environ.get("TIMELINES", "")
    written = {", by hand": WRITTEN, ", second by hand": WRITTEN_SECOND, ", third by hand": WRITTEN_THIRD}
    by_hand = {", by hand": Path(named)} if named else written
    for name, path in by_hand.items():
        title = f"timelines of {path.name}, each written by hand by somebody who had not seen the code"
        sets[name] = (title, written_timelines(path))
    kept = {row["question"]: row["said"] for row in map(json.loads, ANSWERS.read_text("utf-8").splitlines())}
    section = Section([], [], [f"every fate in every client: {len(FATES)} x {len(CLIENTS)}, in each set but one's own"])
    for name, (title, cases) in sets.items():
        every = [Judged(case, verdicts_on(case, number)) for number, case in enumerate(cases)]
        total = _counts(every)
        section.tables += _tables(title, every)
        section.musts += [
            Must(f"precision of verdicts{name}", total["right"] / max(1, total["said"]), PRECISION),
            Must(f"recall of verdicts{name}", total["right"] / max(1, total["expected"]), RECALL),
            *(_must(verdict, every, name) for verdict in _VERDICTS[:2]),
        ]
        if errors:
            section.notes += [_wrong(one) for one in every if dict(one.said) != one.case.expected]
    for name, path in _OF_READER.items():
        reader = Recorded(kept)
        every = [Judged(case, verdicts_on(case, number, reader)) for number, case in enumerate(written_timelines(path))]
        total = _counts(every)
        section.tables += _tables(f"timelines of {path.name} {name.partition(',')[0]}", every)
        section.musts += [
            Must(f"precision of verdicts, {name}", total["right"] / max(1, total["said"]), PRECISION),
            Must(f"recall of verdicts, {name}", total["right"] / max(1, total["expected"]), RECALL),
            *(_must(verdict, every, f", {name}") for verdict in _VERDICTS),
        ]
        section.notes.append(f"{path.name}: {reader.asked} questions, {reader.unknown} of them never asked before")
        if errors:
            section.notes += [_wrong(one) for one in every if dict(one.said) != one.case.expected]
    return section


def _wrong(one: Judged) -> str:
    case = one.case
    label = f"{case.name} {case.fate}, {case.client}".strip()
    return f"  wrong  [{label}] {' / '.join(case.texts)}: said {dict(one.said)}, right {case.expected}"


def _tables(title: str, every: Sequence[Judged]) -> Iterator[Table]:
    groups: dict[str, dict[str, list[Judged]]] = defaultdict(lambda: defaultdict(list))
    for one in every:
        groups["by what was planted"][one.case.fate].append(one)
        groups["by client"][one.case.client].append(one)
        groups["by kind of memory"][one.case.wish].append(one)
    rows = [_row("all", every), *(_of(v, every) for v in _VERDICTS)]
    yield Table(f"{len(every)} {title}", _HEADER, rows)
    yield from (Table(name, _HEADER, [_row(key, of) for key, of in group.items()]) for name, group in groups.items())


def verdicts_on(case: Timeline, number: int, model: LanguageModel | None = None) -> dict[int, str]:
    """Return what is said of the texts of a timeline that its session was told, read as its client left it on disk.

    Args:
        case: the timeline.
        number: its number, by which its texts get their ids.
        model: reads the session as well; what it says counts where the rules say nothing.
    """
    with TemporaryDirectory() as folder, unsynced():
        home = Path(folder)
        root = home / "work" / "parser"
        root.mkdir(parents=True)
        script = Script(f"line-{number}", case.client, "parser", 1, 0, "", "", case.steps)
        for file in _files(script, case, str(root)):
            path = home / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
            os.utime(path, (file.modified.timestamp(), file.modified.timestamp()))
        (project,) = find_projects(Settings(), {"HOME": str(home)}).projects
        names = [f"{number:04}aaaaaaa{n}" for n in range(len(case.texts))]
        events = events_of(case, names)
        (project.memory / PATH).parent.mkdir(parents=True)
        (project.memory / PATH).write_bytes(encode_events(events))
        watch = Watch(project, _register(case, project))
        rows = watch.over(project.sessions)
        if model is not None:
            given = Settings(model=ModelSettings(base_url="http://127.0.0.1:9/v1", name=model.name, concurrency=1))
            extract_sessions(
                project,
                project.sessions,
                given,
                LATER,
                force=True,
                home=home,
                model=model,
                redact=Redactor(b"the same for everybody"),
                told_to=watch.told_to,
            )
            rows = with_rows(rows, read_effects(project.memory)[0])
        found = effects_of(replay(events).memories.values(), rows)
        return {names.index(name): effect.verdict for name, effect in found.items() if effect.verdict != "told"}


def _files(script: Script, case: Timeline, cwd: str) -> Sequence[SampleFile]:
    match case.client:
        case "codex":
            return [write_codex(script, case.began, cwd)]
        case "pi":
            return [write_pi(script, case.began, cwd)]
        case "opencode":
            return [file for file in (write_opencode([Begun(script, case.began, cwd)]),) if file]
        case _:
            written = (write_cersei if case.client == "cersei" else write_claude)(script, case.began, cwd)
            folder = f".claude/projects/{spelled(cwd)}"
            return [
                SampleFile(f"{folder}/{name}", b"".join(orjson.dumps(line) + b"\n" for line in lines), written.ended)
                for name, lines in written.lines.items()
            ]


def events_of(case: Timeline, names: Sequence[str]) -> list[Event]:
    """Return the ledger: the memory at its time, and what replaced it."""
    events: list[Event] = []
    for number, text in enumerate(case.texts):
        at = iso(case.changed if number and case.changed else case.delivered)
        line = fact_line("constraint", text, "")
        fields: dict[str, Any] = {"v": VERSION, "dream": f"d{number}", "at": at}
        key, value = key_of(text)
        events.append(Event(event="dream", **fields))
        events.append(
            Event(
                event="add", memory=names[number], category="constraint", text=text, key=key, value=value,
                confidence=0.9, valid_from=at, file=TOPICS["constraint"].file, line=line, sha256=line_hash(line),
                **fields,
            )
        )  # fmt: skip
        if number:
            events.append(
                Event(event="supersede", memory=names[0], successor=names[1], valid_to=at, reason="newer", **fields)
            )
        events.append(Event(event="index", entries=(IndexEntry(names[number], line_hash(line)),), **fields))
    return events


def _register(case: Timeline, project: Project) -> Register:
    """Return the register as the last delivery left it: it holds what stands in the file now."""
    is_changed = case.changed is not None and case.changed <= case.began
    at = case.changed if is_changed and case.changed else case.delivered
    placed = Placed(
        project=project.key, root=name_to_json(project.root), memory=name_to_json(project.memory),
        clients=("codex", "opencode", "pi"), since={told_as(case.texts[int(is_changed)]): iso(at)},
    )  # fmt: skip
    return Register(files={"AGENTS.md": placed})


def _counts(every: Sequence[Judged], verdict: str = "") -> Counter[str]:
    found: Counter[str] = Counter()
    for one in every:
        said = {(n, v) for n, v in one.said.items() if verdict in ("", v)}
        expected = {(n, v) for n, v in one.case.expected.items() if verdict in ("", v)}
        found.update(said=len(said), expected=len(expected), right=len(said & expected))
    return found


def _row(name: str, every: Sequence[Judged], verdict: str = "") -> tuple[str, ...]:
    n = _counts(every, verdict)
    return (name, *_cells(n["right"], n["said"]), *_cells(n["right"], n["expected"]))


def _cells(right: int, total: int) -> tuple[str, str, str]:
    return counted(right, total) if total else ("0/0", "-", "-")


def _of(verdict: str, every: Sequence[Judged]) -> tuple[str, ...]:
    return _row(f"  {verdict}", every, verdict)


def _must(verdict: str, every: Sequence[Judged], of: str = "") -> Must:
    n = _counts(every, verdict)
    return Must(f"precision of {verdict!r}{of}", n["right"] / max(1, n["said"]), PRECISION)


# With a strong reader in the place of the model: what it said of each timeline, kept by the client and the steps of it.

ANSWERS = Path(__file__).with_name("reader_effects.jsonl")
_OF_READER = {
    "with a strong reader, by hand": WRITTEN,
    "with a strong reader, second by hand": WRITTEN_SECOND,
    "with a strong reader, third by hand": WRITTEN_THIRD,
}


class Recorded:
    """Answers as they were kept; about what nobody was asked, the reader says that nothing had an occasion."""

    name = "reader"

    def __init__(self, kept: Mapping[str, Any]) -> None:
        self._kept = kept
        self.asked = self.unknown = 0

    def answer(self, ask: Ask) -> Answer:
        """Answer as the reader did."""
        said = self._kept.get(_mark(ask.user))
        is_about = _STARRED.search(ask.user) is not None
        self.asked += is_about
        self.unknown += is_about and said is None
        effects = [{"memory": _named(ask.user, at), "verdict": v, "words": w} for at, v, w in said or ()]
        return Answer({"operations": [], "effects": effects}, "", "schema", Usage(0, 0), self.name)


@dataclass(slots=True)
class Steady:
    """A model that is asked as if the project had the same name every time."""

    model: LanguageModel
    name: str = "reader"

    def answer(self, ask: Ask) -> Answer:
        """Ask."""
        user = _NOTE.sub("C", _PROJECT.sub("", ask.user, 1))
        return self.model.answer(replace(ask, user=user, identity=user))


def _mark(question: str) -> str:
    """Return by what a question is known: the names of memories, notes and the project aside."""
    return hashlib.sha256(_NOTE.sub("C", _PROJECT.sub("", _NAMED.sub("M", question), 1)).encode()).hexdigest()[:12]


def _named(question: str, place: int) -> str:
    """Return the name of the memory that stands marked at a place of the question."""
    return list(dict.fromkeys(_STARRED.findall(question)))[place]


def record(folder: Path) -> tuple[int, int]:
    """Write the questions about which nothing is known into a folder, and keep the answers that stand beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    kept: dict[str, Any] = {}
    waiting = 0
    for path in _OF_READER.values():
        for number, case in enumerate(written_timelines(path)):
            spool = Spool(folder)
            verdicts_on(case, number, Steady(spool))
            if spool.waiting:
                waiting += 1
            elif "extract" in spool.answers:
                ask, data = spool.answers["extract"]
                names = list(dict.fromkeys(_STARRED.findall(ask.user)))
                if not names:
                    continue  # it is not asked about any memory
                said = [(names.index(e["memory"]), e["verdict"], e["words"]) for e in data["effects"]]
                kept[_mark(ask.user)] = said
    if not waiting:
        rows = (json.dumps({"question": mark, "said": said}, ensure_ascii=False) for mark, said in kept.items())
        ANSWERS.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return len(kept), waiting


if __name__ == "__main__":
    done, left = record(Path(sys.argv[1]))
    print(f"{done} questions are answered, {left} wait for answers in {sys.argv[1]}")
    sys.exit(bool(left))
