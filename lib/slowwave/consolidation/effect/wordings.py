"""The wordings of rules in several languages: what is left out of them, what they are told shorter as, and their words.

A name stands as ``mention0`` and so on in a sentence by then. None of them is a whole sentence: each is one way to
oppose two things, to send one away, or to settle on one, and holds beside whatever else is said.
"""

import re

_M = r"mention\d+"
_NEVER, _USE = " never ", " use "


def _rows(*rows: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in rows)


# what people call a call
IDIOMS = _rows(
    (r"\bforce[- ]?push(?:es|ing|ed)?\b", "`git push --force`"),
    (
        (
            r"\b(?:under no circumstances|auf keinen fall|en ningún caso|en aucun cas|in nessun caso|"
            r"em hipótese alguma|in geen geval)\b"
        ),
        "never",
    ),
    (r"\bamend(?:ing|ed)?\b(?! `)(?: (?:a |the |your |my |existing )?commits?)?", "`git commit --amend`"),
    (
        (
            r"\bpush(?:ing|es)?(?: (?:directly|straight|anything|commits?|code))* (?:to|on|auf|nach|sur|into) (?:the )?"
            r"[`'\"]?(main|master|develop|production)\b[`'\"]?"
        ),
        r"`git push origin \1`",
    ),
    (r"(?<=never )rebase(?: commits)?\b|(?<=n't )rebase\b|(?<=not )rebase\b", "`git rebase`"),
)
# what a reason says of a thing is no rule about it; an exception for the person's word is kept anyhow
LEFT_OUT = _rows(
    (r"\b(?:without|ohne|sans|sin|senza) (?:it|that|them|this)\b", " "),
    (
        (
            r"\b(?:do not|don'?t|never|nie|nicht) forget(?: to)?\b|\bnicht vergessen\b|\bn'oubliez? pas(?: de)?\b"
            r"|\bno (?:te )?olvid\w+(?: de)?\b|\bnon dimentic\w+(?: di)?\b|\bnão (?:se )?esque\w+(?: de)?\b"
            r"|\bvergeet niet(?: om)?\b|\bglöm inte(?: att)?\b|\bnot (?:only|just)\b|\bnicht nur\b|\bnon solo\b"
            r"|\bpas seulement\b|\bno s[oó]lo\b|\b(?:no|ohne|sans|sin|senza) (?:exceptions?|excuses?|ausnahmen?|"
            r"excepción)\b"
            r"|\bno matter what\b"
        ),
        " ",
    ),
    (
        (
            r",?\s*\b(?:unless|except (?:if|when)|until|without|ohne|sauf si|außer|es sei denn|a menos que|salvo que|"
            r"sin|sans|senza|tenzij|zonder|sem)\b[^.;!?]*?\b(?:ask\w*|tell|told|say|says|said|permission|approv\w*|"
            r"(?:my|an?|your) ok(?:ay)?|"
            r"confirm\w*|"
            r"consent|request\w*|explicit\w*|sage|frag\w*|gefragt|rückfrage|erlaub\w*|demand\w*|accord|pregunt\w*|"
            r"permiso|"
            r"pid\w*|diga|chied\w*|chiesto|permesso|pergunt\w*|pedir|permissão|vrag\w*|toestemming)\b[^.;!?,]*"
        ),
        " ",
    ),
    (
        (
            r"\b(?:because|since|as it (?!is\b)|weil|denn|parce que?|puisqu\w*|car|porque|ya que|perch[eé]|poiché|"
            r"omdat|"
            r"eftersom|due to|thanks to|otherwise|sonst|sinon|or else)\b[^.;!?]*?(?=[.;!?]|,\s|$)"
        ),
        " ",
    ),
)
SPELLINGS = _rows(
    (rf"\(\s*({_M})\s*\)", r" \1 "),
    (r"[()\n]+", ", "),
    # what is not there is no rule
    (r"\b(?:there(?:'s| is| are| was)|has|have|had|es gibt|il n'y a|hay) (?:no|kein\w*|pas de)\b", " has "),
    # the Italian and Spanish "one does", which is no "if"
    (r"\b(?:si|se) (?=us|lanc|corr|ejecut|esegu|f[ae]|hac|deb|dev|inst|compil|prueb|test|pu)", " "),
    (r"\bn(?:e |'|\u2019)(?!faut|doi|dev|peu)(\w+) (?:plus|pas|jamais)\b", r"never \1"),
    (r"\b(?:non|no|não|niet) ((?:\w+ ){1,2}?)(?:mai|nunca|jamás|nooit)\b", r"never \1"),
    (r"\bnada de\b|\bniente\b|\bkeinerlei\b", _NEVER),
    (r"\b(?:off[- ]limits?|out of bounds|a no[- ]go)\b", "forbidden"),
    (r"\bn(?:e |')(?:faut|dois|doit|devez|peux|peut|pouvez) (?:pas|jamais|plus)\b", _NEVER),
    (r"\b(?:nichts|rien|niente|nothing)\b|(?<!\w)(?:\u0430 не|вместо|никогда не|никогда|не)(?!\w)", _NEVER),
    (r"(?<!\w)(?:используй\w*|запускай\w*)(?!\w)", _USE),
    (r"\bwant (?:(?:you|the agent|anyone|anybody|us) )?to (?:see )?", " "),
    (r"\bread[- ]only\b", "read-only"),
    # one no for several
    (
        (
            rf"\b((?:no|not|never|n't|kein\w*|nicht|nie|pas|ni|non|nunca|jamais)\b[^,.;:]*? {_M}) (?:and|und|or|oder|"
            rf"et|"
            rf"y|e) "
            rf"(?:no|not|never|kein\w*|nicht|nie|pas(?: de)?|ni|non) (?={_M})"
        ),
        r"\1 or ",
    ),
    (rf"\bkeep ((?:[\w-]+ ){{0,3}}{_M}) out of\b", r"never touch \1"),
    # one in the place of another
    (
        rf"\b(?:from|von|vom|de|da|van|från) ({_M})(?: over)? (?:to|auf|zu|nach|à|a|para|naar|till) ({_M})",
        r"use \2 never \1",
    ),
    (
        (
            rf"\b(?:replac\w*|swap\w*|ersetz\w*|remplac\w*|reemplaz\w*|sustitu\w*|sostitu\w*|substitu\w*|"
            rf"vervang\w*) ({_M}) "
            rf"(?:with|by|for|durch|mit|par|por|con|door|met|med) ({_M})"
        ),
        r"use \2 never \1",
    ),
    (
        (
            rf"({_M}) (?:\w+ ){{1,2}}(?:replaced|superseded|ersetzt|remplacé\w?|reemplazad\w|sostituit\w|substituíd\w) "
            rf"(?:with|by|durch|par|por|con|da) ({_M})"
        ),
        r"use \2 never \1",
    ),
    (
        rf"({_M}) (?:has |hat )?(?:replace[sd]|ersetzt|remplace|reemplaza|sustituye|sostituisce|substitui) ({_M})",
        r"use \1 never \2",
    ),
    (rf"\b(?:used to (?:be|use|run)(?: on| with)?|moved (?:off|away from)) ({_M})", r"never \1"),
    (rf"\b(?:rather|lieber|eher|liever|plutôt) ([^,.;:]{{0,20}}?{_M}) (?:than|als|dan|que) ({_M})", r"use \1 never \2"),
    (rf"({_M}) over (?:plain |bare )?({_M})", r"\1 never \2"),
    (
        (
            r",?\s*\b(?:instead of|rather than|in place of|as opposed to|anstelle von|anstatt|statt|au lieu d(?:e|u)|"
            r"plutôt que?|en vez de|en lugar de|antes que|invece (?:di|che)|al posto di|em vez de|ao invés de|"
            r"in plaats van|"
            r"i ?stället för|(?:and|und|et|y|e|en|och) (?:not|nicht|pas|no|non|não|niet|inte))\b"
        ),
        _NEVER,
    ),
    (
        rf"\bprefer\w* ((?:{_M}(?:,? (?:and|or) |, )?)+) to ((?:{_M}(?:,? (?:and|or) |, )?)+)",
        r"use \1 never \2",
    ),
    # sent away
    (
        (
            r"\b(?:(?:keep|stay|get) (?:your (?:hands|fingers) )?(?:out of|off|away from|clear of)|hands off(?: of)?|"
            r"steer clear of|(?:finger|hände) weg von|verzichte\w* auf|refrain\w* from|arrête[rz]? de|dej[ae]d? de|"
            r"smett\w+ (?:di|con)|pare de|évite[rz]?|evit(?:a|ar|ad|e|en|are|ate)|vermeide[nt]?|vermijd(?:en)?|"
            r"undvik)\b"
        ),
        " never touch ",
    ),
    (
        (
            rf"\b(?:quit|ditch|drop|skip|forget(?: about)?|stop)(?: \w+ing(?: for| with| to)?)?(?=(?: the| plain|"
            rf" bare)? {_M})"
        ),
        _NEVER,
    ),
    (
        (
            rf"\b(?:leave|let|lass(?:t|en)?|laisse[rz]?|deja|lascia|deixe|"
            rf"laat) ((?:[\w-]+ ){{0,3}}{_M})(?: [\w-]+){{0,2}}? "
            r"(?:alone|be|untouched|as (?:it )?is|in ruhe|unangetastet|tranquille|en paz|stare|met rust)\b"
        ),
        r"never \1",
    ),
    (r"(?<!\w)(?:nein|não|nem|inte|aldrig|proibid\w+ de|verboden om|never ever|nunca|nooit)(?!\w)", _NEVER),
    (r"\b(?:is|are|was) (?:out|history|over)\b", "is broken"),
    # settled on
    (rf"\b(?:is|are|it's|that's|ist|est|es|è|é) (?={_M} *(?:[,;.:]|$))", _USE),
    (rf"\b(?:we are|we're|this is|it's|wir sind) (?:an?|eine?) (?={_M} (?:project|shop|repo|workspace|projekt))", _USE),
    (rf"({_M}) is (?:what|the (?:one|only|right|correct|supported|official|way)|our|how)\b", r"use \1 "),
    (
        (
            r"\b((?:is|are|'s|'re|be|been|stay\w*|stick\w*|go(?:es)?|insists?|relie?s?|rely|settled?|runs?|works?|"
            r"built|managed|done|switched|switch|"
            r"moved?|"
            r"migrated?|läuft|laufen|geht|passe\w*|passé|va|corr\w+|ejecut\w*|start\w*|check\w*) (?:[\w-]+ ){0,2}?)"
            rf"(?:on|with|to|via|through|by|mit|auf|über|avec|sur|par|con|com|met|på|med|à) (?={_M})"
        ),
        r"\1use ",
    ),
    (
        (
            rf"\b(?:has|have|had|needs?|ought) to be (?={_M})|\b(?:must|should|shall) be (?={_M})|\b(?:we have|"
            rf"we've got) (?={_M})"
        ),
        _USE,
    ),
    (
        (
            r"\b(?:only|nothing but|exclusively|nur|ausschließlich|s[oó]lo|solamente|uniquement|seulement|apenas|"
            rf"somente|soltanto|alleen|endast)(?: ever| use| using| via| through| with| mit| avec| con)* (?={_M})"
        ),
        _USE,
    ),
    (
        (
            rf"({_M}) (?:only|exclusively|nur|uniquement|solo|and nothing else|or nothing|ausschließlich|"
            rf"exclusivamente)(?=\W*$|[,;.:!])"
        ),
        r"use \1",
    ),
)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


USES = _set(
    "preferimos prefiero preferisco use used using run call prefer invoke go pick choose always verwende verwenden "
    "verwendet benutze benutzen benutzt nutze nutzen nutzt nimm nehmen nehmt führe starte immer utilise utilisez "
    "utilisons utiliser lance lancez lancer exécute usa usar usad usamos usate usare ejecuta ejecutar utiliza esegui "
    "eseguire usiamo usem gebruik gebruiken gebruikt använd kör toujours siempre sempre altijd"
)
# said of a thing, it is no reason against it
GOOD = _set(
    "works work fine ok okay too also then afterwards first next runs run does do under underneath wraps calls good "
    "geht auch dann funktioniert marche aussi ensuite"
)
# said of a thing, they refuse it; in the forms that a sentence is compared in
BAD = _set(
    "dangerous gefährlich forbidden bann prohibited disallow verboten untersagt tabu taboo interdit interdite défendu "
    "prohibido prohibida vietato vietata proibido proibida verboden förbjudet banned disallowed deprecated obsolet "
    "obsolete"
)
# said beside what is chosen, they say why it is not the other one
POOR = _set(
    "rejected removed abandoned dropped retired unwanted wrong broken gone dead break fail hang crash corrupt kaputt "
    "falsch veraltet bricht cassé cassée casse rompe roto rota falla rotto quebra falha kapot breekt unsupported "
    "unmaintained crasht scheitert échoue plante slow langsam lent lento miss mess ignor lack skip lose forget pollut "
    "clobber confus outdated leak freez stuck chok fehlt macht zerstört bad"
)
# a change of a file where the verb stands last
EDITS = re.compile(r"(?:edit|chang|touch|modif|(?:ver|ge)?änder|bearbeit|anfass|anrühr|aanpass|wijzig)", re.IGNORECASE)
# what is done with files, in the forms that a sentence is compared in, and how
CHANGES = re.compile(
    r"(?:re)?(?:edit|chang|touch|modif|updat|alter|overwrit|writ|delet|remov|creat|add$|put|mess|hand|manual|direct|"
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
# of files that a program writes
MADE = _set(
    "generated auto-generated autogenerated compiled erzeugt compilé compilado derived read-only readonly vendored "
    "overwritten produced dumped überschrieben écrasé generiert généré générés generado generados generato gerado "
    "gegenereerd genererad generat built"
)
JOINS = _set("or nor and oder noch und ou ni et o u y e of en eller och + & either")
POINTS_BACK = _set(
    "there dort là allí ahí it them that this these those one es ihn sie das dies diese le la les lo los las li ça "
    "cela het ze den dem dit by nobody anybody anyone hand"
)
ELSE = _set("else other others anything sonst anders andere otro otra autre altro outro")
# function words of the languages that are read: something holds only then
ORDERS = _set("before bevor ehe vor avant antes prima")
FOLLOWS = _set(
    "after when whenever once nach wenn sobald après dès después tras cuando dopo quando afterwards danach "
    "anschließend ensuite"
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
