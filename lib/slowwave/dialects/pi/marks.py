"""By which fields of a record pi is told from the others."""


def is_pi(record: dict[str, object]) -> bool:
    """Say whether a record is pi's: its header, or an entry of its tree where the header is lost.

    Clawdbot and OpenClaw write the same files. Version 1 has no tree, so only its header tells.
    """
    kind, own = record.get("type"), record.get("id")
    if not isinstance(kind, str) or not isinstance(own, str):
        return False
    return kind == "session" or ("parentId" in record and "payload" not in record and "sessionId" not in record)
