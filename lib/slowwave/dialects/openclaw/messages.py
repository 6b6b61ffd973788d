"""Messages of Clawdbot and OpenClaw, and which part of a user's message a person really wrote.

The gateway puts the sender and the time in front of what arrives over a channel, its own notes around it, and passes
on messages of other sessions in the user's role (``provenance``).
"""

import re
from typing import Any, cast

from slowwave.dialects.model import Block, Content, Injected, Text
from slowwave.dialects.pi.messages import PiMessage, content_of
from slowwave.dialects.pi.records import Entry

_OTHERS = ("inter_session", "internal_system")
# Notes of the client: marked blocks, what others said before in a group, the envelope of a channel, a line of the
# system, the sender and the id of a message.
_NOTES = re.compile(
    r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?(?:<<<END_OPENCLAW_INTERNAL_CONTEXT>>>|\Z)"
    r"|<<<EXTERNAL_UNTRUSTED_CONTENT[^>\n]*>>>.*?(?:<<<END_EXTERNAL_UNTRUSTED_CONTENT[^>\n]*>>>|\Z)"
    r"|\A\[Chat messages since your last reply - for context\].*?(?:\[Current message - respond to this\]\n|\Z)"
    r"|(?:\A|(?<=\[Current message - respond to this\]\n))\[[^\]\n]*\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}[^\]\n]*\][ ]?"
    r"|^System: \[[^\]\n]*\][^\n]*$"
    r"|^\[(?:message_id|from): [^\]\n]*\]$",
    re.DOTALL | re.MULTILINE,
)
# What the client itself asks in the user's role: heartbeats, jobs, the turn before a compaction, a new session.
_CLIENT_ASKS = re.compile(
    r"\s*(?:Read HEARTBEAT\.md if it exists|Pre-compaction memory flush\.|\[(?:cron|hook):[^\]\n]*\]"
    r"|A new session was started via /new or /reset)"
)


class OpenclawMessage(PiMessage, gc=False, eq=False):
    """A message entry, a message of an extension, or a summary."""

    def _opened(self) -> Content:
        if self.opened is None:
            self.opened = _content(self.entry)
        return self.opened


def _content(entry: Entry) -> Content:
    content = content_of(entry)
    if entry.kind != "user":
        return content
    if _is_of_others(entry.message()) or _CLIENT_ASKS.match(_words(content)):
        return content._replace(origin="injected")
    blocks = [piece for block in content.blocks for piece in _split(block)]
    says = any(isinstance(block, Text) for block in blocks) or not blocks
    return Content(tuple(blocks), (entry.span,) * len(blocks), "typed" if says else "injected")


def _words(content: Content) -> str:
    return next((block.text for block in content.blocks if isinstance(block, Text)), "")


def _is_of_others(message: dict[str, Any]) -> bool:
    """Say whether somebody else than the agent's owner wrote a user's message: another session, or a guest."""
    provenance, about = message.get("provenance"), message.get("__openclaw")
    if isinstance(provenance, dict) and cast("dict[str, Any]", provenance).get("kind") in _OTHERS:
        return True
    return isinstance(about, dict) and cast("dict[str, Any]", about).get("senderIsOwner") is False


def _split(block: Block) -> list[Block]:
    """Return what a person typed and the client's notes in it, in order."""
    if not isinstance(block, Text) or _NOTES.search(block.text) is None:
        return [block]
    pieces: list[Block] = []
    at = 0
    for note in _NOTES.finditer(block.text):
        pieces += _typed(block.text[at : note.start()])
        pieces.append(Injected(note[0]))
        at = note.end()
    return pieces + _typed(block.text[at:])


def _typed(text: str) -> list[Block]:
    return [Text(text.strip())] if text.strip() else []
