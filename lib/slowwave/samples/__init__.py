"""A week of sample sessions of an invented team, so that a first night has something to read.

Two projects, five agents (Claude Code in three layouts, Cersei, pi, Codex, opencode), and one of everything that a
night has to get right: preferences, also one that is said to two agents, corrections, decisions that are superseded, a
command that fails and then succeeds, fake secrets, a hostile README.
"""

from slowwave.samples.script import secrets
from slowwave.samples.week import Sample, build

__all__ = ["Sample", "build", "secrets"]
