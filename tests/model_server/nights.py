"""Nights of extraction with a model behind a scripted server, over sessions built by a test."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slowwave.context import FixedClock
from slowwave.extraction.job import extract_sessions
from slowwave.extraction.model.job import LEFT
from slowwave.formats.sessions import StoredSession
from slowwave.memory import Candidate
from slowwave.memory.candidates import read_candidates
from slowwave.models.base import Meter
from slowwave.models.client import OpenAIModel
from slowwave.report import Report
from slowwave.settings import ExtractionSettings, ModelSettings, Settings
from tests.model_server.scripted import Reply, note, notes, number_of, numbered
from tests.unit.extraction.talk import NOW, RULES, Talk, project


def settings(base_url: str, **model: Any) -> Settings:
    """Return settings under which the shortest session is read, and the model is asked."""
    chosen: dict[str, Any] = {"name": "m", "concurrency": 1, "retries": 1, **model}
    return Settings(
        extraction=ExtractionSettings(min_messages=1, min_tool_calls=0),
        model=ModelSettings(base_url=base_url, **chosen),
    )


def night(
    folder: Path, sessions: Sequence[StoredSession], base_url: str, *, dry_run: bool = False, **model: Any
) -> Report:
    """Extract from sessions as one run does; waits take no time."""
    given = settings(base_url, **model)
    asked = OpenAIModel(given.model, {}, Meter(given.model), sleep=lambda _: None, jitter=lambda: 0.0)
    return extract_sessions(
        project(folder / "store", *sessions),
        sessions,
        given,
        FixedClock(NOW),
        run_id="r",
        dry_run=dry_run,
        home=folder / "home",
        model=None if dry_run else asked,
    )


def memory(folder: Path) -> Path:
    return folder / "store" / "memory"


def candidates(folder: Path) -> list[Candidate]:
    return read_candidates(memory(folder))[0]


def by_model(folder: Path) -> list[Candidate]:
    """Return what the model said, without the notes that went because it took nothing up of their words."""
    return [c for c in candidates(folder) if c.extractor == "model/3:m" and c.text != LEFT]


def offline(folder: Path) -> list[Candidate]:
    return [c for c in candidates(folder) if c.extractor != "model/3:m"]


def fact(number: int) -> str:
    """A person's fact that no miner knows the form of."""
    return f"the staging cluster number {number} is run by the payments people of Oslo"


def talk(number: int = 1, facts: int = 1) -> Talk:
    """Return a session with a rule that the miners find, and facts that they do not."""
    talk = Talk(id=f"5d0c6a1e-0000-4000-8000-{number:012d}")
    talk.person("go on").bash("make test").assistant("Done.")
    talk.person(RULES[0]).assistant("Understood.")
    for at in range(facts):
        talk.person(fact(100 * number + at)).assistant(f"I noted part {at}.")
    return talk


def told(asked: dict[str, Any]) -> Reply:
    """Answer as a good model does: a note of every fact that is new in the question."""
    material = asked["messages"][-1]["content"]
    new = material.partition("The session:\n")[2]
    found = [text.partition(": ")[2] for text in numbered(new).values() if "staging cluster" in text]
    return notes(*(note(f"T{text[1:]}", (number_of(material, text), text), category="project") for text in found))
