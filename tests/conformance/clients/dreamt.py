"""Real clients that edit memory while a dream is at work: ``python -m tests.conformance.clients.dreamt``.

Claude Code keeps its own memory in the folder that a dream consolidates. Here the scripted model has it edit the index
or write a page at a given moment of a dream: when the dream has read the folder, at the last moment before the folders
are exchanged, right behind the exchange, when the dream is over; and a dream runs between the client's reading of a
file and its edit. After this dream and another one, what the client wrote must stand in the folder, and what the dream
brought as well; an edit that the client itself refused, because the file had changed, must have been told to its model.
The table goes to ``docs/conformance.md`` with ``--record``. The exit code is 1 when a row differs.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from slowwave import files
from slowwave.memory.folder import visible_files
from slowwave.stores.discovery import known_projects
from tests.conformance.clients.delivered import LINE, World
from tests.conformance.clients.report import RECORD, Row
from tests.conformance.clients.resume import install, version, why_not
from tests.conformance.clients.start import NOTING, STEPS, Started, started

CLIENTS = ("claude", "claude-2.0.76")
HEADING = "## Memory edited beside a dream"
INDEX = "MEMORY.md"
SAID = f"{LINE}. Please remember that and say hello."
FIRST = "The release branch is called stable"
EDITED = "The release branch is called evergreen, see the calendar of releases"
ADDED = "The nightly report goes to Farida in finance"
PAGE = f"---\nname: people\ndescription: who is who\ntype: project\n---\n\n- {ADDED}\n"
# where a dream is held: what it is about to do, and in what place of its own that is
MOMENTS: Mapping[str, tuple[str, str]] = {
    "when a dream has read the folder": ("mkdir", "-stage-"),
    "at the last moment before it changes the folder": ("swap", ""),
    "right after it changed the folder": ("rename", "-trash-"),
}
AFTER = "after a dream"
BETWEEN = "a dream between its reading and its edit"
REFUSED = "modified since"


class Edit(NamedTuple):
    """What the client does: its name, the steps that the model asks for, and what must stand in the folder."""

    name: str
    steps: Callable[[Path], list[list[tuple[str, ...]]]]
    stands: str


def _changed(memory: Path) -> list[list[tuple[str, ...]]]:
    index = str(memory / INDEX)
    return [[("read", index)], [("edit", index, FIRST, EDITED)]]


def _page(memory: Path) -> list[list[tuple[str, ...]]]:
    return [[("write", str(memory / "people.md"), PAGE)]]


EDITS = (Edit("edits a line of the index", _changed, EDITED), Edit("writes a new page", _page, ADDED))


class Held:
    """The hook of a dream: does something once, at one moment."""

    def __init__(self, moment: tuple[str, str], do: Callable[[], object]) -> None:
        self.event, self.part = moment
        self.do = do
        self.is_done = False

    def __call__(self, event: str, path: str) -> None:
        if not self.is_done and event == self.event and self.part in path:
            self.is_done = True
            self.do()


def rows_of(client: str) -> Iterator[Row]:
    """Yield a row for each edit at each moment."""
    for edit in EDITS:
        for moment in (*MOMENTS, AFTER, *((BETWEEN,) if len(edit.steps(Path())) > 1 else ())):
            with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
                try:
                    detail = _tried(client, edit, moment, World(Path(folder)))
                except RuntimeError as error:
                    detail = str(error)
            yield Row(client, edit.name, moment, "DIFFERENT" if detail else "equal", detail)


def _tried(client: str, edit: Edit, moment: str, world: World) -> str:
    """Return what is wrong, or ""."""
    done = started(client, world.root, world.home, SAID)
    if done.rc != 0:
        raise RuntimeError(f"exit {done.rc}: {done.error}")
    (project,) = known_projects(world.settings, world.environ).projects
    memory = project.memory
    memory.mkdir(parents=True, exist_ok=True)
    _acts(client, world, [[("write", str(memory / INDEX), f"# Memory\n\n- {FIRST}\n")]])
    said: list[str] = []
    if moment == BETWEEN:
        said += _beside(client, world, *edit.steps(memory))
    elif moment == AFTER:
        world.night()
        said += _acts(client, world, edit.steps(memory)).bodies
    else:
        held = Held(MOMENTS[moment], lambda: said.extend(_acts(client, world, edit.steps(memory)).bodies))
        files.fault_hook, before = held, files.fault_hook
        try:
            world.night()
        finally:
            files.fault_hook = before
        if not held.is_done:
            return "the dream never came to that moment"
    text = _text(memory)
    if edit.stands not in text:
        return "" if any(REFUSED in body for body in said) else "what the client wrote is gone"
    if LINE not in text:
        return "the dream brought nothing"
    world.night()
    text = _text(memory)
    gone = [line for line in (edit.stands, LINE) if text.count(line) != 1]
    return f"after another dream {gone[0]!r} stands {text.count(gone[0])} times" if gone else ""


def _text(memory: Path) -> str:
    return "\n".join(data.decode() for data in visible_files(memory).values())


def _acts(client: str, world: World, steps: list[list[tuple[str, ...]]]) -> Started:
    """Let a client do what the scripted model asks for, step by step."""
    (world.home / STEPS).write_text(json.dumps(steps), encoding="utf-8")
    done = started(client, world.root, world.home, f"{NOTING}: {steps[-1][-1][0]}")
    if done.rc != 0:
        raise RuntimeError(f"exit {done.rc}: {done.error}")
    return done


def _beside(client: str, world: World, reads: list[tuple[str, ...]], edits: list[tuple[str, ...]]) -> list[str]:
    """Run a night between what a client reads and what it edits; return what it sent."""
    ready, go = world.home / "ready", world.home / "go"
    for pipe in (ready, go):
        os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(_acts, client, world, [reads, [("bash", f"echo > {ready}; cat {go}")], edits])
        # whoever ends without having come there lets this go on as well
        acting.add_done_callback(lambda _: os.close(os.open(ready, os.O_RDWR | os.O_NONBLOCK)))
        ready.read_bytes()
        if not acting.done():
            world.night()
            go.write_text("the night is over", encoding="utf-8")
        return acting.result().bodies


def main() -> int:
    """Try the chosen clients."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=f"of {', '.join(CLIENTS)}; all by default")
    parser.add_argument("--record", action="store_true", help=f"write the table to {RECORD.name}")
    options = parser.parse_args()
    clients: list[str] = options.clients or list(CLIENTS)
    if reason := why_not():
        print(f"the real clients are SKIPPED: {reason}")
        return 0
    install(clients)
    rows: list[Row] = []
    for client in clients:
        for row in rows_of(client):
            print(f"{row.verdict:10} {row.client:15} {row.case}: {row.operation} {row.detail}", flush=True)
            rows.append(row)
    if options.record:
        before, _, rest = RECORD.read_text(encoding="utf-8").partition(f"\n{HEADING}\n")
        _, mark, behind = rest.partition("\n## ")
        RECORD.write_text(before.rstrip("\n") + "\n\n" + table(clients, rows) + (mark + behind), encoding="utf-8")
    return int(any(row.verdict != "equal" for row in rows))


def table(clients: Sequence[str], rows: Sequence[Row]) -> str:
    """Return the section of the record."""
    lines = [
        HEADING,
        "",
        "Written by `make conformance RECORD=1`. The client edited its memory with its own tools at a given moment of",
        "a dream. After that dream and another one, what it wrote and what the dream brought stood in the folder, each",
        "once. An edit that the client itself refused since the file had changed was told to its model.",
        "",
        f"Run on {datetime.now(UTC):%Y-%m-%d} with " + ", ".join(f"{c} {version(c)}" for c in clients) + ".",
        "",
        "| the client | when | " + " | ".join(clients) + " |",
        "|---|---|" + "---|" * len(clients),
    ]
    verdicts = {(row.case, row.operation, row.client): row.verdict for row in rows}
    for case, moment in dict.fromkeys((row.case, row.operation) for row in rows):
        own = (verdicts.get((case, moment, client)) for client in clients)
        shown = ("-" if one is None else "yes" if one == "equal" else "no" for one in own)
        lines.append(f"| {case} | {moment} | " + " | ".join(shown) + " |")
    wrong = [row for row in rows if row.verdict != "equal"]
    lines += ["", *(f"- {row.client}, {row.case} {row.operation}: {row.detail}" for row in wrong)]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
