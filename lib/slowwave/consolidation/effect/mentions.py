"""What a rule names (calls, options, files), and what it says of each: chosen, refused, or only named.

The sentence is first told in fewer words, so that one reading serves the many ways to say the same: whatever opposes
two things becomes a no between them, whatever sends one away a no before it, whatever settles on one a "use". Then each
clause is read for itself: a no refuses what follows it, or else the last thing before it; a word such as "forbidden"
what it is said of; and a clause that only says "never do that" what was named last.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec

from slowwave.consolidation.likeness import NO, words_of
from slowwave.shell.mentioned import Heard, is_code, is_setting, marked
from slowwave.shell.mentioned import is_path as names_path


class Wordings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The file of wordings: its head says what each part is."""

    left_out: list[tuple[str, str]]
    spellings: list[tuple[str, str]]
    vocabulary: dict[str, str]

    @cached_property
    def shorter(self) -> Sequence[tuple[re.Pattern[str], str]]:
        """What is told in fewer words, and these."""
        every = (*self.left_out, *self.spellings)
        return [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in every]

    @cached_property
    def sets(self) -> dict[str, frozenset[str]]:
        """Words that say the same of what a rule names."""
        return {name: frozenset(words.split()) for name, words in self.vocabulary.items()}


@cache
def wordings() -> Wordings:
    """Return the file of wordings, which is read when the first rule is."""
    return msgspec.toml.decode((Path(__file__).parent / "wordings.toml").read_bytes(), type=Wordings)


def vocabulary(name: str) -> frozenset[str]:
    """Return the words of one kind: those that refuse, choose, join, ..."""
    return wordings().sets[name]


# a change of a file where the verb stands last
EDITS = re.compile(
    r"(?:edit|chang|touch|modif|bewerk|edyt|zmien|zmian|редакт|измен|трога|(?:ver|ge)?änder|bearbeit|anfass|anrühr|aanpass|wijzig)",
    re.IGNORECASE,
)
# what is done with files, in the forms that a sentence is compared in, and how
CHANGES = re.compile(
    r"(?:re)?(?:edit|chang|touch|modif|bewerk|edyt|ręczni|zmien|zmian|редакт|измен|трога|met$|updat|alter|overwrit|writ|delet|remov|creat|add$|put|mess|hand|manual|direct|"
    r"by$|"
    r"anyth|file|folder|exist|stuff|there|bearbeit|\wänder|änder|geänder|anfass|anrühr|eigen|händisch|toc|toqu|cambi|"
    r"modifi|mano|main$|à$|a$|mud|mexa|mexe|alter|wijzig|aanpass|ändra|redigera|allow|permit|erlaub|per$|di$|nada|rien|"
    r"nichts|etwas|niente|qualcosa|irgend|alone|plain|under|insid|within|unter|dans|sous|hier|line|in$|content|code)",
    re.IGNORECASE,
)
# what a command is for, by the nouns and verbs of those who speak of it
PURPOSES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), purpose)
    for pattern, purpose in (
        (r"(?:unit[- ]?)?tests?|testing|testen|test[- ]suite|specs|pruebas|testes", "test"),
        (r"lint\w*", "lint"),
        (r"format(?:t?(?:ing|er|ed|ier\w*))?", "format"),
        (r"type[- ]?check\w*|check(?:ing|s)? (?:the )?types", "typecheck"),
        (r"builds?|building|bauen|gebaut|compil\w+|kompilier\w*", "build"),
        (r"migrations?|migrat(?:e|ing)|migrationen|migraciones|migrazioni", "migrat"),
        (r"deploy\w*", "deploy"),
    )
)


# What a rule says.

Role = Literal["chosen", "refused", "named"]

_M = r"mention\d+"
# so many words may stand between a no and what it is about
_MOST_BETWEEN = 4
_SPAN = re.compile(r"`([^`\n]+)`")
_PLACE = re.compile(r"\bmention(\d+)\b")
_CLAUSE_ENDS = re.compile(
    r"[,;:.!?](?=\s|$)|\s[\u2013\u2014-]\s|\b(?:but|sondern|aber|sino|pero|mais|ma|mas|maar|utan)\b"
)
# files that are run rather than changed, where the words say so
_SCRIPT = re.compile(
    r"(?:[\w.-]+/)*(?:[\w-]+\.(?:sh|bash|zsh|ps1|bat|cmd)|(?:bin|scripts?|tools?|hack|ci|dev)/[\w.-]+)"
)
_IS_RUN = re.compile(
    rf"\b(?:run|use|call|execute|invoke|start|launch|with|via|through|führe|starte|nutze|mit|lance[rz]?|exécute[rz]?|"
    rf"avec|"
    rf"usa|ejecuta|esegui|con|com|met)(?: (?:the|always|immer|only|both))? (?={_M})mention(\d+)",
    re.IGNORECASE,
)


def is_path(text: str) -> bool:
    """Say whether what a rule names is a file or a folder, and no piece of code."""
    return names_path(text) and not is_code(text)


@dataclass(frozen=True, slots=True)
class Mention:
    """What a rule names."""

    text: str  # as it would be typed
    role: Role  # what the rule says of it
    at: int  # where it stands among what the rule names, from 0
    is_path: bool  # whether it is a file or a folder, and not one that is run


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as it is read."""

    said: str  # its words, with ``mention0`` and so on in place of what it names
    plain: str  # the same in fewer words
    mentions: tuple[Mention, ...]  # what it names, in order
    negations: int  # how often it says no of something that it names

    def of(self, *roles: Role, paths: bool) -> list[Mention]:
        """Return the files, or all that is none, of which the rule says one of these."""
        return [one for one in self.mentions if one.role in roles and one.is_path is paths]


def rule_of(text: str, heard: Heard = ()) -> Rule:
    """Read a rule.

    Args:
        text: as it was said.
        heard: what a session ran, by which more programs are known by name.
    """
    # most sessions run nothing that a rule names without its being known
    return _read(text, frozenset(one for one in heard if one[0] in text))


@lru_cache(maxsize=50_000)
def _read(text: str, heard: frozenset[tuple[str, ...]]) -> Rule:
    said, spans = spans_of(marked(text, heard))
    plain = said
    for pattern, instead in wordings().shorter:
        plain = re.sub(" +", " ", pattern.sub(instead, plain))
    read = _Clauses(spans, dict(enumerate(spans)))
    for clause in _CLAUSE_ENDS.split(plain):
        read.add(clause)
    for number in set(range(len(spans))) - read.texts.keys():
        plain = plain.replace(f"mention{number}", "that")  # it is told of by its option
    run = {int(found[1]) for found in _IS_RUN.finditer(plain)}
    mentions = [
        Mention(span, read.role(n), n, is_path(span) and not (n in run and _SCRIPT.fullmatch(span)))
        for n, span in read.texts.items()
        if not is_code(span)
    ]
    return Rule(said, plain, tuple(_by_contrast(mentions)), read.negations)


@dataclass(slots=True)
class _Clauses:
    """What the clauses of a rule say, one after another."""

    spans: Sequence[str]  # what the rule names
    texts: dict[int, str]  # the same by number, an option with the call that it is told of
    roles: dict[int, Role] = field(default_factory=dict[int, Role])  # what is said of each
    before: list[int] = field(default_factory=list[int])  # what the last clause that named something was about
    poor: list[int] = field(default_factory=list[int])  # what is told to be bad, which refuses it beside something else
    negations: int = 0  # how often the rule says no of something that it names

    def role(self, number: int) -> Role:
        """Return what all of the clauses say of one name."""
        others = any(n != number and not is_path(self.spans[n]) for n in self.roles)
        return "refused" if number in self.poor and others else self.roles.get(number, "named")

    def add(self, clause: str) -> None:
        """Read a clause."""
        tokens = words_of(clause).tokens
        found = [(at, int(name[1])) for at, token in enumerate(tokens) if (name := _PLACE.fullmatch(token))]
        named = [(at, number) for at, number in found if number < len(self.spans)]
        if not named:
            self._look_back(clause, tokens)
            return
        if pair := _paired([number for _, number in named], self.spans):
            option, self.texts[option] = pair
            for one in {number for _, number in named} - {option}:
                self.texts.pop(one, None)
            tokens = tuple(tokens) if NO in tokens else ("use", *tokens)
            named = [(tokens.index(f"mention{option}"), option)]
        self.negations += tokens.count(NO)
        roles = dict(_roles(clause, tokens, named, self.spans))
        if NO not in tokens:
            self.poor += self._poor(clause, tokens, named, roles)
        is_bare = len(named) == len(tokens)
        self.before = [n for _, n in named if roles[n] == "named" or is_path(self.spans[n]) or is_bare]
        self.roles |= roles

    def _look_back(self, clause: str, tokens: Sequence[str]) -> None:
        """Read a clause that names nothing: "never do that"."""
        words = {word.strip("'\"").casefold() for word in clause.split()}
        does = len(tokens) == 1 or any(map(CHANGES.match, tokens))
        says = (NO in tokens and does) or (vocabulary("bad") | vocabulary("made")) & set(tokens)
        is_all = all(token == NO or CHANGES.match(token) for token in tokens)
        if says and (words & vocabulary("points_back") or is_all):
            self.roles |= dict.fromkeys(self.before, "refused")

    def _poor(
        self, clause: str, tokens: Sequence[str], named: Sequence[tuple[int, int]], roles: Mapping[int, Role]
    ) -> list[int]:
        bad = next((at for at, token in enumerate(tokens) if token in vocabulary("poor")), None)
        if bad is not None:
            told = [number for at, number in named if at < bad and not is_path(self.spans[number])]
            return told if len(told) == 1 else []
        return [named[0][1]] if _is_described(clause, self.roles, roles) else []


def spans_of(text: str) -> tuple[str, list[str]]:
    """Return a text with a name in place of each thing between backticks, and these."""
    spans = [span.strip() for span in _SPAN.findall(text)]
    numbers = iter(range(len(spans)))
    return _SPAN.sub(lambda _: f" mention{next(numbers)} ", text).replace("  ", " "), spans


def _is_described(clause: str, before: Mapping[int, Role], found: Mapping[int, Role]) -> bool:
    """Say whether a clause tells of one call, behind one that chose another: it tells why it is not this one."""
    is_about = re.match(rf"\s*(?:the |a |plain |bare |raw )*{_M} \w", clause) is not None
    return len(found) == 1 and "named" in found.values() and "chosen" in before.values() and is_about


def _paired(numbers: Sequence[int], spans: Sequence[str]) -> tuple[int, str] | None:
    """Return an option or assignment and the call that a clause names apart ("no `-f` with `git push`"), and both."""
    extra = [n for n in numbers if spans[n].startswith("-") or is_setting(spans[n])]
    calls = [n for n in numbers if n not in extra]
    if not extra or len(calls) != 1 or is_path(spans[calls[0]]) or " -" in spans[calls[0]]:
        return None
    options, call = " ".join(spans[n] for n in extra), spans[calls[0]]
    return extra[0], f"{options} {call}" if is_setting(spans[extra[0]]) else f"{call} {options}"


def _roles(
    clause: str, tokens: Sequence[str], named: Sequence[tuple[int, int]], spans: Sequence[str]
) -> Iterator[tuple[int, Role]]:
    """Yield what a clause says of what it names, by its number."""
    refused = _refused(tokens, [at for at, _ in named], is_path=is_path(spans[named[0][1]]))
    bad = [at for at, token in enumerate(tokens) if token in vocabulary("bad")]
    if NO not in tokens and bad:
        ahead = [at for at, _ in named if at < bad[0]]
        refused = {ahead[-1]} if ahead else {named[0][0]}
    elif NO not in tokens and vocabulary("made") & set(tokens) and is_path(spans[named[0][1]]):
        refused = {named[0][0]}
    words = {word.strip("'\"").casefold() for word in clause.split()}
    uses = bool(vocabulary("uses") & words) or "use" in tokens or len(named) == len(tokens)
    for at, number in named:
        is_chosen = uses and tokens.count(NO) <= 1
        yield number, "refused" if at in refused else "chosen" if is_chosen else "named"


def _by_contrast(mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Yield what is named, and beside a refused call another one as chosen: it is said why, or what in its place."""
    is_refusing = any(one.role == "refused" and not one.is_path for one in mentions)
    for one in mentions:
        is_call = not one.is_path and not one.text.startswith("-")
        yield replace(one, role="chosen") if is_refusing and is_call and one.role == "named" else one


def _refused(tokens: Sequence[str], named: Sequence[int], *, is_path: bool = False) -> set[int]:
    """Return which of the places of a clause it says no to: what follows the no, or, behind all of them, the last.

    What is done with a file has to be a change.
    """
    places = [at for at, token in enumerate(tokens) if token == NO]
    if len(places) != 1 or not named:
        return set()
    (no,) = places
    behind = [at for at in named if at > no]
    if not behind:
        rest = tokens[no + 1 :]
        is_done = not rest or not is_path or any(map(CHANGES.match, rest))
        return {named[-1]} if is_done else set()
    between = tokens[no + 1 : behind[0]]
    is_other = is_path and between and not _is_edited(between[0], tokens[behind[-1] + 1 :])
    if len(between) > _MOST_BETWEEN or is_other:
        return set()
    found = {behind[0]}
    for one, other in pairwise(behind):
        if all(token in vocabulary("joins") for token in tokens[one + 1 : other]) and one in found:
            found.add(other)
    return found


def _is_edited(first: str, behind: Sequence[str]) -> bool:
    """Say whether a no is to a change: by what follows it, or by the verb at the end."""
    return CHANGES.match(first) is not None or any(map(EDITS.match, behind))
