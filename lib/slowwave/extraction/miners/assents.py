"""Options that a person picks by their label ("let's go with B"), in the words of the assistant that offered them."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Events, Turn
from slowwave.extraction.found import Found
from slowwave.extraction.statements import MIN_CONTENT, content_words
from slowwave.hostile import is_hostile
from slowwave.letters import one_line

NAME = "assent"
_PICKS = re.compile(
    r"^(?:(?:yes|yeah?|yep|ok(?:ay)?|sure|right|agreed|hmm+|i (?:also )?(?:think|agree with|like|prefer|choose"
    r"|pick|take"
    r"|want)|i(?:'d| would) (?:like|prefer|go (?:with|for)|choose|pick|take)|i vote for|let'?s (?:go|do|use|take|try)"
    r"(?: (?:with|for))?|go(?:ing)? (?:with|for)|do|use|take)[,.!:\s]+)*"
    r"(?:the )?(?P<kind>(?:option|approach|variant|choice|proposal|design|direction|alternative|solution)s?)?\s*"
    r"\(?(?P<label>[A-Ha-h]|[1-9])(?:\)|(?=[\s,.;:!]|$))(?P<rest>[^\n]*)",
    re.IGNORECASE,
)
# "a few more", "I do 3 things", "1. the date is today": no label, or the number of a list of their own
_NO_LABEL = re.compile(
    r"^[.:]\s|^\s+(?:few|lot|bit|new|little|good|bug|test|file|more|of|or)\b|^\s+\w+s\b", re.IGNORECASE
)
_OPTION = (
    r"^[ \t>*_#-]*(?:(?:option|approach|variant|choice|proposal|design|direction|alternative|solution) )?"
    r"#?\(?{label}(?:[).\]:]|\s[\u2013\u2014-])[*_ \t:.\u2013\u2014-]*(?P<text>\S.*)$"
)
# what to do next is for the moment; how the thing shall be is for good
_STEP = re.compile(
    r"^(?:continue|proceed|commit|push|run|re-?run|test|stop|wait|skip|merge|open|review|ship|start|create (?:a |the )?"
    r"(?:pr|pull request|branch|commit)|look|check|investigate|show|explain|leave (?:it|this|that) as)\b",
    re.IGNORECASE,
)
_MOST_CHARS = 160
_FEW_WORDS = 3


def mine_assents(events: Events) -> Iterator[Found]:
    """Yield the options that are named by their label alone, in the words of who proposed them."""
    for turn in events.turns:
        picked = _PICKS.match(turn.text)
        if not picked or _NO_LABEL.match(picked["rest"]) or (picked["label"].islower() and not picked["kind"]):
            continue
        option = "" if _is_own_list(picked) else _option(picked["label"], turn)
        if option and not is_hostile(option) and not is_hostile(turn.text):
            quote = one_line(picked[0])
            yield Found(NAME, "decision", f"{option} (chosen: {quote})", 0.5, "user_explicit", (turn,), quote)


def _is_own_list(picked: re.Match[str]) -> bool:
    """Say whether the label only numbers what the person goes on to say: "B) I'd like to add a hook"."""
    begins = not picked[0][: picked.start("label") - picked.start()].strip(" (")
    return begins and picked.string[picked.end("label") :].startswith(")") and len(picked["rest"].split()) > _FEW_WORDS


def _option(label: str, turn: Turn) -> str:
    """Return the words of an option, "" where the assistant gave no choice or where they name only a next step."""
    found = _labelled(label, turn.after)
    other = next((one for one in ("ABCDEFGH" if label.isalpha() else "123456789") if one != label.upper()), "")
    if not found or found.endswith("?") or not _labelled(other, turn.after) or _STEP.match(found):
        return ""
    return found if content_words(found) >= MIN_CONTENT else ""


def _labelled(label: str, text: str) -> str:
    """Return the first sentence behind a label at the start of a line."""
    found = re.search(_OPTION.format(label=re.escape(label)), text, re.IGNORECASE | re.MULTILINE)
    words = one_line(found["text"].replace("**", "").replace("__", "")) if found else ""
    return words if len(words) <= _MOST_CHARS else words[:_MOST_CHARS].rpartition(" ")[0] + "…"
