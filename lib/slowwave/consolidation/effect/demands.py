"""What a memory demands of an agent, as far as commands and edits show whether it is kept.

Slowwave's own sentences (cures, routines, checks before a commit) have a form. Of what people say, the calls, files and
options count that it names (:mod:`slowwave.consolidation.effect.mentions`), and only where the words leave no doubt: a
choice ("A, not B"), a refusal, a command for a purpose, an order ("before a commit", "after changing ..."). Whatever
has a scope or another condition demands nothing that could be told here: silence is better than a wrong verdict.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import PurePosixPath

from slowwave.consolidation.effect.calls import Call, Demand, call_of, calls_of, owners_of, shorter_of
from slowwave.consolidation.effect.mentions import Mention, Rule, rule_of, spans_of
from slowwave.consolidation.effect.wordings import FOLLOWS, ORDERS, PURPOSES, USES
from slowwave.consolidation.slots import claim_of, family_of, rivals_of, scope_of
from slowwave.memory.book import Memory, read_book, standing_of
from slowwave.memory.delivery.hooks import (
    MOST_POINTS,
    CallForm,
    Point,
    drop_tables,
    hooked_clients,
    said_of,
    write_table,
)
from slowwave.memory.delivery.register import read_register
from slowwave.memory.delivery.targets import unfit
from slowwave.settings import Settings
from slowwave.shell.commands import CHECKS, commands_of
from slowwave.shell.mentioned import Heard, is_path
from slowwave.shell.purposes import is_ask, takes_words
from slowwave.shell.tree import Word
from slowwave.stores.model import Project

_STEP = re.compile(r"`(?P<tried>[^`]+)` fails(?: \((?P<cause>.*)\))? until `(?P<cure>[^`]+)` was run")
_OTHER_WAY = re.compile(r"`(?P<tried>[^`]+)` fails(?: \((?P<cause>.*)\))?; `(?P<cure>[^`]+)` works")
_SPAN = re.compile(r"`([^`\n]+)`")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONDITIONS = (
    ORDERS
    | FOLLOWS
    | _set(
        "if unless except until till while only falls außer solange bis nur si sauf quand salvo excepto hasta solo se "
        "eccetto finché outside außerhalb for für pour para per voor"
    )
)
_NEAR = 6
_FEW = 2
# and of so many it is a story
_MOST_IN_ALL = 45
# more than one kind of tests, or of anything, may have a command of its own
_SPECIAL = re.compile(
    r"\b(?:e2e|end[- ]to[- ]end|integration\w*|smoke|browser|ui|api|single|one|performance|load|snapshot|doc|slow|"
    r"fast)\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"[.!?;](?=\s|$)")
_LINK = re.compile(r"(?::|=|\bis|\bare) mention\d|mention\d+ (?:runs|for|starts)\b")
_WITH = _set("with via through using by mit über avec par con com med met på per durch")
# a condition of these alone says nothing but what a call is for anyway
_GENERIC = _set(
    "ci cd alike everywhere locally a an the this that any all every each new you we i it is are be to and or of in "
    "on with my our your something anything everything things thing stuff need needs want wants have has do use using "
    "run running add adding install installing installs package packages dependency dependencies dep deps library "
    "libraries lib libs module modules test tests testing lint linting format formatting build building code work "
    "working here now repo repository project javascript js typescript ts python node rust go ruby frontend backend "
    "database migration unit integration static specs analysis migrations server scripts alles pakete abhängigkeiten "
    "projekt die der das den dem le la les des dépendances paquets el los las dependencias paquetes il dipendenze "
    "pacchetti this's et y und everyone us ever search searching container containers images image both either that's "
    "dev development suite todo todos tudo tout tutto diesem dieser dieses bitte nur please only always immer "
    "toujours siempre sempre pushing committing merging rebasing deploying ce este questo"
)
# what follows a scope, from what it names on
_SCOPED = re.compile(r"(?<=\w) mention\d.*|^@(?:vez|lugar|place|plaats) .*")
_RUNNING = _set("running using calling invoking run use call invoke")
_DOING = _set("adding installing running building testing searching deploying creating")
_FOR = ("for", "für", "pour", "para", "per", "voor", "por")
_CONDITION = re.compile(
    rf"\b(?:{'|'.join(sorted(_CONDITIONS - _set('only nur solo'), key=len, reverse=True))})\b([^,.;:!?]*)",
    re.IGNORECASE,
)


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
    if memory.key.startswith("cmd:") and memory.value in CHECKS:
        call = call_of(memory.key.removeprefix("cmd:"))
        return Demand("purpose", (call,), purpose=memory.value) if call else None
    if memory.key == "cmd:commit":
        calls = calls_of(span for span in _SPAN.findall(text) if not is_path(span))
        return Demand("gate", calls, until=Call(("git", "commit"))) if calls else None
    return _said(memory, rule_of(text, heard))


def _said(memory: Memory, rule: Rule) -> Demand | None:
    """Return what a person's own words demand."""
    if len(memory.text.split()) > _MOST_IN_ALL:
        return None
    words = {word.strip(".,:;!?'\"").casefold() for word in rule.plain.split()}
    gate, order = gate_of(words, rule), order_of(rule)
    if (
        demand := (order if gate and order and gate.until and gate.until.topic else gate)
        or order
        or after_of(words, rule)
    ):
        return demand
    if _is_condition(_SCOPED.sub("", scope_of(rule.said))) or any(map(_is_condition, _conditions(_told_in(rule)))):
        return None
    if rule.of("refused", paths=False) or rule.of("refused", paths=True):
        return _choice(rule)
    for key, value in ((memory.key, memory.value), claim_of(memory.text, memory.category)):
        if rivals := rivals_of(key, value):
            return Demand("choice", (Call(tuple(value.split())),), tuple(Call(tuple(name.split())) for name in rivals))
    return None if rule.negations else _wanted(rule)


def _told_in(rule: Rule) -> str:
    """Return the sentences that refuse something, or all where none does."""
    refused = [f"mention{one.at}" for one in rule.mentions if one.role == "refused"]
    sentences = [text for text in _SENTENCES.split(rule.plain) if any(name in text for name in refused)]
    return ". ".join(sentences) or rule.plain


def _conditions(plain: str) -> Iterator[str]:
    """Yield what limits a rule: what follows each "if", and each "for" that is no word or two on what it is for."""
    for found in _CONDITION.finditer(plain):
        words = [word.casefold() for word in found[1].split()]
        is_for = found[0].casefold().startswith(_FOR)
        if is_for:
            ends = (
                at for at, word in enumerate(words) if at and (word in USES or word.startswith(("mention", "never")))
            )
            words = words[: next(ends, len(words))]
        is_use = (
            is_for and (len(words) <= _FEW or words[0].endswith("ing")) and not "".join(words[:1]).startswith("mention")
        )
        is_doing = len(words) <= 2 * _FEW and not _DOING.isdisjoint(words[:1])
        if not is_use and not is_doing:
            yield " ".join(words)


def _is_condition(tail: str) -> bool:
    """Say whether what follows an "if", a "for" and the like limits a rule to something special."""
    words = [word.strip("'\"()@,").casefold() for word in tail.split()]
    # what is said of the running of a call holds whenever it is run
    names = {at for at, word in enumerate(words) if word.startswith("mention") and at}
    end = min(names, default=len(words)) if not _RUNNING.isdisjoint(words[:2]) else len(words)
    return any(word not in _GENERIC for word in words[:end])


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
    return Demand("choice", wanted, (*calls, *owners), paths, instead) if calls or paths else None


def _wanted(rule: Rule) -> Demand | None:
    """Return the demand of a sentence that names a call to be made, for a purpose or in place of a shorter one."""
    calls = _told({one: call for one in rule.mentions if not one.is_path for call in calls_of([one.text])})
    others = [other for other in calls.values() if not any(_is_part(other, one) for one in calls.values())]
    if not others or rule.of("chosen", paths=True) or (len(others) > 1 and not all(map(_is_longer, others))):
        return None
    if len(others) > 1:
        return Demand("choice", tuple(others), tuple(one for other in others for one in shorter_of(other)))
    # of several the one that holds the others: "run A through B (B run A)"
    widest, call = max(calls.items(), key=lambda one: one[1].width)
    return _for_one(widest, call, rule)


def _told(calls: dict[Mention, Call]) -> dict[Mention, Call]:
    """Return calls, of two that are told apart the one that they make: an option of the other, or what launches it."""
    for one, other in permutations(calls, 2) if len(calls) == 2 else ():  # noqa: PLR2004
        first, second = calls[one], calls[other]
        if not first.words and second.words:
            return {other: replace(second, options=second.options | first.options)}
        if first.words[-1:] in [("exec",), ("run",)] and len(first.words) > 1 and second.words:
            return {one: replace(second, words=first.words + second.words)}
    return calls


def _is_part(call: Call, other: Call) -> bool:
    return call is not other and set(call.words) <= set(other.words) and call.width < other.width


def _is_longer(call: Call) -> bool:
    return bool(call.words) and any(shorter_of(call))


def _for_one(one: Mention, call: Call, rule: Rule) -> Demand | None:
    """Return what a rule demands that names one call, by what its sentence says of it."""
    sentence = next((text for text in _SENTENCES.split(rule.plain) if f"mention{one.at}" in text), "")
    before = sentence.partition(f"mention{one.at}")[0].casefold().split()
    is_chosen = one.role == "chosen" or _LINK.search(sentence) is not None
    is_linked = (
        {word.strip("'\",:") for word in before[-_NEAR:]} & (USES | _WITH)
        or _LINK.search(sentence)
        or (is_chosen and (not before or before[-1].endswith((",", ":")) or call.options or call.setting))
    )
    if not is_linked or not call.words or len(sentence.split()) > MOST_WORDS:
        return None
    shorter = tuple(shorter_of(call))
    purpose = next((of for pattern, of in PURPOSES if pattern.search(sentence)), "")
    is_its_own = purpose in {command.purpose for command in commands_of(" ".join(call.words))}
    if purpose and not is_its_own and len(call.words) == 1 and takes_words(call.words[0]) and not call.options:
        return None  # which of its commands is meant, nobody knows
    if purpose and not _SPECIAL.search(rule.plain):
        return Demand("purpose", (call,), shorter, purpose=purpose)
    name = " ".join(call.words)
    rivals = () if shorter else rivals_of(family_of(name), name)
    return (
        Demand("choice", (call,), (*shorter, *(Call(tuple(rival.split())) for rival in rivals))) if is_chosen else None
    )


# What comes before or after something else: checks before a commit, a call before another, what a change asks for.

# a sentence of more words may have more to say than which tool is used
MOST_WORDS = 18
# a rule has one of these in it, and an order, where something comes before something else
_HANDS_ON = re.compile(r"(?:git|gh) (commit|push|pr)\b(?: create)?$")
_EVENTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), until)
    for pattern, until in (
        (r"commit\w*|comit\w*|commett\w*", "git commit"),
        (r"push\w*|poussez?|pousser|subir", "git push"),
        (r"prs?|pull[- ]requests?|merge[- ]requests?|mrs?", "gh pr create"),
        (r"tag(?:ging|s)?", "git tag"),
        (r"releas\w*|veröffentlich\w*", "release"),
        (r"publish\w*|publi(?:er|car|quer)|pubblicare", "publish"),
        (r"deploy\w*|ausliefer\w*|déploy\w*|despleg\w*", "deploy"),
    )
)
_ORDERED = _set(
    "vorher davor auparavant previamente prima failing red before bevor ehe vor avant antes prior preceded precede "
    "precedes ahead until bis without ohne sans sin senza sem zonder unless first pre-commit pre-push jedem jeden "
    "every each chaque cada ogni elke any voor innan före förrän"
)
_CHANGES = re.compile(
    r"\b(?:chang|edit|touch|modif|updat|bump|alter|add(?:ed|ing|s)?\b|änder|geänder|bearbeit|anfass|aktualisier|"
    r"cambi|tocc|"
    r"toca|modifiqu|alter|mud[ao]|wijzig|aanpass|ändra)",
    re.IGNORECASE,
)
_EVERY = _set("every each jede jeder jeden chaque cada ogni elke any varje")
_FIRST = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            r"(?:n't|\bnot|breaks?|fails?|hangs?|crashes|never|cannot|\bno|nie|nicht|jamais|nunca|"
            r"mai)\b[^.;]*? mention(?P<end>\d+)[^.;]*? "
            r"(?:unless|until|without|before|bis|ohne|bevor|sans|sin|senza)\b[^.;]*? mention(?P<first>\d+)"
        ),
        (
            r"\b(?:before|bevor|ehe|vor|avant(?: de| d')?|antes de|prima di|prior to|"
            r"voor)(?: [\w']+){0,4}? mention(?P<end>\d+)"
        ),
        (
            r"mention(?P<end>\d+) (?:needs?|requires?|wants?|expects?|braucht|benötigt|nécessite|necesita|richiede|"
            r"precisa de|vereist)"
            r"(?: [\w']+){0,3}? mention(?P<first>\d+)"
        ),
        (
            r"mention(?P<end>\d+) [^.;]*?(?:only|erst|nur)[^.;]*?(?:after|once|when|if|nach|wenn)(?: [\w']+){0,2}? "
            r"mention(?P<first>\d+)"
        ),
        (
            r"(?:first|zuerst|erst|d'abord|primero|prima|eerst)(?: [\w']+){0,2}? mention(?P<first>\d+)[^.;]*?"
            r"(?:then|dann|puis|ensuite|luego|poi|depois|dan)(?: [\w']+){0,2}? mention(?P<end>\d+)"
        ),
        (
            r"mention(?P<end>\d+)[^.;]*? (?:needs?|requires?|braucht)\b[^.;]*? mention(?P<first>\d+) (?:first|before|"
            r"zuerst)"
        ),
        (
            r"mention(?P<end>\d+)[^.;]*? (?:breaks?|fails?|hangs?|crashes|starts?)[^.;]*? (?:unless|until|without|"
            r"before|bis|"
            r"ohne|bevor|sans|sin|senza)\b[^.;]*? mention(?P<first>\d+)"
        ),
        r"mention(?P<first>\d+) (?:first|zuerst)\b[^.;]*?(?:then|before|dann) (?:[\w']+ ){0,2}?mention(?P<end>\d+)",
    )
)


def gate_of(words: set[str], rule: Rule) -> Demand | None:
    """Return that something is run before a commit, a push, or what else is handed on."""
    plain = rule.plain
    for one in rule.mentions:
        if hands_on := _HANDS_ON.match(one.text):
            plain = plain.replace(f"mention{one.at}", hands_on[1])
    event = next(((found, until) for pattern, until in _EVENTS if (found := pattern.search(plain))), None)
    is_ordered = words & _ORDERED or (words & _set("only erst nur solo") and words & FOLLOWS)
    if event is None or not is_ordered:
        return None
    found, until = event
    at = {number: plain.find(f"mention{number}") for number in (one.at for one in rule.mentions)}
    named = [one for one in rule.mentions if not one.is_path]
    wanted = [one for one in named if one.role != "refused" or at[one.at] > found.start()]
    end = Call(tuple(until.split())) if " " in until else Call((), topic=until)
    named = calls_of(one.text for one in wanted)
    # what a longer call holds is said of that: "clippy has to be clean (cargo clippy)"
    calls = tuple(c for c in named if not _is_end(c, end) and not any(_is_held(c, one) for one in named))
    if not calls and not re.search(r"mention\d", plain):
        calls = tuple(Call((), topic=of) for pattern, of in PURPOSES[:4] if pattern.search(plain))
    is_options = any(not call.words and not call.topic for call in calls)
    return Demand("gate", calls, until=end) if calls and not is_options else None


def _is_held(call: Call, other: Call) -> bool:
    is_shorter = len(call.words) == 1 < len(other.words) and not call.options
    return is_shorter and any(word.startswith(call.words[0]) for word in other.words[1:])


def _is_end(call: Call, end: Call) -> bool:
    return end.topic in call.words if end.topic else call.words[: len(end.words)] == end.words


def order_of(rule: Rule) -> Demand | None:
    """Return that one call is made before another one."""
    texts = {one.at: one.text for one in rule.mentions if not one.is_path}
    for pattern in _FIRST:
        found = pattern.search(rule.plain)
        end = texts.get(int(found["end"])) if found else None
        if found is None or end is None:
            continue
        named = found.groupdict().get("first")
        first = [texts[int(named)]] if named and int(named) in texts else [t for t in texts.values() if t != end]
        calls, until = calls_of(first), call_of(end)
        if calls and until and until.words and all(call.words for call in calls):
            return Demand("gate", calls, until=until)
    return None


def after_of(words: set[str], rule: Rule) -> Demand | None:
    """Return that a change of a file, or a call, asks for a command, where the words refuse nothing."""
    is_change = _CHANGES.search(rule.plain) and len(rule.plain.split()) <= MOST_WORDS
    if not (words & (FOLLOWS | _EVERY) or is_change) or rule.of("refused", paths=True):
        return None
    paths = tuple(_pattern(one.text) for one in rule.of("chosen", "named", paths=True))
    calls = calls_of(one.text for one in rule.of("chosen", "named", paths=False))
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
    every = [(memory, demand_of(memory)) for memory in memories]
    asked = {call.words for _, demand in every if demand and not demand.refused for call in demand.wanted}
    points = (point for memory, demand in every for point in _points(memory, demand, asked))
    return sorted(points, key=lambda point: (not point.tried, point.id))[:MOST_POINTS]


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
