"""What a command is run for, told by its words; and whether it is a run at all, or only asks or pretends."""

import re
from collections.abc import Sequence
from typing import Literal

from slowwave.shell.grammar import Word

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
