"""Prefect's own command as a child that ends with the process that started it, however that one ends.

The parent holds the other end of standard input and never writes: end of file means that it is gone, also after a
kill -9, which no handler of the parent could answer.
"""

import os
import runpy
import signal
import threading
import time

# What a server takes to end well; whoever still runs then is ended all the same.
GRACE_S = 15.0


def main() -> None:
    """Run ``python -m prefect`` with the arguments of this command."""
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(1)


if __name__ == "__main__":
    main()
