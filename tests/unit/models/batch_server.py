"""A Batch API on loopback, as OpenAI documents it: files, batches and their states, moved on by the test itself."""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import urlsplit

from tests.model_server.scripted import verdicts

Reply = tuple[int, bytes]
_NO_SUCH = b'{"error": {"message": "no such thing", "code": "not_found"}}'


@dataclass
class Provider:
    """What the server knows.

    Attributes:
        url: its address.
        files: content by id.
        names: file name by id.
        inputs: content of the input by batch, also when its file is deleted.
        batches: batch by id, in the order in which they were made.
        broken: path prefixes that answer 503.
        lost: path prefixes whose work is done, and whose answer is lost.
        garbage: body and type of every answer, None for sense.
        calls: method and path of every request.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    names: dict[str, str] = field(default_factory=dict[str, str])
    inputs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    batches: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    broken: set[str] = field(default_factory=set[str])
    lost: set[str] = field(default_factory=set[str])
    garbage: tuple[bytes, str] | None = None
    calls: list[str] = field(default_factory=list[str])

    def questions(self, batch: str) -> list[dict[str, Any]]:
        """Return the lines of a batch's input."""
        return [json.loads(line) for line in self.inputs[batch].splitlines()]

    def finish(
        self,
        batch: str,
        answers: Mapping[str, Any],
        *,
        errors: Mapping[str, Mapping[str, Any]] | None = None,
        status: str = "completed",
    ) -> None:
        """End a batch with these answers (content by question) and these errors."""
        about = self.batches[batch]
        about["status"] = status
        if answers:
            lines = [_answer(question, content) for question, content in answers.items()]
            about["output_file_id"] = self.add(f"{batch}_output.jsonl", "\n".join(map(json.dumps, lines)).encode())
        if errors:
            failed = [{"id": "x", "custom_id": q, "response": None, "error": e} for q, e in errors.items()]
            about["error_file_id"] = self.add(f"{batch}_error.jsonl", "\n".join(map(json.dumps, failed)).encode())

    def fail(self, batch: str, code: str, message: str) -> None:
        """Refuse a whole batch, as its validation does."""
        self.batches[batch] |= {
            "status": "failed",
            "errors": {"object": "list", "data": [{"code": code, "message": message}]},
        }

    def add(self, name: str, content: bytes) -> str:
        """Keep a file and return its id."""
        file = f"file-{len(self.names)}"
        self.names[file], self.files[file] = name, content
        return file

    def respond(self, method: str, path: str, body: bytes, content_type: str) -> Reply:
        """Answer a request."""
        self.calls.append(f"{method} {path}")
        if self.garbage is not None:
            return 200, b""
        if any(path.startswith(prefix) for prefix in self.broken):
            return 503, b'{"error": {"message": "away", "code": "unavailable"}}'
        reply = self._respond(method, path.removeprefix("/v1").strip("/").split("/"), body, content_type)
        if f"{method} {path}" in self.lost:
            return 503, b'{"error": {"message": "the answer got lost", "code": "unavailable"}}'
        return reply

    def _respond(self, method: str, path: list[str], body: bytes, content_type: str) -> Reply:
        reply: object = None
        match method, path:
            case "POST", ["files"]:
                reply = self._file(self.add(*_uploaded(body, content_type)))
            case "GET", ["files"]:
                reply = _page([self._file(f) for f in self.files])
            case "GET", ["files", file, "content"] if file in self.files:
                return 200, self.files[file]
            case "DELETE", ["files", file] if self.files.pop(file, None) is not None:
                reply = {"id": file, "object": "file", "deleted": True}
            case "POST", ["batches"]:
                reply = self._make(json.loads(body))
            case "GET", ["batches"]:
                reply = _page(list(reversed(self.batches.values())))
            case "GET", ["batches", batch]:
                reply = self.batches.get(batch)
            case "POST", ["chat", "completions"]:
                return 200, verdicts()(json.loads(body)).body
            case _:
                pass
        return (404, _NO_SUCH) if reply is None else (200, json.dumps(reply).encode())

    def _file(self, file: str) -> dict[str, Any]:
        return {
            "id": file, "object": "file", "bytes": len(self.files[file]), "created_at": 1, "filename": self.names[file],
            "purpose": "batch", "status": "processed",
        }  # fmt: skip

    def _make(self, given: dict[str, Any]) -> dict[str, Any]:
        batch = f"batch-{len(self.batches)}"
        self.inputs[batch] = self.files[given["input_file_id"]]
        self.batches[batch] = {
            "id": batch, "object": "batch", "endpoint": given["endpoint"], "input_file_id": given["input_file_id"],
            "completion_window": given["completion_window"], "status": "in_progress", "created_at": 1,
            "metadata": given.get("metadata"), "errors": None, "output_file_id": None, "error_file_id": None,
        }  # fmt: skip
        return self.batches[batch]


@contextmanager
def batch_server() -> Generator[Provider]:
    """Run a server until the ``with`` ends."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            status, reply = provider.respond(
                self.command, urlsplit(self.path).path, body, self.headers.get("content-type") or ""
            )
            kind = "application/json"
            if provider.garbage is not None:
                status, (reply, kind) = 200, provider.garbage
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        do_GET = do_POST = do_DELETE = _any  # noqa: N815 - the names that http.server looks for

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(question: str, content: Any) -> dict[str, Any]:
    text = content if isinstance(content, str) else json.dumps(content)
    body = {
        "id": "c", "object": "chat.completion", "model": "served-model",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }  # fmt: skip
    return {"id": "x", "custom_id": question, "response": {"status_code": 200, "body": body}, "error": None}


def _page(data: list[dict[str, Any]]) -> dict[str, Any]:
    return {"object": "list", "data": data, "has_more": False}


def _uploaded(body: bytes, content_type: str) -> tuple[str, bytes]:
    form = message_from_bytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    for part in cast("list[Message]", form.get_payload()):
        if name := part.get_filename():
            return name, cast("bytes", part.get_payload(decode=True))
    raise AssertionError("no file was uploaded")
