"""Every family of secrets is taken out of text, and nothing else is."""

import base64
import json
import random
import string

import pytest

from tests.quality.redactor import redactor_for

redact = redactor_for("shop")
_random = random.Random(7)
_ALNUM = string.ascii_letters + string.digits


def some(number: int, alphabet: str = _ALNUM) -> str:
    """Return characters that look random and are the same in every run."""
    return "".join(_random.choice(alphabet) for _ in range(number))


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
LINES = "\n".join(some(64) for _ in range(4))
# family -> text around the secret, and the secret; each is made here, none was ever valid
PLANTED: dict[str, tuple[str, str]] = {
    "github": ("token {}", "ghp_" + some(36)),
    "github fine-grained": ("use {} for it", "github_pat_" + some(22) + "_" + some(59)),
    "gitlab": ("{}", "glpat-" + some(20)),
    "aws-id": ("id is {} here", "AKIA" + some(16, BASE32)),
    "aws-secret": ("aws_secret_access_key = {}", some(20) + "/" + some(19)),
    "slack": ("bot {}", "xoxb-" + some(12, string.digits) + "-" + some(24)),
    "slack-webhook": ("https://hooks.slack.com/services/{}", f"T{some(8)}/B{some(8)}/{some(24)}"),
    "discord-webhook": ("https://discord.com/api/webhooks/{}", some(18, string.digits) + "/" + some(60)),
    "stripe": ("key {}", "sk_live_" + some(24)),
    "openai": ("{}", "sk-proj-" + some(48)),
    "openai old": ("{}", "sk-" + some(48)),
    "anthropic": ("{}", "sk-ant-api03-" + some(80)),
    "google": ("maps {}", "AIza" + some(35)),
    "google-oauth": ("{}", "ya29." + some(60)),
    "npm": ("{}", "npm_" + some(36)),
    "pypi": ("{}", "pypi-AgEIcHlwaS5vcmc" + some(70)),
    "huggingface": ("{}", "hf_" + some(34)),
    "sendgrid": ("{}", "SG." + some(22) + "." + some(43)),
    "mailgun": ("{}", "key-" + some(32, HEX)),
    "twilio": ("{}", "SK" + some(32, HEX)),
    "telegram": ("bot {}", some(9, string.digits) + ":AA" + some(33)),
    "jwt": ("cookie {}", f"{encoded({'alg': 'HS256', 'typ': 'JWT'})}.{encoded({'sub': '12', 'iat': 3})}.{some(43)}"),
    "private-key": ("{}", f"-----BEGIN RSA PRIVATE KEY-----\n{LINES}\n-----END RSA PRIVATE KEY-----"),
    "openssh key": ("{}", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{LINES}\n-----END OPENSSH PRIVATE KEY-----"),
    "cut private key": ("{}", f"-----BEGIN EC PRIVATE KEY-----\n{LINES}"),
    "url-password": ("postgres://shop:{}@db.internal:5432/shop", "p4ss-" + some(8)),
    "azure": ("DefaultEndpointsProtocol=https;AccountKey={};x", some(86) + "=="),
    "databricks": ("{}", "dapi" + some(32, HEX)),
    "digitalocean": ("{}", "dop_v1_" + some(64, HEX)),
    "shopify": ("{}", "shpat_" + some(32, HEX)),
    "vault": ("{}", "hvs." + some(24)),
    "age": ("{}", "AGE-SECRET-KEY-1" + some(58, string.ascii_uppercase + string.digits)),
    "linear": ("{}", "lin_api_" + some(40)),
    "postman": ("{}", "PMAK-" + some(24, HEX) + "-" + some(34, HEX)),
    "docker": ("{}", "dckr_pat_" + some(27)),
    "auth-header": ("curl -H 'Authorization: Bearer {}'", some(40)),
    "env file": ("DATABASE_PASSWORD={}\nPORT=3000", "hunter2-" + some(6)),
    "env key": ("export STRIPE_WEBHOOK_SECRET='{}'", some(32)),
    "json value": ('{{"client_secret": "{}"}}', some(30)),
    "said": ("the password is {} for staging", "Tr0ub4dor&3"),
    "said with its place": ("the password for the staging server is {}", "hunter2Correct!Horse"),
    "said after its id": ("use that key with secret {} for deploys", some(20) + "/" + some(19)),
    "token in a sentence": ("our token for the wiki is {} until May", some(40, HEX)),
    "flag": ("mysql --password={} -e 'select 1'", "s3cr3t" + some(4)),
    "basic auth": ("curl -u admin:{} https://x.test", "qw3rty" + some(4)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_secret_is_taken_out(name: str):
    around, secret = PLANTED[name]
    clean = redact("before\n" + around.format(secret) + "\nafter")
    assert secret not in clean
    assert not any(line in clean for line in secret.split("\n") if len(line) > 20)
    assert "[secret:" in clean
    assert clean.startswith("before\n")


@pytest.mark.parametrize("name", [n for n in PLANTED if n != "cut private key"])
def test_what_stands_behind_a_secret_stays(name: str):
    around, secret = PLANTED[name]
    assert redact(around.format(secret) + "\nafter the secret").endswith("\nafter the secret")


@pytest.mark.parametrize(
    "harmless",
    [
        "use pnpm instead of npm",
        "rename getAccessToken() to accessToken()",
        "token: string;",
        "set API_KEY=your-api-key-here in the .env file",
        "password = os.environ['DB_PASSWORD']",
        "export TOKEN=${GITHUB_TOKEN}",
        "the commit is 3f786850e387550fdab836ed7e6dc881de23001b",
        "see https://example.com/a:b/c@d and user@example.com",
        "the token budget is 16,384 tokens",
        "password must be at least 12 characters",
        "the secret is to keep it simple",
        "postgres://shop:${DB_PASSWORD}@localhost/shop",
        "sk-learn and key-value stores",
        "id 5d0c6a1e-0000-4000-8000-000000000001",
        "max_tokens: 4096, tokenizer: tiktoken",
        "the password for staging lies in 1Password",
        "the password check on the form is case-insensitive",
        "turn the key feature-flag-2024-rollout-europe on",
        "the token buildSessionContextFromRecords goes away",
    ],
)
def test_harmless_text_stays_as_it_is(harmless: str):
    assert redact(harmless) == harmless


def test_redacting_twice_changes_nothing():
    for around, secret in PLANTED.values():
        once = redact(around.format(secret))
        assert redact(once) == once


def test_equal_secrets_get_equal_marks_and_other_projects_other_ones():
    secret = PLANTED["github"][1]
    mark = redact(secret)
    assert redact(f"again {secret}") == f"again {mark}"
    assert redactor_for("elsewhere")(secret) != mark


def test_secrets_are_counted():
    text = " ".join(PLANTED[name][1] for name in ("github", "slack", "npm"))
    assert redact.counted(text)[1] == 3
