"""By which fields of a record pi, crabtalk and the ULID specification are told from the others."""


def is_pi(record: dict[str, object]) -> bool:
    """Say whether a record is pi's: its header, or an entry of its tree where the header is lost.

    Clawdbot and OpenClaw write the same files. Version 1 has no tree, so only its header tells.
    """
    kind, own = record.get("type"), record.get("id")
    if not isinstance(kind, str) or not isinstance(own, str):
        return False
    return kind == "session" or ("parentId" in record and "payload" not in record and "sessionId" not in record)


def is_crabtalk(record: dict[str, object]) -> bool:
    """Say whether a record is the first line of a session of crabtalk; its messages look like anybody's."""
    return "type" not in record and all(isinstance(record.get(k), str) for k in ("agent", "created_by", "created_at"))


def is_ulid(record: dict[str, object]) -> bool:
    """Say whether a record is one of the ULID specification."""
    return isinstance(record.get("recordType"), str)
