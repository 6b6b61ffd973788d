"""Whether clients are newer than those that slowwave was tested with: their files may hold what it does not know yet.

Nothing breaks then: what is not understood is kept, counted and shown. But it may be missing from memories.
"""

from collections.abc import Iterator

from slowwave.service.check import Check
from slowwave.stores.model import Discovery, newest_version, version_order

# The newest releases whose sessions and behaviour the tests hold (docs/conformance.md); of pi the form of its files.
TESTED = {"claude": "2.1.330", "codex": "0.169.0", "opencode": "1.18.33", "pi": "3"}


def clients(found: Discovery) -> Iterator[Check]:
    """Say of every client with a version whether the newest sessions come from one that was tested."""
    seen: list[str] = []
    newer: list[str] = []
    for dialect, tested in TESTED.items():
        newest = newest_version((s for p in found.projects for s in p.sessions), dialect)
        if newest:
            seen.append(f"{dialect} {newest}")
            if version_order(newest) > version_order(tested):
                newer.append(f"{dialect} {newest} (tested up to {tested})")
    if newer:
        fix = "update slowwave; sessions list shows what it does not understand (bad_lines), and nothing of it is lost"
        yield Check("clients", ok=True, seen=f"newer than what was tested: {', '.join(newer)}", fix=fix)
    else:
        yield Check("clients", ok=True, seen=", ".join(seen) or "no client that tells its version")
