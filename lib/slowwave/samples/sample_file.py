"""One file of the sample week: where it lies below the person's home, its bytes, when it was changed last."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SampleFile:
    """A file that a client left.

    Attributes:
        path: relative to the home folder.
        data: its bytes.
        modified: when the client wrote to it last.
    """

    path: str
    data: bytes
    modified: datetime
