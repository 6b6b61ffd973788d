"""By which fields and tables opencode shows; one look at a decoded object, without any rules (formats.md §1.1)."""


def is_opencode(record: dict[str, object]) -> bool:
    """Say whether an object is an export of opencode, or a session of its storage trees."""
    if "info" in record and "messages" in record:
        return isinstance(record["info"], dict | None) and isinstance(record["messages"], list | None)
    if "type" in record or "role" in record or not isinstance(record.get("id"), str):
        return False
    return isinstance(record.get("time"), dict) and ("projectID" in record or {"title", "version"} <= record.keys())


def is_opencode_tables(tables: frozenset[str]) -> bool:
    """Say whether a database with these tables is opencode's."""
    return {"session", "message", "part"} <= tables
