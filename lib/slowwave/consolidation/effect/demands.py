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
from itertools import permutations
from pathlib import PurePosixPath

from slowwave.consolidation.effect.calls import Call, Demand, Form, call_of, calls_of, owners_of, shorter_of
from slowwave.consolidation.effect.forms import changed_kind, code_form, commit_form, file_form, kept_form
from slowwave.consolidation.effect.mentions import (
    EDITS,
    PURPOSES,
    Mention,
    Rule,
    rule_of,
    spans_of,
    vocabulary,
    wordings,
)
from slowwave.consolidation.likeness import NO, words_of
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
from slowwave.shell.grammar import Word
from slowwave.shell.mentioned import Heard, is_code, is_path, is_setting
from slowwave.shell.purposes import is_ask, purpose_of, takes_words
from slowwave.stores.projects import Project

_STEP = re.compile(r"`(?P<tried>[^`]+)` fails(?: \((?P<cause>.*)\))? until `(?P<cure>[^`]+)` was run")
_OTHER_WAY = re.compile(r"`(?P<tried>[^`]+)` fails(?: \((?P<cause>.*)\))?; `(?P<cure>[^`]+)` works")
# where it works depends on the folder, which no call shows
_IN_FOLDER = re.compile(r"`[^`]+` fails(?: \(.*\))?; in `[^`]+` it works")
_SPAN = re.compile(r"`([^`\n]+)`")

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
# facts of a call: how long it lasts, what it does, where it is slow
_TELLS = re.compile(
    r"mention\d+ (?:takes?|lasts?|prints?|writes?|shows?|lists?|fails?|is (?:slow|flaky|broken|new|for)|was|had|"
    r"needs?|does|"
    r"dauert|braucht|zeigt|schreibt|ist (?:langsam|neu)|prend|tarda|dura|wipes?|deletes?|creates?|reads?|uses?|"
    r"can|may)\b",
    re.IGNORECASE,
)
_LINK = re.compile(r"(?::|=|\bis|\bare) mention\d|mention\d+ (?:runs|for|starts)\b")
# what follows a scope, from what it names on
_SCOPED = re.compile(r"(?<=\w) mention\d.*|^@(?:vez|lugar|place|plaats) .*")
_FOR = ("for", "für", "pour", "para", "per", "voor", "por")


@cache
def _limits() -> re.Pattern[str]:
    """Return the pattern of a word that limits a rule, and of what follows it."""
    words = vocabulary("orders") | vocabulary("follows") | vocabulary("conditions")
    return re.compile(rf"\b(?:{'|'.join(sorted(words, key=len, reverse=True))})\b([^,.;:!?]*)", re.IGNORECASE)


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
    return _said(memory, rule_of(text, heard))


def _said(memory: Memory, rule: Rule) -> Demand | None:
    """Return what a person's own words demand."""
    if len(memory.text.split()) > _MOST_IN_ALL:
        return None
    return (
        _in_order(rule) or _in_form(memory, rule) or _whole(rule) or _extra(rule) or _left(rule) or _rest(memory, rule)
    )


def _in_order(rule: Rule) -> Demand | None:
    """Return what is done before or after something else."""
    words = {word.strip(".,:;!?'\"").casefold() for word in rule.plain.split()}
    gate, order = gate_of(words, rule), order_of(rule)
    is_vague = gate and order and gate.until and gate.until.topic
    return (order if is_vague else gate) or order or after_of(words, rule)


def _in_form(memory: Memory, rule: Rule) -> Demand | None:
    """Return how messages and files have to be, and which stay as they are."""
    if form := commit_form(rule, memory.text) or file_form(rule):
        instead = tuple(one.text.strip("/") for one in rule.of("named", "chosen", paths=True)) if not form.good else ()
        return Demand("choice", instead=instead, form=form)
    form = kept_form(rule)
    return replace(_called(memory, rule) or Demand("choice"), form=form) if form else None


def _rest(memory: Memory, rule: Rule) -> Demand | None:
    """Return what is demanded of calls, of files and of code."""
    through = [one.text for one in rule.of("refused", paths=False) if one.text in ("sudo", "doas", "nohup")]
    if through:
        return Demand("choice", form=Form("through", (), tuple(rf"\A{one}\Z" for one in through)))
    form = None if _ONLY_IN.search(rule.plain) else code_form(rule)
    is_code_alone = all(is_code(one.text) or one.text in wordings().styles for one in rule.mentions)
    demand = None if form and is_code_alone else _called(memory, rule)
    return replace(demand or Demand("choice"), form=form) if form else demand


# a piece of code that is well somewhere, and not elsewhere
_ONLY_IN = re.compile(r"\b(?:only in|except|unless|outside|nur in|außer|sauf|salvo|excepto)\b", re.IGNORECASE)


# all tests at once, in the words of those who do not want that
_WHOLE = re.compile(
    r"\b(?:(?:whole|full|entire|complete|ganze[nrs]?|gesamte[nrs]?|komplette[nrs]?|toute|entière|complète|toda|completa|"
    r"intera|tutta|inteira|hele|hela|całe\w*)\b[^.;,]*?(?:test\w*|suite)|all (?:the |of the )?tests|alle tests|"
    r"tous les tests|todos los tests|todas las pruebas|tutti i test|todos os testes)\b",
    re.IGNORECASE,
)


def _whole(rule: Rule) -> Demand | None:
    """Return that tests are run one by one, and never all of them."""
    found = _WHOLE.search(rule.plain)
    clause = rule.plain[: found.start()] if found else ""
    if not found or NO not in words_of(re.split(r"[.;:,]", clause)[-1]).tokens or rule.of("chosen", paths=False):
        return None
    return Demand("choice", (Call((), topic="test", picks=True),), (Call((), topic="test", picks=False),))


def _left(rule: Rule) -> Demand | None:
    """Return that something is not done by an agent at all, which the rule tells by what it is for."""
    clause = re.split(r"[,;:.](?=\s)", rule.plain)[0]
    if rule.mentions or NO not in words_of(clause).tokens or _ONLY_IN.search(rule.plain):
        return None
    topic = next(
        (of for called, of in wordings().left_to_people if re.search(rf"\b(?:{called})\b", clause, re.IGNORECASE)), ""
    )
    return Demand("choice", (), (Call((), topic=topic),)) if topic else None


def _extra(rule: Rule) -> Demand | None:
    """Return that what is done for a purpose has an option or an assignment, where the rule names no call."""
    named = [one for one in rule.mentions if not one.is_path]
    is_bare = named and all(one.text.startswith("-") or is_setting(one.text) for one in named)
    purpose = next((of for pattern, of in PURPOSES if pattern.search(rule.plain)), "")
    if not is_bare or not purpose or rule.negations or any(one.role == "refused" for one in named):
        return None
    call = Call(
        (),
        frozenset(one.text for one in named if one.text.startswith("-")),
        frozenset(one.text for one in named if is_setting(one.text)),
    )
    return Demand("purpose", (call,), purpose=purpose)


def _called(memory: Memory, rule: Rule) -> Demand | None:
    """Return what a person's own words demand of calls and files."""
    demand = _asked(memory, rule)
    is_scoped = _is_condition(_SCOPED.sub("", scope_of(rule.said))) or any(
        map(_is_condition, _conditions(_told_in(rule)))
    )
    return replace(demand, is_scoped=True) if demand and is_scoped else demand


def _asked(memory: Memory, rule: Rule) -> Demand | None:
    """Return what a person's own words demand of calls and files, whatever limits it."""
    if rule.of("refused", paths=False) or rule.of("refused", paths=True):
        return _choice(rule)
    for key, value in ((memory.key, memory.value), claim_of(memory.text, memory.category)):
        if rivals := rivals_of(key, value):
            others = tuple(Call(tuple(name.split())) for name in rivals)
            return Demand("choice", (Call(tuple(value.split())),), others, is_implied=True)
    return None if rule.negations else _rivals(rule) or _wanted(rule)


# what stands before the one of two that is in use
_IN_USE = re.compile(
    r"\b(?:use|with|mit|avec|con|com|met|through|via|über|on|auf|wants?|want|prefers?|by|call|take|switched to|"
    r"moved to|passé à|is)"
    r"(?: \w+)? mention(\d+)",
    re.IGNORECASE,
)


def _rivals(rule: Rule) -> Demand | None:
    """Return that of two programs for the same thing one is in use, and the other is only told of."""
    calls = {one.at: call for one in rule.mentions if not one.is_path for call in calls_of([one.text]) if call.words}
    if len(calls) != 2:  # noqa: PLR2004
        return None
    used = {int(found[1]) for found in _IN_USE.finditer(rule.plain)} & calls.keys()
    first, second = calls.values()
    if len(used) != 1 or not _is_rival(first, second):
        return None
    wanted = calls[used.pop()]
    return Demand("choice", (wanted,), (second if wanted is first else first,), is_implied=True)


def _is_rival(one: Call, other: Call) -> bool:
    names = [call.words[0].rsplit("/", 1)[-1] for call in (one, other)]
    texts = [[Word(word) for word in call.words] for call in (one, other)]
    purposes = [purpose_of(words) for words in texts]
    families = [family_of(name) for name in names]
    is_wrapper = names[0].startswith(names[1]) or names[1].startswith(names[0])
    return names[0] != names[1] and (
        is_wrapper
        or (families[0] != "" and families[0] == families[1])
        or (purposes[0] != "" and purposes[0] == purposes[1])
    )


def _told_in(rule: Rule) -> str:
    """Return the sentences that refuse something, or all where none does."""
    refused = [f"mention{one.at}" for one in rule.mentions if one.role == "refused"]
    sentences = [text for text in _SENTENCES.split(rule.plain) if any(name in text for name in refused)]
    return ". ".join(sentences) or rule.plain


def _conditions(plain: str) -> Iterator[str]:
    """Yield what limits a rule: what follows each "if", and each "for" that is no word or two on what it is for."""
    for found in _limits().finditer(plain):
        words = [word.casefold() for word in found[1].split()]
        is_for = found[0].casefold().startswith(_FOR)
        if is_for:
            ends = (
                at
                for at, word in enumerate(words)
                if at and (word in vocabulary("uses") or word.startswith(("mention", "never")))
            )
            words = words[: next(ends, len(words))]
        is_use = (
            is_for and (len(words) <= _FEW or words[0].endswith("ing")) and not "".join(words[:1]).startswith("mention")
        )
        is_doing = len(words) <= 2 * _FEW and not vocabulary("doing").isdisjoint(words[:1])
        if not is_use and not is_doing:
            yield " ".join(words)


def _is_condition(tail: str) -> bool:
    """Say whether what follows an "if", a "for" and the like limits a rule to something special."""
    words = [word.strip("'\"()@,").casefold() for word in tail.split()]
    # what is said of the running of a call holds whenever it is run
    names = {at for at, word in enumerate(words) if word.startswith("mention") and at}
    end = min(names, default=len(words)) if not vocabulary("running").isdisjoint(words[:2]) else len(words)
    return any(word not in vocabulary("generic") for word in words[:end])


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
    """Return the demand of a sentence that names a call to be made, for a purpose or in place of a shorter one."""
    calls = _told({one: call for one in rule.mentions if not one.is_path for call in calls_of([one.text])})
    others = [other for other in calls.values() if not any(_is_part(other, one) for one in calls.values())]
    if not others or rule.of("chosen", paths=True) or (len(others) > 1 and not all(map(_is_longer, others))):
        return None
    if len(others) > 1:
        shorter = tuple(one for other in others for one in shorter_of(other))
        return Demand("choice", tuple(others), shorter, is_implied=True)
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
        {word.strip("'\",:") for word in before[-_NEAR:]} & (vocabulary("uses") | vocabulary("with"))
        or _LINK.search(sentence)
        or (is_chosen and (not before or before[-1].endswith((",", ":")) or call.options or call.setting))
    )
    # what is typed out in full is what a rule is about, unless it only tells something of it
    is_whole = call.width > 1 and not rule.negations and not _TELLS.search(sentence)
    if not (is_linked or is_whole) or not call.words or len(sentence.split()) > MOST_WORDS:
        return None
    is_chosen = is_chosen or is_whole
    shorter = tuple(shorter_of(call))
    purpose = next((of for pattern, of in PURPOSES if pattern.search(sentence)), "")
    is_its_own = purpose in {command.purpose for command in commands_of(" ".join(call.words))}
    if purpose and not is_its_own and len(call.words) == 1 and takes_words(call.words[0]) and not call.options:
        return None  # which of its commands is meant, nobody knows
    if purpose and not _SPECIAL.search(rule.plain):
        return Demand("purpose", (call,), shorter, purpose=purpose)
    name = " ".join(call.words)
    rivals = () if shorter else rivals_of(family_of(name), name)
    others = (*shorter, *(Call(tuple(rival.split())) for rival in rivals))
    return Demand("choice", (call,), others, is_implied=True) if is_chosen else None


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
        (r"tag(?:g\w*|s)?", "git tag"),
        (r"releas\w*|veröffentlich\w*", "release"),
        (r"publish\w*|publi(?:er|car|quer)|pubblicare", "publish"),
        (r"deploy\w*|ausliefer\w*|déploy\w*|despleg\w*", "deploy"),
    )
)
_CHANGES = re.compile(
    r"\b(?:chang|edit|touch|modif|updat|bump|alter|add(?:ed|ing|s)?\b|änder|geänder|bearbeit|anfass|aktualisier|"
    r"cambi|tocc|"
    r"toca|modifiqu|alter|mud[ao]|wijzig|aanpass|ändra)",
    re.IGNORECASE,
)
_TOUCHED = re.compile(
    r"\b(?:chang|edit|touch|modif|änder|geänder|bearbeit|anfass|cambi|tocc|toca|modifiqu|wijzig|ändra)", re.IGNORECASE
)
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
        (
            r"mention(?P<first>\d+)\W+(?:and |und |et |y )?(?:then|ahead of|dann|puis|luego|poi) "
            r"(?:[\w']+ ){0,2}?mention(?P<end>\d+)"
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
    is_ordered = (
        words & vocabulary("ordered")
        or (words & vocabulary("firstly") and words & vocabulary("then"))
        or (words & {"only", "erst", "nur", "solo"} and words & vocabulary("follows"))
    )
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
    paths = tuple(one.text.strip("/") for one in rule.mentions if one.is_path and one.role != "refused")
    if not calls and paths and not rule.negations and _CHANGES.search(f"{rule.plain} add"):
        return Demand("gate", instead=paths, until=end)
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
    if not (words & (vocabulary("follows") | vocabulary("every")) or is_change) or rule.of("refused", paths=True):
        return None
    paths = tuple(_pattern(one.text) for one in rule.of("chosen", "named", paths=True))
    calls = calls_of(one.text for one in rule.of("chosen", "named", paths=False))
    if not calls and len(paths) > 1 and is_change and not rule.negations:
        return Demand("after", instead=paths[1:], paths=paths[:1])
    if rule.of("refused", paths=False) or not calls or any(not call.words for call in calls):
        return None
    is_touched = words & vocabulary("follows") or _TOUCHED.search(rule.plain)
    is_called = not any(is_code(one.text) or one.text in wordings().styles for one in rule.mentions)
    kind = changed_kind(rule.plain) if is_touched and is_called and not paths else ""
    if kind:
        return Demand("after", calls, form=Form("changed", files=kind))
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
