"""Run the command given as arguments and print the peak of its resident memory in bytes.

A process of its own: the peak that the system tells of a child begins with the memory of the process that started it.
"""

import resource
import subprocess
import sys


def main() -> None:
    """Run it, its output thrown away."""
    subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)


if __name__ == "__main__":
    main()
