"""python -m gzlzss: the command.

The package has a copy of it, if it was built from the library's sources. Otherwise the installed
one runs.
"""
import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    own = Path(__file__).parent / "gzlzss-command"
    command = str(own) if own.exists() else shutil.which("gzlzss")
    if command is None:
        sys.exit("python -m gzlzss: there is no command gzlzss")
    # The first argument is the name in messages.
    os.execv(command, ["gzlzss"] + sys.argv[1:])


if __name__ == "__main__":
    main()
