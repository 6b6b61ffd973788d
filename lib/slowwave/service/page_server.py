"""The report as a page that answers: on loopback, for who has its address, with a button for each decision.

The address holds a token of 256 bits that lies in a file for its owner alone. Whoever does not know it, another user of
the machine or a page that a browser has open, gets the same answer whatever they ask. No cookie is set, so nothing is
sent along by itself; a decision needs another token that only the page knows, and comes from the page's own origin.
"""

import hmac
import secrets
import socket
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec

from slowwave.context import Clock
from slowwave.errors import SlowwaveError, told
from slowwave.files import atomic_write, file_bytes, private_folder, state_folder
from slowwave.jobs.conclusion import view_now
from slowwave.jobs.review import VERBS, Desk, Verb
from slowwave.jobs.run import memory_folders
from slowwave.observability.memories import known_of
from slowwave.observability.page import html_of
from slowwave.secrets import NAMELESS, logger_of, redactor_of
from slowwave.settings import Settings

HOST = "127.0.0.1"
FILE = "page.json"
# no decision is longer; whoever sends more is not our page
MOST_BYTES = 64 << 10
_ANSWERS_S = 2.0
_WHOLE = "Open the whole address that slowwave serve names; slowwave review --url prints it.\n"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # without any, a browser would not tell the origin of a decision
    "X-Content-Type-Options": "nosniff",
}

log = logger_of(__name__)


class Place(msgspec.Struct, frozen=True):
    """Where the page was served last: its port, and the token of its address."""

    port: int = 0
    token: str = ""

    @property
    def address(self) -> str:
        """What is opened in a browser."""
        return f"http://{HOST}:{self.port}/{self.token}/"


def place_path(environ: Mapping[str, str]) -> Path:
    """Return the file that holds the address, readable for its owner alone."""
    return state_folder(environ) / FILE


def last_place(environ: Mapping[str, str]) -> Place:
    """Return where the page was served last, so that a bookmark stays true; a new place where nobody knows."""
    try:
        found = msgspec.json.decode(file_bytes(place_path(environ)), type=Place)
    except (OSError, msgspec.MsgspecError, SlowwaveError):
        found = Place()  # it is made anew
    return found if len(found.token) >= len(_token()) else Place(found.port, _token())


def served_place(environ: Mapping[str, str]) -> Place | None:
    """Return where the page is served now, None where nobody serves it."""
    if not place_path(environ).exists():
        return None
    place = last_place(environ)
    asked = HTTPConnection(HOST, place.port, timeout=_ANSWERS_S)
    try:
        asked.request("GET", "/")
        found = asked.getresponse().getheader("Server", "")
    except (OSError, HTTPException):
        return None  # nobody, or somebody who speaks otherwise
    finally:
        asked.close()
    return place if found.strip() == _Handler.server_version else None


def _token() -> str:
    return secrets.token_urlsafe(32)


@dataclass(slots=True)
class Pages:
    """What the server answers with."""

    settings: Callable[[], Settings]  # returns the settings in force
    environ: Mapping[str, str]
    clock: Clock
    form: str = field(default_factory=_token)  # what each decision has to send along
    lock: threading.Lock = field(default_factory=threading.Lock)  # one decision at a time
    said: str = ""  # what became of the last decision, shown once; ``undo`` is the id by which it is taken back
    undo: str = ""

    def page(self) -> str:
        """Return the report as it is now, with buttons."""
        settings, now = self.settings(), self.clock.now()
        with self.lock:
            folders = memory_folders(settings, self.environ)
            redact = redactor_of(settings, self.environ, create=False)
            known = known_of(folders, settings.consolidation, now, self.environ, redact)
            known = replace(known, token=self.form, said=self.said, undo=self.undo)
            self.said = self.undo = ""
        view = view_now(settings, self.environ, now, known)
        return html_of(view) if view else "<!doctype html><title>slowwave</title><p>No night was recorded yet.</p>"

    def say(self, text: str) -> None:
        """Tell something with the next page."""
        with self.lock:
            self.said, self.undo = text, ""

    def decide(self, given: Mapping[str, str]) -> None:
        """Carry out what somebody clicked; what is wrong with it is shown on the page."""
        with self.lock:
            self.undo = ""
            try:
                settings = self.settings()
                desk = Desk(memory_folders(settings, self.environ), settings, self.environ, self.clock)
                self.said = self._done(desk, given)
            except SlowwaveError as error:
                self.said = NAMELESS(str(error))
            except OSError as error:
                self.said = NAMELESS(told(error, "the memory folder"))

    def _done(self, desk: Desk, given: Mapping[str, str]) -> str:
        verb, name = given.get("do", ""), given.get("id", "")
        if verb == "undo":
            meant = desk.meant(name)
            return meant.refusal(name) if meant.beyond else desk.take_back(name).text
        of_message = verb == "message"
        verb = "reject" if of_message else verb
        chosen: list[Verb] = [one for one in VERBS if one == verb]
        if not chosen:
            return f"{verb!r} is nothing that can be done here"
        done = desk.decide(
            desk.find(name, given.get("project", "")), chosen[0], given.get("text", ""), of_message=of_message
        )
        self.undo = done.id
        return " ".join((done.text, *done.warnings))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int, token: str, pages: Pages) -> None:
        self._open: set[Any] = set()  # first: a port that is taken closes what was never open
        super().__init__((HOST, port), _Handler)
        self.token, self.pages = token, pages
        self.hosts = {f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"}

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        # browsers connect ahead of what they will ask: who comes next must not be answered by who is gone
        for request in list(self._open):
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - it serves no other
    server_version, sys_version = "slowwave", ""
    # a client that says nothing holds nobody up
    timeout = 30

    def do_GET(self) -> None:
        """Show the page."""
        if self._is_known(""):
            self._answer(HTTPStatus.OK, self._page())
        else:
            self._refuse()

    def do_POST(self) -> None:
        """Take a decision, and show the page again."""
        values = self._values() if self._is_known("decide") and self._is_own_origin() else None
        if values is None:
            self._refuse()
            return
        if _is_same(values.pop("form", ""), self.server.pages.form):
            self.server.pages.decide(values)
        else:
            self.server.pages.say("Nothing was decided: that page was from before slowwave serve began anew.")
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", f"/{self.server.token}/#inbox")
        self._end_headers(0)

    def _values(self) -> dict[str, str] | None:
        """Return what a form sent, or None for what no form of ours sends."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return None
        try:
            given = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace"), max_num_fields=20)
        except ValueError:
            return None
        return {name: every[-1] for name, every in given.items()}

    def _is_known(self, page: str) -> bool:
        """Say whether the address is that of a page: with the token, and at this machine's name and no other."""
        is_here = self.headers.get("Host", "") in self.server.hosts
        return _is_same(self.path, f"/{self.server.token}/{page}") and is_here

    def _is_own_origin(self) -> bool:
        return self.headers.get("Origin", "").removeprefix("http://") in self.server.hosts

    def _page(self) -> str:
        try:
            return self.server.pages.page()
        except (SlowwaveError, OSError) as error:
            from html import escape  # noqa: PLC0415 - only where something is wrong

            words = told(error, "the report") if isinstance(error, OSError) else str(error)
            return f"<!doctype html><title>slowwave</title><p>{escape(NAMELESS(words))}</p>"

    def _refuse(self) -> None:
        self.close_connection = True
        self._answer(HTTPStatus.FORBIDDEN, _WHOLE, kind="text/plain")

    def _answer(self, status: HTTPStatus, text: str, kind: str = "text/html") -> None:
        data = text.encode("utf-8", "backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self._end_headers(len(data))
        self.wfile.write(data)

    def _end_headers(self, length: int) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - named by the standard library
        """Log nothing: the address of every request holds the token."""


def _is_same(given: str, wanted: str) -> bool:
    """Compare in a time that tells nothing of how much is right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


@contextmanager
def page_served(settings: Callable[[], Settings], environ: Mapping[str, str], clock: Clock) -> Generator[Place]:
    """Serve the page as long as the block lasts, at the same place as last time where that is free.

    The settings are asked for anew for each page.
    """
    last, pages = last_place(environ), Pages(settings, environ, clock)
    try:
        server = _Server(last.port, last.token, pages)
    except OSError:
        server = _Server(0, last.token, pages)  # somebody else has that port now
    place = Place(server.server_port, last.token)
    thread = threading.Thread(target=server.serve_forever, name="slowwave-page", daemon=True)
    try:
        private_folder(state_folder(environ))
        atomic_write(place_path(environ), msgspec.json.encode(place))
        thread.start()
        yield place
    finally:
        if thread.is_alive():
            server.shutdown()
        server.server_close()
