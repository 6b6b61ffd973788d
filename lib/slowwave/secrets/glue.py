"""Values that source code or markup parts without changing them: literals that are added up or joined, tags within.

Where ``GLUES`` and ``LISTS`` are, needs no look at the text; the rest is looked for behind names of secrets only.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from slowwave.secrets.layers import View, without

_SIGNS = ("+", " + ", ".", " . ", " .. ", " & ", " || ", " ++ ", " <> ")
GLUES = (
    *(f"{q}{sign}{p}" for q in "\"'`" for p in "\"'`" for sign in _SIGNS),
    *(f"+={by}{q}" for q in "\"'" for by in ("", " ")),
    "<b>", "<i>", "<em>", "<strong>", "<wbr", "<span>", "<mark>", "<!-- -->", "<!---->",
)  # fmt: skip
# lines that go on in mail; in base64, where the line and the value end
MAIL = ("=\n", "=\r\n")
LISTS = ('.join("")', ".join('')", '"".join(', "''.join(", "implode('',", 'implode("",', "concat(", "paste0(")
_QUOTE = r"\\?[\"'`]"
_STRING = r"\s{0,80}(?:(?:\+\+?|\.\.?|&|\|\||<>|\\)\s{0,80})?[bfru]{0,2}" + _QUOTE
# what follows each of the signs that a glue can begin with; one class in front is looked for faster than many forms
_GLUE = (
    r"[\\=\"'`(<*](?:"
    r"(?<=\\)\r?\n[ \t]{0,80}(?:[>|#*] )?"  # a line that goes on
    r"|(?<=[^\s=]=)\r?\n(?=[^\s=])"  # the same in mail
    rf"|(?:(?<=[\"'`])|(?<=\\)[\"'`])(?:[ \t]{{0,8}}\\?{_STRING}|;?\s{{1,80}}[\w.$]{{1,40}}\s?[+.]=\s?{_QUOTE})"
    r"|(?<=\()\s{0,4}\n\s{0,80}(?=[\"'])"  # brackets around literals on lines of their own
    r"|(?<=[\w!-~]<)(?:/?(?:b|i|u|em|strong|span|mark|code|wbr)[ ]?/?>|!--[^<>]{0,40}-->)|(?<=[\w!-~]\*)\*(?=\w))"
)
_OF_ONE = re.compile(_GLUE)
_OF_LISTS = re.compile(
    r"(?:\"\"|'')\.join\(\[?(?=[\"'])|(?:concat|paste0)\((?=[\"'])|implode\((?:''|\"\"),\s?(?:\[|array\()?(?=[\"'])"
    rf"|{_QUOTE}\s{{0,20}},\s{{0,80}}{_QUOTE}|{_QUOTE}\.concat\({_QUOTE}|{_GLUE}"
)
# behind a name, or the beginning of a secret: literals side by side, with no sign that they belong together
_BESIDE = re.compile(
    r"(?:[^\"'\n]{0,40}+[\"'])?[^\"'\n]{0,120}+[\"'][ \t]{0,3}(?:[+.&]?\s{0,3}\n\s{0,40}[+.&]?\s{0,3})?\\?[\"']"
    r"|[^\"'\n]{0,20}\([ \t]{0,3}\n\s{0,40}[\"']|[\w\-+/]{1,100}\*\*\w"
)
# one name holds several literals
_APART = 16


def glued(text: str, *, lists: bool) -> View | None:
    """Return a text with what was parted put together.

    Args:
        text: the text.
        lists: literals between commas, too, as where a list of them is joined.
    """
    return without(text, _OF_LISTS if lists else _OF_ONE, lambda _match: "")


def beside(text: str, ends: Iterable[int] | Sequence[int]) -> Iterator[int]:
    """Yield behind which names source code writes literals side by side.

    Args:
        text: the text.
        ends: where names end, in order.
    """
    last = -_APART
    for end in ends:
        if end - last >= _APART:
            last = end
            if _BESIDE.match(text, end):
                yield end
