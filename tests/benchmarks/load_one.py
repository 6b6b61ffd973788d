"""Load one session as every job does, and print how many messages it has and the peak of the memory."""

import sys
from pathlib import Path

from slowwave.formats import SessionFiles
from slowwave.formats.registry import detect


def main() -> None:
    """Load the files named on the command line."""
    for path in map(Path, sys.argv[1:]):
        transcript = detect(path).read(SessionFiles(path.stem, (path,)))
        print(len(transcript.messages), len(transcript.problems))


if __name__ == "__main__":
    main()
