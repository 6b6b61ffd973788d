"""What of a session may be learnt: none of it that lay in a session which was erased, be this a fork or a copy."""

from collections.abc import Sequence

from slowwave.formats.model import Message
from slowwave.secrets.blocklist import Blocked, moment_name, record_name


def unerased(messages: Sequence[Message], blocked: Blocked | None) -> Sequence[Message]:
    """Return the messages without those whose records were erased with another session."""
    if blocked is None or not blocked.has_records:
        return messages
    return [message for message in messages if not _is_erased(message, blocked)]


def _is_erased(message: Message, blocked: Blocked) -> bool:
    if message.sources and all(blocked.has_record(record_name(span.raw)) for span in message.sources):
        return True
    # a fork of opencode has new ids
    return blocked.has_record(moment_name(message.role, message.timestamp, message.text))
