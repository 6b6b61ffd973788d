"""Planted timelines: a memory, when it was delivered, and a later session of one of five clients that keeps it or not.

Wordings are as people write them, with and without backticks, in several languages; commands, paths and what else
happens in a session are drawn by a seeded generator.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from tests.week.script import Call, Client, Say, Step

Fate = Literal["followed", "broken", "no occasion", "delivered late", "changed meanwhile"]
FATES: tuple[Fate, ...] = ("followed", "broken", "no occasion", "delivered late", "changed meanwhile")
CLIENTS: tuple[Client, ...] = ("claude 2.1", "cersei", "codex", "pi", "opencode")
NUMBER = 200
START = datetime(2026, 9, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Wish:
    """A kind of memory: its wordings, and what keeps and breaks it; ``{a}`` and the like are drawn.

    Attributes:
        name: of the kind.
        wordings: how it is said.
        draws: what may stand in place of ``{a}``, ``{b}``, ... in all of them.
        kept: the steps of a session that keeps it.
        broken: the steps of one that breaks it.
    """

    name: str
    wordings: Sequence[str]
    draws: Sequence[tuple[str, ...]]
    kept: Sequence[str]
    broken: Sequence[str]


@dataclass(frozen=True, slots=True)
class Timeline:
    """One case.

    Attributes:
        fate: what was planted.
        client: who worked.
        wish: the kind of memory.
        texts: the memory, and what replaced it where it changed.
        began: when the session began.
        delivered: when the memory was delivered.
        changed: when it was replaced, or None.
        steps: what happened in the session.
        expected: the verdict, by the number of the text; nothing of what the session was not told.
        name: of a written one its id.
    """

    fate: Fate
    client: Client
    wish: str
    texts: tuple[str, ...]
    began: datetime
    delivered: datetime
    steps: tuple[Step, ...]
    changed: datetime | None = None
    expected: dict[int, str] = field(default_factory=dict[int, str])
    name: str = ""


_PACKAGES = (("pnpm", "npm"), ("yarn", "npm"), ("bun", "yarn"), ("pnpm", "yarn"))
_CALLS = (
    ("uv run pytest", "pytest"), ("docker compose", "docker-compose"), ("uv add", "pip install"), ("rg", "grep"),
    ("make migrate", "alembic upgrade head"), ("just deploy", "terraform apply"), ("cargo nextest run", "cargo test"),
)  # fmt: skip
_OPTIONS = (
    ("git commit -m 'Mend the parser'", "git commit --no-verify -m 'Mend the parser'", "git commit", "--no-verify"),
    ("git push", "git push --force", "git push", "--force"),
    ("npm install", "npm install --legacy-peer-deps", "npm install", "--legacy-peer-deps"),
    ("terraform apply", "terraform apply -auto-approve", "terraform apply", "-auto-approve"),
)
_FOLDERS = (
    ("api/schema.yaml", "src/generated"), ("proto/user.proto", "gen/go"), ("i18n/en.json", "public/locales"),
    ("styles/main.scss", "static/css"), ("prisma/schema.prisma", "node_modules/.prisma"),
)  # fmt: skip
_STEPS = (
    ("make test", "make deps"), ("pytest", "docker compose up -d db"), ("npm test", "npm run build:shared"),
    ("cargo test", "make fixtures"), ("go test ./...", "go generate ./..."),
)  # fmt: skip
_WAYS = (
    ("pytest -n auto", "pytest -n 2"), ("npm test", "CI=1 npm test"), ("tsc -b", "npx tsc -p tsconfig.build.json"),
    ("python -m build", "uv build"), ("go test ./...", "go test -race ./..."),
)  # fmt: skip
_CHECKS = (
    ("make lint", "make test"), ("npm run lint", "npm test"), ("ruff check .", "mypy src"),
    ("cargo clippy", "cargo test"), ("just check", "just test"),
)  # fmt: skip
_AFTER = (
    ("prisma/schema.prisma", "npx prisma generate"), ("proto/user.proto", "make proto"),
    ("pyproject.toml", "uv lock"), ("locales/en.po", "make messages"), ("db/schema.sql", "sqlc generate"),
)  # fmt: skip
_TESTS = (
    ("make test", "pytest"), ("./scripts/test.sh", "pytest -q"), ("npm run test:ci", "npx jest"),
    ("tox -e py311", "pytest"), ("just test", "cargo test"),
)  # fmt: skip

WISHES: tuple[Wish, ...] = (
    Wish(
        "package manager",
        (
            "Use {a}, not {b}.", "We use {a} here instead of {b}", "Always use {a}; never {b}",
            "Use `{a}`, never `{b}`",
            "{a} statt {b} verwenden", "Please stick to {a} rather than {b}", "Prefer {a} over {b} for everything",
            "Bitte `{a}` benutzen, nicht `{b}`", "Don't use `{b}`, use `{a}`", "No usar `{b}`, usa `{a}`",
        ),
        _PACKAGES, ("{a} install", "{a} run build"), ("{b} install",),
    ),
    Wish(
        "one call, not another",
        (
            "Use `{a}` instead of `{b}`", "Never run `{b}`; use `{a}`", "Run `{a}` rather than `{b}`",
            "`{b}` is wrong in this repository, always run `{a}`", "Nimm `{a}` statt `{b}`",
            "Don't call `{b}` directly, call `{a}`", "Utilise `{a}` au lieu de `{b}`", "Prefer `{a}` over `{b}`",
            "Stop using `{b}` and use `{a}`", "Niemals `{b}` ausführen, sondern `{a}`",
        ),
        _CALLS, ("{a} src",), ("{b} src",),
    ),
    Wish(
        "a refused option",
        (
            "Never use `{d}`", "Do not pass `{d}` to `{c}`", "`{c} {d}` is forbidden, never run it",
            "Never run `{c} {d}`", "Kein `{d}` verwenden", "N'utilise jamais `{c} {d}`", "Avoid `{c} {d}`",
            "You must not use `{d}`, not even once",
        ),
        _OPTIONS, ("{a}",), ("{b}",),
    ),
    Wish(
        "a refused path",
        (
            "Never edit `{b}/`; change `{a}`", "Don't touch `{b}/`, it is generated from `{a}`",
            "Edit `{a}`, never the files in `{b}/`", "Do not modify anything under `{b}/`. Change `{a}` instead.",
            "`{b}/` nicht bearbeiten, sondern `{a}`", "Leave `{b}/` alone and edit `{a}`",
            "Keep out of {b}/, edit {a}",
        ),
        _FOLDERS, ("Edit {a}",), ("Edit {b}/part.txt",),
    ),
    Wish(
        "a cure: another way",
        ("`{a}` fails; `{b}` works", "`{a}` fails (exit code 1); `{b}` works", "`{a}` fails (ERR_USAGE); `{b}` works"),
        _WAYS, ("{b}",), ("! {a}", "{b}"),
    ),
    Wish(
        "a cure: a step before",
        ("`{a}` fails until `{b}` was run", "`{a}` fails (ECONNREFUSED) until `{b}` was run"),
        _STEPS, ("{b}", "{a}"), ("! {a}", "{b}", "{a}"),
    ),
    Wish(
        "before a commit",
        (
            "Always run `{a}` and `{b}` before committing", "Before a commit: `{a}`, `{b}`",
            "Run `{a}` and then `{b}` before every commit", "Never commit without running `{a}` and `{b}`",
            "Vor jedem Commit `{a}` und `{b}` ausführen", "Avant de commiter, lance `{a}` et `{b}`",
            "{a} and {b} have to pass before you commit",
        ),
        _CHECKS, ("Edit src/core.py", "{a}", "{b}", "git commit -am 'Mend it'"),
        ("Edit src/core.py", "{a}", "git commit -am 'Mend it'"),
    ),
    Wish(
        "after a change",
        (
            "After changing `{a}` run `{b}`", "Run `{b}` whenever `{a}` changes", "When you edit `{a}`, run `{b}`",
            "Nach jeder Änderung an `{a}` bitte `{b}` ausführen", "Après avoir modifié `{a}`, lance `{b}`",
            "Every edit of {a} needs {b}",
        ),
        _AFTER, ("Edit {a}", "{b}"), ("Edit {a}", "git diff"),
    ),
    Wish(
        "how tests are run",
        (
            "Run the tests with `{a}`", "Tests are run with `{a}`", "Use `{a}` to run the tests",
            "Always run tests via `{a}`", "The tests only work through `{a}`", "Run {a} for the tests",
        ),
        _TESTS, ("{a}",), ("{b}",),
    ),
)  # fmt: skip
_QUIET = ("git status", "ls -la", "Read README.md", "Edit docs/notes.txt", "cat CHANGELOG.md", "git log --oneline")
_ASKS = ("Please look at the failing import.", "Can you tidy the module?", "Mach bitte weiter.", "Next: the parser.")


def timelines(seed: int = 19, kinds: Sequence[Wish] = WISHES) -> Iterator[Timeline]:
    """Yield :data:`NUMBER` cases: every fate in every client, kinds of memory in turn."""
    draw = random.Random(seed)
    wishes = [wish for _ in range(NUMBER) for wish in draw.sample(kinds, len(kinds))]
    for number in range(NUMBER):
        fate, client = FATES[number % len(FATES)], CLIENTS[number // len(FATES) % len(CLIENTS)]
        yield _timeline(fate, client, wishes[number], draw)


def _timeline(fate: Fate, client: Client, wish: Wish, draw: random.Random) -> Timeline:
    drawn = draw.sample(list(wish.draws), 2)
    texts = [_filled(draw.choice(wish.wordings), one) for one in drawn]
    delivered = START + timedelta(days=draw.randrange(30), minutes=draw.randrange(600))
    began = delivered + timedelta(hours=draw.randrange(2, 400))
    case = Timeline(fate, client, wish.name, (texts[0],), began, delivered, ())
    match fate:
        case "followed":
            return _with(case, _steps(wish.kept, drawn[0], draw), {0: "followed"})
        case "broken":
            return _with(case, _steps(wish.broken, drawn[0], draw), {0: "broken"})
        case "no occasion":
            return _with(case, _steps((), drawn[0], draw), {0: "no occasion"})
        case "delivered late":
            late = replace(case, began=delivered - timedelta(hours=3))
            return _with(late, _steps(draw.choice((wish.kept, wish.broken)), drawn[0], draw), {})
        case "changed meanwhile":
            return _changed(case, wish, drawn, texts[1], draw)


def _changed(
    case: Timeline, wish: Wish, drawn: Sequence[tuple[str, ...]], second: str, draw: random.Random
) -> Timeline:
    """Return a case in which something newer takes the memory's place, before the session or after it."""
    is_after = draw.random() < 0.5
    # the session was told the second text, or still the first one
    changed = case.began + timedelta(hours=-1 if is_after else 30)
    told = int(is_after)
    is_kept = draw.random() < 0.5
    steps = _steps(wish.kept if is_kept else wish.broken, drawn[told], draw)
    both = replace(case, texts=(*case.texts, second), changed=changed)
    return _with(both, steps, {told: "followed" if is_kept else "broken"})


def _with(case: Timeline, steps: tuple[Step, ...], expected: dict[int, str]) -> Timeline:
    return replace(case, steps=steps, expected=expected)


def _filled(text: str, drawn: tuple[str, ...]) -> str:
    for name, value in zip("abcd", drawn, strict=False):
        text = text.replace(f"{{{name}}}", value)
    return text


def _steps(acts: Sequence[str], drawn: tuple[str, ...], draw: random.Random) -> tuple[Step, ...]:
    """Return what happens: the acts in their order among others, after a person's wish and with an agent's words."""
    before = [_step(one) for one in draw.sample(_QUIET, draw.randrange(1, 4))]
    own = [_step(_filled(act, drawn)) for act in acts]
    behind = [_step(one) for one in draw.sample(_QUIET, draw.randrange(2))]
    return (Say("user", draw.choice(_ASKS)), *before, *own, *behind, Say("agent", "That is done."))


def _step(act: str) -> Step:
    if act.startswith("Edit "):
        return Call("Edit", act.removeprefix("Edit "), ("- old line", "+ new line"))
    if act.startswith("Read "):
        return Call("Read", act.removeprefix("Read "), ("# Title",))
    if act.startswith("! "):
        return Call("Bash", act.removeprefix("! "), ("error: it does not work",), failed=True)
    return Call("Bash", act, ("done",))


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a file of timelines: one that a person wrote, with the verdicts that they hold for right."""

    id: str
    fate: Fate
    client: Client
    kind: str
    memory: list[str]
    delivered: datetime
    began: datetime
    steps: list[dict[str, str | bool]]
    right: list[Literal["followed", "broken", "no occasion", "not told"]]
    changed: datetime | None = None


def written_timelines(path: Path) -> Iterator[Timeline]:
    """Yield the cases of a file of JSON lines.

    Raises:
        ValueError: a line does not follow the format; the message names it.
        OSError: the file cannot be read.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                yield _timeline_of(msgspec.json.decode(line, type=_Written))
            except (msgspec.MsgspecError, ValueError) as error:
                raise ValueError(f"line {number} of {path.name}: {error}") from error


def _timeline_of(row: _Written) -> Timeline:
    is_changed = row.fate == "changed meanwhile"
    if not len(row.memory) == len(row.right) == 1 + is_changed or is_changed is not (row.changed is not None):
        raise ValueError(f"{row.fate!r} has not these numbers of texts, verdicts and times")
    return Timeline(
        row.fate, row.client, row.kind, tuple(row.memory), row.began, row.delivered, tuple(map(_written, row.steps)),
        row.changed, {n: verdict for n, verdict in enumerate(row.right) if verdict != "not told"}, row.id,
    )  # fmt: skip


def _written(step: dict[str, str | bool]) -> Step:
    texts = {name: value for name, value in step.items() if isinstance(value, str)}

    def lines(name: str, sign: str = "") -> tuple[str, ...]:
        return tuple(sign + line for line in texts.get(name, "").splitlines())

    match texts:
        case {"person": text}:
            return Say("user", text)
        case {"agent": text}:
            return Say("agent", text)
        case {"run": line}:
            return Call("Bash", line, lines("output"), failed=step.get("failed") is True)
        case {"edit": path}:
            return Call("Edit", path, (*lines("removed", "- "), *lines("added", "+ ")))
        case {"write": path}:
            return Call("Write", path, lines("text"))
        case {"read": path}:
            return Call("Read", path, lines("text"))
        case _:
            raise ValueError(f"no step: {step}")


def seen_timelines(path: Path) -> Iterator[Timeline]:
    """Yield the cases of a file of rules: each wording kept, broken and without occasion, as far as the file says how.

    Args:
        path: a file whose head says how it is read.

    Raises:
        OSError: it cannot be read.
    """
    number = 0
    for block in path.read_text(encoding="utf-8").split("\n\n")[1:]:
        lines = block.strip().splitlines()
        texts = [line for line in lines if line[:2] not in ("= ", "+ ", "- ", "0 ")]
        acts = {line[0]: line[2:] for line in lines if line not in texts}
        for text in texts:
            for sign, fate in _SIGNS:
                if sign in acts:
                    number += 1
                    client = CLIENTS[number % len(CLIENTS)]
                    steps = (Say("user", _ASKS[number % 4]), *map(_seen, acts[sign].split(" ;; ")))
                    began = START + timedelta(hours=2)
                    yield Timeline(fate, client, acts["="], (text,), began, START, steps, None, {0: fate})


_SIGNS: tuple[tuple[str, Fate], ...] = (("+", "followed"), ("-", "broken"), ("0", "no occasion"))


def _seen(act: str) -> Step:
    head, _, text = act.replace("\\n", "\n").replace("\\t", "\t").partition(": ")
    match head.split(" "):
        case ["P" | "A" as who]:
            return Say("user" if who == "P" else "agent", text)
        case ["Edit", path]:
            old, _, new = text.partition(" => ")
            lines = (*(f"- {line}" for line in old.split("\n")), *(f"+ {line}" for line in new.split("\n")))
            return Call("Edit", path, lines)
        case ["Write", path]:
            return Call("Write", path, tuple(text.split("\n")))
        case _:
            return _step(act)
