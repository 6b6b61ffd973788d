"""``slowwave sessions text``: the words of many sessions, for other programs to count, search and feed on."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from slowwave.cli.output import tell_damage, warn
from slowwave.dialects.texts import Words, words_in
from slowwave.errors import DONE, PARTLY_FAILED, UnreadableError
from slowwave.records.model import Problem

_SUFFIX = ".jsonl"
# So many messages are printed at once: one write each would cost more than reading them.
_BATCH = 2000


def text(args: argparse.Namespace) -> int:
    """Print the words of every message in the files and folders named on the command line."""
    problems: list[Problem] = []
    failed = 0
    for path in _files([Path(name).expanduser() for name in args.path]):
        try:
            _print(path, words_in(path, problems), as_json=args.json)
        except UnreadableError as error:
            failed += 1
            warn(str(error))
    tell_damage(problems)
    return PARTLY_FAILED if failed else DONE


def _files(paths: list[Path]) -> Iterator[Path]:
    """Yield the files, and of folders every transcript in them and below, by name."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders.sort()
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(_SUFFIX))


def _print(path: Path, words: Iterator[Words], *, as_json: bool) -> None:
    sys.stdout.flush()
    out = sys.stdout.buffer
    name = os.fsencode(path).decode("utf-8", "backslashreplace")
    encode = msgspec.json.Encoder().encode
    while batch := list(islice(words, _BATCH)):
        if as_json:
            lines = [encode({"path": name, "role": one.role, "text": one.text}) for one in batch]
            out.write(b"\n".join(lines) + b"\n")
        else:
            out.write("".join([f"{one.text}\n" for one in batch]).encode("utf-8", "replace"))


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"text": text}
