"""The fake secrets of the sample week: shaped like real ones, good for nothing, and nowhere whole in this source.

They prove that redaction works. Each is joined when the week is built, so that the scanners of code hosts, which look
for exactly these shapes, have nothing to find in the repository.
"""

import re

_PIECES: dict[str, tuple[str, ...]] = {
    # the access key id and secret of a cloud, which spell out that they are none
    "aws_key": ("AK", "IA", "SAMPLE", "FAKE", "KEY", "234"),
    "aws_secret": ("fakeFAKE", "fake/", "notAReal", "Key+", "tern0", "Week7", "Story"),
    # a password inside a connection URL
    "db_url": ("postgres", "://", "tern_app", ":", "fake-", "Horse9", "-staple", "@", "db.staging.invalid", "/tern"),
}

_MARK = re.compile(r"\{\{(\w+)\}\}")


def secrets() -> dict[str, str]:
    """Return the planted fake secrets by name, each as it stands in the transcripts."""
    return {name: "".join(pieces) for name, pieces in _PIECES.items()}


def fill(text: str) -> str:
    """Replace every ``{{name}}`` by the fake secret of that name.

    Raises:
        KeyError: there is no secret of that name.
    """
    known = secrets()
    return _MARK.sub(lambda match: known[match[1]], text)
