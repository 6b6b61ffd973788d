"""Words for days that are only understood on the day they were said, with the date behind them.

A date is added in brackets and never put in place of a word. It is added only where the clause tells of something that
has happened, or will, on that day: durations, rates and rules name the same days and mean no date. What tells is the
build of the clause (tense, subject, preposition, words like "every"); in doubt nothing is added.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Literal

# How seven languages name a day from where they stand, and what in a clause tells of an event, a plan or a rule.


@dataclass(frozen=True, eq=False)
class Language:
    """The words of one language; all of them are alternatives of a regular expression, with a straight apostrophe."""

    days: dict[str, int]  # words for days near today, with how far they are
    weekdays: str  # Monday to Sunday
    units: tuple[str, str, str, str, str]  # the words for day, week, month, quarter and year
    numbers: str  # the words for one (or "a") to ten
    ago: str  # how a span back is said, with ``{}`` where it stands; ``ahead`` likewise
    ahead: str
    coming: str  # what makes a weekday or a period the next one; ``gone`` the last one
    gone: str
    on: str  # what stands before a plain weekday that is one day and no habit
    until: str  # what makes a day the end or the begin of something planned; ``since`` of something that goes on
    since: str
    past: str  # a finite verb of what has happened
    bare: str  # past only where no verb of the clause is of the present
    future: str  # a verb of what will happen
    we: str  # the speakers as subject; in many languages their present tense tells plans
    present: str  # a finite verb of the present
    definite: str  # how a subject begins that is one thing, and no kind of things
    whose: str  # what joins a clause to a noun before it
    rule: str  # what makes a clause a rule, a rate or a habit; ``condition`` what makes the whole sentence one
    condition: str
    never_after: str  # what makes the words after it something else than a day
    before: bool = True
    after: bool = True  # whether these words may stand behind their noun; ``before`` whether in front of it


_ED = (
    r"(?:\w{2,}ed|left|lost|built|sent|found|made|kept|held|met|told|said|paid|sold|got|bought|brought|caught|led|cut"
    r"|put|set|hit|shut|split|let|done|broken|frozen|gone|taken|written|chosen)"
)
_WENT = r"(?:went|came|wrote|took|began|ran|saw|chose|froze|gave|broke|fell|grew|threw|drove|rose|spoke|became)"
_OFTEN = r"(?:(?:\w+ly|just|already|also|both|all|then|now)\s+)?"
ENGLISH = Language(
    days={
        "the day after tomorrow": 2, "day after tomorrow": 2,
        "the day before yesterday": -2, "day before yesterday": -2,
        "today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1, "last night": -1,
        "this morning": 0, "this afternoon": 0, "this evening": 0,
    },
    weekdays="monday tuesday wednesday thursday friday saturday sunday",
    units=("days?", "weeks?", "months?", "quarters?", "years?"),
    numbers="an?|one two three four five six seven eight nine ten",
    ago="{} ago",
    ahead="in {}",
    coming="next",
    gone="last",
    on="on|this|coming|after",
    until="by|until|till|before|starting|as of|effective",
    since="since",
    past=rf"(?:was|were|had|did)(?:n't)?|couldn't|{_WENT}|(?:we|i)\s+{_OFTEN}{_ED}|(?:have|has|\w+'ve|\w+'s)\s+{_OFTEN}been",
    bare=rf"(?:they|he|she|it|you)\s+{_OFTEN}{_ED}|^{_ED}|^(?:the|our|this|my|their)\s+(?:\S+\s+){{1,2}}?{_ED}"
    rf"|^[\w.-]+\s+{_ED}",
    future=r"will|won't|shall|gonna|\w+'ll|planned|scheduled|due|let's|(?:plan|plans|about|going)\s+to"
    r"|(?:am|is|are|\w+'m|\w+'re)\s+(?:\w+ly\s+|not\s+)?\w{2,}ing",
    we="we|i",
    present="is|are|isn't|aren't|gets?|must|should|can|may|do|does|don't|doesn't|will|has to|have to",
    definite="the|our|this",
    whose="that|which|who|whose",
    rule="every|each|per|always|never|usually|typically|normally|generally|any|anything|anyone|at most|at least|times"
    "|daily|weekly|monthly|by default",
    condition="if|unless|whenever|when|as soon as|once",
    never_after="every|each|per|than|of|like|vs|versus|between|first|last|next|once|twice|times",
    after=False,
)  # fmt: skip
_DONE = r"(?:\w*ge\w{2,}(?:t|en)|\w{2,}iert|(?:ver|be|er|ent|zer|über)\w{2,}(?:t|en))"
GERMAN = Language(
    days={
        "heute": 0, "heute morgen": 0, "heute früh": 0, "heute abend": 0, "gestern": -1, "gestern abend": -1,
        "letzte nacht": -1, "vorgestern": -2, "morgen": 1, "übermorgen": 2,
    },
    weekdays="montag dienstag mittwoch donnerstag freitag samstag sonntag",
    units=("tag(?:en?)?", "wochen?", "monat(?:en?)?", "quartal(?:en?)?", "jahr(?:en?)?"),
    numbers="eine[mrn]?|ein zwei drei vier fünf sechs sieben acht neun zehn",
    ago="vor {}",
    ahead="in {}",
    coming="nächste[nrsm]?|kommende[nrsm]?",
    gone="letzte[nrsm]?|vorige[nrsm]?|vergangene[nrsm]?",
    on="am|diesen",
    until="bis(?: zum)?|ab|spätestens",
    since="seit",
    past=rf"habe?|haben|habt|hat|hatten?|wurden?|waren?|(?:ist|sind)\b.*\b{_DONE}",
    bare=r"\w*ge\w{2,}t|\w{2,}iert",
    future="werden?|wird|geplant|fällig|angesetzt",
    we="wir|ich",
    present="wird|werden|soll|sollen|sollte|muss|müssen|darf|dürfen|kann|können",
    definite="der|die|das|den|dem|unsere?",
    # a clause that begins so has its verb at its end
    whose=r"^(?:der|die|das|den|dem|welche[rsn]?)(?=.*\s(?:wurden?|waren?|hat|haben|hatten?|ist|sind)$)",
    rule="jede[nrsm]?|pro|je|immer|nie|niemals|stets|meistens?|normalerweise|alle|höchstens|mindestens|mal|täglich"
    "|wöchentlich|monatlich",
    condition="wenn|falls|sobald|sofern",
    never_after="guten|jeden|jedem|als|von|wie|zwischen|am|einmal|mal|pro",
    after=False,
)  # fmt: skip
_PART = r"\w+(?:é|ée|és|ées|i|is|it|u|us|ert)"
FRENCH = Language(
    days={
        "aujourd'hui": 0, "ce matin": 0, "ce soir": 0, "hier": -1, "hier soir": -1, "avant-hier": -2, "demain": 1,
        "après-demain": 2,
    },
    weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
    units=("jours?", "semaines?", "mois", "trimestres?", "ans?|années?"),
    numbers="une?|un deux trois quatre cinq six sept huit neuf dix",
    ago="il y a {}",
    ahead="dans {}",
    coming="prochaine?",
    gone="derni(?:er|ère)",
    on="ce",
    until="jusqu'à|avant|dès|à partir de|d'ici(?: à)?",
    since="depuis",
    past=rf"(?:\w{{1,2}}')?(?:ai|a|avons|avez|ont)\s+(?:\w+\s+){{0,2}}?{_PART}|(?:ét|av)(?:ait|aient|ions|ais)|fut|furent",
    bare=rf"(?:est|sont|sommes|suis)\s+(?:\w+\s+)?{_PART}",
    future=r"\w+(?:rons|rai|ront|rez|era)|(?:va|vont|allons|vais)\s+\w+(?:er|ir|re)|prévue?s?|planifiée?s?",
    we="nous|je|on",
    present="sont|doit|doivent|peut|peuvent|faut",
    definite="le|la|les|l'|notre|nos|ce|cette",
    whose="qui|dont",
    rule=r"chaque|tous|toutes|toujours|jamais|fois|habituellement|maximum|minimum|au plus|par (?:jour|semaine|mois|an)",
    condition="si|quand|lorsque|lorsqu|dès que",
    never_after="chaque|que|comme|entre|d'|de|par",
    before=False,
)  # fmt: skip
SPANISH = Language(
    days={
        "hoy": 0, "esta mañana": 0, "esta tarde": 0, "ayer": -1, "anoche": -1, "anteayer": -2, "mañana": 1,
        "pasado mañana": 2,
    },
    weekdays="lunes martes miércoles jueves viernes sábado domingo",
    units=("días?", "semanas?", "mes(?:es)?", "trimestres?", "años?"),
    numbers="una?|un dos tres cuatro cinco seis siete ocho nueve diez",
    ago="hace {}",
    ahead="(?:en|dentro de) {}",
    coming="próxim[oa]|que viene",
    gone="pasad[oa]",
    on="este|el",
    until="hasta(?: el| la)?|antes del?(?: la)?|a partir del?(?: la)?",
    since="desde(?: el| la)?",
    past=r"\w{2,}(?:ó|aron|ieron|amos|imos|aste)|(?!qué|café|esté)\w{2,}é|fue|fueron|hizo|puso|dijo|tuvo|estuvo|vino|hubo"
    r"|(?:hemos|han|ha|he)\s+\w+(?:ado|ido|to|cho)|estaba[ns]?|era[ns]?",
    bare=r"^\w+(?:ado|ada|ido|ida)s?",
    future=r"(?:voy|vamos|va|van)\s+a|\w{2,}(?:remos|rán|ré|rá)|previst[oa]s?|programad[oa]s?",
    we=r"nosotros|yo|\w{2,}(?:amos|emos|imos)",
    present="es|son|se|debe|deben|puede|pueden|hay que",
    definite="el|la|los|las|nuestr[oa]s?",
    whose="que(?! viene)",
    rule="cada|todos|todas|siempre|nunca|jamás|normalmente|veces|vez|como máximo|por (?:día|semana|mes|año)",
    condition="si|cuando|siempre que",
    never_after="cada|que|de|por la|como|entre|del",
)  # fmt: skip
_FATTO = r"\w+[ts][oaie]"
ITALIAN = Language(
    days={
        "oggi": 0, "stamattina": 0, "stasera": 0, "ieri": -1, "ieri sera": -1, "l'altro ieri": -2, "domani": 1,
        "dopodomani": 2,
    },
    weekdays="lunedì martedì mercoledì giovedì venerdì sabato domenica",
    units=("giorn[oi]", "settiman[ae]", "mes[ei]", "trimestr[ei]", "ann[oi]"),
    numbers="un[ao]?|un due tre quattro cinque sei sette otto nove dieci",
    ago="{} fa",
    ahead="(?:tra|fra) {}",
    coming="prossim[oa]",
    gone="scors[oa]",
    on="questo",
    until="fino a|entro|prima di|da|a partire da",
    since="da",
    past=rf"(?:ho|ha|abbiamo|avete|hanno|siamo)\s+(?:\w+\s+){{0,2}}?{_FATTO}|er(?:a|ano)|aveva(?:no|mo)?|fu|furono",
    bare=rf"(?:è|sono)\s+(?:\w+\s+)?{_FATTO}",
    future=r"\w{2,}(?:remo|rò|rà|ranno)|previst[oaie]|pianificat[oaie]",
    we=r"noi|io|\w{2,}iamo",
    present="vengono|viene|deve|devono|può|possono|si|sono",
    definite="il|lo|la|i|gli|le|l'",
    whose="che",
    rule="ogni|tutti|tutte|sempre|mai|di solito|volte|volta|al massimo|al (?:giorno|mese)|alla settimana|all'anno",
    condition="se|quando|appena",
    never_after="ogni|di|come|tra|fra|che",
)  # fmt: skip
PORTUGUESE = Language(
    days={
        "hoje": 0, "esta manhã": 0, "esta tarde": 0, "ontem": -1, "ontem à noite": -1, "anteontem": -2, "amanhã": 1,
        "depois de amanhã": 2,
    },
    weekdays="segunda(?:-feira)? terça(?:-feira)? quarta(?:-feira)? quinta(?:-feira)? sexta(?:-feira)? sábado domingo",
    units=("dias?", "semanas?", "mês|meses", "trimestres?", "anos?"),
    numbers="uma?|um dois|duas três quatro cinco seis sete oito nove dez",
    ago="há {}|{} atrás",
    ahead="(?:em|daqui a|dentro de) {}",
    coming="próxim[oa]|que vem",
    gone="passad[oa]",
    on="nesta|neste",
    until="até(?: a| o| à)?|antes d[eao]|a partir d[eao]",
    since="desde(?: a| o)?",
    past=r"\w{2,}(?:ou|aram|eram|iram|amos|emos|imos|eu|iu)|(?!sei|lei|rei)\w{2,}ei|foi|foram|fez|estava|estavam|tinha",
    bare=r"^\w+(?:ado|ada|ido|ida)s?",
    future=r"(?:vou|vamos|vai|vão)\s+\w+r|\w{2,}(?:remos|rão|rei|rá)|previst[oa]s?|agendad[oa]s?",
    we=r"nós|eu|a gente|\w{2,}(?:amos|emos|imos)",
    present="é|são|deve|devem|pode|podem",
    definite="o|a|os|as|noss[oa]s?",
    whose="que(?! vem)",
    rule="cada|todos?|todas?|sempre|nunca|normalmente|vezes|vez|no máximo|por (?:dia|semana|mês|ano)",
    condition="se|quando|sempre que",
    never_after="cada|de|do|da|como|entre|que",
)  # fmt: skip
DUTCH = Language(
    days={
        "vandaag": 0, "vanmorgen": 0, "vanavond": 0, "gisteren": -1, "gisteravond": -1, "vannacht": -1,
        "eergisteren": -2, "morgen": 1, "overmorgen": 2,
    },
    weekdays="maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    units=("dag(?:en)?", "week|weken", "maand(?:en)?", "kwarta(?:al|len)", "jaar|jaren"),
    numbers="een|één twee drie vier vijf zes zeven acht negen tien",
    ago="{} geleden",
    ahead="over {}",
    coming="volgende?|komende?",
    gone="vorige?|afgelopen",
    on="op|deze",
    until="tot(?: en met)?|uiterlijk|vanaf",
    since="sinds",
    past="heb|hebben|hebt|heeft|had|hadden|werd|werden|was|waren",
    bare=r"(?:is|zijn)\b.*\b\w*ge\w{2,}(?:d|t|en)|^\w*ge\w{2,}(?:d|t)",
    future="zal|zullen|gaan|gaat|ga|gepland",
    we="we|wij|ik",
    present="wordt|worden|moet|moeten|mag|mogen|kan|kunnen",
    definite="de|het|onze|ons",
    whose=r"(?<=\w\s)(?:die|dat)",
    rule="elke|iedere?|per|altijd|nooit|meestal|alle|keer|hooguit|minstens|dagelijks|wekelijks",
    condition="als|wanneer|zodra|indien",
    never_after="elke|iedere?|van|dan|als|tussen|per",
    after=False,
)  # fmt: skip
LANGUAGES = (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH)


@cache
def whole(words: str) -> re.Pattern[str]:
    """Return the pattern of alternatives that stand as whole words."""
    return re.compile(rf"(?<![\w'-])(?:{words})(?![\w-])", re.IGNORECASE)


Kind = Literal["day", "ago", "ahead", "turn", "weekday"]
_MONTHS = 12
# words behind a day, as in "tomorrow at noon"
_FEW = 2
# characters of a sentence
_LONGEST = 1000
_APOSTROPHE = "\u2019"
# code and what is quoted is about words
_MENTIONED = re.compile(r"```.*?```|`[^`]*`|\"[^\"\n]*\"|“[^”]{0,500}”|«[^»]{0,500}»|„[^“\n]{0,500}“", re.DOTALL)
_DATED = re.compile(r"\s{0,3}\((?:week of )?\d{4}(?:-\d\d(?:-\d\d)?| Q\d)?\)")
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+|\s[\u2013\u2014-]\s")
_CLAUSE = re.compile(r",\s+|\s+(?:and|but|so|because|und|aber|weil|et|mais|donc|y|pero|porque|ma|mas|maar)\s+")
_QUANTITY = re.compile(r"(?:\d|\b(?:first|last|times)\b)\W*(?:\w+\W+){0,3}$", re.IGNORECASE)
# what makes a day the thing that is spoken about, in the languages that are known here
_NO_ASIDE = (
    "to|as|of|from|with|for|than|is|are|means?|uses?|zu|als|von|mit|für|ist|à|de|du|avec|pour|est|a|como|con|para|es"
    "|come|di|per|è|com|é|naar|van|met|voor"
)
_FROM = re.compile(r"\b(?:from|to|with|through)\s+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Named:
    """Words that name a day or a period: where they begin and end, and in which of the ways."""

    start: int
    stop: int
    kind: Kind
    words: str
    language: Language


def dated(text: str, said_at: datetime | None, *, is_note: bool = False) -> str:
    """Return ``text`` with the date behind every word for a day that tells of an event or a plan.

    What has its date stays as it is, so doing it twice changes nothing. ``text``: what was said. ``said_at``: when, in
    the time zone whose days are meant; without it nothing is added. ``is_note``: whether it is an agent's note: short,
    often without a verb, and seldom about words for days.
    """
    if said_at is None:
        return text
    masked = _DATED.sub(_blank, _MENTIONED.sub(_blank, text.replace(_APOSTROPHE, "'")))
    found: list[tuple[int, str]] = []
    for begin, sentence in _sentences(masked):
        free = 0
        named = [named for language in LANGUAGES for named in _named(sentence, language)]
        for one in sorted(named, key=lambda n: (n.start, -n.stop)):
            if one.start >= free and (day := _day_of(one, sentence, said_at.date(), is_note=is_note)):
                free = one.stop
                if not _DATED.match(text, begin + one.stop):
                    found.append((begin + one.stop, f" ({day})"))
    for at, day in reversed(found):
        text = text[:at] + day + text[at:]
    return text


# forms that are the present as well: "set the port before" tells what to do
_SAME_FORM = r"(?!(?:put|set|hit|shut|split|let|cut)\b)"
_REPORT = re.compile(rf"{_SAME_FORM}(?:{_ED}|{_WENT})\b", re.IGNORECASE)


_WHOLE_DAY = re.compile(
    r"(?<![\w./-])(?:\d{4}-\d\d-\d\d|\d{1,2} [^\W\d_]{3,9},? \d{4}"
    r"|[^\W\d_]{3,9} \d{1,2}(?:st|nd|rd|th)?,? \d{4})(?![\w/-])"
)
_MONTHS_NAMED = (
    "(?:jan|jän|gen|ene|feb|fév|fev|mar|mär|maa|apr|avr|abr|mai|may|mei|mag|maj|jun|jui|giu|jul|lug|aug|aoû|ago|sep|set|oct"
    r"|okt|ott|out|nov|dec|dez|déc|dic)[^\W\d_]{0,6}\.?"
)
_CALENDAR_DAY = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?{_MONTHS_NAMED}|{_MONTHS_NAMED}\s+\d{{1,2}}(?:st|nd|rd|th)?"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}|\d{1,2}(?:st|nd|rd|th))(?![\w:%])"
)
_THEN_CALENDAR = re.compile(rf"[\s,(]*(?:(?:the|der|den|dem|le|el|il|o)\s+)?{_CALENDAR_DAY}", re.IGNORECASE)
_CALENDAR_BEFORE = re.compile(rf"(?<![\w.]){_CALENDAR_DAY}[\s,(]*$", re.IGNORECASE)
_ASIDE = re.compile(r"(?<=\S)\s+\([^()\d]*\)\s*$")
# a day behind these ends or begins what the heading is about
_BOUND = re.compile(
    r"\b(?:until|till|before|by|after|since|due|from|bis|vor|ab|nach|seit|avant|depuis|hasta|desde)\s*$", re.IGNORECASE
)


def day_of_heading(heading: str) -> str:
    """Return the day whose notes stand below a heading, ISO: the only one that it names, at one of its ends; or ""."""
    title = _ASIDE.sub("", heading).strip("#*_:. []()")
    found = list(_WHOLE_DAY.finditer(title))
    if (
        len(found) != 1
        or (found[0].start() and found[0].end() < len(title))
        or _BOUND.search(title[: found[0].start()])
    ):
        return ""
    from dateutil import parser  # noqa: PLC0415 - few pages have such a heading in words

    try:
        return parser.parse(found[0][0]).date().isoformat()
    except (ValueError, OverflowError):
        return ""


def has_date(text: str) -> bool:
    """Say whether a word for a day in a text has its date behind it."""
    return bool(_DATED.search(text))


def reports(text: str) -> bool:
    """Say whether a note begins with what was done, as in "fixed the test": no more than that it happened."""
    return bool(_REPORT.match(text))


def states(text: str) -> bool:
    """Say whether a text tells what is so, or has to be: a verb of the present, and no report."""
    return not reports(text) and any(whole(language.present).search(text) for language in LANGUAGES)


def _sentences(masked: str) -> Iterator[tuple[int, str]]:
    """Yield each sentence and where it begins; one that no person says is left out."""
    begin = 0
    for end, after in [*(match.span() for match in _SENTENCE.finditer(masked)), (len(masked), len(masked))]:
        if end - begin <= _LONGEST:
            yield begin, masked[begin:end]
        begin = after


def _blank(match: re.Match[str]) -> str:
    # brackets with a date leave nothing, whatever is mentioned leaves a word
    return " " * len(match[0]) if match[0].lstrip().startswith("(") else "_" * len(match[0])


@cache
def _patterns(language: Language) -> list[tuple[Kind, re.Pattern[str]]]:
    days = "|".join(sorted(map(re.escape, language.days), key=len, reverse=True))
    weekdays = language.weekdays.replace(" ", "|")
    span = _span(language)
    # "her last day" is no yesterday
    turn, name = f"(?:{language.coming}|{language.gone})", f"(?:{weekdays}|{'|'.join(language.units[1:])})"
    turns = [f"{turn}\\s+{name}"] * language.before + [f"{name}\\s+{turn}"] * language.after
    plain = rf"(?:{language.on}|{language.until}|{language.since})\s+(?:{weekdays})"
    return [
        ("day", whole(days)),
        ("ago", whole("|".join(one.replace("{}", span) for one in language.ago.split("|")))),
        ("ahead", whole(language.ahead.replace("{}", span))),
        ("turn", whole("|".join(turns))),
        ("weekday", whole(plain)),
    ]


def _span(language: Language) -> str:
    return rf"(?:{language.numbers.replace(' ', '|')}|\d{{1,3}})\s+(?:{'|'.join(language.units)})"


def _named(sentence: str, language: Language) -> Iterator[_Named]:
    for kind, pattern in _patterns(language):
        for match in pattern.finditer(sentence):
            # "today's", "tomorrow-style"
            if sentence[match.end() : match.end() + 1] not in ("'", "-", "_"):
                yield _Named(match.start(), match.end(), kind, match[0].lower(), language)


@dataclass(frozen=True, slots=True)
class _Clause:
    """What stands around a name of a day: its clause without it, what stands before and behind, and its sentence."""

    rest: str
    left: str
    right: str
    sentence: str


def _clause_of(named: _Named, sentence: str) -> _Clause:
    start, stop = _bounds(sentence, named)
    alone = rf"\W*(?:{named.language.definite})?\W*"
    if re.fullmatch(alone, sentence[start : named.start] + sentence[named.stop : stop], re.IGNORECASE):
        # "yesterday, we switched"
        start, stop = 0, len(sentence)
    left, right = sentence[start : named.start].lstrip(), sentence[named.stop : stop]
    return _Clause(f"{left} {right}".strip(" ,"), left, right.rstrip(" .!;:"), sentence.rstrip())


def _bounds(sentence: str, named: _Named) -> tuple[int, int]:
    """Return where the clause begins and ends that the words stand in."""
    start = 0
    for match in _CLAUSE.finditer(sentence):
        if match.end() <= named.start:
            start = match.end()
        elif match.start() >= named.stop:
            return start, match.start()
    return start, len(sentence)


def _day_of(named: _Named, sentence: str, base: date, *, is_note: bool) -> str:
    """Return the day that is meant, "" where none is, or nobody can tell."""
    language, clause = named.language, _clause_of(named, sentence)
    is_rule = whole(language.condition).search(clause.sentence) or whole(language.rule).search(clause.rest)
    # "Friday 16 October" says already which day it is
    is_said = _THEN_CALENDAR.match(sentence[named.stop :]) or _CALENDAR_BEFORE.search(sentence[: named.start])
    if is_rule or is_said or clause.sentence.endswith("?") or _ends_with(clause.left, language.never_after):
        return ""
    if named.kind == "weekday":
        return _weekday(named, clause, base)
    if not _tells(named, clause) and not (is_note and _is_aside(named, clause)):
        return ""
    if named.kind == "day":
        return f"{base + timedelta(days=language.days[named.words])}"
    return _turned(named, base) if named.kind == "turn" else _away(named, _direction(named), base)


def _tells(named: _Named, clause: _Clause) -> bool:
    """Say whether the clause tells of something on that day."""
    language, direction = named.language, _direction(named)
    if named.kind == "turn" and not language.after and _ends_with(clause.left, language.definite):
        # "in the last week" is a span
        return False
    if named.kind != "ago" and direction <= 0 and _follows(clause.left, language.since, language):
        return _has_lasted(language, clause)
    if direction < 0:
        return _is_past(language, clause)
    if direction > 0:
        # "25 in a month"
        is_rate = named.kind == "ahead" and _QUANTITY.search(clause.left)
        return not is_rate and _is_planned(named, clause)
    is_end = _follows(clause.left, language.until, language)
    return is_end or _is_past(language, clause) or _is_future(language, clause)


def _is_aside(named: _Named, clause: _Clause) -> bool:
    """Say whether words for a day stand at an edge of their clause and say when: they are no part of what is said.

    "Tomorrow Ben rotates the keys", "on holiday next week"; not "falls back to yesterday", "the default is today".
    """
    language = named.language
    if named.kind not in ("day", "turn") or _ends_with(clause.left, language.definite):
        return False
    if not clause.left:
        # a label for what follows: "Tomorrow: ..."
        return bool(clause.right) or clause.sentence.endswith(":")
    return not clause.right and not _ends_with(clause.left, _NO_ASIDE) and not _ends_with(clause.left, language.present)


def _direction(named: _Named) -> int:
    if named.kind == "day":
        return named.language.days[named.words]
    if named.kind in ("ago", "ahead"):
        return 1 if named.kind == "ahead" else -1
    return 1 if whole(named.language.coming).search(named.words) else -1


def _ends_with(left: str, words: str) -> bool:
    return bool(re.search(rf"(?<!\w)(?:{words})\s*$", left, re.IGNORECASE))


def _follows(left: str, words: str, language: Language) -> bool:
    """Say whether the words lead to what comes next, also over an article."""
    return _ends_with(left, rf"(?:{words})(?:\s*(?:{language.definite}))?")


def _is_past(language: Language, clause: _Clause) -> bool:
    """Say whether the clause itself, and not one that says which things are meant, tells what has happened."""
    is_ours = bool(whole(language.we).search(clause.rest))
    for words, alone in ((language.past, False), (language.bare, True)):
        if (verb := whole(words).search(clause.rest)) is None:
            continue
        which = _says_which(language, clause, verb.start())
        is_present = whole(language.present).search(clause.rest)
        if not (alone and _FROM.search(clause.left)) and (is_ours or not (which or is_present)):
            return True
    return False


def _is_future(language: Language, clause: _Clause) -> bool:
    verb = whole(language.future).search(clause.rest)
    return bool(verb) and not _says_which(language, clause, verb.start())


def _says_which(language: Language, clause: _Clause, verb: int) -> bool:
    """Say whether a verb stands in a clause that only says which things are meant."""
    which = whole(language.whose).search(clause.rest)
    return bool(which) and which.start() < verb


def _is_planned(named: _Named, clause: _Clause) -> bool:
    """Say whether the clause tells what will happen, or until when, or of one thing that it is on that day."""
    language = named.language
    if _is_future(language, clause):
        return True
    if named.kind == "ahead":
        return False
    is_range = whole("|".join((*language.days, *language.weekdays.split()))).search(clause.left)
    if (_follows(clause.left, language.until, language) and not is_range) or whole(language.we).search(clause.rest):
        return True
    return len(clause.right.split()) <= _FEW and bool(
        re.fullmatch(rf"(?:{language.definite})(?:\s+|(?<='))\S+(?:\s+\S+){{0,4}}\s+", clause.left, re.IGNORECASE)
    )


def _has_lasted(language: Language, clause: _Clause) -> bool:
    """Say whether what is said of a time since that day tells of one thing: "broken since", not "commits since"."""
    is_first = bool(
        re.fullmatch(rf"(?:{language.since})(?:\s+(?:{language.definite}))?\s*", clause.left, re.IGNORECASE)
    )
    begins = re.match(rf"(?:{language.definite}|{language.we})(?!\w)", clause.left, re.IGNORECASE)
    is_one = bool(begins) and not whole(language.whose).search(clause.left)
    return is_first or is_one or _is_past(language, clause)


def _weekday(named: _Named, clause: _Clause, base: date) -> str:
    """Return a plain weekday: the one before in what has happened, the one to come in what will."""
    language = named.language
    number, name = _weekday_in(language, named.words)
    lead = named.words[: -len(name)].strip()
    if re.match(
        rf"\s*(?:[-\u2013]|\w{{1,7}}\s)\s*(?:{language.weekdays.replace(' ', '|')})", clause.right, re.IGNORECASE
    ):
        return ""
    away = (number - base.weekday()) % 7
    before, coming = base - timedelta(days=7 - away), base + timedelta(days=away)
    if re.fullmatch(language.since, lead, re.IGNORECASE):
        around = _Clause(clause.rest, f"{clause.left}{lead}", clause.right, clause.sentence)
        return f"{before}" if _has_lasted(language, around) else ""
    if re.fullmatch(language.until, lead, re.IGNORECASE):
        return "" if _is_past(language, clause) and not _is_future(language, clause) else f"{coming}"
    if _is_future(language, clause):
        return f"{coming}"
    return f"{before}" if _is_past(language, clause) else ""


def _weekday_in(language: Language, words: str) -> tuple[int, str]:
    for number, name in enumerate(language.weekdays.split()):
        if found := re.search(rf"{name}\b", words):
            return number, found[0]
    return -1, ""


def _away(named: _Named, sign: int, base: date) -> str:
    """Return the day that lies a span before or behind another."""
    language = named.language
    found = re.search(_span(language), named.words)
    assert found, named.words
    words, unit = found[0].split()
    number = int(words) if words.isdigit() else _number(language, words)
    size = next(i for i, one in enumerate(language.units) if re.fullmatch(one, unit))
    days, months = ((1, 0), (7, 0), (0, 1), (0, 3), (0, _MONTHS))[size]
    year, month = divmod(base.year * _MONTHS + base.month - 1 + sign * number * months, _MONTHS)
    day = date(year, month + 1, min(base.day, monthrange(year, month + 1)[1]))
    return f"{day + timedelta(days=sign * number * days)}"


def _number(language: Language, words: str) -> int:
    return next(n for n, one in enumerate(language.numbers.split(), 1) if re.fullmatch(one, words))


def _turned(named: _Named, base: date) -> str:
    """Return the next or last weekday, week, month, quarter or year."""
    language, sign = named.language, _direction(named)
    number, name = _weekday_in(language, named.words)
    if name:
        away = (number - base.weekday()) % 7
        return f"{base + timedelta(days=(away or 7) if sign > 0 else away - 7)}"
    unit = next(i for i, one in enumerate(language.units) if i and whole(one).search(named.words))
    if unit == 1:
        return f"week of {base - timedelta(days=base.weekday()) + timedelta(weeks=sign)}"
    year, month = divmod(base.year * _MONTHS + base.month - 1 + sign * (0, 0, 1, 3, _MONTHS)[unit], _MONTHS)
    return {2: f"{year:04}-{month + 1:02}", 3: f"{year} Q{month // 3 + 1}"}.get(unit, f"{year}")
