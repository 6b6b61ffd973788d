"""Fresh sets of secrets told and split, written when the rules were finished, each in several carriers.

The figures of a set the first time that it was tried are in ``docs/decisions/0027-secrets.md``; it is data like any
other since then.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from urllib.parse import quote

from tests.quality.secret_told import Split
from tests.quality.secret_values import Planted

# what a sentence stands in
CARRIERS: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "item of a list": lambda text: f"Notes of today:\n- the tests are slow\n- {text}\n- call Tom",
    "quoted": lambda text: f"> {text}\n\nyes, that one",
    "comment in code": lambda text: f"def connect():\n    # {text}\n    return None",
    "JSON": lambda text: json.dumps({"role": "user", "content": text}),
    "JSON in UTF-8": lambda text: json.dumps({"role": "user", "content": f"hi\n{text}\nok"}, ensure_ascii=False),
    "chat with times": lambda text: f"[12:03] ann: ok\n[12:04] ben: {text}\n[12:05] ann: thanks",
}
SPLITS_FRESH: dict[str, Split] = {
    "shell plus equals": lambda v, a: f'"{v[:a]}"\nPASS+="{v[a:]}"',
    "Go plus": lambda v, a: f'"{v[:a]}" +\n\t\t"{v[a:]}"',
    "builder": lambda v, a: f'new StringBuilder().append("{v[:a]}").append("{v[a:]}")',
    "Visual Basic": lambda v, a: f'"{v[:a]}" & _\n    "{v[a:]}"',
    "String.Concat": lambda v, a: f'String.Concat("{v[:a]}", "{v[a:]}")',
    "percent format": lambda v, a: f"'%s%s' % ('{v[:a]}', '{v[a:]}')",
    "template literals": lambda v, a: f"`${{'{v[:a]}'}}${{'{v[a:]}'}}`",
    "Ruby shift": lambda v, a: f'"{v[:a]}" << "{v[a:]}"',
    "raw strings": lambda v, a: f'r"{v[:a]}" r"{v[a:]}"',
    "f-strings": lambda v, a: f"f'{v[:a]}' f'{v[a:]}'",
    "plus with a comment": lambda v, a: f'"{v[:a]}" + /* next */ "{v[a:]}"',
    "join with newline": lambda v, a: f'"".join((\n    "{v[:a]}",\n    "{v[a:]}",\n))',
    "PowerShell": lambda v, a: f"'{v[:a]}' + `\n  '{v[a:]}'",
    "caret of cmd": lambda v, a: f"{v[:a]}^\n{v[a:]}",
    "backslash within quotes": lambda v, a: f'"{v[:a]}\\\n    {v[a:]}"',
    "no-break zero width": lambda v, a: f"{v[:a]}\u2060\ufeff{v[a:]}",
    "invisible separator": lambda v, a: f"{v[:a]}\u2063{v[a:]}",
    "isolates": lambda v, a: f"\u2066{v[:a]}\u2069{v[a:]}",
    "Hangul filler": lambda v, a: f"{v[:a]}\u3164{v[a:]}",
    "Arabic letter mark": lambda v, a: f"{v[:a]}\u061c{v[a:]}",
    "struck through": lambda v, a: v[:a] + "".join(c + "\u0336" for c in v[a:]),
    "fraktur": lambda v, a: v[:a] + "".join(chr(0x1D586 + ord(c) - 97) if c.islower() else c for c in v[a:]),
    "monospace": lambda v, a: v[:a] + "".join(chr(0x1D7F6 + int(c)) if c.isdigit() else c for c in v[a:]),
    "zero-width, URL": lambda v, a: v[:a] + quote("\u200b") + v[a:],
    "zero-width, braces": lambda v, a: f'"{v[:a]}\\u{{200b}}{v[a:]}"',
    "zero-width, hex entity": lambda v, a: f"{v[:a]}&#x200B;{v[a:]}",
    "word joiner entity": lambda v, a: f"{v[:a]}&#8288;{v[a:]}",
    "italic in Markdown": lambda v, a: f"{v[:a]}*{v[a:]}*",
    "code tags": lambda v, a: f"<code>{v[:a]}</code><code>{v[a:]}</code>",
    "span with a class": lambda v, a: f'{v[:a]}<span class="hl">{v[a:]}</span>',
    "coloured": lambda v, a: f"{v[:a]}\x1b[31m{v[a:]}\x1b[0m",
    "backspace": lambda v, a: f"{v[:a]}x\x08{v[a:]}",
}
SPLITS_FRESH_SECOND: dict[str, Split] = {
    "Java plus": lambda v, a: f'"{v[:a]}"\n        + "{v[a:]}";',
    "C literals": lambda v, a: f'"{v[:a]}" /* more */ "{v[a:]}"',
    "Python brackets": lambda v, a: f"(\n    '{v[:a]}'\n    '{v[a:]}'\n)",
    "Python plus equals": lambda v, a: f"'{v[:a]}'\npw += '{v[a:]}'",
    "JavaScript concat": lambda v, a: f"'{v[:a]}'.concat('{v[a:]}')",
    "JavaScript join": lambda v, a: f"['{v[:a]}', '{v[a:]}'].join('')",
    "Perl dot": lambda v, a: f"'{v[:a]}' .\n  '{v[a:]}'",
    "Lua dots": lambda v, a: f"'{v[:a]}' ..\n  '{v[a:]}'",
    "SQL bars": lambda v, a: f"'{v[:a]}'\n  || '{v[a:]}'",
    "Excel": lambda v, a: f'="{v[:a]}"&"{v[a:]}"',
    "format of braces": lambda v, a: f"'{{}}{{}}'.format('{v[:a]}', '{v[a:]}')",
    "builder in lines": lambda v, a: f'new StringBuilder()\n    .append("{v[:a]}")\n    .append("{v[a:]}")',
    "shell in quotes": lambda v, a: f"\"{v[:a]}\"'{v[a:]}'",
    "backslash and blanks": lambda v, a: f"{v[:a]}\\\n        {v[a:]}",
    "backslash in JSON": lambda v, a: json.dumps(f"{v[:a]}\\\n{v[a:]}")[1:-1],
    "plus of letters": lambda v, _: " + ".join(f'"{v[at : at + 3]}"' for at in range(0, len(v), 3)),
    "four pieces in lines": lambda v, a: f'"{v[: a // 2]}" +\n"{v[a // 2 : a]}" +\n"{v[a : a + 2]}" +\n"{v[a + 2 :]}"',
    "zero-width between all": lambda v, _: "\u200b".join(v),
    "left-to-right mark": lambda v, a: f"{v[:a]}\u200e{v[a:]}",
    "function application": lambda v, a: f"{v[:a]}\u2061{v[a:]}",
    "soft hyphens": lambda v, a: f"{v[:3]}\u00ad{v[3:a]}\u00ad{v[a:]}",
    "overline": lambda v, a: v[:a] + "".join(c + "\u0305" for c in v[a:]),
    "sans-serif": lambda v, a: v[:a] + "".join(chr(0x1D5BA + ord(c) - 97) if c.islower() else c for c in v[a:]),
    "double-struck digits": lambda v, a: v[:a] + "".join(chr(0x1D7D8 + int(c)) if c.isdigit() else c for c in v[a:]),
    "soft hyphen, hex entity": lambda v, a: f"{v[:a]}&#xAD;{v[a:]}",
    "left-to-right entity": lambda v, a: f"{v[:a]}&lrm;{v[a:]}",
    "zero-width, Python": lambda v, a: f'"{v[:a]}\\u200b{v[a:]}"',
    "byte order mark, URL": lambda v, a: v[:a] + quote("\ufeff") + v[a:],
    "mark tags": lambda v, a: f"{v[:a]}<mark>{v[a:]}</mark>",
    "strong tags": lambda v, a: f"<strong>{v[:a]}</strong>{v[a:]}",
    "colour in the middle": lambda v, a: f"{v[:a]}\x1b[1;33m{v[a:]}\x1b[m",
    "quoted-printable, Windows": lambda v, a: f"{v[:a]}=\r\n{v[a:]}",
}
SPLITS_FRESH_THIRD: dict[str, Split] = {
    "Kotlin list": lambda v, a: f'listOf("{v[:a]}", "{v[a:]}").joinToString("")',
    "Kotlin buildString": lambda v, a: f'buildString {{ append("{v[:a]}"); append("{v[a:]}") }}',
    "Swift joined": lambda v, a: f'["{v[:a]}", "{v[a:]}"].joined()',
    "Swift plus equals": lambda v, a: f'"{v[:a]}"\nsecret += "{v[a:]}"',
    "Rust concat": lambda v, a: f'concat!("{v[:a]}", "{v[a:]}")',
    "Rust format": lambda v, a: f'format!("{{}}{{}}", "{v[:a]}", "{v[a:]}")',
    "Rust owned": lambda v, a: f'"{v[:a]}".to_owned() + "{v[a:]}"',
    "Go join": lambda v, a: f'strings.Join([]string{{"{v[:a]}", "{v[a:]}"}}, "")',
    "Go Sprint": lambda v, a: f'fmt.Sprint("{v[:a]}", "{v[a:]}")',
    "C# Join": lambda v, a: f'string.Join("", new[] {{ "{v[:a]}", "{v[a:]}" }})',
    "C# interpolated": lambda v, a: f'$"{{"{v[:a]}"}}{{"{v[a:]}"}}"',
    "C++ string": lambda v, a: f'std::string("{v[:a]}") + "{v[a:]}"',
    "C++ append": lambda v, a: f'std::string("{v[:a]}").append("{v[a:]}")',
    "Java StringBuffer": lambda v, a: f'new StringBuffer("{v[:a]}").append("{v[a:]}").toString()',
    "Java join": lambda v, a: f'String.join("", "{v[:a]}", "{v[a:]}")',
    "Scala mkString": lambda v, a: f'Seq("{v[:a]}", "{v[a:]}").mkString',
    "Dart adjacent": lambda v, a: f"'{v[:a]}'\n    '{v[a:]}'",
    "Perl join": lambda v, a: f"join('', '{v[:a]}', '{v[a:]}')",
    "Raku tilde": lambda v, a: f"'{v[:a]}' ~ '{v[a:]}'",
    "OCaml caret": lambda v, a: f'"{v[:a]}" ^ "{v[a:]}"',
    "F# concat": lambda v, a: f'String.concat "" ["{v[:a]}"; "{v[a:]}"]',
    "Clojure str": lambda v, a: f'(str "{v[:a]}" "{v[a:]}")',
    "Lisp concatenate": lambda v, a: f"(concatenate 'string \"{v[:a]}\" \"{v[a:]}\")",
    "Erlang": lambda v, a: f'"{v[:a]}" ++ "{v[a:]}"',
    "Elixir join": lambda v, a: f'Enum.join(["{v[:a]}", "{v[a:]}"])',
    "MATLAB": lambda v, a: f"['{v[:a]}' '{v[a:]}']",
    "Julia star": lambda v, a: f'"{v[:a]}" * "{v[a:]}"',
    "Fortran": lambda v, a: f"'{v[:a]}' // '{v[a:]}'",
    "PowerShell join": lambda v, a: f"('{v[:a]}','{v[a:]}') -join ''",
    "PowerShell format": lambda v, a: f"'{{0}}{{1}}' -f '{v[:a]}', '{v[a:]}'",
    "PHP dot equals": lambda v, a: f"'{v[:a]}';\n$password .= '{v[a:]}'",
    "Ruby join": lambda v, a: f"['{v[:a]}', '{v[a:]}'].join",
    "Python f-string pieces": lambda v, a: f"f\"{{'{v[:a]}'}}{{'{v[a:]}'}}\"",
    "Python reduce": lambda v, a: f"functools.reduce(operator.add, ['{v[:a]}', '{v[a:]}'])",
    "T-SQL plus": lambda v, a: f"N'{v[:a]}' + N'{v[a:]}'",
    "MySQL concat": lambda v, a: f"CONCAT('{v[:a]}', '{v[a:]}')",
    "Objective-C": lambda v, a: f'[@"{v[:a]}" stringByAppendingString:@"{v[a:]}"]',
    "Nix": lambda v, a: f'"{v[:a]}" + "{v[a:]}"',
    "Terraform join": lambda v, a: f'join("", ["{v[:a]}", "{v[a:]}"])',
    "Terraform format": lambda v, a: f'format("%s%s", "{v[:a]}", "{v[a:]}")',
    "Jinja tilde": lambda v, a: f"{{{{ '{v[:a]}' ~ '{v[a:]}' }}}}",
    "TOML folded": lambda v, a: f'"""\\\n  {v[:a]}\\\n  {v[a:]}"""',
    "YAML quoted fold": lambda v, a: f'"{v[:a]}\\\n  {v[a:]}"',
    "decimal entity": lambda v, a: f"{v[:a]}&#{ord(v[a])};{v[a + 1 :]}",
    "hex entity": lambda v, a: f"{v[:a]}&#x{ord(v[a]):x};{v[a + 1 :]}",
    "CDATA": lambda v, a: f"<![CDATA[{v[:a]}]]><![CDATA[{v[a:]}]]>",
    "code point escape": lambda v, a: f'"{v[:a]}\\u{ord(v[a]):04x}{v[a + 1 :]}"',
    "percent code": lambda v, a: f"{v[:a]}%{ord(v[a]):02X}{v[a + 1 :]}",
    "thin space word joiner": lambda v, a: f"{v[:a]}\u2060\u200b{v[a:]}",
    "spelled with blanks": lambda v, _: " ".join(v),
    "spelled with hyphens": lambda v, _: "-".join(v),
    "two halves": lambda v, a: f"the first half is {v[:a]} and the second half is {v[a:]}",
}
SPLIT_INTO: dict[str, tuple[str, ...]] = {
    "T": ("the github token is {}", "export GITHUB_TOKEN={}", "токен: {}"),
    "S": ("password: {}", "el password es {}", "пароль: {}", "das Passwort ist {}"),
}


def carried(every: Iterable[Planted]) -> Iterator[Planted]:
    """Yield secrets in every carrier; the kind stays, so that one that is missed in one of them is missed."""
    for one in every:
        for wrap in CARRIERS.values():
            yield replace(one, text=wrap(one.text))
