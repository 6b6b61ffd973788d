"""What of a session may be learnt: none of it that lay in a session which was erased, be this a fork or a copy."""

from collections.abc import Sequence

from slowwave.formats.model import Message
from slowwave.secrets.blocklist import Blocked, record_name


def unerased(messages: Sequence[Message], blocked: Blocked | None) -> Sequence[Message]:
    """Return the messages without those whose records were erased with another session."""
    if blocked is None or not blocked.has_records:
        return messages
    return [
        message
        for message in messages
        if not (message.sources and all(blocked.has_record(record_name(span.raw)) for span in message.sources))
    ]
