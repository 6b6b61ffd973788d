"""One file a dialect: pure rules from records to messages, and what each client would send again."""

from slowwave.dialects.registry import NAMES, by_name, detect, sniff

__all__ = ["NAMES", "by_name", "detect", "sniff"]
