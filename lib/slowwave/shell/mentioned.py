"""Commands, options and files that a sentence names without marking them, and the same sentence with marks.

A name counts only where it is hardly anything else: programs by their names, and words behind them that such a program
takes; files by a folder or an ending. Names that are words of a language, too ("make", "go", "find"), count with what
is asked of them alone. What a session ran by that name is as good as a known one.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from slowwave.shell.commands import KNOWN, commands_of, purpose_by_name, takes_words

__all__ = ["Heard", "is_code", "is_path", "is_setting", "marked", "names_file"]

# the first words of the commands that a session ran
Heard = Collection[tuple[str, ...]]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# programs that can do several things, of which nothing else is known
_SEVERAL = _set(
    "pre-commit lefthook git gh glab hg svn kubectl helm kustomize terraform tofu terragrunt pulumi aws gcloud az fly "
    "flyctl heroku vercel netlify wrangler brew nix alembic flyway dbmate goose dbt sqlc prisma drizzle-kit knex "
    "sequelize typeorm rails bin/rails rake bundler artisan symfony drush pod fastlane eas expo melos fvm cabal stack "
    "opam dune corepack rustup systemctl airflow dagster dvc mlflow twine flit maturin protoc ansible vagrant mamba "
    "micromamba pixi asdf volta snap apt apt-get conda podman hugo zola jekyll quarto firebase supabase serverless "
    "sam cdk cdktf argocd flux skaffold"
)
# those of which the name is a plain word are no programs here
_PROGRAMS = (
    (KNOWN - _set("next ant poe flow"))
    | _SEVERAL
    | _set(
        "git gh glab hg svn docker docker-compose podman buildah kubectl helm kustomize minikube kind skaffold "
        "terraform tofu terragrunt ansible ansible-playbook vagrant packer pulumi aws gcloud az fly flyctl heroku "
        "vercel netlify wrangler curl wget httpie ssh scp rsync grep egrep rg ripgrep ag ack fd sed awk jq yq bat exa "
        "eza fzf tar zip unzip brew pacman snap nix nix-shell devbox asdf nvm fnm volta pyenv rbenv rustup sdkman "
        "virtualenv venv pip- tools pip-compile pip-sync conda mamba micromamba pixi uvx pipx easy_install twine flit "
        "maturin tox nox sphinx- build psql mysql sqlite3 mongosh redis-cli alembic flyway liquibase dbmate goose "
        "sqlc dbt sqlfluff prisma drizzle-kit knex sequelize typeorm protoc buf grpcurl openapi-generator swagger- "
        "codegen graphql-codegen rails bin/rails rake rspec minitest rubocop brakeman bundler artisan phpunit pest "
        "composer symfony drush wp mvn mvnw gradle gradlew sbt mill lein clj javac kotlinc ktlint detekt spotless "
        "dotnet nuget msbuild csc swift xcodebuild xcrun pod fastlane swiftlint carthage flutter dart fvm melos adb "
        "emulator expo react-native eas npx pnpx bunx tsx ts-node nodemon pm2 vite vitest webpack rollup esbuild "
        "parcel turbo lerna rush nx storybook playwright cypress puppeteer eslint prettier stylelint tsc deno node "
        "nodejs corepack cargo rustc rustfmt clippy cross trunk wasm-pack bazel bazelisk buck2 pants cmake ctest "
        "ninja meson gcc g++ clang clang-format clang-tidy ccache valgrind gdb lldb autoconf mkdocs sphinx hugo "
        "jekyll zola pandoc latexmk pdflatex xelatex typst quarto jupyter nbconvert papermill airflow dagster prefect "
        "spark-submit snowsql bq dvc mlflow kedro poetry pdm hatch rye pipenv goreleaser golangci-lint gofmt "
        "staticcheck gotestsum mockgen air templ mage ko elixir iex ghc cabal stack opam dune zig crystal shards "
        "nimble luarocks cpanm perl prove php ruby python python3 java nosetests unittest openssl certbot nginx "
        "sudo doas nohup systemctl find cat ls chmod pkill killall rm mv cp ln vim nano emacs code tmux screen"
    )
)
# these are words of a language, or names of things that are no programs
_AMBIGUOUS = _set(
    "git go make just task find test node at air ack kind stack cross trunk rush screen code pants goose mill dune "
    "cat flow pest trial tap ava behave vale xo credo sorbet busted standard invoke inv poe ant moon mage doit format "
    "lint check build run next spark flit crystal ninja sphinx flake python java ruby php perl swift dart spotless "
    "emulator symfony mysql snap nix nano wp bat fly prove ko helm bundle composer coverage rye hatch meson parcel "
    "buf fold nest rails prefect mise dotenv act zip tar exa forever ng ty pyre flutter deploy artisan bundler clippy "
    "docker ssh aws expo storybook jupyter airflow unittest ag cross-env"
)
# what one asks of programs that can do several things
_ASKED = _set(
    "api auth bench doc describe diff issue logs repo rollout view add apply audit autogenerate build bump check "
    "checkout "
    "cherry- pick ci clean clippy clone collectstatic commit compile compose create db delete deploy deps destroy dev "
    "dlx docs down downgrade exec export fetch fix fmt format freeze generate get i import init install lint lock "
    "login makemigrations makemessages merge migrate migration mod nextest outdated package pip plan pr preview pub "
    "publish pull push rebase release remove require reset restart restore revert revision rm rollback run seed serve "
    "shell start status stop stash switch sync system tag task test tests tidy tool uninstall up update upgrade "
    "validate verify version vet watch x ecto.migrate deps.get s3 pages"
)
_SCRIPT = re.compile(r"\.{1,2}/[\w./-]+|(?:bin|scripts)/[\w-]+")
_PLAIN_WORD = re.compile(r"[a-z][a-z0-9_-]+")
_TARGETS = _set("make just task gradlew gradle mvn mvnw rake nox mage invoke")
_SCRIPTS = _set("npm pnpm yarn bun composer poe pdm hatch rye mise deno")
_CHECKS = _set("test tests lint format fmt typecheck build check dev e2e start")
_LAUNCH = _set("npx pnpx bunx uvx")
# between two that exclude each other, and what may stand behind the second
_OPPOSES = _set(
    "not never no instead of over than nicht statt anstatt nie kein pas jamais non mai niet nunca inte to from"
)
_USES = _set("calling running call use using have run prefer with through via nutze benutze nimm utilise usa")
_RUNS = _set("-> => means needs run execute call lance führe ejecuta esegui lancia exécute")
_INTO = _set("in under inside into below within edit touch change modify unter dans en sous")
_THROUGH = _set("by with via through use über mit avec con")
_PLAIN = _set("plain bare raw system global the normal vanilla")
_BRACKETS = re.compile(r"\(\)")
# several in one word: "npm/yarn"; and the files of an ending in one: ".proto-Dateien"
_EITHER = re.compile(r"(?<![\w/.@-])([a-z][\w-]*)/([a-z][\w-]*)(?![\w/.])")
_ENDING_FILES = re.compile(r"(?<!\w)(`?)(\*?\.[a-z]\w*)(`?)-(?:dateien?|files?|bestanden|filer)\b", re.IGNORECASE)
# what is a word of a sentence rather than the name of a script
_STOPS = _set(
    "rather instead than pls please thx only always never run runs use it them sure changes certain sense any "
    "all you your new instead "
    "care both one other others tabs spaces the a an to in on and or for is are with before after here as at so that "
    "this und oder et y e"
)
_BEHIND = _set(
    "direkt directement directamente direttamente diretamente directly yourself itself alone here in for anymore "
    "please hier ici aquí qui anywhere mehr plus"
)
_TARGET = re.compile(r"[a-z][\w.]*(?:[:-][\w.]+)+")
# values of options, and assignments
_VALUE = re.compile(r"\d+|auto")
_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*(?:=\S+)?")
_SETTING = re.compile(r"[A-Z][A-Z0-9_]*=\S+")
_ENDINGS = (
    "json|jsonc|json5|ya?ml|toml|lock|md|mdx|rst|txt|adoc|tex|bib|py|pyi|ipynb|[cm]?[jt]sx?|vue|svelte|astro|go|mod|"
    "sum|rs|"
    "rb|erb|java|kts?|swift|[ch]|cc|cpp|hpp|cs|csproj|sln|fs|php|scala|exs?|erl|hs|lua|sql|proto|graphqls?|gql|"
    "prisma|tf|"
    "tfvars|hcl|s?css|sass|less|html?|xml|svg|png|j2|jinja2?|po|pot|ini|cfg|conf|env|properties|gradle|sh|bash|zsh|"
    "fish|ps1|"
    "bat|csv|parquet|avsc|xsd|plist|pbxproj|xib|storyboard|dart|arb|nix|bzl|cmake|mk|puml|resx|tmpl"
)
_FILE = re.compile(
    rf"[\w*@.\[\]-]*[\w*\]-]\.(?:{_ENDINGS})|\.[a-z][\w-]*(?:\.[\w-]+)*|[A-Z]\w*file(?:\.lock)?|CODEOWNERS"
    r"|requirements[\w-]*\.in|\*\.[\w.]+"
)
_FOLDER = re.compile(r"(?:\.{0,2}/)?(?:[\w.@*\[\]<>{}-]+/)+(?:[\w.@*\[\]<>{}-]*[\w*\]>}])?")
_PLACES = _set(
    "src lib libs app apps bin build cmd config configs db dist doc docs gen generated infra internal migrations "
    "node_modules out packages pkg proto protos public scripts static target templates test tests third_party tools "
    "vendor assets locales i18n schema schemas fixtures deploy ops charts"
)
# names of code: with a point between, a call, an inner capital, an inner low line
_PIECE = re.compile(
    r"\.?[A-Za-z_$][\w$]+(?:(?:\.|::)[A-Za-z_$][\w$]+)+(?:\(.*\))?|\.?[A-Za-z_$][\w$]*!?\(.*\)|\.[a-z]\w+\(?\)?"
    r"|@[a-z][\w.]+|[a-z]+[A-Z]\w*|[a-z]+(?:_[a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+"
)
_SIGNS = re.compile(
    r"[({;]|^(?:#|//|/\*|\"|')|[\w)]\s*(?:=>|===?|!==?)\s|^(?:import|from|export|use|throw|raise|except) "
)
_KEYWORDS = frozenset(
    [
        "any",
        "unknown",
        "var",
        "let",
        "const",
        "interface",
        "enum",
        "print",
        "unwrap",
        "eval",
        "async",
        "await",
        "null",
        "None",
        "undefined",
    ]
)
_DOMAINS = frozenset(["com", "org", "io", "net", "dev", "app", "test", "example", "invalid", "de", "fr", "uk"])
# named like a file, and none
_NO_FILE = re.compile(
    r"(?:[A-Z]\w+|node|next|vue|nuxt|express|three|d3|chart|socket|p5|discord)\.js|\.[A-Z]\w+|\.\.+|(?:Lock|Log|Pro|Text|Out)file"
)
_MARKED = re.compile(r"`[^`\n]+`")
_QUOTED = re.compile(r"(?<!\w)(?:'([^'\n]{2,60})'|\"([^\"\n]{2,60})\"|[“„«]\s?([^”“»\n]{2,60}?)\s?[”“»])(?!\w)")
_WORD = re.compile(r"\S+")
_EDGES = ",;:!?()[]“”„«»\"'…"
_MOST_WORDS = 7


def is_path(text: str) -> bool:
    """Say whether what was marked as a name is that of a file or a folder."""
    if any(letter.isspace() for letter in text) or text.startswith(("-", "./")) or "=" in text or "://" in text:
        return False
    return (
        "/" in text
        or names_file(text)
        or bool(re.fullmatch(r"[\w*.@-]+\.[A-Za-z][A-Za-z0-9]{0,11}|[A-Z]\w*file(?:\.lock)?|[A-Z]{3,}", text))
    )


def is_code(text: str) -> bool:
    """Say whether what was marked as a name is hardly anything but a piece of code: ``a.b``, ``f()``, ``aName``."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    if first in _PROGRAMS or first.startswith("-") or _SETTING.match(text) or "/" in text.split("(", maxsplit=1)[0]:
        return False
    if _NO_FILE.fullmatch(text):
        return False
    if _PIECE.fullmatch(text):
        return not (names_file(text) or text.rsplit(".", 1)[-1].lower() in _DOMAINS or text.lower() in ("e.g", "i.e"))
    return bool(_SIGNS.search(text)) or text in _KEYWORDS


def is_setting(text: str) -> bool:
    """Say whether what was marked as a name is one assignment: ``CI=1``."""
    return bool(_SETTING.fullmatch(text))


def marked(text: str, heard: Heard = ()) -> str:
    """Return a text with backticks around all that it names: those it has, and those it leaves out.

    ``text``: a sentence or a few. ``heard``: what a session ran: by these words a program is known as well.
    """
    text = _ENDING_FILES.sub(r"`\2` files", text)
    text = _EITHER.sub(lambda m: f"{m[1]} or {m[2]}" if {m[1], m[2]} <= _PROGRAMS | _AMBIGUOUS else m[0], text)
    found: list[str] = []
    end = 0
    for mark in _MARKED.finditer(text):
        found += [_in_prose(text[end : mark.start()], heard), mark[0]]
        end = mark.end()
    found.append(_in_prose(text[end:], heard))
    return "".join(found)


def _in_prose(text: str, heard: Heard) -> str:
    quoted = _QUOTED.sub(lambda m: _unquoted(m, heard), text)
    if quoted != text:
        return marked(quoted, heard)
    found: list[str] = []
    end = 0
    for begin, stop in _names(text, heard):
        found += [text[end:begin], f"`{text[begin:stop]}`"]
        end = stop
    return "".join((*found, text[end:]))


def _unquoted(found: re.Match[str], heard: Heard) -> str:
    """Return what stands between quotes with backticks, where all of it is one name."""
    inner = next(filter(None, found.groups()))
    first = inner.split()[0]
    is_name = (
        first in _PROGRAMS
        or bool(_SETTING.match(first) and len(inner.split()) > 1)
        or (first,) in heard
        or bool(_OPTION.fullmatch(inner))
        or names_file(inner)
    )
    return f"`{inner}`" if is_name else found[0]


def _names(text: str, heard: Heard) -> Iterator[tuple[int, int]]:
    """Yield where names begin and end."""
    words = [(m.start(), m[0]) for m in _WORD.finditer(text)]
    found = list(_sure(words, heard))
    taken = {at for begin, end in found for at in range(begin, end)}
    opposed = [at for at in range(len(words)) if at not in taken and _is_opposed(words, at)]
    if opposed and len(opposed) + sum(not is_path(_bare(words[begin][1])) for begin, _ in found) > 1:
        found = sorted((*found, *((at, at + 1) for at in opposed)))
    for first, end in found:
        begin, raw = words[first]
        last_begin, last = words[end - 1]
        lead, last_lead = (len(one) - len(one.lstrip(_EDGES)) for one in (raw, last))
        stop = last_begin + last_lead + len(_bare(last, keeps_dot=end - first > 1))
        # the brackets of a call belong to it
        called = _BRACKETS.match(text, stop) if "(" not in text[begin + lead : stop] else re.match(r"\)", text[stop:])
        yield begin + lead, stop + len(called[0] if called else "")


def _sure(words: Sequence[tuple[int, str]], heard: Heard) -> Iterator[tuple[int, int]]:
    """Yield from which word up to which names go that are hardly anything else."""
    at = 0
    while at < len(words):
        raw, end = words[at][1], 0
        word = _bare(raw)
        if _SETTING.fullmatch(word):
            end = _call(words, at + 1, heard) or at + 1
        elif _OPTION.fullmatch(word):
            has_value = raw == word and at + 1 < len(words) and _VALUE.fullmatch(_bare(words[at + 1][1]))
            end = at + 2 if has_value else at + 1
        else:
            is_inside = at > 0 and words[at - 1][1].lower() in _INTO and _FOLDER.fullmatch(word)
            is_name = names_file(word) or is_inside or _names_code(word, raw)
            end = _call(words, at, heard) or (at + 1 if is_name else 0)
        if end:
            # what somebody's own program launches: "devctl exec pytest"
            is_launched = at > 1 and words[at - 1][1] == "exec" and _PLAIN_WORD.fullmatch(words[at - 2][1])
            yield at - 2 if is_launched else at, end
        at = end or at + 1


def _is_opposed(words: Sequence[tuple[int, str]], at: int) -> bool:
    """Say whether a word that may be a program stands where two are opposed: "make, not just"."""
    raw = words[at][1]
    word = _bare(raw)
    is_known = word in _AMBIGUOUS and word in _PROGRAMS
    if is_known and at > 0 and words[at - 1][1].lower() in _PLAIN:
        return True
    is_unknown = at > 0 and not is_known and word not in _STOPS and words[at - 1][1].lower() in _USES
    if not is_known and not (is_unknown and _PLAIN_WORD.fullmatch(word)):
        return False
    start = at - 1
    while start > 0 and words[start][1].lower() in _PLAIN:
        start -= 1
    before, behind = (words[n][1].strip(_EDGES).lower() if 0 <= n < len(words) else "" for n in (start, at + 1))
    is_end = not behind or raw[-1] in ",;:.!?" or (not is_unknown and (behind in _OPPOSES or behind in _BEHIND))
    return is_end and (before in _OPPOSES or before in _USES or behind in _OPPOSES)


def _call(words: Sequence[tuple[int, str]], at: int, heard: Heard) -> int:
    """Return behind which word a call ends that begins at one; 0 where none does."""
    raw = words[at][1] if at < len(words) else ""
    word = _bare(raw)
    if not (word in _PROGRAMS or (word,) in heard or _SCRIPT.fullmatch(word)):
        return 0
    before = words[at - 1][1].lower() if at else ""
    is_run = before.strip(_EDGES) in _RUNS or before.endswith(":") or words[at][1].startswith("(")
    is_led = is_run or before.strip(_EDGES) in _THROUGH
    chain, end = [word], at + 1
    while end < len(words) and len(chain) < _MOST_WORDS and _goes_on(raw):
        raw = words[end][1]
        word = _bare(raw, keeps_dot=True)
        if not (
            _belongs(word, chain) or _is_script(word, chain, is_led=is_led, is_run=is_run) or (*chain, word) in heard
        ):
            break
        chain.append(word)
        end += 1
    is_name = len(chain) > 1 or chain[0] not in _AMBIGUOUS
    return end if is_name else 0


def _goes_on(raw: str) -> bool:
    """Say whether nothing in the sentence ends behind a word."""
    return raw in (".", "./...") or raw == raw.rstrip(_EDGES + ".")


def _belongs(word: str, chain: Sequence[str]) -> bool:
    """Say whether a word is asked of the call before it."""
    last = chain[-1]
    # behind what only launches it
    program = next(one for one in reversed(chain) if one in _PROGRAMS or one == chain[0]).rsplit("/", 1)[-1]
    takes = takes_words(program) or program in _SEVERAL
    if _TARGET.fullmatch(word) or names_file(word):
        return takes or last in _ASKED
    is_value = last.startswith("-") and (_VALUE.fullmatch(word) or "-" in word or purpose_by_name(word) != "")
    is_asked = takes and word in _ASKED and program not in _LAUNCH and program not in _TARGETS
    return is_asked or bool(is_value) or bool(_OPTION.fullmatch(word)) or word in ("src", "lib", "./...", ".")


def _is_script(word: str, chain: Sequence[str], *, is_led: bool, is_run: bool) -> bool:
    """Say whether a word is what the call before it runs: a target, a script, or a program that it launches."""
    program, last = chain[0].rsplit("/", 1)[-1], chain[-1].rsplit("/", 1)[-1]
    is_plain = bool(_PLAIN_WORD.fullmatch(word)) and word not in _STOPS
    if program in _TARGETS:
        return last == program and is_plain and (is_led or (program != "just" and purpose_by_name(word) != ""))
    if program in ("php", "python", "ruby") and last == program:
        return word in ("artisan", "manage.py") or names_file(word)
    if program in _LAUNCH or last in ("exec", "x", "dlx", "-m", "run"):
        return word in _PROGRAMS or (
            is_plain and (program in _SCRIPTS or purpose_by_name(word) != "" or "docker" in chain)
        )
    if (
        program in _SEVERAL
        and program not in _AMBIGUOUS
        and last == program
        and is_plain
        and (is_led or word in _ASKED)
    ):
        return word not in _OPPOSES | _BEHIND
    if "docker" in chain and ("run" in chain or "exec" in chain):
        return word in _PROGRAMS or (is_plain and last.startswith("-"))
    return program in _SCRIPTS and last == program and (word in _CHECKS or (is_run and is_plain))


def names_file(word: str) -> bool:
    """Say whether a word of a sentence is hardly anything else than the name of a file or a folder."""
    if _NO_FILE.fullmatch(word) or "://" in word:
        return False
    if _FOLDER.fullmatch(word):
        first, last = word.lstrip("./").partition("/")[0], word.rsplit("/", 1)[-1]
        is_open = (
            word.endswith("/")
            or any(sign in word for sign in "*<{")
            or word.startswith((".", "/"))
            or word.count("/") > 1
        )
        return is_open or first in _PLACES or bool(_FILE.fullmatch(last))
    return bool(_FILE.fullmatch(word))


def _names_code(word: str, raw: str) -> bool:
    """Say whether a word of a sentence is hardly anything else than a name of code."""
    is_called = raw.rstrip(",.;:").endswith("()") and _PLAIN_WORD.fullmatch(word.strip("."))
    return bool(is_called) or (("." in word.strip(".") or "_" in word) and word.isascii() and is_code(word))


def _bare(raw: str, *, keeps_dot: bool = False) -> str:
    """Return a word without the marks of the sentence around it."""
    word = raw.strip(_EDGES)
    is_whole = word.endswith("/...") or (keeps_dot and word == ".")
    return word if is_whole else word.rstrip("." + _EDGES)


# Commands that bring something in from outside the project: what is installed, fetched or run from elsewhere.
#
# Read from the words of a text, in or out of marks of code, whatever stands before them on the line: prefixes, pipes
# and substitutions hide nothing. What a project declares itself ("npm ci", "pip install -r requirements.txt", "make
# setup")
# is not from outside.

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
_MOST_CALL_WORDS = 12
_NEAR = 3


def outside(text: str) -> tuple[str, ...]:
    """Return what a text's commands bring in from outside the project, as they name it; empty when nothing."""
    tokens: list[str] = _TOKEN.findall(text)
    found: list[str] = []
    for at, token in enumerate(tokens):
        program = token.replace("\\", "/").rsplit("/", 1)[-1].casefold().removesuffix(".exe")
        found += _brought(program, list(_words_of_call(tokens[at + 1 :][:_MOST_CALL_WORDS])))
    return tuple(dict.fromkeys(found))


def _words_of_call(tokens: Sequence[str]) -> Iterator[str]:
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
