"""The words by which rules show themselves, one table for every language: data for the grammar in ``languages.py``.

Each entry is a pattern for words or short phrases. ``common`` are function words, by which a language is recognised.
"""

# ruff: noqa: E501, RUF001 - words of many languages

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """How a language says that something shall always or never be so.

    Attributes:
        name: ISO 639-1 code.
        common: function words.
        always: what makes an order one for every time.
        never: what forbids for every time.
        future: "from now on".
        remember: asks to keep something in mind.
        must: obligations that are not the speaker's own.
        dont: how a prohibition begins.
        no: how a noun is ruled out at the beginning: "no new dependencies".
        rather: "instead of"; what stands behind it is refused.
        but_not: the "not" of "A, not B".
        prefer: what the speaker likes better.
        we: how the speakers say what they do as a team.
        here: what a rule is said to hold for.
        lapse: what makes it a report, a fault or a matter of the moment.
    """

    name: str
    common: str
    always: str
    never: str
    future: str
    remember: str
    must: str
    dont: str
    no: str
    rather: str
    but_not: str
    prefer: str
    we: str
    here: str
    lapse: str


ENGLISH = (
    "the a an is are was be to of and or not don't do does i you we it this that for with in on at by from always never "
    "please use when if so as but my your our all no should must can will have has"
)

LANGUAGES: tuple[Language, ...] = (
    Language(
        "de",
        "der die das den dem des ein eine einen und oder nicht kein keine ist sind wir ich du mir mich bitte für von zu auf mit im immer nie auch noch so wenn dann aber ab jetzt nur wie bei unsere alle nein verwenden benutzen nutzen man sie es wird sonst",
        "immer|stets|grundsätzlich|jedes mal|jedesmal|überall|generell|ausnahmslos",
        "nie|niemals|auf keinen fall|unter keinen umständen",
        "ab jetzt|ab sofort|von nun an|in zukunft|künftig|zukünftig|ab heute",
        "merk dir|merke dir|bitte merken|denk (?:bitte )?daran|nicht vergessen|vergiss nicht|zur erinnerung|wichtig:|regel:",
        "muss|müssen|soll(?:en)?|darf nicht|dürfen nicht|darf kein\\w*|dürfen keine|gehören? (?:in|nach|zu)",
        "(?:bitte )?(?:nicht|niemals) \\w+|\\w+ (?:bitte )?(?:nicht|keine[nr]?)",
        "(?:bitte )?keine[nr]? [\\w-]+(?: [\\w-]+)* (?:in|im|ohne|auf|bei|für|mehr|bitte)",
        "statt|anstatt|anstelle von|lieber als",
        "nicht",
        "ich (?:bevorzuge|mag lieber|hätte (?:lieber|gern)|möchte (?:immer|keine|nie))|am liebsten",
        "wir (?:\\w+ )?(?:verwenden|benutzen|nutzen|nehmen|schreiben|formatieren|nennen|testen|deployen|releasen|arbeiten (?:mit|nach|auf)|duzen|siezen|loggen|setzen auf|halten uns|mergen|bauen|speichern)",
        "im ganzen projekt|für das ganze projekt|in diesem (?:repo|projekt)|projektweit|bei uns|in unserem (?:repo|projekt|team)",
        "immer noch|noch nie|schlägt|fehl|kaputt|funktioniert|geht nicht|klappt|abgestürzt|hängt|gerade|heute|diesmal|vorerst|ich muss|so wichtig|habe|hatte|war|warum|wieso|fehler|nochmal",
    ),
    Language(
        "fr",
        "le la les un une des du de et ou ne pas est sont on nous je tu vous il elle dans pour avec sur en au aux que qui à ce cette toujours jamais plus chez mes s'il te plaît doit être mais",
        "toujours|systématiquement|à chaque fois|partout|chaque fois",
        "jamais|en aucun cas",
        "à partir de maintenant|dorénavant|désormais|à l['’]avenir|dès maintenant",
        "souviens-toi|rappelle-toi|retiens|n['’]oublie pas|garde en tête|note bien|pour info|important :|règle :",
        "doit|doivent|il faut|ne (?:doit|doivent|peut|peuvent) pas|faut (?:pas|toujours)",
        "(?:s['’]il te plaît,? )?(?:ne|n['’]) ?\\w+ (?:pas|jamais)|évite\\w*",
        "(?:s['’]il te plaît,? )?(?:pas|plus|aucun\\w*) (?:de |d['’])?[\\w-]+(?: [\\w-]+)* (?:dans|sans|sur|pour|ici|partout)",
        "au lieu d[eu]|plutôt que|à la place d[eu]",
        "pas",
        "je préfère|je préfèrerais|j['’]aimerais (?:toujours|que)",
        "(?:on|nous) (?:\\w+ )?(?:utilis\\w+|écri\\w+|travaill\\w+|format\\w+|appell?\\w+|nomm\\w+|test\\w+|déploi\\w+|emplo\\w+|pass\\w+ par|stock\\w+|log\\w+)",
        "dans (?:ce|tout le) (?:projet|dépôt|repo|code)|chez nous|dans l['’]équipe",
        "toujours pas|marche|fonctionne|échou\\w*|plant\\w*|cass\\w*|erreur|aujourd['’]hui|pour l['’]instant|cette fois|pas maintenant|vu|pourquoi|je dois|encore",
    ),
    Language(
        "es",
        "el la los las un una unos de del y o no es son en con por para que se lo al su mi tu nos más siempre nunca favor usamos utilizamos prefiero esta este estos pero como hay",
        "siempre|en todos los casos|cada vez|en todas partes|sistemáticamente",
        "nunca|jamás|en ningún caso|bajo ningún concepto",
        "a partir de ahora|de ahora en adelante|en adelante|desde ahora|en el futuro",
        "recuerda|recuérdalo|acuérdate|ten en cuenta|no olvides|apunta|importante:|regla:",
        "debe|deben|tiene que|tienen que|hay que|no (?:debe|deben|puede|pueden)",
        "(?:por favor,? )?no (?!está|hay|es\\b|sé|funciona|veo|entiendo|puedo|tengo|me\\b|lo\\b|se\\b|te\\b)\\w+(?:es|as|a|e|éis)\\b|evita",
        "(?:por favor,? )?(?:nada de|sin|ningún|ninguna) [\\w-]+(?: [\\w-]+)* (?:en|sin|por favor)",
        "en vez de|en lugar de|antes que",
        "no",
        "prefiero|preferiría|me gusta (?:más|que)",
        "(?:nosotros )?(?:usamos|utilizamos|escribimos|trabajamos|formateamos|llamamos|probamos|desplegamos|guardamos|empleamos)",
        "en (?:este|todo el) (?:proyecto|repo|repositorio|código)|en nuestro equipo|aquí",
        "falla|fallan|roto|funciona|error|todavía|hoy|ahora mismo|por ahora|esta vez|he visto|por qué|tengo que|otra vez",
    ),
    Language(
        "pt",
        "o os as um uma uns de do da dos das e ou não é são em no na nos nas com por para que se ao seu meu nós mais sempre nunca favor usamos utilizamos prefiro esta este mas como antes",
        "sempre|em todos os casos|toda vez|em todo lugar",
        "nunca|jamais|em hipótese alguma|de jeito nenhum",
        "a partir de agora|de agora em diante|daqui (?:em|para a|pra) (?:diante|frente)|no futuro",
        "lembre-se|lembra(?:-te)? (?:que|de)|não (?:se )?esqueça|anota|tenha em mente|importante:|regra:",
        "deve|devem|tem que|têm que|tem de|têm de|é preciso|não (?:deve|devem|pode|podem)",
        "(?:por favor,? )?não (?!está|há|é\\b|sei|funciona|vejo|entendo|posso|tenho|me\\b|se\\b)\\w+(?:e|a|es|as|em)\\b|evite",
        "(?:por favor,? )?(?:nada de|sem|nenhum|nenhuma) [\\w-]+(?: [\\w-]+)* (?:em|n[oa]s?|por favor)",
        "em vez de|ao invés de|em lugar de",
        "não|e não",
        "prefiro|preferiria|gosto mais",
        "(?:nós |a gente )?(?:usamos|utilizamos|escrevemos|trabalhamos|formatamos|chamamos|testamos|guardamos|usa)",
        "neste (?:projeto|repo|repositório)|no projeto (?:todo|inteiro)|no nosso time|aqui",
        "falha|falham|quebrad\\w*|funciona|erro|ainda|hoje|agora mesmo|por enquanto|desta vez|dessa vez|por que|tenho que",
    ),
    Language(
        "it",
        "il lo la i gli le un uno una di del della dei delle e o non è sono in con per che si nel nella nei al noi mi ti più sempre mai favore usiamo preferisco questo questa ma come prima ogni da su",
        "sempre|in ogni caso|ogni volta|ovunque|dappertutto",
        "mai|in nessun caso",
        "d['’]ora in poi|da ora in poi|d['’]ora in avanti|in futuro|da adesso",
        "ricorda(?:ti)?|non dimenticare|tieni (?:a mente|presente)|segnati|importante:|regola:",
        "deve|devono|bisogna|va (?:sempre )?\\w+to|vanno|non (?:deve|devono|può|possono)",
        "(?:per favore,? )?non (?!è\\b|so\\b|va\\b|funziona|vedo|capisco|posso|ho\\b|c['’]è|ci\\b|si\\b)\\w+(?:are|ere|ire|arlo|erlo)\\b|evita",
        "(?:per favore,? )?(?:niente|nessun\\w*|senza|basta) [\\w-]+(?: [\\w-]+)* (?:in|nei|nel|nella|nelle|negli|per favore)",
        "invece (?:di|che)|al posto di|piuttosto che",
        "non",
        "preferisco|preferirei|mi piace (?:di più|che)",
        "(?:noi )?(?:usiamo|utilizziamo|scriviamo|lavoriamo|formattiamo|chiamiamo|testiamo|salviamo)",
        "in (?:questo|tutto il) (?:progetto|repo|codice)|da noi|nel nostro team|qui",
        "fallisce|rotto|funziona|errore|ancora|oggi|adesso|per ora|questa volta|perché|devo",
    ),
    Language(
        "nl",
        "de het een en of niet geen is zijn wij we ik je jij mij voor van te op met in bij altijd nooit ook nog als dan maar wel onze alle die dat dit aan",
        "altijd|telkens|elke keer|overal|steeds",
        "nooit|onder geen beding|in geen geval",
        "vanaf nu|voortaan|van nu af aan|in het vervolg|in de toekomst",
        "onthoud|vergeet niet|denk eraan|let op:|belangrijk:|regel:",
        "moet|moeten|mag niet|mogen niet|mag geen|mogen geen|hoort? in",
        "(?:graag |alsjeblieft )?niet \\w+en|\\w+ (?:alsjeblieft )?(?:niet|geen)",
        "(?:alsjeblieft )?geen [\\w-]+(?: [\\w-]+)* (?:in|zonder|op|bij|voor|meer|graag)",
        "in plaats van|liever dan",
        "niet|geen",
        "ik (?:heb liever|geef de voorkeur|wil (?:altijd|geen|nooit))|liefst",
        "(?:wij|we) (?:\\w+ )?(?:gebruiken|schrijven|werken|formatteren|noemen|testen|deployen|loggen|bewaren)",
        "in dit (?:project|repo)|in het hele project|bij ons|in ons team",
        "altijd nog|nog niet|kapot|werkt|faalt|fout|vandaag|voorlopig|deze keer|waarom|ik moet|gisteren",
    ),
    Language(
        "sv",
        "och eller inte ingen inga är en ett den det de vi jag du mig för av till på med i alltid aldrig också om när men tack våra alla som att svara från",
        "alltid|varje gång|överallt|jämt",
        "aldrig|under inga omständigheter",
        "från och med nu|hädanefter|framöver|i fortsättningen|i framtiden",
        "kom ihåg|glöm inte|tänk på|viktigt:|regel:",
        "måste|ska(?:ll)?|får inte|bör",
        "(?:snälla )?\\w+ inte|undvik",
        "(?:snälla )?(?:inga|ingen|inget) [\\w-]+(?: [\\w-]+)* (?:i|på|utan|tack)",
        "i stället för|istället för|hellre än",
        "inte",
        "jag (?:föredrar|vill (?:alltid|inte|aldrig))|helst",
        "vi (?:\\w+ )?(?:använder|skriver|jobbar|formaterar|kallar|testar|deployar|loggar|sparar|kör)",
        "i (?:det här|hela) (?:projektet|repot)|hos oss|i vårt team",
        "fortfarande|trasig|funkar|fungerar|fel|idag|just nu|den här gången|varför|jag måste|kraschar",
    ),
    Language(
        "pl",
        "i lub nie jest są w we na z do dla od po za my ja ty mnie mi się to ten ta te że jak zawsze nigdy też ale proszę przed bez u nas używaj używamy odpowiadaj pisz",
        "zawsze|za każdym razem|wszędzie",
        "nigdy|pod żadnym pozorem",
        "od teraz|od tej pory|od dziś|na przyszłość|w przyszłości",
        "pamiętaj|zapamiętaj|nie zapomnij|ważne:|zasada:",
        "musi|muszą|należy|trzeba|powin\\w+|nie (?:może|mogą|wolno)",
        "(?:proszę )?nie (?!działa|wiem|jest|ma\\b|widzę|mogę|rozumiem)\\w+(?:j|uj|aj|ij|yj|wać|ać|ić|rób|pisz|dodawaj)\\b|unikaj",
        "(?:proszę )?(?:żadnych|bez|żadnego) [\\w-]+(?: [\\w-]+)* (?:w|na|proszę|bez)",
        "zamiast",
        "nie|a nie",
        "wolę|wolałbym|wolałabym|preferuję",
        "(?:my )?(?:używamy|stosujemy|piszemy|nazywamy|testujemy|formatujemy|pracujemy|logujemy)",
        "w (?:tym|całym) (?:projekcie|repo|repozytorium)|u nas|w naszym zespole",
        "działa|błąd|zepsut\\w*|nadal|dzisiaj|na razie|tym razem|dlaczego|muszę",
    ),
    Language(
        "ru",
        "и или не в на с из для по от до за мы я ты мне это этот эта эти что как всегда никогда тоже но пожалуйста без перед все у нас отвечай пиши",
        "всегда|каждый раз|везде|постоянно",
        "никогда|ни в коем случае|ни при каких",
        "отныне|с этого момента|с этого дня|впредь|в будущем|теперь всегда|с сегодняшнего дня",
        "запомни(?:те)?|помни(?:те)?|не забудь(?:те)?|не забывай(?:те)?|имей в виду|важно:|правило:",
        "долж\\w+|нужно|надо|следует|нельзя|необходимо",
        "(?:пожалуйста,? )?не (?!работает|знаю|могу|вижу|понимаю|было|хочу)\\w+(?:й|йте|ь|ьте|и|ите)\\b|избегай\\w*",
        "(?:пожалуйста,? )?(?:никаких|без) [\\w-]+(?: [\\w-]+)* (?:в|на|без|пожалуйста)",
        "вместо|а не",
        "не|а не",
        "(?:я )?предпочитаю|мне больше нравится|лучше",
        "(?:мы )?(?:используем|пишем|применяем|называем|тестируем|форматируем|храним|логируем|работаем)",
        "в (?:этом|всём|всем) (?:проекте|репозитории)|у нас|в нашей команде",
        "работает|ошибка|сломан\\w*|падает|сегодня|сейчас|пока|в этот раз|почему|мне надо|до сих пор",
    ),
    Language(
        "tr",
        "ve veya değil bir bu şu için ile de da her zaman asla hiç ben sen biz bana lütfen ama gibi önce sonra olarak kullan cevap yaz bundan",
        "her zaman|daima|hep|her seferinde|her yerde",
        "asla|hiçbir zaman|kesinlikle (?=.*m[ae]\\b)",
        "bundan sonra|bundan böyle|şu andan itibaren|artık|gelecekte",
        "unutma|aklında (?:tut|bulunsun)|hatırla|önemli:|kural:",
        "gerek(?:ir|iyor)|zorunda\\w*|lazım|şart|olmalı\\w*|m[ae]mel\\w+|m[ae]l[ıi]\\w*",
        "\\w+m[ae]y?(?:ın|in)?\\b$",
        "\\w+ (?:kullanma|ekleme|yazma|yapma)\\b",
        "yerine",
        "değil",
        "tercih ed\\w+|isterim",
        "(?:biz )?\\w+ (?:kullanıyoruz|yazıyoruz|çalışıyoruz)",
        "bu (?:projede|depoda|repoda)|bizde|ekibimizde",
        "çalışmıyor|hata|bozuk|bugün|şimdilik|bu sefer|neden|hâlâ|hala|olmuyor",
    ),
)
