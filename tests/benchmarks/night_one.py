"""Run one night over a store, through Prefect or by plain calls, and print what it did and its API calls as JSON."""

import json
import os
import sys
from typing import Any

# names of the clients that sent a request, one a request
SENT: list[str] = []


def _count_calls() -> None:
    """Count every request that Prefect's client sends; events go over one open connection."""
    import httpx  # noqa: PLC0415 - comes with Prefect, and plain calls need none

    for client in (httpx.Client, httpx.AsyncClient):
        _wrap(client)


def _wrap(client: Any) -> None:
    plain = client.send

    def counted(self: Any, *args: Any, **more: Any) -> Any:
        SENT.append(client.__name__)
        return plain(self, *args, **more)

    client.send = counted


def main() -> None:
    """Run the night that the command line names: way, store, and settings."""
    way, store, *overrides = sys.argv[1:]
    if way == "prefect":
        from slowwave.service.server import run_through_prefect  # noqa: PLC0415 - only one of the ways pays for it

        _count_calls()
        report = run_through_prefect("nightly", {"store": [store], "overrides": overrides})
    else:
        from pathlib import Path  # noqa: PLC0415 - as the command does

        from slowwave.context import (  # noqa: PLC0415 - as above
            Run,
            SystemClock,
            new_run_id,
        )
        from slowwave.jobs.story import run_job  # noqa: PLC0415 - as above
        from slowwave.settings import load_settings  # noqa: PLC0415 - as above

        settings = load_settings(os.environ, overrides=overrides).with_roots([Path(store)])
        clock = SystemClock()
        report = run_job("nightly", Run(new_run_id(clock), settings, clock, os.environ)).to_builtins()
    done = {name: report["counts"].get(name, 0) for name in ("projects", "sessions", "extracted", "candidates")}
    print(json.dumps({**done, "dreams": len(report["dream_ids"]), "failures": report["failures"], "calls": len(SENT)}))


if __name__ == "__main__":
    main()
