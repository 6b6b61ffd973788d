"""By which fields of a record crabtalk is told from the others."""


def is_crabtalk(record: dict[str, object]) -> bool:
    """Say whether a record is the first line of a session of crabtalk; its messages look like anybody's."""
    return "type" not in record and all(isinstance(record.get(k), str) for k in ("agent", "created_by", "created_at"))
