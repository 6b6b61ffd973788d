"""Scan one file record by record and print the peak of the resident memory in bytes."""

import sys
from pathlib import Path

import msgspec

from slowwave.formats.lines import read_records


class Envelope(msgspec.Struct, gc=False):
    """What a scan looks at."""

    type: str = ""
    message: msgspec.Raw = msgspec.Raw()


def main() -> None:
    """Scan the file named on the command line."""
    count = sum(1 for _ in read_records(Path(sys.argv[1]), msgspec.json.Decoder(Envelope), []))
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    print(count, int(peak.split()[1]) * 1024)


if __name__ == "__main__":
    main()
