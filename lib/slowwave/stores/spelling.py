"""The names that clients give to the folder of a project: the working folder, spelled in one of three ways."""

import re

_NOT_ALNUM = re.compile(r"[^0-9A-Za-z]")


def spelled(cwd: str, spelling: str = "claude") -> str:
    """Return the folder name of a working folder as Claude Code, Cersei's library or Cersei's command spells it."""
    if spelling == "cersei":
        return re.sub(r"[^\w.-]", "_", cwd)
    if spelling == "cersei-cli":
        return re.sub(r"[/\\:]", "-", cwd).strip("-")
    return _NOT_ALNUM.sub("-", cwd)


def spelling_key(name: str) -> str:
    """Return what all spellings of one project folder have in common.

    Claude Code writes ``-Users-foo-p``, Cersei's library ``_Users_foo_p`` and its command ``Users-foo-p``.
    """
    return _NOT_ALNUM.sub("-", name).strip("-")
