"""What rules say of what is written: how code looks, where files go and are named, commits, branches.

A rule names a kind of thing (tests, migrations, a commit's message), and how it is to be: a folder, an ending, a
beginning, a style. Both are known by the words of several languages, and shown by patterns over paths and texts. What
is written has an occasion where it is of that kind, and is kept or broken by what it looks like; else nobody can tell.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from slowwave.consolidation.effect.calls import Form, Subject
from slowwave.consolidation.effect.mentions import EDITS, LANGUAGES, Rule, vocabulary, wordings
from slowwave.consolidation.likeness import NO, words_of
from slowwave.shell.mentioned import is_code, is_program

# Kinds of files, by the nouns of those who speak of them, and by how their paths look.

_LANGUAGE = re.compile(rf"(?<![\w`])({'|'.join(map(re.escape, LANGUAGES))})(?![\w`])", re.IGNORECASE)


def files_in(text: str) -> str:
    """Return the pattern of the files of a language that a text names, or ""."""
    found = _LANGUAGE.search(text)
    return _glob(LANGUAGES[found[1].lower()]) if found else ""


def _kind_in(text: str) -> str | None:
    """Return how the files look that a text is about: of the first kind that it names."""
    found = [(m.start(), -m.end(), path) for noun, path in wordings().nouns if (m := noun.search(text))]
    return min(found)[2] if found else None


def code_form(rule: Rule) -> Form | None:
    """Return how a rule wants code to look, by the styles and the pieces of code that it names."""
    if any(tongue in rule.plain.lower() for tongue in _TONGUES):
        return None  # what language something is written in is no style of it
    named = [one for one in rule.mentions if not one.is_path and not is_program(one.text.split()[0])]
    refused = [pattern for one in named if one.role == "refused" for pattern in _shown(one.text)]
    asked = [one for one in named if one.role == "chosen" or (one.role == "named" and one.text in wordings().styles)]
    wanted = [pattern for one in asked for pattern in _shown(one.text)]
    for one in named:
        other = wordings().styles[one.text][2] if one.text in wordings().styles else ""
        if other and one.role == "refused" and not wanted:
            wanted = [wordings().styles[other][1]]
        elif other and one in asked and not refused:
            refused = [wordings().styles[other][1]]
    # of what is wanted any shows, and nothing that is only a part of it is refused
    good = (f"(?:{'|'.join(wanted)})",) if wanted else ()
    if not good and not refused:
        return None
    bad = tuple(f"(?!{good[0]}){one}" if good and not one.startswith(("^", r"\A")) else one for one in refused)
    of: Subject = "text" if any(one.text == "emojis" for one in named) else "code"
    return Form(of, good, bad, files_in(rule.said))


_CALLABLE = re.compile(r"(?P<name>[\w.$:@]+)\(\)?")
_WORD = re.compile(r"[A-Za-z][\w-]*")


def _shown(text: str) -> Iterator[str]:
    """Yield how a name of a rule shows in code: a style by its looks, a call by its name, a word where it is used."""
    if text in wordings().styles:
        yield wordings().styles[text][1]
    elif found := _CALLABLE.fullmatch(text):
        yield rf"(?<!\w){re.escape(found['name'])}\("
    elif is_code(text):
        begin, end = (r"(?<![\w.])" if text[0].isalnum() else ""), (r"(?!\w)" if text[-1].isalnum() else "")
        yield begin + re.escape(text) + end
    elif _WORD.fullmatch(text):
        word = re.escape(text)
        yield (
            rf"(?:\b(?:import|from|require|use|using|include|new|extends|throw|raise|let|const|package)\b[^\n;]*?[\s(\"'<{{/]){word}\b"
            rf"|(?<![\w.]){word}(?:\.\w|\(|::|!\(|<\w)|^\s*{word}\s+\w|[\"']{word}(?:/[\w/.-]*)?[\"']"
        )


# Where files go, how they are named, and what stands in them.

_M = r"mention(\d+)"
_IN = (
    r"(?:in|into|to|under|inside|within|below|at|nach|unter|im|ins|dans|sous|en|bajo|em|sob|op|onder|naar|i|till|w|do|"
    r"pod|nel|nella|в|под|->|\u2192|:|=|is|are|belongs? (?:to|in)|use)"
)
_PLACED = re.compile(
    rf"(?:(?<!\w){_IN}|[:=])(?: (?:the|den|dem|der|das|le|la|el|il|a|an|het|de|folder|directory|ordner|verzeichnis|"
    rf"dossier|carpeta|cartella|pasta|map|katalog\w*|never|not|only|always|use))* {_M}",
    re.IGNORECASE,
)
_GOES = re.compile(
    r"\b(?:leave|dump|clutter\w*|lass\w*|go(?:es)?|live[sd]?|belong\w*|put|place[ds]?|keep|kept|sto?r\w+|creat\w*|add\w*|save[ds]?|sits?|reside\w*|"
    r"located|new|write|located|collect\w*|gehör\w*|komm\w*|liegen|liegt|leg\w*|ablegen|abgelegt|speicher\w*|stehen|"
    r"neue[rsn]?|vont|va|vivent|mets|mettre|placer?|range\w*|van|viven|guarda\w*|coloca\w*|pon\w*|nuev\w+|vanno|metti|"
    r"mett\w+|stanno|ficam?|vão|coloque|moram|horen|hoort|komen|staan|zet|plaats|läggs?|ligger|hör|placera\w*|"
    r"trzymamy|idą|umieszcza\w*|dodawaj|лежат|кладём|класть|храним|allowed)\b",
    re.IGNORECASE,
)
_PUTS = re.compile(
    r"\b(?:put|place|creat\w*|add(?:ing)?|new|store|save|keep|leave|neue\w*|anlegen|ablegen|leg\w*|mets|mettre|cr[ée]e\w*|"
    r"nuev\w+|crear|crees|pon\w*|mett\w+|crea\w*|coloque|crie|zet|plaats|lägg)\b",
    re.IGNORECASE,
)
_ROOT = re.compile(
    r"\b(?:(?:repo(?:sitory)?|project)(?:'s)? root|root|top[- ]level|hauptverzeichnis|wurzelverzeichnis|racine|raíz|"
    r"radice|raiz|rotkatalog\w*)\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"[<{*\[$]|\bN{2,}|X{2,}|YYYY|\.\.\.|\u2026")
_CASES = {
    "kebab": r"[a-z0-9.]+(?:-[a-z0-9.]+)*",
    "snake": r"_*[a-z0-9.]+(?:_[a-z0-9.]+)*",
    "pascal": r"[A-Z][A-Za-z0-9]*(?:\.\w+)*",
    "camel": r"[a-z][A-Za-z0-9]*(?:\.\w+)*",
}
_CASE = re.compile(r"\b(kebab|snake|pascal|camel)[- _]?case\b|\b(upper camel)", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:named?|names|naming|called|call|end(?:s|ing)? (?:in|with)|suffix\w*|prefix\w*|heiß\w*|namen?|benann\w*|"
    r"enden auf|noms?|nommés?|s'appellent|nombres?|se llaman|nomi|si chiamano|nomes?|chamam|namen|heten|heter|nazw\w*|"
    r"dateinamen|filenames?|file ?names?|bestandsnamen|filnamn)\b",
    re.IGNORECASE,
)
_HEADS = re.compile(
    r"\b(?:start\w*|beg[ia]n\w*|open|top|head(?:er)?s?|first line|preamble|notice|contain\w*|includes?|need\w*|"
    r"ha(?:s|ve)|"
    r"must|carry|carries|requires?|gets?|beginn\w*|kopf\w*|anfang|enthalten|brauch\w*|commence\w*|en-tête|débute\w*|"
    r"empie\w+|comienza\w*|encabezado|inizia\w*|começa\w*|cabeçalho|beginnen|begint|börjar|zaczyna\w*|needs)\b",
    re.IGNORECASE,
)
_EACH = re.compile(
    r"\b(?:every|each|all|any|new|jede[rsnm]?|alle|neue[rsn]?|chaque|tou(?:s|tes)|nouveaux?|cada|todos?|todas?|nuevos?|"
    r"ogni|tutti|nuov[oi]|novos?|elke|alle|nieuwe|varje|alla|nya|każdy|wszystkie|files|modules|scripts|dateien|headers?)\b",
    re.IGNORECASE,
)
_LICENSE = re.compile(r"\b(?:licen[sc]e|copyright|spdx|lizenz\w*|licence|licencia|licenza|licença)\b", re.IGNORECASE)
_OLD = re.compile(
    r"\b(?:by hand|hand-edit\w*|manually|von hand|manuell|à la main|a mano|à mão|handmatig|generated|existing|"
    r"exist|applied|old|merged|committed|shipped|released|immutable|append[- ]only|bestehende\w*|alte\w*|"
    r"vorhandene\w*|existantes?|existentes?|aplicadas?|esistent[ei]|bestaande|befintliga|istniejąc\w+)\b",
    re.IGNORECASE,
)


def file_form(rule: Rule) -> Form | None:
    """Return where a rule wants files to be, how they are named, or what is to stand in them."""
    if any(is_program(one.text.split()[0]) or one.text.startswith(("-", "./")) for one in rule.mentions):
        return None
    return _place(rule) or _name(rule) or _head(rule)


def _place(rule: Rule) -> Form | None:
    plain = rule.plain
    at = {int(found[1]) for found in _PLACED.finditer(plain)}
    paths = [one for one in rule.mentions if one.is_path]
    goes = _GOES.search(plain) or len(plain.split()) <= _SHORT
    wanted = [one for one in paths if one.role != "refused" and one.at in at and _is_folder(one.text)]
    refused = [one for one in paths if one.role == "refused" and _is_folder(one.text)]
    root = _ROOT.search(plain)
    is_kept = refused and not (vocabulary("bad") | vocabulary("made")).isdisjoint(words_of(plain).tokens)
    if is_kept or (not wanted and not (refused and _PUTS.search(plain))):
        return _no_new(rule)
    if not goes or not (wanted or refused or root):
        return _no_new(rule)
    first = min((plain.find(f"mention{one.at}") for one in paths), default=len(plain))
    kind = _kind_in(plain[:first]) if _kind_in(plain[:first]) is not None else _kind_in(plain)
    if kind is None and not _GOES.search(plain):
        return None  # a fact, of one thing
    kind = kind if kind is not None else _stem(plain[:first])
    files = "" if kind is None else kind
    language = files_in(plain)
    if (kind is None and not refused) or (not wanted and not refused):
        return None
    good = ("|".join(_inside(one.text) for one in wanted),) if wanted else ()
    bad = tuple(_inside(one.text) for one in refused)
    bad += (r"\A[^/]+\Z",) if root else ()
    is_held = bool(wanted and files)
    files = "" if bad and not is_held else files or language
    return Form("new file", good, bad, files, is_held=is_held)


_SHORT = 6


def _is_folder(path: str) -> bool:
    return path.endswith("/") or "/" in path or re.fullmatch(r"[\w-]+", path) is not None


def _inside(path: str) -> str:
    """Return the pattern of what lies in a folder, up to what stands for something else in its name."""
    parts = [part for part in PurePosixPath(path.strip("`/")).parts if part not in (".", "..")]
    end = next((at for at, part in enumerate(parts) if _PLACEHOLDER.search(part)), len(parts))
    if end == len(parts) and parts and re.search(r"\.\w{1,5}$", parts[-1]):
        return rf"(?:^|/){'/'.join(map(re.escape, parts))}$"
    return rf"(?:^|/){'/'.join(map(re.escape, parts[:end]))}/" if end else r"(?!)"


_ABOUT = re.compile(
    r"(?:^|[.;:] ?|\b(?:the|all|new|put|place|keep|every) )([a-z][a-z]{3,}?)(?:s|es)?(?: \w+)? *"
    r"(?:go|live|belong|in\b|into|to\b|under|are|:|\Z)",
    re.IGNORECASE,
)


def _stem(before: str) -> str | None:
    """Return the pattern of what a sentence is about by its noun: "serializers go in ..." is about what is named so."""
    found = _ABOUT.search(before)
    word = found[1].lower() if found else ""
    return None if not word or word in _VAGUE else rf"(?i){re.escape(word.removesuffix('ie'))}"


_VAGUE = frozenset(
    [
        "everything",
        "stuff",
        "things",
        "anything",
        "code",
        "never",
        "always",
        "please",
        "output",
        "these",
        "those",
        "work",
        "build",
    ]
)


def _no_new(rule: Rule) -> Form | None:
    """Return that no new files of a kind are wanted."""
    found = re.search(
        r"\b(?:creat\w*|add\w*|new|write|neue[rns]?|anlegen|erstelle\w*|cr[ée]e[rz]?|nouveaux?|crear|crees|nuevos?|creare|nuov\w|crie|novos?)\b(.*)",
        rule.plain,
        re.IGNORECASE,
    )
    clause = re.split(r"[,;:.]", rule.plain)[0]
    kind = _kind_in(found[1]) if found else None
    if not found or not kind or NO not in words_of(clause).tokens or found.start() > len(clause):
        return None
    return Form("new file", (), (kind,), kind)


def _name(rule: Rule) -> Form | None:
    plain = rule.plain
    if not _NAMED.search(plain) and not _CASE.search(plain):
        return None
    kind = _kind_in(plain)
    globs = [one for one in rule.mentions if one.is_path and "*" in one.text and "/" not in one.text.strip("/")]
    globs += [one for one in rule.mentions if one.is_path and re.fullmatch(r"[._-][\w.]+", one.text)]
    wanted = [_glob(one.text) for one in globs if one.role != "refused"]
    refused = tuple(_glob(one.text) for one in globs if one.role == "refused")
    if wanted and kind:
        return Form("new file", ("|".join(wanted),), refused, kind, is_held=True)
    if refused:
        return Form("new file", ("|".join(wanted),) if wanted else (), refused)
    case = _CASE.search(re.sub(_M, "", rule.said) + " " + " ".join(one.text for one in rule.mentions))
    if case and kind is not None and _NAMED.search(plain):
        name = (case[1] or "pascal").lower()
        return Form("new file", (rf"(?:^|/){_CASES[name]}\.\w+$",), (), kind or files_in(plain), is_held=True)
    return None


def _glob(text: str) -> str:
    body = re.escape(text).replace(r"\*", "[^/]*")
    return rf"(?:^|/){body}$" if "*" in text else rf"{body}$" if text.startswith(("_", "-")) else rf"{body}(?:\.\w+)?$"


def _head(rule: Rule) -> Form | None:
    """Return what stands in every new file of a kind."""
    plain = rule.plain
    if not (_HEADS.search(plain) and _EACH.search(plain)):
        return None
    texts = [
        one.text
        for one in rule.mentions
        if not one.is_path and one.role != "refused" and one.text not in wordings().styles
    ]
    kind = _kind_in(re.sub(_M, "", plain))
    globs = [_glob(one.text) for one in rule.mentions if one.is_path and "*" in one.text]
    if globs:
        kind = "|".join(globs)
    if kind is None and not files_in(plain):
        return None
    if len(texts) == 1:
        good = re.escape(texts[0])
    elif not rule.mentions and _LICENSE.search(plain):
        good = r"(?i)copyright|licen[sc]e|spdx"
    else:
        return None
    return Form("head", (good,), (), kind or files_in(plain), is_held=True)


def kept_form(rule: Rule) -> Form | None:
    """Return that files of a kind which are there stay as they are: what exists, what a program writes."""
    clause = next((one for one in re.split(r"[,;:.](?=\s)", rule.plain) if _is_kept(one)), "")
    kind = _kind_in(clause)
    return Form("file", (r"\Anew",), (r"\Aold",), kind) if kind and not _PLACE.search(clause) else None


_PLACE = re.compile(_M)


def changed_kind(plain: str) -> str:
    """Return how the files look whose change a sentence is about without naming one, or ""."""
    for text in (plain.partition("mention")[0], plain):
        found = [(m.start(), path) for noun, path in wordings().changed_nouns if (m := noun.search(text))]
        kind = min(found)[1] if found else _kind_in(text) or files_in(text)
        if kind:
            return kind
    return ""


def _is_kept(clause: str) -> bool:
    tokens = words_of(clause).tokens
    is_fixed = (NO in tokens and any(map(EDITS.match, tokens))) or not vocabulary("bad").isdisjoint(
        {*tokens, *clause.lower().split()}
    )
    is_written = any(noun.search(clause) for noun, _ in wordings().nouns[: len(wordings().written)])
    return is_fixed and (is_written or _OLD.search(clause) is not None)


# Commits, branches and pull requests.

_OF_COMMIT = re.compile(
    r"\b(?:commits?|co-authored-by|signed-off-by|trailers?|commit[- ]?(?:messages?|subjects?|titles?|"
    r"nachrichten?|botschaft\w*)|messages? de commits?|"
    r"mensa\w+ de commits?|messaggi\w* (?:di|dei) commit|mensagens de commit|commitberichten|commit-?meddeland\w+)\b",
    re.IGNORECASE,
)
_OF_TITLE = re.compile(
    r"\b(?:pr|pull[- ]request|mr|merge[- ]request)s?['s]*[- ](?:titles?|titel|titres?|título)", re.IGNORECASE
)
_OF_BRANCH = re.compile(
    r"\b(?:branch(?:es)?(?:[- ]?nam\w+)?|zweige?|branches?|ramas?|ram[io]|takken|grenar|gałęzi\w*)\b", re.IGNORECASE
)
_KEY = r"[A-Z][A-Z0-9]+-\d+"
_TONGUES = {
    "english": "en", "englisch": "en", "anglais": "en", "inglés": "en", "inglese": "en", "inglês": "en",
    "engels": "en", "engelska": "en", "angielsk": "en", "английск": "en", "german": "de", "deutsch": "de",
    "allemand": "de", "french": "fr", "französisch": "fr", "français": "fr", "spanish": "es", "spanisch": "es",
    "español": "es", "italian": "it", "italiano": "it", "portuguese": "pt", "português": "pt", "dutch": "nl",
    "nederlands": "nl", "swedish": "sv", "svenska": "sv",
}  # fmt: skip
_COMMON = {
    "en": r"(?i)\b(?:the|of|and|to|for|with|when|from|add|fix|update|remove|use|make|mend|handle|allow|new)\b",
    "de": r"(?i)\b(?:der|die|das|und|für|beim|mit|wenn|nicht|eine?|füge|behebt|behebe|korrigiere|entferne|dem|im)\b",
    "fr": r"(?i)\b(?:le|la|les|des|du|et|pour|avec|une?|ajoute|corrige|supprime|dans)\b",
    "es": r"(?i)\b(?:el|los|las|del|y|para|con|una?|añade|agrega|corrige|arregla|elimina|en)\b",
    "it": r"(?i)\b(?:il|lo|gli|della|del|e|per|con|una?|aggiunge|aggiungi|corregge|correggi|rimuove|nel)\b",
    "pt": r"(?i)\b(?:os?|as|do|da|e|para|com|uma?|adiciona|corrige|remove|no|na)\b",
    "nl": r"(?i)\b(?:de|het|en|voor|met|een|niet|voeg|toe|verwijder|bij)\b",
    "sv": r"(?i)\b(?:och|för|med|en|ett|inte|lägg|till|ta|bort|rättar|på|av)\b",
}
_LENGTH = re.compile(
    r"(?:at most|max(?:imum|imal|\.)?(?: of)?|under|below|within|no (?:more|longer) than|up to|limit\w*(?: to)?|"
    r"höchstens|"
    r"unter|bis zu|moins de|au plus|máximo|menos de|massimo|meno di|wrap\w* at|<=?) *(\d{2,3})\b|"
    r"\b(\d{2,3})[- ](?:char\w*|zeichen|caractères|caracteres|caratteri|columns?|spalten|cols?)",
    re.IGNORECASE,
)
_ON = re.compile(
    r"\b(?:commit\w*|comit\w*|work\w*|arbeit\w*)\b[^.;]*?(?<!\w)(?:on|to|auf|in|into|sur|dans|en|su|na|em|op|på|"
    r"nach) (?:the |den |dem |la )?[`'\"]?(main|master|develop|trunk|production)\b",
    re.IGNORECASE,
)


def commit_form(rule: Rule, text: str) -> Form | None:
    """Return how a rule wants messages, branches and titles to be; the text is as it was said."""
    plain = text.replace("`", "")
    is_no = NO in words_of(plain).tokens
    if _OF_BRANCH.search(plain) and (start := _beginning(rule)) and not _OF_COMMIT.search(plain):
        return Form("branch", (start,), (), is_held=True)
    if (on := _ON.search(plain)) and is_no:
        return Form("commit on", (), (rf"\A{on[1]}\Z",))
    of: Subject | None = "title" if _OF_TITLE.search(plain) else "message" if _OF_COMMIT.search(plain) else None
    if of is None or any(not one.is_path and one.text.startswith(("git", "gh")) for one in rule.mentions):
        return None
    good: list[str] = []
    bad: list[str] = []
    for called, shows in wordings().messages:
        found = re.search(called, plain, re.IGNORECASE if called.islower() else 0)
        if found:
            (bad if _is_refused(plain, found.start()) else good).append(shows)
    if length := _LENGTH.search(plain):
        good.append(rf"\A[^\n]{{1,{length[1] or length[2]}}}(?:\n|\Z)")
    for called, tongue in _TONGUES.items():
        if called in plain.lower():
            (bad if _is_refused(plain, plain.lower().find(called)) else good).append(_COMMON[tongue])
    if not good and not bad and (begin := _beginning(rule)):
        good.append(begin)
    return Form(of, tuple(good), tuple(bad), is_held=bool(good)) if good or bad else None


def _is_refused(text: str, at: int) -> bool:
    """Say whether a no stands before a place in its clause."""
    clause = re.split(r"[,;:.](?=\s)", text[:at])[-1]
    return NO in words_of(clause).tokens or clause.rstrip().endswith(("without a", "ohne", "without", "sans", "sin"))


def _beginning(rule: Rule) -> str:
    """Return the pattern of what the marked examples of a rule begin with: ``feature/<topic>``, ``[web] ...``."""
    found: list[str] = []
    for one in rule.mentions:
        text = re.split(r"[<{*\u2026]|\.\.\.|\bYYYY|X{2,}", one.text)[0].strip()
        if one.role != "refused" and text and re.search(r"[/:\]\)#-]$", text):
            found.append(re.escape(text))
        elif one.role != "refused" and (key := re.match(_KEY, one.text)):
            found.append(rf"{_KEY}{re.escape(one.text[key.end() : key.end() + 1])}")
    return rf"\A(?:{'|'.join(found)})" if found else ""
