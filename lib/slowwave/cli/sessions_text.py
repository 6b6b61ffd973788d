"""``slowwave sessions text``: the words of many sessions, for other programs to count, search and feed on."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from slowwave.cli.output import tell_damage, warn
from slowwave.errors import DONE, PARTLY_FAILED, UnreadableError
from slowwave.formats.model import Problem
from slowwave.formats.texts import Words, words_in
from slowwave.places import archive_folder

if TYPE_CHECKING:
    from slowwave.stores.archive.shelf import Shelved

_SUFFIX = ".jsonl"
# So many messages are printed at once: one write each would cost more than reading them.
_BATCH = 2000


def text(args: argparse.Namespace) -> int:
    """Print the words of every message in the files and folders named on the command line."""
    problems: list[Problem] = []
    failed = 0
    paths = [Path(name).expanduser() for name in args.path]
    packed = _archived(paths) if archive_folder(os.environ).is_dir() else {}
    for path in _files([path for path in paths if path.absolute() not in packed]):
        try:
            _print(path, words_in(path, problems), as_json=args.json)
        except UnreadableError as error:
            failed += 1
            warn(str(error))
    failed += _print_archived(packed, problems, as_json=args.json) if packed else 0
    tell_damage(problems)
    return PARTLY_FAILED if failed else DONE


def _archived(paths: list[Path]) -> "dict[Path, Shelved]":
    """Return the archived transcripts that are named, or lay in a folder that is, and are not in their place."""
    from slowwave.stores.archive.shelf import Shelf  # noqa: PLC0415 - most people archived nothing yet

    named = {os.fspath(path.absolute()) for path in paths}
    folders = tuple(f"{name}/" for name in named)
    shelf = Shelf(archive_folder(os.environ))
    found = {
        Path(file.path): one
        for one in shelf.latest()
        for file in one.session.files
        if file.kind == "file"
        and (file.path in named or (file.path.startswith(folders) and file.path.endswith(_SUFFIX)))
        and not os.path.lexists(file.path)
    }
    for problem in shelf.problems:
        warn(str(problem))
    return dict(sorted(found.items()))


def _print_archived(packed: "dict[Path, Shelved]", problems: list[Problem], *, as_json: bool) -> int:
    """Print the words of archived transcripts; return how many could not be read."""
    from slowwave.stores.archive.sessions import laid_out_file  # noqa: PLC0415 - as above

    failed = 0
    for path, one in packed.items():
        found: list[Problem] = []
        try:
            with laid_out_file(one, path, os.environ) as there:
                _print(path, words_in(there, found), as_json=as_json)
        except UnreadableError as error:
            failed += 1
            warn(str(error))
        problems += [msgspec.structs.replace(problem, path=path) for problem in found]
    return failed


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
