"""Alarms by webhook: one JSON object by POST, once a run, with a time limit, and without a secret in it."""

import socket
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

import msgspec

from slowwave.errors import ServerError, SettingsError
from slowwave.observability.night import Night
from slowwave.secrets.redactor import NAMELESS
from slowwave.watching import AlarmSettings


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows nobody: an alarm goes where the settings say, and nowhere else."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        """Refuse."""


def body_of(night: Night) -> bytes:
    """Return what is posted: which run on which machine, and its alarms."""
    alarms = [{"name": a.name, "summary": NAMELESS(a.summary), "count": a.count} for a in night.alarms]
    text = "\n".join(f"{alarm['name']}: {alarm['summary']}" for alarm in alarms)
    about = {"source": "slowwave", "host": socket.gethostname(), "job": night.job, "run_id": night.run_id}
    # chat services show `text`; the rest is for programs
    return msgspec.json.encode({**about, "at": night.at, "outcome": night.outcome, "text": text, "alarms": alarms})


def post(night: Night, settings: AlarmSettings) -> None:
    """Post the alarms of a night, where it has any; the address is checked every night.

    Raises:
        SettingsError: the address is none.
        ServerError: nobody takes it; the message names the host only, since the rest of such an address is a secret.
    """
    host = host_of(settings.webhook)
    if not night.alarms:
        return
    head = {"Content-Type": "application/json", "User-Agent": "slowwave"}
    try:
        request = urllib.request.Request(settings.webhook, body_of(night), head, method="POST")  # noqa: S310 - see host_of
        with urllib.request.build_opener(_Straight).open(request, timeout=settings.timeout.total_seconds()):
            pass
    except urllib.error.HTTPError as error:
        error.close()
        raise ServerError(f"{host} answered {error.code} to {len(night.alarms)} alarms") from None
    except urllib.error.URLError as error:
        raise ServerError(f"{host} did not take {len(night.alarms)} alarms ({error.reason})") from None
    except (OSError, HTTPException) as error:
        # what http.client says of an odd address quotes it
        raise ServerError(f"{host} did not take {len(night.alarms)} alarms ({type(error).__name__})") from None


def host_of(address: str, key: str = "alarms.webhook") -> str:
    """Return the host of an address, the only part of it that is no secret.

    Args:
        address: where something is sent.
        key: the setting that names it.

    Raises:
        SettingsError: it is no address.
    """
    try:
        place = urlsplit(address)
    except ValueError:
        place = urlsplit("")
    if place.scheme not in ("http", "https") or not place.hostname:
        raise SettingsError(key, "***", "write an address that begins with http:// or https://")
    return place.hostname
