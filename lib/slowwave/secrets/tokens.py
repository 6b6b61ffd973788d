"""Tokens that providers publish the shape of: a prefix that nothing else has, then characters of one alphabet.

Sources are the providers' own pages on token formats and secret scanning. What a provider means to be public
(Stripe's ``pk_``, Mapbox' ``pk.``) is no secret.
"""

import re

from slowwave.secrets.model import Rule
from slowwave.secrets.validity import is_jwt, is_mixed

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
