"""Rules for secrets that have a shape of their own, or a name, a header, an address or a file around them.

And for values that no phrase ties to a name: mixtures that nobody writes otherwise, and odd words near a name of
secrets.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from string import ascii_letters, digits

from slowwave.secrets.nouns import (
    BEFORE,
    BEYOND_DOUBT,
    CLEAR,
    DENSE,
    IS_DENSE,
    REACH,
    TOKEN,
    Span,
    is_last,
    line_begin,
    trimmed,
    words,
)
from slowwave.secrets.validity import (
    is_basic,
    is_hex_text,
    is_jwt,
    is_mixed,
    is_seed_phrase,
    is_session,
    is_url_password,
    looks_chosen,
    looks_opaque,
    looks_quoted,
    looks_random,
    oddness,
)


@dataclass(frozen=True)
class Rule:
    """One shape of secrets."""

    family: str  # its name in the mark
    anchors: tuple[str, ...]  # literals in lower case; the shape can begin only where one of them does
    # regular expression, tried right there; its group ``secret`` is the secret. Every repetition in it is bounded, so
    # that no text can make it slow.
    shape: str
    # how many characters before the literal the shape begins, each number that is possible; empty for none
    back: tuple[int, ...] = ()
    behind: bool = False  # the shape begins where the literal ends
    is_valid: Callable[[str], bool] | None = None  # refuses look-alikes; None takes every match
    joins: bool = True  # what it finds may be put together from several lines

    # compiled when a text holds one of its literals, which most never do: all of them together take 0.1 s
    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled shape."""
        return re.compile(self.shape)

    @cached_property
    def match(self) -> Callable[[str, int], re.Match[str] | None]:
        """Tries the shape at one place of a text."""
        return self.pattern.match


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret in a text."""

    start: int  # where what has to go begins in the text that was searched
    stop: int  # behind its end
    family: str  # what it is
    secret: str  # the secret in plain, however the text writes it
    depth: int = 0  # how many layers of encoding were taken off to find it


# Tokens with a prefix that nothing else has: those of ``tokens.txt``, and some with a shape of their own.

_FILE = Path(__file__).with_name("tokens.txt")
# behind a colour without its escape character, too
_FREE = r"(?:(?<![A-Za-z0-9_])|(?<=\[\dm)|(?<=\[\d\dm)|(?<=\d;\d\dm)|(?<=\\n)|(?<=\\t))"
_MORE = {"sk-": r"(?![A-Za-z0-9_\-])", "dp.st.": ""}


def _prefixed() -> Iterator[Rule]:
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        family, alphabet, least, most, *prefixes = line.split(" ")
        for named in prefixes:
            prefix = named.removesuffix("!")
            # exact lengths of plain alphabets would also take the beginnings of longer names
            end = f"(?![{alphabet}])" if least == most else _MORE.get(prefix, "")
            shape = rf"{_FREE}(?P<secret>{re.escape(prefix)}[{alphabet}]{{{least},{most}}}){end}"
            yield Rule(family, (prefix.lower(),), shape, is_valid=is_mixed if prefix != named else None)


TOKENS: tuple[Rule, ...] = (
    *_prefixed(),
    Rule(
        "aws-id",
        ("akia", "asia", "abia", "acca"),
        rf"{_FREE}(?P<secret>(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{{16}})(?![A-Za-z0-9])",
    ),
    Rule("aws-bedrock", ("absk",), rf"{_FREE}(?P<secret>ABSK[A-Za-z0-9+/]{{60,200}}={{0,2}})", is_valid=is_mixed),
    Rule(
        "jwt",
        ("eyj",),
        r"(?P<secret>eyJ[\w\-]{8,2000}\.[\w\-]{0,4000}\.[\w\-]{0,1400}(?:\.[\w\-]{1,2000}){0,2})",
        is_valid=is_jwt,
    ),
    Rule(
        "azure-secret",
        ("q~",),
        r"(?<![\w~.\-])(?P<secret>[\w~.\-]{3}\dQ~[\w~.\-]{31,34})(?![\w~])",
        back=(4,),
        is_valid=is_mixed,
    ),
    Rule(
        "azure-devops",
        ("azdo",),
        r"(?<![A-Za-z0-9])(?P<secret>[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4})(?![A-Za-z0-9])",
        back=(76,),
    ),
    Rule(
        "telegram",
        (":aa", "%3aaa"),
        r"(?<![\dA-Za-z])(?P<secret>\d{8,10}:AA[\w\-]{33})(?![\w\-])",
        back=(10, 9, 8),
        is_valid=is_mixed,
    ),
    Rule(
        "terraform", (".atlasv1.",), r"(?<![A-Za-z0-9])(?P<secret>[A-Za-z0-9]{14}\.atlasv1\.[\w\-=]{60,70})", back=(14,)
    ),
    Rule(
        "1password",
        ("a3-",),
        r"(?<![A-Za-z0-9])(?P<secret>A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3})",
    ),
)
# shapes without a prefix that could be looked for: tried on every long run of letters and digits
RUNS: tuple[Rule, ...] = (
    Rule("twilio", (), r"(?<![A-Za-z0-9])(?P<secret>SK[0-9a-f]{32})(?![0-9A-Za-z])", is_valid=is_mixed),
    Rule("discord", (), r"(?<![\w\-])(?P<secret>[MNO][A-Za-z\d]{23,27}\.[\w\-]{6}\.[\w\-]{27,38})(?![\w\-])"),
    Rule("airtable", (), r"(?<![A-Za-z0-9])(?P<secret>pat[A-Za-z0-9]{14}\.[0-9a-f]{64})(?![0-9A-Za-z])"),
    Rule("mailchimp", (), r"(?<![A-Za-z0-9])(?P<secret>[0-9a-f]{32}-us\d{1,2})(?!\w)"),
    Rule("asana", (), r"(?<![A-Za-z0-9])(?P<secret>[12]/\d{15,17}(?:/\d{15,17})?:[0-9a-f]{32})(?![0-9A-Za-z])"),
)


# Secrets without a shape of their own, known by what stands around them: names, headers, addresses, files.

# what may stand between a name and its value: an assignment, a tag, or the next line of a list of names and values
_SEP = (
    r"(?P<tail>[\w\-.]{0,40})(?:\[\w{0,6}\])?[\"'`\]]{0,2}(?:[ \t]{0,10}(?:=>|:=|[:=](?!=))\s{0,10}"
    r"|(?:</\w{1,10}>\s{0,20}<\w{1,10})?>"
    r"|,?\s{0,60}[\"']?value[\"']?\s{0,4}[:=]\s{0,4})"
)
_OPEN = r"(?:[bfru]{0,2}[\"'`])?"
_TO = r"[^\s\"',;<>`]"
_PLACE = r"(?:\s{1,4}(?:for|of|on|to|at|in|für|von|auf)\s[^\n.,;:]{1,50}?)?"

_SECRET_NAMES = (
    "api_key", "api-key", "apikey", "api key", "secret", "token", "credential", "access_key", "access-key",
    "accesskey", "access key", "auth_key", "authkey", "auth-key", "private_key", "private-key", "privatekey",
    "encryptionkey", "signingkey", "sessionkey", "masterkey", "subscription-key", "accountkey", "appkey", "_key",
    "-key", "_auth", "dsn", "x-amz-signature", "connectionstring", "_salt",
)  # fmt: skip
# what is shorter must be beyond doubt
_LONG = 16
_BEYOND_DOUBT = 3
# digits and letters in turn
_SHORT_HEX = re.compile(r"(?=(?:[0-9]*[a-f]+[0-9]+){2})[0-9a-f]{10,15}")
# programs whose option with one letter is a password
_PROGRAMS = (
    "7z ", "7za ", "unzip ", "zip ", "rar ", "unrar ", "openssl ", "redis-cli ", "htpasswd ", "ldapsearch ",
    "ldapmodify ", "smbclient ", "ipmitool ", "sqlcmd ", "isql ", "bcp ", "mongo ", "mongosh ", "cqlsh ",
    "docker login ", "az login ", "oc login ", "helm registry login ", "podman login ", "snmpwalk ", "snmpget ",
    "mosquitto_pub ", "mosquitto_sub ", "influx ", "rdesktop ", "xfreerdp ", "lftp ", "pdftk ", "qpdf ",
    "wpa_passphrase ",
)  # fmt: skip
_OPTION = (
    r"(?:wpa_passphrase \S{1,40} |_pw |\s/p:"
    r"|(?<=\s)-[pPakwWbAXUu]\s?(?:[^\s\"'%,]{1,40}[%,]|\S{1,40} \S{1,40} (?=\S))?)"
)
_PASSWORD_NAMES = ("passw", "passphrase", "pwd", "passcode", "kennwort", "contrase")

NAMED: tuple[Rule, ...] = (
    Rule(
        "auth-header",
        ("authorization",),
        r"(?i:authorization)[\"']?\s{0,4}[:=,]\s{0,4}[\"']?(?i:bearer|basic|token|apikey|key|digest|bot|negotiate)\s{1,4}"
        r"(?P<secret>[\w\-.+/=~]{12,4000})",
        is_valid=lambda s: looks_opaque(s) or looks_random(s),
    ),
    Rule(
        "auth-header",
        ("x-auth-token", "x-api-key", "x-access-token", "x-vault-token", "private-token", "x-auth-key", "x-secret"),
        r"[\"']?\s{0,4}[:=,]\s{0,4}[\"']?(?P<secret>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})",
        behind=True,
    ),
    Rule(
        "signed-url",
        tuple(
            f"{sign}{name}=" for sign in "?&" for name in ("key", "token", "apikey", "api_key", "auth", "pass", "pwd")
        ),
        r"(?P<secret>[\w\-.~%]{8,400})",
        behind=True,
        is_valid=lambda s: looks_opaque(s) or (oddness(s) >= _BEYOND_DOUBT and _SHORT_HEX.fullmatch(s) is None),
    ),
    Rule(
        "auth-header",
        ("bearer ", "bearer\n"),
        r"(?i:bearer)[ \n]{1,2}(?P<secret>[\w\-.+/=~]{20,4000})",
        is_valid=looks_opaque,
    ),
    Rule(
        "basic-auth",
        ("basic ", "basic\n"),
        r"(?i:basic)\s{1,4}(?P<secret>[A-Za-z0-9+/]{6,400}={0,2})",
        is_valid=is_basic,
    ),
    Rule(
        "docker-auth",
        ('auth"', "_auth", "auth:", "auth'", "auth\\"),
        r"_?auth[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?P<secret>[A-Za-z0-9+/]{8,4000}={0,2})(?![\w\-])",
        is_valid=is_basic,
    ),
    Rule(
        "url-password",
        ("://",),
        r"://[^\s:/@'\"<>`]{0,120}:(?P<secret>[^\s/@'\"<>`]{3,200}(?:/[^\s@'\"/<>`]{0,100}){0,3})@[\w\[]",
        is_valid=is_url_password,
    ),
    Rule("url-token", ("://",), r"://(?P<secret>[0-9a-f]{32}|[A-Za-z0-9_\-]{36,120})@[\w\[]", is_valid=looks_opaque),
    Rule(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/+\-]{20,200})",
    ),
    Rule("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/(?P<secret>\d{6,25}/[\w\-]{20,100})"),
    Rule(
        "teams-webhook",
        (".webhook.office.com/",),
        r"\.webhook\.office\.com/webhookb2/(?P<secret>[\w\-@]{36,100}/IncomingWebhook/[\w/\-]{30,120})",
    ),
    Rule("zapier-webhook", ("hooks.zapier.com/",), r"hooks\.zapier\.com/hooks/catch/(?P<secret>\d{3,12}/\w{5,20})"),
    Rule("feishu-webhook", ("/open-apis/bot/",), r"/open-apis/bot/(?:v2/)?hook/(?P<secret>[\w\-]{20,60})"),
    Rule(
        "google-webhook",
        ("chat.googleapis.com/",),
        r"chat\.googleapis\.com/v1/spaces/[\w\-]{5,40}/messages\?(?P<secret>key=[\w\-]{20,60}&token=[\w\-%=]{20,90})",
    ),
    Rule(
        "azure",
        ("accountkey=", "sharedaccesskey=", "accesskey="),
        r"(?i:[a-z]{6,12}key)=(?P<secret>[A-Za-z0-9+/]{40,90}={0,2})",
    ),
    Rule(
        "signed-url",
        ("sig=", "signature="),
        r"(?i:sig|signature)=(?P<secret>[\w%+/\-]{30,400}={0,2})",
        is_valid=looks_opaque,
    ),
    Rule(
        "netrc",
        ("login ", "login\t", "login\n"),
        r"login\s{1,20}\S{1,100}\s{1,20}password\s{1,20}(?P<secret>\S{4,200})",
    ),
    Rule(
        "pgpass",
        (":5432:", ":*:", ":5433:", ":6432:", ":6543:"),
        r":(?:\d{2,5}|\*):[\w*\-]{1,63}:[\w*.\-]{1,63}:(?P<secret>[^\s:\"'\\]{4,100})(?=\s|$|[\"'\\])",
    ),
    Rule(
        "password-hash",
        ("$apr1$", "$1$", "$5$", "$6$", "$y$"),
        r"(?P<secret>\$(?:apr1|[156y])\$[\w./$=]{1,30}\$[\w./]{20,90})",
    ),
    Rule("password-hash", ("$2a$", "$2b$", "$2y$"), r"(?P<secret>\$2[aby]\$\d\d\$[\w./]{53})"),
    Rule(
        "password-hash",
        ("$argon2",),
        r"(?P<secret>\$argon2(?:id|i|d)\$v=\d{1,3}\$[\w=,]{5,40}\$[\w+/]{10,90}\$[\w+/]{20,180})",
    ),
    Rule(
        "jwk",
        ('"d"', '"k"', '"d\\', '"k\\'),
        r"\"[dk]\"\s{0,4}:\s{0,4}\"(?P<secret>[\w\-]{40,700})\"",
        is_valid=looks_opaque,
    ),
    Rule(
        "curl-user",
        (" -u", "--user ", "--user="),
        r"(?: -u ?|--user[ =])[\"']?[^\s:\"']{0,100}:(?P<secret>[^\s\"'$<{`]{4,200})",
        is_valid=is_url_password,
    ),
    Rule(
        "password-flag",
        ("--passw", "--pass ", "--pass=", "--pwd", "-passw"),
        r"--?(?:db-|admin-|root-)?(?i:pass(?:word|wd|phrase)?|pwd)(?:=|\s{1,2})[\"']?(?P<secret>[^\s\"'$<>{(`|\\\-][^\s\"'<>`|\\]{3,200})",
        is_valid=lambda s: is_url_password(s) and looks_chosen(s),
    ),
    Rule(
        "password-flag",
        ("mysql", "mysqldump", "mariadb", "sshpass"),
        r"(?:mysql|mysqldump|mariadb|mysqladmin|sshpass)\b[^\n]{0,80}? -p ?[\"']?"
        r"(?P<secret>[^\s\"'$<{`|\\][^\s\"'<{`|\\]{5,100})",
        is_valid=looks_chosen,
    ),
    Rule(
        "password-flag",
        _PROGRAMS,
        r"(?=[\w\-]{2,10}[ _])[^\n]{2,130}?" + _OPTION + r"[\"']?(?P<secret>(?=[^\s\"']{0,40}[0-9!#$%&*+?@^])"
        r"[^\s\"'$<{`|\\\-/][^\s\"'<{`|\\/]{4,100})(?=[\s\"']|\Z)",
        is_valid=lambda s: looks_chosen(s) and oddness(s) > 0,
    ),
    Rule(
        "token-flag",
        ("-token", "-key", "-secret"),
        r"-(?i:token|key|secret)\s{1,2}[\"']?(?P<secret>[\w\-.+/=~]{12,400})",
        is_valid=looks_random,
    ),
    Rule(
        "assignment",
        _SECRET_NAMES,
        _SEP + _OPEN + rf"(?P<secret>{_TO}{{16,4000}}|(?={_TO}{{0,14}}[0-9]){_TO}{{8,15}})",
        behind=True,
        is_valid=lambda s: (
            looks_random(s) and (len(s) >= _LONG or oddness(s) >= _BEYOND_DOUBT or _SHORT_HEX.fullmatch(s) is not None)
        ),
    ),
    Rule(
        "password",
        ("_pass",),
        r"(?![\w\-])" + _SEP + _OPEN + rf"(?P<secret>{_TO}{{6,200}})",
        behind=True,
        is_valid=looks_chosen,
    ),
    Rule(
        "password",
        _PASSWORD_NAMES,
        r"(?i:or[dt]|d|ña)?" + _SEP + _OPEN + rf"(?P<secret>{_TO}{{6,200}})",
        behind=True,
        is_valid=looks_chosen,
    ),
    Rule(
        "password",
        _PASSWORD_NAMES,
        # in quotes, or the rest of a line
        r"(?i:or[dt]|d|ña)?(?:"
        + _SEP
        + r"|[ \t](?=[\"']))(?:[bfruN@L]{0,2}(?P<quote>[\"'`])|(?<=[= ]))(?P<secret>[^\s\"'`]{6,60})"
        r"(?(quote)(?P=quote)|(?<![;,{(\[)])(?=\n|\Z))",
        behind=True,
        is_valid=lambda s: looks_quoted(s) or ("." in s and oddness(s) > 0),
    ),
    Rule(
        "password",
        _PASSWORD_NAMES,
        r"(?i:or[dt]|d)?[\w\-.]{0,20}[\"']\s{0,2},\s{0,10}[\"'](?P<secret>[^\s\"']{6,100})[\"']",
        behind=True,
        is_valid=lambda s: looks_chosen(s) and oddness(s) > 1,
    ),
    Rule(
        "password",
        (
            "_password ",
            "_passwd ",
            "_pass ",
            "_secret ",
            "_token ",
            "requirepass ",
            "masterauth ",
            "bindpw ",
            "rootpw ",
        ),
        r"[ \t]{0,3}[\"']?(?P<secret>[^\s\"',;<>`$][^\s\"',;<>`]{5,200})",
        behind=True,
        is_valid=lambda s: looks_chosen(s) and oddness(s) > 0,
    ),
    Rule(
        "password",
        ("identified by '", 'identified by "', "password '", "with password '"),
        r"(?P<secret>[^\s\"'$<]{6,200})[\"']",
        behind=True,
        is_valid=lambda s: oddness(s) > 0 or looks_quoted(s),
    ),
    Rule(
        "password",
        _PASSWORD_NAMES,
        # what is put in the place of a name
        r"(?i:or[dt]|d)?[@}%_\]]{1,4}(?P<by>[/|#])(?P<secret>[^\s/|#]{6,80})(?P=by)",
        behind=True,
        is_valid=lambda s: looks_chosen(s) and oddness(s) > 0,
    ),
    Rule(
        "password",
        ("sqlplus ", "sqlldr ", "expdp ", "impdp ", "rman target ", "oracle:thin:"),
        r"(?:[\w\-]{0,40}[ :]){0,4}?\w{1,30}/(?P<secret>[^\s/@\"']{5,60})@",
        behind=True,
        is_valid=lambda s: oddness(s) > 0,
    ),
    Rule(
        "password",
        ("auth ",),
        r"AUTH (?P<secret>[^\s\"']{6,200})",
        is_valid=lambda s: looks_chosen(s) and oddness(s) > 0,
    ),
    Rule(
        "spoken",
        ("secret", "token", "key", "credential", "passw", "passphrase"),
        r"(?i:or[dt])?s?(?:"
        + _PLACE
        + r"\s{1,4}(?:is|ist|lautet|=|:|was))?\s{1,4}[\"'`]?(?P<secret>[A-Za-z0-9/+_\-.=~]{20,400})",
        behind=True,
        is_valid=looks_opaque,
    ),
    *(
        Rule(
            "seed-phrase",
            (
                "mnemonic",
                "wallet seed",
                "seed:",
                "seed phrase",
                "recovery phrase",
                "seed_phrase",
                "seedphrase",
                "seed words",
                "secret phrase",
            ),
            r"(?i:mnemonic|wallet seed|seed(?=:)|(?:seed|recovery|secret)[ _]?(?:phrase|words))"
            r"(?:[\"'`]| in order| in this order| are)?(?: is| ist)?\s{0,4}[:=]?\s{0,4}[\"'`]?"
            rf"(?P<secret>(?:[a-z]{{3,8}}{gap}){{11,23}}[a-z]{{3,8}})(?![A-Za-z])",
            is_valid=is_seed_phrase,
        )
        for gap in (r" {1,2}", r"\s{1,8}")
    ),
    Rule(
        "ethereum-key",
        ("private_key", "private key", "privatekey", "priv_key"),
        r"(?i:priv(?:ate)?[_ ]?key)[\w\"' ]{0,20}[:=]\s{0,4}[\"']?(?P<secret>0x[0-9a-fA-F]{64})(?![0-9a-fA-F])",
    ),
)


def cookies(text: str, at: int) -> tuple[list[tuple[int, int]], int]:
    """Return where the values of a ``Cookie`` header lie that look like sessions, and where the header ends."""
    head = _COOKIE.match(text, at)
    if head is None:
        return [], at
    found: list[tuple[int, int]] = []
    end = head.end()
    while pair := _PAIR.match(text, end):
        if is_session(pair["value"]):
            found.append(pair.span("value"))
        end = pair.end()
    return found, end


_COOKIE = re.compile(r"(?i:(?:set-)?cookie)[\"']?\s{0,4}[:=,]\s{0,4}[\"']?")
_PAIR = re.compile(r"\s{0,4}(?P<name>[\w.\-%]{1,80})=(?P<value>[^;\s\"',\\]{0,4000})(?:;|$|(?=[\s\"'\\]))")

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")


def private_key(text: str, at: int) -> tuple[int, int] | None:
    """Return where a private key lies that begins here; one that is cut off ends where its lines do."""
    head = _BEGIN.match(text, at)
    if head is None:
        return None
    following = text.find("-----BEGIN ", head.end())
    end = text.find("-----END ", head.end(), len(text) if following < 0 else following)
    if end >= 0:
        close = text.find("-----", end + 9)
        return at, (close + 5 if 0 <= close < end + 60 else end + 9)
    return at, _cut_off(text, head.end(), len(text) if following < 0 else following)


def _cut_off(text: str, start: int, stop: int) -> int:
    """Return the end of the lines of a key that has no end; behind ``stop`` there are other keys."""
    end = start
    for line in _LINE.finditer(text, start, stop):
        body = line[0].strip(" \t\r\n\\\"'>|*#+,")
        if body and not _KEY_LINE.fullmatch(body):
            break
        if body:
            end = line.start() + line[0].rindex(body[-1]) + 1
    return end


_LINE = re.compile(r"[^\n]*\n?")
_KEY_LINE = re.compile(
    r"[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/]{0,15}=?=?|(?:Version|Comment|Proc-Type|DEK-Info|Hash|PuTTY)\b.*"
)


# Values that no phrase ties to a name.
#
# What a sentence looks like, and in which language, matters to none of them. The less a word looks like one, the less
# has to stand near it: letters, digits and a sign in between are enough alone, a name with a year must share a line
# with a name of secrets and be called nothing else there, a cell of a table must stand below one.

# letters and digits, signs that may stand within a value, anything else
_SHAPE = bytes(97 if chr(c).isalnum() or chr(c) == "?" else 35 if chr(c) in "!#$&*^~" else 32 for c in range(256))
_NO_SIGNS = bytes(c for c in range(256) if _SHAPE[c] != 35)  # noqa: PLR2004 - the sign
# the letter behind a sign is looked at only there: almost every sign of a text is one
_BEFORE_SIGN = b"a#"
_MIXED = re.compile(r"[^\W_](?:[^\W_]|[!#$%&*+?@^~_.\-]){5,46}(?:[^\W_]|[!#$*?@^~])(?![^\s\"'`,;:.!?)\]}>|*<\\])")
_SIGNS_OF_WORDS = ascii_letters + digits + "_!#$%&*+?@^~.-"
_LONGEST = 40
_LEAST = 7
_TURNS = 3
# a name, a sign and a number: of an issue, a section, a line
_NUMBERED = re.compile(
    r"[A-Za-z_.\-]+[#$&*^~][0-9A-Z]*|[A-Za-z]+(?:[&*^~$][A-Za-z]*\d*)+|.*#L?\d+.*|.*\.[a-z]{2,4}(?:[#&*~].*)?"
)
_HEX = re.compile(r"[0-9a-fA-F]+")
# how people choose one: a name and a year, also with a line or a point between
_CHOSEN = re.compile(
    r"(?!(?i:\w*(?:pass|login|token|secret)))"
    r"(?![A-Z]{1,4}\d{1,4}\Z|[A-Z]+\d\Z)(?:[a-z]{4,20}[_.\-+%~]?\d{2,6}|[a-z]{2,16}(?:[A-Z][a-z]{2,15}){1,3}[_.\-+%~]\d{2,6}|(?=(?:[^\W\d_][_.\-+%~]?){5})[^\W\d_]{3,16}[+%~][^\W\d_]{0,16}\d{1,6}|(?=(?:[^\W\d_][_.\-]?){7})[^\W\d_]{2,16}(?:[_.\-][^\W\d_]{2,16}){1,4}[_.\-]?\d{1,6}|[^\W\d_a-z](?:[^\W\d_]{2,20}(?:[_.\-]\d|\d\d)|[^\W\d_A-Z]{4,20}\d)\d{0,5}[A-Za-z!?.*#$]?|(?=[^\W\d_]*[^\x00-\u024f])[^\W\d_]{3,20}\d{2,6})"
)
_NAMING = frozenset(words("naming"))
_NAMING_DENSE = tuple(word for word in _NAMING if IS_DENSE.match(word))
_NAMED = _NAMING | frozenset(words("of"))
_ENTERING = frozenset(words("entering"))
_TYING = frozenset(w for head in ("with", "joiner") for w in words(head)) | {
    "and",
    "und",
    "et",
    "y",
    "e",
    "en",
    "i",
    "och",
}
# what is said to be one, to be entered or to be wanted
_GIVEN = (
    _ENTERING
    | _TYING
    | frozenset(w for head in ("bond", "wants", "joiner") for w in words(head) if w.isalpha() or "'" in w)
)
_QUOTED = tuple("\"'`\u201c\u00ab(")
_TIED = "|".join(
    re.escape(word) for word in words("bond") if word.isalpha() and len(word) > 1 and not IS_DENSE.match(word)
)
_PHRASE = re.compile(
    rf"(?:\([^\n()]{{0,40}}\)|[^\n.;:=\"'`(]){{0,40}}?(?:[:=]|\s(?:{_TIED})(?=\s)|\w['\u2019]s(?=\s)|\s(?=[\"'`\u201c\u00ab]))\s{{0,3}}(?P<quote>[\"'`\u201c\u00ab])?"
    r"(?P<value>(?:[^\W_]{1,14}[ \-]){2,8}[^\W_]{1,14})(?=(?P<end>[\"'`\u201d\u00bb])|[.,;)]?(?:\s{0,4}(?:\n|\\n|\Z)))"
)
_FEWEST_WORDS, _FEWEST_QUOTED, _WORD, _MEAN = 4, 3, 3, 4
_SPEAKING = frozenset(w for head in ("bond", "of", "naming", "entering", "article", "speaking") for w in words(head))
_COLUMN = re.compile(r"[ \t]*[|;\t][ \t]*|,[ \t]*| {3,}")
_CELL_ENDS = re.compile(r"[\w\"'`*]{0,20} {0,40}(?:[|;\t,\n]| {3})")
_MOST_ROWS = 20
_LONGEST_HEAD = 2 * REACH


def mixtures(text: str, signs: bytes) -> list[Span]:
    """Return where mixtures lie that are secrets wherever they stand: letters and digits with a sign in between.

    ``signs``: the same, one byte a character.
    """
    found: list[Span] = []
    if not signs.translate(None, _NO_SIGNS):
        return found
    shape = signs.translate(_SHAPE)
    at = shape.find(_BEFORE_SIGN)
    while at >= 0:
        if shape[at + 2 : at + 3] == b"a" and (span := _mixture(text, at + 1)):
            found.append(span)
        at = shape.find(_BEFORE_SIGN, at + 2)
    return found


def _mixture(text: str, sign: int) -> Span | None:
    head = text[max(0, sign - _LONGEST) : sign]
    begin = sign - len(head) + len(head.rstrip(_SIGNS_OF_WORDS))
    while begin > sign - len(head) and not text[begin - 1].isascii() and text[begin - 1].isalnum():
        begin -= 1
    if begin and not (
        text[begin - 1].isspace() or text[begin - 1] in "\"'`([{<>:=,|/\\" or not text[begin - 1].isascii()
    ):
        return None
    if (word := _MIXED.match(text, begin)) is None or word.end() <= sign:
        return None
    begin, stop = trimmed(text, begin, word.end())
    value = text[begin:stop]
    if len(value) < _LEAST or not any(c.isdigit() for c in value):
        return None
    if text[sign] == "!":
        return (begin, stop) if oddness(value) >= CLEAR else None
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value))
    is_cased = not value.islower() and not value.isupper() and value[0].isupper() and turns > 1
    is_odd = oddness(value) >= BEYOND_DOUBT and (turns >= _TURNS or is_cased) and not _NUMBERED.fullmatch(value)
    return (begin, stop) if is_odd and not value.islower() else None


def around(text: str, start: int, at: int, least: int, *, chosen: bool, is_plain: bool) -> list[Span]:
    """Return the odd words that share a line with a noun, on either side, whatever stands between.

    ``text``: the text. ``start``: where the noun begins. ``at``: where it ends. ``least``: how odd they must be.
    ``chosen``: a name with a year is enough, unless a word says what else it names. ``is_plain``: also one in small
    letters; else it must be quoted or entered, or something logs in with it.
    """
    first = line_begin(text, start, BEFORE)
    stop = text.find("\n", at, at + REACH)
    stop = min(len(text), at + REACH) if stop < 0 else stop
    spans: list[Span] = []
    for word in (_ASCII_WORD if text.isascii() else _WORD_WITH_DIGIT).finditer(text, first, stop):
        end = word.end()
        if word.start() < at and end > start:
            continue
        if word.start() == first and first and not text[first - 1].isspace():
            continue  # its beginning is out of reach
        if end == stop < len(text):
            whole = TOKEN.match(text, word.start(), word.start() + _MOST_CHARS)
            end = whole.end() if whole else end
        if end - word.start() >= _MOST_CHARS:
            continue
        left, right = trimmed(text, word.start(), end)
        # of a user and a password the latter
        colon = text.rfind(":", left, right)
        spans.append((left if colon < 0 or right - colon < _LEAST else colon + 1, right))
    if is_plain:
        spans += [
            one.span("value") for one in _LITERAL.finditer(text, first, stop) if one.end() <= start or one.start() >= at
        ]
    return [span for span in spans if _is_odd(text, first, span, least, chosen=chosen, is_plain=is_plain)]


def far(text: str, at: int) -> list[Span]:
    """Return the value that a sentence ends with, or that commas enclose, which began with a noun long before."""
    stop = text.find("\n", at, at + _FAR)
    for tied in _FAR_TIED.finditer(text, at + REACH, min(len(text), at + _FAR) if stop < 0 else stop):
        left, right = trimmed(text, *tied.span("value"))
        odd = oddness(text[left:right])
        if odd >= CLEAR or (odd and (_CHOSEN.fullmatch(text, left, right) or "." in text[left:right])):
            return [(left, right)]
    return []


_FAR = 420
_FAR_TIED = re.compile(
    r"(?<=\s)(?:is|was|it's|ist|war|lautet|est|c'est|es|era|\u00e8|\u00e9|\u00e4r|er|to|je|on)[,:]? [\"'`]?"
    r"(?P<value>(?=[^\s0-9]{0,60}[0-9])[^\s]{6,60}?)[\"'`]?(?=[.,;!](?:\s|\Z))"
)
# within code
_LITERAL = re.compile(r"(?<=[\"'`])(?P<value>(?=[^\s\"'`]*[0-9])[^\s\"'`]{6,80})(?=[\"'`])")


def _is_odd(text: str, first: int, span: Span, least: int, *, chosen: bool, is_plain: bool) -> bool:
    left, right = span
    value = text[left:right]
    odd = 0 if _HEX.fullmatch(value) else oddness(value)
    odd = BEYOND_DOUBT if is_hex_text(value.removeprefix("0x")) else odd
    if odd >= least or bool(chosen and odd and _is_chosen(text, first, left, right, is_plain=is_plain)):
        return True
    if odd < CLEAR or least == CLEAR:
        return False
    return _word_before(text, first, left) in _GIVEN or text[first:left].rstrip("\"'`*").endswith((": ", "\uff1a"))


def _is_chosen(text: str, first: int, left: int, right: int, *, is_plain: bool = True) -> bool:
    """Say whether a value is made as people make them, or is to be entered, and its neighbours name nothing else."""
    before = _word_before(text, first, left)
    behind = text[right : right + _TAIL].lstrip("\"'`*) ").partition(" ")[0].rstrip(".,;:!?\"'`)").lower()
    if (
        before in _NAMED
        or text.endswith(_NAMING_DENSE, first, left)
        or (behind in _NAMING and not is_last(text, right))
    ):
        return False
    if before in _ENTERING:
        return True
    if _CHOSEN.fullmatch(text, left, right) is None:
        return False
    return (
        is_plain
        or before in _TYING
        or before in _GIVEN
        or text[left - 1 : left] in _QUOTED
        or not text[left:right].islower()
    )


def _word_before(text: str, first: int, left: int) -> str:
    """Return the word before a value, without what stands around it."""
    return text[first:left].rstrip(" \"'`*(:=").rpartition(" ")[2].strip("\"'`*(,:").lower()


_TAIL = 24
_MOST_CHARS = 200
_DIGIT_WITHIN = r"(?<![^\s{0}])(?=[^\s{0}0-9]{{0,80}}+[0-9])[^\s{0}]{{4,200}}"
_WORD_WITH_DIGIT, _ASCII_WORD = (re.compile(_DIGIT_WITHIN.format(dense)) for dense in (DENSE, ""))


_OF_PHRASES = re.compile(
    r"(?i:phrase|frase|fraza|fraz|\u0444\u0440\u0430\u0437|satz|mnemonic|\u53e5|\u30d5\u30ec\u30fc\u30ba)"
)


def phrase(text: str, start: int, at: int) -> list[Span]:
    """Return the row of words that a noun is tied to, when it is no sentence: none is short or speaks of secrets."""
    found = _PHRASE.match(text, at, min(len(text), at + REACH))
    if found is None:
        return []
    least = 1 if _OF_PHRASES.search(text, max(0, start - 1), at) else _WORD
    every = re.split(r"[ \-]", found["value"])
    of_letters = [word for word in every if word.isalpha()]
    is_quoted = found["quote"] and found["end"]
    speaking = [word for word in of_letters if word.lower() in _SPEAKING and len(word) >= _WORD]
    # one word of sentences may be in what an equals sign or quotes make a value
    most = int(least == 1 and (bool(is_quoted) or text[found.start("value") - 2] == "="))
    if (
        len(every) < (_FEWEST_QUOTED if is_quoted else _FEWEST_WORDS)
        or len(of_letters) < len(every) - 1
        or len(speaking) > most
        or any(len(word) < least for word in of_letters)
        or (least > 1 and sum(map(len, of_letters)) < _MEAN * len(of_letters))
    ):
        return []
    return [found.span("value")]


def phrase_before(text: str, start: int) -> list[Span]:
    """Return the quoted row of words that stands a few words before a noun."""
    if text[start - 1 : start] != " ":
        return []
    first = line_begin(text, start, BEFORE)
    found = _PHRASE_BEFORE.search(text, first, start)
    if found is None or any(word.lower() in _SPEAKING for word in found["value"].split()):
        return []
    return [found.span("value")]


_PHRASE_BEFORE = re.compile(
    r"(?P<q>[\"'`\u201c\u00ab])(?P<value>(?:[^\W\d_]{2,14} ){2,8}[^\W_]{2,14})"
    r"[\"'`\u201d\u00bb](?: [\w'\u2019]{1,12}){1,5} \Z"
)


def answered_below(text: str, at: int) -> list[Span]:
    """Return the one word of the next line, or of an answer there, when the noun's line ends a few words behind it."""
    line = _NEXT_LINE.match(text, at)
    if line is None:
        return []
    left, right = trimmed(text, *line.span("value"))
    value = text[left:right]
    is_odd = not value.isdigit() and not _HEX.fullmatch(value) and oddness(value)
    return [(left, right)] if is_odd and (is_odd >= CLEAR or _CHOSEN.fullmatch(value)) else []


_NEXT_LINE = re.compile(
    r"[^\n:=]{0,40}\n{1,2}[>\s]{0,4}"
    r"(?:\[?[\d:]{4,8}\]? )?(?:<?[\w.\-]{1,20}(?:>?:|>)[ \t]{1,3})?(?P<value>[^\s<]{5,60})(?:<br ?/?>)?[ \t]*(?:\n|\Z)"
)


def below(text: str, start: int, at: int) -> list[Span]:
    """Return the cells of a table in the column that a noun is the head of."""
    if not _CELL_ENDS.match(text, at):
        return []
    end = text.find("\n", at, at + _LONGEST_HEAD)
    first = line_begin(text, start, _LONGEST_HEAD + 1)
    if end < 0 or end - first > _LONGEST_HEAD:
        return []
    heads = _cells(text, first, end)
    column = next((n for n, (left, right) in enumerate(heads) if left <= start and at <= right), -1)
    if len(heads) < 2 or column < 0 or any(c.isdigit() for c in text[first:end]):  # noqa: PLR2004 - one is no table
        return []
    found: list[Span] = []
    for _ in range(_MOST_ROWS):
        first, end = end + 1, text.find("\n", end + 1)
        end = len(text) if end < 0 else end
        cells = _cells(text, first, end)
        if len(cells) != len(heads):
            break
        left, right = cells[column]
        left, right = trimmed(text, left, right)
        if " " not in text[left:right] and oddness(text[left:right]) > text[left:right].isdigit():
            found.append((left, right))
    return found


def listed(text: str, at: int) -> list[Span]:
    """Return the words that stand alone in the lines behind a noun whose line ends with a colon."""
    head = _LIST_HEAD.match(text, at)
    found: list[Span] = []
    while head and (item := _ITEM.match(text, head.end())) and len(found) < _MOST_ROWS:
        left, right = trimmed(text, *item.span("value"))
        if not oddness(text[left:right]):
            break
        found.append((left, right))
        head = item
    return found


_LIST_HEAD = re.compile(r"[^\n:]{0,60}:[ \t]*\n(?:[ \t]*\n)?")
_ITEM = re.compile(r"[ \t]{0,20}(?:[-*+>]|\d{1,2}[.)])?[ \t]{0,4}(?P<value>\S{4,80})[ \t]*(?:\n|\Z)")


def _cells(text: str, first: int, end: int) -> list[Span]:
    """Return where the cells of a line lie."""
    spans: list[Span] = []
    at = first
    for sign in _COLUMN.finditer(text, first, end):
        spans.append((at, sign.start()))
        at = sign.end()
    return [*spans, (at, end)]
