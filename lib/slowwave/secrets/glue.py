"""Signs of source code, mail and markup that part a value without changing it: ends of lines, tags, bold letters.

Where ``TAGS`` are, needs no look at the text; the rest is looked for behind names of secrets only. ``JOINS`` and
``LISTS`` are where literals are put together (:mod:`slowwave.secrets.pieces`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from slowwave.secrets.layers import View, without

_SIGNS = ("+", " + ", ".", " . ", " .. ", " & ", " || ", " ++ ", " <> ", " ~ ", " ^ ")
JOINS = (
    # between backticks a dot ends a sentence
    *(f"{q}{sign}{p}" for q in "\"'`" for p in "\"'`" for sign in _SIGNS if "." not in sign or "`" not in q + p),
    *(f"+={by}{q}" for q in "\"'" for by in ("", " ")),
)
TAGS = ("<b>", "<i>", "<em>", "<strong>", "<wbr", "<span>", "<mark>", "<!-- -->", "<!---->", "<![cdata[")
# lines that go on in mail and in a shell; in base64, where the line and the value end
MAIL = ("=\n", "=\r\n", "^\n", "^\r\n")
LISTS = (
    '.join("")',
    ".join('')",
    '"".join(',
    "''.join(",
    "implode(",
    "strings.join(",
    "concat('",
    'concat("',
    "concat!(",
    "paste0(",
    "-join",
    "%s%s",
    "{}{}",
)
_TAGS = r"(?:b|i|u|em|strong|span|mark|code|kbd|wbr|br|tt|small|sub|sup|font|a)(?:\s[^<>]{0,60})?/?>"
# what follows each of the signs that a glue can begin with; one class in front is looked for faster than many forms
_GLUE = (
    r"[\\=<*^\]\[}](?:"
    r"(?<=[\w!-~]\\)-(?=\w)|(?<=[\w!-~]\[)/?[biu]\]|(?<=\w\})\\\w{2,8}\{|"
    r"(?<=\\)\r?\n[+\-]?[ \t]{0,80}(?:[>|#*] )?"  # a line that goes on
    r"|(?<=[^\s=^][=^])\r?\n(?=[^\s=])"  # the same in mail, and in a shell
    r"|(?<=<)!\[CDATA\[|(?<=\])\]>(?:<!\[CDATA\[)?"
    rf"|(?<=[\w!-~]<)(?:/?{_TAGS}(?:</?{_TAGS}){{0,3}}|!--[^<>]{{0,40}}-->)|(?<=[\w!-~]\*)\*(?=\w))"
)
_FORMS = {False: re.compile(_GLUE), True: re.compile(rf"(?<![^\s:=(>])(?:<{_TAGS}(?=[^\s<])|\\text\w\w\{{)|{_GLUE}")}
_PARTING = rf"(?:</?{_TAGS}|\*(?<=\w\*)\*?\w|\[/?[biu]\]|\\-(?=\w)|\\text\w\w\{{|<!--[^<>]{{0,40}}-->)"
# behind a name, or the beginning of a secret: what may be parted, with no sign that is worth a look everywhere
_PARTED = re.compile(rf"(?:[^\n<*\[\\}}]{{1,80}}+|(?!{_PARTING})[<*\[\\}}]){{0,8}}+(?={_PARTING})")
# one name holds several values
APART = 16


def glued(text: str, *, named: bool) -> View | None:
    """Return a text with what was parted put together.

    Args:
        text: the text.
        named: a tag between a name and its value goes, too.
    """
    return without(text, _FORMS[named], lambda _match: "")


def parted(text: str, ends: Iterable[int] | Sequence[int]) -> Iterator[int]:
    """Yield behind which names tags or signs for bold letters may part a value.

    Args:
        text: the text.
        ends: where names end, in order.
    """
    last = -APART
    for end in ends:
        if end - last >= APART:
            last = end
            if _PARTED.match(text, end):
                yield end
