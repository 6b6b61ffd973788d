"""How many tokens a model can see.

Cersei's table (``context_window_for_model`` of 0.1.8), asked in its order: the first line that fits wins, so
``gpt-4o`` has to stand before ``gpt-4``. What a person or a client's own record says goes before the table.
"""

from collections.abc import Mapping

DEFAULT = 200_000

_TABLE = (
    ("gpt-5", 1_000_000),
    ("gemini", 1_000_000),
    ("^o1", 200_000),
    ("^o3", 200_000),
    ("opus", 200_000),
    ("sonnet", 200_000),
    ("haiku", 200_000),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("llama", 8_192),
)


def context_window(model: str, known: Mapping[str, int] | None = None, *, default: int = DEFAULT) -> int:
    """Return the window of a model.

    Args:
        model: its name as the transcript has it.
        known: windows by name; the longest name that ``model`` begins with goes before the table.
        default: of a model that neither names.
    """
    names = [name for name in known or {} if model.startswith(name)]
    if known and names:
        return known[max(names, key=len)]
    return next((window for sign, window in _TABLE if _fits(model, sign)), default)


def _fits(model: str, sign: str) -> bool:
    return model.startswith(sign[1:]) if sign[0] == "^" else sign in model
