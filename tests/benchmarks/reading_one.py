"""Load one session and read it for its meaning, as extraction does; print how many items it has."""

import sys
from pathlib import Path

from slowwave.formats import SessionFiles
from slowwave.formats.registry import detect
from slowwave.reading.session import read
from slowwave.secrets import NAMELESS


def main() -> None:
    """Read the files named on the command line."""
    for path in map(Path, sys.argv[1:]):
        transcript = detect(path).read(SessionFiles(path.stem, (path,)))
        print(len(read(transcript.messages, NAMELESS).items))


if __name__ == "__main__":
    main()
