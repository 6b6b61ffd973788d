"""Where things of the person that runs slowwave lie, from the environment that it is given."""

from collections.abc import Mapping
from pathlib import Path

# How the empty folder is called in which a model's command is asked: sessions in such a folder are slowwave's own.
ASKING = "slowwave-asks-"
# the report of the nights in the state folder: every run writes it anew, and it tells what was said
REPORT = "report.html"


def is_for_questions(folder: str) -> bool:
    """Say whether a session that worked in a folder is one of slowwave's own questions."""
    return folder.rstrip("/").rpartition("/")[2].startswith(ASKING)


def home_folder(environ: Mapping[str, str]) -> Path:
    """Return the home folder: ``$HOME``, else what the system says."""
    return Path(environ.get("HOME") or "~").expanduser()


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for everything that can be rebuilt: ``$XDG_STATE_HOME/slowwave``."""
    return _own_folder(environ, "XDG_STATE_HOME", ".local/state")


def data_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for what cannot be rebuilt: ``$XDG_DATA_HOME/slowwave``."""
    return _own_folder(environ, "XDG_DATA_HOME", ".local/share")


def archive_folder(environ: Mapping[str, str]) -> Path:
    """Return where what was archived lies."""
    return data_folder(environ) / "archive"


def config_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the settings file: ``$XDG_CONFIG_HOME/slowwave``."""
    return _own_folder(environ, "XDG_CONFIG_HOME", ".config")


def scheduler_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of Prefect's own files: ``$PREFECT_HOME``, else one below the state folder."""
    return Path(environ.get("PREFECT_HOME") or state_folder(environ) / "prefect")


def _own_folder(environ: Mapping[str, str], variable: str, usual: str) -> Path:
    return Path(environ.get(variable) or home_folder(environ) / usual).expanduser() / "slowwave"


# client: what each sets for the commands that its agent runs, as found with the real ones
_AGENTS = {
    "CLAUDECODE": "Claude Code",
    "CODEX_THREAD_ID": "Codex",
    "CODEX_SESSION_ID": "Codex",
    "PI_CODING_AGENT": "pi",
    "OPENCODE": "opencode",
}


def agent_around(environ: Mapping[str, str]) -> str:
    """Return the client whose agent runs this process, as far as the environment tells, or ""."""
    return next((client for name, client in _AGENTS.items() if environ.get(name)), "")
