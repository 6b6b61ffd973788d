"""Real sessions: file lists equal a scan by other means, in one step or in several; errors and changed files stay."""

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from slowwave.compaction.calls import exchanges
from slowwave.compaction.files import files_of_line, of_messages, of_tags
from slowwave.compaction.ledger import LedgerSettings, ledger_of, rendered
from slowwave.compaction.proof import checked, probes_of
from slowwave.formats import Message, SessionFiles, Transcript
from slowwave.formats.registry import by_name, sniff

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
LEAST_BYTES = 150_000
FILES = [
    path
    for client in ("claude-code", "codex", "pi", "openclaw")
    for path in sorted((CORPUS / client).rglob("*.jsonl"))
    if path.stat().st_size >= LEAST_BYTES and "before-compaction." not in path.name.removesuffix(".jsonl") + "."
]
LARGE = LedgerSettings(most_bytes=1_000_000)

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not FILES, reason="the real sessions are not beside this checkout"),
]


@cache
def session(path: Path) -> tuple[Message, ...]:
    name = sniff(path)
    transcript = by_name(name).read(SessionFiles(path.stem, (path,))) if name else Transcript("", SessionFiles("", ()))
    return tuple(m for m in transcript.messages if m.active and not m.sidechain and m.origin != "summary")


def others(every: Sequence[Message]) -> tuple[set[str], set[str]]:
    """Return the files read and changed through tools for files: a plain scan of names and arguments."""
    results = {result.id: result for message in every for result in message.results}
    read, modified = set[str](), set[str]()
    for call in (call for message in every for call in message.calls):
        result = results.get(call.id)
        args: Any = call.args
        if result is not None and (
            result.is_error
            or re.search(
                r'"exit_code":[1-9]|^Exit code: [1-9]|verification failed', result.text[:9000] + result.text[-100:]
            )
        ):
            continue
        if call.name in ("apply_patch", "patch"):
            text = args if isinstance(args, str) else next(iter(args.values()), "")
            modified |= {
                line.split(": ", 1)[1].strip()
                for line in text.splitlines()
                if re.match(r"\*\*\* (\w+ File|Move to): ", line)
            }
        elif isinstance(args, dict):
            args = cast("dict[str, object]", args)
            path = args.get("file_path") or args.get("path") or args.get("absolute_path") or args.get("notebook_path")
            if not isinstance(path, str):
                continue
            if call.name.lower() in ("read", "read_file", "view_image"):
                read.add(path)
            elif call.name.lower() in ("write", "edit", "multiedit", "edit_file", "replace", "notebookedit"):
                modified.add(path)
    return read - modified, modified


def without_shell(every: Sequence[Message]) -> list[Message]:
    shells = {id(exchange.call) for exchange in exchanges(every) if exchange.line}
    return [m for m in every if not any(id(call) in shells for call in m.calls)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.name[:24]}")
def test_files_of_tools_equal_a_plain_scan(path: Path) -> None:
    every = without_shell(session(path))
    found = of_messages(every)
    read, modified = others(every)
    assert {normal(p) for p in found.modified_files} == {normal(p) for p in modified}
    assert {normal(p) for p in found.read_files} == {normal(p) for p in read} - {normal(p) for p in modified}


def normal(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").casefold()


# a line that two readers of shells cannot understand differently: words, pipes, ; and &&
PLAIN = re.compile(r"""^(?:[\w./:=,@%+ \t-]|'[^'$`]*'|"[^"$`\\]*"|\||;|&&|>{1,2})+$""")
READERS = ("cat", "head", "tail", "nl", "less")


def by_shlex(line: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a plain line: the standard library's own splitter, and rules in one place."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    command: list[str] = []
    for token in [*lexer, ";"]:
        if set(token) <= set(";|&"):
            yield from of_words(command)
            command = []
        else:
            command.append(token)


def of_words(words: list[str]) -> Iterator[tuple[str, str]]:
    while words and re.match(r"^[A-Za-z_]\w*=|^(?:sudo|time|command)$", words[0]):
        words = words[1:]
    for at, word in enumerate(words):
        if set(word) == {">"} and not words[at + 1].startswith("/dev/"):
            yield words[at + 1], "modified"
    words = words[: next((at for at, word in enumerate(words) if set(word) == {">"}), len(words))]
    if words and words[0] in READERS:
        for at, word in enumerate(words[1:], 1):
            if not word.startswith("-") and not (words[at - 1] in ("-n", "-c") and words[0] != "cat"):
                yield word, "read"
    if words[:2] == ["sed", "-n"]:
        yield from ((word, "read") for word in words[3:])
    if words[:2] == ["sed", "-i"]:
        yield from ((word, "modified") for word in words[3:])
    if words[:1] in (["touch"], ["rm"]) and not any(w.startswith("-") and "r" in w for w in words):
        yield from ((word, "modified") for word in words[1:] if not word.startswith("-"))


# what the rules here do not know
UNKNOWN = re.compile(
    r"(?:^|[;&|]\s*)(?:cd|mv|cp|tee|if|for|while|do|test|git (?:mv|rm|checkout|restore|apply)|apply_patch"
    r"|rm -\w*[rR]\w*)\b|\d>|&>|\bsed -(?:n|i)e?[^ ]|-e "
)
LEAST_LINES, LEAST_FILES = 1_000, 500


def test_plain_shell_lines_read_the_same_by_the_standard_librarys_splitter() -> None:
    every = {exchange.line for path in FILES for exchange in exchanges(session(path))}
    lines = sorted(line for line in every if PLAIN.match(line) and not UNKNOWN.search(line))
    assert len(lines) >= LEAST_LINES
    found = {line: {(touched.path, touched.use) for touched in files_of_line(line)} for line in lines}
    other = {line: {(path, use) for path, use in by_shlex(line) if is_file(path)} for line in lines}
    assert {line: files for line, files in found.items() if files != other[line]} == {}
    assert sum(map(len, found.values())) >= LEAST_FILES


def is_file(path: str) -> bool:
    return (
        bool(path) and not path.endswith("/") and path not in (".", "..") and not path.startswith(("/dev/", "/proc/"))
    )


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("path", FILES[::4], ids=lambda p: f"{p.parent.name}-{p.name[:24]}")
def test_ledgers_in_steps_keep_every_file_and_error(path: Path, steps: int) -> None:
    every = session(path)
    cwd = next((m.cwd for m in every if m.cwd), "")
    text = ""
    for region in parts(every, steps):
        text = rendered(ledger_of(region, text, cwd, settings=LARGE))
        kept = [p for p in probes_of(region, cwd) if p.kind in ("modified", "read", "error")]
        assert [(p.kind, p.text) for p in checked(kept, text).lost if p.kind != "read"] == []
    whole = of_messages(every, cwd)
    assert (of_tags(text).read_files, of_tags(text).modified_files) == (whole.read_files, whole.modified_files)


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5])
def test_lists_of_grown_sessions_equal_a_plain_scan_after_one_to_five_compactions(steps: int) -> None:
    seen = 0
    for path in FILES[steps - 1 :: 20]:
        every = without_shell(session(path))
        text = ""
        for region in parts(every, steps):
            text = rendered(ledger_of(region, text, settings=LARGE))
        read, modified = others(every)
        found = of_tags(text)
        assert {normal(p) for p in found.modified_files} == {normal(p) for p in modified}, path.name
        assert {normal(p) for p in found.read_files} == {normal(p) for p in read} - {normal(p) for p in modified}
        seen += len(modified)
    assert seen > 0


def parts(every: Sequence[Message], number: int) -> list[list[Message]]:
    """Cut a session before what a person typed, so that no call is parted from its result."""
    turns = [at for at, m in enumerate(every) if m.origin == "typed" and not m.results and at]
    cuts = sorted({turns[len(turns) * n // number] for n in range(1, number)}) if turns else []
    return [list(every[a:b]) for a, b in zip([0, *cuts], [*cuts, len(every)], strict=True)]


def test_every_error_of_the_default_size_is_told() -> None:
    for path in FILES[::3]:
        every = session(path)
        text = rendered(ledger_of(every))
        lost = checked([p for p in probes_of(every) if p.kind in ("modified", "error")], text).lost
        assert [(p.kind, p.text) for p in lost] == [], path.name
