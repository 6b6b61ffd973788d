"""By which field of a record the ULID specification is told from the others."""


def is_ulid(record: dict[str, object]) -> bool:
    """Say whether a record is one of the ULID specification."""
    return isinstance(record.get("recordType"), str)
