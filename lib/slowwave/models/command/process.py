"""Runs a program once: the question on its standard input, its answer from its standard output, within a time limit.

The program gets a session of its own, so that it can be ended with all that it has started. What it prints is read as
it comes: a program that prints without end is left in time.
"""

import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, NamedTuple

from slowwave.models.faults import Fault

MOST_BYTES = 8 << 20
_PIECE = 1 << 16
# so often it is asked whether the program has ended while something else holds its output open
_LOOK_S = 0.2
# to end by itself, before it is killed
_GRACE_S = 2.0


class Ended(NamedTuple):
    """A program that came to its end.

    Attributes:
        code: its exit code; negative when a signal ended it.
        out: what it printed.
        err: what it printed to its standard error.
    """

    code: int
    out: bytes
    err: bytes


class _Printed:
    """What comes out of one pipe; lines that begin as told are dropped."""

    def __init__(self, pipe: IO[bytes], dropped: bytes) -> None:
        self.pipe = pipe
        self.kept = bytearray()
        self._dropped = dropped
        self._line = bytearray()

    def take(self) -> bool:
        """Read what there is; return False at the end.

        Raises:
            Fault: it is too much.
        """
        piece = os.read(self.pipe.fileno(), _PIECE)
        *whole, rest = piece.split(b"\n") if self._dropped else [piece]
        for line in whole:
            self._line += line + b"\n"
            self._keep()
        self._line += rest
        if not (self._dropped and piece):
            self._keep()
        if len(self.kept) + len(self._line) > MOST_BYTES:
            raise Fault("endless", f"it printed more than {MOST_BYTES >> 20} MiB")
        return bool(piece)

    def _keep(self) -> None:
        if not (self._dropped and self._line.startswith(self._dropped)):
            self.kept += self._line
        self._line.clear()


def found_program(named: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of a program, None where there is none that can be run."""
    found = shutil.which(Path(named).expanduser(), path=environ.get("PATH"))
    return found and str(Path(found).absolute())


def run(
    command: Sequence[str],
    question: bytes,
    folder: Path,
    environ: Mapping[str, str],
    limit: timedelta,
    *,
    dropped: bytes = b"",
) -> Ended:
    """Run a program to its end.

    Args:
        command: the program's path and its arguments.
        question: what it reads.
        folder: where it runs.
        environ: its environment.
        limit: how long it may take; then it is ended with all that it has started.
        dropped: lines of its output that begin so are of no use and are not kept.

    Raises:
        Fault: it cannot be started, takes too long, or prints too much.
    """
    with tempfile.TemporaryFile() as given:
        given.write(question)
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the command is the person's own setting
                command, cwd=folder, env=dict(environ), stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise Fault("missing", f"cannot be started: {reason}") from error
    try:
        return _followed(process, limit, dropped)
    finally:
        _end(process)


def _followed(process: "subprocess.Popen[bytes]", limit: timedelta, dropped: bytes) -> Ended:
    """Read until the program has ended and nothing more can come."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _Printed(process.stdout, dropped), _Printed(process.stderr, b"")
    until = time.monotonic() + limit.total_seconds()
    with selectors.DefaultSelector() as waiting:
        for printed in (out, err):
            waiting.register(printed.pipe, selectors.EVENT_READ, printed)
        while waiting.get_map():
            ready = waiting.select(min(_LOOK_S, max(0.0, until - time.monotonic())))
            for key, _ in ready:
                if not key.data.take():
                    waiting.unregister(key.fileobj)
            if not ready and process.poll() is not None:
                break  # what still holds the pipes is no part of the answer
            if time.monotonic() >= until:
                raise Fault("timeout", f"no whole answer within {limit}")
    try:
        code = process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise Fault("timeout", f"it did not end within {limit}") from error
    return Ended(code, bytes(out.kept), bytes(err.kept))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and all that it has started, also what is left of one that ended by itself."""
    with process:
        if process.poll() is None:
            _signal(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)
        _signal(process.pid, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return  # nobody is left in it
