"""Run the command in a process of its own and tell its exit code, what it printed, its time and its peak of memory."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MB = 1_000_000
_DROP_FROM_BOUNDS, _DAC_OVERRIDE, _DAC_READ_SEARCH = 24, 1, 2
_PROGRAM = """
import re, sys
from slowwave.cli import main
code = main(sys.argv[2:])
with open("/proc/self/status") as status, open(sys.argv[1], "w") as told:
    told.write(re.search(r"VmHWM:\\s*(\\d+)", status.read())[1])
sys.exit(code)
"""


class Ran(NamedTuple):
    """What came of a command; ``peak`` is its largest resident memory in bytes."""

    code: int
    out: bytes
    err: str
    peak: int


def slowwave(home: Path, *arguments: object, seconds: float = 60, may_read_all: bool = True) -> Ran:
    """Run ``slowwave ARGUMENTS`` with ``home`` as its home folder.

    Without ``may_read_all`` the modes of files hold for it also when it is run by root. The peak is that of the
    program's own memory (VmHWM): ``getrusage`` of a child counts its parent's from before exec.
    """
    told = home / f"peak-{len(list(home.iterdir()))}"
    places = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("STATE", "DATA", "CONFIG", "CACHE")}
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("SLOWWAVE_", "PREFECT_"))}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(told), *map(os.fsencode, map(str, arguments))],
        env=environ | places | {"HOME": str(home)},
        capture_output=True,
        timeout=seconds,
        check=False,
        preexec_fn=None if may_read_all else _obey_modes,
    )
    peak = int(told.read_text()) * 1024 if told.exists() else 0
    return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"), peak)


def _obey_modes() -> None:
    """Take away what lets root read everything, for the program that is started next (Linux)."""
    if os.geteuid() == 0:
        system = ctypes.CDLL(None, use_errno=True)
        for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
            if system.prctl(_DROP_FROM_BOUNDS, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "this process may not give up rights")
