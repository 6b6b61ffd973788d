"""A server on loopback that speaks chat completions and does, question by question, what a test's script says.

It can answer, refuse, break off in the middle of an answer, keep silent until the test lets go, and send anything else
that real servers were seen to send.
"""

import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from slowwave.extraction.model.prompts import JUDGE


@dataclass(frozen=True)
class Reply:
    """What is sent back.

    Attributes:
        body: the bytes.
        status: the HTTP status.
        headers: further headers.
        sent: of the body only so many bytes are sent, and then the line is cut; None sends all.
        hangs: nothing is sent until the test ends.
    """

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    sent: int | None = None
    hangs: bool = False


Script = Callable[[dict[str, Any]], Reply]


def completion(
    text: str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    usage: tuple[int, int] | None = (100, 20),
    **more: Any,
) -> bytes:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    whole: dict[str, Any] = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **more,
    }
    if usage:
        whole["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return json.dumps(whole).encode()


def said(answer: object, **more: Any) -> Reply:
    """An answer: text as it is, anything else as JSON."""
    return Reply(completion(answer if isinstance(answer, str) else json.dumps(answer), **more))


def notes(*items: Mapping[str, object]) -> Reply:
    """An answer of an extraction."""
    return said({"operations": list(items)})


def note(text: str, *cited: tuple[int, str], **more: object) -> dict[str, object]:
    """An operation of it: a constraint to add, where ``more`` says nothing else."""
    quotes = [{"passage": number, "words": words} for number, words in cited]
    usual: dict[str, object] = {
        "op": "add",
        "memory": "",
        "notes": [],
        "category": "constraint",
        "scope": "project",
        "reason": "",
    }
    return {**usual, "text": text, "quotes": quotes, **more}


_SOUND = {"supported": True, "holds": True, "lasting": True, "alone": True, "why": ""}


def verdicts(*failing: Mapping[str, object]) -> Script:
    """Judge every proposed memory sound, but for those of which something else is said by their ``text``."""

    def judge(asked: dict[str, Any]) -> Reply:
        found: list[dict[str, object]] = []
        for line in asked["messages"][-1]["content"].partition("\n\n")[0].splitlines():
            number, dot, text = line.partition(". (")
            if dot and number.isdigit():
                of_this = [one for one in failing if str(one["text"]) in text]
                found.append(
                    {
                        "number": int(number),
                        **_SOUND,
                        **{k: v for one in of_this for k, v in one.items() if k != "text"},
                    }
                )
        return said({"verdicts": found}, usage=(0, 0))

    return judge


def error(status: int, message: str, code: object = None, kind: str = "", **headers: str) -> Reply:
    body = {"error": {"message": message, "code": code, "type": kind, "param": None}}
    return Reply(json.dumps(body).encode(), status, {n.replace("_", "-"): v for n, v in headers.items()})


OPENAI_OVERFLOW = error(
    400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded", "invalid_request_error"
)
# as llama.cpp's own server says it
LLAMA_OVERFLOW = Reply(
    b'{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it",'
    b'"type":"exceed_context_size_error","n_prompt_tokens":20016,"n_ctx":4096}}',
    400,
)


class ScriptedServer:
    """A running server.

    Attributes:
        base_url: for ``model.base_url``.
        requests: what was asked, in the order of arrival; not the questions of judgement.
        headers: the headers of each.
        judged: the questions of judgement.
    """

    def __init__(self, script: Script, judge: Script) -> None:
        self.requests: list[dict[str, Any]] = []
        self.judged: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self._script = script
        self._judge = judge
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def asked(self) -> list[str]:
        """The material of each question."""
        return [request["messages"][-1]["content"] for request in self.requests]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                asked = json.loads(body)
                with server._lock:
                    if asked["messages"][0]["content"] == JUDGE:
                        server.judged.append(asked)
                        reply = server._judge(asked)
                    else:
                        server.requests.append(asked)
                        server.headers.append({name.lower(): value for name, value in self.headers.items()})
                        reply = server._script(asked)
                if reply.hangs:
                    server.released.wait()
                    return
                self.send_response_only(reply.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply.body)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body[: reply.sent])

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
                pass

        return Handler


@contextmanager
def serving(*replies: Reply | Script, judge: Script | None = None) -> Generator[ScriptedServer]:
    """Serve replies one after the other; the last one is repeated. A function is asked instead of a reply.

    Questions of judgement are answered by ``judge``, by default that everything is sound.
    """
    left = list(replies)

    def script(asked: dict[str, Any]) -> Reply:
        reply = left.pop(0) if len(left) > 1 else left[0]
        return reply if isinstance(reply, Reply) else reply(asked)

    with ScriptedServer(script, judge or verdicts()) as server:
        yield server


def numbered(material: str) -> dict[int, str]:
    """Return the messages that a question shows, by number, each with its speaker."""
    found: dict[int, str] = {}
    for line in material.splitlines():
        head, closed, rest = line.partition("] ")
        if head.startswith("[") and closed and head[1:].isdigit():
            found[int(head[1:])] = rest
    return found


def number_of(material: str, words: str) -> int:
    """Return the number of the last message that holds these words."""
    matching: Sequence[int] = [number for number, text in numbered(material).items() if words in text]
    return matching[-1]
