"""Paths below the working folder, written so that they hold in any checkout."""

import re


def relative_paths(text: str, cwd: str) -> str:
    """Return ``text`` with paths below the working folder written from there, so that they hold in any checkout."""
    folder = cwd.rstrip("/\\")
    parts = re.split(r"[/\\]", folder)
    on_drive = len(parts) == 2 and parts[0].endswith(":") and parts[1].lower() != "users"  # noqa: PLR2004
    if len(parts) < 3 and not on_drive:  # noqa: PLR2004 - never a root or a home folder's parent
        return text
    # a Windows folder as the shells there spell it
    drive = re.match(r"([A-Za-z]):[/\\]+(.+)", folder)
    rest = drive[2].replace("\\", "/") if drive else ""
    spelled = [folder, *(f"{mount}/{drive[1].lower()}/{rest}" for mount in ("", "/mnt", "/cygdrive") if drive)]
    below = re.compile(
        rf"(?<![\w./\\-])(?:{'|'.join(map(re.escape, spelled))})(?:[/\\]+(?=[\w.@-])|(?![\w.-]))",
        re.IGNORECASE if "\\" in cwd else 0,
    )
    return below.sub(lambda m: "" if m[0][-1:] in "/\\" else ".", text)
