"""Preferences that a person states: "I prefer ...", "use X instead of Y", "I usually ..."."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.keys import key_of
from slowwave.extraction.sentences import spelled
from slowwave.extraction.statements import MIN_CONTENT, Statement, category_of, content_words, lasting, statements
from slowwave.memory.model import CandidateOrigin

NAME = "preference"
_PREFER = re.compile(
    r"\b(?:i|we)(?:'d| would)?(?: (?:really|actually|strongly|generally|usually|always|personally|much"
    r"|do|definitely))* (?:prefer|rather|favou?r)\b(?P<what>.*)"
    r"|^(?:prefer(?:ably)?|my preference is)\b(?P<that>.*)|\bich (?:bevorzuge|mag lieber"
    r"|hätte lieber)\b(?P<was>.*)|\b(?:prefiero|je préfère)\b(?P<que>.*)",
    re.IGNORECASE | re.DOTALL,
)
_HABIT = re.compile(
    r"\b(?:i|we) (?:always|usually|generally|normally|typically|only|never|mostly) (?:use|want|do|run"
    r"|write|work|keep|deploy|commit|test|merge|squash|rebase|name|put|prefer|ship|build|push|add|avoid"
    r"|like)\b",
    re.IGNORECASE,
)
_DISLIKE = re.compile(
    r"\b(?:i|we) (?:really )?(?:don'?t (?:like|want)|do not (?:like|want)|hate|dislike"
    r"|can'?t stand) (?!to\b|you to (?:do|be) (?:this|that|it)|this|that|it\b|the\b|any of)(?P<what>.+)",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"^(?:(?:we|you|i) (?:should |use |only )?|let'?s |please )?(?:use|write|run|prefer|call|put|keep"
    r"|stick to|stick with|switch to|import|name|format|return|reply|answer|benutze|verwende|nutze|nimm|usa"
    r"|utilise)\b"
    r".{2,120}?(?:\b(?:instead of|rather than|in place of|statt|anstatt|en lugar de|au lieu de)\b"
    r"|,? (?:and )?not (?!(?:sure|yet|only|just|working|the (?:same|one))\b))",
    re.IGNORECASE,
)
# any other way of doing a thing that is named beside the way that is refused
_RATHER = re.compile(
    r"^(?:let'?s|lets|we should|you should|i(?:'d| would) rather|please)? ?\w+ .{2,120}? (?:rather than|instead of)"
    r" (?!(?:this|that|it|them|the (?:old|current|previous|first|second|last)|just|waiting|the (?:whole"
    r"|entire))\b)\w.*",
    re.IGNORECASE | re.DOTALL,
)
_INSTEAD_LAST = re.compile(r"^(?:use|review|run|keep|call|name|import|return)\b.{8,120}\binstead[.!]?$", re.IGNORECASE)
_INSTEAD_FIRST = re.compile(r"^(?:instead of|rather than|statt|anstatt) [^,;]{4,120}, *(?P<what>\S.*)", re.IGNORECASE)
_WISH = re.compile(
    r"\bi (?:want|need|expect|would like|'d like) (?:you to (?:always|never)|(?:all|every|any)\b)", re.IGNORECASE
)
_CHOICE = re.compile(
    r"\b(?:option|direction|approach|variant|version|design|proposal|solution|plan|choice)\b", re.IGNORECASE
)


# how a kind of thing shall be done or kept: "I want dates computed in UTC"; one thing or a fault is for the moment
_DONE_SO = re.compile(
    r"^i(?:'d like| would like| want| need| expect| prefer) (?!(?:this|that|these|those|the (?!\w+s\b)|a |an "
    r"|my |your |it\b|you\b|to\b))"
    r"(?P<what>(?:\w[\w'-]* ){1,4}?)(?:to be |be )?(?P<how>(?!need|feed|bed\b|red\b|fixed|moved|changed|added"
    r"|removed|deleted"
    r"|renamed|merged|pushed|opened|closed|reverted|updated|implemented|restored)\w+(?:ed|en|pt|lt)|kept|run"
    r"|built|put|set|sent"
    r"|shown|read|split|done|made) (?:only |always |strictly )?(?:in|with|by|as|from|on|at|under|to|through|via"
    r"|into|before"
    r"|after|without|against|for|per) \S.*",
    re.IGNORECASE,
)
# also what is for one thing or for the person who asks
_NOW = re.compile(
    r"\b(?:for|to|with|from|in|on|of) (?:this|that|it|them|me|us)[.!]?$|"
    r"\b(?:now|today|tomorrow|asap|soon|by (?:mon|tues|wednes|thurs|fri)day|next|in the end|left|right)\b",
    re.IGNORECASE,
)


_WHEN_YOU = re.compile(
    r"\bi (?:hate|love|like|dislike|don'?t like|can'?t stand) (?:it )?when (?:you|we)\b", re.IGNORECASE
)


_LIKE = re.compile(
    r"\bi(?:'d| would)? (?:like|want) (?!(?:it|this|that|these|those|them|the (?:idea|plan|fix|second"
    r"|first|last)|your?|you to (?:do|go|try|look)|to|how|what|option"
    r"|a (?:new|button|second))\b)(?P<what>.+?)(?:,? (?:and )?no[t]? (?!sure|yet)|,? nowhere else"
    r"|,? (?:only|always|never|everywhere)\b)",
    re.IGNORECASE,
)


_ASK_ME = re.compile(
    r"\bask (?:me|us) (?:(?:any|some|all|a few|several|more|as many|up to|about|around|between|\d+|to|or|and"
    r"|\d+-\d+|\w+ing"
    r"|\w+ful|relevant) )*(?:questions?|before|first|whenever|if you)\b|\bcheck with me\b|\bwithout asking\b",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"\b(?:i|we)(?:'d| would)? (?:only|just) (?:want|need|use|like)\b(?P<what>.*)"
    r"|\b(?:i|we) want to (?:not|avoid|never|always|only)\b(?P<so>.*)"
    r"|\b(?:i|we)(?:'d| would)? (?:really )?(?:want|like|need) (?:us |you )?to (?:keep|stick|avoid|support"
    r"|target|minimi[sz]e|have "
    r"(?:one|a single|all|every))\b(?P<how>.*)",
    re.IGNORECASE | re.DOTALL,
)
_STICK = re.compile(
    r"\b(?:any chance|can|could|shall|should)(?: that)? (?:we|you|i) (?:\w+ )?(?:stick|keep|stay) (?:to"
    r"|with)\b(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_CHANCE = re.compile(
    r"(?:^|[,;:-] *|\bthough )(?:any chance|is it possible|can|could|shall|should)(?: that)? (?:we|you"
    r"|i) (?:please |also |maybe |always |just )*"
    r"(?:use|avoid|prefer|stop)\b(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
# "can we make it a page of its own, always": asked once for every time
_FOR_GOOD = re.compile(
    r"^(?:can|could|shall|should) (?:we|you|i) (?!be\b)\w+ (?P<what>.{8,160}?)[, ](?<!\bnot )(?:always|never"
    r"|by default|everywhere"
    r"|consistently|every time|in general|from now on)\b",
    re.IGNORECASE | re.DOTALL,
)
# the politest way of saying what one wants
_ANY_CHANCE = re.compile(
    r"^(?:is there )?any (?:chance|way)(?: that)? (?:we|you|i)(?: can| could|'d|'ll)? (?:please |also |maybe )*"
    r"(?:use|have|get|keep|avoid|stop|stick|write|make)\b(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_KEPT = re.compile(
    r"^(?:can|could|should) (?!(?:we|you|i|it|this|that|these|those|they|there)\b)(?P<what>(?:the |our |all )?[\w'-]+"
    r"(?: [\w'-]+){0,3} be (?:saved|stored|kept|put|written|named|placed|published|documented|committed) "
    r"(?:in|into|to|under|at|on|as|with) .{4,})",
    re.IGNORECASE | re.DOTALL,
)
_MEANS = re.compile(
    r"^(?:use|using|load|apply|follow) (?:the |our |your |my )?(?P<what>`?[\w./:@-]+`?(?: [\w-]+)? (?:skill|mcp|plugin"
    r"|workflow|guidelines?|conventions?|style ?guide|sub-?agents?))s?\b(?=\W*$| (?:for|when|in) (?:all|any"
    r"|every|each|you"
    r"|we|a|an)\b)",
    re.IGNORECASE,
)
_KEEP = re.compile(
    r"^(?:please |just )?(?:keep|stick (?:to|with)|follow|respect|stay (?:with|in|within|consistent))\b"
    r"(?! (?:it|this|going|that|working|in mind|me|the same|track|up)\b)(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)


# how to do a kind of thing, with the reason: "use flakes for the dependencies, so that builds are reproducible"
_REASONED = re.compile(
    r"^(?:please |always |just |and )*(?:use|keep|avoid|make|put|store|call|name|treat|assume|follow|leave"
    r"|prioriti[sz]e"
    r"|write|run|target|optimi[sz]e|default|ensure|make sure)\b(?! (?:it|this|that|sure you)\b)(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_ABOVE_ALL = re.compile(
    r"^(?:please )?(?:prioriti[sz]e|favou?r|optimi[sz]e for|err on the side of|lean towards?|go for|aim for|focus on) "
    r"(?!(?:it|this|that|these|the (?:fix|bug|first|second|last|following)|fixing|getting|making|one)\b)(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_DEFAULT = re.compile(
    r"^(?:by default|default(?:ing)? to)\b,? (?P<what>.*)|\b(?:make|use|set|keep|have) (?P<so>`[^`]+`"
    r"|[\w./-]+(?: [\w./-]+)?)"
    r" (?:be |as |to be )?(?:the |our |a )?default\b(?! (?:value|branch|export|param))"
    r"|\b(?:should|must|shall|has to) (?:always )?(?:default to|be (?:on |off )?by default)\b(?P<to>.*)",
    re.IGNORECASE | re.DOTALL,
)


def mine_preferences(events: Events) -> Iterator[Found]:
    """Yield stated preferences."""
    for statement in lasting(events):
        found = _stated(statement)
        if found:
            yield found
    for statement in statements(events):
        found = _wished(statement)
        if found:
            yield found


def _wished(statement: Statement) -> Found | None:
    """Take wishes in weaker words, also in the polite form of a question."""
    words = statement.sentence.text
    asks = statement.sentence.is_question
    correcting = 0.05 if statement.turn.after_work or statement.turn.is_rejection else 0.0
    for pattern, prior, polite in (
        (_ASK_ME, 0.6, False),
        (_ONLY, 0.55, False),
        (_KEEP, 0.5, False),
        (_STICK, 0.5, True),
        (_CHANCE, 0.25, True),
        (_FOR_GOOD, 0.5, True),
        (_ANY_CHANCE, 0.45, True),
        (_KEPT, 0.4, True),
        (_MEANS, 0.4, False),
        (_DEFAULT, 0.45, False),
        (_ABOVE_ALL, 0.45, False),
        (_REASONED, 0.4, False),
    ):
        match = pattern.search(words)
        if not match or (asks and not polite) or (pattern is _REASONED and not statement.has_reason):
            continue
        what = next((group for group in match.groups() if group), "") if match.groups() else words
        if content_words(what) < MIN_CONTENT:
            continue
        # asking whether one may is a request for the moment, unless there is a reason for it
        momentary = statement.sentence.is_momentary or statement.sentence.points_back
        less = 0.15 * (momentary + (pattern is _CHANCE and not statement.has_reason))
        # "keep the fixes small" in the order that opens a session is about that order
        less += 0.4 * (statement.is_brief and pattern is _KEEP and not statement.has_reason)
        return statement.found(NAME, category_of(words, "preference"), prior + correcting - less, "user_explicit")
    return None


def _stated(statement: Statement) -> Found | None:
    words = spelled(statement.sentence.text)
    bonus = 0.05 if statement.has_reason else 0.0
    origin = "user_correction" if statement.turn.after_work else "user_explicit"
    if _PREFER.search(words):
        return _preferred(statement, bonus)
    first = _INSTEAD_FIRST.match(words)
    if first and content_words(first["what"]) >= MIN_CONTENT:
        return statement.found(NAME, category_of(words, "preference"), 0.6 + bonus, origin)
    if _INSTEAD.search(words):
        known = 0.1 if key_of(words)[0] else 0.0
        return statement.found(NAME, "preference", 0.7 + bonus + known, origin)
    if _RATHER.match(words) and statement.turn.after_work:
        return statement.found(NAME, "decision", 0.5 + bonus, origin)
    if _HABIT.search(words) or _WISH.search(words) or _WHEN_YOU.search(words):
        return statement.found(NAME, category_of(words, "preference"), 0.75, "user_explicit")
    return _liked(statement, bonus, origin)


def _liked(statement: Statement, bonus: float, origin: CandidateOrigin) -> Found | None:
    words = statement.sentence.text
    kept = _DONE_SO.match(words)
    if kept and not _NOW.search(words):
        return statement.found(NAME, category_of(words, "preference"), 0.65 + bonus, origin)
    if _LIKE.search(words):
        return statement.found(NAME, category_of(words, "preference"), 0.65 + bonus, origin)
    dislikes = _DISLIKE.search(words)
    if dislikes and content_words(dislikes["what"]) >= MIN_CONTENT:
        return statement.found(NAME, "preference", 0.65 + bonus, origin)
    if _INSTEAD_LAST.match(words) and statement.turn.after_work:
        return statement.found(NAME, "preference", 0.5 + bonus, "user_correction")
    return None


def _preferred(statement: Statement, bonus: float) -> Found | None:
    match = _PREFER.search(statement.sentence.text)
    what = next((group for group in match.groups() if group), "") if match else ""
    if content_words(what) < MIN_CONTENT:
        return None
    category = "decision" if _CHOICE.search(what) else "preference"
    return statement.found(NAME, category, 0.8 + bonus, "user_explicit")
