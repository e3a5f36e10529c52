"""The command: `python -m ackwise`, and the script `ackwise`."""

import signal
import sys

from . import _native


def main() -> None:
    """Do what the command line asks for, and exit."""
    # Python's handler would only set a flag that nobody reads. The commands set their own where they clean up.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(["ackwise", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
