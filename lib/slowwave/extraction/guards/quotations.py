"""Words in quotation marks: whose they are shows in what stands around them."""

import re

# every pair of marks that people quote with; a single mark inside a word is an apostrophe
_QUOTE = re.compile(
    r"\"(?P<double>[^\"\n]{12,600})\""
    r"|\u201c(?P<curly>[^\u201d\n]{12,600})\u201d|\u201e(?P<low>[^\u201c\u201d\n]{12,600})[\u201c\u201d]"
    r"|\u00ab(?P<angle>[^\u00bb\n]{12,600})\u00bb|\u2039(?P<small>[^\u203a\n]{12,600})\u203a"
    r"|[\u300c\u300e](?P<corner>[^\u300d\u300f\n]{6,600})[\u300d\u300f]"
    r"|(?<!\w)\u2018(?P<bent>(?:[^\u2019\n]|\u2019(?=\w)){12,600})\u2019(?!\w)"
    r"|(?<![\w'])'(?=\S)(?P<single>(?:[^'\n]|(?<=\w)'(?=\w)){12,600})'(?![\w'])"
    r"|(?<!`)`(?P<code>[A-Z][^`\n]{11,600})`(?!`)|\((?P<round>[A-Z][^()\n]{11,600})\)"
)
_SAID = (
    r"says?|said|reads?|states?|stated|claims?|claimed|writes?|wrote|written|prints?|printed|shows?|tells?|told"
    r"|suggests?"
    r"|suggested|recommends?|recommended|asks?|asked|answers?|answered|replied|replies|reports?|reported|logs?"
    r"|outputs?"
    r"|contains?|quotes?|posted|displays?|titled|sagt|sagte|schreibt|schrieb|steht|hei\u00dft|dice|dijo|dit"
    r"|\u00e9crit"
)
# things that hold or speak words
_HOLDS = (
    r"comments?|readme|docs?|documentation|docstring|pages?|articles?|errors?|messages?|warnings?|logs?"
    r"|outputs?|files?"
    r"|prompts?|e?-?mails?|issues?|tickets?|reviews?|posts?|tools?|agents?|bots?|websites?|sites?|lines?|texts?"
    r"|notes?"
    r"|headers?|strings?|sentences?|labels?|signs?|banners?|popups?|dialogs?|tooltips?|blogs?|tweets?|chats?|threads?"
    r"|slides?|books?|manuals?|handbooks?|wikis?|changelogs?|replies|reply|quotes?|paragraphs?|captions?"
    r"|placeholders?"
    r"|linters?|compilers?|fields?|values?|rules?|phrases?|footers?|titles?"
)
_REPORTED_BEFORE = re.compile(rf"\b(?:{_SAID}|{_HOLDS}|what (?:does|is|means?))\b[^\n\"'.!?]{{0,40}}\Z", re.IGNORECASE)
_REPORTED_BEHIND = re.compile(
    rf"\s*(?:[,;]?\s*(?:(?:so|as|that'?s|is|was) (?:\w+ ){{0,4}}(?:{_SAID}|from|by)\b|(?:{_SAID})\b)"
    r"|(?:--?|\u2014|\u2013|~)\s*[A-Z])",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:i|we|i've|we've|i'?ll|as i|like i)\s+(?:\w+\s+){0,2}(?:say|said|told|asked|wrote|mean|meant)\b",
    re.IGNORECASE,
)
# what is quoted inside a rule belongs to the rule: call it "Save and close all open tabs"
_RULES = re.compile(
    r"\b(?:always|never|must|only|should|prefer|use|using|call|name|write|put|answer|reply|avoid|run|keep"
    r"|don'?t|do not"
    r"|want|remember|decided|need|immer|nie|nur|toujours|jamais|siempre|nunca)\b",
    re.IGNORECASE,
)
_AROUND = 60
_WORDS = 4
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")


def without_quotations(text: str) -> str:
    """Leave out what is quoted, unless the person repeats their own words or the quotation is a part of their rule."""
    return _QUOTE.sub(_judged, text)


def _judged(found: re.Match[str]) -> str:
    inner = found[found.lastgroup or 0]
    if len(inner.split()) < _WORDS and len(_UNSPACED.findall(inner)) < _WORDS:
        return found[0]
    text, begin, end = found.string, found.start(), found.end()
    before, behind = text[max(0, begin - _AROUND) : begin], text[end : end + _AROUND]
    reported = bool(_REPORTED_BEFORE.search(before) or _REPORTED_BEHIND.match(behind))
    if _OWN.search(before) or (found.lastgroup == "round" and not reported):
        return found[0]
    is_sentence = inner[:1].isupper() and inner.rstrip()[-1:] in ".!?"
    if not reported and not is_sentence and _RULES.search(_clause_before(before) + " " + _clause_behind(behind)):
        return found[0]
    return f"{found[0][0]}\u2026{found[0][-1]}"


def _clause_before(text: str) -> str:
    """Return the end of a text after its last sentence."""
    return re.split(r"[.!?\n]", text)[-1]


def _clause_behind(text: str) -> str:
    return re.split(r"[.!?\n]", text)[0]
