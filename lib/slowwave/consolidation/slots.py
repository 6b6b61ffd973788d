"""What a statement is about and what it says of it, where only one of several answers can hold at a time.

A typed key of the extraction comes first. Without one the words decide, and only where they leave no doubt: a choice
("use A, not B"), the place of something, the command of a purpose, a number or version of something, a yes or no.
Two statements of one slot and different values contradict each other; of equal values they are the same fact.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from slowwave.consolidation.likeness import NO, Words, meaning_of, parted, words_of
from slowwave.memory import RETRACTS, Candidate, Category
from slowwave.memory.book import Memory
from slowwave.shell.commands import CHECKS, Purpose, commands_of, own_tool, variant_of

Slot = tuple[str, str]
NONE: Slot = ("", "")

# Only one of them holds whoever says so; of the others, only what a person typed retires what a person typed.
_DEFINITE = ("place:", "amount:")

# what is run, and for what: of several commands for one purpose each pair is judged (:func:`excludes`)
COMMANDS = "cmd:"

# kinds of which a project has one at a time, or one for each of its parts
_CHOICES = ("pref:", "project:")
_CLAUSES = re.compile(r"[,;:.!?] |\s[\u2013\u2014-]\s")

# slots that are the statement's own words: its meaning tells more than they do
IN_WORDS = ("text:", "amount:")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ATTRIBUTES = _set(
    "port version timeout limit maximum max minimum min ttl interval threshold deadline width quota listen"
)
# what stands before a number that is a name: "service 3" is not the same thing as "service 4"
LABELS = _set(
    "servic phase step issu ticket page part section team region shard stag tier level sprint room floor customer "
    "tenant env worker replica machin host rack zone number plan chapter epic milestone task story bug pr"
)
_PLACED = _set(
    "live lie liv keep kept store stored stor locate located go belong stay find found resid sit put writ save"
)
_PUT = re.compile(
    r"\b(?:put|write|save|store|keep|place)s?\b|\b(?:lives?|lies?|(?:is|are|be) (?:in|at|under|inside|kept|stored|"
    r"located|found)|goe?s?|belongs?|stays?|resides?|sits?)\b",
    re.IGNORECASE,
)
_IS_PATH = re.compile(r"(?:[\w@~.*-]*/)+[\w@.*-]*|[\w-]+(?:\.[\w-]+)+")
_RUNNERS = (
    r"npm|pnpm|yarn|bun|npx|make|just|cargo|go|python3?|pytest|uv|uvx|tox|nox|poetry|docker|mvn|gradle|\./\S+|dotnet|"
    r"rake|"
    r"bundle|bazel|deno|task|invoke|hatch"
)
_COMMAND = rf"(?:`(?P<marked>[^`]+)`|(?P<bare>(?:{_RUNNERS})(?: [\w./:@=-]+){{0,5}}))"
_DONE_WITH = re.compile(
    rf"^(?:please |always |we )?(?:(?:run|execute|start|build|do) )?(?P<what>[\w' -]{{2,40}}?) (?:(?:is|are|gets?|"
    r"should be|must be) (?:run|executed|started|built|done|made|checked) )?(?:with|using|via|by running|through) "
    rf"{_COMMAND}\W*$",
    re.IGNORECASE,
)
_USE_TO = re.compile(
    rf"^(?:please |always |we )?(?:use|run|call|execute) {_COMMAND} (?:to|for|when you) (?P<what>[\w' -]{{2,40}}?)\W*$",
    re.IGNORECASE,
)
_PURPOSES = {"linting": "lint", "lint": "lint", "formatt": "format", "format": "format", "typ check": "typecheck"}
_LANGUAGES = (
    "python|typescript|javascript|golang|go|rust|java|css|html|markdown|sql|shell|bash|yaml|json|ruby|php|kotlin|swift"
)
_SCOPE = re.compile(
    r"\b(?:in|inside|under|for|within|of) (?:the )?(?!this\b|our\b|the\b)(`?[\w@./-]+`?) (?:folder|directory|package|"
    r"app|module|service|workspace|subproject|backend|frontend)\b"
    r"|\b(?:in|inside|under|for|within) (?:the )?`?((?=[\w.-]*/)[\w@./-]+)"
    rf"|\b(?:for|in) ({_LANGUAGES})(?=$|[\s,.;])",
    re.IGNORECASE,
)
# "On main we use ...", "For the worker, ..."; not the French "on utilise ..."
_FRONT = re.compile(
    r"^(?:on(?! (?:utilis|ne |n'|est |fait |passe |lance |va |met |garde ))|in|at|for|under|with|sur|dans|auf|bei|"
    r"für|em|en|para|na) (?:the |la |le |o |a )?([^,:;.]{2,40}?)"
    r"(?:,? (?=(?:we|i|you|it|the|on|nous|wir|man|use|run) )|, )",
    re.IGNORECASE,
)
# what may stand beside the name of a tool when it is chosen for everything of its kind
_GENERIC = _set(
    "use prefer install packag manager manag pick chos standardiz switch formatt format formatter lint linter test "
    "runner indent indentation quote quot db dependenc only support run stay on target single double merg requir "
    "minimum"
)
# a sentence of more words has a scope or a reason, and its tool may be right beside another one
_MOST_TOOL_WORDS = 5
# a name and its number, and what is said of them
_NAMED_AND_SAID = 4


def claim(item: Memory | Candidate) -> Slot:
    """Return slot and value of a memory or candidate, two empty strings when it claims nothing that could be denied."""
    if item.key == RETRACTS:
        return item.key, item.value.casefold()
    if item.key and item.value and not _denies(item.text, item.value):
        scope = scope_of(item.text)
        if item.key.startswith(COMMANDS) and not scope:
            scope = _folders_of(item.value.casefold())
        return item.key + scope, item.value.casefold()
    return claim_of(item.text, item.category)


@lru_cache(maxsize=50_000)
def beside_claim(text: str, slot: str, value: str) -> tuple[str, ...]:
    """Return what the clause of a claim has beside it: numbers and names, its no, and what the claim is of."""
    clauses = _CLAUSES.split(parted(text)[0])
    words = words_of(next((clause for clause in clauses if value in clause.casefold()), text))
    rest = sorted(words.marks)
    if not slot.startswith(_CHOICES):
        return (*rest, *((NO,) if words.negations % 2 else ()))
    # what is refused beside a choice is another one of its kind
    return (*rest, *sorted(set(_others(words, slot.partition("@")[0])) - words.marks - {"repo"}))


def _others(words: Words, key: str) -> list[str]:
    """Return the words that are neither a choice of a kind nor what is said with any of them."""
    others = [t for t in words.stems if t not in _GENERIC and t not in words.marks and key_of(f"use {t}")[0] != key]
    return [t for t in others if key_of(f"we support {t} 1")[0] != key]


def _denies(text: str, value: str) -> bool:
    """Say whether a statement only says no to a value: whatever key it has, it does not choose it."""
    tokens = meaning_of(text)
    return tokens[0] == NO and "use" not in tokens[2:] and not set(words_of(value).tokens).isdisjoint(tokens)


@lru_cache(maxsize=50_000)
def scope_of(text: str) -> str:
    """Return what a choice is limited to ("in the web folder"), so that it stands beside another one elsewhere."""
    found = _SCOPE.search(text) or _FRONT.match(text)
    return f"@{next(filter(None, found.groups())).strip('`/').casefold()}" if found else ""


@lru_cache(maxsize=50_000)
def claim_of(text: str, category: Category) -> Slot:
    """Return what a text without a typed key is about, and what it says of it."""
    words = words_of(text)
    found = _tool(text, words) or _choice(text) or _command(text) or _place(text, words)
    if found:
        return found
    if category == "decision" and decision_key(text)[0]:
        return decision_key(text)
    return stance_of(text)


def stance_of(text: str) -> Slot:
    """Return a statement without its numbers and its no, and those: what two statements that deny each other share."""
    return amount_or_stance(words_of(parted(text)[0]))


def is_definite(slot: str) -> bool:
    """Say whether two values of a slot exclude each other whoever states them; a typed key always does."""
    return bool(slot) and (slot.startswith(_DEFINITE) or not slot.startswith(("text:", "choice:", "cmd-said:")))


# lists of checks: any number of them hold side by side, where a sentence about the tests gives one answer
_LISTS = (f"{COMMANDS}commit", f"{COMMANDS}checks")
# purpose, what the name of a script says besides it, and the tool, "" behind a script of the project's own
_Work = tuple[str, str, str]


@lru_cache(maxsize=50_000)
def excludes(newer: Slot, older: Slot) -> bool:
    """Say whether a claim takes the place of an older one: both are of one slot and cannot both hold.

    Two commands for one purpose are two checks where their names say what each is for (``test:ci``, ``test:e2e``), and
    one where only the way differs (``npm test``, ``pnpm test``, ``tox``). Of lists the one takes the other's place that
    has a check for each of its checks.
    """
    if newer[0] != older[0] or newer[1] == older[1]:
        return False
    key, _, _ = newer[0].partition("@")
    purpose = key.removeprefix(COMMANDS)
    if key in _LISTS:
        return _covers(_works(newer[1]), _works(older[1]))
    if key == purpose or purpose not in CHECKS:
        return True
    calls = (_works(value, cast("Purpose", purpose)) for value in (newer[1], older[1]))
    variants = [{variant for _, variant, _ in works} for works in calls]
    return variants[0] == variants[1] or not all(variants)


def _works(value: str, purpose: Purpose = "") -> list[_Work]:
    """Return what each command of a claim does; of one that nobody knows its words tell it."""
    found: list[_Work] = []
    for command in commands_of(value):
        words, what = command.text.split(), purpose or command.purpose
        found.append((what, variant_of(words, what), own_tool(words)) if what else ("", command.text, ""))
    return found


def _covers(wide: Sequence[_Work], narrow: Sequence[_Work]) -> bool:
    """Say whether each check of a list has one of its own in another: the same, or else one that may lead to it."""
    same = Counter(narrow) & Counter(wide)
    left = list((Counter(wide) - same).elements())
    for purpose, variant, tool in (Counter(narrow) - same).elements():
        leading = next((w for w in left if w[:2] == (purpose, variant) and not (w[2] and tool)), None)
        if leading is None:
            return False
        left.remove(leading)
    return True


def amount_or_stance(words: Words) -> Slot:
    """Return a statement without its numbers and its no: what two statements that deny each other share."""
    named = {place for place in words.numbers if words.tokens[place - 1 : place] and words.tokens[place - 1] in LABELS}
    free = _values(words, [place for place in words.numbers if place not in named])
    about = tuple(t for place, t in enumerate(words.tokens) if place not in free and t != NO)
    if len(about) < (1 if free and _ATTRIBUTES & set(about) else 2):  # a verb and its object
        return NONE
    stance = (
        f"no{words.tokens.index(NO)}" if words.negations == 1 else f"{words.negations}no" if words.negations else "yes"
    )
    if words.negations > 1:
        # several: where each stands matters, and nothing is the plain contrary of it
        about = tuple(t for place, t in enumerate(words.tokens) if place not in free)
    kind = "amount:" if len(free) == 1 and not words.negations and _ATTRIBUTES & set(about) else "text:"
    return kind + " ".join(about), " ".join((stance, *(words.tokens[place] for place in free)))


def _values(words: Words, free: Sequence[int]) -> Sequence[int]:
    """Return the numbers that are values: of several the last; the others tell which thing, version or time is meant.

    One alone is a part of a name where it stands behind the first word and something is said of both ("Redis 7 needs a
    password").
    """
    is_name = free[:1] == [1] and words.tokens[0] not in _ATTRIBUTES and len(words.tokens) >= _NAMED_AND_SAID
    return [] if len(free) == 1 and is_name else free[-1:]


def _tool(text: str, words: Words) -> Slot | None:
    """Return the tool that a short statement chooses among those of its kind."""
    if len(words.tokens) > _MOST_TOOL_WORDS or any("/" in mark for mark in words.marks):
        return None
    key, value = key_of(text)
    if not key:
        return None
    # the sentence may name nothing besides tools of this kind: "for the importer" would be a scope
    return None if _others(words, key) else (key + scope_of(text), value)


def _choice(text: str) -> Slot | None:
    tokens = meaning_of(text)
    if tokens[0] != "use" or tokens.count(NO) != 1:
        return None
    at = tokens.index(NO)
    chosen, refused = " ".join(tokens[1:at]), " ".join(tokens[at + 1 :])
    return ("choice:" + "|".join(sorted((chosen, refused))), chosen) if chosen and refused else None


def _command(text: str) -> Slot | None:
    plain = text.strip()
    found = _USE_TO.match(plain) or _DONE_WITH.match(plain)
    if not found:
        return None
    what = [t for t in words_of(found["what"]).tokens if t not in ("run", "start", "NO", "code", "project")]
    if not what or NO in what:
        return None
    purpose = " ".join(what)
    call = " ".join((found["marked"] or found["bare"]).split()).casefold()
    return f"{COMMANDS}{_PURPOSES.get(purpose, purpose)}{_folders_of(call)}", call


def _folders_of(call: str) -> str:
    """Return the folders that a command names as a scope: it stands beside a command for another one.

    Go's "./..." is no such folder: it names all that there is.
    """
    words = (word for command in commands_of(call) for word in command.text.split()[1:])
    return "".join(f"@{word}" for word in words if "/" in word[1:] and word != "./...")


def _place(text: str, words: Words) -> Slot | None:
    """Return where a thing is or goes, when the sentence ends with its path."""
    if not words.tokens or words.negations or not _IS_PATH.fullmatch(words.tokens[-1]) or not _PUT.search(text):
        return None
    path = words.tokens[-1]
    if not ("/" in path or re.search(r"\.[A-Za-z]{1,5}$", path)):
        return None
    thing = tuple(t for t in words.tokens[:-1] if t not in _PLACED and t not in ("new", "into", "under", "insid"))
    if (
        not thing
        or {"out", "away", "off", "from", "only"} & set(thing)
        or len(thing) > _MOST_TOOL_WORDS
        or any(_IS_PATH.fullmatch(t) and "/" in t for t in thing)
    ):
        return None
    return "place:" + " ".join(thing), path.rstrip("/")


# Typed keys: what a fact is about, where its words leave no doubt, so that a newer one can supersede an older.

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

_PUT_INTO = re.compile(
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
_AN_ARTICLE = re.compile(r"^(?:the|a|an|our|all) ", re.IGNORECASE)


def decision_key(text: str) -> tuple[str, str]:
    """Return what a decision is about and what was chosen, where its words have the form that shows both."""
    found = _USE_FOR.search(text) or _PUT_INTO.search(text)
    if not found or _REFUSED.search(text[: found.start()]):
        return "", ""
    return f"decision:{found['what'].lower()}", _AN_ARTICLE.sub("", found["value"].strip()).lower()


# of these the names are programs
_PROGRAMS = ("pref:package-manager", "pref:python-packages", "pref:test-runner", "pref:formatter", "pref:linter")


def rivals_of(key: str, value: str) -> tuple[str, ...]:
    """Return the programs that a typed key rules out by its value; none where it is not about programs."""
    names = next((names for family, names in _FAMILIES if family == key and family in _PROGRAMS), ())
    return tuple(name for name in names if name != value) if value in names else ()


def family_of(name: str) -> str:
    """Return the key of the programs of which a project uses one, to which a name belongs; "" where it is none."""
    return next((key for key, names in _FAMILIES if key in _PROGRAMS and name in names), "")


@lru_cache(maxsize=50_000)
def key_of(text: str) -> tuple[str, str]:
    """Return key and value of a fact, or two empty strings when there is any doubt."""
    low = text.lower()
    for key, names in _FAMILIES:
        chosen = _chosen(low, names)
        if chosen:
            return key, chosen
    runtime = _RUNTIME.search(text)
    # another number tells for which release, or which part, it holds
    is_alone = len(words_of(text).numbers) == 1
    if runtime and is_alone and _RULE.search(text) and not _REFUSED.search(text[: runtime.start()]):
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
