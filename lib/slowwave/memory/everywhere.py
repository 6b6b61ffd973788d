"""The folder of what holds in every project, and the line that lets agents read it."""

from collections.abc import Mapping
from pathlib import Path

from slowwave.errors import RefusedError, SettingsError
from slowwave.files import atomic_write
from slowwave.memory.folder import read_or_none
from slowwave.memory.topics import INDEX
from slowwave.places import data_folder
from slowwave.settings import Settings

NAME = "global"


def global_folder(settings: Settings, environ: Mapping[str, str]) -> Path:
    """Return the folder of what holds in every project; it may not exist yet.

    Raises:
        SettingsError: its template is malformed.
    """
    template = settings.memory.global_folder
    try:
        path = template.format(data=data_folder(environ))
    except (KeyError, IndexError, ValueError) as error:
        raise SettingsError("memory.global_folder", template, "may hold {data} only") from error
    return Path(path).expanduser().absolute()


def import_line(folder: Path) -> str:
    """Return the line that imports the global memory into a file that agents read."""
    return f"@{folder / INDEX}"


def import_into(path: Path, folder: Path) -> bool:
    """Append the import line to a file unless it is there; return whether that was needed.

    Everything that stands in the file keeps its bytes; a link is followed.

    Raises:
        RefusedError: the folder of the file does not exist.
        OSError: the file cannot be written.
    """
    target = path.expanduser().resolve()
    if not target.parent.is_dir():
        raise RefusedError(f"{target.parent}: does not exist, so the global memory is not imported there")
    old = read_or_none(target) or b""
    line = import_line(folder).encode("utf-8", "surrogateescape")
    if line in (found.strip() for found in old.split(b"\n")):
        return False
    end = b"\r\n" if b"\r\n" in old else b"\n"
    gap = b"" if not old or old.endswith(b"\n") else end
    atomic_write(target, old + gap + line + end)
    return True
