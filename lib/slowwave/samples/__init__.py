"""A week of sample sessions of an invented team, so that a first night has something to read.

Two projects, four clients' layouts, and one of everything that a night has to get right: preferences, corrections,
a decision that is superseded, a command that fails and then succeeds, fake secrets, a hostile README.
"""

from slowwave.samples.building import Sample, build
from slowwave.samples.planted import secrets

__all__ = ["Sample", "build", "secrets"]
