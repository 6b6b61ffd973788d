"""The table of secret families: what a secret of each looks like and what makes a look-alike harmless."""

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One family of secrets.

    Attributes:
        family: its name in the mark.
        anchors: the pattern can match only where one of these literals occurs.
        pattern: the group ``secret`` is what gets replaced.
        folded: as ``anchors``, looked for in lower case.
        is_valid: refuses look-alikes; None takes every match.
    """

    family: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    folded: tuple[str, ...] = ()
    is_valid: Callable[[str], bool] | None = None


_PLACEHOLDER = re.compile(
    r"x{4,}|\*{3,}|\.{3,}|…|example|placeholder|changeme|change[-_]me|dummy|redacted|your[-_ ]|<[^>]*>"
    r"|\$\{|\{\{|12345678"
    r"|(?:^|[^a-z])(?:test|fake|none|null|true|false|undefined|secret|password|process\.env|os\.environ"
    r"|getenv)(?:[^a-z]|$)",
    re.IGNORECASE,
)
_CODE = re.compile(r"[(){}\[\];]|^\$|^%|^[A-Z_]+$|^[a-z_]+(\.[a-z_]+)+$|^/|^\./|^~/|^https?:")
_MIN_ENTROPY = 3.0
_MIN_PASSWORD = 6


def entropy(text: str) -> float:
    """Return the Shannon entropy of a text in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values()) if text else 0.0


def _looks_random(secret: str) -> bool:
    """A value after a secret's name: long and mixed, neither prose nor code nor a placeholder."""
    if _PLACEHOLDER.search(secret) or _CODE.search(secret):
        return False
    kinds = sum(bool(re.search(kind, secret)) for kind in ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]"))
    return kinds > 1 and entropy(secret) >= _MIN_ENTROPY


def _looks_chosen(secret: str) -> bool:
    """A password as people choose them: not a placeholder, not code, and not one plain word."""
    if len(secret) < _MIN_PASSWORD or _PLACEHOLDER.fullmatch(secret) or _CODE.search(secret):
        return False
    return bool(re.search(r"[0-9]|[^A-Za-z0-9_.\-]", secret)) and not re.fullmatch(r"[\d.]+", secret)


def _is_url_password(secret: str) -> bool:
    return not re.fullmatch(r"\$\w+|\$\{[^}]*\}|<[^>]*>|\*+|%s|\{\w*\}|x+", secret, re.IGNORECASE)


def _is_jwt(secret: str) -> bool:
    head = secret.split(".", 1)[0]
    try:
        value = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError):
        return False
    return isinstance(value, dict) and ("alg" in value or "typ" in value)


def _is_aws_secret(secret: str) -> bool:
    return entropy(secret) > _MIN_ENTROPY and bool(re.search("[A-Z]", secret)) and bool(re.search("[a-z]", secret))


def _looks_opaque(secret: str) -> bool:
    """A value that stands after "the token" in a sentence: a run that nobody would read out, not a slug or a name."""
    if _PLACEHOLDER.search(secret) or _CODE.search(secret) or entropy(secret) < _MIN_ENTROPY:
        return False
    if re.fullmatch(r"[A-Za-z0-9/+]{40}", secret) and _is_aws_secret(secret):
        return True
    return any(len(re.findall(r"\d", run)) > 1 and re.search("[A-Za-z]", run) for run in _RUN.findall(secret))


_RUN = re.compile(r"[A-Za-z0-9]{16,}")


def _plain(family: str, *prefixes: str, body: str, is_valid: Callable[[str], bool] | None = None) -> Rule:
    """A family whose secrets begin with a literal and stand free of other word characters."""
    heads = "|".join(re.escape(p) for p in prefixes)
    return Rule(family, prefixes, re.compile(rf"(?<![A-Za-z0-9_])(?P<secret>(?:{heads}){body})"), is_valid=is_valid)


_NAME = (
    r"(?:(?<![\w.\-])[\w.\-]{0,40}(?:api[_\-]?key|apikey|secret|token|passwd|password|passphrase|passwort"
    r"|credential|access[_\-]?key"
    r"|auth[_\-]?key|private[_\-]?key|client[_\-]?secret|encryption[_\-]?key|signing[_\-]?key"
    r"|session[_\-]?key|dsn)[\w\-]{0,40})"
)
_NAMES = (
    "api_key", "api-key", "apikey", "secret", "token", "passw", "passphrase", "credential", "access_key", "access-key",
    "accesskey", "auth_key", "authkey", "auth-key", "private_key", "private-key", "privatekey", "encryption", "signing",
    "session_key", "session-key", "sessionkey", "dsn",
)  # fmt: skip

RULES: tuple[Rule, ...] = (
    Rule(
        "private-key",
        ("-----BEGIN ",),
        re.compile(
            r"(?P<secret>-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
            r"(?:.*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|[\s\S]*\Z))",
            re.DOTALL,
        ),
    ),
    Rule("age", ("AGE-SECRET-KEY-1",), re.compile(r"(?P<secret>AGE-SECRET-KEY-1[0-9A-Z]{50,})")),
    Rule("jwt", ("eyJ",), re.compile(r"(?P<secret>eyJ[\w\-]{8,}\.eyJ[\w\-]{4,}\.[\w\-]{8,})"), is_valid=_is_jwt),
    Rule(
        "slack-webhook",
        ("hooks.slack.com/",),
        re.compile(r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/+_\-]{20,})"),
    ),
    Rule(
        "discord-webhook",
        ("/api/webhooks/",),
        re.compile(r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{6,}/[\w\-]{20,})"),
    ),
    Rule(
        "url-password",
        ("://",),
        re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*://[^\s:/@'\"<>]*:(?P<secret>[^\s/@'\"]{3,}(?:/[^\s@'\"/]+)*)@[\w\[]"),
        is_valid=_is_url_password,
    ),
    _plain("github", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", body=r"[A-Za-z0-9]{30,}"),
    _plain("github", "github_pat_", body=r"[A-Za-z0-9_]{40,}"),
    _plain("gitlab", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", body=r"[A-Za-z0-9_\-.]{16,}"),
    _plain("aws-id", "AKIA", "ASIA", "ABIA", "ACCA", body=r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    Rule(
        "aws-secret",
        (),
        re.compile(
            r"(?i:aws|secret)[\w.\-]{0,30}(?i:key|secret)[\w.\-]*[\"']?\s*(?:=>|[:=,]|\s)\s*[\"']?"
            r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
        folded=("secret", "aws"),
        is_valid=_is_aws_secret,
    ),
    _plain(
        "slack", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xapp-", "xoxe.", body=r"[A-Za-z0-9.\-]{10,}"
    ),
    _plain("stripe", "sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_", body=r"[A-Za-z0-9]{16,}"),
    _plain("anthropic", "sk-ant-", body=r"[A-Za-z0-9_\-]{20,}"),
    _plain("openrouter", "sk-or-", body=r"[A-Za-z0-9_\-]{20,}"),
    _plain("openai", "sk-proj-", "sk-svcacct-", "sk-admin-", body=r"[A-Za-z0-9_\-]{20,}"),
    _plain("openai", "sk-", body=r"[A-Za-z0-9]{32,}"),
    _plain("google", "AIza", body=r"[A-Za-z0-9_\-]{35}(?![A-Za-z0-9_\-])"),
    _plain("google-oauth", "ya29.", "GOCSPX-", body=r"[A-Za-z0-9_\-]{20,}"),
    _plain("npm", "npm_", body=r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _plain("pypi", "pypi-AgE", body=r"[A-Za-z0-9_\-]{40,}"),
    _plain("huggingface", "hf_", body=r"[A-Za-z0-9]{30,}"),
    _plain("sendgrid", "SG.", body=r"[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    _plain("mailgun", "key-", body=r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    _plain("twilio", "SK", "AC", body=r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    Rule(
        "telegram",
        (":AA",),
        re.compile(r"(?<!\d)(?P<secret>\d{8,10}:AA[A-Za-z0-9_\-]{33})(?![A-Za-z0-9_\-])"),
    ),
    Rule(
        "discord",
        (".",),
        re.compile(r"(?<![\w\-])(?P<secret>[MNO][A-Za-z\d]{23,27}\.[\w\-]{6}\.[\w\-]{27,38})(?![\w\-])"),
    ),
    Rule("azure", ("AccountKey=", "SharedAccessKey="), re.compile(r"Key=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})")),
    _plain("databricks", "dapi", body=r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    _plain("digitalocean", "dop_v1_", "doo_v1_", "dor_v1_", body=r"[0-9a-f]{64}"),
    _plain("shopify", "shpat_", "shpca_", "shppa_", "shpss_", body=r"[0-9a-fA-F]{32}"),
    _plain("square", "sq0atp-", "sq0csp-", body=r"[A-Za-z0-9_\-]{22,}"),
    _plain("vault", "hvs.", "hvb.", body=r"[A-Za-z0-9_\-]{20,}"),
    _plain("linear", "lin_api_", "lin_oauth_", body=r"[A-Za-z0-9]{32,}"),
    _plain("notion", "ntn_", "secret_", body=r"[A-Za-z0-9]{40,}"),
    _plain("postman", "PMAK-", body=r"[0-9a-f]{24}-[0-9a-f]{34}"),
    _plain("newrelic", "NRAK-", body=r"[A-Z0-9]{27}"),
    _plain("doppler", "dp.pt.", "dp.st.", body=r"[A-Za-z0-9.]{40,}"),
    _plain("docker", "dckr_pat_", body=r"[A-Za-z0-9_\-]{20,}"),
    _plain("terraform", "atlasv1.", body=r"[A-Za-z0-9_\-]{30,}"),
    Rule(
        "auth-header",
        (),
        re.compile(
            r"(?i:authorization|proxy-authorization)[\"']?\s*[:=]\s*[\"']?(?i:bearer|basic"
            r"|token)\s+(?P<secret>[\w\-.+/=~]{12,})"
        ),
        folded=("authorization",),
    ),
    Rule(
        "password-flag",
        ("--password", "--pass", "-u "),
        re.compile(r"(?:--pass(?:word)?[= ]|\bcurl\b[^\n]{0,80}?\s-u\s+[^\s:]+:)[\"']?(?P<secret>[^\s\"'$<{]{4,})"),
        is_valid=_is_url_password,
    ),
    Rule(
        "assignment",
        (),
        re.compile(rf"(?i:{_NAME})[\"']?\s*(?:=>|:=|[:=])\s*[\"']?(?P<secret>[^\s\"',;<>`]{{16,}})"),
        folded=_NAMES,
        is_valid=_looks_random,
    ),
    Rule(
        "password",
        (),
        re.compile(
            r"(?i:\b[\w\-]*(?:password|passwd|passphrase|passwort|pwd)[\w\-]*)[\"']?"
            r"(?:\s*(?:=>|:=|[:=])\s*|(?:\s+(?:for|of|on|to|at|für|von)\s[^\n.,;:]{1,50}?)?\s+(?:is|ist|to|lautet)\s+)"
            r"[\"'`]?(?P<secret>[^\s\"',;<>`]{6,})"
        ),
        folded=("passw", "passphrase", "pwd"),
        is_valid=_looks_chosen,
    ),
    Rule(
        "spoken",
        (),
        re.compile(
            r"(?i:\b(?:secret|token|key|credential|passphrase|password|passwort)s?)"
            r"(?:\s+(?:(?:for|of|on|to|at)\s[^\n.,;:]{1,50}?\s)?(?:is|ist|lautet|=|:))?\s+"
            r"[\"'`]?(?P<secret>[A-Za-z0-9/+_\-.=~]{20,})"
        ),
        folded=("secret", "token", "key", "credential", "passw", "passphrase"),
        is_valid=_looks_opaque,
    ),
)
