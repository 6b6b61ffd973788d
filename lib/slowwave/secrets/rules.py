"""Rules for secrets that have a shape of their own, or a name, a header, an address or a file around them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from slowwave.secrets.validity import (
    is_basic,
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
