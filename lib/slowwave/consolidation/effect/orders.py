"""What comes before or after something else: checks before a commit, a call before another, what a change asks for."""

import re

from slowwave.consolidation.effect.calls import Call, Demand, call_of, calls_of
from slowwave.consolidation.effect.mentions import Rule
from slowwave.consolidation.effect.wordings import FOLLOWS, PURPOSES


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# a sentence of more words may have more to say than which tool is used
MOST_WORDS = 18
# a rule has one of these in it, and an order, where something comes before something else
_HANDS_ON = re.compile(r"(?:git|gh) (commit|push|pr)\b(?: create)?$")
_EVENTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), until)
    for pattern, until in (
        (r"commit\w*|comit\w*|commett\w*", "git commit"),
        (r"push\w*|poussez?|pousser|subir", "git push"),
        (r"prs?|pull[- ]requests?|merge[- ]requests?|mrs?", "gh pr create"),
        (r"tag(?:ging|s)?", "git tag"),
        (r"releas\w*|veröffentlich\w*", "release"),
        (r"publish\w*|publi(?:er|car|quer)|pubblicare", "publish"),
        (r"deploy\w*|ausliefer\w*|déploy\w*|despleg\w*", "deploy"),
    )
)
_ORDERED = _set(
    "vorher davor auparavant previamente prima failing red before bevor ehe vor avant antes prior preceded precede "
    "precedes ahead until bis without ohne sans sin senza sem zonder unless first pre-commit pre-push jedem jeden "
    "every each chaque cada ogni elke any voor innan före förrän"
)
_CHANGES = re.compile(
    r"\b(?:chang|edit|touch|modif|updat|bump|alter|add(?:ed|ing|s)?\b|änder|geänder|bearbeit|anfass|aktualisier|"
    r"cambi|tocc|"
    r"toca|modifiqu|alter|mud[ao]|wijzig|aanpass|ändra)",
    re.IGNORECASE,
)
_EVERY = _set("every each jede jeder jeden chaque cada ogni elke any varje")
_FIRST = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            r"(?:n't|\bnot|breaks?|fails?|hangs?|crashes|never|cannot|\bno|nie|nicht|jamais|nunca|"
            r"mai)\b[^.;]*? mention(?P<end>\d+)[^.;]*? "
            r"(?:unless|until|without|before|bis|ohne|bevor|sans|sin|senza)\b[^.;]*? mention(?P<first>\d+)"
        ),
        (
            r"\b(?:before|bevor|ehe|vor|avant(?: de| d')?|antes de|prima di|prior to|"
            r"voor)(?: [\w']+){0,4}? mention(?P<end>\d+)"
        ),
        (
            r"mention(?P<end>\d+) (?:needs?|requires?|wants?|expects?|braucht|benötigt|nécessite|necesita|richiede|"
            r"precisa de|vereist)"
            r"(?: [\w']+){0,3}? mention(?P<first>\d+)"
        ),
        (
            r"mention(?P<end>\d+) [^.;]*?(?:only|erst|nur)[^.;]*?(?:after|once|when|if|nach|wenn)(?: [\w']+){0,2}? "
            r"mention(?P<first>\d+)"
        ),
        (
            r"(?:first|zuerst|erst|d'abord|primero|prima|eerst)(?: [\w']+){0,2}? mention(?P<first>\d+)[^.;]*?"
            r"(?:then|dann|puis|ensuite|luego|poi|depois|dan)(?: [\w']+){0,2}? mention(?P<end>\d+)"
        ),
        (
            r"mention(?P<end>\d+)[^.;]*? (?:needs?|requires?|braucht)\b[^.;]*? mention(?P<first>\d+) (?:first|before|"
            r"zuerst)"
        ),
        (
            r"mention(?P<end>\d+)[^.;]*? (?:breaks?|fails?|hangs?|crashes|starts?)[^.;]*? (?:unless|until|without|"
            r"before|bis|"
            r"ohne|bevor|sans|sin|senza)\b[^.;]*? mention(?P<first>\d+)"
        ),
        r"mention(?P<first>\d+) (?:first|zuerst)\b[^.;]*?(?:then|before|dann) (?:[\w']+ ){0,2}?mention(?P<end>\d+)",
    )
)


def gate_of(words: set[str], rule: Rule) -> Demand | None:
    """Return that something is run before a commit, a push, or what else is handed on."""
    plain = rule.plain
    for one in rule.mentions:
        if hands_on := _HANDS_ON.match(one.text):
            plain = plain.replace(f"mention{one.at}", hands_on[1])
    event = next(((found, until) for pattern, until in _EVENTS if (found := pattern.search(plain))), None)
    is_ordered = words & _ORDERED or (words & _set("only erst nur solo") and words & FOLLOWS)
    if event is None or not is_ordered:
        return None
    found, until = event
    at = {number: plain.find(f"mention{number}") for number in (one.at for one in rule.mentions)}
    named = [one for one in rule.mentions if not one.is_path]
    wanted = [one for one in named if one.role != "refused" or at[one.at] > found.start()]
    end = Call(tuple(until.split())) if " " in until else Call((), topic=until)
    named = calls_of(one.text for one in wanted)
    # what a longer call holds is said of that: "clippy has to be clean (cargo clippy)"
    calls = tuple(c for c in named if not _is_end(c, end) and not any(_is_held(c, one) for one in named))
    if not calls and not re.search(r"mention\d", plain):
        calls = tuple(Call((), topic=of) for pattern, of in PURPOSES[:4] if pattern.search(plain))
    is_options = any(not call.words and not call.topic for call in calls)
    return Demand("gate", calls, until=end) if calls and not is_options else None


def _is_held(call: Call, other: Call) -> bool:
    is_shorter = len(call.words) == 1 < len(other.words) and not call.options
    return is_shorter and any(word.startswith(call.words[0]) for word in other.words[1:])


def _is_end(call: Call, end: Call) -> bool:
    return end.topic in call.words if end.topic else call.words[: len(end.words)] == end.words


def order_of(rule: Rule) -> Demand | None:
    """Return that one call is made before another one."""
    texts = {one.at: one.text for one in rule.mentions if not one.is_path}
    for pattern in _FIRST:
        found = pattern.search(rule.plain)
        end = texts.get(int(found["end"])) if found else None
        if found is None or end is None:
            continue
        named = found.groupdict().get("first")
        first = [texts[int(named)]] if named and int(named) in texts else [t for t in texts.values() if t != end]
        calls, until = calls_of(first), call_of(end)
        if calls and until and until.words and all(call.words for call in calls):
            return Demand("gate", calls, until=until)
    return None


def after_of(words: set[str], rule: Rule) -> Demand | None:
    """Return that a change of a file, or a call, asks for a command, where the words refuse nothing."""
    is_change = _CHANGES.search(rule.plain) and len(rule.plain.split()) <= MOST_WORDS
    if not (words & (FOLLOWS | _EVERY) or is_change) or rule.of("refused", paths=True):
        return None
    paths = tuple(_pattern(one.text) for one in rule.of("chosen", "named", paths=True))
    calls = calls_of(one.text for one in rule.of("chosen", "named", paths=False))
    if rule.of("refused", paths=False) or not calls or any(not call.words for call in calls):
        return None
    if paths:
        return Demand("after", calls, paths=paths)
    found = re.search(
        r"\b(?:after|nach|après|dopo|después de|tras|depois de|na)(?: [\w']+){0,2}? mention(\d+)",
        rule.plain,
        re.IGNORECASE,
    )
    first = next((one for one in rule.mentions if found and one.at == int(found[1])), None)
    trigger = call_of(first.text) if first else None
    rest = tuple(call for call in calls if call != trigger)
    return Demand("after", rest, behind=(trigger,)) if trigger and rest else None


def _pattern(path: str) -> str:
    """Return what the name of a file or folder fits; an ending fits every file that has it."""
    return f"*{path}" if re.fullmatch(r"\.[a-z]{1,8}", path) and path not in (".env", ".npmrc") else path.strip("/")
