"""Rules for secrets that have a shape of their own, or a name, a header, an address or a file around them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

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


# Tokens that providers publish the shape of: a prefix that nothing else has, then characters of one alphabet.
#
# Sources are the providers' own pages on token formats and secret scanning. What a provider means to be public
# (Stripe's ``pk_``, Mapbox' ``pk.``) is no secret.

# behind a colour without its escape character, too
_FREE = r"(?:(?<![A-Za-z0-9_])|(?<=\[\dm)|(?<=\[\d\dm)|(?<=\d;\d\dm)|(?<=\\n)|(?<=\\t))"
_ALNUM = "A-Za-z0-9"
_URL = r"A-Za-z0-9_\-"
_HEX = "0-9a-f"

# family; prefixes; alphabet; fewest and most characters behind the prefix. A prefix that words begin with, too, asks
# for digits behind it ("mixed").
_TABLE: tuple[tuple[str, str, str, int, int], ...] = (
    ("github", "ghp_ gho_ ghu_ ghs_ ghr_", _ALNUM, 36, 255),
    ("github", "github_pat_", _ALNUM + "_", 60, 120),
    (
        "gitlab",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct-",
        _URL + ".",
        18,
        120,
    ),
    ("gitlab", "GR1348941", _URL, 20, 22),
    ("aws-session", "IQoJb3JpZ2lu FwoGZXIvYXdz", _ALNUM + "+/", 80, 2000),
    (
        "slack",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe- xapp- xoxe.xoxp- xoxe.xoxb-",
        _URL + ".%",
        18,
        300,
    ),
    ("stripe", "sk_live_ rk_live_ sk_test_ rk_test_ sk_org_ whsec_", _ALNUM, 16, 250),
    ("anthropic", "sk-ant-", _URL, 24, 200),
    ("openrouter", "sk-or-", _URL, 32, 120),
    ("langfuse", "sk-lf-", _URL, 30, 50),
    ("openai", "sk-proj- sk-svcacct- sk-admin- sk-none-", _URL, 24, 220),
    ("openai", "sess-", _ALNUM, 40, 40),
    ("openai", "sk-", _ALNUM, 32, 64),
    ("google", "AIza", _URL, 35, 35),
    ("google-oauth", "ya29.", _URL + ".", 30, 2000),
    ("google-oauth", "GOCSPX-", _URL, 28, 28),
    ("google-oauth", "1//0", _URL, 40, 200),
    ("huggingface", "hf_ api_org_", _ALNUM, 34, 40),
    ("npm", "npm_", _ALNUM, 36, 36),
    ("pypi", "pypi-AgE", _URL, 50, 1000),
    ("rubygems", "rubygems_", _HEX, 48, 48),
    ("crates", "cio", _ALNUM, 32, 32),
    ("nuget", "oy2", "a-z0-9", 43, 43),
    ("clojars", "CLOJARS_", "a-z0-9", 60, 60),
    ("sendgrid", "SG.", _URL + ".", 50, 80),
    ("mailgun", "key-", _HEX, 32, 32),
    ("brevo", "xkeysib- xsmtpsib-", "a-zA-Z0-9" + r"\-", 60, 90),
    ("resend", "re_", _ALNUM + "_", 28, 40),
    ("databricks", "dapi", _HEX + r"\-", 32, 36),
    ("digitalocean", "dop_v1_ doo_v1_ dor_v1_", _HEX, 64, 64),
    ("shopify", "shpat_ shpca_ shppa_ shpss_ shpua_", "0-9a-fA-F", 32, 64),
    ("square", "sq0atp- sq0csp- sq0idp-", _URL, 22, 60),
    ("square", "EAAAE EAAAl", _URL, 59, 64),
    ("vault", "hvs. hvb. hvr.", _URL, 24, 300),
    ("linear", "lin_api_ lin_oauth_", _ALNUM, 32, 80),
    ("notion", "ntn_ secret_", _ALNUM, 43, 60),
    ("postman", "PMAK-", _HEX + r"\-", 59, 59),
    ("newrelic", "NRAK- NRII- NRIQ- NRJS-", _URL, 19, 42),
    ("doppler", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", _ALNUM + "._", 40, 90),
    ("docker", "dckr_pat_ dckr_oat_", _URL, 27, 40),
    ("buildkite", "bkua_ bkcat_ bkct_", _ALNUM, 32, 60),
    ("circleci", "CCIPAT_ CCIPRJ_", _ALNUM + "_", 40, 80),
    ("sonar", "squ_ sqp_ sqa_", _HEX, 40, 40),
    ("sentry", "sntrys_ sntryu_ sntrya_", _ALNUM + "_=+/", 60, 300),
    ("grafana", "glsa_ glc_", _ALNUM + "_=+/", 32, 250),
    ("dynatrace", "dt0c01. dt0s01. dt0s16.", "A-Z0-9.", 80, 100),
    ("honeycomb", "hcaik_ hcamk_ hcxik_", "a-z0-9", 58, 64),
    ("atlassian", "ATATT3xFf ATCTT3xFf ATBB", _URL + "=.", 20, 220),
    ("figma", "figd_ figo_ figu_", _URL, 36, 60),
    ("contentful", "CFPAT-", _URL, 43, 43),
    ("mapbox", "sk.eyJ", _URL + ".", 60, 200),
    ("planetscale", "pscale_tkn_ pscale_pw_ pscale_oauth_", _URL + ".", 32, 64),
    ("neon", "napi_ npg_", _ALNUM, 12, 80),
    ("supabase", "sbp_ sb_secret_", _URL, 30, 50),
    ("vercel", "vcp_ vci_ vca_ vcr_ vck_", _ALNUM, 24, 64),
    ("netlify", "nfp_ nfc_ nfo_ nfu_", _ALNUM, 36, 40),
    ("render", "rnd_", _ALNUM, 28, 32),
    ("fly", "fm1r_ fm1a_ fm2_ fo1_", _ALNUM + r"+/=_\-,", 40, 900),
    ("heroku", "HRKU-AA", _URL, 50, 65),
    ("cloudflare", "cfut_ cfat_ cfk_", _ALNUM, 40, 60),
    ("cloudflare", "v1.0-", _HEX + r"\-", 140, 180),
    ("pulumi", "pul-", _HEX, 40, 40),
    ("prefect", "pnu_ pnb_", _ALNUM, 36, 36),
    ("tailscale", "tskey-", _URL, 24, 80),
    ("1password", "ops_eyJ", _URL + "=.", 100, 1200),
    ("age", "AGE-SECRET-KEY-1 AGE-PLUGIN-", "0-9A-Z", 50, 120),
    ("groq", "gsk_", _ALNUM, 48, 56),
    ("xai", "xai-", _ALNUM, 60, 90),
    ("perplexity", "pplx-", _ALNUM, 40, 60),
    ("replicate", "r8_", _ALNUM, 36, 40),
    ("langsmith", "lsv2_pt_ lsv2_sk_", _ALNUM + "_", 40, 50),
    ("tavily", "tvly-", _URL, 28, 60),
    ("pinecone", "pcsk_", _ALNUM + "_", 60, 80),
    ("nvidia", "nvapi-", _URL, 60, 70),
    ("cerebras", "csk-", "a-z0-9", 44, 52),
    ("voyage", "pa-", _URL, 43, 43),
    ("jina", "jina_", _URL, 50, 70),
    ("firecrawl", "fc-", _HEX, 32, 32),
    ("fireworks", "fw_", _ALNUM, 22, 30),
    ("e2b", "e2b_", _HEX, 40, 40),
    ("elevenlabs", "sk_", _HEX, 48, 48),
    ("cursor", "key_", _HEX, 64, 64),
    ("posthog", "phx_ phs_", _ALNUM, 40, 50),
    ("sourcegraph", "sgp_", _ALNUM + "_", 40, 64),
    ("launchdarkly", "sdk- mob- api-", "0-9a-f" + r"\-", 36, 36),
    ("typeform", "tfp_", _URL + ".", 40, 64),
    ("braintree", "access_token$production$", _ALNUM + "$", 40, 64),
    ("plaid", "access-sandbox- access-development- access-production-", _HEX + r"\-", 36, 36),
    ("duffel", "duffel_live_ duffel_test_", _URL + "=", 43, 43),
    ("easypost", "EZAK EZTK", _ALNUM, 54, 54),
    ("flutterwave", "FLWSECK-", _ALNUM + r"_\-", 20, 50),
    ("frameio", "fio-u-", _URL + "=", 64, 64),
    ("shippo", "shippo_live_ shippo_test_", _HEX, 40, 40),
    ("woocommerce", "ck_ cs_", _HEX, 40, 40),
    ("adafruit", "aio_", _ALNUM, 28, 28),
    ("jfrog", "AKCp", _ALNUM, 69, 69),
    ("jfrog", "cmVmdGtu", _ALNUM, 56, 56),
    ("dropbox", "sl.", _URL, 100, 2000),
    ("facebook", "EAACEdEose0cBA EAAG EAAB", _ALNUM, 60, 300),
    ("twitter", "AAAAAAAAAAAAAAAAAAAAA", _ALNUM + "%", 60, 120),
    ("alibaba", "LTAI", _ALNUM, 16, 24),
    ("tencent", "AKID", _ALNUM, 32, 32),
    ("yandex", "AQVN y0_ t1.9eu", _URL + ".=", 35, 300),
    ("checkout", "sk_sbox_", "a-z2-7*+$!", 26, 40),
    ("stytch", "secret-live- secret-test-", _URL + "=", 36, 60),
    ("infracost", "ico-", _ALNUM, 32, 32),
    ("readme", "rdme_", "a-z0-9", 70, 70),
    ("openshift", "sha256~", _URL, 43, 43),
    ("kubernetes", "kubeconfig-user-", _ALNUM + ":", 40, 100),
)
# exact lengths of plain alphabets would also take the beginnings of longer names
_NEEDS_MIX = {
    "re_", "sk-", "cio", "oy2", "npg_", "napi_", "key-", "fw_", "rnd_", "pa-", "secret_", "ntn_", "SG.", "sess-",
    "sl.", "whsec_", "EAAG", "EAAB", "ATBB", "LTAI", "AKID", "y0_", "api_org_", "hf_", "vcp_", "vci_", "vca_",
    "vcr_", "vck_", "nfp_", "gsk_", "sgp_", "glc_", "tskey-", "sk_test_", "tvly-", "sb_secret_", "AIza", "1//0",
    "xai-", "npm_", "fm2_", "fo1_", "jina_", "secret-live-", "secret-test-", "sk-proj-", "sk-ant-",
    "kubeconfig-user-", "AGE-PLUGIN-", "sk-or-", "sk-admin-", "sk-lf-", "xapp-", "xoxb-", "xoxp-", "glpat-",
    "dckr_pat_", "bkua_", "NRJS-", "tfp_", "pcsk_", "aio_", "ico-",
}  # fmt: skip
_MORE = {"sk-": r"(?![A-Za-z0-9_\-])", "dp.st.": ""}


def _prefixed(family: str, prefix: str, alphabet: str, least: int, most: int) -> Rule:
    end = f"(?![{alphabet}])" if least == most else _MORE.get(prefix, "")
    shape = rf"{_FREE}(?P<secret>{re.escape(prefix)}[{alphabet}]{{{least},{most}}}){end}"
    return Rule(family, (prefix.lower(),), shape, is_valid=is_mixed if prefix in _NEEDS_MIX else None)


TOKENS: tuple[Rule, ...] = (
    *(_prefixed(f, prefix, a, least, most) for f, prefixes, a, least, most in _TABLE for prefix in prefixes.split()),
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
