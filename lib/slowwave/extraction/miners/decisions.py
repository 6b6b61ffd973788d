"""Decisions: "let's go with X because ...", "we decided ...", "retire X"."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import MIN_CONTENT, Statement, content_words, lasting, statements

NAME = "decision"
_DECIDED = re.compile(
    r"\b(?:we|i)(?:'ve| have)? (?:just |already |finally )?(?:decided|agreed|chose|chosen"
    r"|settled)(?! (?:nothing|not? yet)\b) (?:on|to|that|for|not|against)?\b(?P<a>.*)"
    r"|\b(?:the|our|my) (?:final )?decision (?:is|was)\b(?P<b>.*)"
    r"|\bwir haben (?:uns )?(?:entschieden|beschlossen)\b(?P<c>.*)|\bhemos decidido\b(?P<d>.*)"
    r"|\bon a décidé\b(?P<e>.*)",
    re.IGNORECASE,
)
_GO_WITH = re.compile(
    r"^(?:(?:let'?s|we(?:'ll| will| should|'re| are)?|i(?:'ll| will|'m| am)?|i'?m going to|we'?re going to|wir"
    r"|lass uns) )?(?:go|going|stick|sticking|stay|roll|proceed|went|gehen|nehmen) (?:ahead )?(?:with"
    r"|for|mit)\b(?P<what>.*)",
    re.IGNORECASE,
)
_LETS = re.compile(
    r"^(?:let'?s|we(?:'ll| will| are going to|'re going to)|i want to) (?:not |always |also "
    r"|only )?(?P<verb>use|keep|drop|retire|switch|move to|migrate|adopt|stop|store|support|target"
    r"|default|defer|postpone|standardi[sz]e|deprecate|replace|name|stick)\b(?P<what>.*)",
    re.IGNORECASE,
)
_RETIRE = re.compile(
    r"^(?:retire|deprecate|sunset|drop support for|stop supporting|discontinue|abandon|phase out)\b(?P<what>.*)",
    re.IGNORECASE,
)
_SWITCH = re.compile(
    r"\bwe(?:'re| are|'ve| have)? (?:now |going to )?(?:adopt(?:ing|ed)?|switching|switched|moving"
    r"|moved|migrating|migrated|standardi[sz]ed|standardi[sz]ing) (?:from|to|on|over|away)\b(?P<what>.*)",
    re.IGNORECASE,
)
_PICK = re.compile(
    r"\b(?:i|we) (?:actually |really |do |definitely )?(?:choose|pick|like|want"
    r"|take) (?:the )?(?:(?:option|direction|approach|variant|version|design|proposal)\b|\w+ (?:option"
    r"|direction|approach|variant|design)\b)(?P<what>.*)",
    re.IGNORECASE,
)
_AGREE = re.compile(r"^i (?:fully |totally |also )?agree (?:with|on|to|that)\b(?P<what>.*)", re.IGNORECASE)
_NAMED = re.compile(r"`[^`]+`|\b[\w@]+[-_/.][\w/.-]+\b")
_SHOULD = re.compile(
    r"^(?:(?:i (?:think|guess|feel)|yes|ok|so) ?,? (?:that )?)?(?:we|it|they|these|those|that|this|the \w+(?: \w+)?) "
    r"should (?:also |always |just |rather |probably |be )?(?P<verb>(?!(?:be able|know|see|check|look|try|test"
    r"|start|continue|spawn|have a"
    r"|do|go|get|ask|first|review|wait|talk|discuss|commit|push|merge|focus|tackle|close)\b)\w+)\b(?P<what>.*)",
    re.IGNORECASE,
)
# what a part of the work has to be or do, the part named: "the loader needs to be configurable"
_REQUIRED = re.compile(
    r"^(?!(?:i|we|you|it|this|that|these|those|they|he|she|there|what|which|who|if|when|somebody|someone"
    r"|something|nothing"
    r"|don'?t|do|please|can|could|would|make|maybe|perhaps)\b)(?:in regards? to [\w ]{2,40}?,? )?"
    r"(?:the |an? |all |every |each |any |our |my )?[\w`'./@-]+(?: (?!(?:i|you|we|he|she|they|it|what|that)\b)"
    r"[\w`'./@-]+){0,7}? "
    r"(?:also |always |still )?(?:needs?(?: to)?|should(?:n'?t| not)?|must(?: not)?(?! have\b)|ha(?:s|ve) to"
    r"|ought to|shall) "
    r"(?!(?:have been|be able|be \w+ (?:somewhere|somehow|because|by|from)|work now|pass now|go|look|check"
    r"|review|see|have a)\b)(?!(?:an? )?(?:minute|second|moment|break|bit)\b)(?P<what>\w.*)",
    re.IGNORECASE | re.DOTALL,
)
# what a thing is meant for settles how it has to behave
_MEANT = re.compile(
    r"^(?:(?:the|my|our) (?:whole |main )?(?:idea|intent(?:ion)?|purpose|goal|point)(?: (?:here|of \S+(?: \S+){0,4}))?"
    r" (?:is|was)|(?:it|this|that) is (?:meant|intended|supposed)) (?:that |to |for )(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
# "let's <do anything> so that ...": what is reasoned is settled
_LETS_ANY = re.compile(
    r"^(?:and |so |then |i (?:think|say|suggest) )*(?:let'?s|lets|we(?:'ll| will| should)|i(?:'d| would) (?:say"
    r"|suggest|go"
    r"|rather)(?: we)?) (?:just |also |only |not |always |have |do |go )*(?P<what>(?!(?:see|check|look|talk"
    r"|discuss|think"
    r"|wait|hold|try|test|run|review|start|begin|continue|commit|push|merge|proceed|fix|debug|find|figure|investigate"
    r"|understand|focus|move on|go ahead|step back|get|know|need)\b)\w+ .*)",
    re.IGNORECASE | re.DOTALL,
)
# an alternative that is refused outright: "definitely not a TUI"
_NOT_THAT = re.compile(
    r"^(?:definitely|absolutely|certainly|clearly|for sure|ideally)[, ]+(?:not|no|never|avoid)\b(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
# what was in mind all along; what is given up or takes another's place
_IN_MIND = re.compile(
    r"^(?:what|the (?:basic |general |main )?(?:architecture|design|approach|idea|plan|structure)) (?:i|we)(?:'ve)?"
    r"(?: had| have| got| was thinking of)*(?: in mind| want(?:ed)?| mean[t]?)? (?:is|was)\b(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_INSTEAD_OF_IT = re.compile(
    r"\b(?:should|must|shall|may|does|do|will|to)(?: ?not|n'?t)(?: ever)? (?:rely|depend|be based|build) (?:on|upon)\b"
    r"(?P<what>.*)|\b(?:it |this |that |\S+ )?will (?:soon |eventually |later )?(?:be (?:replaced|superseded|removed"
    r"|dropped|retired)|replace|supersede)\b(?P<so>.*)",
    re.IGNORECASE | re.DOTALL,
)
# where a thing goes, named as code names it: "put it in handleSubmit"
_PUT_IT = re.compile(
    r"^(?:please |just |can you )?(?:put|move|keep|do|add|place) (?:it|this|that|them|those|these|the \w+) "
    r"(?:in|into|to|under|inside|at|on) (?:the |our )?(?P<what>`[^`]+`|(?-i:[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*)|\w+_\w+"
    r"|\w*[./]\w[\w./-]*|(?:server|client|backend|frontend)(?: side)?)\W*",
    re.IGNORECASE,
)
_NO_NEED = re.compile(
    r"^(?:i )?(?:don'?t|do not) (?:think|believe|tink) (?:that )?(?:we|it|this|there|you)(?:'s"
    r"|'re)? (?:\w+ )?(?:need|should"
    r"|have to|want|makes? sense|belongs?|necessary|required)\b(?P<what>.*)",
    re.IGNORECASE,
)
_WANT = re.compile(
    r"^(?:(?:i think|yes|no|and|for [\w ]{3,40}?),? )?we (?:will |would |'d |also |do |really |definitely )*want\b"
    r"(?! to (?:go|see|check|review|test|talk|look|understand|know|make sure|find|discuss)\b)(?P<what>.*)",
    re.IGNORECASE,
)
_CAN = re.compile(
    r"^(?:(?:i think|so|then|if so|ok|yes),? )*we can (?:also |just |probably |now |safely )*(?:remove|drop"
    r"|replace|retire|use"
    r"|rely on|assume|skip|ignore|reuse)\b(?P<what>.*)",
    re.IGNORECASE,
)
# how a thing shall behave, asked for as a wish rather than as an order
_BEHAVES = re.compile(
    r"^i (?:do |would |really )*(?:want|need|like|expect) (?:this|that|the|our|my|all"
    r"|every) [\w`'./-]+(?: [\w`'./-]+){0,3}"
    r" to (?:behave|look|work|read|print|output|show|return|respond|act|sound|be|stay|remain|have|use|include|contain"
    r"|default|live|follow|support|match|start|end|run|handle|accept|reject)\b"
    r"(?! (?:fixed|done|merged|removed|updated|able|added|moved|renamed|changed|reverted|gone|a bit"
    r"|more)\b)(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_RENAME = re.compile(
    r"^(?:i think )?(?:let'?s|lets|we(?:'ll| will)|ok,? lets?|please) (?:rename|call|name|have|move|separate|split"
    r"|go back to)\b(?! (?:a |another )?(?:look|chat|talk|go|try|on|over)\b)(?P<what>.*)",
    re.IGNORECASE,
)
# "go ahead with the type-based fix" lets the assistant do what it has proposed
_APPROVES = re.compile(
    r"\bahead with\b|\bwith (?:the|that|this|your) (?:[\w-]+ ){0,3}(?:fix|changes?|plan|proposal|suggestion|approach"
    r"|refactor\w*|patch|cleanup)\b",
    re.IGNORECASE,
)
# when it holds, or why, stands before what is settled: "since it is one record, we should use the service"
_LEAD = re.compile(
    r"^(?:because|since|as|given(?: that)?|when(?:ever)?|for|in|on|with|while|after|before|once|instead of|from|to)\b"
    r"(?! (?:now|the moment|this|that)\b)[^,;:?]{4,110}, (?=\w)",
    re.IGNORECASE,
)
_RIGHT_AWAY = re.compile(
    r"^(?:let'?s|i want to) (?:keep (?:going|working|on|it)|use (?:it|this|that)|drop (?:it|this|that)"
    r"|move (?:on|it|this))\b",
    re.IGNORECASE,
)


_SETTLING = (
    (_AGREE, 0.5),
    (_MEANT, 0.5),
    (_IN_MIND, 0.5),
    (_NOT_THAT, 0.5),
    (_PUT_IT, 0.45),
    (_INSTEAD_OF_IT, 0.4),
    (_BEHAVES, 0.45),
    (_REQUIRED, 0.4),
    (_NO_NEED, 0.5),
    (_WANT, 0.45),
    (_SHOULD, 0.45),
    (_CAN, 0.4),
    (_RENAME, 0.4),
    (_LETS_ANY, 0.3),
)


def mine_decisions(events: Events) -> Iterator[Found]:
    """Yield decisions that name what was decided."""
    for statement in lasting(events):
        found = _decided(statement)
        if found:
            yield found
    for statement in statements(events):
        if not statement.sentence.is_question:
            found = _settled(statement)
            if found:
                yield found


def _settled(statement: Statement) -> Found | None:
    """Take what a person settles in passing: it is kept when it says why, or names the thing by its name."""
    lead = _LEAD.match(statement.sentence.text)
    words = statement.sentence.text[lead.end() if lead else 0 :]
    for pattern, prior in _SETTLING:
        match = pattern.search(words) if pattern is _INSTEAD_OF_IT else pattern.match(words)
        what = _what(match) if match else ""
        least = MIN_CONTENT - (pattern is _AGREE or pattern is _PUT_IT or pattern is _NOT_THAT)
        if not match or words.endswith(":") or content_words(what) < least:
            continue
        if pattern is _LETS_ANY and not statement.has_reason:
            continue
        more = 0.15 * statement.has_reason + 0.1 * bool(_NAMED.search(what))
        less = 0.1 * (statement.sentence.is_momentary or statement.sentence.points_back)
        return statement.found(NAME, "decision", prior + more - less, "user_explicit")
    return None


def _what(match: re.Match[str]) -> str:
    """Return what is settled."""
    return next((group for name, group in match.groupdict().items() if group and name != "verb"), "")


def _decided(statement: Statement) -> Found | None:
    words = statement.sentence.text
    bonus = 0.1 if statement.has_reason else 0.0
    for pattern, prior in (
        (_DECIDED, 0.8),
        (_SWITCH, 0.7),
        (_GO_WITH, 0.65),
        (_RETIRE, 0.65),
        (_PICK, 0.65),
        (_LETS, 0.55),
    ):
        match = pattern.search(words)
        if not match or _RIGHT_AWAY.match(words):
            continue
        what = _what(match)
        if content_words(what) >= MIN_CONTENT:
            # "Ben and I talked: we decided ..." begins behind the colon
            begin = words.rfind(": ", 0, match.start() + 1) + 1
            text = f"{words[begin:].strip()} {statement.reason}".strip()
            doubt = 0.55 if pattern is _GO_WITH and _APPROVES.search(words) else 0.0
            return statement.found(NAME, "decision", prior + bonus - doubt, "user_explicit", text)
    return None
