"""Sessions of every client, told step by step and compacted by the job: what random walks and named cases share."""

import os
from pathlib import Path
from typing import Any

from slowwave.compaction.book import Compacting
from slowwave.compaction.items import read_session
from slowwave.compaction.story import compact_sessions
from slowwave.formats import SessionFiles
from slowwave.formats.sessions import StoredSession
from slowwave.report import Report
from slowwave.stores.projects import Project
from tests.properties import compaction_scan as scan
from tests.properties.compaction_scribes import CLIENTS, CWD, TORN, Call, Scribe
from tests.unit.compaction.job.talks import WRITTEN, job

GARBAGE = (b"not json", b"\0\0\0", b'{"type":"user","uuid":', b"[1,2]", b"", b"{}")
FILES_BEFORE = (
    "\n\n<read-files>\nearlier/read.md\n</read-files>\n\n<modified-files>\nearlier/changed.py\n</modified-files>"
)


class Teller:
    """Tells steps to a scribe; every text has a mark of its own, every call an id of its own."""

    def __init__(self, scribe: Scribe) -> None:
        self.scribe = scribe
        self.number = 0

    def mark(self) -> str:
        self.number += 1
        return f"m{self.number}x"

    def tell(self, steps: list[Any]) -> None:
        self.scribe.resume() if self.scribe.path.exists() else None
        for step in steps:
            self.step(step)
        self.scribe.save()

    def step(self, step: Any) -> None:
        match step:
            case ("ask", words, image):
                self.scribe.ask(f"{self.mark()} {words}", image=image)
            case ("answer", words, calls):
                self.scribe.answer(f"{self.mark()} {words}", [self.call(*call) for call in calls])
            case ("empty",):
                self.scribe.ask("")
            case ("back",):
                self.scribe.back()
            case ("branch summary",):
                self.scribe.branch_summary(f"{self.mark()} a branch{FILES_BEFORE}")
            case ("own summary",):
                self.scribe.own_summary(f"## Goal\nEarlier things.{FILES_BEFORE}")
            case ("garbage",):
                self.scribe.lines.append(GARBAGE[self.number % len(GARBAGE)])
            case _:
                self.scribe.lines.append(b'{"type":"user",' + TORN)

    def call(self, tool: tuple[str, str], end: str) -> Call:
        mark = self.mark()
        name, path = tool
        arguments = (
            {"path": path, "content": mark} if name in ("read", "write", "edit") else {"command": f"{name} {path}"}
        )
        output = {"done": mark, "failed": f"{mark} failed", "giant": f"{mark} {'r' * 9_000}"}.get(end)
        return Call(
            f"call_{self.number}", name if "content" in arguments else "bash", arguments, output, end == "failed"
        )


class World:
    """A session in a store of its own, and the state of slowwave beside it."""

    def __init__(self, folder: Path, client: str) -> None:
        self.dialect, make, self.id, name = CLIENTS[client]
        self.folder = folder
        self.cwd = "" if self.dialect in ("crabtalk", "ulid") else CWD  # their records name no folder
        self.path = folder / "store" / name.format(self.id)
        self.path.parent.mkdir(parents=True)
        self.teller = Teller(make(self.path, self.id))

    @property
    def session(self) -> StoredSession:
        os.utime(self.path, (WRITTEN.timestamp(), WRITTEN.timestamp()))
        files = SessionFiles(self.id, (self.path,))
        at = self.path.stat()
        return StoredSession(self.dialect, files, "main", self.path.parent, at.st_size, at.st_mtime_ns)

    def compacted(self, keep: int) -> Report:
        session = self.session
        project = Project("shop", CWD, (self.path.parent,), self.folder / "memory", (session,))
        return compact_sessions(project, (session,), self.run(keep))

    def run(self, keep: int) -> Compacting:
        return job(self.folder, f"compaction.keep_recent_tokens={keep}", force=True)

    def reading(self) -> Any:
        return read_session(self.dialect, SessionFiles(self.id, (self.path,)))

    def counts(self, use: scan.Use) -> bool:
        """Say whether a call counts that nobody answered: Codex sends it as one that was broken off."""
        return use.answered or self.dialect != "codex"

    def summary(self) -> str:
        """Return the latest summary as the model sees it, "" where there is none."""
        return next(
            (i.message.text for i in reversed(self.reading().items) if i.kind == "compaction" and i.message), ""
        )

    def spoken(self) -> tuple[set[str], list[Any]]:
        """Return the marks of what the model sees beside the latest summary, and those messages."""
        messages = [item.message for item in self.reading().spoken if item.message is not None]
        return {m for message in messages for block in message.blocks for m in marks_of(block)}, messages


def marks_of(block: Any) -> set[str]:
    return {
        mark
        for text in scan.strings([getattr(block, "text", ""), getattr(block, "args", "")])
        for mark in scan.MARK.findall(text)
    }


def orphans(messages: list[Any]) -> list[str]:
    """Return results without a call before them, results that come twice, calls that were parted from their result."""
    called, answered, wrong = set[str](), set[str](), list[str]()
    for message in messages:
        for result in message.results:
            if result.id not in called or result.id in answered:
                wrong.append(result.id)
            answered.add(result.id)
        called |= {call.id for call in message.calls}
    return wrong
