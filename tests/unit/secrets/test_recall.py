"""Every family of secrets is found in every form that transcripts hide it in."""

from urllib.parse import unquote

import pytest

from slowwave.secrets.finder import find_secrets
from tests.unit.secrets.shapes import ENCODINGS, SHAPES, Maker

EACH = 1


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_recall(encoding: str) -> None:
    missed: dict[str, int] = {}
    total = 0
    for rank, (family, (around, make)) in enumerate(SHAPES.items()):
        for number in range(EACH):
            secret = make(Maker(1000 * rank + number))
            text = ENCODINGS[encoding](around.format(secret), secret)
            found = find_secrets(text)
            total += 1
            got = any(is_covered(one.secret, secret) for one in found)
            if not got:
                missed[family] = missed.get(family, 0) + 1
    assert sum(missed.values()) <= 0.02 * total, missed


def is_covered(found: str, secret: str) -> bool:
    """Say whether what was found is the secret or holds it, up to line ends and what was decoded too far."""
    wanted, got = ("".join(unquote(text).replace("\\", "").split()) for text in (secret, found))
    return wanted in got
