"""The lines of a Claude Code transcript by layout: which fields stand around a message, and in which order."""

from dataclasses import dataclass
from typing import Literal

from slowwave.samples.identity import Identity, Watch

Json = dict[str, object]
Layout = Literal["1.0", "2.0", "2.1"]

VERSIONS: dict[Layout, str] = {"1.0": "1.0.128", "2.0": "2.0.76", "2.1": "2.1.330"}
MODELS: dict[Layout, str] = {"1.0": "claude-sonnet-4-20250514", "2.0": "claude-sonnet-4-5", "2.1": "claude-sonnet-4-5"}


@dataclass
class Envelope:
    """Writes the fields around every message of one chain: the main conversation or a sub-agent's.

    Attributes:
        layout: which generation of the client.
        session: the session's id, for a sub-agent that of its parent.
        cwd: the working folder.
        ids: source of ids and numbers.
        watch: the time in this session.
        agent: id of the sub-agent when it has a file of its own, else "".
        sidechain: True for a sub-agent's lines.
        slug: the name that the client gives a conversation after a while, or "".
        prompt: id of the prompt that is being worked on (2.1).
    """

    layout: Layout
    session: str
    cwd: str
    ids: Identity
    watch: Watch
    agent: str = ""
    sidechain: bool = False
    slug: str = ""
    prompt: str = ""

    @property
    def modern(self) -> bool:
        """True for the 2.1 layout, which writes the common fields last."""
        return self.layout == "2.1"

    def wrap(self, parent: str | None, middle: Json, *, logical: str | None = None) -> Json:
        """Return ``middle`` with the common fields around it."""
        line: Json = {"parentUuid": parent}
        if logical is not None:
            line["logicalParentUuid"] = logical
        line["isSidechain"] = self.sidechain
        if self.modern:
            agent = {} if "promptId" in middle else self._agent()
            return line | agent | middle | {"userType": "external", "entrypoint": "sdk-cli"} | self._place()
        return line | {"userType": "external"} | self._place() | middle

    def _agent(self) -> Json:
        return {"agentId": self.agent} if self.agent else {}

    def _place(self) -> Json:
        place: Json = {
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": VERSIONS[self.layout],
            "gitBranch": "main",
        }
        if not self.modern:
            place |= self._agent()
        return place | ({"slug": self.slug} if self.slug else {})

    def user(self, content: object, extra: Json | None = None, flags: Json | None = None, uuid: str = "") -> Json:
        """Return the middle of a user line; ``flags`` stand before its uuid, ``extra`` behind its time."""
        middle: Json = {"promptId": self.prompt} | self._agent() if self.modern else {}
        middle |= {"type": "user", "message": {"role": "user", "content": content}} | (flags or {})
        return middle | {"uuid": uuid or self.ids.uuid(), "timestamp": self.watch.iso()} | (extra or {})

    def typed(self, turn: int) -> Json:
        """Return the fields that 2.1 adds to what a person typed."""
        if not self.modern or self.sidechain:
            return {}
        origin: Json = {"permissionMode": "default", "promptSource": "sdk", "turnOrigin": "sdk"}
        return origin | {"turnPosition": {"promptIndex": 0, "turnIndex": turn}}

    def assistant(self, block: Json, index: int, request: "Request") -> Json:
        """Return the middle of an assistant line: one block of one message."""
        message: Json = {
            "id": request.message,
            "type": "message",
            "role": "assistant",
            "model": MODELS[self.layout],
            "content": [block],
            "stop_reason": request.stop_reason if self.modern or request.last == index else None,
            "stop_sequence": None,
            "usage": request.usage(modern=self.modern),
        }
        tail: Json = {"type": "assistant", "uuid": self.ids.uuid(), "timestamp": self.watch.iso()}
        if not self.modern:
            return {"message": message, "requestId": request.id} | tail
        message["stop_details"] = None
        middle: Json = {"message": message}
        if block["type"] == "thinking":
            middle |= {"thinkingDurationMs": self.ids.between(400, 2600), "thinkingDisplay": "omitted"}
        if block["type"] == "tool_use":
            middle["toolInputStreamMs"] = self.ids.between(40, 900)
        middle |= {"apiBlockIndex": index, "requestId": request.id, "requestRef": request.ref}
        middle |= {"requestedModel": MODELS[self.layout], "promptCacheRequested": "5m"}
        return middle | tail | {"perTurnEffort": None, "madeBy": "model"}


@dataclass(frozen=True)
class Request:
    """One request to the model: the ids and the token counts that all lines of its answer share."""

    message: str
    id: str
    ref: str
    stop_reason: str
    last: int
    context_tokens: int
    output_tokens: int

    def usage(self, *, modern: bool) -> Json:
        """Return the token counts in the order of the layout."""
        fresh = self.context_tokens // 5
        usage: Json = {
            "input_tokens": 4,
            "cache_creation_input_tokens": fresh,
            "cache_read_input_tokens": self.context_tokens - fresh,
        }
        if not modern:
            cache = {"ephemeral_5m_input_tokens": fresh, "ephemeral_1h_input_tokens": 0}
            return usage | {
                "cache_creation": cache,
                "output_tokens": self.output_tokens,
                "service_tier": "standard",
            }
        none: list[object] = []
        return usage | {
            "output_tokens": self.output_tokens,
            "output_tokens_details": {"thinking_tokens": 0},
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": fresh},
            "inference_geo": "",
            "iterations": none,
            "speed": "standard",
            "fallback_credit": None,
        }
