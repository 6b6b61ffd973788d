"""Made-up secrets of every family, each as its provider shapes it, and the forms that transcripts hide them in.

None was ever valid. They are put together from pieces here, so that no scanner of a code host finds one in this file.
"""

import base64
import json
import random
import string
import textwrap
from collections.abc import Callable
from urllib.parse import quote

ALNUM = string.ascii_letters + string.digits
URL = ALNUM + "_-"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
BASE32 = string.ascii_uppercase + "234567"


class Maker:
    """Random pieces that are the same in every run."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def some(self, number: int, alphabet: str = ALNUM) -> str:
        """Return characters that look random, digits among them."""
        made = [self._random.choice(alphabet) for _ in range(number)]
        digits = [c for c in alphabet if c.isdigit()]
        if digits and number > 3:
            made[number // 2] = self._random.choice(digits)
            made[-2] = self._random.choice(digits)
        return "".join(made)

    def words(self, number: int) -> str:
        """Return words of a seed phrase."""
        known = [
            "abandon",
            "ability",
            "able",
            "about",
            "above",
            "absent",
            "absorb",
            "abstract",
            "absurd",
            "abuse",
            "access",
            "acid",
            "acoustic",
            "acquire",
            "across",
            "act",
            "legal",
            "winner",
            "thank",
            "year",
            "wave",
            "sausage",
            "worth",
            "useful",
            "zebra",
            "letter",
            "advice",
            "cage",
        ]
        return " ".join(self._random.choice(known) for _ in range(number))


def _jwt(m: Maker) -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": m.some(10), "iat": 1700000000}]
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts)
        + "."
        + m.some(43)
    )


def _pem(m: Maker, kind: str) -> str:
    lines = "\n".join(m.some(64, ALNUM + "+/") for _ in range(4))
    return f"-----BEGIN {kind}-----\n{lines}\n{m.some(30)}==\n-----END {kind}-----"


# family -> the text around the secret, and what makes one. "{}" is the secret.
SHAPES: dict[str, tuple[str, Callable[[Maker], str]]] = {
    "aws-id": ("id {}", lambda m: "AKIA" + m.some(16, BASE32)),
    "aws-temporary-id": ("id {}", lambda m: "ASIA" + m.some(16, BASE32)),
    "aws-secret": ("aws_secret_access_key = {}", lambda m: m.some(20) + "/" + m.some(19)),
    "aws-secret-json": ('"SecretAccessKey": "{}"', lambda m: m.some(20) + "+" + m.some(19)),
    "aws-session": ("AWS_SESSION_TOKEN={}", lambda m: "IQoJb3JpZ2luX2Vj" + m.some(300, ALNUM + "+/")),
    "gcp-key": ("key={}", lambda m: "AIza" + m.some(35, URL)),
    "gcp-access": ("{}", lambda m: "ya29." + m.some(120, URL)),
    "gcp-client": ("{}", lambda m: "GOCSPX-" + m.some(28, URL)),
    "gcp-refresh": ("{}", lambda m: "1//0" + m.some(60, URL)),
    "azure-storage": ("AccountName=x;AccountKey={};EndpointSuffix=core", lambda m: m.some(86, ALNUM + "+/") + "=="),
    "azure-client": ("client {}", lambda m: m.some(3) + "8Q~" + m.some(34)),
    "azure-sas": ("https://x.blob.core/c?sv=2022&sig={}", lambda m: m.some(43) + "%3D"),
    "azure-bus": ("Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey={}", lambda m: m.some(43) + "="),
    "github": ("token {}", lambda m: "ghp_" + m.some(36)),
    "github-oauth": ("{}", lambda m: "gho_" + m.some(36)),
    "github-app": ("{}", lambda m: "ghs_" + m.some(36)),
    "github-fine": ("{}", lambda m: "github_pat_" + m.some(22) + "_" + m.some(59)),
    "gitlab": ("{}", lambda m: "glpat-" + m.some(20, URL)),
    "gitlab-runner": ("{}", lambda m: "glrt-" + m.some(20, URL)),
    "slack-bot": (
        "{}",
        lambda m: "xoxb-" + m.some(12, string.digits) + "-" + m.some(12, string.digits) + "-" + m.some(24),
    ),
    "slack-user": ("{}", lambda m: "xoxp-" + m.some(12, string.digits) + "-" + m.some(32)),
    "slack-app": (
        "{}",
        lambda m: "xapp-1-A" + m.some(10, UPPER) + "-" + m.some(13, string.digits) + "-" + m.some(64, HEX),
    ),
    "slack-webhook": (
        "https://hooks.slack.com/services/{}",
        lambda m: f"T{m.some(8, UPPER)}/B{m.some(8, UPPER)}/{m.some(24)}",
    ),
    "discord-bot": ("{}", lambda m: "M" + m.some(25) + "." + m.some(6, URL) + "." + m.some(38, URL)),
    "discord-webhook": (
        "https://discord.com/api/webhooks/{}",
        lambda m: m.some(18, string.digits) + "/" + m.some(68, URL),
    ),
    "telegram": ("bot {}", lambda m: "7" + m.some(9, string.digits) + ":AA" + m.some(33, URL)),
    "stripe": ("{}", lambda m: "sk_live_" + m.some(99)),
    "stripe-restricted": ("{}", lambda m: "rk_live_" + m.some(24)),
    "stripe-hook": ("{}", lambda m: "whsec_" + m.some(32)),
    "openai": ("{}", lambda m: "sk-proj-" + m.some(120, URL)),
    "openai-old": ("{}", lambda m: "sk-" + m.some(20) + "T3BlbkFJ" + m.some(20)),
    "anthropic": ("{}", lambda m: "sk-ant-api03-" + m.some(93, URL) + "AA"),
    "openrouter": ("{}", lambda m: "sk-or-v1-" + m.some(64, HEX)),
    "deepseek": ("{}", lambda m: "sk-" + m.some(32, HEX)),
    "huggingface": ("{}", lambda m: "hf_" + m.some(34)),
    "groq": ("{}", lambda m: "gsk_" + m.some(52)),
    "xai": ("{}", lambda m: "xai-" + m.some(80)),
    "replicate": ("{}", lambda m: "r8_" + m.some(37)),
    "perplexity": ("{}", lambda m: "pplx-" + m.some(48)),
    "nvidia": ("{}", lambda m: "nvapi-" + m.some(64, URL)),
    "langsmith": ("{}", lambda m: "lsv2_pt_" + m.some(32, HEX) + "_" + m.some(10, HEX)),
    "npm": ("{}", lambda m: "npm_" + m.some(36)),
    "npmrc": ("//packages.tern.example/:_authToken={}", lambda m: m.some(8, HEX) + "-" + m.some(28)),
    "pypi": ("{}", lambda m: "pypi-AgEIcHlwaS5vcmc" + m.some(150, URL)),
    "rubygems": ("{}", lambda m: "rubygems_" + m.some(48, HEX)),
    "crates": ("{}", lambda m: "cio" + m.some(32)),
    "docker": ("{}", lambda m: "dckr_pat_" + m.some(27, URL)),
    "docker-auth": (
        '{{"auths": {{"ghcr.io": {{"auth": "{}"}}}}}}',
        lambda m: base64.b64encode(f"bot:{m.some(30)}".encode()).decode(),
    ),
    "twilio": ("{}", lambda m: "SK" + m.some(32, HEX)),
    "twilio-token": ("TWILIO_AUTH_TOKEN={}", lambda m: m.some(32, HEX)),
    "sendgrid": ("{}", lambda m: "SG." + m.some(22, URL) + "." + m.some(43, URL)),
    "mailgun": ("{}", lambda m: "key-" + m.some(32, HEX)),
    "mailchimp": ("{}", lambda m: m.some(32, HEX) + "-us14"),
    "resend": ("{}", lambda m: "re_" + m.some(8) + "_" + m.some(24)),
    "databricks": ("{}", lambda m: "dapi" + m.some(32, HEX)),
    "digitalocean": ("{}", lambda m: "dop_v1_" + m.some(64, HEX)),
    "cloudflare": ("CLOUDFLARE_API_TOKEN={}", lambda m: m.some(40, URL)),
    "heroku": ("HEROKU_API_KEY={}", lambda m: "HRKU-AA" + m.some(58, URL)),
    "vercel": ("VERCEL_TOKEN={}", lambda m: m.some(24)),
    "netlify": ("{}", lambda m: "nfp_" + m.some(36)),
    "supabase": ("{}", lambda m: "sbp_" + m.some(40, HEX)),
    "planetscale": ("{}", lambda m: "pscale_pw_" + m.some(43, URL)),
    "shopify": ("{}", lambda m: "shpat_" + m.some(32, HEX)),
    "square": ("{}", lambda m: "sq0atp-" + m.some(22, URL)),
    "vault": ("{}", lambda m: "hvs." + m.some(90)),
    "terraform": ("{}", lambda m: m.some(14) + ".atlasv1." + m.some(66)),
    "grafana": ("{}", lambda m: "glsa_" + m.some(32) + "_" + m.some(8, HEX)),
    "sentry": ("{}", lambda m: "sntrys_" + m.some(90)),
    "newrelic": ("{}", lambda m: "NRAK-" + m.some(27, UPPER)),
    "datadog": ("DD_API_KEY: {}", lambda m: m.some(32, HEX)),
    "postman": ("{}", lambda m: "PMAK-" + m.some(24, HEX) + "-" + m.some(34, HEX)),
    "linear": ("{}", lambda m: "lin_api_" + m.some(40)),
    "notion": ("{}", lambda m: "ntn_" + m.some(46)),
    "airtable": ("{}", lambda m: "pat" + m.some(14) + "." + m.some(64, HEX)),
    "figma": ("{}", lambda m: "figd_" + m.some(40, URL)),
    "atlassian": ("{}", lambda m: "ATATT3xFfGF0" + m.some(180, URL)),
    "doppler": ("{}", lambda m: "dp.pt." + m.some(43)),
    "sonar": ("{}", lambda m: "squ_" + m.some(40, HEX)),
    "tailscale": ("{}", lambda m: "tskey-auth-" + m.some(12) + "-" + m.some(32)),
    "age": ("{}", lambda m: "AGE-SECRET-KEY-1" + m.some(58, UPPER)),
    "jwt": ("{}", _jwt),
    "rsa-key": ("{}", lambda m: _pem(m, "RSA PRIVATE KEY")),
    "openssh-key": ("{}", lambda m: _pem(m, "OPENSSH PRIVATE KEY")),
    "pkcs8-key": ("{}", lambda m: _pem(m, "PRIVATE KEY")),
    "pgp-key": ("{}", lambda m: _pem(m, "PGP PRIVATE KEY BLOCK")),
    "postgres-url": ("postgres://app:{}@db.internal:5432/app", lambda m: "p4ss" + m.some(10)),
    "mongo-url": ("mongodb+srv://root:{}@c0.mongodb.net/x", lambda m: m.some(16)),
    "redis-url": ("redis://:{}@cache:6379/0", lambda m: m.some(20)),
    "amqp-url": ("amqp://guest:{}@mq:5672", lambda m: m.some(12)),
    "https-url": ("https://bot:{}@git.internal/x.git", lambda m: m.some(20)),
    "odbc": ("Server=db;User Id=sa;Password={};Encrypt=yes", lambda m: m.some(14) + "!"),
    "bearer": ("Authorization: Bearer {}", lambda m: m.some(40)),
    "basic": ("Authorization: Basic {}", lambda m: base64.b64encode(f"admin:{m.some(15)}".encode()).decode()),
    "api-key-header": ("X-Api-Key: {}", lambda m: m.some(32)),
    "cookie": ("Cookie: theme=dark; sessionid={}; lang=en", lambda m: m.some(32)),
    "set-cookie": ("Set-Cookie: connect.sid={}; Path=/; HttpOnly", lambda m: "s%3A" + m.some(32) + "." + m.some(43)),
    "netrc": ("machine api.host login ana password {}", lambda m: m.some(14)),
    "pgpass": ("db.internal:5432:app:ana:{}", lambda m: m.some(14)),
    "kube-token": ("users:\n- name: ana\n  user:\n    token: {}", lambda m: m.some(48)),
    "kube-env": ("- name: DB_PASSWORD\n  value: {}", lambda m: m.some(14) + "!"),
    "env-password": ("DB_PASSWORD={}", lambda m: "hunter2-" + m.some(6)),
    "env-quoted": ("export API_SECRET='{}'", lambda m: m.some(32)),
    "json-key": ('{{"api_key": "{}"}}', lambda m: m.some(32)),
    "json-camel": ('{{"clientSecret": "{}"}}', lambda m: m.some(30)),
    "yaml-password": ("database:\n  password: {}", lambda m: m.some(12) + "#" + m.some(3)),
    "toml-token": ('token = "{}"', lambda m: m.some(36)),
    "python-keyword": ('Client(api_key="{}")', lambda m: m.some(32)),
    "flag-token": ("tool deploy --token {}", lambda m: m.some(40)),
    "flag-key": ("tool --api-key={}", lambda m: m.some(32)),
    "flag-password": ("tool --password {}", lambda m: m.some(12) + "9"),
    "curl-user": ("curl -u admin:{} https://x.test", lambda m: m.some(14)),
    "mysql": ("mysql -uroot -p{} app", lambda m: m.some(14)),
    "query": ("https://x.test/a?access_token={}", lambda m: m.some(40)),
    "said": ("the password for the staging server is {}", lambda m: m.some(9) + "!" + m.some(4)),
    "htpasswd": ("ana:{}", lambda m: "$apr1$" + m.some(8) + "$" + m.some(22)),
    "bcrypt": ("{}", lambda m: "$2b$12$" + m.some(53)),
    "seed-phrase": ("seed phrase: {}", lambda m: m.words(12)),
    "ethereum": ("PRIVATE_KEY={}", lambda m: "0x" + m.some(64, HEX)),
    "wireguard": ("PrivateKey = {}", lambda m: m.some(42, ALNUM + "+/") + "8="),
    "django": ("SECRET_KEY = '{}'", lambda m: m.some(50)),
    "teams-webhook": (
        "https://x.webhook.office.com/webhookb2/{}",
        lambda m: (
            m.some(36, HEX) + "@" + m.some(36, HEX) + "/IncomingWebhook/" + m.some(32, HEX) + "/" + m.some(36, HEX)
        ),
    ),
}


def _coloured(text: str, secret: str) -> str:
    """Return the text with a colour that begins within the secret, as a search program marks what it found."""
    half = len(secret) // 2
    marked = f"\x1b[32m{secret[:half]}\x1b[1;31m{secret[half:]}\x1b[0m"
    return text.replace(secret, marked)


def _wrapped(width: int) -> Callable[[str, str], str]:
    def wrap(text: str, secret: str) -> str:
        del secret
        filled = "see the note here: " + text
        return "\n".join(
            piece
            for line in filled.split("\n")
            for piece in (textwrap.wrap(line, width, break_on_hyphens=False) or [""])
        )

    return wrap


def _cut(text: str, secret: str, between: str) -> str:
    half = len(secret) // 2
    return text.replace(secret, secret[:half] + between + secret[half:])


ENCODINGS: dict[str, Callable[[str, str], str]] = {
    "plain": lambda text, _: f"before\n{text}\nafter it",
    "json": lambda text, _: json.dumps({"a": f"line\n{text}\nmore"}),
    "json twice": lambda text, _: json.dumps({"a": json.dumps({"b": f"line\n{text}\nmore"})}),
    "unicode escapes": lambda text, _: json.dumps(f"x\n{text}\ny").replace("=", "\\u003d").replace("&", "\\u0026"),
    "base64": lambda text, _: "got " + base64.b64encode(f"PORT=80\n{text}\nHOST=x\n".encode()).decode() + " back",
    "base64 url": lambda text, _: (
        "got " + base64.urlsafe_b64encode(f"a\n{text}\nHOST=x?\n".encode()).decode().rstrip("=")
    ),
    "base64 of 76 columns": lambda text, _: base64.encodebytes(f"PORT=80\n{text}\nHOST=x\n".encode()).decode(),
    "base64 in json": lambda text, _: json.dumps({"c": base64.b64encode(f"A=1\n{text}\n".encode()).decode()}),
    "url": lambda text, _: "https://x.test/?q=" + quote(f"x\n{text}\n", safe=""),
    "colours": lambda text, secret: f"\x1b[1mfound\x1b[0m {_coloured(text, secret)}\n",
    "colours in json": lambda text, secret: json.dumps(f"found {_coloured(text, secret)}\n"),
    "64 columns": _wrapped(64),
    "76 columns": _wrapped(76),
    "80 columns": _wrapped(80),
    "backslash": lambda text, secret: _cut(text, secret, "\\\n"),
    "backslash and indentation": lambda text, secret: _cut(text, secret, "\\\n    "),
    "hex": lambda text, _: "dump " + f"a=1\n{text}\n".encode().hex() + " end",
    "html": lambda text, _: text.replace("&", "&amp;").replace('"', "&quot;").replace("=", "&#x3D;") + "<br>",
}
