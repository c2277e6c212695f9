"""python -m gzlzss: the command.

The package has a copy of it, if it was built from the library's sources. Otherwise the installed
one runs.
"""
import os
import shutil
import signal
import sys
from pathlib import Path


def main() -> None:
    own = Path(__file__).parent / "gzlzss-command"
    command = str(own) if own.exists() else shutil.which("gzlzss")
    if command is None:
        sys.exit("python -m gzlzss: there is no command gzlzss")
    # Python ignores these signals; the command would fail in place of ending by them.
    for number in signal.SIGPIPE, signal.SIGXFSZ:
        signal.signal(number, signal.SIG_DFL)
    # The first argument is the name in messages.
    os.execv(command, ["gzlzss"] + sys.argv[1:])


if __name__ == "__main__":
    main()
