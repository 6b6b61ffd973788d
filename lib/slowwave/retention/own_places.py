"""Every place that slowwave itself writes to: what an erasure has to look into beside the homes of clients.

Below the folders for data, state and settings nothing is left out: what no step of an erasure knows is looked into, and
named when it holds a subject. Settings may put memories and logs elsewhere; these are found by the settings.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from slowwave.errors import SlowwaveError
from slowwave.files import file_bytes
from slowwave.memory.everywhere import global_folder
from slowwave.memory.guard import OWN_FOLDER
from slowwave.places import archive_folder, config_folder, data_folder, state_folder
from slowwave.retention.client_homes import erase_from_home_file
from slowwave.retention.eraser import Eraser
from slowwave.retention.everywhere import homes
from slowwave.retention.layers import layers
from slowwave.retention.linked import Names
from slowwave.settings import Settings
from slowwave.stores.archive.model import SUFFIX as PACK
from slowwave.stores.trash import trash_folder

# what an erasure does with each setting that names a place; a test holds that none is missing
SETTINGS = {
    "store.roots": "searched as the homes of clients are",
    "store.moved": "names folders alone; looked into with the other settings",
    "memory.folder": "found with its project",
    "memory.elsewhere": "found by its template",
    "memory.global_folder": "found by its template",
    "memory.global_import": "gets one line, the path of the global memory",
    "memory.shared": "files of shared memories that hold it are removed; git's history keeps what was committed",
    "secrets.key_file": "holds a random key alone",
    "telemetry.log_file": "overwritten as a file in the home of a client is",
}
_SENT = "batches/sent"


def roots_of(environ: Mapping[str, str]) -> list[Path]:
    """Return the folders below which all lies that slowwave writes, unless settings say otherwise."""
    return [
        folder for folder in (data_folder(environ), state_folder(environ), config_folder(environ)) if folder.is_dir()
    ]


def names_in(settings: Settings, environ: Mapping[str, str]) -> Names:
    """Return what counts the names of files below all that an erasure of everything deals with."""
    return Names(lambda: (*homes(settings.store.roots, environ), *roots_of(environ)))


def memories_in(settings: Settings, environ: Mapping[str, str]) -> set[Path]:
    """Return the memory folders that lie where the settings put those of projects without a folder of their own.

    They are found whether or not a session of their project is left.

    Raises:
        SettingsError: a template is malformed.
    """
    data = data_folder(environ)
    found = {path.parent.parent for path in data.rglob(f"{OWN_FOLDER}/*.jsonl")} if data.is_dir() else set[Path]()
    pattern = Path(settings.memory.elsewhere.format(data=os.fspath(data), key="*")).expanduser().absolute()
    places = [*Path(pattern.anchor).glob(os.fspath(pattern.relative_to(pattern.anchor)))]
    return found | {path for path in (*places, global_folder(settings, environ)) if (path / OWN_FOLDER).is_dir()}


def erase_from_logs(eraser: Eraser) -> None:
    """Overwrite what must go from the log that the settings name, and from those that it was before a rotation."""
    name = eraser.settings.telemetry.log_file
    if not name or name == "-":
        return
    place = Path(name).expanduser()
    for path in sorted(place.parent.glob(f"{place.name}*")) if place.parent.is_dir() else ():
        if path.is_file():
            erase_from_home_file(path, eraser, whole=True)


def look_into_rest(eraser: Eraser, memories: Collection[Path]) -> None:
    """Look into what no step knows, and into what people wrote: holds, settings. It is named, and theirs to change."""
    for path in _rest(eraser.environ, memories):
        try:
            data = file_bytes(path)
            is_found = bool(eraser.what.hits(data)) or any(map(eraser.what.hits, layers(data)))
        except FileNotFoundError:
            continue  # a running job clears its own files away
        except (SlowwaveError, OSError) as error:
            eraser.refuse("", str(path), str(error))
            continue
        if is_found:
            eraser.refuse("", str(path), "settings, holds or a file of slowwave name a subject; change it yourself")


def _rest(environ: Mapping[str, str], memories: Collection[Path]) -> Iterator[Path]:
    """Yield the files below the folders for data and settings that no other step overwrites."""
    known = {trash_folder(environ), *memories}
    for root in (data_folder(environ), config_folder(environ)):
        for folder, inner, names in os.walk(root):
            inner[:] = sorted(name for name in inner if Path(folder, name) not in known)
            for path in (Path(folder, name) for name in sorted(names)):
                is_pack = path.suffix == PACK and path.parent == archive_folder(environ)
                if path.is_file() and not path.is_symlink() and not is_pack:
                    yield path
    # never replaced by another file, since processes hold them
    yield from sorted(path for path in state_folder(environ).rglob("*") if path.suffix in (".lock", ".key"))


def refuse_on_their_way(eraser: Eraser) -> None:
    """Name questions to a model that were handed over: their answers are still to come, and may name a subject."""
    sent = state_folder(eraser.environ) / _SENT
    if number := sum(1 for _ in sent.glob("*.json")):
        reason = f"{number} batches of questions lie at the server of a model, with what they quote; run this again"
        eraser.refuse("", str(sent), f"{reason} once their answers were read, and delete them there")
