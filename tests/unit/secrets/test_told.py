"""Secrets told in words are found in any language, and sentences that only speak of them are left alone."""

import base64
import codecs
import re
import sys
from collections import Counter
from typing import Any

import pytest

from slowwave.secrets import NAMELESS
from slowwave.secrets.finder import find_secrets, findings_in
from slowwave.secrets.layers import FOLDED, folded
from slowwave.secrets.rules import Finding
from slowwave.secrets.validity import oddness
from tests.quality.blocks import blocks
from tests.quality.rows_secrets import WRITTEN, fresh_of
from tests.quality.secret_fresh import (
    CARRIERS,
    SPLIT_INTO,
    SPLITS_FRESH,
    SPLITS_FRESH_FOURTH,
    SPLITS_FRESH_SECOND,
    SPLITS_FRESH_THIRD,
    carried,
)
from tests.quality.secret_told import SPLITS, Split, split, told
from tests.quality.secret_values import Planted

BENIGN = """
the password is too short
the password is required!
pass the token to the client
pass x1 and y2 to the client
the token expires in 15m
密码错误
密码错误码1001
パスワードが違います
비밀번호가 틀렸습니다
неверный пароль
the password must have 8-20 characters
the password field in LoginForm2.tsx
the password is base64 encoded
--- PASS: TestLogin (0.02s), 128/128
pin python3.11 in the lockfile
pin bun@1.3.14 and restore
log in with OAuth2
log in to github/oauth2
the secret is in vault/path2
exit code 1001
order 1234 5678 9012 3456 has shipped
password: z.string().min(8, 'at least 8')
see the password reset in #12345
cd src && pwd && ls -la4
{"question":"what is the PIN","timeout":30000}
      --pass: #16a34a; --warn: #ca8a04
--- PASS: TestAllFiles/tree1_nil_(all_files_added) (0.00s)
`useStorageSlot` takes a key: `src/pages/*`. `CodeBlock2` has its button
/root/src2024/main.py and root/etc/passwd.d/x
footprint 123456 of option 4711
the gate opens at 1230, exit code 4711
""".strip().splitlines()


@pytest.mark.parametrize("sentence", BENIGN)
def test_who_speaks_of_passwords_tells_none(sentence: str) -> None:
    assert find_secrets(sentence) == []


@pytest.mark.parametrize("line", [line for _, lines in blocks("secret_benign_fresh.txt") for line in lines])
def test_what_only_looks_so_stays_in_any_carrier(line: str) -> None:
    assert [wrap(line) for wrap in CARRIERS.values() if NAMELESS(wrap(line)) != wrap(line)] == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('pw = std::string("hunt") + f("er2!x")', 'pw = std::string("M") + f("M")'),
        ("password = ['hunt', \"er2!x\"].join('')", "password = ['M', \"M\"].join('')"),
        ("<password>hunt<b>er2!x</b></password>", "<password>M<b>M</b></password>"),
        ('sb.append("pw=hunt").append("er2!x");', 'sb.append("pw=M").append("M");'),
        ("password: >-\n  hunt\n  er2!x\nuser: app", "password: >-\n  M\n  M\nuser: app"),
    ],
)
def test_code_that_joins_pieces_is_as_whole_as_before(code: str, expected: str) -> None:
    assert re.sub(r"\[secret:[\w-]+\]", "M", NAMELESS(code)) == expected


@pytest.mark.parametrize(
    "code",
    [
        "send(String.fromCharCode({numbers}))",
        "x := []byte{{{hexes}}}",
        "char[] x = {{{signs}}};",
        "x=$'{escapes}'",
        "echo -n {hexed} | xxd -r -p",
        "fetch(u, atob('{base64}'))",
        "x = '{backwards}'[::-1]",
        "x = codecs.decode('{rot13}', 'rot13')",
    ],
)
def test_what_a_call_decodes_is_a_secret_whatever_it_is_called(code: str) -> None:
    value = "Heron_41x7"
    hexes = [f"{ord(sign):02x}" for sign in value]
    forms = {
        "numbers": ",".join(str(ord(sign)) for sign in value),
        "hexes": ", ".join(f"0x{one}" for one in hexes),
        "signs": ", ".join(f"'{sign}'" for sign in value),
        "escapes": "".join(f"\\x{one}" for one in hexes),
        "hexed": "".join(hexes),
        "base64": base64.b64encode(value.encode()).decode(),
        "backwards": value[::-1],
        "rot13": codecs.encode(value, "rot13"),
    }
    text = code.format(**forms)
    assert [one.secret for one in find_secrets(text)] == [value], text


@pytest.mark.parametrize(
    "line",
    [
        "data, err := base64.StdEncoding.DecodeString(base64String)",
        "gh api contents/omp.zsh?ref=6843bc5d4739feed97bf9c0df2317d6f3027a5bf --jq .content | base64 -d",
        "npx -y markdownlint-cli2 .markdownlint-cli2.yaml | Out-File -Encoding utf8",
        "atob('aGVsbG8gd29ybGQhIQ==')",
        "x := []byte{10, 20, 30, 40, 50, 60, 70, 80}",
    ],
)
def test_what_a_call_decodes_to_no_secret_stays(line: str) -> None:
    assert NAMELESS(line) == line


def test_variables_side_by_side_near_a_name_are_one_value() -> None:
    given = "a: Kupfer\nb: Kessel_89\n"
    for use in ("password: ${a}${b}", "login(user, password=a + b)"):
        assert "Kessel" not in NAMELESS(given + use), use
        assert "Kupfer" not in NAMELESS(given + use), use
    assert NAMELESS(given + "colour: ${a}${b}") == given + "colour: ${a}${b}"
    plain = "a: left\nb: right\npassword: ${a}${b}"
    assert NAMELESS(plain) == plain


def test_a_text_that_several_ways_lead_to_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: Counter[str] = Counter()

    def counted(text: str, *rest: Any) -> list[Finding]:
        looked[text] += 1
        return findings_in(text, *rest)

    monkeypatch.setattr("slowwave.secrets.finder.findings_in", counted)
    find_secrets('the password \\u001b[1mis\\u001b[0m &lt;a&gt; %3Cb%3E \\"Nordsee!84x\\" \\\\n')
    assert len(looked) > 2
    assert max(looked.values()) <= 2  # once more where it was looked at too late the first time


def test_a_comma_joins_what_a_name_of_secrets_holds_and_nothing_else() -> None:
    assert "er2" not in NAMELESS('password = f("hunt", "er2!x")')
    assert NAMELESS('colour = f("hunt", "er2")') == 'colour = f("hunt", "er2")'
    assert NAMELESS('{"password": "", "user": "er2", "n": 1}') == '{"password": "", "user": "er2", "n": 1}'


@pytest.mark.parametrize(
    "name",
    [
        "secret_told.txt",
        "secret_told_held_back.txt",
        "secret_told_fresh.txt",
        "secret_told_fresh_second.txt",
        "secret_told_fresh_third.txt",
        "secret_told_fresh_fourth.txt",
    ],
)
def test_no_sentence_keeps_its_secret(name: str) -> None:
    assert {p.family for p in told(2, 7, name) if p.value in NAMELESS(f"so\n{p.text}\nand")} == set()


def test_no_piece_of_what_is_split_stays_and_nothing_else_goes() -> None:
    left = [p.family for p in split(2, 7, SPLITS) if _is_wrong(p, NAMELESS(f"before it\n{p.text}\nafter it"))]
    assert left == []


@pytest.mark.parametrize("ways", [SPLITS_FRESH, SPLITS_FRESH_SECOND, SPLITS_FRESH_THIRD, SPLITS_FRESH_FOURTH])
def test_no_piece_of_what_calls_tags_and_escapes_part_stays_in_any_carrier(ways: dict[str, Split]) -> None:
    every = carried(split(1, 7, ways, SPLIT_INTO))
    assert {p.family for p in every if _has_piece(p, NAMELESS(p.text))} == set()


def test_most_of_what_was_written_while_the_rules_were_mended_is_found() -> None:
    _, (told_ones, split_ones, benign), notes = fresh_of([WRITTEN])
    assert told_ones.value >= 0.97, notes
    assert split_ones.value >= 0.94, notes
    assert benign.value >= 0.98, notes


def _has_piece(planted: Planted, text: str) -> bool:
    return any(body in text for body in planted.bodies if len(body) > 4)


def _is_wrong(planted: Planted, text: str) -> bool:
    return _has_piece(planted, text) or not text.startswith("before it\n") or not text.endswith("\nafter it")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("required", 0), ("Form.tsx", 0), ("2024-01-31", 0), ("sha256", 0), ("user@example.org", 0), ("--force", 0),
        ("[secret:told:ab12cd34]", 0), ("server2", 1), ("4821", 1), ("a1b2c3", 2), ("hunter2!x", 3), ("xK9#mP2q", 3),
    ],
)  # fmt: skip
def test_the_less_a_value_looks_like_a_word_the_odder_it_is(value: str, expected: int) -> None:
    assert oddness(value) == expected


def test_the_farther_a_value_is_from_its_name_the_odder_it_must_be() -> None:
    far = "the password that Tom gave me for the box is in folder2, not {}"
    assert not find_secrets(far.format("hunter2"))
    assert not find_secrets("the password for the server2 machine")
    assert [one.secret for one in find_secrets("my pw is hunter2")] == ["hunter2"]


def test_a_password_that_was_told_goes_wherever_it_stands_again() -> None:
    text = "try Sommer2024 first. the password is Sommer2024\nssh said: Sommer2024? no"
    assert "Sommer2024" not in NAMELESS(text)


def test_cards_go_with_their_codes_and_other_numbers_stay() -> None:
    assert NAMELESS("pay with 4111 1111 1111 1111 12/29 123") == "pay with [secret:card] 12/29 [secret:card]"
    assert NAMELESS("id 4111 1111 1111 1112") == "id 4111 1111 1111 1112"
    assert NAMELESS("my visa is 4111111111111111") == "my visa is [secret:card]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("взял Nordsee!84x и всё", "взял M и всё"),  # by its mixture alone, in whatever language
        ("the password, he said, and I believe him: it was Herring42 then", None),
        ("| host | password |\n|---|---|\n| db1 | Rotkohl-7a |", "| host | password |\n|---|---|\n| db1 | M |"),
        ("backup codes:\n- a8f2-99kd\n- 77qp-0zxm\nend", "backup codes:\n- M\n- M\nend"),
        ("the passphrase is maple otter violin harbour", "the passphrase is M"),
        ("what was the zip password again?\nMonsoon.8", "what was the zip password again?\nM"),
        ("the bike lock's code is 7294", "the bike lock's code is M"),
        ("the error code is 7294", "the error code is 7294"),
        ("get in with kim and Saffron-Lime-42", "get in with kim and M"),
        ("a = 'Quar'; password = a + 'tz5238'", "a = 'M'; password = a + 'M'"),
        ("password = bytes([81, 117, 97, 114, 116, 122, 53, 50])", "password = bytes([M])"),
        ("the user of the password is kim on host web2042", "the user of the password is kim on host web2042"),
        ("the vault password is Marble.fox7 for now", "the vault password is M for now"),
        ('password = "Wren;Nest(4)"', 'password = "M"'),
        ("password = bcrypt(user2, 10)", "password = bcrypt(user2, 10)"),
        ("password: !vault |", "password: !vault |"),
        ("to get past the side entrance you punch in 4471", "to get past the side entrance you punch in M"),
        ("an der Hintertür musst du 4471 eintippen", "an der Hintertür musst du M eintippen"),
        ("the alarm's 4471, please arm it", "the alarm's M, please arm it"),
        ("token: *** Run actions/checkout@v4", "token: *** Run actions/checkout@v4"),
        ("access to branch 'evidence/dogfood-2026-07-06'", "access to branch 'evidence/dogfood-2026-07-06'"),
        ("Error code 2024 on the alarm panel", "Error code 2024 on the alarm panel"),
        ("first half of the password: Willow-, the rest is Fen91", "first half of the password: M, the rest is M"),
        ("password over the phone: hotel echo romeo oscar nine four two", "password over the phone: M"),
        ("password: otter, underscore, barn, exclamation mark, seven", "password: M"),
        ("the password: letters, digits, underscore, dash", "the password: letters, digits, underscore, dash"),
        ("the password is Capercai-\nllie93 (one word)", "the password is M (one word)"),
        ("Das Passwort ist seit dem Update ungültig.", "Das Passwort ist seit dem Update ungültig."),
        ("first pet? I answered Biscuit back then", "first pet? I answered M back then"),
        ("'X-Auth-Token': 'e02f9c71-b3aa-4d58-8c19-5577a0de1f63'", "'X-Auth-Token': 'M'"),
        ("کلید ورود Anar_gul\u06f7\u06f4 است", "کلید ورود M است"),
        ("$x = 'Pum'; password = %w[Tern Spit 66]", "$x = 'Pum'; password = %w[M M M]"),
    ],
)
def test_what_marks_a_value_is_its_shape_and_what_stands_near(text: str, expected: str | None) -> None:
    marked = re.sub(r"\[secret:[\w-]+\]", "M", NAMELESS(text))
    assert marked == expected if expected else "Herring42" not in marked


# one name of passwords each, in languages beside those of the sets
LANGUAGES = """
die wagwoord vir die databasis is {}
datu-basearen pasahitza {} da
o contrasinal do router é {}
la contrasenya del servidor és {}
is é an pasfhocal ná {}
y cyfrinair ar gyfer y gweinydd yw {}
fjalëkalimi i serverit është {}
лозинката за базата е {}
пароль ад базы {}
серверге құпиясөз {}
server paroli {}, hech kimga aytma
bazanın şifrəsi {}, istifadəçi admin
серверийн нууц үг нь {}
सर्व्हरचा पासवर्ड {} आहे
సర్వర్ పాస్‌వర్డ్ {}
ವೈಫೈ ಪಾಸ್ವರ್ಡ್ {}
വൈഫൈ പാസ്‌വേഡ് {} ആണ്
સર્વરનો પાસવર્ડ {} છે
ਸਰਵਰ ਦਾ ਪਾਸਵਰਡ {} ਹੈ
රවුටරයේ මුරපදය {}
ဝိုင်ဖိုင် စကားဝှက် {} ပါ
ពាក្យសម្ងាត់ wifi គឺ {}
ລະຫັດຜ່ານ wifi ແມ່ນ {}
kata laluan pangkalan data ialah {}
tembung sandi servere {}
erayga sirta ah ee wifi waa {}
kalmar sirri ta uwar garken ita ce {}
د سرور پټنوم {} دی
d'Passwuert fir de Server ass {}
loyniorðið til ambætaran er {}
aðgangsorðið að kassanum er {}
ბაზის პაროლი არის {}
տվյալների բազայի գաղտնաբառը {} է
የይለፍ ቃሉ {} ነው
nenosiri la seva ni {}
slaptažodis yra {}
servera parole ir {}
andmebaasi parool on {}
geslo za bazo je {}
mật khẩu máy chủ là {}
""".strip().splitlines()  # noqa: RUF001 - other scripts


@pytest.mark.parametrize("sentence", LANGUAGES)
def test_what_secrets_are_called_is_known_in_many_languages(sentence: str) -> None:
    assert NAMELESS(sentence.format("Durian.fox62")) == sentence.format("[secret:told]")


@pytest.mark.parametrize(
    "text",
    [
        "senha do wifi: [secret:told:697ca1d8]",
        "Codewort am Telefon: [secret:told:bda8680c]",
        "we log in with [secret:password:3f0d5cd6], I know",
        "postgres://shop:[secret:url-password:0eedc951]@db.internal:5432/shop",
    ],
)
def test_a_mark_holds_no_secret(text: str) -> None:
    assert find_secrets(text) == []


def test_what_hides_within_a_secret_goes_with_it() -> None:
    assert NAMELESS("my pw is hun\u200bter2 ok") == "my pw is [secret:told] ok"
    assert NAMELESS("my p\u00adw is hunter2") == "my p\u00adw is [secret:told]"


@pytest.mark.parametrize(
    "around", ['{{"text":"{}","more":0.69}}', '{{\\"text\\":\\"{}\\",\\"n\\":1}}', "<p>{}</p>", "a\\n{}\\nb1"]
)
def test_what_stands_around_a_sentence_is_no_part_of_its_value(around: str) -> None:
    text = around.format("the password is hunter2-Xq9!zT")
    assert NAMELESS(text) == text.replace("hunter2-Xq9!zT", "[secret:told]")


def test_what_is_folded_is_folded_once() -> None:
    # a sign that became one of these again would be folded to no end
    signs = FOLDED.findall("".join(map(chr, range(sys.maxunicode + 1))))
    assert not [sign for sign in signs if FOLDED.search(folded(sign, sign).text)]
