"""How things are done here, said without "always" or "must": facts about the team, bare nouns, labels, corrections.

"we format with X", "no X in this codebase, only Y", "X, not Y", "rule: ...", "the db listens on N": the form shows that
a kind of thing is spoken of, not the thing at hand.
"""

# ruff: noqa: E501, ISC004 - a table of forms

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.sentences import spelled
from slowwave.extraction.statements import MIN_CONTENT, Statement, category_of, content_words, statements
from slowwave.memory.model import Category

NAME = "convention"
_HERE = (
    r"(?:(?:in|for|across|throughout) (?:this|our|the (?:whole|entire)|all(?: our| of our)?|any|every|user[- ]facing|product)"
    r" ?[\w-]* ?(?:repo(?:sitory)?|project|code ?base|code|apps?|docs|team|company|texts?|tests|scripts|ui|branch(?:es)?)"
    r"|(?:around )?here|anywhere|everywhere)"
)
_WE_VERBS = (
    r"(?:format|lint|log|test|write|call|use|deploy|release|ship|name|store|keep|build|squash|rebase|merge|review|sign"
    r"|tag|pin|indent|document|organi[sz]e|structure|require|target|cache|validate|wrap|mock|version|speak|follow|stick"
    r"|prefix|sort|translate|host|publish|track|enforce|reserve|commit|branch|spell|drop|go with|stay (?:with|on)|run (?:in|on))"
)
# other subjects than what was said before
_SUBJECT = (
    r"^(?!(?:it|this|that|these|those|they|he|she|there|i|you|we|what|which|who|if|when|while|something|somebody|someone"
    r"|nothing|one|and|but|or|so|because)\b)(?:all |every |each |any |our |the |a |an )?[\w`'./-]+(?: [\w`'./-]+){0,3}?"
)
_STATES = (
    r"(?:named|called|written|stored|formatted|signed|returned|prefixed|kept|spelled|sorted|generated from|snake_case"
    r"|camelcase|kebab-?case|pascalcase|upper ?case|lower ?case|read[- ]only|write[- ]only|mandatory|required|optional"
    r"|behind|in english|idempotent|immutable|pinned|gone for good|reserved)"
)
_RULED_OUT = (
    r"(?!(?:idea|problems?|worr\w+|one|need|longer|i\b|we\b|you\b|it\b|that\b|this\b|not\b|more questions|thanks|errors?|issues?"
    r"|changes?|luck|way|rush|clue|wonder|doubt|sense|matter|good|other|such|tests? (?:fail|ran)|results?|output|reason|there)\b)"
)
_FORMS: tuple[tuple[str, float, Category], ...] = (
    # a label that says what follows
    (
        r"^(?:(?:house |team |general |our |my |final |important )*(?:rules?|conventions?|polic(?:y|ies)|standards?|guidelines?"
        r"|reminder|important|style|decision|decided|note to self|naming))(?: (?:here|in this \w+|of mine))?: (?P<what>.{8,})",
        0.65,
        "constraint",
    ),
    # "no X in this codebase", "no X please", "no X, only Y"
    (rf"^(?:please |and |also )*no {_RULED_OUT}[\w`'\"*./-]+(?: [\w`'\"*./-]+){{0,5}}?,? (?:{_HERE}|please|ever|at all|\(|(?:only|just|use|they|it|them|squash|because)\b)", 0.6, "constraint"),
    (rf"^(?:please |and |also )*no {_RULED_OUT}[\w`'\"*./-]+(?: [\w`'\"*./-]+){{0,3}} (?:in|on|to|without|before|after|outside|inside|under) (?:the |our |any |all )?[\w`'./-]+s?\b(?=$|[.!,;]| \()", 0.5, "constraint"),
    # "X, not Y": what is right, and what was taken for it
    (
        r"^(?!(?:this|that|i|no|not|you|we|if|so|maybe|sure|why|what|yes)\b)(?:it(?:'s| is) (?=[\"`]))?[\w`'\"./ -]{2,70}, not "
        r"(?!(?:sure|yet|now|that|this|only|just|really|what|how|the (?:other|same)|because|in the mood|a )\b)[\w`'\"./-]+(?: [\w`'\"./-]+){0,3}[.!]?$",
        0.55,
        "preference",
    ),
    # what the team does
    (
        rf"^(?:\w+(?: \w+){{0,4}}, )?(?:and |but |so )*(?:we|our team|the (?:whole )?team)(?: (?:also|only|all|usually|normally|currently|now|just|still|use to))? {_WE_VERBS}s? "
        r"(?!(?:it|this|that|these|those|them|into|out|the (?:first|second|last|new|same))\b)(?P<what>\S.*)",
        0.55,
        "project",
    ),
    (r"\bwe call (?:it|this|that|them) [\"'`]", 0.6, "preference"),
    (r"^we (?:can'?t|cannot|must not|may not|are not allowed to) (?!(?:see|find|do|know|tell|say|just|really)\b)\w+ .*\b(?:here|policy|because|so|since|allowed)\b", 0.55, "constraint"),
    # what a kind of thing is like
    (rf"(?!the \w+ is (?!read|reserved|required|mandatory)){_SUBJECT} (?:is|are|should be|get|gets) (?:always |all |only |still )?{_STATES}\b", 0.55, "constraint"),
    (rf"{_SUBJECT} (?:always |only )?(?:starts?|begins?|ends?) with (?!(?:an? )?(?:error|exception|warning)\b)\S", 0.55, "constraint"),
    (rf"{_SUBJECT} (?:always |only )?(?:lives?|goe?s?|belongs?) (?:in|to|into|under|through|via|behind) (?!(?:wrong|bed|sleep|lunch|null|it|this|that)\b)\S", 0.5, "project"),
    (rf"{_SUBJECT} (?:listens?|runs?|is reachable|answers?) (?:on|at) (?:port )?`?[\w.-]*\d{{2,5}}\b", 0.55, "project"),
    (r"^(?:for|on|with|in) (?:every|each|any|all|new) [\w -]{2,30}[:,] (?P<what>\S.{8,})", 0.55, "pattern"),
    (r"^(?:when(?:ever)?|after|before|if) (?:you|we|i) [^,]{3,60}, (?!(?:it|i|there|nothing|the|we|what|why|does|do you|this|that)\b).*\b(?:each time|every time|always|first|never|attach|in this (?:project|repo))\b", 0.6, "pattern"),
    (r"\b(?:you|they|we) need `?[\w./=<>-]+.{0,60}\b(?:for (?:all|every|any|each)|in this (?:repo|project|codebase))\b", 0.6, "pattern"),
    # said for every time at the end
    (r"^(?!(?:it|this|that|i|he|she|they)\b)(?=(?:\S+ ){3}).*[, ](?:always|every time|each time|for good|generally|without exception)[.!)]*$", 0.6, "preference"),
    (rf"^(?!(?:it|this|that|is|are)\b)(?:never |don'?t |use |want |write |wrap |put |give |file |names? |i )(?=(?:\S+ ){{3}}).*\b(?:always )?{_HERE}[.!]*$", 0.55, "preference"),
    (r"\b(?:that|this) (?:applies|holds|goes) (?:to|for) (?:the whole|all|every|any)", 0.6, "constraint"),
    # an order with what it rests on
    (
        r"^(?:so |please |pls |and )*(?:use|run (?:it|them) with|log|wrap|write|put|install|give|name|keep) (?!(?:it|this|that|the (?:first|second|other|same))\b)"
        r".{2,70}, (?:it'?s|it is|they|the (?:system|other|rest|old|default)|this \w+|thats?|that'?s|our|others?) (?:\w+ )?(?!.*\bnow\b)\w+",
        0.5,
        "preference",
    ),
    (r"^(?:please |pls )?(?:use|log|write|run|do|format|store|name|build)\b.{0,40} (?:with|in|to) .{2,30},? not (?!(?:sure|yet|now)\b)\S+", 0.55, "preference"),
    # who they are, and what follows from it
    (
        r"^(?:i(?:'m| am) (?:in|a|an|the|new to|based in|from|responsible)|i teach|it(?:'s| is) a (?:solo|toy|hobby|public|client|school)) .{2,60}, (?:so|which means)?\b",
        0.5,
        "preference",
    ),
    (r"^(?:you|u) can as+ume (?:that )?(?:everyone|all|we|the|users)\b", 0.55, "project"),
    (r"^i (?:don'?t|do not|won'?t) (?:accept|allow|tolerate|merge|take) (?!(?:it|this|that)\b)\S", 0.6, "preference"),
    (r"^(?P<text>(?:please )?(?:stop|quit) \w+ing\b.*\b(?:all the time|every time|so much|constantly|again and again|each time))\b", 0.6, "preference"),
    (r"^(?:could|can|would) you (?:please )?(?:generally|always|in general|consistently|by default) \w+ ", 0.55, "preference"),
    (r"^i(?:'d| would) like to (?:see|review|approve|read) .{3,60} before you\b", 0.55, "preference"),
    (r"^show me (?:a |the |your )?\w+ (?:first )?before (?:you |coding|writing|changing|editing).*", 0.5, "preference"),
    (r"^(?:deploy|ship|merge|push|release|publish|delete) .{0,50}\b(?:only (?:after|when|if|once)|unless) (?:i|we) ", 0.55, "constraint"),
    (rf"{_SUBJECT} (?:is|are|have|has|use|uses) [^,]{{2,40}}, so (?:all |the |our |any |every )?[\w-]+(?: [\w-]+)? (?:ha(?:s|ve) to|must|needs? to)\b", 0.5, "constraint"),
    (r"^(?!(?:tests|things|files) that (?:fail|are|were)\b)[\w-]+s (?:that|which|with|for) .{3,40}? (?:needs?|must|should|ha(?:s|ve) to|gets?|requires?) ", 0.55, "constraint"),
    (r"^(?:write|keep|do|make|put|have) (?:all |the |your |any )?[\w -]{3,40} in (?:british |american )?(?:english|german|french|spanish|portuguese|italian|dutch|polish|japanese|chinese)\b", 0.55, "preference"),
    (r"^(?:don'?t|do not|never) (?!(?:it|this|that)\b)\w+ .*\b(?:on your own|without (?:asking|my|telling|a )|unless i|until i (?:say|ask|tell))", 0.6, "preference"),
    (r"^(?:work|commit|develop|stay) on an? .{3,40}, (?:every|each) time", 0.6, "preference"),
)  # fmt: skip
_PATTERNS: tuple[tuple[re.Pattern[str], float, Category], ...] = tuple(
    (re.compile(form, re.IGNORECASE), prior, category) for form, prior, category in _FORMS
)
_FAULT = re.compile(
    r"\b(?:fail\w*|errors?|crash\w*|broken|bug|wrong|not working|does(?:n'?t| not) work|hangs?|flaky|weird|odd|typo"
    r"|can you|could you (?:check|look|curl|see)|yesterday|tomorrow|tonight|this morning|lunch|nothing|sadly|look at|slow today)\b",
    re.IGNORECASE,
)
_EVERY = re.compile(r"\b(?:always|never|every time|each time)\b", re.IGNORECASE)
_QUESTIONS = ("could you gen", "can you gen", "would you gen", "could you always", "can you always", "could you in gen")
# a list below a heading that says that rules follow
_HEADING = re.compile(
    r"^(?:#+ )?(?P<head>[^\n:]{0,60}\b(?:rules?|conventions?|style|guidelines?|standards?|preferences?|policy|how (?:i|we) (?:like|do|want"
    r"|work|release|name|test)|what i (?:want|expect)|for the [\w-]+|(?:when|before|after|whenever) you [^\n:]{3,40})[^\n:]{0,40}):\s*$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+(?P<item>\S.*)$")
_MOST_LINES, _MOST_ITEM = 16, 140
# what opens a session at such length describes its task
_LONG_BRIEF = 400


def mine_conventions(events: Events) -> Iterator[Found]:
    """Yield what is said of how things are done here."""
    for statement in statements(events):
        found = _stated(statement)
        if found:
            yield found
    for turn in events.turns:
        if turn.text.count("\n") <= _MOST_LINES:
            for head, item in _listed(turn.text):
                text = item if content_words(item) > MIN_CONTENT else f"{head}: {item}"
                yield Found(NAME, category_of(text, "constraint"), text, 0.65, "user_explicit", (turn,), item)


def _stated(statement: Statement) -> Found | None:
    said, words = statement.sentence, spelled(statement.sentence.text)
    momentary = said.is_momentary and not _EVERY.search(words)
    if momentary or said.is_guess or (said.is_question and not words.lower().startswith(_QUESTIONS)):
        return None
    if _FAULT.search(words) or (statement.is_brief and len(statement.turn.text) > _LONG_BRIEF):
        return None
    for pattern, prior, category in _PATTERNS:
        match = pattern.search(words)
        if match and content_words(match.groupdict().get("what") or words) >= MIN_CONTENT:
            bonus = 0.05 * statement.has_reason
            text = match.groupdict().get("text") or ""
            return statement.found(NAME, category_of(words, category), prior + bonus, "user_explicit", text)
    return None


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """Yield the items of a list below a heading that announces rules, with that heading."""
    head = ""
    for line in text.split("\n"):
        heading, item = _HEADING.match(line.strip()), _ITEM.match(line)
        if heading:
            head = heading["head"].strip()
        elif head and item and len(item["item"]) <= _MOST_ITEM:
            yield head, item["item"].strip().rstrip(".")
        elif line.strip():
            head = ""
