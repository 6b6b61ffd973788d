"""Which Prefect server somebody named, and whether it is there, asked before anything is started that would need it.

A server is named by ``PREFECT_API_URL``, else by the profile of Prefect that is active (``prefect profile use``). The
profile is read here as Prefect reads it, since to import Prefect takes longer than most runs.
"""

import os
import socket
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from slowwave.errors import ServerError, SlowwaveError
from slowwave.files import file_bytes
from slowwave.places import home_folder

_PORTS = {"http": 80, "https": 443}
_KNOCK_S = 1.0
_EXAMPLE = "http://127.0.0.1:4200/api"


class _Profiles(msgspec.Struct):
    """The file of Prefect's profiles."""

    active: str = ""
    profiles: dict[str, dict[str, Any]] = {}


def named_server(environ: Mapping[str, str]) -> str:
    """Return the address of the Prefect server that the environment or Prefect's active profile names, else "".

    Raises:
        ServerError: the file of the profiles cannot be read.
    """
    return environ.get("PREFECT_API_URL") or _of_profile(environ)


def profiles_path(environ: Mapping[str, str]) -> Path:
    """Return where Prefect's profiles are: this person's, else those that come with Prefect."""
    home = environ.get("PREFECT_HOME")
    usual = (Path(home).expanduser() if home else home_folder(environ) / ".prefect") / "profiles.toml"
    path = Path(environ.get("PREFECT_PROFILES_PATH") or usual)
    if os.path.lexists(path):
        return path
    spec = find_spec("prefect")  # to find it does not import it
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders or ()), "")) / "settings" / "profiles.toml"


def _of_profile(environ: Mapping[str, str]) -> str:
    path = profiles_path(environ)
    try:
        found = msgspec.convert(tomllib.loads(file_bytes(path).decode()), _Profiles)
    except (OSError, SlowwaveError, ValueError) as error:
        remedy = "fix it, or run the job without Prefect: add --direct"
        raise ServerError(f"{path}: Prefect's profiles cannot be read ({error}); {remedy}") from error
    settings = found.profiles.get(environ.get("PREFECT_PROFILE") or found.active, {})
    return str(settings.get("PREFECT_API_URL", ""))


def require_address(api: str) -> None:
    """Refuse an address that no server can have; Prefect must not even be imported with some of them.

    Raises:
        ServerError: it is malformed.
    """
    try:
        parts = urlsplit(api)
        # reading the port checks it
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise ServerError(f"PREFECT_API_URL = {api!r} is not an address; write one like {_EXAMPLE}, or unset it")


def require_server(api: str, remedy: str) -> None:
    """Refuse to go on unless the Prefect server at ``api``, which is the one that Prefect's settings name, answers.

    Args:
        api: its address.
        remedy: what to do when there is none, besides starting it and correcting PREFECT_API_URL.

    Raises:
        ServerError: the address is malformed, or nobody answers there.
    """
    require_address(api)
    if refusal := _refusal(api):
        raise ServerError(unreachable(api, refusal, remedy)) from refusal
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - a second that --help does not pay

    with get_client(sync_client=True) as client:
        error = client.api_healthcheck()
    if error is not None:
        raise ServerError(unreachable(api, error, remedy)) from error


def _refusal(api: str) -> OSError | None:
    """Return why nobody is there, told at once where a machine refuses; else Prefect finds out, by proxies and all."""
    parts = urlsplit(api)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or _PORTS[parts.scheme]), timeout=_KNOCK_S):
            return None
    except ConnectionRefusedError as error:
        return error
    except OSError:
        return None


def unreachable(api: str, error: Exception, remedy: str) -> str:
    """Return in one line that a server does not answer, why, and what to do."""
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return f"the Prefect server at {api} does not answer ({reason}); start it, correct PREFECT_API_URL, or {remedy}"
