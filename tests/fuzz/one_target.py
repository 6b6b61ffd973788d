"""Fuzz one target for some seconds: ``python -m tests.fuzz.one_target TARGET SECONDS FOLDER SCRATCH``.

A defect does not end it: the input is kept in FOLDER, once for each place that raises, and fuzzing goes on. Files of
an input are written to SCRATCH, which should be memory.
"""

import hashlib
import importlib
import os
import random
import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import slowwave

MOST_SECONDS = 5.0
_LIBRARY = Path(slowwave.__file__).parent
_LISTING = ("slowwave.stores.summary", "slowwave.stores.summary", "slowwave.stores.summary")
# Whose packages a dialect rests on, beside its own.
_SHARED = {"openclaw": ("openclaw", "pi"), "cersei-bare": ("cersei",), "ulid": ("ulid", "pi")}


def main(target: str, seconds: int, folder: Path, scratch: Path) -> None:
    """Fuzz until the time is over; libFuzzer ends the process itself."""
    atheris: Any = importlib.import_module("atheris")
    hooks: Any = importlib.import_module("atheris.import_hook")
    modules = _modules()
    followed = [name for name in modules if _is_followed(target, name)]
    # branches only, not what is compared with what: the mutations know the fields
    with hooks.HookManager(
        {"slowwave"}, set(modules) - set(followed), enable_loader_override=True, trace_dataflow=False
    ):
        for name in followed:
            importlib.import_module(name)
    # a counter's number is how many were taken before it
    print(f"EDGES {atheris._reserve_counter()}", file=sys.stderr, flush=True)
    from tests.fuzz.seeds import MOST_BYTES, seeds  # noqa: PLC0415 - the library has to be instrumented first

    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    starting = seeds(target)
    for data in starting:
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    fuzzed = _Target(target, folder / "findings", scratch)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        from tests.fuzz.mutation import mutated  # noqa: PLC0415 - as above

        rng = random.Random(seed)
        if not rng.randrange(5):
            return bytes(atheris.Mutate(data, most))
        return mutated(data, most, rng, rng.choice(starting))

    limits = [f"-max_total_time={seconds}", f"-max_len={MOST_BYTES}", "-timeout=60", "-rss_limit_mb=4096"]
    flags = [*limits, "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={folder}/stopped-", str(corpus)]
    atheris.Setup([sys.argv[0], *flags], fuzzed.run, custom_mutator=mutate)
    atheris.Fuzz()


def _modules() -> list[str]:
    """Return the names of all modules of the library, without importing any."""
    paths = [path.relative_to(_LIBRARY.parent).with_suffix("") for path in sorted(_LIBRARY.rglob("*.py"))]
    return [".".join(path.parts).removesuffix(".__init__") for path in paths]


def _is_followed(target: str, module: str) -> bool:
    """Say whether new ways through a module are what the target looks for; what only carries it is left fast."""
    if target == "records":
        return module.startswith("slowwave.formats")
    package = module.removeprefix("slowwave.formats.registry.").partition(".")
    is_shared = not package[2] and not (_LIBRARY / "dialects" / package[0]).is_dir()
    own = package[0] in _SHARED.get(target, (target,))
    return module in _LISTING or (module.startswith("slowwave.formats.registry.") and (own or is_shared))


class _Target:
    """One target, with the folder that its inputs are written to and the places that raised already."""

    def __init__(self, name: str, findings: Path, scratch: Path) -> None:
        self.name = name
        self.findings = findings
        self.folder = scratch
        self.known: set[str] = set()

    def run(self, data: bytes) -> None:
        from tests.fuzz.invariants import check_listing, check_records, check_session  # noqa: PLC0415 - instrumented first
        from tests.fuzz.layout import written  # noqa: PLC0415 - as above

        begun = time.process_time()
        try:
            paths = written(self.name, data, self.folder)
            if self.name == "records":
                check_records(paths[0])
            else:
                check_session(self.name, paths)
                check_listing(self.name, paths[0])
            if time.process_time() - begun > MOST_SECONDS:
                self._keep(data, "slow", f"{time.process_time() - begun:.1f} s of processor time")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            self._keep(data, _place(error), traceback.format_exc())
        finally:
            _empty(self.folder)

    def _keep(self, data: bytes, place: str, told: str) -> None:
        if place not in self.known:
            self.known.add(place)
            self.findings.mkdir(parents=True, exist_ok=True)
            name = hashlib.sha256(place.encode()).hexdigest()[:10]
            (self.findings / name).write_bytes(data)
            (self.findings / f"{name}.txt").write_text(f"{place}\n{told}", encoding="utf-8", errors="replace")
            print(f"FINDING {self.name} {place}", file=sys.stderr, flush=True)


def _place(error: BaseException) -> str:
    """Return the kind of an error and the last line of the library, or else of the checks, that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f.filename.startswith(os.fspath(_LIBRARY))] or frames
    check = next((f.line for f in reversed(frames) if f.line and f.line.startswith("assert")), "")
    return f"{type(error).__name__} {Path(ours[-1].filename).name}:{ours[-1].lineno} {ours[-1].line} {check}"


def _empty(folder: Path) -> None:
    for entry in os.scandir(folder):
        if entry.is_dir():
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)  # noqa: PTH108 - thousands a second


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
