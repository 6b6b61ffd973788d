"""The ULID specification: session.jsonl and metadata.json."""
