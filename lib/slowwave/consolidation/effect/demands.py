"""What a memory demands of an agent, as far as commands and edits show whether it is kept.

Slowwave's own sentences (cures, routines, checks before a commit) have a form. Of what people say, the calls, files and
options count that it names (:mod:`slowwave.consolidation.effect.mentions`), and only where the words leave no doubt: a
choice ("A, not B"), a refusal, a command for a purpose, an order ("before a commit", "after changing ..."). Whatever
has a scope or another condition demands nothing that could be told here: silence is better than a wrong verdict.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import PurePosixPath

from slowwave.consolidation.effect.calls import Call, Demand, call_of, calls_of, owners_of, shorter_of
from slowwave.consolidation.effect.mentions import (
    EDITS,
    PURPOSES,
    Rule,
    rule_of,
    spans_of,
    vocabulary,
)
from slowwave.consolidation.slots import family_of, rivals_of, scope_of
from slowwave.memory.book import Memory, read_book, standing_of
from slowwave.memory.delivery import read_register, unfit
from slowwave.memory.delivery.hooks import (
    MOST_POINTS,
    CallForm,
    Point,
    drop_tables,
    hooked_clients,
    said_of,
    write_table,
)
from slowwave.settings import Settings
from slowwave.shell import Word
from slowwave.shell.commands import CHECKS, commands_of, is_ask, takes_words
from slowwave.shell.mentioned import Heard, is_path
from slowwave.stores.projects import Project

_STEP = re.compile(r"`(?P<tried>[^`]+)` fails(?: \((?P<cause>.*)\))? until `(?P<cure>[^`]+)` was run")
_OTHER_WAY = re.compile(r"`(?P<tried>[^`]+)` fails(?: \((?P<cause>.*)\))?; `(?P<cure>[^`]+)` works")
# where it works depends on the folder, which no call shows
_IN_FOLDER = re.compile(r"`[^`]+` fails(?: \(.*\))?; in `[^`]+` it works")
_SPAN = re.compile(r"`([^`\n]+)`")

# a memory of more words is a story
_MOST_IN_ALL = 45
# more than one kind of tests, or of anything, may have a command of its own
_SPECIAL = re.compile(
    r"\b(?:e2e|end[- ]to[- ]end|integration\w*|smoke|browser|ui|api|single|one|performance|load|snapshot|doc|slow|"
    r"fast)\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"[.!?;](?=\s|$)")
_LINK = re.compile(r"(?::|=|\bis|\bare) mention\d|mention\d+ (?:runs|for|starts)\b")


@cache
def _limits() -> re.Pattern[str]:
    """Return the pattern of a word that limits a rule, and of what follows it."""
    words = sorted(vocabulary("follows") | vocabulary("conditions"), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(words)})\b([^,.;:!?]*)", re.IGNORECASE)


def demand_of(memory: Memory, heard: Heard = ()) -> Demand | None:
    """Return what a memory demands, None where commands and edits show nothing of it.

    Args:
        memory: the memory.
        heard: what a session ran, by which more programs are known by name.
    """
    text = memory.text
    if cure := _STEP.fullmatch(text) or _OTHER_WAY.fullmatch(text):
        tried, step = call_of(cure["tried"]), call_of(cure["cure"])
        if tried is None or step is None:
            return None
        return Demand("step" if cure.re is _STEP else "other way", (step,), (tried,), cause=cure["cause"] or "")
    if _IN_FOLDER.fullmatch(text):
        return None
    if memory.key.startswith("cmd:") and memory.value in CHECKS:
        call = call_of(memory.key.removeprefix("cmd:"))
        return Demand("purpose", (call,), purpose=memory.value) if call else None
    if memory.key == "cmd:commit":
        calls = calls_of(span for span in _SPAN.findall(text) if not is_path(span))
        return Demand("gate", calls, until=Call(("git", "commit"))) if calls else None
    return None if len(text.split()) > _MOST_IN_ALL else _said(rule_of(text, heard))


def _said(rule: Rule) -> Demand | None:
    """Return what a person's own words demand."""
    words = {word.strip(".,:;!?'\"").casefold() for word in rule.plain.split()}
    return gate_of(words, rule) or order_of(rule) or after_of(words, rule) or _called(rule)


def _called(rule: Rule) -> Demand | None:
    """Return what a person's own words demand of calls and files."""
    demand = None if _WITHOUT.search(rule.plain) else _asked(rule)
    limits = (scope_of(rule.said), *(found[1] for found in _limits().finditer(rule.plain)))
    return replace(demand, is_scoped=True) if demand and any(map(_is_condition, limits)) else demand


# a no that another one may take back
_WITHOUT = re.compile(r"\b(?:without|unless|ohne|sans|sin|senza|sem|zonder|utan|außer|sauf)\b", re.IGNORECASE)


def _asked(rule: Rule) -> Demand | None:
    """Return what a person's own words demand of calls and files, whatever limits it."""
    if rule.of("refused", paths=False) or rule.of("refused", paths=True):
        return _choice(rule)
    return None if rule.negations else _wanted(rule)


def _is_condition(tail: str) -> bool:
    """Say whether what follows an "if", a "when" and the like limits a rule to something special."""
    return any(word.strip("'\"()@,").casefold() not in vocabulary("generic") for word in tail.split())


def _choice(rule: Rule) -> Demand | None:
    """Return that some calls or files are refused, and which are named in their place."""
    refused = [one.text for one in rule.of("refused", paths=False)]
    paths = tuple(one.text.strip("/") for one in rule.of("refused", paths=True))
    # a file is named beside a refused one to be changed in its place, whatever the verb
    instead = tuple(one.text.strip("/") for one in rule.of("chosen", "named", paths=True)) if paths else ()
    calls, wanted = calls_of(refused), calls_of(one.text for one in rule.of("chosen", paths=False))
    # an option by itself stands in the place of another one of the same call
    bare = [call.words for call in calls if call.words and call.options]
    wanted = tuple(replace(c, words=bare[0]) if not c.words and len(bare) == 1 else c for c in wanted)
    wanted = tuple(call for call in wanted if call not in calls)
    # whose option it is that is refused by itself
    owners = tuple(owner for call in calls if not call.words for owner in owners_of(call))
    is_other = bool(paths) and _DEEDS.search(rule.plain) is not None and not EDITS.search(rule.plain)
    return Demand("choice", wanted, (*calls, *owners), paths, instead, is_scoped=is_other) if calls or paths else None


# what is done with files that is no change of their lines
_DEEDS = re.compile(
    r"\b(?:delet|remov|renam|mov(?:e|ing)|commit|creat|add|lösch|entfern|umbenenn|anleg|supprim|effac|borr|elimin|cancell|"
    r"rimuov|apag|remove|verwijder|usuwa|usuń|удал)|(?:削除|消し|删除)",
    re.IGNORECASE,
)


def _wanted(rule: Rule) -> Demand | None:
    """Return the demand of a sentence that chooses the one call it names: for a purpose, in place of a shorter one."""
    calls = [(one, call) for one in rule.of("chosen", "named", paths=False) for call in calls_of([one.text])]
    if len(calls) != 1 or rule.of("chosen", paths=True):
        return None
    ((one, call),) = calls
    sentence = next((text for text in _SENTENCES.split(rule.plain) if f"mention{one.at}" in text), "")
    is_chosen = one.role == "chosen" or _LINK.search(sentence) is not None
    if not is_chosen or not call.words or len(sentence.split()) > MOST_WORDS:
        return None
    purpose = next((of for pattern, of in PURPOSES if pattern.search(sentence)), "")
    is_its_own = purpose in {command.purpose for command in commands_of(" ".join(call.words))}
    if purpose and not is_its_own and len(call.words) == 1 and takes_words(call.words[0]) and not call.options:
        return None  # which of its commands is meant, nobody knows
    if purpose and not _SPECIAL.search(rule.plain):
        return Demand("purpose", (call,), tuple(shorter_of(call)), purpose=purpose)
    name = " ".join(call.words)
    shorter = tuple(shorter_of(call)) or tuple(Call(tuple(one.split())) for one in rivals_of(family_of(name), name))
    return Demand("choice", (call,), shorter, is_implied=True)


# What comes before or after something else: checks before a commit, a call before another, what a change asks for.

# a sentence of more words may have more to say than which tool is used
MOST_WORDS = 18
# what work is handed on by
_EVENTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), until)
    for pattern, until in (
        (r"commit\w*|comit\w*|commett\w*", "git commit"),
        (r"push\w*|poussez?|pousser|subir", "git push"),
        (r"prs?|pull[- ]requests?|merge[- ]requests?|mrs?", "gh pr create"),
        (r"tag(?:g\w*|s)?", "git tag"),
    )
)
_CHANGES = re.compile(
    r"\b(?:chang|edit|touch|modif|updat|bump|alter|add(?:ed|ing|s)?\b|änder|geänder|bearbeit|anfass|aktualisier|"
    r"cambi|tocc|"
    r"toca|modifiqu|alter|mud[ao]|wijzig|aanpass|ändra)",
    re.IGNORECASE,
)
# one call before another: "before A, run B", "A only works after B"
_BEFORE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            r"\b(?:before|bevor|ehe|vor|avant(?: de| d')?|antes de|prima di|prior to|"
            r"voor)(?: [\w']+){0,4}? mention(?P<end>\d+)"
        ),
        (
            r"mention(?P<end>\d+) [^.;]*?(?:only|erst|nur)[^.;]*?(?:after|once|when|if|nach|wenn)(?: [\w']+){0,2}? "
            r"mention\d"
        ),
    )
)


def gate_of(words: set[str], rule: Rule) -> Demand | None:
    """Return that something is run before a commit, a push, or what else hands work on."""
    plain = rule.plain
    event = next(((found, until) for pattern, until in _EVENTS if (found := pattern.search(plain))), None)
    if event is None or not words & vocabulary("ordered"):
        return None
    found, until = event
    end = Call(tuple(until.split()))
    at = {one.at: plain.find(f"mention{one.at}") for one in rule.mentions}
    named = calls_of(
        one.text for one in rule.mentions if not one.is_path and (one.role != "refused" or at[one.at] > found.start())
    )
    calls = tuple(call for call in named if call.words[: len(end.words)] != end.words)
    if not calls and not rule.mentions:
        calls = tuple(Call((), topic=of) for pattern, of in PURPOSES[:4] if pattern.search(plain))
    paths = tuple(one.text.strip("/") for one in rule.of("chosen", "named", paths=True))
    if not calls and paths and not rule.negations and _CHANGES.search(f"{plain} add"):
        return Demand("gate", instead=paths, until=end)
    return Demand("gate", calls, until=end) if calls and all(call.words or call.topic for call in calls) else None


def order_of(rule: Rule) -> Demand | None:
    """Return that one call is made before another one."""
    texts = {one.at: one.text for one in rule.mentions if not one.is_path}
    for found in filter(None, (pattern.search(rule.plain) for pattern in _BEFORE)):
        end = texts.get(int(found["end"]))
        until = call_of(end) if end else None
        calls = calls_of(text for text in texts.values() if text != end)
        if until and until.words and calls and all(call.words for call in calls):
            return Demand("gate", calls, until=until)
    return None


def after_of(words: set[str], rule: Rule) -> Demand | None:
    """Return that a change of a file, or a call, asks for a command, where the words refuse nothing."""
    is_change = _CHANGES.search(rule.plain) and len(rule.plain.split()) <= MOST_WORDS
    if not (words & vocabulary("follows") or is_change) or rule.of("refused", paths=True):
        return None
    paths = tuple(_pattern(one.text) for one in rule.of("chosen", "named", paths=True))
    calls = calls_of(one.text for one in rule.of("chosen", "named", paths=False))
    if not calls and len(paths) > 1 and is_change and not rule.negations:
        return Demand("after", instead=paths[1:], paths=paths[:1])
    if rule.of("refused", paths=False) or not calls or any(not call.words for call in calls):
        return None
    if paths:
        return Demand("after", calls, paths=paths)
    found = re.search(
        r"\b(?:after|nach|après|dopo|después de|tras|depois de|na)(?: [\w']+){0,2}? mention(\d+)",
        rule.plain,
        re.IGNORECASE,
    )
    first = next((one for one in rule.mentions if found and one.at == int(found[1])), None)
    trigger = call_of(first.text) if first else None
    rest = tuple(call for call in calls if call != trigger)
    return Demand("after", rest, behind=(trigger,)) if trigger and rest else None


def _pattern(path: str) -> str:
    """Return what the name of a file or folder fits; an ending fits every file that has it."""
    return f"*{path}" if re.fullmatch(r"\.[a-z]{1,8}", path) and path not in (".env", ".npmrc") else path.strip("/")


# When a memory is to be said: before a command that it knows better, before an edit of a file that it is about.
#
# Of a cure that is the call that failed, unless the one that works, or the step that it needs, is made; of a refusal
# the call that is refused; of any other memory the files and folders that it names.

# a path that stands without backticks: with a folder and an ending, or with an end that says it is a folder
_BARE = re.compile(r"(?<![\w/.@:-])(?:[\w.@*-]+/)+(?:[\w@*-]*\.\w+\b)?(?![\w/])")
_QUOTED = re.compile(r"['\"`]([^'\"`\s]{1,60})['\"`]")
_MOST_PATHS = 4


def points_of(memories: Iterable[Memory]) -> list[Point]:
    """Return where memories are to be said, those that commands are about first; nothing of what names neither.

    What one memory warns of and another one asks for is not sure enough.
    """
    every = [(memory, demand) for memory in memories for demand in (_certain(demand_of(memory)),)]
    asked = {call.words for _, demand in every if demand and not demand.refused for call in demand.wanted}
    points = (point for memory, demand in every for point in _points(memory, demand, asked))
    return sorted(points, key=lambda point: (not point.tried, point.id))[:MOST_POINTS]


def _certain(demand: Demand | None) -> Demand | None:
    """Return a demand that holds whatever is done: of a condition nobody knows here whether it is met."""
    return None if demand is None or demand.is_scoped else demand


def _points(memory: Memory, demand: Demand | None, asked: Collection[tuple[str, ...]]) -> Iterator[Point]:
    text = said_of(memory.text)
    if demand is not None and demand.kind in ("other way", "step", "choice") and (calls := _tried(demand)):
        if not any(call.words in asked for call in calls):
            cure = tuple(map(_form, demand.wanted))
            yield Point(memory.id, text, tried=tuple(map(_form, calls)), cure=cure, step=demand.kind == "step")
    elif paths := tuple(_paths(memory, demand)):
        yield Point(memory.id, text, paths=paths[:_MOST_PATHS])


def _tried(demand: Demand) -> list[Call]:
    """Return the calls that are not to be made; of those without a program nobody knows what they belong to."""
    calls = [call for call in demand.refused if call.words and not is_ask([Word(word) for word in call.words])]
    return [_complained(call, demand.cause) for call in calls]


def _complained(call: Call, cause: str) -> Call:
    """Return a call up to the word that its program refused by name: whatever stands behind it, that fails as well."""
    named = _QUOTED.findall(cause)
    last = next((at for at, word in enumerate(call.words) if at and word in named), None)
    return call if last is None or call.options else Call(call.words[: last + 1], frozenset(), call.setting)


def _form(call: Call) -> CallForm:
    """Return how the table has a call: the value of an option is a word like others there."""
    options = [option.split() for option in sorted(call.options)]
    values = (value for _, *rest in options for value in rest)
    return CallForm((*call.words, *values), tuple(name for name, *_ in options), tuple(sorted(call.setting)))


def _paths(memory: Memory, demand: Demand | None) -> Iterator[tuple[str, ...]]:
    """Yield the files and folders that a memory is about, as the parts of their names below the project."""
    named = demand.paths if demand is not None else ()
    rest, spans = spans_of(memory.text)
    every = [*named, *(span for span in spans if is_path(span)), *(found[0] for found in _BARE.finditer(rest))]
    seen: set[tuple[str, ...]] = set()
    for text in every:
        path = PurePosixPath(text)
        parts = tuple(part for part in path.parts if part not in (".", "**"))
        is_open = path.is_absolute() or ".." in parts or any(sign in text for sign in "?[]{}$~\\:")
        # a name with nothing but stars fits every file
        if parts and not is_open and all(part.strip("*.") for part in parts) and parts not in seen:
            seen.add(parts)
            yield parts


def write_points(projects: Sequence[Project], settings: Settings, environ: Mapping[str, str], *, is_all: bool) -> None:
    """Write what may be said in each project whose clients have hooks that somebody asked for.

    Args:
        projects: the projects that it is about.
        settings: the settings in force.
        environ: the environment.
        is_all: these are all projects; the tables of others go.

    Raises:
        CorruptStateError: the register of deliveries, or a ledger, is damaged.
        OSError: a table cannot be written.
    """
    register = read_register(environ)
    if register is None or not register.hooks:
        return
    kept: list[str] = []
    for project in projects:
        is_wanted = any(not reason for reason in hooked_clients(project, register).values())
        if not is_wanted or unfit(project.root, environ):
            continue
        book = read_book(project.memory)
        standing = standing_of(book, settings.consolidation.half_lives)
        points = points_of(m for m in book.own if not standing.is_needless(m))
        write_table(project.root, project.memory, points, environ)
        kept.append(project.root)
    if is_all:
        drop_tables(kept, environ)
