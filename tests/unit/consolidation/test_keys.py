"""Typed keys where the words leave no doubt, and none where they do."""

import pytest

from slowwave.consolidation.slots import decision_key, key_of


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("use pnpm instead of npm", ("pref:package-manager", "pnpm")),
        ("always use uv, never pip", ("pref:python-packages", "uv")),
        ("we switched from npm to yarn", ("pref:package-manager", "yarn")),
        ("I prefer pytest over unittest", ("pref:test-runner", "pytest")),
        ("let's go with Postgres because SQLite locks", ("project:database", "postgres")),
        ("the API must support Python 3.8", ("runtime:python", "3.8")),
        ("we require node >= 20", ("runtime:node", "20")),
        ("npm and yarn both work", ("", "")),
        ("don't use npm", ("", "")),
        ("Never use git rebase", ("", "")),
        ("never use rebase, use merge commits", ("pref:merge", "merge commits")),
        ("do not use npm anywhere, use pnpm", ("pref:package-manager", "pnpm")),
        ("stop writing tests with unittest and use pytest", ("pref:test-runner", "pytest")),
        ("don't forget to use pnpm", ("pref:package-manager", "pnpm")),
        ("we do not support Python 3.8", ("", "")),
        ("it must not break, use Python 3.12", ("runtime:python", "3.12")),
        ("read python 3 docs", ("", "")),
        ("fix the bug", ("", "")),
    ],
)
def test_keys(text: str, key: tuple[str, str]):
    assert key_of(text) == key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (
            "we decided to put webhook events on Redis streams, because ops runs it",
            ("decision:webhook events", "redis streams"),
        ),
        (
            "we put webhook events into a Postgres outbox instead of Redis",
            ("decision:webhook events", "postgres outbox"),
        ),
        ("we decided to use SQLite for the search index", ("decision:search index", "sqlite")),
        ("let's go with the simple one", ("", "")),
        ("we decided to never store sessions in Redis", ("", "")),
        ("don't use SQLite for the search index", ("", "")),
    ],
)
def test_what_a_decision_is_about(text: str, key: tuple[str, str]):
    assert decision_key(text) == key
