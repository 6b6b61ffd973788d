"""Pages of slowwave's commands: where each client looks for them, and every file and folder as before afterwards."""

import contextlib
import os
from pathlib import Path

import pytest

from slowwave.memory.delivery import Rule, read_register
from slowwave.memory.delivery.files import WITH_COMMANDS, bring_commands, install, pages_of
from slowwave.reading.session import PREFIX, REMEMBER, Typed, command_typed
from slowwave.report import Item
from slowwave.settings import Settings
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.memory.test_delivery import nothing, on_fault, stop_at

ON, OFF = Rule(on=True), Rule(on=False)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": str(tmp_path / "data"), "PATH": os.environ["PATH"]}


def bring(environ: dict[str, str], *rules: Rule, clients: tuple[str, ...] = WITH_COMMANDS, **how: bool) -> list[Item]:
    install([], rules, Settings(), environ, **how)
    return bring_commands(clients, environ, rules, take_out=True, **how)


def tree(environ: dict[str, str]) -> dict[str, bytes]:
    home = Path(environ["HOME"])
    return {str(p.relative_to(home)): p.read_bytes() if p.is_file() else b"/" for p in home.rglob("*")}


def actions(items: list[Item]) -> set[str]:
    return {item.action for item in items}


def test_each_client_gets_its_pages_and_everything_is_as_before_afterwards(environ: dict[str, str]) -> None:
    own = Path(environ["HOME"], ".claude", "commands", "review.md")
    own.parent.mkdir(parents=True)
    own.write_bytes(b"mine\r\n")
    before = tree(environ)
    bring(environ, ON)
    made = set(tree(environ)) - set(before)
    assert {Path(name).stem for name in made if name.endswith(".md")} == {
        "SKILL", *(f"{PREFIX}{name}" for name in ("remember", "forget", "why"))
    }  # fmt: skip
    for place in (
        ".claude/commands",
        ".codex/skills",
        ".pi/agent/prompts",
        ".config/opencode/command",
        ".openclaw/skills",
    ):
        assert [name for name in made if name.startswith(f"{place}/{PREFIX}")]
    assert bring(environ, ON) == []
    assert actions(bring(environ, OFF)) == {"remove"}
    assert tree(environ) == before
    assert read_register(environ) is None


def test_a_client_writes_down_the_page_as_the_form_that_is_read(environ: dict[str, str]) -> None:
    for client in ("pi", "opencode"):
        (page,) = [data for path, data in pages_of(client, environ).items() if REMEMBER in path.name]
        body = page.decode().partition("---\n\n")[2]
        assert command_typed(body.replace("$ARGUMENTS", "we use tabs")) == Typed(REMEMBER, "we use tabs")


def test_what_clawdbot_makes_of_a_command_is_a_request_since_other_agents_may_send_it(environ: dict[str, str]) -> None:
    home = Path(environ["HOME"], ".clawdbot")
    home.mkdir(parents=True)
    assert {path.parents[2] for path in pages_of("openclaw", environ)} == {home}
    asked = 'Use the "slowwave-remember" skill for this request.\n\nUser input:\nwe use tabs'
    for text in (asked, f"System: [12:00] woke\n\n{asked}\n[message_id: 1]"):
        assert command_typed(text) == Typed(REMEMBER, "we use tabs", by_program=True)
    assert command_typed(f"She wrote: {asked}") is None


def test_only_clients_that_worked_here_and_that_somebody_asked_for_get_pages(environ: dict[str, str]) -> None:
    bring(environ, Rule(on=True, client="pi"), clients=("codex", "pi"))
    assert {name.split("/")[0] for name in tree(environ)} == {".pi"}
    bring(environ, ON, clients=("codex",))
    assert {name.split("/")[0] for name in tree(environ)} == {".pi", ".codex"}
    bring(environ, Rule(on=False, client="pi"), clients=("codex",))
    bring_commands(WITH_COMMANDS, environ)
    assert ".codex" in tree(environ)


def test_a_dry_run_tells_the_same_and_writes_nothing(environ: dict[str, str]) -> None:
    told = bring(environ, ON, dry_run=True)
    assert tree(environ) == {}
    assert told == bring(environ, ON)
    before = tree(environ)
    assert bring(environ, OFF, dry_run=True)
    assert tree(environ) == before


def test_a_page_that_a_person_changed_or_wrote_is_left_alone(environ: dict[str, str]) -> None:
    theirs, changed, gone = sorted(pages_of("claude", environ))
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine")
    assert "refused" in actions(bring(environ, ON))
    assert theirs.read_text() == "mine"
    changed.write_text("reworded")
    gone.unlink()
    assert actions(bring(environ, ON)) == {"refused"}
    assert not gone.exists()
    assert {item.target for item in bring(environ, OFF) if item.action == "refused"} == {str(changed)}
    assert changed.read_text() == "reworded"
    assert theirs.read_text() == "mine"
    bring(environ, OFF, overwrite=True)
    assert set(tree(environ)) == {".claude", ".claude/commands", f".claude/commands/{theirs.name}"}


def test_a_kill_at_any_write_is_finished_by_the_next_one(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(environ["HOME"]).mkdir()
    for number in range(1, 60, 4):
        for rule in (ON, OFF):
            stop_at(monkeypatch, number)
            with contextlib.suppress(KeyboardInterrupt):
                bring(environ, rule, clients=("pi",))
            on_fault(monkeypatch, nothing)
            assert "refused" not in actions(bring(environ, rule, clients=("pi",)))
            assert bring(environ, rule, clients=("pi",)) == []
        assert tree(environ) == {}
