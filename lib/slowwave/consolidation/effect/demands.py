"""What a memory demands of an agent, as far as commands and edits show whether it is kept.

Slowwave's own sentences (cures, routines, checks before a commit) have a form. Of what people say, the calls and paths
between backticks and typed keys count, and only where the words leave no doubt: a choice ("A, not B"), a refusal, a
command for a purpose, an order ("before a commit", "after changing ..."). Whatever has a scope or another condition
demands nothing that could be told here: silence is better than a wrong verdict.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from slowwave.consolidation.likeness import NO, words_of
from slowwave.consolidation.slots import claim_of, scope_of
from slowwave.extraction.keys import rivals_of
from slowwave.memory.book import Memory
from slowwave.shell.commands import CHECKS, Proven, commands_of
from slowwave.shell.purposes import tool_of

Kind = Literal[
    "choice",  # do these and not those
    "other way",  # a command fails, and this one works
    "purpose",  # what is done for a purpose is done so
    "step",  # a command fails until another one was run
    "gate",  # these are run between the last change and a commit or a push
    "after",  # whoever changes such a file runs this
]

_STEP = re.compile(r"`(?P<tried>[^`]+)` fails(?: \((?P<cause>.*)\))? until `(?P<cure>[^`]+)` was run")
_OTHER_WAY = re.compile(r"`(?P<tried>[^`]+)` fails(?: \((?P<cause>.*)\))?; `(?P<cure>[^`]+)` works")
_SPAN = re.compile(r"`([^`\n]+)`")
_PLACE = re.compile(r"\bmention(\d+)\b")
_CLAUSE_ENDS = re.compile(
    r"[,;:.!?](?=\s|$)|\s[\u2013\u2014-]\s|\b(?:but|sondern|aber|sino|pero|mais|ma|mas|maar|utan)\b"
)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# function words of the languages that are read: something holds only then
_ORDERS = _set("before bevor ehe vor avant antes prima")
_FOLLOWS = _set("after when whenever once nach wenn sobald après dès después tras cuando dopo quando")
_CONDITIONS = (
    _ORDERS
    | _FOLLOWS
    | _set(
        "if unless except until till while only falls außer solange bis nur si sauf quand salvo excepto hasta solo se "
        "eccetto finché outside außerhalb for für pour para per voor"
    )
)
_ENDS_WITH = _set("commit committing push pushing committen pushen pushe comitear commiter committare")
_USES = _set(
    "use run call prefer invoke verwende verwenden verwendet benutze benutzen nutze nutzen nimm nehmen führe starte "
    "utilise utilisez utiliser lance lancez lancer exécute usa usar usad ejecuta ejecutar utiliza usare usate esegui "
    "eseguire gebruik gebruiken använd kör"
)
_JOINS = _set("or nor and oder noch und ou ni et o u y e of en eller och")
# names of files that people write without a slash
_FILE = re.compile(r"[\w*.-]+\.[A-Za-z][A-Za-z0-9]{0,11}")


@dataclass(frozen=True, slots=True)
class Call:
    """How a command is called, as far as a memory says it.

    Attributes:
        words: program and what is asked of it, without options.
        options: options that it has.
        setting: assignments before it.
    """

    words: tuple[str, ...]
    options: frozenset[str] = frozenset()
    setting: frozenset[str] = frozenset()

    @property
    def width(self) -> int:
        """How much it says: of two calls that fit a command the wider one is meant."""
        return len(self.words) + len(self.options) + len(self.setting)

    def fits(self, command: Proven, *, launched: bool = True) -> bool:
        """Say whether a command is such a call, or, where ``launched``, starts one (``npx jest``)."""
        if not self.setting <= set(command.setting.split()):
            return False
        texts = [text.strip("'\"") for text in command.text.split()]
        forms = [texts]
        if launched and texts:
            program, rest = tool_of(texts)
            forms.append([program, *rest])
        return any(self._is_in(form) for form in forms)

    def _is_in(self, texts: Sequence[str]) -> bool:
        given = {text.partition("=")[0] for text in texts} | set(texts)
        if not texts or not self.options <= given:
            return False
        words = [text for text in texts if not text.startswith("-")]
        own = self.words
        if not own:
            return True
        first = words[0] if words and "/" in own[0] else words[0].rsplit("/", 1)[-1] if words else ""
        return _plain(first) == _plain(own[0]) and tuple(words[1 : len(own)]) == own[1:]


@dataclass(frozen=True, slots=True)
class Demand:
    """What one memory demands.

    Attributes:
        kind: in which way.
        wanted: calls that it asks for.
        refused: calls that it refuses.
        paths: files that are not to be changed; of "after" those whose change asks for something.
        instead: files that are to be changed in place of these.
        purpose: of the kind "purpose": what for.
        until: of the kind "gate": commit or push.
        cause: of a cure: what the failure was put down to, or "".
    """

    kind: Kind
    wanted: tuple[Call, ...] = ()
    refused: tuple[Call, ...] = ()
    paths: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    purpose: str = ""
    until: str = ""
    cause: str = ""

    @property
    def can_be_followed(self) -> bool:
        """Whether a session can show that it is kept, and not only that it is broken."""
        return bool(self.wanted or self.instead or any(call.words and call.options for call in self.refused))


@dataclass(frozen=True, slots=True)
class _Mention:
    """What stands between backticks in a text: a call or a path, and whether it is refused."""

    text: str
    is_refused: bool
    is_chosen: bool


def call_of(text: str) -> Call | None:
    """Return the call that a text is, None when it is none, or several."""
    if text.startswith("-") and not any(letter.isspace() for letter in text):
        return Call((), frozenset((text,)))
    commands = commands_of(text)
    if len(commands) != 1:
        return None
    words = [word.strip("'\"") for word in commands[0].text.split()]
    options = frozenset(word for word in words if word.startswith("-"))
    setting = frozenset(commands[0].setting.split())
    return Call(tuple(word for word in words if not word.startswith("-")), options, setting)


def demand_of(memory: Memory) -> Demand | None:
    """Return what a memory demands, None where commands and edits show nothing of it."""
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
        calls = _calls(_SPAN.findall(text))
        return Demand("gate", calls, until="commit") if calls else None
    return _said(memory)


def _said(memory: Memory) -> Demand | None:
    """Return what a person's own words demand."""
    text = memory.text
    plain, spans = spans_of(text)
    words = {word.strip(".,:;!?").casefold() for word in plain.split()}
    mentions = list(_mentions(plain, spans))
    if mentions and words & _ENDS_WITH and words & (_ORDERS | {"without"}):
        return _gate(words, spans)
    if mentions and words & _FOLLOWS:
        return _after(spans, mentions)
    if scope_of(plain):
        return None
    for key, value in ((memory.key, memory.value), claim_of(text, memory.category)):
        if rivals := rivals_of(key, value):
            refused = tuple(Call(tuple(name.split())) for name in rivals)
            return Demand("choice", (Call(tuple(value.split())),), refused)
    if any(mention.is_refused for mention in mentions) and not words & _CONDITIONS:
        return _choice(mentions)
    return _for_purpose(memory)


def _choice(mentions: Sequence[_Mention]) -> Demand | None:
    """Return that some calls or files are refused, and which are named in their place."""
    refused = [m.text for m in mentions if m.is_refused]
    # a file is named beside a refused one to be changed in its place, whatever the verb
    chosen = [m.text for m in mentions if m.is_chosen or (not m.is_refused and is_path(m.text))]
    paths = tuple(one.strip("/") for one in refused if is_path(one))
    instead = tuple(one.strip("/") for one in chosen if is_path(one)) if paths else ()
    calls, wanted = _calls(refused), _calls(chosen)
    return Demand("choice", wanted, calls, paths, instead) if calls or paths else None


def _calls(spans: Sequence[str]) -> tuple[Call, ...]:
    return tuple(call for span in spans if not is_path(span) for call in (call_of(span),) if call)


def _for_purpose(memory: Memory) -> Demand | None:
    """Return the demand of a sentence that names one command for what is done with it."""
    slot, value = claim_of(memory.text, memory.category)
    if not slot.startswith("cmd:") or "@" in slot:
        return None
    commands, call = commands_of(value), call_of(value)
    if call is None or not commands or commands[0].purpose not in CHECKS:
        return None
    return Demand("purpose", (call,), purpose=commands[0].purpose)


def _gate(words: set[str], spans: Sequence[str]) -> Demand | None:
    calls = tuple(call for call in _calls(spans) if call.words[:2] not in {("git", "commit"), ("git", "push")})
    until = "push" if any(word.startswith("push") for word in words) else "commit"
    return Demand("gate", calls, until=until) if calls else None


def _after(spans: Sequence[str], mentions: Sequence[_Mention]) -> Demand | None:
    """Return that a change of a file asks for a command, where the words name one of each and refuse nothing."""
    paths = tuple(span.strip("/") for span in spans if is_path(span))
    calls = _calls(spans)
    if not paths or not calls or any(m.is_refused for m in mentions):
        return None
    return Demand("after", calls, paths=paths)


def spans_of(text: str) -> tuple[str, list[str]]:
    """Return a text with a name in place of each thing between backticks, and these."""
    spans = [span.strip() for span in _SPAN.findall(text)]
    numbers = iter(range(len(spans)))
    return _SPAN.sub(lambda _: f" mention{next(numbers)} ", text).replace("  ", " "), spans


def _mentions(plain: str, spans: Sequence[str]) -> Iterator[_Mention]:
    """Yield what a text names between backticks, clause by clause, each with what the clause says of it."""
    for clause in _CLAUSE_ENDS.split(plain):
        tokens = words_of(clause).tokens
        named = [(at, int(found[1])) for at, token in enumerate(tokens) if (found := _PLACE.fullmatch(token))]
        pair = _option_and_call([spans[number] for _, number in named]) if NO in tokens else ""
        if pair:
            yield _Mention(pair, is_refused=True, is_chosen=False)
            continue
        refused = _refused(tokens, [at for at, _ in named])
        uses = bool(_USES & {word.casefold() for word in clause.split()}) or len(named) == len(tokens)
        for at, number in named:
            yield _Mention(spans[number], at in refused, uses and at not in refused and tokens.count(NO) <= 1)


def _option_and_call(spans: Sequence[str]) -> str:
    """Return the call with an option that a clause names apart (no `-f` with `git push`), "" where there is none."""
    options = [span for span in spans if span.startswith("-")]
    calls = [span for span in spans if not span.startswith("-")]
    is_pair = (len(options), len(calls)) == (1, 1) and not is_path(calls[0]) and " -" not in calls[0]
    return f"{calls[0]} {options[0]}" if is_pair else ""


def _refused(tokens: Sequence[str], named: Sequence[int]) -> set[int]:
    """Return which of the places of a clause it says no to: what follows the no, or, behind all of them, the last."""
    places = [at for at, token in enumerate(tokens) if token == NO]
    if len(places) != 1 or not named:
        return set()
    behind = [at for at in named if at > places[0]]
    if not behind:
        return {named[-1]}
    found = {behind[0]}
    for one, other in pairwise(behind):
        if all(token in _JOINS for token in tokens[one + 1 : other]) and one in found:
            found.add(other)
    return found


def is_path(text: str) -> bool:
    """Say whether what stands between backticks names a file or a folder."""
    if any(letter.isspace() for letter in text) or text.startswith(("-", "./")):
        return False
    return "/" in text or bool(_FILE.fullmatch(text))


def _plain(program: str) -> str:
    return program.removeprefix("./").removesuffix(".exe")
