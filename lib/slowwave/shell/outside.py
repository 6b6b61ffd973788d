"""Commands that bring something in from outside the project: what is installed, fetched or run from elsewhere.

Read from the words of a text, in or out of marks of code, whatever stands before them on the line: prefixes, pipes and
substitutions hide nothing. What a project declares itself ("npm ci", "pip install -r requirements.txt", "make setup")
is not from outside.
"""

import re
from collections.abc import Iterator, Sequence

from slowwave.shell.commands import commands_of

_INSTALL = frozenset({"install", "add", "i", "get", "create", "require", "upgrade", "update", "x"})
_MANAGERS = """
    pip pip3 pipx conda mamba gem bundle brew apt apt-get dnf yum apk zypper choco winget scoop snap flatpak luarocks
    cpanm pecl cargo go uv poetry pdm hatch pipenv composer dotnet nuget helm rustup asdf mise cabal opam vcpkg conan
"""
# what each program calls it to bring something in; none of its other verbs does
_VERBS: dict[str, frozenset[str]] = {
    **dict.fromkeys(_MANAGERS.split(), _INSTALL),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _INSTALL | {"dlx", "exec"}),
    **dict.fromkeys(("git", "hg", "gh"), frozenset({"clone", "download"})),
    **dict.fromkeys(("docker", "podman", "nerdctl"), frozenset({"run", "pull"})),
    "pipx": _INSTALL | {"run"},
}
_RUNNERS = frozenset({"npx", "pnpx", "bunx", "uvx"})
_FETCHERS = frozenset(
    {"curl", "wget", "aria2c", "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "scp", "sftp", "rsync", "deno"}
)
_TOKEN = re.compile(r"[|;&`]+|[^\s`'\"(){}<>|;&]+")
_ENDS = ",.!?:"
# names a machine elsewhere: with a scheme, a user or a domain; what a variable names nobody knows
_PLACE = re.compile(r"[a-z][a-z0-9+.-]*://|[\w.-]+@[\w.-]+:|(?:[a-z0-9-]+\.)+[a-z]{2,}(?:[/:]|$)|\$", re.IGNORECASE)
_HERE = re.compile(r"(?:[a-z]+://)?(?:[\w.-]+@)?(?:localhost\b|127\.|0\.0\.0\.0|\[::1)", re.IGNORECASE)
_OF_PROJECT = re.compile(r"\.{0,2}[/\\]|\.$|\.\[|~|[\w./-]+\.(?:txt|toml|lock|json|ya?ml)$")
_MOST_WORDS = 12
_NEAR = 3


def outside(text: str) -> tuple[str, ...]:
    """Return what a text's commands bring in from outside the project, as they name it; empty when nothing."""
    tokens: list[str] = _TOKEN.findall(text)
    found: list[str] = []
    for at, token in enumerate(tokens):
        program = token.replace("\\", "/").rsplit("/", 1)[-1].casefold().removesuffix(".exe")
        found += _brought(program, list(_call(tokens[at + 1 :][:_MOST_WORDS])))
    return tuple(dict.fromkeys(found))


def _call(tokens: Sequence[str]) -> Iterator[str]:
    """Yield the words of a call up to the end of the command or of the sentence that it stands in."""
    for token in tokens:
        word = token.rstrip(_ENDS) or token
        if token[0] in "|;&`":
            return
        yield word
        if token != word:
            return


def _brought(program: str, rest: Sequence[str]) -> list[str]:
    if program in _FETCHERS:
        return [word for word in rest if _is_elsewhere(word)]
    if program in _RUNNERS:
        named = _named(rest)
        # a tool that projects are checked with is one of their own
        return [] if any(one.purpose for one in commands_of(" ".join(("npx", *named)))) else named[:1]
    if rest[:1] == ["compose"]:
        return []
    if program not in _VERBS:
        return []
    verb = next((at for at, word in enumerate(rest[:_NEAR]) if word.casefold() in _VERBS[program]), None)
    values = [word.partition("=")[2] if word.startswith("-") else word for word in rest]
    addresses = [value for value in values if "://" in value and _is_elsewhere(value)]
    return addresses + ([] if verb is None else _named(rest[verb + 1 :]))


def _named(words: Sequence[str]) -> list[str]:
    """Return the arguments that name something which is no file of the project."""
    return [word for word in words if not word.startswith("-") and not _OF_PROJECT.match(word)]


def _is_elsewhere(word: str) -> bool:
    return bool(_PLACE.match(word)) and not _HERE.match(word)
