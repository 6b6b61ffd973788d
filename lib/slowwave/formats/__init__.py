"""Records of the dialects: reading, messages, context.

What reads a file raises an ``UnreadableError`` where it cannot be opened or read; docstrings name what else may happen.
"""
