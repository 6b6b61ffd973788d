"""How seven languages name a day from where they stand, and what in a clause tells of an event, a plan or a rule."""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, eq=False)
class Language:
    """The words of one language; all of them are alternatives of a regular expression, with a straight apostrophe.

    Attributes:
        days: words for days near today, with how far they are.
        weekdays: Monday to Sunday.
        units: the words for day, week, month, quarter and year.
        numbers: the words for one (or "a") to ten.
        ago: how a span back is said, with ``{}`` where it stands; ``ahead`` likewise.
        coming: what makes a weekday or a period the next one; ``gone`` the last one.
        after: whether these words may stand behind their noun; ``before`` whether in front of it.
        on: what stands before a plain weekday that is one day and no habit.
        until: what makes a day the end or the begin of something planned; ``since`` of something that goes on.
        past: a finite verb of what has happened.
        bare: past only where no verb of the clause is of the present.
        future: a verb of what will happen.
        we: the speakers as subject; in many languages their present tense tells plans.
        present: a finite verb of the present.
        definite: how a subject begins that is one thing, and no kind of things.
        whose: what joins a clause to a noun before it.
        rule: what makes a clause a rule, a rate or a habit; ``condition`` what makes the whole sentence one.
        never_after: what makes the words after it something else than a day.
    """

    days: dict[str, int]
    weekdays: str
    units: tuple[str, str, str, str, str]
    numbers: str
    ago: str
    ahead: str
    coming: str
    gone: str
    on: str
    until: str
    since: str
    past: str
    bare: str
    future: str
    we: str
    present: str
    definite: str
    whose: str
    rule: str
    condition: str
    never_after: str
    before: bool = True
    after: bool = True


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
        "today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1,
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
    days={"heute": 0, "gestern": -1, "vorgestern": -2, "morgen": 1, "übermorgen": 2},
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
)
_PART = r"\w+(?:é|ée|és|ées|i|is|it|u|us|ert)"
FRENCH = Language(
    days={"aujourd'hui": 0, "hier": -1, "avant-hier": -2, "demain": 1, "après-demain": 2},
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
)
SPANISH = Language(
    days={"hoy": 0, "ayer": -1, "anteayer": -2, "mañana": 1, "pasado mañana": 2},
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
)
_FATTO = r"\w+[ts][oaie]"
ITALIAN = Language(
    days={"oggi": 0, "ieri": -1, "l'altro ieri": -2, "domani": 1, "dopodomani": 2},
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
)
PORTUGUESE = Language(
    days={"hoje": 0, "ontem": -1, "anteontem": -2, "amanhã": 1, "depois de amanhã": 2},
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
)
DUTCH = Language(
    days={"vandaag": 0, "gisteren": -1, "eergisteren": -2, "morgen": 1, "overmorgen": 2},
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
)
LANGUAGES = (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH)


@cache
def whole(words: str) -> re.Pattern[str]:
    """Return the pattern of alternatives that stand as whole words."""
    return re.compile(rf"(?<![\w'-])(?:{words})(?![\w-])", re.IGNORECASE)
