"""Values that source code or markup parts without changing them: literals that are added up or joined, tags within.

Where ``GLUES`` and ``LISTS`` are, needs no look at the text; the rest is looked for behind names of secrets only.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from slowwave.secrets.layers import View, without

_SIGNS = ("+", " + ", ".", " . ", " .. ", " & ", " || ", " ++ ", " <> ")
GLUES = (
    # between backticks a dot ends a sentence
    *(f"{q}{sign}{p}" for q in "\"'`" for p in "\"'`" for sign in _SIGNS if "." not in sign or "`" not in q + p),
    *(f"+={by}{q}" for q in "\"'" for by in ("", " ")),
    "<b>", "<i>", "<em>", "<strong>", "<wbr", "<span>", "<mark>", "<!-- -->", "<!---->",
)  # fmt: skip
# lines that go on in mail and in a shell; in base64, where the line and the value end
MAIL = ("=\n", "=\r\n", "^\n", "^\r\n")
LISTS = (
    '.join("")',
    ".join('')",
    '"".join(',
    "''.join(",
    "implode('',",
    'implode("",',
    'concat("',
    "concat('",
    'paste0("',
    "paste0('",
    "%s%s",
    "{}{}",
)
_QUOTE = r"\\?[\"'`]"
_TAGS = r"(?:b|i|u|em|strong|span|mark|code|kbd|wbr)(?:\s[^<>]{0,60})?/?>"
_COMMENT = r"/\*[^*\n]{0,40}\*/"
# what stands between literals that are one value: an operator and what ends its line, or the next call of a builder
_SIGN = (
    rf"(?:{_COMMENT}|\+\+?|\.\.?(?!\s{{0,8}}`)|&|\|\||<>|<<|\\|\)\s{{0,40}}\.\w{{1,16}}\()"
    rf"(?:\s{{0,3}}(?:_|`|{_COMMENT}))?"
)
_STRING = rf"\s{{0,80}}(?:{_SIGN}\s{{0,80}})?[bfru]{{0,2}}{_QUOTE}|\}}\$\{{{_QUOTE}"
# what follows each of the signs that a glue can begin with; one class in front is looked for faster than many forms
_GLUE = (
    r"[\\=\"'`(<*^](?:"
    r"(?<=\\)\r?\n[ \t]{0,80}(?:[>|#*] )?"  # a line that goes on
    r"|(?<=[^\s=^][=^])\r?\n(?=[^\s=])"  # the same in mail, and in a shell
    rf"|(?:(?<=[\"'`])|(?<=\\)[\"'`])(?:[ \t]{{0,8}}\\?(?:{_STRING})|;?\s{{1,80}}[\w.$]{{1,40}}\s?[+.]=\s?{_QUOTE})"
    r"|(?<=\()\s{0,4}\n\s{0,80}(?=[\"'])"  # brackets around literals on lines of their own
    rf"|(?<=[\w!-~]<)(?:/?{_TAGS}(?:</?{_TAGS}){{0,3}}|!--[^<>]{{0,40}}-->)|(?<=[\w!-~]\*)\*(?=\w))"
)
_OF_LISTS = (
    r"(?:\"\"|'')\.join\([\[(]?\s{0,40}(?=[\"'])|(?:concat|paste0)\((?=[\"'])|implode\((?:''|\"\"),\s?(?:\[|array\()?(?=[\"'])"
    rf"|{_QUOTE}\s{{0,20}},\s{{0,80}}{_QUOTE}|{_QUOTE}\.concat\({_QUOTE}"
)
# before the first literal behind a name: what makes one of it
_HEAD = (
    r"(?<![^\s:=(>])(?:(?:new\s)?[A-Za-z_][\w.]{0,40}\((?:\)\s{0,40}\.\w{1,16}\()?\s{0,40}(?=[\"'])"
    r"|(?:'(?:%s|\{\d?\}){1,8}'|\"(?:%s|\{\d?\}){1,8}\")\s?(?:%|\.format)\s?\((?=[\"'])|`\$\{(?=[\"'])"
    rf"|[bfru]{{1,2}}(?=[\"'])|<{_TAGS}(?=[^\s<]))"
)
# whether source code joins literals: where a list of them is, and behind names
_FORMS = {
    (False, False): re.compile(_GLUE),
    (True, False): re.compile(f"{_OF_LISTS}|{_GLUE}"),
    (False, True): re.compile(f"{_HEAD}|{_GLUE}"),
    (True, True): re.compile(f"{_OF_LISTS}|{_HEAD}|{_GLUE}"),
}
# behind a name, or the beginning of a secret: what may be parted, with no sign that is worth a look everywhere
_JOINED = (
    rf"[\"'](?:(?=[ \t\n\\\"'+.&|<)}}])(?:[ \t]{{0,3}}\\?(?:{_STRING}))|\s?(?:%|\.format)\s?\([\"'])"
    rf"|\((?:\)\s{{0,40}}\.\w{{1,16}}\()?\s{{0,40}}[\"'][^\"'\n]{{1,80}}[\"']\s{{0,8}}(?:[,+.&|<\"']|\)\s{{0,40}}\.)|\$\{{[\"']|</?(?:{_TAGS})|\*(?<=\w\*)\*?\w"
)
_BESIDE = re.compile(rf"(?:[^\n\"'`(<$*]{{1,60}}+|(?!{_JOINED})[\"'`(<$*]){{0,6}}+(?={_JOINED})")
# one name holds several literals
_APART = 16


def glued(text: str, *, lists: bool, named: bool) -> View | None:
    """Return a text with what was parted put together.

    Args:
        text: the text.
        lists: literals between commas, too, as where a list of them is joined.
        named: what stands between a name and the first literal goes, too.
    """
    return without(text, _FORMS[lists, named], lambda _match: "")


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
