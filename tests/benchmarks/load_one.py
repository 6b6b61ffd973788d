"""Load one session as every job does, and print how many messages it has and the peak of the memory."""

import sys
from pathlib import Path

from slowwave.dialects import detect
from slowwave.dialects.model import SessionFiles


def main() -> None:
    """Load the files named on the command line."""
    for path in map(Path, sys.argv[1:]):
        transcript = detect(path).read(SessionFiles(path.stem, (path,)))
        print(len(transcript.messages), len(transcript.problems))


if __name__ == "__main__":
    main()
