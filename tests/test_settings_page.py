"""docs/settings.md is written from the models: run this file as a script to write it anew."""

import re
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest

from slowwave.errors import SettingsError
from slowwave.settings import ENV_PREFIX, ClassRules, Settings, default_text, load_settings

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "settings.md"
WORDS = {
    "bool": "true or false", "int": "number", "float": "number", "str": "text", "timedelta": "duration",
    "Path": "path", "Period": "duration", "PeriodOrOff": "duration or off",
    "Count": "number or unlimited", "ByteCount": "size", "ClassRules": "table",
}  # fmt: skip

HEAD = """# Settings

Every setting has a default, so no file is needed. Where the same key is set more than once, the last of these wins:

1. the file that `--config` or `$SLOWWAVE_CONFIG` names, else `./slowwave.toml`, else
   `$XDG_CONFIG_HOME/slowwave/config.toml` (`~/.config/slowwave/config.toml`)
2. the environment: `SLOWWAVE_EXTRACTION__IDLE=1h` sets `extraction.idle`
3. `--set extraction.idle=1h` on the command line, and "Settings for this run" in Prefect's form

An unknown key or a malformed value stops the run with the key, its file and line, and the remedy; nothing is guessed.
Durations are written `30m`, `12h`, `7d`, `2 weeks`, sizes `500 MB`. A period may be of months (`6 months`), so `6m` is
refused there. The file may say `version = 1`, its form; a newer form than the program knows is refused.
`slowwave doctor` says whether all is well.

```toml
version = 1

[extraction]
idle = "1h"

[consolidation]
mode = "review"
```
"""


def rows(section: type[msgspec.Struct]) -> Iterator[str]:
    """Yield the lines of a section's table."""
    hints = typing.get_type_hints(section, include_extras=True)
    for field in msgspec.structs.fields(section):
        hint = hints[field.name]
        metas = [meta for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, msgspec.Meta)]
        described = next(meta.description for meta in metas if meta.description)
        kind = _kind(get_args(hint)[0]) + "".join(_limits(meta) for meta in metas)
        yield f"| `{field.encode_name}` | {kind} | {_code(default_text(field.default))} | {described} |".replace(
            "  ", " "
        )


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _kind(hint: Any) -> str:
    if hasattr(hint, "__metadata__"):
        inner, *metas = get_args(hint)
        return _kind(inner) + "".join(_limits(meta) for meta in metas)
    if get_origin(hint) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(hint) if choice)
    if get_origin(hint) in (types.UnionType, typing.Union):
        return ", ".join(_kind(part) for part in get_args(hint) if part not in (type(None), Literal[""]))
    if get_origin(hint) is tuple:
        return f"list of {_kind(get_args(hint)[0])}s"
    if get_origin(hint) is dict:
        return f"table: {_kind(get_args(hint)[0])} = {_kind(get_args(hint)[1])}"
    return WORDS[hint.__name__]


def _limits(meta: msgspec.Meta) -> str:
    pairs = (("more than", meta.gt), ("at least", meta.ge), ("less than", meta.lt), ("at most", meta.le))
    said = " and ".join(f"{word} {limit}" for word, limit in pairs if limit is not None)
    return f", {said}" if said else ""


def page() -> str:
    """Return the page as it should stand."""
    parts = [HEAD]
    for field in msgspec.structs.fields(Settings):
        section: Any = field.type
        parts.append(_section(field.name, section))
        if field.name == "retention":
            parts.append(_section("[retention.classes]", ClassRules))
    return "\n".join(parts)


def _section(name: str, section: type[msgspec.Struct]) -> str:
    # where a rule comes from is for those who read the code
    about = re.sub(r" \([^)]*\)", "", (section.__doc__ or "").strip().splitlines()[0])
    head = f"## {name.strip('[]')}\n\n{about}\n"
    if name.startswith("["):
        head += f"\nEach `[{name}]` is one more class.\n"
    else:
        example = msgspec.structs.fields(section)[0].encode_name
        head += f"\nIn the environment: `{ENV_PREFIX}{name.upper()}__{example.upper()}`, and so on.\n"
    return head + "\n| key | value | default | what it does |\n|---|---|---|---|\n" + "\n".join(rows(section)) + "\n"


def test_the_page_of_settings_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tests/test_settings_page.py"


def test_every_setting_has_a_description_and_a_row() -> None:
    text = page()
    for field in msgspec.structs.fields(Settings):
        section: Any = field.type
        for leaf in msgspec.structs.fields(section):
            assert f"| `{leaf.encode_name}` |" in text.partition(f"\n## {field.name}\n")[2]


@pytest.mark.parametrize(
    "path", sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]), ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_settings_file_that_a_page_shows_is_taken(path: Path, tmp_path: Path) -> None:
    for block in re.findall(r"^```toml\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        file = tmp_path / "slowwave.toml"
        file.write_text(block, encoding="utf-8")
        load_settings({"HOME": str(tmp_path)}, config=file)


def test_a_settings_file_that_is_not_taken_is_found(tmp_path: Path) -> None:
    (tmp_path / "slowwave.toml").write_text("[retention]\nmax_agee = '30d'\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="max_agee"):
        load_settings({"HOME": str(tmp_path)}, config=tmp_path / "slowwave.toml")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit(0)
