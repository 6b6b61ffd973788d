"""What a person says about where and how they work: their system, and calls that they found to work."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events
from slowwave.extraction.found import Found
from slowwave.extraction.statements import category_of, statements

NAME = "surroundings"
_ON = re.compile(
    r"\b(?:i(?:'m| am)|we(?:'re| are)|i (?:work|develop|code) (?:on|in|with)|my (?:machine|laptop"
    r"|computer|system|shell|editor|os) (?:is"
    r"|runs)) (?:on |running |using |developing on |working on )?(?:an? |the )?(?:new )?"
    r"(?:ubuntu|debian|fedora|arch|nixos|centos|rhel|alpine|linux|mac ?os|macos|osx|a mac|mac|windows"
    r"|wsl2?|freebsd|zsh|bash|fish|nushell|powershell|neovim|vim|emacs|vs ?code|apple silicon|arm64"
    r"|m[1-4]\b)",
    re.IGNORECASE,
)
# what the assistant's own machine is and has, as the person tells it
_YOURS = re.compile(
    r"\byou(?:'re| are) (?:currently |running |working )?(?:on|in|inside) (?:an? |the |my )?(?:new )?(?:\w+ )?(?:ubuntu"
    r"|debian|fedora|arch|nixos|alpine|linux|mac ?os|mac|windows|wsl2?|freebsd|docker|container|vm|sandbox|devcontainer"
    r"|host|raspberry pi|dev ?container)\b"
    r"|^(?:this|the|my|our) (?:system|machine|computer|server|host|box|laptop|vm|container|environment|cluster) "
    r"(?:has|have|runs?|is running|uses|is on|doesn'?t have|has no)\b(?! (?:an? )?(?:bug|error|issue|problem|stopped"
    r"|crashed|been))|\b(?:you|we) (?:also )?(?:have|can use) (?:`[^`]+`|[\w.-]+(?: [\w.-]+)?)"
    r" (?:available|installed|set up)\b",
    re.IGNORECASE,
)
# where somebody or something is reached
_REACHED = re.compile(
    r"^(?:(?:his|her|their|my|our|the) (?:[\w'-]+ ){0,3}?|[\w'-]+'s )(?:e-?mail(?: address)?|user ?name|handle|account"
    r"|phone(?: number)?|url|address|host(?:name)?|port|endpoint|domain|channel|board|dashboard|bucket|tenant"
    r"|time ?zone"
    r"|staging|production|server) (?:is|are)(?: at| on| under)? [`'\"]?(?=\S*[\d@:./#_-])\S",
    re.IGNORECASE,
)
_WORKED = re.compile(
    r"^(?:this|that|the following) (?:one )?work(?:s|ed)(?: for me)?\s*:\s*(?P<call>\S.{6,})$", re.IGNORECASE
)
_STEPS = re.compile(
    r"(?:^|[,;]\s+|\band )(?:please )?(?P<verb>commit(?:ting)?|push|run|update|test|document|check"
    r"|format|lint|rebuild|ask|show|review|explain|confirm|report)\b.{0,80}?"
    r"\b(?:(?:as|after|before) (?:each|every)|(?:each|every) (?:time|step|task|feature|change|commit"
    r"|file|phase)|one at a time|once (?:a|each|every|the) \w+ (?:is|are)|before (?:we|you) (?:change"
    r"|touch|edit|write|implement|do) anything)\b",
    re.IGNORECASE,
)
_FAULT = re.compile(
    r"\b(?:wrong|busy|taken|in use|missing|broken|down|undefined|empty|not|(?:can|could) you)\b", re.IGNORECASE
)
_ASIDE = re.compile(r",? (?:can|could|would) you\b", re.IGNORECASE)
_FIRST = re.compile(
    r"^(?:let'?s|we (?:should|need to)|please|first|you (?:should|need to)|i want to)\b.*\bbefore (?:we|you) "
    r"(?:change|touch|edit|write|code|implement|do|start|begin|make|build|commit)\b",
    re.IGNORECASE,
)


def mine_surroundings(events: Events) -> Iterator[Found]:
    """Yield what a person says about their system and their way of working."""
    for statement in statements(events):
        words = statement.sentence.text
        if statement.sentence.is_question:
            continue
        worked = _WORKED.match(words)
        lasts = not statement.sentence.is_momentary
        if (
            lasts
            and not _ASIDE.search(words)
            and (_ON.search(words) or _YOURS.search(words) or (_REACHED.match(words) and not _FAULT.search(words)))
        ):
            yield statement.found(NAME, "project", 0.65, "user_explicit")
        elif worked:
            yield statement.found(NAME, "pattern", 0.6, "user_explicit", f"`{worked['call'].strip('`')}` works")
        elif _STEPS.search(words) or _FIRST.search(words):
            yield statement.found(NAME, category_of(words, "preference"), 0.6, "user_explicit")
