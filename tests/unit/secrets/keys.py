"""A key of fingerprints that a test knows: homes that are compared with each other must mark equal secrets equally."""

from pathlib import Path

from slowwave.secrets import NAME

_DIGITS = "5a" * 32


def give_key(config: Path) -> None:
    """Put a fixed key where a home whose ``$XDG_CONFIG_HOME`` is ``config`` would make a random one."""
    path = config / "slowwave" / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(_DIGITS)
