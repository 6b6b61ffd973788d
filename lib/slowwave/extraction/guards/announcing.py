"""Clauses with which people announce the words of others, or talk about them afterwards."""

import re

# what holds words that somebody else wrote
_SOURCE = (
    r"(?:e-?mails?|mails?|letters?|tickets?|issues?|bug reports?|chats?|slack|teams|discord|messages?|docs?"
    r"|documentation"
    r"|readme(?:\.\w+)?|\w+\.(?:md|txt|rst|html|pdf)|articles?|posts?|blogs?|tweets?|comments?|reviews?"
    r"|reviewers?|pages?"
    r"|websites?|homepage|sites?|specs?|manuals?|handbooks?|guides?|wikis?|intranet|papers?|pdfs?|abstracts?"
    r"|transcripts?"
    r"|minutes|notes?|memos?|threads?|forums?|stack ?overflow|reddit|newsletters?|changelogs?|release notes?|banners?"
    r"|labels?|signs?|pop-?ups?|dialogs?|tooltips?|captions?|strings?|texts?|sentences?|paragraphs?|lines?|snippets?"
    r"|quotes?|quotations?|excerpts?|prompts?|answers?|replies|reply|responses?|outputs?|logs?|errors?"
    r"|warnings?|tools?"
    r"|bots?|chatbots?|models?|assistants?|agents?|llms?|chatgpt|gpt\S*|gemini|copilot|claude|bard|linters?"
    r"|compilers?"
    r"|support|forms?|customers?|clients?|users?|vendors?|suppliers?|colleagues?|cow-?orkers?|boss|manager"
    r"|intern|consultants?"
    r"|contractors?|strangers?|someone|somebody|friends?|faqs?|advice|proposals?|rfcs?|policy|statements?|templates?)"
)
_SPEAKS = (
    r"(?:says?|said|reads?|states?|stated|claims?|claimed|writes?|wrote|tells?|told|suggests?|suggested|recommends?"
    r"|recommended|posted|posts|replied|replies|answered|answers|asked|asks|commented|reported|reports|sent|left"
    r"|forwarded|mentions?|mentioned|has this|had this|insists?|insisted|sagte?|schrieb|schreibt|meinte?|dice|dijo"
    r"|escribi\u00f3|dit|a dit|a \u00e9crit|\u00e9crit|ha scritto|dice che)"
)
# the person's own report of their own words
_OWN = re.compile(
    r"\b(?:i|we|i've|we've|as i|like i)\s+(?:\w+\s+){0,2}(?:says?|said|told|asked|wrote|mean|meant|want|decided"
    r"|agreed"
    r"|need|prefer|expect|repeat)\b|\b(?:my|our) (?:own )?(?:rules?|wish(?:es)?|preferences?|conventions?"
    r"|requests?)\b"
    r"|\b(?:rules?|conventions?|requirements?|constraints?|decisions?|preferences?|reminder|remember|keep in mind"
    r"|important|please note|one (?:more )?thing|things? to (?:note|remember|know))\b",
    re.IGNORECASE,
)
# the closed class of leads with which people announce their own words; a verb of theirs, a word for a rule, a marker of
# discourse, a request to build something
_OWN_LEAD = re.compile(
    r"^(?:also|and|but|so|ok(?:ay)?|btw|by the way|ps|p\.s\.|fyi|note|nb|n\.b\.|important|reminder|please|pls"
    r"|again|finally"
    r"|lastly|last|next|first\w*|second\w*|third\w*|then|now|one|two|three|four|five|some|several|a few|another"
    r"|attention"
    r"|caution|careful|todo|clarification|correction|update|edit|yes|no|nope|sure|agreed|right|exactly|actually"
    r"|in short|in general"
    r"|in other words|to be clear|specifically|wichtig|bitte|merke|au\u00dferdem|regel|regle|importante?"
    r"|recuerda|nota)\b"
    # a verdict on what was done, and behind the colon what is wanted instead
    r"|^(?:no,? )?(?:that|this|it)(?:'s| is| was|s| looks| still)* (?:not|wrong|right|incorrect|bad|broken|better"
    r"|worse|good|fine|nonsense|enough|too|so)\b"
    r"|\b(?:rules?|conventions?|preferences?|requirements?|constraints?|decisions?|wish(?:es)?|principles?"
    r"|things?|points?|reasons?"
    r"|problems?|goals?|ideas?|plans?|styles?|formats?|scope|approach|options?|instead|questions?|tasks?"
    r"|changes?|fix(?:es)?|bugs?"
    r"|steps?|way|setup|structure)\b"
    r"|\b(?:i|we|i'd|we'd|i'm|we're|let'?s|you)\s+(?:\w+\s+){0,2}(?:want|need|decided|agreed|told|said|mean"
    r"|meant|prefer|expect|like"
    r"|think|would|should|must|do|use|have|can|could|will|are|am|were|went|chose|settled|keep|repeat|insist|care)\b"
    r"|^(?:do|add|implement|change|build|create|use|make sure|ensure|follow|apply|keep|stick|adopt|set|start"
    r"|try|write|name|call)\b",
    re.IGNORECASE,
)
_SPECIMEN = re.compile(
    r"\b(?:text|quote|excerpt|original|body|content|input|sample|source|sentence|phrase|wording|example)$"
    r"|^(?:text|quote|excerpt|sentence|phrase)\b|^\w+ (?:texted|asked|wrote|shouted|joked|noted|warned|typed"
    r"|says?|said)$",
    re.IGNORECASE,
)
# who hands words on: somebody else, and what they did with them
_HANDS_ON = re.compile(
    r"^(?!(?:i|we|you|it|that|this|there|please|can|could)\b)(?:[\w'-]+ ){1,5}?(?:sent|left|posted|added"
    r"|scribbled|gave|shared|forwarded|put"
    r"|published|texted|e?mailed|pinged|slipped|included|pasted|dropped|submitted|typed|attached|wrote|quoted|told)\b"
    r"(?=.*\b(?:this|these|it|us|me|over|a|an|another|some|the following)\b)",
    re.IGNORECASE,
)
_LEFT_OPEN = re.compile(
    r"(?<!\bi)(?<!\bwe)(?<!\byou) (?:sent|left|posted|added|scribbled|gave|shared|forwarded|put|published"
    r"|pasted|typed|wrote|said"
    r"|meant|shows|prints|says|reads)$",
    re.IGNORECASE,
)
_ASKS_ABOUT = re.compile(
    r"\b(?:of these|the following|(?:is|are) these|these (?:two|three|is|are))\b|'s (?:take|view|opinion|answer"
    r"|version|words)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:i|we|you|me|us|my|our|your|let'?s|it)\b", re.IGNORECASE)
_SIGNATURE = re.compile(r"^[A-Z\u00c0-\u00de][\w.'-]+(?: [A-Z\u00c0-\u00de][\w.'-]+){1,2}(?:, [^.]{1,30})?$")
# a heading of a person's own rule: "for the docs:", "commit messages:"
_TOPIC = re.compile(
    r"^(?:(?:for|about|on|in|regarding|concerning|with|when|whenever|if|as for)\b|\W*\w+(?: \w+)?$)", re.IGNORECASE
)
_ACQUIRED = re.compile(
    r"\b(?:i|we)(?:'ve| have| just| also)*\s+(?:read|saw|see|found|find|got|get|received|copied|pasted|heard"
    r"|overheard|noticed|intercepted|wrote down"
    r"|was told|were told|quote|came across)\b|^(?:pasting|pasted|copied|copy|quote|quoting|quoted|fwd"
    r"|forwarded|excerpt"
    r"|extract|text|abstract|transcript|notes|minutes|summary|tl;?dr) (?:from|of|off|out)\b|\baccording to\b"
    r"|^this (?:just )?(?:came|arrived|landed|was sent|is from|is what|popped up)\b",
    re.IGNORECASE,
)
# announced whatever holds it
_FOLLOWS = re.compile(
    r"\b(?:the following|as follows|(?:see |quoted |pasted )?below|that follows|what follows)$", re.IGNORECASE
)
_SHOWS = re.compile(r"^(?:and |so |ok,? )?(?:here(?:'s| is| are)|below is)\b(?! my\b| our\b)", re.IGNORECASE)
# a text rather than a piece of code, pointed at
_THIS_TEXT = re.compile(
    r"\b(?:this|these|the following|next)\s+(?:\w+\s+)?(?:sentences?|texts?|lines?|paragraphs?|clauses?"
    r"|phrases?|wordings?|slogans?"
    r"|quotes?|tweets?|messages?|e?-?mails?|comments?|docstrings?|notes?|claims?|statements?|replies|reply"
    r"|answers?|headlines?)\b",
    re.IGNORECASE,
)
_HERE_IS = re.compile(
    r"^(?:and |so )?(?:here(?:'s| is| are)|below (?:is|are)|this is|these are|see|look at|have a look at)\b",
    re.IGNORECASE,
)
_SPEAKER = re.compile(rf"\b{_SPEAKS}\b", re.IGNORECASE)
_NAMES_SOURCE = re.compile(rf"(?<![-/])\b{_SOURCE}\b", re.IGNORECASE)
_POINTS = re.compile(
    r"\b(?:the following|as follows|(?:text|line|lines|sentence|paragraph|mail|message|part|block)s? below"
    r"|below[.:]?$"
    r"|(?:that|which) follows|what follows|(?:the )?next (?:line|sentence|paragraph|message)|(?:after"
    r"|behind) the colon"
    r"|(?:the|this|these|following) (?:text|sentence|line|paragraph|quote|snippet|answer|reply|advice|e?-?mail"
    r"|message)s?$"
    r"|(?:was|is|were) (?:this|these)$|\bthis(?: \w+)?$|\bout of this$|\bthis one$)",
    re.IGNORECASE,
)
# what people ask to be done with a text rather than with code
_HANDLES = re.compile(
    r"^(?:(?:and|now|please|pls|then|could|can|would|will|you|kindly|just|so|also|me|help|to)[ ,]+)*"
    r"(?:translate|summari[sz]e|rephrase|reword|rewrite|paraphrase|proof-?read|shorten|condense|polish|spell-?check"
    r"|explain|interpret|classify|categori[sz]e|analy[sz]e|parse|decode|detect|identify|count|find|fix|check|turn"
    r"|convert|make|draft|reply|respond|answer|review|critique|rate|grade|evaluate|compare|quote|read|put|extract|say"
    r"|tell me what|guess|simplify|improve|judge|score|critici[sz]e|comment on|see|look at|complete|continue"
    r"|format|punctuate|transcribe|\u00fcbersetze?|traduis|traduce|korrigiere"
    r"|erkl\u00e4re?|fasse)\b",
    re.IGNORECASE,
)
_LANGUAGE_TASKS = re.compile(
    r"^(?:please |pls |could you |can you |now |and )*(?:translate|summari[sz]e|rephrase|reword|paraphrase"
    r"|proof-?read"
    r"|shorten|condense|spell-?check|classify|critique|transcribe|\u00fcbersetze?|traduis|traduce|korrigiere)\b"
    r"|\bhow (?:would|do|does|can) (?:you|one|i|we) say\b|\bwhat(?:'s| is| does| do)\b.*\b(?:mean|meant"
    r"|in (?:english|german"
    r"|french|spanish|italian|plain words))\b|^was hei\u00dft\b|^wie sagt man\b|\b(?:sounds?|is it any good"
    r"|well written)\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"^(?:\(?\s*)?(?:(?:and |but |so )?(?:that|this|it)(?:'s| is| was| were)? (?:what|how|from|taken from"
    r"|copied from|quoted)"
    r"|(?:is|was|isn'?t|are) (?:that|this|it|these|those) (?:\w+ )?(?:true|right|correct|so|valid|still"
    r"|any good|polite|accurate"
    r"|real|legit|serious|spam|a joke)\b|(?:source|via|quelle|origin|from|fuente)(?:$|\s*:)"
    r"|(?:spam or|true or|fact or|any truth|thoughts\??$|funny\b|(?:is|was) (?:what|how)\b|seems off"
    r"|sounds (?:off|wrong|fishy)|do you agree\b"
    r"|do you (?:buy|believe) (?:that|this|it)|i (?:doubt|don'?t (?:buy|believe|trust)) (?:it|that|this)"
    r"|what do you (?:think|make)|how (?:should|do|would|can) (?:i|we|you) (?:answer|reply|respond|react)"
    r"|put (?:this|that|it) (?:in|into|on)\b|<-|\^)"
    r"|(?:where|who|why|what|how)\b.{0,40}\b(?:this|that|it)\b.{0,24}\b(?:come|comes|mean|parsed|from|wrote"
    r"|written|say)\b"
    r"|(?:who|why|what|how)\b.{0,60}\b(?:answers?|repl(?:y|ies)|wrote|written|say|said|claims?|print(?:s"
    r"|ed)?)\b.*\blike that"
    r"|who (?:wrote|said|put|added)\b|(?:and |which )(?:i|nobody|no one)\b.{0,30}\b(?:gone|remember\w*|wrote"
    r"|doubt|understand)\b)"
    r"|^(?:this|that|the) (?:comment|line|text|sentence|message|e?mail|note|quote|string|warning|sign|label"
    r"|banner|tweet|post"
    r"|paragraph|prompt|answer|reply|advice|claim)\b.{0,60}\b(?:is|was|looks|seems|sounds|breaks|came)\b",
    re.IGNORECASE,
)
# what people ask an agent to do begins with a verb, and may name a file or a page
_HANDLES_CODE = re.compile(
    r"^(?:[a-z]|(?i:please|can|could|would|let'?s|you|we|i|why|how|what|where|when|is|are|does|do|add|fix"
    r"|update|remove|move|read|check"
    r"|look|see|use|make|write|run|rename|open|create|change|delete|put|implement|always|never|no|not|don'?t)\b)",
)
_FEWEST_OF_TITLE, _MOST_OF_TITLE = 3, 8
_LIST_MARKS = frozenset("-*+\u2022")
_DASHES = frozenset("-\u2013\u2014")
_DEICTIC = re.compile(r"\b(?:this|these|following|below)\b", re.IGNORECASE)
_LETTER = re.compile(
    r"^(?:from|to|cc|bcc|subject|date|sent|von|an|betreff|gesendet|de|\u00e0|objet|asunto|para|reply-to)$"
    r"|^(?:re|fwd?|aw|wg|tr|rv)$",
    re.IGNORECASE,
)
_FORWARDED = re.compile(
    r"^[->\s]*(?:begin )?(?:forwarded|original|weitergeleitete|urspr\u00fcngliche) (?:message|mail|nachricht)\b"
    r"|^(?:on|am|le|el) .{4,80}\b(?:wrote|schrieb|a \u00e9crit|escribi\u00f3)\b",
    re.IGNORECASE,
)
# direct speech without marks begins with a capital behind the verb: the sign says Always wear a helmet
_DIRECT = re.compile(
    rf"\b{_SOURCE}\b[^.!?:\n]{{0,50}}\b(?i:says?|said|reads?|states?|claims?|told (?:me|us)|tells (?:me|us|you)"
    rf"|was|is|shows?|prints?)"
    r"(?: (?:that|to))? (?=[A-Z\u00c0-\u00de\u0410-\u042f\u3040-\u30ff\u4e00-\u9fff])"
    rf"|\b(?i:the|that|this|its|their|our)\b (?i:{_SOURCE})\b[^.!?:\n]{{0,30}}\b(?i:says?|reads?|states?"
    rf"|claims?|recommends?|suggests?)\b"
    r" (?=(?:that|to|we|you|always|never|use)\b)|^(?i:according to)\b",
)


# ordinary words have a capital only where a sentence begins
_SPOKEN = re.compile(
    r"(?<!\bI)(?<!\b[Ww]e)(?<!\b[Yy]ou) (?:wrote|writes?|said|says?|reads|states|goes|keeps saying) "
    r"(?=(?:All|Always|Never|We|You|Use|Make|Stick|Don't|Do|No|Please|From|Remember|The|A|An|This|These|When"
    r"|Whenever|If|Every|It"
    r"|Our|Run|Keep|Add|Must|Only|Each|Any|Nobody|Everybody|Everyone|To|In|On|For|Before|After|I'd|I'll|I)\b)"
)


def announces(clause: str, mark: str) -> bool:
    """Say whether the words behind a clause are shown to be those of somebody or something else.

    Args:
        clause: the clause.
        mark: what stands behind it, a line feed at the end of a line.
    """
    open_end = clause[-1:] not in ".!?,;"
    if mark in (":", "=") or (open_end and (mark == "\n" or set(mark) <= _DASHES)):
        return _leads_in(clause, mark)
    bare = clause.rstrip(".!?")
    if _LANGUAGE_TASKS.search(clause) and _DEICTIC.search(clause):
        return True
    if (_FOLLOWS.search(bare) or _SHOWS.match(bare)) and not _OWN_LEAD.search(bare):
        return True
    if _THIS_TEXT.search(clause) and (clause.endswith("?") or _HANDLES.match(clause)):
        return True
    if _HANDS_ON.match(clause) or (clause.endswith("?") and _ASKS_ABOUT.search(clause)):
        return True
    return bool(_POINTS.search(bare)) and bool(_HANDLES.match(clause) or _NAMES_SOURCE.search(clause))


def may_announce(clause: str, mark: str) -> bool:
    """Say whether a clause before a colon is none of the leads with which people announce their own words."""
    if mark != ":" or _SPECIMEN.search(clause):
        return mark == ":"
    if (_OWN.search(clause) and not _ACQUIRED.search(clause)) or _OWN_LEAD.search(clause):
        return False
    return bool(_HANDLES.match(clause)) or not _TOPIC.match(clause)


def _leads_in(clause: str, mark: str) -> bool:
    """Say whether a clause before a colon, or a line that ends in nothing, tells of the words of others."""
    if _LANGUAGE_TASKS.search(clause):
        return True
    told = bool(_SPEAKER.search(clause) or _ACQUIRED.search(clause))
    if _OWN.search(clause) and not _ACQUIRED.search(clause):
        return False
    named = bool(_NAMES_SOURCE.search(clause))
    if mark in (":", "="):
        if told or _HERE_IS.match(clause) or (_HANDLES.match(clause) and (named or _POINTS.search(clause))):
            return True
        return named and not _TOPIC.match(clause)
    if mark == "\n" and _LEFT_OPEN.search(clause):
        return True
    return (told and (named or mark == "\n")) or (bool(_HERE_IS.match(clause) or _FOLLOWS.search(clause)) and named)


def is_title(clause: str, mark: str) -> bool:
    """Say whether a line is a title: it ends in nothing, and nobody in it does or asks anything."""
    if mark != "\n" or clause[-1:] in ".!?,;" or _OWN_LEAD.search(clause) or _HANDLES_CODE.match(clause):
        return False
    if clause[:1] in _LIST_MARKS:
        return False
    few = _FEWEST_OF_TITLE <= len(clause.split()) <= _MOST_OF_TITLE
    return bool(_NAMES_SOURCE.search(clause)) or (few and not _PRONOUN.search(clause))


def is_signature(clause: str, mark: str) -> bool:
    """Say whether a name stands behind a dash at the end of a line, as below a quotation."""
    return mark == "\n" and clause[:1] in _DASHES and bool(_SIGNATURE.match(clause.lstrip("-\u2013\u2014 ")))


def looks_back(clause: str, mark: str) -> bool:
    """Say whether a clause talks about the words before it as about something that somebody else said."""
    return bool(_BACK.match(clause.lstrip("( "))) or (mark == "\n" and bool(_BACK.match(clause)))


def is_forwarded(line: str) -> bool:
    """Say whether a line says that a message of somebody else follows."""
    return bool(_FORWARDED.match(line[:120]))


def is_letter_head(clause: str, mark: str) -> bool:
    """Say whether a letter or a forwarded message begins here."""
    return bool(mark == ":" and _LETTER.match(clause)) or bool(_FORWARDED.match(clause))


def takes_the_rest(clause: str) -> bool:
    """Say whether a clause gives the words of others inside itself, without any mark."""
    return bool(_DIRECT.search(clause) or _SPOKEN.search(clause))
