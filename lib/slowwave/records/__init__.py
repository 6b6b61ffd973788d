"""Bytes to records and back: the only modules that know lines, parts and offsets."""
