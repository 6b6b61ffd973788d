"""What a memory demands of an agent, as far as commands and edits show whether it is kept.

Slowwave's own sentences (cures, routines, checks before a commit) have a form. Of what people say, the calls, files and
options count that it names (:mod:`slowwave.consolidation.effect.mentions`), and only where the words leave no doubt: a
choice ("A, not B"), a refusal, a command for a purpose, an order ("before a commit", "after changing ..."). Whatever
has a scope or another condition demands nothing that could be told here: silence is better than a wrong verdict.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

from slowwave.consolidation.effect.calls import Call, Demand, call_of, calls_of, owners_of, shorter_of
from slowwave.consolidation.effect.mentions import Mention, Rule, rule_of
from slowwave.consolidation.effect.orders import MOST_WORDS, after_of, gate_of, order_of
from slowwave.consolidation.effect.wordings import FOLLOWS, ORDERS, PURPOSES, USES
from slowwave.consolidation.slots import claim_of, scope_of
from slowwave.extraction.keys import family_of, rivals_of
from slowwave.memory.book import Memory
from slowwave.shell.commands import CHECKS, commands_of
from slowwave.shell.mentioned import Heard, is_path
from slowwave.shell.purposes import takes_words

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
