"""What the catalogue and the search index keep of a session's title and first prompt holds no secret."""

import json
from pathlib import Path

from slowwave.files import state_folder
from slowwave.stores.catalogue import Catalogue, catalogue_path
from slowwave.stores.discovery import list_sessions
from slowwave.stores.search.index import SearchIndex, index_path
from slowwave.stores.summary import PROMPT_CHARS, first_words, is_plain_talk, kept_title
from tests.unit.formats import codex_files
from tests.unit.secrets.shapes import SHAPES, Maker
from tests.unit.stores.store_builder import claude, settings_for, write

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "hunter2-Xq9!zT"


def test_a_prompt_that_is_cut_within_a_secret_keeps_no_part_of_it() -> None:
    for before in range(PROMPT_CHARS - 50, PROMPT_CHARS + 1):
        text = f"{'x' * (before - 1)} {TOKEN} and more"
        assert TOKEN[:8] not in first_words(text)
        assert len(first_words(text)) <= PROMPT_CHARS


def test_no_shape_of_secrets_passes_for_plain_talk() -> None:
    for rank, (family, (around, make)) in enumerate(SHAPES.items()):
        for number in range(4):
            assert not is_plain_talk(around.format(make(Maker(1000 * rank + number)))), family
    assert is_plain_talk("Mend the build, please; übrigens (see the log) - isn't it red?")


def test_prompts_stay_as_they_were_but_for_blanks_and_secrets() -> None:
    assert first_words("  mend\n the   build ") == "mend the build"
    assert first_words(" " * 5_000 + "a" + " " * 5_000 + "b") == "a b"
    assert kept_title(f"use {TOKEN}") == "use [secret:github]"


def test_no_file_beside_the_sessions_holds_what_was_typed(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    project = tmp_path / ".claude" / "projects" / "-work"
    title = {"type": "custom-title", "customTitle": f"deploy with {TOKEN}", "sessionId": "s"}
    write(project / "a.jsonl", claude("user", f"the password is {PASSWORD}"), claude("assistant", "ok", 1), title)
    codex = tmp_path / ".codex"
    path = codex_files.rollout(codex / "sessions/2026/11/21", codex_files.meta(), *codex_files.turn("hi", "ho"))
    name = {"id": codex_files.THREAD, "thread_name": f"try {PASSWORD}: password={PASSWORD}", "updated_at": "2026"}
    (codex / "session_index.jsonl").write_text(json.dumps(name) + "\n")
    settings = settings_for(tmp_path / ".claude", codex)
    titles: set[str] = set()
    for _ in range(2):
        with Catalogue(catalogue_path(environ)) as catalogue, SearchIndex(index_path(environ)) as index:
            rows = list_sessions(settings, environ, catalogue).rows
            index.refresh(rows)
            titles |= {row.title for row in rows}
    kept = b"".join(file.read_bytes() for file in state_folder(environ).rglob("*") if file.is_file())
    assert "deploy with [secret:github]" in titles
    assert path.exists()
    assert TOKEN.encode() not in kept
    assert f"password={PASSWORD}".encode() not in kept
    assert f"password is {PASSWORD}".encode() not in kept
