"""Session keys: which conversation of an agent a message belongs to, built as the client builds them, and read.

``agent:<id>:<main key>`` for direct chats by default, ``agent:<id>:<channel>:group:<group>`` and the like for others,
``cron:``, ``hook:``, ``node-`` and sub-agents for what nobody typed. Source: ``config/sessions/session-key.ts``,
``group.ts`` and ``routing/session-key.ts`` of Clawdbot 2026.1.27.
"""

import re
from typing import Literal, NamedTuple

from slowwave.formats.model import SessionOrigin

DEFAULT_AGENT = "main"
DEFAULT_MAIN_KEY = "main"
GLOBAL = "global"
KeyKind = Literal[
    "main", "dm", "group", "channel", "room", "cron", "hook", "node", "subagent", "acp", "global", "unknown"
]
DmScope = Literal["main", "per-peer", "per-channel-peer", "per-account-channel-peer"]
Scope = Literal["per-sender", "global"]
# Channels that the client knows groups of; a sender may begin with one of these names.
_CHANNELS = frozenset(
    {
        *("whatsapp", "telegram", "discord", "slack", "signal", "imessage", "googlechat", "msteams", "matrix", "line"),
        *("mattermost", "nextcloud-talk", "nostr", "twitch", "zalo", "zalouser", "bluebubbles", "tlon", "webchat"),
    }
)
_AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.IGNORECASE)
_NOT_IN_ID = re.compile(r"[^a-z0-9_-]+")
_ROOMS = ("group", "channel", "room")
_DIRECT = ("dm", "direct")
_INSIDE = ("thread", "topic")
_ORIGINS: dict[KeyKind, SessionOrigin] = {
    **dict.fromkeys(("main", "dm", "group", "channel", "room", "global"), "interactive"),
    "cron": "cron",
    "hook": "hook",
}
# Kinds that are named by a first word; nobody types into the sessions of most.
_WORDS: dict[str, KeyKind] = {"cron": "cron", "hook": "hook", "subagent": "subagent", "acp": "acp"}


class SessionKey(NamedTuple):
    """A session key taken apart.

    Attributes:
        kind: what sort of conversation it is.
        agent: the agent's id, "" where the key names none.
        id: the main key, the peer, the group, the room, the job, the hook, the node or the run.
        channel: the channel that it came over.
        account: the account of the channel.
        thread: the thread in a room.
        topic: the topic in a group.
    """

    kind: KeyKind
    agent: str = ""
    id: str = ""
    channel: str = ""
    account: str = ""
    thread: str = ""
    topic: str = ""

    @property
    def is_agents(self) -> bool:
        """Whether it works for another session, a sub-agent's or a node's; a job or a hook has sessions of its own.

        Nobody types into any of these: that says :attr:`origin`.
        """
        return self.kind in ("node", "subagent", "acp")

    @property
    def origin(self) -> SessionOrigin:
        """Who began it: a job, a hook or a person; a sub-agent's key and a node's tell nothing about that."""
        return _ORIGINS.get(self.kind, "")


def parse_key(key: str) -> SessionKey:
    """Take a session key apart; a key of an unknown form is of the kind ``unknown`` and keeps its text as its id."""
    agent, rest = "", key
    if key.startswith("agent:"):
        agent, colon, rest = key.removeprefix("agent:").partition(":")
        if not (agent and colon and rest):
            return SessionKey("unknown", id=key)
    words = rest.split(":")
    if words[0] in _WORDS and len(words) > 1:
        return SessionKey(_WORDS[words[0]], agent, ":".join(words[1:]))
    if rest.startswith("node-"):
        return SessionKey("node", agent, rest.removeprefix("node-"))
    if rest == GLOBAL and not agent:
        return SessionKey("global", id=GLOBAL)
    return _conversation(agent, words)


def _conversation(agent: str, words: list[str]) -> SessionKey:
    words, thread, topic = _without_inside(words)
    for at, word in enumerate(words[:3]):
        named = ":".join(words[at + 1 :])
        if word in _ROOMS and at <= 1 and named:
            kind: KeyKind = "group" if word == "group" else "channel" if word == "channel" else "room"
            return SessionKey(kind, agent, named, words[0] if at else "", "", thread, topic)
        if word in _DIRECT and named:
            channel, account = (words[0] if at else ""), (words[1] if at > 1 else "")
            return SessionKey("dm", agent, named, channel, account, thread, topic)
    own = ":".join(words)
    is_main = len(words) == 1 and (agent or own == DEFAULT_MAIN_KEY)
    return SessionKey("main" if is_main else "unknown", agent, own, thread=thread, topic=topic)


def _without_inside(words: list[str]) -> tuple[list[str], str, str]:
    """Split a thread or a topic off the end of a key."""
    for at in range(len(words) - 2, 0, -1):
        if words[at] in _INSIDE:
            named = ":".join(words[at + 1 :])
            return words[:at], named if words[at] == "thread" else "", named if words[at] == "topic" else ""
    return words, "", ""


def agent_id(name: str) -> str:
    """Return an agent's id as the client spells it: in keys and in the names of folders."""
    text = name.strip().lower()
    if _AGENT_ID.fullmatch(text):
        return text
    return _NOT_IN_ID.sub("-", text).strip("-")[:64] or DEFAULT_AGENT


def main_key(agent: str, key: str = "") -> str:
    """Return the key of an agent's direct chats."""
    return f"agent:{agent_id(agent)}:{key.strip().lower() or DEFAULT_MAIN_KEY}"


def dm_key(agent: str, peer: str, scope: DmScope = "main", channel: str = "", account: str = "", main: str = "") -> str:
    """Return the key of a direct chat under ``session.dmScope``."""
    who = peer.strip().lower()
    if scope == "main" or not who:
        return main_key(agent, main)
    over = channel.strip().lower() or "unknown"
    parts = {
        "per-peer": ["dm", who],
        "per-channel-peer": [over, "dm", who],
        "per-account-channel-peer": [over, account.strip().lower() or "default", "dm", who],
    }[scope]
    return ":".join(["agent", agent_id(agent), *parts])


def room_key(agent: str, channel: str, kind: Literal["group", "channel", "room"], room: str) -> str:
    """Return the key of a group or a room."""
    return f"agent:{agent_id(agent)}:{channel.strip().lower()}:{kind}:{room.strip().lower()}"


def thread_key(base: str, thread: str) -> str:
    """Return the key of a thread in the conversation of another key."""
    return f"{base}:thread:{thread.strip().lower()}"


def topic_key(base: str, topic: str | int) -> str:
    """Return the key of a topic in the conversation of another key."""
    return f"{base}:topic:{topic}"


class Inbound(NamedTuple):
    """What the client knows of a message when it looks for its session.

    Attributes:
        sender: ``From``, for example ``whatsapp:+1555``, ``12345-678@g.us`` or ``discord:group:12345``.
        provider: the channel, where the message names it.
        chat_type: direct, group or channel.
        key: a session key that somebody asked for.
    """

    sender: str = ""
    provider: str = ""
    chat_type: str = ""
    key: str = ""


def derive_key(scope: Scope, message: Inbound) -> str:
    """Return the part of a key behind the agent: the group, else the sender's number, else ``unknown``."""
    if scope == GLOBAL:
        return GLOBAL
    return group_of(message) or _number(message.sender) or "unknown"


def session_key(scope: Scope, message: Inbound, main: str = "", agent: str = DEFAULT_AGENT) -> str:
    """Return the key of the session that a message belongs to: groups have their own, direct chats share one."""
    if message.key.strip():
        return message.key.strip()
    derived = derive_key(scope, message)
    if scope == GLOBAL:
        return derived
    is_room = ":group:" in derived or ":channel:" in derived
    return f"agent:{agent_id(agent)}:{derived}" if is_room else main_key(agent, main)


def group_of(message: Inbound) -> str:
    """Return ``<channel>:<group or channel>:<id>`` of a message in a group or room, "" of one in a direct chat."""
    sender, chat = message.sender.strip(), message.chat_type.strip().lower()
    is_whatsapp = sender.lower().endswith("@g.us")
    if not (chat in ("group", "channel") or ":group:" in sender or ":channel:" in sender or is_whatsapp):
        return ""
    words = [word for word in sender.split(":") if word]
    head = words[0].strip().lower() if words else ""
    second = words[1].strip().lower() if len(words) > 1 else ""
    channel = head if head in _CHANNELS else message.provider.strip().lower() or ("whatsapp" if is_whatsapp else "")
    is_named = second in ("group", "channel")
    kind = second if is_named else "channel" if ":channel:" in sender or chat == "channel" else "group"
    named = (":".join(words[2 if is_named else 1 :]) if head in _CHANNELS else sender).strip().lower()
    return f"{channel}:{kind}:{named}" if channel and named else ""


def _number(sender: str) -> str:
    """Return a sender's number as the client normalises it: a plus sign and digits."""
    text = sender.removeprefix("whatsapp:").strip()
    digits = re.sub(r"[^\d+]", "", text)
    return "+" + digits.removeprefix("+") if text else ""


def group_name(provider: str, *, group_channel: str = "", space: str = "", subject: str = "", other: str = "") -> str:
    """Return the name that the client shows for a group or room, for example ``discord:friends#general``."""
    place = group_channel.strip()
    if place and space.strip():
        place = f"{space.strip()}{'' if place.startswith('#') else '#'}{place}"
    token = _slug(place or subject.strip() or space.strip() or other.strip())
    if not group_channel.strip():
        token = token.lstrip("#")
    if token and token[0] not in "@#" and not token.startswith("g-") and "#" not in token:
        token = f"g-{token}"
    name = provider.strip().lower() or "group"
    return f"{name}:{token}" if token else name


def _slug(text: str) -> str:
    dashed = re.sub(r"\s+", "-", text.lower())
    return re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9#@._+-]+", "-", dashed)).strip("-.")
