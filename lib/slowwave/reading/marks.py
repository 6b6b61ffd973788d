"""What clients note in a record beside the words in it; a tool can print any words, but it can write nothing here."""

from typing import TypeVar

import msgspec

from slowwave.formats.model import REFUSALS

Read = TypeVar("Read")


class _Sender(msgspec.Struct):
    kind: str = ""


class Record(msgspec.Struct):
    """What Claude Code notes about a user record beside its words; no tool can write here.

    Attributes:
        type: the kind of the record.
        session: the id of the session, under the name that only this client gives it.
        meta: the client made it up.
        sidechain: it is a sub-agent's.
        origin: who sent it, in newer clients.
        outcome: what a tool returned to the client: a text where the call failed or was not let through.
        denial: why a call was not let through, in newer clients.
        entrypoint: how the client was started, in newer clients: ``cli`` with a screen, ``sdk-...`` by a program.
    """

    type: str = ""
    session: str = msgspec.field(name="sessionId", default="")
    meta: bool = msgspec.field(name="isMeta", default=False)
    sidechain: bool = msgspec.field(name="isSidechain", default=False)
    origin: _Sender | None = None
    outcome: msgspec.Raw = msgspec.field(name="toolUseResult", default=msgspec.Raw(b"null"))
    denial: str = msgspec.field(name="toolDenialKind", default="")
    entrypoint: str = ""


class _Details(msgspec.Struct):
    answers: list[list[str]] = []


class _State(msgspec.Struct):
    status: str = ""
    metadata: _Details = msgspec.field(default_factory=_Details)


class Part(msgspec.Struct):
    """What opencode keeps of a call and its result."""

    type: str = ""
    call: str = msgspec.field(name="callID", default="")
    state: _State = msgspec.field(default_factory=_State)


_record = msgspec.json.Decoder(Record)
_part = msgspec.json.Decoder(Part)


def decoded(decoder: msgspec.json.Decoder[Read], raw: bytes | str) -> Read | None:
    """Return what a record holds, None where it is of another form: another client's, or broken."""
    try:
        return decoder.decode(raw)
    except REFUSALS:
        return None


def claude_record(raw: bytes) -> Record | None:
    """Return the marks of a user record of Claude Code, None of all others."""
    record = decoded(_record, raw)
    return record if record and record.type == "user" and record.session else None


def opencode_part(raw: bytes) -> Part | None:
    """Return what opencode keeps of a call and its result, None of all other records."""
    part = decoded(_part, raw)
    return part if part and part.type == "tool" else None
