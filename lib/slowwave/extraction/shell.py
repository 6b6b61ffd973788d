"""Shell lines taken apart as far as memories need it: the programs, what they are run for, and why they failed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Purpose = Literal["test", "lint", "format", "typecheck", "check", "build", "install", "run", ""]

_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1([^\n]*)\n(?:.*?\n)??[ \t]*\2[ \t]*(?=\n|\Z)", re.DOTALL)
_SPLIT = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_QUIET = re.compile(
    r"\s*(?:\d?>&\d|\d?>>?\s*\S+|&>\s*\S+|<\s*/dev/null|\|\s*(?:tail|head|tee|cat|grep|less|wc|sort|sed|awk)\b.*)\s*"
)
_ENV = re.compile(r"^(?:[A-Za-z_][A-Za-z0-9_]*=(?:'[^']*'|\"[^\"]*\"|\S*)\s+)+")
_WRAPPER = re.compile(r"^(?:(?:sudo|time|command|exec|nohup|nice|env|timeout\s+\S+)\s+)+")
_SETUP = re.compile(
    r"^(?:cd|export|set|source|\.(?= )|echo|printf|true|sleep|pwd|mkdir|pushd|popd|umask|unset|wait)(?![\w./-])"
)
_PURPOSES: tuple[tuple[Purpose, re.Pattern[str]], ...] = (
    ("typecheck", re.compile(r"\b(?:mypy|pyright|basedpyright|tsc|type-?check|cargo check|go vet)\b")),
    (
        "format",
        re.compile(r"\b(?:gofmt|gofumpt|prettier|black|rustfmt|ruff format|cargo fmt|biome format|fmt|format)\b"),
    ),
    (
        "lint",
        re.compile(
            r"\b(?:eslint|ruff|flake8|golangci-lint|clippy|shellcheck|markdownlint(?:-cli2?)?|vale|biome|pylint"
            r"|rubocop|lint)\b"
        ),
    ),
    (
        "test",
        re.compile(
            r"\b(?:pytest|unittest|jest|vitest|mocha|rspec|phpunit|tox|nox|ctest|go test|cargo (?:nextest|test)"
            r"|test)\b"
        ),
    ),
    # one target for all checks, as a project names it itself
    (
        "check",
        re.compile(
            r"^(?:npm|pnpm|yarn|bun|make|just|task|mise|poe|hatch|pdm|rake|composer)(?: run)? (?:check|verify"
            r"|validate|ci)(?:[:-]\w+)?\b"
        ),
    ),
    ("build", re.compile(r"\b(?:go build|cargo build|make build|webpack|vite build|build)\b")),
)
_RUNNERS = re.compile(
    r"^(?:npm|pnpm|yarn|bun|bunx|npx|uv|uvx|poetry|pdm|hatch|pipenv|make|just|task|mise|cargo|go|gradle"
    r"|\./gradlew|mvn|\./mvnw|dotnet|bundle"
    r"|rake|mix|swift|xcodebuild|docker|tox|nox|python3?|node|deno|pytest|ruff|mypy|pyright|eslint"
    r"|prettier|black|tsc|jest|vitest|golangci-lint"
    r"|gofmt|markdownlint(?:-cli2?)?|vale|shellcheck|flake8|pylint|biome|cmake|ctest|ninja|bazel"
    r"|phpunit|composer|rspec|rubocop)\b"
)
# errors that tell how a machine or a tool is set up; a failing test or a compile error does not
_SETUP_ERROR = re.compile(
    r"command not found|not recognized as|not found in PATH|No such file or directory|no such file"
    r"|cannot find module|No module named|ModuleNotFoundError"
    r"|unrecognized (?:sub)?command|unknown (?:sub)?command|unrecognized (?:option|argument)"
    r"|unknown (?:option|flag|argument|shorthand)"
    r"|invalid (?:option|choice|flag|argument)|no such (?:option|command|subcommand)|illegal option"
    r"|flag provided but not defined|Missing script"
    r"|No rule to make target|Permission denied|EACCES|ENOENT|not a git repository"
    r"|does not contain main module|cannot find main module|go\.mod file not found"
    r"|externally-managed-environment|Connection refused|ECONNREFUSED|address already in use"
    r"|requires (?:python|node|go)|Unsupported engine|version .{0,30} (?:is )?required"
    r"|not installed|could not be found|Could not find|is not a valid|must be run (?:from|as|in)"
    r"|not allowed|authentication required|please (?:run|install|set|use)|did you mean"
    # a variable or a setting that has no value; names of variables are in capitals
    r"|(?-i:\b[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){1,8}\b|\b(?:PORT|HOST|TOKEN|[A-Z]{0,20}HOME|EDITOR)\b)"
    r"[\"'`]?(?: environment variable| env var)? (?:is |was |must be |has to be )?"
    r"(?:not set|not configured|not provided|unset|missing|required|set\b|empty)"
    r"|(?:missing|undefined|unset|required) (?:required )?env(?:ironment)? variables?"
    r"|KeyError: '(?-i:[A-Z][A-Z0-9_]{2,})'"
    r"|unbound variable|parameter not set"
    # a service or a database that is not ready
    r"|could not connect to|connection to .{0,60} failed|no such table|relation .{1,60} does not exist"
    r"|(?:database|role|table|schema) .{1,60} does(?:n't| not) exist|unknown database|pending migrations?"
    r"|cannot connect to the docker daemon",
    re.IGNORECASE,
)
_WARNING = re.compile(r"(?:npm )?warn(?:ing)?\b", re.IGNORECASE)
_ERROR = re.compile(r"\b(?:error|failed|failure|fatal|exception|panic|cannot|can't|unable|denied)\b", re.IGNORECASE)
# client: Codex puts up to three lines of its own before the one with the code
_EXIT = re.compile(
    r"\A\s*(?:(?:Chunk ID|Wall time|Original token count): [^\n]*\n){0,3}"
    r"(?:Exit code|exit code|Process exited with code|exit status)[: ]+(-?\d+)"
)
_HEAD = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Original token count|Output|Exit code|Process exited with code)\b[^\n]*\n){1,5}"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a shell line.

    Attributes:
        text: the command without redirections, pagers and environment.
        program: its first word without the folder.
        purpose: what such commands are run for.
    """

    text: str
    program: str
    purpose: Purpose


def steps_of(line: str) -> list[Step]:
    """Return the commands of a shell line, without those that only prepare (``cd``, ``export``, ``echo``)."""
    if "<<" in line:
        # what goes into a file or a program this way is no command; what stands behind it is
        line = _HEREDOC.sub(r"\3", line).split("<<", 1)[0]
    steps: list[Step] = []
    for part in _SPLIT.split(line.strip()):
        text = _QUIET.sub(" ", _ENV.sub("", part)).strip()
        text = _ENV.sub("", _WRAPPER.sub("", text)).strip()
        if not text or text.startswith("#") or _SETUP.match(text):
            continue
        program = text.split()[0].strip("\"'").replace("\\", "/").rsplit("/", 1)[-1]
        steps.append(Step(text, program, purpose_of(text)))
    return steps


_VERSION = re.compile(r"^[\w.+-]+ (?:--version|-v|-V|version)$")


def is_version_call(steps: Sequence[Step]) -> bool:
    """Say whether a line does nothing but ask one tool for its version."""
    return len(steps) == 1 and bool(_VERSION.match(steps[0].text))


def purpose_of(text: str) -> Purpose:
    """Say what a command is run for, "" when that is not certain."""
    if not _RUNNERS.match(text):
        return ""
    for name, pattern in _PURPOSES:
        if pattern.search(text):
            return name
    return ""


def is_run(line: str) -> bool:
    """Say whether a line begins with a tool that projects are built, tested and run with; not one that shows files."""
    steps = steps_of(line)
    return bool(steps) and bool(_RUNNERS.match(steps[0].text))


def exit_code(output: str) -> int | None:
    """Return the exit code that a tool result names, or None."""
    found = _EXIT.match(output)
    return int(found[1]) if found else None


def printed(output: str) -> str:
    """Return a result without the lines that the client put before what the command printed."""
    return _HEAD.sub("", output)


def setup_error(output: str) -> str:
    """Return the line that tells what is wrong with the set-up or the call, or ""."""
    lines = (line.strip() for line in output.split("\n")[:60])
    return next((line[:160] for line in lines if _SETUP_ERROR.search(line) and not _WARNING.match(line)), "")


def error_line(output: str) -> str:
    """Return the first line that looks like an error, or ""."""
    return setup_error(output) or next((ln.strip()[:160] for ln in output.split("\n")[:60] if _ERROR.search(ln)), "")
