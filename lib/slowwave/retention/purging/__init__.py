"""Purge: records that are hidden for good go out of their files; everything else stays as it was."""
