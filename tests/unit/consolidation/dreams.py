"""Builders for memory folders with candidates whose evidence really is on disk."""

import hashlib
import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slowwave.consolidation.job import consolidate_project
from slowwave.context import FixedClock
from slowwave.formats import SessionFiles
from slowwave.formats.sessions import StoredSession
from slowwave.memory import (
    Candidate,
    CandidateOrigin,
    Category,
    Evidence,
    ExtractedRange,
    SessionRef,
    candidate_id,
)
from slowwave.memory.candidates import write_extraction
from slowwave.report import Report
from slowwave.settings import ConsolidationSettings, Settings
from slowwave.stores.projects import Project

T0 = datetime(2026, 11, 20, 3, 30, tzinfo=UTC)


def no_fsync(_fd: int) -> None:
    """Stand in for ``os.fsync`` where nothing depends on what survives a power cut: it only makes a drill slow."""


@dataclass
class House:
    """A project folder with transcripts and a memory folder, and a clock."""

    root: Path
    clock: FixedClock = field(default_factory=lambda: FixedClock(T0))
    sessions: list[Path] = field(default_factory=list[Path])

    @property
    def folder(self) -> Path:
        return self.root / "projects" / "-p"

    @property
    def memory(self) -> Path:
        return self.folder / "memory"

    def session(self, name: str, *said: str) -> Path:
        """Write a transcript of what was said, an hour before now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.jsonl"
        with path.open("a") as file:
            file.writelines(
                json.dumps({"type": "user", "uuid": f"{name}-{i}", "text": t}) + "\n" for i, t in enumerate(said)
            )
        at = self.clock.now().timestamp() - 3600
        os.utime(path, (at, at))
        if path not in self.sessions:
            self.sessions.append(path)
        return path

    def candidate(
        self,
        text: str,
        *,
        session: str = "s1",
        category: Category = "preference",
        confidence: float = 0.9,
        origin: CandidateOrigin = "user_explicit",
        key: str = "",
        value: str = "",
        at: str = "2026-11-19T10:00:00Z",
    ) -> Candidate:
        """Return a candidate whose evidence is the last line of its session."""
        path = self.session(session, text)
        data = path.read_bytes()
        raw = data.splitlines()[-1]
        offset = len(data) - len(raw) - 1
        evidence = (Evidence(str(path), "r", offset, len(raw), hashlib.sha256(raw).hexdigest(), text[:40]),)
        ref = SessionRef("claude", session, str(path))
        return Candidate(
            candidate_id(ref, category, text, evidence), category, text, confidence, origin, "test/1", ref, evidence,
            at, key, value,
        )  # fmt: skip

    def extract(self, *candidates: Candidate) -> None:
        """Record candidates as extraction does."""
        ranges = [ExtractedRange(c.session, 0, 1, "", "test/1", "2026-11-19T11:00:00Z") for c in candidates[:1]]
        write_extraction(self.memory, [(candidates, ranges)], self.clock.now())

    def project(self) -> Project:
        stored = tuple(
            StoredSession(
                "claude", SessionFiles(p.stem, (p,)), "main", self.folder, p.stat().st_size, p.stat().st_mtime_ns
            )
            for p in self.sessions
        )
        return Project("-p", "", (self.folder,), self.memory, stored)

    def dream(self, *, force: bool = True, dry_run: bool = False, planner: Any = None, **settings: Any) -> Report:
        """Run a dream an hour after whatever happened last."""
        more = {"planner": planner} if planner else {}
        return consolidate_project(
            self.project(),
            Settings(consolidation=ConsolidationSettings(**settings)),
            self.clock,
            run_id="run",
            force=force,
            dry_run=dry_run,
            home=self.root,
            **more,
        )

    def read(self, name: str) -> str:
        return (self.memory / name).read_text()
