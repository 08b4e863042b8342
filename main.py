"""The command line of Roundtable: `python main.py --help` tells what there is.

Only what every Python 3 understands stands here, so that an old one can be told what it lacks.
"""

import sys

if sys.version_info < (3, 10):  # noqa: UP036  the one place that meets older versions
    version = ".".join(str(part) for part in sys.version_info[:2])
    sys.stderr.write("Roundtable needs Python 3.10 or newer; this is " + version + ": run it with python3.12 main.py\n")
    sys.exit(2)

if __name__ == "__main__":
    from interfaces.terminal.command_line import main

    sys.exit(main(sys.argv[1:]))
