"""A server on this machine that keeps what it is sent, for webhooks and collectors."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """What came in, and how it is answered.

    Attributes:
        address: where it listens.
        status: what it answers.
        location: where it sends others to, for answers that redirect.
        got: path and body of every request.
        types: their content types.
    """

    address: str = ""
    status: int = 200
    location: str = ""
    got: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])
    types: list[str] = field(default_factory=list[str])
    hold: threading.Event = field(default_factory=threading.Event)
    is_slow: bool = False


@contextmanager
def receiving() -> Generator[Receiver]:
    """Listen on a free port of the loopback."""
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            kept.types.append(self.headers["Content-Type"])
            if kept.is_slow:
                kept.hold.wait(60)
            self.send_response(kept.status)
            if kept.location:
                self.send_header("Location", kept.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815 - as above

        def log_message(self, *_args: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield kept
    finally:
        kept.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()
