"""What the commands of a shell line proved, by the exit state of the line and by what it printed.

An exit state is that of the last command; which others it speaks of is told by the operators between: ``a && b``
that ended well proves both, ``a; b`` only b, ``a || true`` and ``a | tail`` nothing of a. Where it is silent, the
summary of a test runner and the complaint of a shell are heard. Agents cut most of their output with a filter, so that
matters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from slowwave.shell import Chain, Command, Group, Pipeline, Script, Word, script_in, script_of

# What a command is run for, told by its words; and whether it is a run at all, or only asks or pretends.

Purpose = Literal["test", "lint", "format", "typecheck", "check", "build", "install", "run", ""]

# what runs the tool that is named behind it, and what stands between the two
# fmt: off
_LAUNCHERS: dict[str, frozenset[str]] = {
    "npx": frozenset(), "bunx": frozenset(), "pnpx": frozenset(), "uvx": frozenset(), "xvfb-run": frozenset(),
    "npm": frozenset({"exec", "x"}), "pnpm": frozenset({"exec", "dlx"}), "yarn": frozenset({"exec", "dlx"}),
    "bun": frozenset({"x"}), "uv": frozenset({"run"}), "poetry": frozenset({"run"}), "pdm": frozenset({"run"}),
    "hatch": frozenset({"run"}), "pipenv": frozenset({"run"}), "rye": frozenset({"run"}), "bundle": frozenset({"exec"}),
    "mise": frozenset({"exec", "x"}), "direnv": frozenset({"exec"}), "docker": frozenset({"run", "exec"}),
    "docker-compose": frozenset({"run", "exec"}), "podman": frozenset({"run", "exec"}), "rtk": frozenset(),
    "dotenv": frozenset(), "cross-env": frozenset(), "coverage": frozenset({"run"}), "composer": frozenset({"exec"}),
}
# options of these that take the next word
_VALUED = frozenset({
    "--directory", "--project", "--with", "--extra", "--group", "--python", "-p", "--package", "--prefix", "--filter",
    "-C", "--dir", "--cwd", "--workspace", "-w", "-f", "-F", "--file", "-e", "--env", "-u", "--user", "--manifest-path",
})
# what runs the scripts and targets that a project names itself
_OWN = frozenset({
    "npm", "pnpm", "yarn", "bun", "make", "gmake", "just", "task", "mise", "rake", "poe", "composer", "invoke", "inv",
    "nox", "tox", "hatch", "pdm", "gradle", "gradlew", "mvn", "mvnw", "turbo", "nx", "lerna", "moon", "ant",
    "sbt", "mage",
    "deno", "bazel", "ninja", "meson", "xcodebuild", "doit", "grunt", "gulp", "rushx", "docker", "docker-compose", "uv",
})
_RUN_SCRIPT = frozenset({"run", "run-script", "task", "-s", "-e", "workspace", "compose"})
_TOOLS: dict[str, Purpose] = {
    **dict.fromkeys((
        "pytest", "py.test", "unittest", "jest", "vitest", "mocha", "ava", "tap", "rspec", "phpunit", "pest",
        "tox", "nox",
        "ctest", "gotestsum", "nextest", "karma", "cypress", "bats", "minitest", "trial", "nose2", "behave", "cucumber",
        "busted",
    ), "test"),
    **dict.fromkeys((
        "eslint", "ruff", "flake8", "golangci-lint", "shellcheck", "markdownlint", "markdownlint-cli2", "vale",
        "pylint",
        "rubocop", "stylelint", "tslint", "oxlint", "clippy", "hadolint", "yamllint", "ktlint", "swiftlint", "biome",
        "staticcheck", "revive", "standardrb", "credo", "phpcs", "pycodestyle", "bandit", "xo", "actionlint", "buf",
    ), "lint"),
    **dict.fromkeys((
        "gofmt", "gofumpt", "goimports", "prettier", "black", "rustfmt", "isort", "clang-format", "shfmt", "autopep8",
        "yapf", "dprint", "swiftformat", "stylua", "taplo", "alejandra", "nixfmt", "gci",
    ), "format"),
    **dict.fromkeys((
        "mypy", "pyright", "basedpyright", "tsc", "vue-tsc", "pytype", "pyre", "ty", "flow", "phpstan",
        "psalm", "sorbet",
        "svelte-check",
    ), "typecheck"),
    **dict.fromkeys(("webpack", "rollup", "esbuild", "tsup", "cmake", "parcel", "goreleaser", "mkdocs",
    "tsdown"), "build"),
    **dict.fromkeys(("pip", "pip3", "apt", "apt-get", "brew", "apk", "dnf", "yum", "gem", "pipx", "conda"), ""),
    **dict.fromkeys(("pre-commit", "lefthook", "prek"), "check"),
}
# a tool and what it is asked for
_SUBCOMMANDS: dict[str, dict[str, Purpose]] = {
    "go": {"test": "test", "vet": "typecheck", "build": "build", "fmt": "format", "run": "run", "install": "install"},
    "cargo": {
        "test": "test", "nextest": "test", "t": "test", "clippy": "lint", "fmt": "format", "check": "typecheck",
        "c": "typecheck", "build": "build", "b": "build", "run": "run", "r": "run", "install": "install",
    },
    "ruff": {"format": "format"},
    "biome": {"format": "format", "check": "lint", "ci": "lint"},
    "dotnet": {"test": "test", "build": "build", "run": "run", "format": "format", "restore": "install",
    "publish": "build"},
    "swift": {"test": "test", "build": "build", "run": "run"},
    "mix": {"test": "test", "compile": "build", "format": "format", "credo": "lint", "dialyzer": "typecheck"},
    "node": {"--test": "test", "--check": "typecheck"},
    "deno": {"test": "test", "lint": "lint", "fmt": "format", "check": "typecheck", "run": "run", "task": ""},
    "zig": {"test": "test", "build": "build", "fmt": "format", "run": "run"},
    "terraform": {"fmt": "format", "validate": "check"},
    "vite": {"build": "build", "dev": "run"}, "next": {"build": "build", "lint": "lint", "dev": "run"},
    "playwright": {"test": "test", "install": "install"}, "ng": {"test": "test", "build": "build", "lint": "lint"},
    "buf": {"format": "format", "build": "build", "lint": "lint"}, "flutter": {"test": "test", "analyze": "lint"},
    "dart": {"test": "test", "analyze": "lint", "format": "format"},
    "npm": {"ci": "install", "install": "install", "i": "install", "add": "install", "start": "run", "t": "test"},
    "pnpm": {"install": "install", "i": "install", "add": "install", "start": "run", "t": "test"},
    "yarn": {"install": "install", "add": "install", "start": "run"},
    "bun": {"install": "install", "i": "install", "add": "install", "test": "test", "build": "build"},
    "uv": {"sync": "install", "add": "install", "pip": "install", "build": "build"},
    "poetry": {"install": "install", "add": "install", "build": "build"}, "bundle": {"install": "install"},
    "pip": {"install": "install"}, "pip3": {"install": "install"}, "apt": {"install": "install"},
    "apt-get": {"install": "install"}, "brew": {"install": "install"}, "apk": {"add": "install"},
    "composer": {"install": "install", "require": "install"}, "gem": {"install": "install"},
    "cmake": {"--install": "install"}, "coverage": {"run": ""}, "pipx": {"install": "install"},
    "conda": {"install": "install"}, "docker": {"build": "build"},
}
# the names that projects give to their scripts and targets; the first part that is known says what it is for
_NAMES: dict[str, Purpose] = {
    **dict.fromkeys(("test", "tests", "spec", "specs", "e2e", "unittest", "coverage", "unit", "integration"), "test"),
    **dict.fromkeys(("lint", "lints", "eslint", "clippy", "style", "vet"), "lint"),
    **dict.fromkeys(("fmt", "format", "formatting", "prettier", "black"), "format"),
    **dict.fromkeys(("typecheck", "types", "tsc", "mypy", "pyright", "typing"), "typecheck"),
    **dict.fromkeys(("check", "checks", "verify", "validate", "ci", "precommit"), "check"),
    **dict.fromkeys(("build", "compile", "bundle", "dist", "package", "assemble"), "build"),
    **dict.fromkeys(("install", "setup", "bootstrap", "deps"), "install"),
    **dict.fromkeys(("start", "dev", "serve", "run", "watch"), "run"),
}
# of these names the ones that tell which tests
_KINDS = frozenset({"e2e", "unit", "integration", "coverage"})
# what else the name of a script is made of
_IN_SCRIPTS = frozenset({"run", "all", "script", "project"})
_ONLY_CHECKS = frozenset({
    "--check", "--check-only", "--check-formatted", "--diff", "--list-different", "--verify-no-changes",
    "-check", "-diff",
    "--dry-run", "--lint", "--fail", "-n",
})
# short options that mean it with these alone
_ONLY_CHECKS_HERE = {
    "gofmt": frozenset({"-l", "-d"}), "gofumpt": frozenset({"-l", "-d"}), "goimports": frozenset({"-l", "-d"}),
    "shfmt": frozenset({"-l", "-d"}), "prettier": frozenset({"-c", "-l"}), "isort": frozenset({"-c"}),
    "dprint": frozenset({"check"}),
}
_ASKS = frozenset({
    "--help", "--version", "--dry-run", "--dryrun", "--collect-only", "--co", "--no-run", "--list-tests", "--listTests",
    "--just-print", "--recon", "--usage", "--show-config", "--showConfig", "--print-config", "--fixtures", "--markers",
    "-dumpversion", "--setup-plan", "--list",
})
_VERSIONS = frozenset({"--version", "-v", "-V", "version", "-version"})
_ALONE = frozenset({"-h", "help"}) | _VERSIONS
_INTERPRETERS = frozenset({"python", "python3", "node", "ruby", "perl", "php", "deno", "tsx", "ts-node",
"java", "pypy3"})
# fmt: on
# every program that is known here by its name
KNOWN = frozenset({*_LAUNCHERS, *_OWN, *_TOOLS, *_SUBCOMMANDS, *_INTERPRETERS})
_PARTS = re.compile(r"[a-z0-9]+")
_PYTHON = re.compile(r"^(?:python|pypy)[\d.]*$")


def purpose_of(words: Sequence[Word]) -> Purpose:
    """Say what a command is run for, "" when that is not certain."""
    texts = [word.text for word in words]
    program, rest = tool_of(texts)
    if program in _TOOLS or program in _SUBCOMMANDS:
        known = _SUBCOMMANDS.get(program, {})
        asked = next((text for text in rest if text in known or not text.startswith("-")), "")
        purpose = known.get(asked, _TOOLS.get(program, ""))
        if purpose:
            return "lint" if purpose == "format" and _only_checks(program, rest) else purpose
    if program in _OWN:
        return _by_name(_script(program, rest))
    if texts and "/" in texts[0] and set(_PARTS.findall(program.partition(".")[0])) <= _NAMES.keys() | _IN_SCRIPTS:
        return _by_name(program.partition(".")[0])
    return "run" if program in _INTERPRETERS and rest and not rest[0].startswith("-") else ""


def variant_of(words: Sequence[str], purpose: Purpose) -> str:
    """Return what the name of a project's own script says besides its purpose: "integration" of ``test:integration``.

    Of a formatter that only checks it is "formatting". "" is the general command for a purpose.
    """
    program, rest = tool_of(list(words))
    known = _SUBCOMMANDS.get(program, {})
    if purpose == "lint" and "format" in {_TOOLS.get(program), *(known.get(word) for word in rest[:1])}:
        return "formatting"
    name = _script(program, rest)
    if program not in _OWN or name in known:
        return ""
    plain = {part for part, of in _NAMES.items() if of == purpose} - _KINDS | _IN_SCRIPTS
    return " ".join(part for part in _parts(name) if part not in plain)


def own_tool(words: Sequence[str]) -> str:
    """Return the tool that does the work, "" where a script of the project's own leads to it, or nobody knows it."""
    program, _ = tool_of(list(words))
    return program if program in _TOOLS.keys() | _SUBCOMMANDS.keys() and program not in _OWN else ""


def is_tool(words: Sequence[Word]) -> bool:
    """Say whether a command is one that projects are built, tested and run with, not one that shows files."""
    program = _name(words[0].text) if words else ""
    known = (_LAUNCHERS, _OWN, _TOOLS, _SUBCOMMANDS, _INTERPRETERS)
    return any(program in names for names in known) or bool(_PYTHON.match(program))


def takes_words(program: str) -> bool:
    """Say whether a program is told by its next word what it shall do, or what it shall run."""
    return any(program in names for names in (_LAUNCHERS, _OWN, _SUBCOMMANDS, _INTERPRETERS))


def purpose_by_name(name: str) -> Purpose:
    """Return what a script or target is for that a project has called so, "" when that is not certain."""
    return _by_name(name)


def is_ask(words: Sequence[Word]) -> bool:
    """Say whether a command only asks or pretends (``--help``, ``--version``, ``--dry-run``): it proves nothing."""
    texts = [word.text for word in words[1:]]
    end = texts.index("--") if "--" in texts else len(texts)
    program = words[0].text.rsplit("/", 1)[-1] if words else ""
    if program in ("make", "gmake") and "-n" in texts[:end]:
        return True
    return not _ASKS.isdisjoint(texts[:end]) or (len(texts) in (1, 2) and texts[-1] in _ALONE and texts[0][:1] != "/")


def tool_of(texts: list[str]) -> tuple[str, list[str]]:
    """Return the program that does the work, behind what only launches it, and its arguments."""
    program, rest = (_name(texts[0]), texts[1:]) if texts else ("", [])
    for _ in range(4):
        if _PYTHON.match(program):
            if rest[:1] != ["-m"]:
                return "python", rest
            program, rest = rest[1] if len(rest) > 1 else "", rest[2:]
            continue
        through = _LAUNCHERS.get(program)
        if through is None:
            break
        operands = _operands(rest)
        if operands and rest[operands[0]] == "compose":
            operands = operands[1:]
        if through and (not operands or rest[operands[0]] not in through):
            break
        at = operands[1:] if through else operands
        # the image or the service
        at = at[1:] if program in ("docker", "podman", "docker-compose", "direnv") else at
        if not at:
            break
        program, rest = _name(rest[at[0]].partition("@")[0] or rest[at[0]]), rest[at[0] + 1 :]
    return program, rest


def _operands(texts: list[str]) -> list[int]:
    """Return where the words stand that are no options and no values of these."""
    found: list[int] = []
    skip = False
    for at, text in enumerate(texts):
        if not skip and not text.startswith("-") and "=" not in text:
            found.append(at)
        skip = not skip and text in _VALUED
    return found


def _name(text: str) -> str:
    return text.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")


def _only_checks(program: str, rest: list[str]) -> bool:
    if program == "biome":
        return "--write" not in rest and "--fix" not in rest
    return not (_ONLY_CHECKS | _ONLY_CHECKS_HERE.get(program, frozenset())).isdisjoint(rest)


def _script(program: str, rest: list[str]) -> str:
    """Return the name of the script or target that is run, or ""."""
    names = [rest[at] for at in _operands(rest)]
    while names and names[0] in _RUN_SCRIPT:
        names = names[1:]
    # of several targets the last is what the others lead to
    takes_last = program in ("make", "gmake", "gradle", "gradlew", "mvn", "mvnw")
    return (names[-1] if takes_last else names[0]) if names else ""


def _parts(name: str) -> list[str]:
    return _PARTS.findall(name.lower().replace("type-check", "typecheck").replace("pre-commit", "precommit"))


def _by_name(name: str) -> Purpose:
    parts = _parts(name)
    purposes: list[Purpose] = [_NAMES[part] for part in parts if part in _NAMES]
    if "format" in purposes and "check" in purposes:
        return "lint"
    if "typecheck" in purposes:
        return "typecheck"
    # of run-tests the tests
    purposes.sort(key="run".__eq__)
    return purposes[0] if purposes else ""


# What the output of a command says: its exit code, whether its tests passed, and the line that tells why it failed.

Verdict = Literal["passed", "clean", "failed", "nothing", ""]

CAUSE_CHARS = 160
_MOST_LINES = 60
_ENDING_CHARS = 200
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
    r"|no matches found: |not installed|could not be found|Could not find|is not a valid|must be run (?:from|as|in)"
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
# client: pi puts the code behind what a command printed
_EXIT_BEHIND = re.compile(r"(?:^|\n)Command exited with code (\d+)\s*\Z")
_HEAD = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Original token count|Output|Exit code|Process exited with code)\b[^\n]*\n){1,5}"
)
# client: Claude Code and pi say so of a command that printed nothing
_SILENT = re.compile(r"\A\s*\((?:Bash completed with )?no output\)\s*\Z")
# client: Codex and Claude Code answer so while the command still runs
_STILL_RUNS = re.compile(
    r"\A\s*(?:(?:Chunk ID|Wall time)[^\n]*\n){0,2}Process running with session ID (\d+)"
    r"|\A(?:Command running in background|Command was manually backgrounded|Command did not complete)"
)
# client: what clients answer to a call that a person refused or broke off
_REFUSED = re.compile(
    r"^(?:<tool_use_error>)?(?:Wall time: [^\n]*\n)?(?:The user doesn't want|\[Request interrupted|aborted by user"
    r"|exec command rejected by user|Tool call (?:was )?rejected|Operation aborted|Cancelled: parallel tool call"
    r"|The user rejected)",
    re.IGNORECASE,
)
# who complains about a call: the shell, or a program in its own name, at the start of a line
_COMPLAINS = re.compile(
    r"^(?:error\b|fatal\b|usage error|unknown |unrecognized |unexpected |invalid |cannot |could not |no such "
    r"|(?:/\S+/)?(?:ba|z|da|fi|k)?sh: |\(eval\):|npm (?:err!|error)|make(?:\[\d+\])?: |\w*Error: |\w*Exception: "
    r"|[\w.+-]{2,30}: (?:error|fatal|unknown|unrecognized|invalid|illegal|no such|cannot|command not found"
    r"|not found)\b)",
    re.IGNORECASE,
)
# what was let through by a filter; a longer text is a log or a file that speaks of errors
_MOST_COMPLAINT_LINES = 15
_CODE = re.compile(r"(?:^|[^\w.-])(\d{1,3})\W*$")
# the summaries of test runners; numbers first, since "0 failed" is no failure
_FAILURES = re.compile(
    r"^(?:=+ .*|\s*|.*[|:,;(] ?|Test(?: Suite| File)?s:?\s.*|test result: .*|[\u2139#] )"
    r"[1-9]\d* (?:tests? |specs? |test files? )?(?:failed|failing|failures?|errors?|fail)\b"
    r"|^(?:# |\u2139 )?fail(?:ed|ures)?:? [1-9]|\b(?:failures|errors|failed)[=:] ?[1-9]\d*\b"
    r"|^(?:FAIL|FAILED)(?:$|[\t :(])|^--- FAIL: |^not ok \d|^test result: FAILED|^FAILED \(|^BUILD FAILED"
    r"|^make(?:\[\d+\])?: \*\*\* |^ERROR: .*collecting|^E {3}|\bpanic: |\bFound [1-9]\d* errors?\b"
    # compilers and checkers name a place, or nothing but the error
    r"|^\S+[:(]\d+[^\n]{0,16}: error\b|^error(?:\[E\d+\])?: ",
    re.MULTILINE,
)
_PASSES = re.compile(
    r"\b[1-9]\d* (?:tests? |specs? |examples?, )?(?:passed|passing|pass|0 failures)\b|^ok[ \t]+\S|^PASS$"
    r"|^(?:# |\u2139 )?pass [1-9]|^test result: ok\. [1-9]|^Ran [1-9]\d* tests?\b|^(?:Passed!|BUILD SUCCESS)",
    re.MULTILINE,
)
# how linters, formatters and type checkers count: what they found none of, and what they found some of
_COUNTED = r"(?:\w+ )?(?:issues?|errors?|problems?|warnings?|violations?|offenses?|diagnostics?)\b"
_CLEAN = re.compile(rf"\b(?:no|0) {_COUNTED}|\ball checks passed\b", re.IGNORECASE)
_UNCLEAN = re.compile(rf"\b[1-9]\d* {_COUNTED}", re.IGNORECASE)
_NOTHING = re.compile(
    r"\bno tests? (?:ran|found|collected|to run|were found)\b|\bcollected 0 items\b|\[no test files\]"
    r"|\[no tests to run\]"
    r"|^\s*0 passing\b|\bno test files found\b|\brunning 0 tests\b|^Ran 0 tests\b|\bNo tests found\b"
    r"|^(?:# |\u2139 )?tests 0$"
    r"|\bno test (?:files|suites?) (?:were )?found\b|\b0 tests? (?:passed|executed|ran)\b|\bNo test is available\b",
    re.MULTILINE | re.IGNORECASE,
)
# of a Python traceback the last such line is what went wrong, not the code that it quotes
_RAISED = re.compile(r"^(?:[\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b.*)$", re.MULTILINE)
# pytest writes an E before what it expected and did not get
_ASSERTED = re.compile(r"^E {2,}\S.*$", re.MULTILINE)
_NAMED = re.compile(
    r"^.*(?:[a-z]Error|[a-z]Exception|\bFAIL(?:ED|URE)?\b|\bpanic:|\bnot ok\b|\u2717|\u2715).*$", re.MULTILINE
)


def exit_code(output: str) -> int | None:
    """Return the exit code that a tool result names, or None."""
    found = _EXIT.match(output) or _EXIT_BEHIND.search(output[-_ENDING_CHARS:])
    return int(found[1]) if found else None


def still_runs(output: str) -> bool:
    """Say whether a tool result tells that the command has not come to an end."""
    return _STILL_RUNS.match(output) is not None


def running_id(output: str) -> str:
    """Return by what a later call may ask how a command goes on that has not come to an end; "" where none can."""
    found = _STILL_RUNS.match(output)
    return (found[1] or "") if found else ""


def continued(before: str, output: str) -> str:
    """Return the result of a command that was asked about again, with all that it printed before."""
    text = printed(output)
    return f"{output[: len(output) - len(text)]}{printed(before)}\n{text}"


def is_refused(output: str) -> bool:
    """Say whether a tool result tells that a person refused the call or broke it off: nothing went wrong or well."""
    return _REFUSED.match(output) is not None


def printed(output: str) -> str:
    """Return a result without the words of the client: before what the command printed, or where it printed nothing."""
    text = _HEAD.sub("", output)
    return "" if _SILENT.match(text) else text


def verdict_of(text: str) -> Verdict:
    """Return what the summary of a check says: failures, passes, no findings, nothing run; "" without one."""
    if _FAILURES.search(text):
        return "failed"
    if _PASSES.search(text):
        return "passed"
    if _NOTHING.search(text):
        return "nothing"
    return "clean" if _CLEAN.search(text) and not _UNCLEAN.search(text) else ""


def complaint_in(text: str) -> str:
    """Return the line with which a shell or a program refuses a call, where little else was let through; or ""."""
    lines = [line.strip() for line in text.split("\n", _MOST_COMPLAINT_LINES + 1) if line.strip()]
    if len(lines) > _MOST_COMPLAINT_LINES:
        return ""
    return next((line for line in lines if _COMPLAINS.match(line) and setup_error(line)), "")


def _complains(text: str) -> bool:
    return _RAISED.search(text) is not None or any(map(_COMPLAINS.match, text.splitlines()))


def told_code(text: str) -> int | None:
    """Return the code with which an output ends, where the line itself prints it last."""
    found = _CODE.search(text.rstrip()[-80:])
    return int(found[1]) if found else None


def setup_error(output: str) -> str:
    """Return the line that tells what is wrong with the set-up or the call, or ""."""
    lines = (line.strip() for line in output.split("\n", _MOST_LINES)[:_MOST_LINES])
    return next((ln[:CAUSE_CHARS] for ln in lines if _SETUP_ERROR.search(ln) and not _WARNING.match(ln)), "")


def cause_of(output: str) -> str:
    """Return the decisive line of the output of what failed, or ""."""
    text = printed(output)
    if "Traceback (most recent call last)" in text and (raised := _RAISED.findall(text)):
        return raised[-1].strip()[:CAUSE_CHARS]
    asserted = _ASSERTED.search(text)
    line = asserted[0] if asserted else setup_error(text) or _error_in(text)
    if not line:
        named = _NAMED.search(text)
        line = named[0] if named else ""
    return line.strip()[:CAUSE_CHARS]


def _error_in(text: str) -> str:
    return next((line for line in text.split("\n", _MOST_LINES)[:_MOST_LINES] if _ERROR.search(line)), "")


__all__ = ["CHECKS", "Outcome", "Proven", "Purpose", "Run", "cause_of", "commands_of", "run_of"]

Outcome = Literal["succeeded", "failed", "unknown"]

# what only prepares the ground for the command behind it, and does not fail in silence
# fmt: off
_PREPARES = frozenset({
    "cd", "export", "set", "source", ".", "echo", "printf", "true", ":", "sleep", "pwd", "mkdir", "pushd",
    "popd", "umask",
    "unset", "wait", "exit", "return", "local", "declare", "readonly", "shopt", "trap", "alias", "break", "continue",
    "false", "ulimit", "setopt",
})
# what names itself when it fails, so that in a failed line without its name something behind it failed
_SIGNS = frozenset({"rm", "cp", "mv", "ln", "touch", "chmod", "rmdir"})
# what only asks for something that decides on what comes behind it
_TESTS = frozenset({"test", "[", "[["})
# what only cuts or shows the output of the command before it
_FILTERS = frozenset({
    "tail", "head", "tee", "cat", "grep", "egrep", "fgrep", "rg", "less", "more", "wc", "sort", "uniq", "sed",
    "awk", "cut",
    "Select-Object", "Select-String", "Where-Object", "ForEach-Object", "Sort-Object", "Group-Object", "Measure-Object",
    "Format-Table", "Format-List", "Out-String", "Out-File", "Out-Null", "Out-Host", "Tee-Object", "base64", "xxd",
    "tr", "nl", "column", "fold", "ts", "strings", "jq", "bat", "fmt", "rev", "tac",
})
# fmt: on
# behind one of these the end of an output is whole
_KEEP_END = frozenset({"tail", "cat", "tee", "less", "more"})
_STANDS_FOR_CODE = re.compile(r"\$(?:\?|\{PIPESTATUS\[0\]\}|\{pipestatus\[1\]\})")
_OF_FIRST = re.compile(r"pipestatus", re.IGNORECASE)
_BUILTIN_FAILED = re.compile(rf"\b(?:cd|pushd|source|export|mkdir|{'|'.join(sorted(_SIGNS))}): ")
_MISSING = re.compile(
    r"([^\s:'\"`]+): (?:(?:command )?not found|No such file|Permission denied|cannot execute)|command not found: (\S+)"
)
# one of its endings, looked for first: nearly no output has any
_SAYS_MISSING = re.compile(r"not found|No such file|Permission denied|cannot execute")
# whose summary tells whether they passed
_REPORTS = frozenset({"test", "check"})
# what lists the files that are at fault, and ends well
_LIST = frozenset({"gofmt", "gofumpt", "goimports"})
# what a project is held to; the other purposes only make it run
CHECKS = frozenset({"test", "lint", "format", "typecheck", "check", "build"})
_MOST_SHELLS = 4
_END_CHARS = 20_000
_COMPLAINT_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Proven:
    """One command of a line and what its run proved."""

    text: str  # the command alone, as one would type it again: without redirections, pagers and environment
    program: str  # its first word without the folder
    purpose: Purpose  # what such commands are run for
    outcome: Outcome  # what is certain of how it ended; "unknown" also of what only asked or pretended
    setting: str = ""  # the assignments before it, which hold for it alone
    # the line ended well and showed what it printed, if not all of it: in no line of that a program complains
    seems_well: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A shell line that was run."""

    line: str  # the line
    commands: tuple[Proven, ...]  # those of its commands that do more than prepare or cut what others print, in order
    ok: bool  # as far as is known it did what it was run for
    code: int | None  # the exit code, where the client or the line itself tells it


def run_of(line: str, output: str, *, is_error: bool) -> Run:
    """Return what a shell line proved.

    ``line``: the line as it was given to the shell. ``output``: its result, with what the client put before or behind
    what was printed. ``is_error``: the client marked the result as an error.
    """
    script = script_of(line)
    text, code = _ends(printed(output)), exit_code(output)
    state: Outcome = "failed" if is_error or code else "succeeded"
    pipe = _prints_code(script) if state == "succeeded" else ""
    told = told_code(text) if pipe else None
    has_ended = not still_runs(output) and not is_refused(output)
    if not has_ended or script.is_torn:
        found = _Walk("").of(script, "unknown")
    elif told is not None:
        before = Script(script.chains[:-1])
        found = _Walk(text).of(before, "failed" if told else "succeeded", of_first=_OF_FIRST.search(pipe) is not None)
    else:
        found = _Walk(text).of(script, state)
    if has_ended:
        _hear(found, text)
    heard = any(one.is_heard and one.outcome == "failed" for one in found)
    ok = state == "succeeded" and not told and not heard and not is_refused(output)
    commands = tuple(one.proven() for one in found)
    if ok and len(found) == 1 and commands[0].outcome == "unknown" and not found[0].is_sifted and text.strip():
        commands = (replace(commands[0], seems_well=not _complains(text)),)
    return Run(line, commands, ok, code if told is None else told)


def _ends(text: str) -> str:
    """Return an output without its middle when it is huge: what matters stands at its ends."""
    return text if len(text) <= 2 * _END_CHARS else f"{text[:_END_CHARS]}\n{text[-_END_CHARS:]}"


def commands_of(line: str) -> tuple[Proven, ...]:
    """Return the commands of a line of which nothing is known but that it was given to a shell."""
    return tuple(one.proven() for one in _Walk("").of(script_of(line), "unknown"))


@dataclass(slots=True, eq=False)
class _Seen:
    """A command on the way to its outcome."""

    command: Command
    purpose: Purpose
    outcome: Outcome  # what the exit state proves
    needed: list["_Seen"] = field(default_factory=list["_Seen"])  # the commands that have succeeded if this one has run
    is_apart: bool = False  # it runs beside the line, or perhaps not at all
    is_cut: bool = False  # the end of its output may not have been shown
    is_sifted: bool = False  # of its output only chosen lines were shown
    is_heard: bool = False  # the outcome comes from the output

    def proven(self) -> Proven:
        command = self.command
        outcome = self.outcome
        if outcome == "succeeded" and is_ask(command.words):
            outcome = "unknown"
        setting = " ".join(word.raw for word in command.assigned)
        return Proven(command.text, command.program, self.purpose, outcome, setting)


class _Walk:
    """Goes through a tree with the exit state of the whole."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._stops_at_errors = False
        self._fails_in_pipes = False
        self._shells = 0
        self._found: list[_Seen] = []

    def of(self, script: Script, state: Outcome, *, of_first: bool = False) -> list[_Seen]:
        """Return the commands in order.

        ``state``: how it ended. ``of_first``: that is the state of the first command of its last pipe.
        """
        if of_first and script.chains and len(script.chains[-1].pipelines) == 1:
            pipeline = script.chains[-1].pipelines[0]
            self._script(Script(script.chains[:-1]), "unknown")
            self._part(pipeline.parts[0], state)
            for part in pipeline.parts[1:]:
                self._filtered(part, "unknown")
        else:
            self._script(script, state)
        return self._found

    def _script(self, script: Script, state: Outcome) -> None:
        for at, chain in enumerate(script.chains):
            is_last = at == len(script.chains) - 1
            begin = len(self._found)
            if chain.is_background:
                self._chain(chain, "unknown")
                for one in self._found[begin:]:
                    one.is_apart = True
            elif is_last:
                self._chain(chain, state)
            else:
                passed = state == "succeeded" and self._stops_at_errors and not chain.operators
                self._chain(chain, "succeeded" if passed else "unknown")

    def _chain(self, chain: Chain, state: Outcome) -> None:
        needed: list[_Seen] = []
        for pipeline, own, operator in zip(
            chain.pipelines, self._states(chain, state), ("", *chain.operators), strict=True
        ):
            begin = len(self._found)
            self._pipeline(pipeline, own)
            new = self._found[begin:]
            needed = [] if operator == "||" else needed
            for one in new:
                one.needed += needed
            if len(pipeline.parts) == 1:
                needed = [*needed, *new]

    def _states(self, chain: Chain, state: Outcome) -> list[Outcome]:
        """Return the states of the pipelines, from the last to the first as far as the operators prove them."""
        states: list[Outcome] = ["unknown"] * len(chain.pipelines)
        at = len(states) - 1
        while at > 0:
            operator = chain.operators[at - 1]
            if (state, operator) in (("succeeded", "&&"), ("failed", "||")):
                states[at] = state
            elif state == "failed" and all(map(_fails_by_name, chain.pipelines[:at])):
                states[at] = "unknown" if _BUILTIN_FAILED.search(self._text) else "failed"
                return states
            else:
                return states
            at -= 1
        states[0] = state
        return states

    def _pipeline(self, pipeline: Pipeline, state: Outcome) -> None:
        if pipeline.is_negated:
            state = {"succeeded": "failed", "failed": "succeeded"}.get(state, "unknown")  # pyright: ignore[reportAssignmentType]
        *before, last = pipeline.parts
        passed = state == "succeeded" and self._fails_in_pipes
        begin = len(self._found)
        for number, part in enumerate(before):
            self._filtered(part, "succeeded" if passed else "unknown", is_first=number == 0)
        cuts = [part for part in pipeline.parts[1:] if not (isinstance(part, Command) and part.program in _KEEP_END)]
        for one in self._found[begin:]:
            one.is_cut = one.is_cut or bool(cuts)
            one.is_sifted = one.is_sifted or not all(map(_shows_a_stretch, cuts))
        self._filtered(last, state, is_first=not before)

    def _filtered(self, part: Command | Group, state: Outcome, *, is_first: bool = False) -> None:
        if is_first or isinstance(part, Group) or part.program not in _FILTERS:
            self._part(part, state)

    def _part(self, part: Command | Group, state: Outcome) -> None:
        if isinstance(part, Group):
            self._group(part, state)
        elif not part.words:
            # of an assignment the state is that of the last thing that was run for it
            within = [script for word in part.assigned for script in word.within]
            for script in within:
                self._script(script, state if script is within[-1] else "unknown")
        elif self._shells < _MOST_SHELLS and (script := script_in(part)) is not None:
            self._shells += 1
            self._script(script, "unknown" if script.is_torn else state)
            self._shells -= 1
        elif part.program == "set":
            self._options([word.text for word in part.words[1:]])
        elif part.program not in _PREPARES | _TESTS or _is_own(part.words[0].text):
            self._found.append(_Seen(part, purpose_of(part.words), state))

    def _group(self, group: Group, state: Outcome) -> None:
        if group.kind == "function":
            return
        begin = len(self._found)
        for script in group.scripts:
            self._script(script, state if group.kind in "({" else "unknown")
        if group.kind == "if":
            for one in self._found[begin:]:
                one.is_apart = True

    def _options(self, options: list[str]) -> None:
        joined = " ".join(options)
        if re.search(r"(?:^| )-[a-z]*e|errexit", joined):
            self._stops_at_errors = True
        if "pipefail" in joined:
            self._fails_in_pipes = True


def _hear(found: Sequence[_Seen], text: str) -> None:
    """Take from an output what the exit state does not tell."""
    checks = [one for one in found if one.purpose in CHECKS]
    # of a check of code that ended well the summary tells nothing more
    is_open = len(checks) == 1 and (checks[0].outcome == "unknown" or checks[0].purpose in _REPORTS)
    verdict = (verdict_of(text) if text.strip() else _silent(found)) if is_open else ""
    for one in checks:
        ran_nothing = verdict == "nothing" and one.purpose in _REPORTS
        lists_some = one.purpose == "lint" and one.command.program in _LIST and len(found) == 1 and bool(text.strip())
        if one.outcome == "succeeded" and (ran_nothing or lists_some):
            one.outcome = "unknown"
        if one.outcome != "unknown" or one.is_apart:
            continue
        passes = ("passed",) if one.purpose in _REPORTS else ("clean",)
        if verdict == "failed":
            _settle(one, "failed")
        elif verdict in passes and not (one.is_cut if text.strip() else one.is_sifted):
            _settle(one, "succeeded")
    _hear_complaints([one for one in found if one.outcome == "unknown" and not one.is_apart], text)


def _hear_complaints(open_ones: Sequence[_Seen], text: str) -> None:
    """Take what a shell or a program says of a call that it refuses, when it can be only one of these."""
    if not open_ones:
        return
    begin = text[:_COMPLAINT_CHARS]
    names = {found[1] or found[2] for found in _MISSING.finditer(begin)} if _SAYS_MISSING.search(begin) else ()
    missing = [one for one in open_ones if one.command.words[0].text in names]
    if len(missing) == 1:
        _settle(missing[0], "failed")
    elif len(open_ones) == 1 and is_tool(open_ones[0].command.words):
        complaint = complaint_in(text)
        if complaint and not _BUILTIN_FAILED.search(complaint):
            _settle(open_ones[0], "failed")


def _silent(found: Sequence[_Seen]) -> Verdict:
    """Return what it says that a line printed nothing: what looks for faults in code has found none."""
    return "clean" if len(found) == 1 and not found[0].command.writes else ""


def _settle(one: _Seen, outcome: Outcome) -> None:
    one.outcome, one.is_heard = outcome, True
    for before in one.needed:
        if before.outcome == "unknown":
            before.outcome = "succeeded"


def _prints_code(script: Script) -> str:
    """Return the word with which a line prints the exit code of what it ran, as the last that it does; or ""."""
    last = script.chains[-1] if len(script.chains) > 1 else None
    part = last.pipelines[0].parts[0] if last and not last.operators else None
    if not isinstance(part, Command) or part.program not in ("echo", "printf"):
        return ""
    found = [code[0] for word in part.words[-1:] if (code := _STANDS_FOR_CODE.search(word.raw))]
    return found[0] if found else ""


def _is_own(program: str) -> bool:
    """Say whether a program lies in the project: ``bin/test`` is not the ``test`` of the shell."""
    return "/" in program and not program.startswith("/")


def _shows_a_stretch(part: Command | Group) -> bool:
    return isinstance(part, Command) and (
        part.program == "head" or [word.text for word in part.words[:2]] == ["sed", "-n"]
    )


def _fails_by_name(pipeline: Pipeline) -> bool:
    """Say whether commands only prepare the ground for what comes next, and tell who they are where they fail."""
    known = _PREPARES | _SIGNS
    return all(isinstance(part, Command) and (part.program in known or not part.words) for part in pipeline.parts)
