"""The classes of words that show whose words stand beside them: one table, in the languages that people type in.

English words stand in their base form; endings are taken off before a word is looked up. A star stands for any ending.
A word may be in several classes.
"""

from functools import lru_cache

from slowwave.extraction.guards.unspaced import UNSPACED, classes_in

_TABLE: dict[str, str] = {
    # what holds words: things that are written, shown, printed or spoken
    "text": """
        abstract advert advertisement advice agenda announcement annotation answer appendix article assignment audio
        banner bio blog blurb body book brief briefing broadcast brochure bulletin bullet button caption card cartoon
        catalog changelog chapter chat checklist circular claim clause clipping column comment commentary commit
        communique complaint contract conversation copy cover-letter critique datasheet debrief definition description
        diagnosis dialog dialogue diary digest dictation disclaimer discord docs doc docstring document documentation
        draft editorial email e-mail entry epigraph error essay eulogy evaluation excerpt exercise explanation extract
        faq fax feedback figure flyer footer footnote form forum gist gloss guide guideline handbook handout header
        headline homepage hint inbox inscription instruction interview intro intranet intro invitation issue jira joke
        journal label leaflet lecture legend lesson letter license limerick line listing log lyric magazine mail
        mailbox mailing manifesto manual margin memo memorandum message microcopy minute monologue motto narration
        narrator newsletter newspaper note notice notification obituary opinion output page pamphlet paper paragraph
        parable passage pasta paste pastebin pdf petition phrase pitch placard plaque podcast poem policy pop-up popup
        post postcard poster postmortem preamble preface press prompt proposal prose prospectus proverb publication
        quest question quiz quotation quote rant rumor rumour gossip readme reading
        recap recording recipe reference remark reminder
        reply report response resume retro review rfc riddle rulebook saying screen screenshot script section
        sentence sermon sheet sign signature site slack slide slogan snippet song source spec specification speech
        sms spam stack-overflow stackoverflow standup statement status status-page sticker sticky story string
        subtitle suggestion summary survey syllabus tab tagline talk teams template term terms testimonial testimony
        text textbook theory thread ticket title toast toot tooltip transcript transcription translation tutorial
        tweet utterance verdict verse version video viewpoint voicemail voice-note wall warning watermark webinar
        webpage website whiteboard whitepaper wiki word wording writeup write-up zendesk
        angebot* anleitung* antwort* artikel* aufsatz ausschnitt* aushang* beitrag* bericht* brief* buch doku
        dokumentation* eintrag* fehlermeldung* folie* forum* handbuch* hinweis* kommentar* meldung* nachricht* notiz*
        plakat protokoll* rundmail* satz* schild schreiben seite* spruch text* vermerk* vorlage* vorschlag* webseite*
        zettel* zitat* absatz* zeile* ankündigung* bewertung*
        annonce* avis billet* citation* commentaire* compte-rendu courriel* courrier* consigne* phrase* lettre*
        mémo* note* page* panneau* paragraphe* rapport* réponse* ticket* texte* affiche* message* forum* notice*
        anuncio* artículo* aviso* carta* cartel* cita* comentario* correo* documento* folleto* frase* hoja informe*
        mensaje* nota* página* párrafo* respuesta* texto* tuit* manual*
        annuncio articolo* avviso cartello citazione commento commenti frase frasi lettera messaggio messaggi
        manuale nota pagina paragrafo risposta testo testi volantino
        artigo bilhete cartaz e-mail mensagem parágrafo resposta tópico
        bericht* briefje mail* zin tekst* handleiding* reactie opmerking*
        письм* сообщени* текст* стать* комментари* цитат* ответ* записк* объявлени* документаци* инструкци* фраз*
        предложени* абзац* строк*
    """,
    # words that are there to be worked with: specimens, fixtures, records
    "sample": """
        assertion backlog body constant csv data dataset demo dummy eval expected expectation export fixture input json
        key literal lorem markdown mock output parameter parametrize payload placeholder poll record regex result row
        sample seed snapshot specimen string survey template test-case testdata todo token value variable yaml xml
        beispiel* daten ejemplo* exemple* esempi*
    """,
    # who speaks, other than the person: people, offices, machines
    "who": """
        accountant admin administrator advisor advocate agency agent analyst architect article-writer attorney audience
        aunt author bank blogger board boss bot brother buddy ceo cfo chairman chair chatbot chatgpt chief cio ciso
        classmate claude clerk client clippy coach co-worker coder columnist commenter committee company compiler
        competitor compliance consultant contractor contributor copilot copywriter coworker critic cto cursor customer
        cousin daughter dad deepseek dentist designer developer director doctor editor employee engineer everyone
        examiner expert facilitator father finance firm folk founder freelancer friend gemini god gpt gpt-* grok
        guest guru guy hacker he head helpdesk her him his hr host husband instructor intern interviewer investor
        journalist judge kid landlord  lawyer lead leadership lecturer legal librarian linter linux llama llm
        maintainer management manager marketer marketing mate mayor mentor minister mistral model moderator mom mother
        mum nobody neighbor neighbour office officer operator organizer other others owner parent partner pastor
        person philosopher poet poster president presenter principal procurement professor provider recruiter
        regulator rep reporter researcher reviewer sales scientist secretary security sender seller senior she sister
        somebody someone speaker spokesman spokesperson staff stranger student subscriber supervisor supplier support
        teacher teammate tech-lead technician tester their them they tom trainer translator troll tutor uncle union
        user vendor visitor volunteer wife witness writer youtuber ai people pm po qa
        anwalt* bekannte* chef* chefin er freund* hersteller* jemand kolleg* kund* kundin kundendienst lehrer* leiter*
        lieferant* mitarbeiter* nachbar* sie support* vermieter* vorgesetzte* praktikant* berater*
        ami* chef* cliente* client* collègue* elle fournisseur* il patron quelqu'un stagiaire* voisin* ils
        alguien amigo* cliente* colega* compañer* ella él jefe jefa proveedor* vecin* ellos becari*
        amic* capo collega* colleghi cliente clienti fornitore lui lei qualcuno stagista tizio
        alguém chefe cliente colega* ele ela estagiári* fornecedor*
        baas collega* iemand klant* hij zij leverancier stagiair*
        коллег* начальник* клиент* кто-то он она друг* поставщик* сосед* они
    """,
    # saying, writing, showing words
    "say": """
        add-on admonish advise advertise advocate allege announce answer argue ask assert assure author bark beg blog
        boast brag broadcast bring caption caution chime chirp cite claim clarify coin comment complain conclude confess
        contend convey counsel cry declare decree demand describe dictate display encourage ends ends-with exclaim
        exhort explain express gripe grumble greet hint holler imply inform insist instruct interject joke jot lament
        lecture log maintain mandate mention moan mumble mutter note object observe opine order phrase plead
        post postulate preach print proclaim profess promise pronounce propose protest publish quip quote rant rave
        read recite recommend recount relay remark remind report request respond reply reveal say scold scrawl scream
        scribble shout show sign sing sign-off snap specify spell sputter stammer state stipulate stress suggest swear
        talk teach tell text tweet type underline urge utter vent voice volunteer vow warn whine whisper wonder word
        write yell chant proclaim preach rule opine
        said says told wrote written spoke spoken taught repeat heard swore sung sang brought sworn read reads goes
        äußer* antwort* behaupt* bemerk* empfiehl* empfahl* erklär* erzähl* fragt* frage heißt hieß lautet meint*
        meinte* mitgeteilt riet rät sag* sagt* sagte* schreib* schrieb* steht stand geschrieben gesagt gemeint
        affirm* dit disait disent explique* écri* indiqu* prétend* propos* recommand* répond* suggèr* raconte* lit
        afirma* aconseja* comenta* contest* cuenta* dice* dijo* dicho dijeron escrib* explica* indica* pone propone*
        recomend* respond* sugier* sugiri* pregunt*
        afferm* consigli* detto dice* disse* raccomand* scrive* scriss* scritto sostien* suggerisc* spieg* risp*
        disse* diz escreve* escrito sugere* recomenda* respondeu
        schreef schrijft zegt zei staat meent meende adviseer* beweert vroeg geschreven gezegd
        сказал* говор* пиш* написа* совету* утвержда* отвеч* ответил* рекоменд* предлаг* гласит
    """,
    # handing words on
    "send": """
        attach cc circulate deliver dispatch dm drop e-mail email fax file forward fwd give hand include insert issue
        leave mail message offer paste ping pin post present provide pass push put release relay send serve share slip
        slap stick stuff submit supply tack text throw toss transmit upload write add append hang land arrive come
        appear pop surface show circulating surfaced left sent gave given put stuck threw thrown hung came wrote
        contain carry feature include embed bear forwarded quoted attached enclosed
        geschickt schickt* schick* gesendet sendet* weitergeleitet geklebt gehängt hinterl* kam
        envoy* transm* laiss* reçu coll* contient
        envi* mand* dej* pas* peg* reenvi* contiene
        invi* mand* lasci* inoltr* contiene
        enviou mandou deixou
        stuurde gestuurd doorgestuurd
        прислал* отправил* переслал* оставил*
    """,
    # coming upon the words of others
    "get": """
        acquire bump catch copy come-across cite cribbed dig discover download encounter excerpt fetch find get google
        grab hear inherit lift listen nick notice obtain open overhear paste pick pull quote read receive recall
        retrieve scrape screenshot scroll see snip spot stumble take transcribe translate unearth watch
        found got gotten heard overheard saw seen took taken caught stole stolen came
        bekommen bekam gefunden fand gelesen gehört erhalten kopiert gesehen entdeckt
        trouvé reçu lu entendu copié vu
        encontré recibí leí leído oído visto copié copiado recibido encontrado
        trovato ricevuto letto sentito copiato visto
        encontrei recebi li ouvi copiei vi
        gevonden gekregen gelezen gehoord gekopieerd
        получил* нашел нашёл нашла прочитал* услышал* скопировал* увидел*
    """,
    # what is done with words rather than with a program
    "handle": """
        abridge alliterate annotate anonymize bold bullet-point capitalise capitalize caption categorise categorize
        classify condense correct critique crop decipher decode dejargon diagram dictate dumb edit eli5 emojify encode
        encrypt explain expand fact-check fix formalise formalize gist grade grammar-check hash haiku highlight
        improve interpret jazz judge
        key-points label lemmatise lemmatize localise localize lowercase make-sense md5 mock narrate outline paraphrase
        parody parse pep phrase pirate poem polish pretty-print pronounce proof-read proofread punch-up punctuate
        quote rank rate react read-aloud reformat reformulate rephrase render respond reply restate restyle
        reverse review revise reword rewrite rhyme roast rot13 score shorten simplify slugify soften spell-check
        spellcheck spice split summarise summarize tag title tldr tl;dr tokenise tokenize tone tone-check transcribe
        translate transliterate trim tweak typeset uppercase verify translation summary gist paraphrasing bullets
        synonym syllable sentiment tone grammar wording word-count typo spelling
        übersetz* zusammenfass* fasse korrigier* kürz* umformulier* formulier* erklär* deut* vereinfach* bewert*
        traduis traduire traduisez résume résumer résumez corrige corriger corrigez reformule* explique* raccourci*
        simplifie* relis relire
        traduce traducir traduzca resume resumir corrige corregir explica explicar reescrib* acorta* simplifica*
        parafrasea* revisa
        traduci tradurre riassumi riassumere correggi correggere spiega riscrivi parafrasa accorcia semplifica
        traduza traduzir resuma resumir corrija explique reescreva
        vertaal samenvat* vat corrigeer leg herschrijf verkort vereenvoudig
        перевед* сократи* объясни* исправь* перефразир* отредактируй* проверь*
    """,
    # what words are judged by
    "judge": """
        accurate aggressive ambiguous appropriate authentic awkward baloney believable biased bogus bossy bullshit bs
        cheesy clickbait cliché clumsy coherent concise convincing correct corny credible cringe dated debatable
        deprecated disagree dodgy doubt doubtful exaggerated factual fair fake false far-fetched feminist fishy fluent
        formal formulate friendly friendlier funny garbage genuine gibberish grammatical grammatically hallucinate
        hallucinated hallucination harsh hilarious hoax honest hyperbole idiomatic impolite inaccurate incorrect
        informal insulting ironic jargon joke kidding kosher laugh legally legit legitimate lie literally
        logical lol mad made-up malarkey marketing-speak mean meaning meant metaphor misleading misquote misspelled
        motto myth nonsense obsolete odd off offensive official opinion outdated overblown overkill passive
        passive-aggressive patronizing persuasive phishing plagiarized plausible polite politer propaganda ridiculous
        rubbish rude sarcastic sarcasm satire scam sensible serious seriously shady silly sketchy snarky sound sounds
        spam stiff stilted strange stupid suspicious tongue-in-cheek trolling true truth trust troll trustworthy
        typo unclear unprofessional untrue urban-legend vague valid weird well-written wordy wrong-headed agree
        comma grammar noun punctuation sense spelling syllable tense typo verb well-put wording spelled misspell
        buy believe interpret understand parse gist-of implies imply takeaway thoughts opinion reasonable
        bedeutet bedeuten heißen stimmt stimmen wahr höflich echt richtig glaub* unsinn quatsch seriös gemeint
        meint komisch
        vrai signifie veut-dire correct poli crois sérieux faux bizarre
        verdad cierto significa correcto educado crees serio falso raro tontería
        vero vuol significa corretto educato credi serio falso strano
        verdade significa correto
        waar betekent klopt beleefd serieus raar
        правда значит верно означает вежливо серьезно странно
    """,
    # what people make up their minds about
    "will": """
        agree aim care choose chose chosen decide expect hate insist intend like love mean meant need plan prefer repeat
        settle settled settle-on stand think thought tried try use want went wish would
        entschieden möchte will wollen brauche bevorzuge vereinbart decidimos quiero prefiero necesito voulons veux
        préfère décidé decidido voglio preferisco deciso quero prefiro wil besloten хочу решили
    """,
    # pointing at words
    "this": """
        this these above that it those here one
        dies* diesem diesen dieser diese das hier
        ce cet cette ces ceci cela ça c'est
        este esta esto estos estas eso
        questo questa questi queste ciò
        isto este esta isso
        dit deze dat
        это эт*
    """,
    # pointing ahead
    "ahead": """
        following follows below next verbatim quoted quote forwarded attached enclosed underneath hereunder here's here
        folgend* folgt unten untenstehend* anbei hier
        ci-dessous suivant* voici voilà
        siguiente* abajo aquí
        seguente* sotto ecco
        seguinte* abaixo
        volgende onderstaande hieronder
        следующ* ниже вот
    """,
    # what a clause is about, before its colon
    "topic": """
        about concerning regarding re for when whenever if while during unless until before after in on at with as
        für bei wenn über pour quand si para cuando si per quando se voor als для если при
    """,
    # the person
    "me": """
        i we i'm i've i'd i'll we're we've we'd we'll me us let's lets myself ourselves im ive
        ich wir mir uns mich je j'* nous moi yo nosotros me nos io noi ci eu nós ik wij we ons mij я мы мне нам
    """,
    # what is the person's
    "mine": """
        my our mine ours mein* unser* mon ma mes notre nos mi mis nuestro* nuestra* mio mia miei nostro* nostra*
        meu minha nosso* nossa* mijn onze мой моя наш*
    """,
    # the agent who is spoken to
    "you": """
        you your yours you're you've you'd you'll please pls plz kindly
        du dein* bitte sie ihr dir
        tu vous ton votre vos s'il
        tú usted tu su por-favor
        prego favore
        você seu
        jij je alsjeblieft graag u
        ты вы пожалуйста
    """,
    # orders about a program
    "work": """
        add adjust adopt align allow apply assign avoid back begin benchmark branch build bump bundle call cancel change
        check checkout clean cleanup clone close commit configure connect consider continue convert copy create debug
        decouple define delete deploy deprecate design disable document don't do drop enable ensure exclude execute
        expose extend extract fetch finish fix follow force format generate get give go handle have hide implement
        import include increase inline insert inspect install integrate introduce investigate keep kill leave let
        link lint list load log look lower maintain make mark measure merge migrate mock move name never only open
        optimise optimize output overwrite patch pin plan port prefer prepare print proceed profile prune publish pull
        push put read rebase rebuild record reduce refactor regenerate release reload remove rename reorder repeat
        replace report reproduce rerun research reset resolve restart restore retry return reuse revert review
        rollback rollout run save scaffold scan search send separate set setup ship show simplify skip sort spawn
        split squash stage start stick stop store strip switch sync tag take test tidy trace track try turn undo
        unify update upgrade upload use validate verify wait wire wrap write always
        fail crash break broke broken hang freeze leak compile flicker overlap render raise
        mach* bau* füg* lösch* benutz* verwend* nimm prüf* schreib* starte* teste* änder* lass* führ*
        ajoute* utilise* fais faites corrige* lance* supprime* mets change* vérifie*
        usa usar añade* haz arregla* ejecuta* borra* cambia* pon revisa*
        usa aggiungi fai correggi esegui cancella cambia metti controlla
        use adicione faça corrija execute
        gebruik voeg maak fix draai verwijder zet
        используй добавь сделай исправь запусти удали измени
    """,
    # how people begin what they say themselves: markers of discourse, verdicts, words for a rule
    "lead": """
        actually additionally again agreed alright also although and anyway argh as basically besides better btw but by
        caution clarification constraint convention cool correct correction correctly edit exactly finally fine first
        firstly fyi general generally good goal got great hence hm hmm however i.e. idea important instead last lastly
        later listen meanwhile moreover nah nb next nice no nope note now ofc oh ok okay one once otherwise perfect plan
        plus point policy-wise preference principle priority problem process ps quick reminder remember requirement
        right rule scope second secondly since so sorry specifically still step style sure task thanks then therefore
        thing third though three to-do todo too two update usually wait well whenever wish wrong yeah yep yes yet
        remember reason reasons requirements rules conventions preferences expectation decision option
        außerdem auch also aber dann danke denk erstens gut ja nein merk* nochmal regel* übrigens wichtig zweitens und
        aussi alors bon d'accord donc ensuite important merci non oui puis rappel règle* et
        además ahora bien entonces gracias importante luego nota ojo recuerda regla* sí también vale y
        allora anche bene grazie importante inoltre poi regola* ricorda sì va e
        além então importante lembre obrigado regra* também
        belangrijk bedankt dus en ja nee onthoud ook regel* trouwens verder
        важно да запомни нет ок правило спасибо также
    """,
    # how questions begin
    "ask": """
        what who whom whose where when why how which is are was were do does did can could would will should shall has
        have am isn't aren't doesn't don't didn't any anyone anybody wtf what's who's where's how's wdyt
        was wer wo wann warum wieso wie welche* ist sind kann kannst könntest stimmt
        qui quoi où quand pourquoi comment quel* est-ce que qu'est-ce peux pouvez
        qué quién quien dónde cuándo por cómo cuál puedes es
        che chi cosa dove quando perché come quale puoi è
        que quem onde quando porque como qual pode
        wat wie waar wanneer waarom hoe welke kun
        что кто где когда почему как какой можешь
    """,
    # how letters begin and end
    "greet": """
        hi hello hey dear hallo liebe lieber sehr bonjour cher chère chers hola ciao greetings good salut buenas buenos
        estimado estimada querido querida gentile cara caro olá prezado beste geachte привет здравствуйте уважаем* team
        all everyone folks colleagues morning afternoon evening geehrte geehrter damen herren guten tag
    """,
    "sign": """
        regards wishes greetings best cheers sincerely yours faithfully thanks thank love warmly cordially respectfully
        grüße grüßen gruß grüsse mfg lg vg br cordialement amicalement saludos atentamente saluti cordiali abraços
        groeten groet уважением xoxo ciao kind warm many viele freundlichen sent iphone tnx thx
    """,
}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# the words of closed classes, which matter at one place only

POLITE = _set("please pls plz kindly just also then me help to now quickly you and bitte mir")
WISHES = _set("need want like d would")
# verbs of a wish: what its object says is wished for, and nobody's words
LONGS = _set("prefer like love want need hate dislike enjoy bevorzuge mag prefiero prefiro préfère preferisco")
RELATIVE = _set("that which who")
INTO = _set("into to as in please auf ins en al a for like")
# what makes another text of a text: "make this sound friendlier", "put it in plain words"
RESHAPE = _set("make turn put give get bring change convert mach mache fais haz metti rends pon")
# how a note begins that says where a text comes from
CREDITS = _set("from via by source author courtesy per von aus quelle autor auteur de fuente fonte da bron bei")
DEFINITE = _set("the our my all their every")
CONTRACTED = _set("that's there's it's what's here's let's who's where's how's he's she's how's that\u2019s")
ARTICLES = _set("a an some new another ein eine un une una")
SOURCES = _set("according via source laut selon según secondo quelle fuente volgens")
PREPOSITIONS = SOURCES | _set(
    "from per by credit courtesy aus von gemäß d'après fonte segundo bron по из in on at of im auf dans sur en nel sul"
)
FORM_LABELS = _set(
    """
    title body author reporter priority description expected actual status labels assignee summary hint name from to cc
    bcc subject date sent von an betreff gesendet de à objet asunto para reply-to re fwd fw aw wg tr rv
    """
)
SPEAKERS = _set(
    """
    me you ich du user human assistant ai bot system q a question answer frage antwort agent support customer client
    interviewer interviewee guest host speaker moi yo io
    """
)
# behind these, somebody's words may begin with a capital and no other mark
LINKS = _set(
    "is was are that to has had like us me them everyone everybody people line text value words class group team"
)
# "the commit message was | I prefer tabs"
STATED = _set("is was")
RULES = _set("always never all every we you use don't must no each only do immer nie nunca siempre toujours sempre")
AFTER_LINKS = _set(
    """
    whenever when if the a an this these there it our my i i'd i'll i'm from in on for to before after nobody everybody
    any remember please
    """
)
_ENDINGS = (
    ("ies", "y"), ("ied", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"), ("d", ""), ("ing", ""), ("ing", "e"),
)  # fmt: skip
_LEAST_BASE, _MOST_BASE = 2, 16


def _entries() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    whole: dict[str, set[str]] = {}
    open_ended: dict[str, set[str]] = {}
    for role, words in _TABLE.items():
        for word in words.split():
            where = open_ended if word.endswith("*") else whole
            where.setdefault(word.rstrip("*"), set()).add(role)
    return {w: frozenset(r) for w, r in whole.items()}, {w: frozenset(r) for w, r in open_ended.items()}


_WHOLE, _OPEN = _entries()
NONE: frozenset[str] = frozenset()


@lru_cache(maxsize=20_000)
def classes_of(word: str) -> frozenset[str]:
    """Return the classes of a word in lower case; a run of Chinese or Japanese has those of all words in it."""
    if UNSPACED.search(word):
        return classes_in(word)
    found = _WHOLE.get(word) or _of_base(word)
    starts = [_OPEN[word[:end]] for end in range(_LEAST_BASE, min(len(word), _MOST_BASE) + 1) if word[:end] in _OPEN]
    return found.union(*starts) if starts else found


def _of_base(word: str) -> frozenset[str]:
    for ending, instead in _ENDINGS:
        if word.endswith(ending):
            base = word[: -len(ending)] + instead
            if len(base) <= _LEAST_BASE:
                continue
            if base in _WHOLE:
                return _WHOLE[base]
            if base[-1:] == base[-2:-1] and base[:-1] in _WHOLE:
                return _WHOLE[base[:-1]]
    return NONE
