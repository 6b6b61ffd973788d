"""The lock can be installed by pip alone, also by the one that Python 3.11 brings."""

import re
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PINNED = re.findall(r"^\w.*==.*$", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)
LOCK = {canonicalize_name(one.name): one for one in (Requirement(line.rstrip("\\ ")) for line in PINNED)}


def asked() -> Iterator[tuple[str, Requirement]]:
    """Yield what the locked packages and their extras ask of others here, with who asks."""
    pending = [(name, frozenset[str]()) for name, one in LOCK.items() if one.marker is None or one.marker.evaluate()]
    seen: set[tuple[str, frozenset[str]]] = set()
    while pending:
        name, extras = pending.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for found in map(Requirement, requires(name) or ()):
            if found.marker is None or any(found.marker.evaluate({"extra": extra}) for extra in extras | {""}):
                yield name, found
                pending.append((canonicalize_name(found.name), frozenset(found.extras)))


def is_met(wanted: Requirement, pins: dict[str, str]) -> bool:
    """Say whether a version is pinned that fits."""
    version = pins.get(canonicalize_name(wanted.name), "")
    return bool(version) and wanted.specifier.contains(version, prereleases=True)


def test_pip_installs_what_the_lock_says_and_resolves_nothing_anew() -> None:
    """Pip 23 refuses ``name[extra]``, which a package asks for, as unpinned where the lock pins ``name``."""
    (line,) = re.findall(
        r"^\t+\$\(PIP\) install (.*requirements\.lock).*$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert "--no-deps" in line
    assert "--require-hashes" in line


def test_the_lock_pins_all_that_its_packages_ask_for() -> None:
    every = list(asked())
    assert any(found.extras for _, found in every)
    pins = {str(name): str(one.specifier).removeprefix("==") for name, one in LOCK.items()}
    missing = [f"{name} asks for {found}" for name, found in every if not is_met(found, pins)]
    assert missing == []
