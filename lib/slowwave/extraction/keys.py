"""Typed keys: what a fact is about, where its words leave no doubt, so that a newer one can supersede an older."""

import re

# one choice among several of which a project uses one at a time
_FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pref:package-manager", ("npm", "pnpm", "yarn", "bun")),
    ("pref:python-packages", ("pip", "uv", "poetry", "pdm", "pipenv", "conda", "rye", "hatch")),
    ("pref:test-runner", ("pytest", "unittest", "nose", "jest", "vitest", "mocha", "jasmine", "ava")),
    ("pref:formatter", ("black", "prettier", "yapf", "autopep8", "biome", "dprint", "ruff format")),
    ("pref:linter", ("eslint", "flake8", "pylint", "ruff", "oxlint")),
    ("pref:indentation", ("tabs", "spaces")),
    ("pref:quotes", ("single quotes", "double quotes")),
    ("pref:merge", ("rebase", "squash", "merge commits")),
    (
        "project:database",
        ("postgres", "postgresql", "mysql", "mariadb", "sqlite", "mongodb", "dynamodb", "duckdb", "oracle"),
    ),
    ("project:ci", ("github actions", "gitlab ci", "jenkins", "circleci", "travis", "buildkite", "azure pipelines")),
    ("pref:language", ("typescript", "javascript", "coffeescript")),
)
_CHOOSES = (
    r"(?:use|using|prefer|go with|going with|stick with|stick to|switch(?:ed|ing)? to|switch(?:ed"
    r"|ing)? from [\w .-]+ to|mov(?:e|ed|ing) to|migrat(?:e|ed|ing) to|chose|standardi[sz]ed? on"
    r"|verwende|benutze|nutze|usa|utilise"
    r"|nehmen|decided on|settled on|run(?:s)? on)"
)
_INSTEAD = r"(?:instead of|rather than|over|not|statt|anstatt|no longer|en lugar de|au lieu de|,? never)"
# what follows is refused: "never use git rebase"; not what stands behind a word that turns it round
_REFUSES = (
    r"(?:don'?t|do not|never|not|stop|avoid|no more|cannot|can'?t|nie(?:mals)?|nicht|kein\w*|jamais|nunca) "
    r"(?:(?!(?:but|except|unless|until|without|other|anything|only|forget|hesitate|since|because|so|and|when|if"
    r"|then|instead|than)\b)[\w-]+ ){0,5}?"
)
_REFUSED = re.compile(rf"\b{_REFUSES}$", re.IGNORECASE)
_RUNTIME = re.compile(
    r"\b(?P<what>python|node(?:\.?js)?|go(?:lang)?|java|rust|ruby|php|postgres(?:ql)?|typescript|dotnet"
    r"|\.net)\s*(?:version\s*)?(?:is\s*)?(?:>=?|≥|v)?\s*(?P<version>\d+(?:\.\d+){0,2}\+?)",
    re.IGNORECASE,
)
_SAME = {"nodejs": "node", "node.js": "node", "golang": "go", "postgresql": "postgres", ".net": "dotnet"}
_RULE = re.compile(
    r"\b(?:must|support|minimum|at least|require[sd]?|target|only|compatible|needs?|pin(?:ned)?|stay on"
    r"|runs? on|running on|ha(?:s|ve) to|use)\b",
    re.IGNORECASE,
)

_PUT = re.compile(
    r"\b(?:put|store|keep|send|write|save|publish|move|host|deploy|run) (?:the |our "
    r"|all )?(?P<what>[\w'-]+(?: [\w'-]+){0,3}?) (?:on|in|into|onto|to|with) "
    r"(?P<value>[\w./' -]+?)(?= instead of| rather than|,|;|\.(?:\s|$)| because| since| as |$)",
    re.IGNORECASE,
)
_USE_FOR = re.compile(
    r"\b(?:use|go with|going with|(?:move|switch|migrate) (?:over )?to) (?P<value>[\w./' -]+?) (?:for|as) (?:the |our "
    r"|all )?(?P<what>[\w'-]+(?: [\w'-]+){0,3}?)(?= instead of| rather than|,|;|\.(?:\s|$)| because"
    r"| since| as |$)",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:the|a|an|our|all) ", re.IGNORECASE)


def decision_key(text: str) -> tuple[str, str]:
    """Return what a decision is about and what was chosen, where its words have the form that shows both."""
    found = _USE_FOR.search(text) or _PUT.search(text)
    if not found or _REFUSED.search(text[: found.start()]):
        return "", ""
    return f"decision:{found['what'].lower()}", _ARTICLE.sub("", found["value"].strip()).lower()


# of these the names are programs
_PROGRAMS = ("pref:package-manager", "pref:python-packages", "pref:test-runner", "pref:formatter", "pref:linter")


def rivals_of(key: str, value: str) -> tuple[str, ...]:
    """Return the programs that a typed key rules out by its value; none where it is not about programs."""
    names = next((names for family, names in _FAMILIES if family == key and family in _PROGRAMS), ())
    return tuple(name for name in names if name != value) if value in names else ()


def family_of(name: str) -> str:
    """Return the key of the programs of which a project uses one, to which a name belongs; "" where it is none."""
    return next((key for key, names in _FAMILIES if key in _PROGRAMS and name in names), "")


def key_of(text: str) -> tuple[str, str]:
    """Return key and value of a fact, or two empty strings when there is any doubt."""
    low = text.lower()
    for key, names in _FAMILIES:
        chosen = _chosen(low, names)
        if chosen:
            return key, chosen
    runtime = _RUNTIME.search(text)
    if runtime and _RULE.search(text) and not _REFUSED.search(text[: runtime.start()]):
        what = runtime["what"].lower()
        return f"runtime:{_SAME.get(what, what)}", runtime["version"]
    return "", ""


def _chosen(low: str, names: tuple[str, ...]) -> str:
    """Return the one name of a family that the text chooses, or ""."""
    mentioned = [n for n in names if re.search(rf"(?<![\w/.-]){re.escape(n)}(?![\w/-]|\.\w)", low)]
    if not mentioned:
        return ""
    picked = [
        n
        for n in mentioned
        if re.search(rf"\b{_CHOOSES} (?:\w+ ){{0,1}}?{re.escape(n)}\b", low)
        or re.search(rf"\b{re.escape(n)}\b,? (?:\w+ )?{_INSTEAD} ", low)
    ]
    refused = [
        n
        for n in mentioned
        if re.search(
            rf"\b{_INSTEAD} (?:\w+ )?{re.escape(n)}\b|\b{_REFUSES}{re.escape(n)}\b",
            low,
        )
    ]
    left = [n for n in picked if n not in refused]
    return left[0] if len(left) == 1 else ""
