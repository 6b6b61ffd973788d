"""What a person asks to be remembered, or takes back, in so many words and many languages.

"Remember that ...", "from now on ..." begin what is meant for good; it may be worded in any way, so that a classifier
says little of it. "Forget what I said about tabs", "the Friday rule no longer applies" take a rule back.

A rule that is taken back names what it is about; consolidation looks for what that fits (:mod:`slowwave.consolidation`
``.refusals``). What names nothing ("scrap that") or only the moment ("ignore it for now") takes nothing back.
"""

# ruff: noqa: E501, ISC004, RUF001 - patterns of many languages

import re
from functools import cache

from slowwave.memory.search import named

# The patterns, by language.
#
# ``RULES`` take a rule back and say nothing else; ``HABITS`` say what is not done any more, which is worth knowing by
# itself. Both stand at the beginning of a clause, with ``<T>`` for what they name. ``FOR_GOOD`` begins a sentence whose
# rest is to be remembered.

_FORGET = r"(?:forget(?: about)?|disregard|scrap|scratch|never ?mind|revoke|unlearn|strike|ignore|cancel|drop|discard)"
# verbs that people also use of code ("drop the index rule") need an owner
_SURELY = r"(?:forget(?: about)?|disregard|scrap|scratch|never ?mind|revoke|unlearn)"
_EARLIER = r"(?:old|earlier|previous|prior|former|last|first|original)"
_OWN = rf"(?:(?:my|our)(?: own)?(?: {_EARLIER})?|(?:the|that) {_EARLIER})"
# people also take rules out of files with these, so what they name has to be the person's own, and in no file
_UNDO = (
    r"(?!.*\b(?:from|in|out of|inside) (?:(?:the|our|my) )?(?:[\w/-]*\.\w{2,10}\b|(?:[\w./-]+ ){0,2}(?:config\w*|files?|linter"
    r"|settings|docs?|documentation|readme|code ?base|code|repo\w*|page|schema|table|module)\b))"
    r"(?:remove|delete|undo|lift|withdraw|retract|override|stop (?:following|applying|obeying))"
)
_GAVE = r"(?:that )?(?:i|we)(?:['\u2019](?:d|ve)| had| have)? (?:just )?(?:gave|given|told|set|made|stated)(?: you)?(?: \w+){0,3}?"
_RULE = (
    r"(?:rule|convention|polic(?:y|ie)|preference|instruction|guideline|requirement|restriction|decision|constraint|"
    r"request|thing|stuff)s?"
)
_ABOUT = r"(?:about|on|regarding|concerning|re|with|for|against|that|to|of)"
_SAID = (
    r"(?:what(?:ever)?|everything|anything|all)(?: that)? (?:i|we)(?:['\u2019](?:d|ve)| had| have)?(?: just| once| ever)? "
    r"(?:said|told you|wrote|asked(?: you)?(?: for)?|mentioned|wanted|decided|agreed|noted)(?: \w+){0,3}?"
)
_OVER = (
    r"(?:no longer applies|no longer (?:holds|counts|stands)|(?:does(?: not|n['\u2019]?t) (?:apply|hold|count)"
    r"|(?:is|are)(?: not|n['\u2019]?t) (?:valid|needed|in force)) any ?(?:more|longer)"
    r"|(?:is|are) (?:gone|off(?: the table)?|dead|history|void|lifted|dropped|obsolete"
    r"|no longer (?:valid|in force|needed|relevant|a thing))|can (?:go|be (?:forgotten|ignored|dropped))"
    r"|was a mistake)"
)

RULES: tuple[str, ...] = (
    # English
    rf"{_FORGET} {_SAID} (?:about|on|regarding|concerning|re|with) (?:the |my |our )?<T>",
    rf"(?:{_SURELY} (?:the|my|our|that|this)(?: old| earlier| previous)?|{_FORGET} {_OWN}) <T> {_RULE}",
    rf"(?:{_SURELY} (?:the|my|our|that|this)(?: old| earlier| previous)?|{_FORGET} {_OWN}) {_RULE} {_ABOUT} <T>",
    rf"{_FORGET} (?:the|that) {_RULE} {_GAVE} {_ABOUT} <T>",
    rf"{_FORGET} (?:the|that) {_RULE} {_ABOUT} <T> {_GAVE}",
    rf"{_UNDO} (?:my|our)(?: own)? {_EARLIER} {_RULE} {_ABOUT} <T>",
    rf"{_UNDO} (?:my|our)(?: own)? {_EARLIER} <T> {_RULE}",
    rf"{_UNDO} my {_RULE} {_ABOUT} <T>",
    rf"{_UNDO} (?:the|that) {_RULE} {_GAVE} {_ABOUT} <T>",
    rf"{_UNDO} (?:the|that) {_RULE} {_ABOUT} <T> {_GAVE}",
    rf"(?:do(?: not|n['\u2019]?t) (?:follow|apply|obey)(?=.*\bany ?(?:more|longer)\b)|no longer (?:follow|apply|obey)) "
    rf"{_OWN} {_RULE} {_ABOUT} <T>",
    rf"{_SURELY} my {_EARLIER} (?:remark|comment|note|statement|message)s? {_ABOUT} <T>",
    rf"(?:the|my|our|that)(?: {_EARLIER})? <T> {_RULE} {_OVER}",
    rf"(?:the|my|our|that)(?: {_EARLIER})? {_RULE} {_ABOUT} <T> {_OVER}",
    rf"what (?:i|we) said about <T> {_OVER}",
    r"(?:i|we) take (?:it )?back (?:(?:what|everything) (?:i|we) said (?:about|on|regarding) )?"
    rf"(?:(?:the|my|our) (?:{_EARLIER} )?(?:{_RULE} {_ABOUT} )?)?<T>",
    r"(?:i|we)(?:['\u2019]ve| have)? changed (?:my|our) minds? (?:about|on|regarding) (?:the |my |our )?<T>",
    r"you (?:no longer (?:have|need) to|(?:do(?: not|n['\u2019]?t) (?:have|need) to|need ?n['\u2019]?t)(?=.*\bany ?more\b)) <T>",
    r"(?:there(?:['\u2019]s| is) )?no (?:more |longer (?:any )?)need to <T>",
    r"<T> (?:is|are) (?:(?:allowed|permitted|welcome) (?:again|now|after all)|(?:fine|ok|okay) after all)",
    # German
    r"(?:vergiss|vergesst|ignorier(?:e|t)?|streich(?:e|t)?|verwirf)(?: bitte| einfach)*,? (?:alles,? )?was ich"
    r"(?: dir| euch)?(?: \w+)? (?:über|zu|zum|zur|von|wegen|bezüglich) (?:den |die |das |der |dem )?<T> "
    r"(?:gesagt|geschrieben|gemeint|erzählt)(?: habe| hatte)?",
    r"(?:vergiss|vergesst|ignorier(?:e|t)?|streich(?:e|t)?|verwirf)(?: bitte| einfach)* (?:das|die sache|(?:die|meine|unsere)"
    r"(?: (?:frühere|alte|vorherige|letzte|vorige))? (?:regel|vorgabe|anweisung|bitte)) (?:mit|zu|zum|zur|über|für|von|bezüglich|wegen) (?:den |die |das |der |dem )?<T>",
    r"(?:vergiss|vergesst|ignorier(?:e|t)?|streich(?:e|t)?|verwirf)(?: bitte| einfach)* (?:die|meine|unsere) <T>-?"
    r"(?:regel|vorgabe|konvention)",
    r"(?:die|meine|unsere) <T>-?(?:regel|vorgabe|konvention) (?:gilt (?:ab jetzt )?nicht mehr|ist hinfällig"
    r"|ist vom tisch|hat sich erledigt|kannst du vergessen|entfällt)",
    r"(?:das|die regel|die sache) (?:mit|zu|über) (?:den |die |das |der |dem )?<T> (?:gilt (?:ab jetzt )?nicht mehr"
    r"|ist hinfällig|ist vom tisch|hat sich erledigt|kannst du vergessen|entfällt)",
    # French
    r"(?:oublie[sz]?|ignore[sz]?|laisse[sz]? tomber) (?:tout )?(?:ce que j['\u2019]ai dit (?:sur|à propos d\w*|au sujet d\w*"
    r"|concernant)|(?:la|ma|notre)(?: (?:vieille|ancienne))? (?:règle|consigne)(?: précédente)? (?:sur|de|du|des|concernant|à propos d\w*)|l['\u2019]histoire d\w+) "
    r"?(?:['\u2019]|les? |la |l['\u2019])?<T>",
    r"la règle (?:sur|de|du|des|concernant|à propos de) (?:les? |la |l['\u2019])?<T> (?:ne s['\u2019]applique plus"
    r"|n['\u2019]est plus (?:valable|valide)|ne vaut plus|tombe)",
    # Spanish
    r"(?:olvida(?:te)?(?: de)?|ignora) (?:todo )?(?:lo que (?:te )?(?:dije|he dicho) (?:sobre|acerca de|de|del)"
    r"|(?:la|mi|nuestra)(?: antigua)? (?:regla|instrucción)(?: anterior)? (?:de|del|sobre)|lo del?) (?:los? |las? |el )?<T>",
    r"la regla (?:de|del|sobre) (?:los? |las? |el )?<T> ya no (?:se )?(?:aplica|vale|cuenta)",
    # Portuguese
    r"(?:esque[çc][ae]|ignore|deixa (?:pra|para) lá) (?:tudo )?(?:o que (?:eu )?(?:disse|falei) (?:sobre|d[aeo]s?)"
    r"|a regra (?:d[aeo]s?|sobre)) (?:[oa]s? )?<T>",
    r"a regra (?:d[aeo]s?|sobre) (?:[oa]s? )?<T> (?:não (?:vale|se aplica) mais|já não (?:vale|se aplica))",
    # Italian
    r"(?:dimentica|ignora|lascia perdere|scordati(?: di)?) (?:tutto )?(?:quello che ho detto (?:su\w*|di|del\w*)"
    r"|la regola (?:su\w*|di|de\w*)) (?:il |lo |la |i |gli |le |l['\u2019])?<T>",
    r"la regola (?:su\w*|di|de\w*) <T> non (?:vale|si applica|conta) più",
    # Dutch
    r"vergeet (?:maar )?(?:alles )?wat ik (?:over|van) (?:de |het )?<T> (?:heb gezegd|gezegd heb|zei)",
    r"vergeet (?:maar )?(?:(?:de|mijn) regels? (?:over|van|voor)|wat ik zei over|dat van) (?:de |het )?<T>",
    r"vergeet (?:maar )?(?:de|mijn) <T>-?regel",
    r"de <T>-?regel (?:geldt niet meer|vervalt)",
    # Swedish
    r"glöm (?:allt )?(?:det (?:som )?jag sa|vad jag sa|regeln) om <T>",
    r"regeln om <T> gäller inte (?:längre|mer)",
    # Polish
    r"zapomnij,? (?:o tym,? )?co (?:mówił[ae]m|powiedział[ae]m) o <T>",
    r"zapomnij o (?:zasadzie|regule)(?: (?:o|dotyczącej|z|dla))? <T>",
    r"zasada(?: (?:o|dotycząca))? <T> już nie obowiązuje",
    # Russian
    r"забудь(?:те)?,? (?:вс[её],? |о том,? )?что я (?:говорил|сказал)а? (?:об?|про|насч[её]т) <T>",
    r"забудь(?:те)? (?:про )?правило (?:про|об?|насч[её]т) <T>",
    r"правило (?:про|об?|насч[её]т) <T> больше не (?:действует|нужно)",
    # Turkish
    r"<T> (?:hakkında|konusunda|ile ilgili) (?:söyledi\w+|dedi\w+) (?:unut|boş ?ver|geçersiz)\w*",
    r"<T> kural\w+ (?:unut|boş ?ver|artık geçerli değil|kalktı)\w*",
    # Chinese, Japanese, Korean
    r"(?:请)?(?:忘记|忘掉|忘了|别管|不用管|取消|作废)我?(?:之前|以前|上次|刚才)?(?:说过?的|提过?的)?(?:关于)?<T>的?"
    r"(?:规则|规定|要求|约定|那条|事情|事|话)",
    r"(?:之前)?(?:关于)?<T>的?(?:规则|规定|要求|约定|那条)(?:作废|取消|不再适用|不用了|不算了)",
    r"(?:以前|前に)?<T>(?:について|に関して|のことで)(?:言った|話した|の)(?:こと|話|ルール)は(?:忘れて|無視して|なし|取り消し)",
    r"<T>の(?:ルール|規則|決まり)(?:は|を)(?:もう)?(?:忘れて|なし|撤回|取り消|無視|廃止|無効)",
    r"<T>(?:에 대해|에 관해|에 대한)? ?(?:말한|했던|말했던)? ?(?:것|규칙|말)(?:은|는|을)? ?(?:잊어|무시|취소)\w*",
)

HABITS: tuple[str, ...] = (
    r"(?:we|i) (?:no longer|(?:do(?: not|n['\u2019]?t)|wo(?:n['\u2019]?t)|are(?: not|n['\u2019]t)"
    r"|will not)(?=.*\bany ?(?:more|longer)\b)) (?:ever |really )?<T>",
    r"we(?:['\u2019]re| are)(?: no longer| not(?=.*\bany ?(?:more|longer)\b)) <T>",
    r"we(?:['\u2019]ve| have)? (?:stopped|quit|given up(?: on)?|gave up(?: on)?|got(?:ten)? rid of|moved away from"
    r"|abandoned) <T>",
    r"wir \w+ (?:jetzt )?(?:den |die |das |kein\w* )?<T> (?:nicht )?mehr",
    r"(?:on|nous) (?:n['\u2019]|ne )\w+ plus (?:de |d['\u2019]|les? |la )?<T>",
    r"ya no (?:\w+[aei]mos|se \w+) <T>",
    r"(?:já )?não \w+[aei]mos (?:mais )?<T> ?(?:mais)?",
    r"non \w+iamo più <T>",
    r"(?:we|wij) \w+ (?:geen )?<T> (?:niet )?meer",
    r"vi \w+ inte (?:längre )?<T>(?: längre)?",
    r"już nie \w+my <T>",
    r"(?:мы )?больше не \w+ем <T>",
    r"artık <T> (?:kullanmıyoruz|yapmıyoruz|istemiyoruz)",
    r"(?:我们)?(?:不再|已经不)(?:使用|用|做)?<T>",
    r"もう<T>(?:は|を)?(?:使わない|使いません|使っていません|しません)",
    r"더 ?이상 <T>(?:을|를|은|는)? (?:사용하|쓰)지 않\w*",
)

FOR_GOOD: tuple[str, ...] = (
    # English; "remember to close the bracket", "remember the bug" and "remember when" are of the moment
    r"remember(?:,|:| that\b| (?=(?:we|i|our|my|all|every|it|they|there|no|never|always|don['\u2019]?t)\b))",
    r"(?:keep|bear) in mind\b(?: for later)?(?:,|:| that\b)?",
    r"don['\u2019]?t forget(?:,|:)? that\b",
    r"for (?:the record|future reference)\b",
    r"(?:from (?:now|here) on|going forward|henceforth|from this point on)\b",
    # German, Dutch
    r"(?:merk dir|denk daran|behalte? im kopf|vergiss nicht)(?:,|:)?(?: dass\b)?",
    r"(?:ab (?:jetzt|sofort)|von jetzt an|künftig|zukünftig|in zukunft)\b",
    r"(?:onthoud|vergeet niet|denk eraan)(?:,|:)?(?: dat\b)?",
    r"(?:vanaf (?:nu|heden)|voortaan)\b",
    # French, Spanish, Italian, Portuguese
    r"(?:rappelle-toi|souviens-toi|retiens|n['\u2019]oublie pas|garde en tête)(?:,|:)?(?: qu(?:e\b|['\u2019]))?",
    r"(?:à partir de maintenant|désormais|dorénavant|à l['\u2019]avenir)\b",
    r"(?:recuerda|acuérdate(?: de)?|ten en cuenta|no olvides)(?:,|:)?(?: que\b)?",
    r"(?:a partir de ahora|de ahora en adelante|en adelante)\b",
    r"(?:ricorda(?:ti)?|tieni (?:presente|a mente)|non dimenticare)(?:,|:)?(?: che\b)?",
    r"(?:d['\u2019]ora in (?:poi|avanti)|da ora in poi)\b",
    r"(?:lembr[ae](?:-se)?(?: de)?|guarda aí|não (?:se )?esqueç?[ae](?: de)?)(?:,|:)?(?: que\b)?",
    r"(?:a partir de agora|daqui (?:pra|para) (?:a )?frente|de agora em diante)\b",
    # Polish, Russian, Turkish
    r"(?:zapamiętaj|pamiętaj|miej na uwadze)(?:,|:)?(?: że\b)?",
    r"(?:od teraz|od tej pory|odtąd)\b",
    r"(?:запомни(?:те)?|помни(?:те)?|имей(?:те)? в виду|не забудь(?:те)?)(?:,|:)?(?: что\b)?",
    r"(?:с этого момента|отныне|впредь)\b",
    r"(?:unutma|aklında (?:olsun|tut)|şunu hatırla)(?:,|:)?",
    r"(?:bundan (?:sonra|böyle)|şu andan itibaren)\b",
    # Japanese, Chinese, Korean
    r"(?:今後は?|これからは|以降は)、?",
    r"(?:请|請)?(?:记住|記住|记得|从现在起|從現在起|今后|今後|以后|以後)[,，:：]?",
    r"(?:앞으로(?:는)?|이제부터(?:는)?|기억해[,:]?)",
)


_BEGINS = (
    r"(?:^|[,;:\u2013—-]\s*|[.!?。！]\s*|\b(?:and|but|so|then|und|et|y|e|en)\s+)(?:(?:can|could|would) you |you can |you may "
    r"|let['\u2019]?s |i want you to |we (?:can|should) |from now on,? |please |just |now |bitte |por favor,? |s['\u2019]il te plaît,? )*"
)
_THING = r"(?P<thing>[^,;:!?()。，！？\n]{2,100}?)"
_ENDS = r"(?=\s*(?:$|[,;:!?()。，！？.]|\s[\u2013—-]\s)|\s+(?:because|since|as|so|and|but|from now|any ?more|any longer|please|again)\b|了$|[。了]|ください|[ね]?$)"
# "maybe forget that rule" takes nothing back yet
_GUESSES = re.compile(r"\b(?:maybe|perhaps|i (?:think|guess|wonder)|might|not sure|what if)\b", re.IGNORECASE)
_ASKED = ("can you", "could you", "would you")
_FOR_NOW = re.compile(
    r"\b(?:for (?:now|this|today|the moment)|this (?:time|once|commit|pr|task|one|branch|file|session)|just (?:here|once)"
    r"|right now|today|tonight|yet|diesmal|heute|cette fois|esta vez|desta vez|stavolta|deze keer)\b|这次|今回",
    re.IGNORECASE,
)

_ADDRESSED = (
    r"^[\s\W_]*(?:(?:please|pls|also|and|btw|oh|ok(?:ay)?|so|hey|bitte|und|por favor|s['\u2019]il te plaît|per favore|proszę"
    r"|пожалуйста|lütfen)[,:]? +)*"
)
_GOES_ON = r"(?:[,:;\u2013\u2014-]+\s*|\s+|(?<=[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3、，：]))(?P<rest>\S.*)$"
_QUESTION = ("?", "\uff1f")


# only where somebody said something: to make them ready takes longer than a night with nothing to do has
@cache
def _all(forms: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    every = (form.replace("<T>", _THING) for form in forms)
    return tuple(re.compile(f"{_BEGINS}{form}{_ENDS}", re.IGNORECASE) for form in every)


@cache
def _for_good() -> re.Pattern[str]:
    return re.compile(f"{_ADDRESSED}(?:{'|'.join(FOR_GOOD)}){_GOES_ON}", re.IGNORECASE | re.DOTALL)


def for_good(text: str) -> str:
    """Return what a sentence asks to be remembered, in its words, "" where it does not ask for that."""
    found = None if text.rstrip()[-1:] in _QUESTION or _FOR_NOW.search(text) else _for_good().match(text)
    return " ".join(found["rest"].split()) if found else ""


def taken_back(text: str) -> str:
    """Return what a sentence takes back, in its words, "" where it takes nothing back."""
    asks = text.rstrip()[-1:] in _QUESTION and not text.lower().startswith(_ASKED)
    return "" if asks or _GUESSES.search(text) or _FOR_NOW.search(text) else _thing(text, _all(RULES))


def not_any_more(text: str) -> str:
    """Return the words for what a sentence says is not done any more, "" where it says nothing of the kind."""
    return _thing(text, _all(HABITS))


def _thing(text: str, forms: tuple[re.Pattern[str], ...]) -> str:
    for form in forms:
        found = form.search(text)
        if found and named(found["thing"]):
            return " ".join(found["thing"].split())
    return ""
