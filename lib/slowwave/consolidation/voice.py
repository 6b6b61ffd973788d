"""Passives as what they ask for: "X must not be edited by hand" is "do not edit X by hand"."""

import re

_IRREGULAR = {
    "kept": "keep", "written": "write", "run": "run", "set": "set", "put": "put", "made": "make", "built": "build",
    "sent": "send", "shown": "show", "done": "do", "taken": "take", "given": "give", "read": "read", "held": "hold",
    "found": "find", "left": "leave", "chosen": "choose", "drawn": "draw", "thrown": "throw", "known": "know",
    "split": "split", "cut": "cut", "driven": "drive", "begun": "begin", "hidden": "hide", "broken": "break",
    "frozen": "freeze", "brought": "bring", "paid": "pay", "told": "tell", "said": "say", "lost": "lose",
    "spent": "spend", "seen": "see", "bound": "bind", "rebuilt": "rebuild", "rewritten": "rewrite", "reset": "reset",
    "overridden": "override",
}  # fmt: skip
# in a pattern; what is also the verb itself ("set", "run") is none unless a "be" stands before it
PARTICIPLE = rf"(?:[a-z]+ed|{'|'.join(word for word, verb in _IRREGULAR.items() if word != verb)})"
_OFTEN = r"(?: (?:now|always|also|ever))?"
_PASSIVE = re.compile(
    r"^(?P<what>[^,;:]{1,80}?) (?:(?P<modal>must|should|shall|has to|have to|needs? to|may|might|can|could)"
    rf"(?P<no>n?['\u2019]t| not|not| never)?{_OFTEN} be|(?:is|are)(?P<nor>n['\u2019]t| not| never)?)"
    rf"{_OFTEN} (?P<verb>[a-z]+)(?P<rest>(?:[ ,].*)?)$",
    re.IGNORECASE,
)
# whose passive would be another sentence: "it is used", "nothing may be deleted", "what is generated"
_NO_OBJECT = re.compile(
    r"^(?:i|we|you|it|they|he|she|this|that|these|those|there|what|who|nothing|nobody|none|no|not|never|only|neither|if|"
    r"when|because|since|make|ensure|keep|check)\b|\b(?:that|which|who|if|when|because|unless|while)\b",
    re.IGNORECASE,
)
_AGENT = re.compile(r"\bby\b(?! hand\b)", re.IGNORECASE)
# "is used for" tells a practice and asks for it; "is fixed in v2" tells that it is done, and asks for nothing
_PRACTICES = frozenset(
    ("use", "run", "build", "keep", "store", "cache", "format", "lint", "check", "log", "send", "hold")
)
_OPEN = ("may", "might", "can", "could")
_SHORT = 4
_SILENT = re.compile("[^aeiou]?[aeiouy][^aeiouwxy]")


def active(text: str) -> str:
    """Return a clause in the passive as what it asks for; any other as it is."""
    found = _PASSIVE.match(text)
    verb = base_of(found["verb"]) if found else ""
    if not found or not verb or _NO_OBJECT.search(found["what"]) or _AGENT.search(found["rest"]):
        return text
    if not found["modal"] and not ({verb, f"{verb}e"} & _PRACTICES and found["rest"]):
        return text
    modal = (found["modal"] or "").lower()
    no = (found["no"] or found["nor"] or "").strip().lower()
    before = "do not" if no and no != "never" else " ".join(filter(None, (modal if modal in _OPEN else "", no)))
    return f"{before} {verb} {found['what']}{found['rest']}".strip()


def base_of(participle: str) -> str:
    """Return the verb of a past participle, "" for what is none."""
    word = participle.casefold()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if not word.endswith("ed") or word.endswith("eed") or len(word) < _SHORT:
        return ""
    if word.endswith("ied"):
        return f"{word[:-3]}y"
    bare = word[:-2]
    if bare[-1] == bare[-2] and bare[-1] in "bgkmnprt":
        return bare[:-1]
    # "use" and "name" end with an e, "add", "aim" and "fix" do not; of longer words the comparison takes none
    return f"{bare}e" if len(bare) < _SHORT and _SILENT.fullmatch(bare) else bare
