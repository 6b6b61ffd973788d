"""Whether the Prefect server that somebody named is there, asked before anything is started that would need it."""

from urllib.parse import urlsplit

from slowwave.errors import ServerError

_EXAMPLE = "http://127.0.0.1:4200/api"


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
        raise ServerError(f"PREFECT_API_URL = {api!r} is no address; write one like {_EXAMPLE}, or unset it")


def require_server(api: str, remedy: str) -> None:
    """Refuse to go on unless the Prefect server at ``api``, which is the one that Prefect's settings name, answers.

    Args:
        api: its address.
        remedy: what to do when there is none, besides starting it and correcting PREFECT_API_URL.

    Raises:
        ServerError: the address is malformed, or nobody answers there.
    """
    require_address(api)
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - a second that --help does not pay

    with get_client(sync_client=True) as client:
        error = client.api_healthcheck()
    if error is not None:
        raise ServerError(unreachable(api, error, remedy)) from error


def unreachable(api: str, error: Exception, remedy: str) -> str:
    """Return in one line that a server does not answer, why, and what to do."""
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return f"the Prefect server at {api} does not answer ({reason}); start it, correct PREFECT_API_URL, or {remedy}"
