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
from slowwave.shell.mentioned import Heard, is_code, is_program, is_setting, marked
from slowwave.shell.mentioned import is_path as names_path

_Rows = tuple[tuple[re.Pattern[str], str], ...]


class Wordings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The file of wordings: its head says what each part is."""

    no: str
    ends: str
    idioms: list[tuple[str, str]]
    left_out: list[tuple[str, str]]
    spellings: list[tuple[str, str]]
    written: list[tuple[str, str]]
    kinds: list[tuple[str, str]]
    changed: list[tuple[str, str]]
    messages: list[tuple[str, str]]
    left_to_people: list[tuple[str, str]]
    styles: dict[str, tuple[str, str, str]]
    vocabulary: dict[str, str]

    @cached_property
    def names(self) -> _Rows:
        """What people call a call, and the call."""
        return self._rows(self.idioms)

    @cached_property
    def shorter(self) -> _Rows:
        """What is told in fewer words, and these."""
        return (*self._rows(self.left_out), *self._rows(self.spellings))

    @cached_property
    def sets(self) -> dict[str, frozenset[str]]:
        """Words that say the same of what a rule names."""
        return {name: frozenset(words.split()) for name, words in self.vocabulary.items()}

    @cached_property
    def style_names(self) -> Sequence[tuple[re.Pattern[str], re.Pattern[str], str]]:
        """What a style is called, by itself and within a text, and its name here."""
        return [
            (re.compile(called, re.IGNORECASE), re.compile(_AS_CALLED.format(called), re.IGNORECASE), name)
            for name, (called, _, _) in self.styles.items()
            if called
        ]

    @cached_property
    def nouns(self) -> _Rows:
        """Kinds of files by the nouns of those who speak of them, and how their paths look."""
        return _nouns([*self.written, *self.kinds])

    @cached_property
    def changed_nouns(self) -> _Rows:
        """The same of files whose change asks for something."""
        return _nouns(self.changed)

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> _Rows:
        """Return patterns with what each is told as instead."""
        return tuple(
            (re.compile(pattern.replace("{NO}", self.no).replace("{ENDS}", self.ends), re.IGNORECASE), instead)
            for pattern, instead in pairs
        )


def _nouns(pairs: Sequence[tuple[str, str]]) -> _Rows:
    return tuple((re.compile(rf"(?<![\w-])(?:{noun})(?![\w-])", re.IGNORECASE), path) for noun, path in pairs)


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
# what is done with calls, and whether it may be
MADE_OR_LEFT = re.compile(
    r"(?:us|run|execut|call|invok|launch|start|allow|permit|support|want|ok|option|work|accept|direct|do$|anymor|"
    r"again$|thing|mor$|"
    r"manual|hand|instal|buil|pass|verwend|benutz|nutz|ausführ|aufruf|start|laufen|erlaub|gewünsch|funktion|autoris|"
    r"permis|"
    r"utilis|lanc|exécut|permit|ammess|usar|usa|ejecut|eseg|toegest|gebruik|tillåt|touch|edit|chang|own|itself|alone|"
    r"plus|mehr)",
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


_AS_CALLED = r"(?<![\w`.-])(?:{})(?![\w`-])"
_PARTS = re.compile(r"(`[^`\n]+`)")
# files of a language, by its name
LANGUAGES = {
    "python": "*.py", "typescript": "*.ts*", "ts": "*.ts*", "javascript": "*.js*", "js": "*.js*", "go": "*.go",
    "rust": "*.rs", "ruby": "*.rb", "java": "*.java", "kotlin": "*.kt", "swift": "*.swift", "php": "*.php",
    "shell": "*.sh", "bash": "*.sh", "css": "*.css", "scss": "*.scss", "sql": "*.sql", "elixir": "*.ex*",
    "scala": "*.scala", "c++": "*.cpp", "c#": "*.cs", "dart": "*.dart", "vue": "*.vue", "proto": "*.proto",
    "protobuf": "*.proto", "graphql": "*.graphql", "terraform": "*.tf", "yaml": "*.y*ml", "markdown": "*.md",
}  # fmt: skip
_OF_LANGUAGE = re.compile(
    rf"(?<![\w`.*-])({'|'.join(map(re.escape, LANGUAGES))})[- ](?:files?|dateien?|bestanden|filer)\b", re.IGNORECASE
)


_NAME = r"[A-Za-z@][\w./@-]*\w"
_LEADS = (
    r"(?:use|using|prefer|import|throw|raise|with|via|take|pick|choose|always|nimm|nutze|verwende|benutze|immer|utilise|"
    r"préfère|usa|usar|prefiere|preferisci|gebruik|använd|par|mit)"
)
_NAME_ENDS = (
    r"(?=\s*(?:[,;:!)]|\.(?:\s|$)|$)| (?:for|in|when|as|to|für|bei|pour|para|per|verwenden|benutzen|nutzen|nehmen)\b)"
)
_INSTEAD = (
    r"(?: (?:instead of|rather than|over|statt|anstatt|anstelle von|au lieu de|plutôt que|en vez de|en lugar de|"
    r"invece di|em vez de|in plaats van|istället för)(?: plain| bare| raw)? )"
)
_OPPOSED = re.compile(
    rf"(?P<lead>(?:^|[,;:.(] ?|\b{_LEADS} |\bfor \w+ |"
    rf"\bfür \w+ ))(?P<one>{_NAME})(?P<no>{_INSTEAD})(?P<other>{_NAME}){_NAME_ENDS}",
    re.IGNORECASE,
)
_NOT_OTHER = re.compile(
    rf"(?P<lead>\b{_LEADS} )(?P<one>{_NAME})(?P<no>(?: (?:for|für|pour|para|per) \w+)?,? (?:and )?(?:not|never|"
    rf"nicht|nie|pas|jamais|no|nunca|non|mai|não|niet|inte) )"
    rf"(?P<other>{_NAME}){_NAME_ENDS}|^(?P<lead2>)(?P<one2>{_NAME})(?P<no2>, (?:not|never|nicht|nie|pas|no|non|"
    rf"não|niet|inte) )"
    rf"(?P<other2>{_NAME}){_NAME_ENDS}",
    re.IGNORECASE,
)
_BANNED = re.compile(
    rf"(?P<lead>\b(?:use|using|prefer|nimm|nutze|verwende|utilise|"
    rf"usa) )(?P<one>{_NAME})(?P<no>[,;:.] )(?P<other>{_NAME})"
    r"(?= (?:is|ist|est|está|è) (?:banned|forbidden|deprecated|not allowed|verboten|veraltet|interdit|prohibido|"
    r"vietato|"
    r"gone|dead))",
    re.IGNORECASE,
)


def with_opposed(text: str) -> str:
    """Return a text with marks around two words that it opposes: "dayjs instead of moment"."""
    for pattern in (_OPPOSED, _NOT_OTHER, _BANNED):
        text = "".join(part if part.startswith("`") else pattern.sub(_opposed, part) for part in _PARTS.split(text))
    return text


def _opposed(found: re.Match[str]) -> str:
    lead, one, no, other = [text for text in found.groups() if text is not None][:4]
    return found[0] if {one.lower(), other.lower()} & vocabulary("no_names") else f"{lead}`{one}`{no}`{other}`"


def with_styles(text: str) -> str:
    """Return a text with marks around the styles of code that it names, each by the name that it has here."""
    return "".join(_marked(part) for part in _PARTS.split(text))


def _marked(part: str) -> str:
    for whole, called, name in wordings().style_names:
        if part.startswith("`"):
            if whole.fullmatch(part) or whole.fullmatch(part[1:-1]):
                return f"`{name}`"
        elif (found := called.sub(f"`{name}`", part)) != part:
            return with_styles(found)
    return part if part.startswith("`") else _OF_LANGUAGE.sub(lambda m: f"`{LANGUAGES[m[1].lower()]}` files", part)


# What a rule says.

Role = Literal["chosen", "refused", "named"]

_M = r"mention\d+"
# so many words may stand between a no and what it is about
_MOST_BETWEEN = 4
# a path behind these is where something comes from
_OUT_OF = re.compile(rf"\A(?:(?!{_M}).)*\b(?:from|of|aus|von|de|da|par|by|uit) {_M}", re.IGNORECASE)
# a list of what is refused begins so
_LISTS = re.compile(
    r"(?:run|use|execute|call|do|commands?|calls?|allowed|forbidden|verboten|never|not|"
    r"to)$",
    re.IGNORECASE,
)
# programs with a capital, as names have it: "Poetry", "Docker Compose"
_CAPITAL = re.compile(r"(?<![\w`/.@-])[A-Z][a-z][\w-]+(?: Compose)?(?![\w`/]|\.\w)")
# examples in brackets belong to what they stand behind
_LISTED = re.compile(rf"\(\s*(?:e\.?g\.?,? |z\.? ?b\.? |like )?({_M}\s*(?:[,/]\s*{_M}\s*)+)\)", re.IGNORECASE)
# never without an option is always with it, and what fails without it as well
_WITHOUT = re.compile(
    r"([^.;,:]*?)\b(?:without|unless|ohne|sans|sin|senza|sem|zonder|utan|außer|sauf|"
    r"tenzij)\b(?: \w+)? mention(\d+)(?: \w+ set\b)?",
    re.IGNORECASE,
)
_ARROW = re.compile(rf"(mention(\d+)) *(?:->|=>|\u2192|\u21d2) *({_M})")
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
    for pattern, instead in wordings().names:
        text = pattern.sub(instead, text)
    text = _CAPITAL.sub(lambda m: m[0].lower() if is_program(m[0].lower(), is_sure=m.start() > 0) else m[0], text)
    said, spans = spans_of(marked(with_opposed(with_styles(text)), heard))
    plain = _ARROW.sub(lambda m: _replaced(m, spans), said)
    plain = _LISTED.sub(lambda m: re.sub(r"\s*[,/]\s*", " or ", m[1]), plain)
    plain = _WITHOUT.sub(lambda m: _with(m, spans), plain)
    for pattern, instead in wordings().shorter:
        plain = re.sub(" +", " ", pattern.sub(instead, plain))
    # a list of what is refused
    plain = re.sub(
        rf"^([^:,.;]*): (?={_M})", lambda m: f"{m[1]} " if _LISTS.search(m[1]) and _says_no(m[1]) else m[0], plain
    )
    read = _Clauses(spans, dict(enumerate(spans)))
    for clause in _CLAUSE_ENDS.split(plain):
        read.add(clause)
    for number in set(range(len(spans))) - read.texts.keys():
        plain = plain.replace(f"mention{number}", "that")  # it is told of by its option
    run = {int(found[1]) for found in _IS_RUN.finditer(plain)}
    mentions = [
        Mention(span, read.role(n), n, is_path(span) and not (n in run and _SCRIPT.fullmatch(span)))
        for n, span in read.texts.items()
    ]
    return Rule(said, plain, tuple(_by_contrast(_joined(mentions))), read.negations)


def _joined(mentions: Sequence[Mention]) -> list[Mention]:
    """Return what is named, with options that one clause asks for joined to the only call, of another one."""
    calls = [one for one in mentions if not one.is_path and not (one.text.startswith("-") or is_setting(one.text))]
    extra = [one for one in mentions if one.text.startswith("-") or is_setting(one.text)]
    if len(calls) != 1 or not extra or any(one.role == "refused" for one in extra) or " -" in calls[0].text:
        return list(mentions)
    options = [one.text for one in extra if one.text.startswith("-")]
    text = " ".join((*(one.text for one in extra if is_setting(one.text)), calls[0].text, *options))
    whole = replace(calls[0], text=text, role="chosen")
    return [whole if one is calls[0] else one for one in mentions if one not in extra]


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
            tokens = (
                _once(tokens) if NO in tokens else ("forbidden" if vocabulary("poor") & set(tokens) else "use", *tokens)
            )
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
        does = any(CHANGES.match(token) or MADE_OR_LEFT.match(token) for token in tokens)
        says = (NO in tokens and (does or len(tokens) == 1)) or (vocabulary("bad") | vocabulary("made")) & set(tokens)
        is_all = all(token == NO or CHANGES.match(token) for token in tokens)
        if says and (words & vocabulary("points_back") or is_all) and not words & vocabulary("else"):
            self.roles |= dict.fromkeys(self.before, "refused")

    def _poor(
        self, clause: str, tokens: Sequence[str], named: Sequence[tuple[int, int]], roles: Mapping[int, Role]
    ) -> list[int]:
        bad = next((at for at, token in enumerate(tokens) if token in vocabulary("poor")), None)
        if bad is not None:
            told = [number for at, number in named if at < bad and not is_path(self.spans[number])]
            return told if len(told) == 1 else []
        return [named[0][1]] if _is_described(clause, self.roles, roles) else []


def _replaced(arrow: re.Match[str], spans: Sequence[str]) -> str:
    """Return what an arrow says: of two calls that one replaces the other, behind a file what is done then."""
    is_file = int(arrow[2]) < len(spans) and is_path(spans[int(arrow[2])])
    return f"{arrow[1]} then {arrow[3]}" if is_file else f"use {arrow[3]} never {arrow[1]}"


def _with(found: re.Match[str], spans: Sequence[str]) -> str:
    """Return what is asked for by a no that is taken back, or a failure without, where it is about an option."""
    number = int(found[2])
    is_extra = spans[number].startswith("-") or is_setting(spans[number])
    is_said = _says_no(found[1]) or not vocabulary("poor").isdisjoint(words_of(found[1]).tokens)
    return (
        f"{' '.join(m[0] for m in _PLACE.finditer(found[1]))} use mention{number}" if is_extra and is_said else found[0]
    )


def spans_of(text: str) -> tuple[str, list[str]]:
    """Return a text with a name in place of each thing between backticks, and these."""
    spans = [span.strip() for span in _SPAN.findall(text)]
    numbers = iter(range(len(spans)))
    return _SPAN.sub(lambda _: f" mention{next(numbers)} ", text).replace("  ", " "), spans


def _is_described(clause: str, before: Mapping[int, Role], found: Mapping[int, Role]) -> bool:
    """Say whether a clause tells of one call, behind one that chose another: it tells why it is not this one."""
    is_about = re.match(rf"\s*(?:the |a |plain |bare |raw )*{_M} \w", clause) is not None
    is_well = not vocabulary("good").isdisjoint(word.casefold().strip(".,") for word in clause.split())
    return len(found) == 1 and "named" in found.values() and "chosen" in before.values() and is_about and not is_well


def _paired(numbers: Sequence[int], spans: Sequence[str]) -> tuple[int, str] | None:
    """Return an option or assignment and the call that a clause names apart ("no `-f` with `git push`"), and both."""
    extra = [n for n in numbers if spans[n].startswith("-") or is_setting(spans[n])]
    calls = [n for n in numbers if n not in extra]
    if not extra or len(calls) != 1 or is_path(spans[calls[0]]) or " -" in spans[calls[0]]:
        return None
    options, call = " ".join(spans[n] for n in extra), spans[calls[0]]
    return extra[0], f"{options} {call}" if is_setting(spans[extra[0]]) else f"{call} {options}"


def _once(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the tokens of a clause without a no that is taken back: "never ... without ...", "fails without ..."."""
    is_taken_back = tokens.count(NO) == 2 or (NO in tokens and vocabulary("poor") & set(tokens))  # noqa: PLR2004
    return (
        ("use", *(token for token in tokens if token not in {NO} | vocabulary("poor")))
        if is_taken_back
        else tuple(tokens)
    )


def _says_no(text: str) -> bool:
    tokens = words_of(text).tokens
    return NO in tokens or bool(vocabulary("bad") & set(tokens))


def _roles(
    clause: str, tokens: Sequence[str], named: Sequence[tuple[int, int]], spans: Sequence[str]
) -> Iterator[tuple[int, Role]]:
    """Yield what a clause says of what it names, by its number."""
    refused = _refused(tokens, [at for at, _ in named], is_path=is_path(spans[named[0][1]]))
    bad = [at for at, token in enumerate(tokens) if token in vocabulary("bad")]
    if NO not in tokens and bad:
        ahead = [at for at, _ in named if at < bad[0]]
        refused = {ahead[-1]} if ahead else {named[0][0]}
    elif (
        NO not in tokens
        and vocabulary("made") & set(tokens)
        and is_path(spans[named[0][1]])
        and not _OUT_OF.search(clause)
    ):
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

    What is done with it has to be what the rule is about: files are changed, calls are made.
    """
    places = [at for at, token in enumerate(tokens) if token == NO]
    if len(places) == 2 and len(named) == 1 and is_path and places[0] < named[0] < places[1]:  # noqa: PLR2004
        places.pop()  # never change it without somebody else
    if len(places) != 1 or not named:
        return set()
    (no,) = places
    behind = [at for at in named if at > no]
    if not behind:
        rest = tokens[no + 1 :]
        is_done = not rest or any(map((CHANGES if is_path else MADE_OR_LEFT).match, rest))
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
